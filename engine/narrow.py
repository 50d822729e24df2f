"""Kernels on bfloat16: NumPy has no arithmetic of its own for it, so they run in float32 and are rounded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.dtypes import computing_dtype, is_float
from engine.value import Array, Spec


def widened(arrays: Sequence[Array]) -> list[Array]:
    """Return the arrays, those of bfloat16 as float32, which holds every one of their numbers."""
    return [array.astype(computing_dtype(array.dtype)) if array.dtype.kind == "V" else array for array in arrays]


def rounded(results: Sequence[Array], specs: Sequence[Spec]) -> tuple[Array, ...]:
    """Return the results in the dtypes that the shape rule has told, rounded to the nearest, ties to even."""
    with np.errstate(all="ignore"):
        return tuple(
            result.astype(spec.dtype) if is_float(spec.dtype) and result.dtype != spec.dtype else result
            for result, spec in zip(results, specs, strict=True)
        )


def narrow_kernel(kernel: Callable[..., Any], specs: Sequence[Spec]) -> Callable[..., tuple[Array, ...]]:
    """Return a kernel that takes and gives bfloat16, made of one that does not; its results are always a tuple."""

    def run(*arrays: Array, **attrs: Any) -> tuple[Array, ...]:
        made = kernel(*widened(arrays), **attrs)
        return rounded([np.asarray(result) for result in (made if isinstance(made, tuple) else (made,))], specs)

    return run
