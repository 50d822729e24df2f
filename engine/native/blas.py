"""The matrix products of NumPy's own BLAS, by address: compiled kernels call them without Python in between."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import threadpoolctl

from engine.errors import MissingExtra

SPELLINGS = (("scipy_", "64_"), ("", "64_"), ("scipy_", ""), ("", ""))
"""What stands before and behind a BLAS symbol's name: NumPy's wheels rename them all."""


@dataclass(frozen=True)
class Blas:
    """The library that NumPy multiplies matrices with.

    Attributes:
        sgemm: address of the C function for float32.
        dgemm: address of the C function for float64.
    """

    sgemm: int
    dgemm: int
    _set_threads: Callable[..., Any]
    _get_threads: Callable[..., Any]

    def set_threads(self, count: int) -> int:
        """Let products use so many threads, in the whole process; return how many they used before."""
        before: int = self._get_threads()
        if before != count:
            self._set_threads(count)
        return before


@cache
def numpy_blas() -> Blas:
    """Find the BLAS that NumPy has loaded.

    Raises:
        MissingExtra: NumPy was built with one that has no C interface of the usual names.
    """
    import numpy as np  # loads its BLAS

    assert np
    for pool in threadpoolctl.threadpool_info():
        if pool["user_api"] == "blas" and pool["internal_api"] == "openblas":
            library = ctypes.CDLL(pool["filepath"])
            for before, behind in SPELLINGS:
                found = _symbols(library, before, behind)
                if found is not None:
                    return found
    raise MissingExtra("the native executor needs a NumPy that multiplies matrices with OpenBLAS, as its wheels do")


def _symbols(library: ctypes.CDLL, before: str, behind: str) -> Blas | None:
    try:
        products = [getattr(library, f"{before}cblas_{letter}gemm{behind}") for letter in "sd"]
        setter = getattr(library, f"{before}openblas_set_num_threads{behind}")
        getter = getattr(library, f"{before}openblas_get_num_threads{behind}")
    except AttributeError:
        return None
    sgemm, dgemm = (ctypes.cast(product, ctypes.c_void_p).value or 0 for product in products)
    return Blas(sgemm, dgemm, setter, getter)
