"""Compiled kernels: functions over an address block, one machine code for each dtype, kept on disk.

A kernel is a Python function of one argument, the address of a block of 64-bit integers that holds its operands:
addresses, extents, and floats by their bits. In its body `real` stands for the dtype it is compiled for, and `stored`
for that of operands in memory where it is another one. It is compiled when its address is first asked for, unless the
code is on disk from before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import CodeType, FunctionType
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from numba import types

from engine.core.dtypes import DType
from engine.execution.native.blas import numpy_blas
from engine.execution.native.code_folder import compile_kept
from engine.execution.native.linked_code import LinkedCompiler

real = np.float32
"""What the dtype of a kernel is called in its body."""
itemsize = 4
"""What the bytes of one number are called there."""
stored = np.float32
"""What the dtype is called that operands have in memory, where it is another one."""

SIGNATURE = types.void(types.CPointer(types.int64))
# Sums may be reordered so that they use vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "arcp", "nsz"}
_KERNEL = {"fastmath": FAST, "error_model": "numpy", "boundscheck": False}
# Only kernels call them: there is nothing for Python or C to call them by.
_LINKED = {
    "error_model": "numpy", "boundscheck": False, "pipeline_class": LinkedCompiler,
    "no_cpython_wrapper": True, "no_cfunc_wrapper": True,
}  # fmt: skip
FLOATS: tuple[DType, ...] = (np.dtype(np.float32), np.dtype(np.float64))
BITS: DType = np.dtype(np.uint16)
"""As what kernels find bfloat16 in memory: by their bits."""
PAIRS: DType = np.dtype(np.int32)
"""In kernels of matrix products: pairs of bfloat16 by their bits, whose products are summed in float32."""


KERNELS: list[Kernel] = []
"""Every kernel, in order of declaration."""


class Kernel:
    """A kernel's machine code, by dtype."""

    def __init__(
        self,
        body: Callable[[Any], None],
        dtypes: tuple[DType, ...] = FLOATS,
        *,
        name: str = "",
        parts: Mapping[str, Callable[..., Any]] | None = None,
        of_float32: Sequence[str] = (),
        stored: DType | None = None,
    ) -> None:
        """Compile nothing yet.

        Args:
            body: the function of a block's address.
            dtypes: what `real` may be.
            name: what the kernel is called, unless as the body.
            parts: functions that the body, and later parts, call by these names, with its `real` and `stored`.
            of_float32: the parts in which `real` is float32 all the same.
            stored: what `stored` is, unless it is what `real` is.
        """
        self.name = name or body.__name__
        self.body = body
        self.dtypes = dtypes
        self.parts = dict(parts or {})
        self.of_float32 = frozenset(of_float32)
        self.stored = stored
        KERNELS.append(self)
        self._compiled: dict[DType, Any] = {}

    def __repr__(self) -> str:
        """Show the name."""
        return f"<Kernel {self.name}>"

    def address(self, dtype: DType) -> int:
        """Return the address of the code for `dtype`, compiled now or before."""
        if dtype not in self._compiled:
            self._compiled[dtype] = self._compile(dtype)
        address: int = self._compiled[dtype].address
        return address

    @property
    def loaded(self) -> tuple[DType, ...]:
        """The dtypes for which this process has the code."""
        return tuple(self._compiled)

    def code_name(self, dtype: DType) -> str:
        """Return the name that the code for `dtype` is kept under; parts may be of other files than the body."""
        return f"{self.name}_{dtype.name}_{self._digest()}"

    def _compile(self, dtype: DType) -> Any:
        declare_symbols()
        names: dict[str, Any] = {"stored": (self.stored or dtype).type}
        for name, part in self.parts.items():
            names[name] = inline(_typed(part, FLOATS[0] if name in self.of_float32 else dtype, name, names))
        body = _typed(self.body, dtype, self.code_name(dtype), names)
        return compile_kept(lambda kept: numba.cfunc(SIGNATURE, cache=kept, **_KERNEL)(body))

    def _digest(self) -> str:
        """Return what changes with the parts."""
        digest = hashlib.sha256()
        for name, part in self.parts.items():
            digest.update(name.encode())
            _add_code(digest, part.__code__)
        return digest.hexdigest()[:8]


def _add_code(digest: Any, code: CodeType) -> None:
    digest.update(code.co_code)
    digest.update(repr(code.co_names).encode())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _add_code(digest, constant)
        else:
            digest.update(repr(constant).encode())


def _typed(function: Any, dtype: DType, name: str, names: Mapping[str, Any] | None = None) -> Any:
    """Return a copy of a function whose global names `real` and `itemsize` are those of a dtype; `names` are others."""
    found = {**function.__globals__, "real": dtype.type, "itemsize": dtype.itemsize, **(names or {})}
    copy = FunctionType(function.__code__, found, name)
    copy.__qualname__ = name
    copy.__module__ = function.__module__
    return copy


def kernel(body: Callable[[Any], None]) -> Kernel:
    """Make a kernel for float32 and float64 of a function."""
    return Kernel(body, FLOATS)


def kernel_of(*dtypes: type) -> Callable[[Callable[[Any], None]], Kernel]:
    """Make a kernel for other dtypes."""
    return lambda body: Kernel(body, tuple(np.dtype(dtype) for dtype in dtypes))


def inline(function: Callable[..., Any]) -> Any:
    """Make a function that kernels call; it becomes part of their code."""
    return numba.njit(fastmath=FAST, forceinline=True, **_LINKED)(function)


def inline_exact(function: Callable[..., Any]) -> Any:
    """Make a function that kernels call, whose operations round one by one, as NumPy's."""
    # Unless it is set, the option of the caller holds.
    return numba.njit(fastmath=False, forceinline=True, **_LINKED)(function)


def linked(function: Callable[..., Any]) -> Any:
    """Make a function that kernels call, for which LLVM decides whether it becomes part of its caller's code."""
    return numba.njit(**_LINKED)(function)


@cache
def declare_symbols() -> None:
    """Tell the linker where the matrix products are."""
    blas = numpy_blas()
    llvmlite.binding.add_symbol("adjoint_sgemm", blas.sgemm)
    llvmlite.binding.add_symbol("adjoint_dgemm", blas.dgemm)
