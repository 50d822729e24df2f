"""Compiling every kernel beforehand, so that the first fit need not."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context


def compile_all(processes: int) -> None:
    """Compile the kernels that are not on disk yet, in so many processes."""
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for _ in pool.map(partial(compile_share, shares=processes), range(processes)):
            pass


def compile_share(share: int, *, shares: int) -> None:
    """Compile one of so many shares of the kernels; the first has the machine in it."""
    from engine.execution.native import kernels  # imports numba
    from engine.execution.native.kernel import KERNELS
    from engine.execution.native.machine import machine

    assert kernels
    wanted = [(kernel, dtype) for kernel in KERNELS for dtype in kernel.dtypes]
    for kernel, dtype in wanted[share::shares]:
        kernel.address(dtype)
    if share == 0:
        machine()
