"""What the bits of a result depend on besides its inputs: executor, library versions, BLAS kernels."""

from __future__ import annotations

import ctypes
import os
import platform
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

SPELLINGS = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")
"""What NumPy's wheels, and others, call a function of OpenBLAS."""


def fingerprint(executor: str = "numpy") -> dict[str, Any]:
    """Return what must be equal for a repeated computation by `executor` to give equal bits."""
    return {
        "executor": executor,
        "numpy": np.__version__,
        "blas": _blas()[0],
        "blas_core": _blas()[1],
        # The native executor's products take one thread, whatever others in the process take.
        "blas_threads": "1" if executor == "native" else blas_threads(),
        "machine": platform.machine(),
    }


@cache
def _blas() -> tuple[str, str]:
    """Return name with version, and core type, of the BLAS that NumPy uses."""
    config: Any = np.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(), _core_type()


def blas_threads() -> str:
    """Return how many threads a matrix product takes, as a text; "default" where the library does not tell."""
    count = _function("get_num_threads", ctypes.c_int)
    return str(count()) if count else os.environ.get("OPENBLAS_NUM_THREADS", "default")


def set_blas_threads(count: int) -> None:
    """Let matrix products of this process take so many threads from here on; without effect on other libraries.

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
        for spelling in SPELLINGS:
            if hasattr(library, spelling.format(name)):
                function = getattr(library, spelling.format(name))
                function.restype = result
                return function
    return None


@cache
def _libraries() -> tuple[ctypes.CDLL, ...]:
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    return tuple(ctypes.CDLL(str(library)) for library in sorted(folder.glob("*openblas*")))
