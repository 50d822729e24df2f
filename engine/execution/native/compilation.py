"""Compiles kernels ahead of their first call: all of them, those of common models, or those that one plan needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from engine.core.cpu import usable_cores
from engine.execution.native.compile_processes import Code, compile_codes, declared_codes
from engine.execution.plan.plan import Plan

if TYPE_CHECKING:
    from engine.execution.native.kernel import Kernel

MOST_PROCESSES = 3
"""That compile for a plan, besides the one that waits: what is left to wait for by then is the largest kernel."""

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
        _compile(missing, MOST_PROCESSES, progress)


def compile_kernels(names: Collection[str] | None, progress: Progress) -> None:
    """Compile the kernels that are not on disk yet, on all cores.

    Args:
        names: of codes ("relu_float32"); None for those of all kernels.
        progress: see `Progress`; it is called if none is missing, too.
    """
    from engine.execution.native.call_interpreter import call_interpreter  # imports numba
    from engine.execution.native.code_folder import kept_code

    kept = kept_code()
    call_interpreter()
    missing = [
        (kernel, dtype)
        for name, (kernel, dtype) in declared_codes().items()
        if (names is None or name in names) and kernel.code_name(dtype) not in kept
    ]
    _compile(missing, usable_cores(), progress)


def _compile(codes: Sequence[Code], most_processes: int, progress: Progress) -> None:
    """Compile in this process and up to so many others, on cores that are free."""
    progress(0, len(codes))
    for count, _ in enumerate(compile_codes(codes, min(most_processes, usable_cores() - 1)), 1):
        progress(count, len(codes))


def load_kernels(names: Collection[str] = COMMON) -> Iterator[None]:
    """Load the kernels of these names that are on disk, one at each step: processes forked later have them.

    By default those of common models are loaded. Names of kernels that there are not are passed over.
    """
    from engine.execution.native.code_folder import kept_code  # imports numba

    kept = kept_code()
    for name, (kernel, dtype) in declared_codes().items():
        if name in names and kernel.code_name(dtype) in kept:
            kernel.address(dtype)
            yield


def loaded_kernels() -> frozenset[str]:
    """Return the names ("relu_float32") of the kernels that this process has loaded, as `load_kernels` takes them."""
    # The module imports numba, which a process may do without; another thread may be importing it, or declare a kernel.
    declared: list[Kernel] = getattr(sys.modules.get("engine.execution.native.kernel"), "KERNELS", [])
    return frozenset(
        f"{kernel.name}_{dtype.name}" for kernel in [*declared] for dtype in kernel.dtypes if kernel.is_loaded(dtype)
    )
