"""What the bits of a result depend on besides its inputs: executor, library versions, BLAS kernels."""

from __future__ import annotations

import ctypes
import os
import platform
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

CORE_NAME = (
    "scipy_openblas_get_corename64_",
    "scipy_openblas_get_corename",
    "openblas_get_corename64_",
    "openblas_get_corename",
)


def fingerprint() -> dict[str, Any]:
    """Return what must be equal for a repeated computation to give equal bits."""
    return {
        "executor": "numpy",
        "numpy": np.__version__,
        "blas": _blas()[0],
        "blas_core": _blas()[1],
        "blas_threads": os.environ.get("OPENBLAS_NUM_THREADS", "default"),
        "machine": platform.machine(),
    }


@cache
def _blas() -> tuple[str, str]:
    """Return name with version, and core type, of the BLAS that NumPy uses."""
    config: Any = np.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(), _core_type()


def _core_type() -> str:
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    for library in sorted(folder.glob("*openblas*")):
        handle = ctypes.CDLL(str(library))
        for symbol in CORE_NAME:
            if hasattr(handle, symbol):
                function = getattr(handle, symbol)
                function.restype = ctypes.c_char_p
                return bytes(function()).decode()
    return "unknown"
