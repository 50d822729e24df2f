"""How kernels hand back what they computed: into the caller's buffer, or in float64 first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.core.dtypes import FLOAT64
from engine.core.value import Array
from engine.ops.blocks import blockwise


def stored(result: Array, out: Array | None) -> Array:
    """Return `result`, or `out` with the result written into it."""
    if out is None:
        return result
    np.copyto(out, result)
    return out


def in_float64(kernel: Callable[..., None], x: Array, out: Array | None) -> Array:
    """Run `kernel(y, x)` block by block in float64, whatever floating dtype x has."""
    if x.dtype == FLOAT64:
        return blockwise(kernel, (x,), out)
    return stored(blockwise(kernel, (x.astype(FLOAT64),), None).astype(x.dtype), out)
