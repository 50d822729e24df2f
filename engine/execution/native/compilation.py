"""Compiles kernels ahead of their first call: all of them, those of common models, or those that one plan needs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from engine.core.cpu import usable_cores
from engine.execution.native.codes import Code, declared_codes, find_codes
from engine.execution.native.compile_processes import compile_codes

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
        "add_int64",
        "affine_maps_int64",
        "affine_sample_float32",
        "avg_pool_float32",
        "avg_pool_input_float32",
        "batch_norm_float32",
        "batch_norm_columns_float32",
        "batch_norm_columns_gradient_float32",
        "batch_norm_gradient_float32",
        "blocked_product_float32",
        "bind_rows_int64",
        "boxes_int64",
        "cast_from_float32_float64",
        "cast_from_uint8_float32",
        "chain_int64",
        "choose_float32",
        "clamp_float32",
        "classes_int64",
        "column_sums_float32",
        "convolve_tiles_float32",
        "copy_cotangent_float32",
        "copy_float32",
        "copy_images_float32",
        "correlate_cotangent_float32",
        "correlate_float32",
        "correlate_tiles_float32",
        "cross_entropy_float32",
        "cross_entropy_gradient_float32",
        "deliver_rows_float32",
        "deliver_tiles_float32",
        "div_float32",
        "divide_float32",
        "dot_product_float32",
        "eq_int64",
        "erase_float32",
        "feed_int64",
        "gather_rows_int64",
        "ge_float32",
        "gelu_backward_float32",
        "gelu_float32",
        "gt_float32",
        "halt_unless_int64",
        "le_float32",
        "leaky_relu_float32",
        "log_int64",
        "logical_and_uint8",
        "mask_float32",
        "max_pool_float32",
        "max_pool_inside_float32",
        "max_unpool_float32",
        "momentum_float32",
        "mul_float32",
        "ne_int64",
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
        "totals_uint8",
        "transform_weight_float32",
    ]
)
"""Kernels of multilayer perceptrons and small convolutional networks in float32, with their losses and optimizers, and
those that every fit of many steps a call needs."""

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


def compile_missing(codes: Iterable[Code]) -> None:
    """Compile those of the kernels that are not on disk, reporting progress inside `report_compilation`.

    Without a listener nothing is done: each kernel is then compiled when its address is first needed.
    """
    progress = _progress.get()
    needed = [(kernel, dtype) for kernel, dtype in dict.fromkeys(codes) if dtype not in kernel.loaded]
    if progress is None or not needed:
        return
    from engine.execution.native.code_folder import kept_code  # imports numba

    kept = kept_code()
    missing = [(kernel, dtype) for kernel, dtype in needed if kernel.code_name(dtype) not in kept]
    if missing:
        _compile(missing, MOST_PROCESSES, progress)


def compile_kernels(*, common_only: bool, progress: Progress) -> None:
    """Compile the kernels that are not on disk yet, on all cores.

    Args:
        common_only: leave out what common models do not need.
        progress: see `Progress`; it is called if none is missing, too.
    """
    from engine.execution.native.call_interpreter import call_interpreter  # imports numba
    from engine.execution.native.code_folder import kept_code

    call_interpreter()
    kept, wanted = kept_code(), dict.fromkeys(find_codes(sorted(COMMON)))
    if not common_only:
        wanted |= dict.fromkeys(declared_codes())
    _compile(
        [(kernel, dtype) for kernel, dtype in wanted if kernel.code_name(dtype) not in kept], usable_cores(), progress
    )


def _compile(codes: Sequence[Code], most_processes: int, progress: Progress) -> None:
    """Compile in this process and, on free cores, in up to `most_processes` others."""
    progress(0, len(codes))
    for count, _ in enumerate(compile_codes(codes, min(most_processes, usable_cores() - 1)), 1):
        progress(count, len(codes))


def load_kernels(names: Collection[str] = COMMON) -> Iterator[None]:
    """Load the kernels of these names that are on disk, one at each step: processes forked later have them.

    By default those of common models are loaded. Names of kernels that there are not are passed over.
    """
    from engine.execution.native.code_folder import kept_code  # imports numba

    kept = kept_code()
    for kernel, dtype in find_codes(sorted(names)):
        if kernel.code_name(dtype) in kept:
            kernel.address(dtype)
            yield
