"""The matrix products of NumPy's own BLAS, by address: compiled kernels call them without Python in between."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from engine.core.errors import MissingExtra

SPELLINGS = (("scipy_", "64_"), ("", "64_"), ("scipy_", ""), ("", ""))
"""What stands before and behind a BLAS symbol's name: NumPy's wheels rename them all."""


@dataclass(frozen=True)
class Solvers:
    """Addresses of functions that factor matrices and solve systems of equations.

    Attributes:
        factor: by dtype, LAPACK's Cholesky factorization, where the library has it.
        substitute: the same of BLAS's solution of triangular systems.
        solve, decompose: LAPACK's solution of systems of float64, and its triangular factors; 0 where the library has
            none whose integers have 64 bits.
    """

    factor: Mapping[str, int]
    substitute: Mapping[str, int]
    solve: int
    decompose: int


class Blas:
    """The library that NumPy multiplies matrices with: where its functions are, and how many threads they take.

    Attributes:
        sgemm, dgemm: addresses of the products of float32 and float64.
        solvers: those of other functions.
    """

    def __init__(
        self,
        sgemm: int,
        dgemm: int,
        set_threads: Callable[..., Any],
        get_threads: Callable[..., Any],
        solvers: Solvers,
    ) -> None:
        """Take the addresses of C functions, and two to call."""
        self.sgemm = sgemm
        self.dgemm = dgemm
        self.solvers = solvers
        self._set_threads = set_threads
        self._get_threads = get_threads
        self._lock = Lock()
        self._askers = 0
        self._before = 1

    @contextmanager
    def one_thread(self) -> Iterator[None]:
        """Limit products of this process to one thread until the last caller has left: the bits depend on it."""
        with self._lock:
            if not self._askers:
                self._before = self._get_threads()
                self._set_threads(1)
            self._askers += 1
        try:
            yield
        finally:
            with self._lock:
                self._askers -= 1
                if not self._askers:
                    self._set_threads(self._before)


@cache
def numpy_blas() -> Blas:
    """Find the BLAS that NumPy has loaded.

    Raises:
        MissingExtra: NumPy was built with one that has no C interface of the usual names.
    """
    import numpy as np  # loads its BLAS

    try:
        import threadpoolctl
    except ImportError as error:
        raise MissingExtra("the native executor needs threadpoolctl: pip install threadpoolctl") from error
    packages = Path(np.__file__).parents[1]
    places = [Path(pool["filepath"]) for pool in threadpoolctl.threadpool_info() if pool["internal_api"] == "openblas"]
    # SciPy may have loaded one of its own before.
    for place in sorted(places, key=lambda place: not place.is_relative_to(packages / "numpy.libs")):
        library = ctypes.CDLL(str(place))
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
    factor = _addresses(library, f"{before}%spotrf_{behind}")
    substitute = _addresses(library, f"{before}cblas_%strsm{behind}")
    systems = [_addresses(library, f"{before}%s{name}_{behind}").get("float64", 0) for name in ("gesv", "getrf")]
    solve, decompose = systems if behind else (0, 0)
    return Blas(sgemm, dgemm, setter, getter, Solvers(factor, substitute, solve, decompose))


def _addresses(library: ctypes.CDLL, name: str) -> dict[str, int]:
    """Return the addresses of a function by dtype: `name` has a place for the letter of the dtype."""
    found: dict[str, int] = {}
    for letter, dtype in (("s", "float32"), ("d", "float64")):
        function = getattr(library, name % letter, None)
        if function is not None:
            found[dtype] = ctypes.cast(function, ctypes.c_void_p).value or 0
    return found
