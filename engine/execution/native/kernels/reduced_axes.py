"""The axes of a reduction as one axis, with what lies before and behind it in memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.core.value import Array
from engine.execution.native.kernel import FLOATS


def blocks(x: Array, out: Array, axes: Sequence[int]) -> tuple[int, int, int] | None:
    """Return extents before, along and behind axes that lie side by side in memory; None where they do not.

    Axes may lie in another order than they are numbered in, if the results then lie in theirs.
    """
    return extents_around(x, out, axes) if x.dtype in FLOATS else None


def extents_around(x: Array, out: Array, axes: Sequence[int]) -> tuple[int, int, int] | None:
    """Return the same for elements of any type."""
    if not x.size or not out.flags.c_contiguous:
        return None
    real_axes = [axis for axis in range(x.ndim) if x.shape[axis] != 1]
    order = sorted(real_axes, key=lambda axis: -x.strides[axis])
    step = x.itemsize
    for axis in reversed(order):
        if x.strides[axis] != step:
            return None
        step *= x.shape[axis]
    kept = [axis for axis in order if axis not in axes]
    if kept != sorted(kept):
        return None
    reduced = [place for place, axis in enumerate(order) if axis in axes]
    first = reduced[0] if reduced else len(order)
    if reduced and reduced != list(range(first, first + len(reduced))):
        return None
    extents = [x.shape[axis] for axis in order]
    last = first + len(reduced)
    return math.prod(extents[:first]), math.prod(extents[first:last]), math.prod(extents[last:])
