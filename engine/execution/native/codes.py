"""Machine codes by name: a kernel and the dtype that it is compiled for ("relu_float32")."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from engine.core.dtypes import DType

if TYPE_CHECKING:
    from engine.execution.native.kernel import Kernel

Code = tuple["Kernel", DType]


def declared_codes() -> list[Code]:
    """Return every kernel with each of the dtypes it is declared for, in order of declaration.

    Plans use some with other dtypes too, and declare kernels of pairs of types when they need them.
    """
    return [(kernel, dtype) for kernel in _kernels() for dtype in kernel.dtypes]


def find_codes(names: Iterable[str]) -> Iterator[Code]:
    """Yield the codes of these names; those of kernels that there are not are passed over."""
    known: defaultdict[str, list[Kernel]] = defaultdict(list)
    for kernel in _kernels():
        known[kernel.name].append(kernel)
    for name in names:
        kernel_name, _, dtype_name = name.rpartition("_")
        if kernels := known.get(kernel_name):
            dtype = np.dtype(dtype_name)
            yield next((kernel for kernel in kernels if dtype in kernel.dtypes), kernels[0]), dtype


def loaded_kernels() -> frozenset[str]:
    """Return the names of the codes that this process has loaded."""
    # The module imports numba, which a process may do without; another thread may be importing it, or declare a kernel.
    declared: list[Kernel] = getattr(sys.modules.get("engine.execution.native.kernel"), "KERNELS", [])
    return frozenset(f"{kernel.name}_{dtype.name}" for kernel in [*declared] for dtype in kernel.loaded)


def _kernels() -> list[Kernel]:
    from engine.execution.native import kernels  # imports numba
    from engine.execution.native.kernel import KERNELS

    assert kernels
    return KERNELS
