"""Compiles kernels ahead of their first call: all of them, those of common models, or those that one plan needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from engine.core.dtypes import DType
from engine.execution.plan.plan import Plan

if TYPE_CHECKING:
    from engine.execution.native.kernel import Kernel

Progress = Callable[[int, int], None]
"""Called with the number of kernels compiled so far and the number to compile, first with 0."""

COMMON = frozenset(
    [
        "abs_float32",
        "adam_float32",
        "adam_rates_float64",
        "add_float32",
        "add_float64",
        "affine_maps_int64",
        "affine_sample_float32",
        "avg_pool_float32",
        "avg_pool_input_float32",
        "batch_norm_float32",
        "batch_norm_gradient_float32",
        "blocked_product_float32",
        "boxes_int64",
        "choose_float32",
        "clamp_float32",
        "classes_int64",
        "column_sums_float32",
        "copy_float32",
        "correlate_cotangent_float32",
        "correlate_float32",
        "cross_entropy_float32",
        "cross_entropy_gradient_float32",
        "div_float32",
        "divide_float32",
        "erase_float32",
        "ge_float32",
        "gelu_backward_float32",
        "gelu_float32",
        "gt_float32",
        "le_float32",
        "leaky_relu_float32",
        "mask_float32",
        "max_pool_float32",
        "max_pool_inside_float32",
        "max_unpool_float32",
        "momentum_float32",
        "mul_float32",
        "neg_float32",
        "new_key_uint64",
        "packed_product_float32",
        "places_of_largest_float32",
        "product_float32",
        "relu_backward_float32",
        "relu_float32",
        "running_norm_float32",
        "sgd_float32",
        "sigmoid_backward_float32",
        "sigmoid_float32",
        "sign_float32",
        "silu_float32",
        "split_product_float32",
        "square_float32",
        "square_sums_float32",
        "standardize_channels_float32",
        "standardize_channels_gradient_float32",
        "standardize_float32",
        "standardize_gradient_float32",
        "sub_float32",
        "sums_float32",
        "sums_float64",
        "tanh_backward_float32",
        "tanh_float32",
        "total_uint8",
    ]
)
"""Kernels of multilayer perceptrons and small convolutional networks in float32, with their losses and optimizers."""

_progress: ContextVar[Progress | None] = ContextVar("compilation_progress", default=None)


@contextmanager
def report_compilation(progress: Progress) -> Iterator[None]:
    """Call `progress` while plans that are bound inside wait for kernels to be compiled.

    It is not called for kernels that are on disk or in this process already.
    """
    token = _progress.set(progress)
    try:
        yield
    finally:
        _progress.reset(token)


def compile_for(plan: Plan) -> None:
    """Compile the kernels that a plan needs, reporting progress inside `report_compilation`.

    Without a listener nothing is done: each kernel is then compiled when its address is first needed.
    """
    progress = _progress.get()
    if progress is None:
        return
    from engine.execution.native.code_folder import kept_code  # imports numba
    from engine.execution.native.coverage import kernels_of

    needed = [(kernel, dtype) for kernel, dtype in kernels_of(plan) if not kernel.is_loaded(dtype)]
    kept = kept_code() if needed else frozenset()
    missing = [(kernel, dtype) for kernel, dtype in needed if kernel.code_name(dtype) not in kept]
    if missing:
        progress(0, len(missing))
    for count, (kernel, dtype) in enumerate(missing, 1):
        kernel.address(dtype)
        progress(count, len(missing))


def compile_kernels(names: Iterable[str] | None, processes: int, progress: Progress) -> None:
    """Compile the kernels that are not on disk yet, in `processes` processes.

    Args:
        names: of codes ("relu_float32"); None for those of all kernels.
        processes: how many compile at a time.
        progress: see `Progress`.
    """
    wanted = _missing(None if names is None else frozenset(names))
    progress(0, len(wanted))
    if not wanted:
        return
    # Imported here: every process that trains loads this module, and only an installation compiles in other processes.
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    with ProcessPoolExecutor(min(processes, len(wanted)), get_context("spawn")) as pool:
        jobs = [pool.submit(_compile, position) for position in wanted]
        for count, job in enumerate(as_completed(jobs), 1):
            job.result()
            progress(count, len(wanted))


def load_kernels(names: Collection[str] = COMMON) -> Iterator[None]:
    """Load the kernels of these names that are on disk, one at each step: processes forked later have them.

    By default those of common models are loaded. Names of kernels that there are not are passed over.
    """
    from engine.execution.native.code_folder import kept_code  # imports numba

    kept = kept_code()
    for kernel, dtype in _codes():
        if f"{kernel.name}_{dtype.name}" in names and kernel.code_name(dtype) in kept:
            kernel.address(dtype)
            yield


def loaded_kernels() -> frozenset[str]:
    """Return the names ("relu_float32") of the kernels that this process has loaded, as `load_kernels` takes them."""
    # The module imports numba, which a process may do without; another thread may be importing it, or declare a kernel.
    declared: list[Kernel] = getattr(sys.modules.get("engine.execution.native.kernel"), "KERNELS", [])
    return frozenset(
        f"{kernel.name}_{dtype.name}" for kernel in [*declared] for dtype in kernel.dtypes if kernel.is_loaded(dtype)
    )


def _missing(names: frozenset[str] | None) -> list[int]:
    """Return which codes of `_codes` are not on disk."""
    from engine.execution.native.code_folder import kept_code  # imports numba

    kept = kept_code()
    return [
        position
        for position, (kernel, dtype) in enumerate(_codes())
        if (names is None or f"{kernel.name}_{dtype.name}" in names) and kernel.code_name(dtype) not in kept
    ]


def _compile(position: int) -> None:
    """Compile one of `_codes`, and what runs tables of their calls."""
    from engine.execution.native.call_interpreter import call_interpreter  # imports numba

    call_interpreter()
    kernel, dtype = _codes()[position]
    kernel.address(dtype)


def _codes() -> list[tuple[Kernel, DType]]:
    """Return every kernel with each of its dtypes, in order of declaration."""
    from engine.execution.native import kernels  # imports numba
    from engine.execution.native.kernel import KERNELS

    assert kernels
    return [(kernel, dtype) for kernel in KERNELS for dtype in kernel.dtypes]
