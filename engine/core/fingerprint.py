"""Fingerprint: what the bits of a result depend on beside its inputs: executor, library versions, BLAS kernels."""

from __future__ import annotations

import ctypes
import os
import platform
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from engine.core.cpu import cpu_features
from engine.core.tile_registers import may_use_tiles

SYMBOL_NAMES = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")
"""Names of OpenBLAS functions in NumPy's wheels and other builds."""

EXTENSIONS = {"avx2": "AVX2", "avx512f": "AVX-512", "avx512_bf16": "AVX-512 BF16"}
"""Of vectors: on them depends in which order compiled kernels add."""


def fingerprint(executor: str = "numpy") -> dict[str, Any]:
    """Return what must be equal for a repeated computation with `executor` to give equal bits."""
    return {
        "executor": executor,
        "numpy": np.__version__,
        "blas": _blas()[0],
        "blas_core": _blas()[1],
        # The native executor computes a product on one thread.
        "blas_threads": "1" if executor == "native" else blas_threads(),
        "machine": _native_machine() if executor == "native" else platform.machine(),
    }


@cache
def _native_machine() -> str:
    """Return the architecture, and the extensions that compiled kernels use."""
    found = [name for feature, name in EXTENSIONS.items() if feature in cpu_features()]
    extensions = [*found, *(["AMX"] if may_use_tiles() else [])]
    return platform.machine() + (f" with {', '.join(extensions)}" if extensions else "")


@cache
def _blas() -> tuple[str, str]:
    """Return name with version, and core type, of the BLAS that NumPy uses."""
    config: Any = np.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(), _core_type()


def blas_threads() -> str:
    """Return the number of BLAS threads as text; "default" if the library does not say."""
    count = _function("get_num_threads", ctypes.c_int)
    return str(count()) if count else os.environ.get("OPENBLAS_NUM_THREADS", "default")


def set_blas_threads(count: int) -> None:
    """Set the number of BLAS threads of this process; no effect on libraries other than OpenBLAS.

    The bits of their results depend on it.
    """
    setter = _function("set_num_threads", None)
    if setter:
        setter(ctypes.c_int(count))


def _core_type() -> str:
    core_type = _function("get_corename", ctypes.c_char_p)
    return bytes(core_type()).decode() if core_type else "unknown"


def _function(name: str, result: Any) -> Any:
    """Return a function of the OpenBLAS that NumPy brings along, None if it brings none."""
    for library in _libraries():
        for pattern in SYMBOL_NAMES:
            if hasattr(library, pattern.format(name)):
                function = getattr(library, pattern.format(name))
                function.restype = result
                return function
    return None


@cache
def _libraries() -> tuple[ctypes.CDLL, ...]:
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    return tuple(ctypes.CDLL(str(library)) for library in sorted(folder.glob("*openblas*")))
