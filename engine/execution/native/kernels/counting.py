"""What metrics count: the places of the largest elements, classes, truth values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.core.dtypes import BOOL, INT64
from engine.core.shape_rules import normalize_axis
from engine.core.value import Array
from engine.execution.native.inline.pointers import view
from engine.execution.native.kernel import FLOATS, kernel, kernel_of, real
from engine.execution.native.kernels.reduced_axes import extents_around
from engine.execution.native.lowering import Call, Status, Work, lowers, raw


@kernel
def places_of_largest(a: Any) -> None:
    """Words: rows, columns; x, its row stride in bytes; out, int64. The first NaN is larger than everything."""
    out = view(a[4], a[0], np.int64)
    for r in range(out.size):
        row = view(a[2] + r * a[3], a[1], real)
        best = 0
        for i in range(row.size):
            if row[best] != row[best]:
                break
            if row[i] > row[best] or row[i] != row[i]:
                best = i
        out[r] = best


@kernel_of(np.int64)
def classes(a: Any) -> None:
    """Words: n; targets; out; how many classes; the target that becomes 0; where to say that a target is no class."""
    targets, out = view(a[1], a[0], np.int64), view(a[2], a[0], np.int64)
    for i in range(out.size):
        target = targets[i]
        if target == a[4]:
            target = 0
        elif target < 0 or target >= a[3]:
            view(a[5], 1, np.int64)[0] = 1
            target = 0
        out[i] = target


@kernel_of(np.uint8, np.int64)
def totals(a: Any) -> None:
    """Add up whole numbers. Words: extents before, along and behind the summed axes; x; out, int64."""
    extent, behind = a[1], a[2]
    x = view(a[3], a[0] * extent * behind, real)
    for lot in range(a[0]):
        out = view(a[4] + lot * behind * 8, behind, np.int64)
        if behind == 1:
            row = x[lot * extent : (lot + 1) * extent]
            found = np.int64(0)
            for i in range(row.size):
                found += np.int64(row[i])
            out[0] = found
            continue
        for e in range(out.size):
            out[e] = 0
        for r in range(extent):
            start = (lot * extent + r) * behind
            row = x[start : start + behind]
            for e in range(out.size):
                out[e] += np.int64(row[e])


@lowers("argmax")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    axis = work.attrs["axis"]
    if axis is None or x.ndim != 2 or normalize_axis(axis, 2) != 1 or not x.size or x.dtype not in FLOATS:
        return None
    if x.strides[1] != x.itemsize or not out.flags.c_contiguous:
        return None
    return [Call(places_of_largest, x.dtype, (*x.shape, x, x.strides[0], out))]


@lowers("class_index")
def _(work: Work) -> list[Call] | None:
    (target,), (out,) = work.inputs, work.outputs
    if target.dtype != INT64 or not (target.flags.c_contiguous and out.flags.c_contiguous):
        return None
    words = (out.size, target, out, work.attrs["classes"], work.attrs["ignore_index"], Status())
    return [Call(classes, INT64, words)]


def total_calls(x: Array, out: Array, axes: Sequence[int]) -> list[Call] | None:
    """Return the calls that add up truth values or int64 over axes."""
    if x.dtype not in (BOOL, INT64):
        return None
    found = extents_around(x, out, axes)
    return None if found is None else [Call(totals, raw(x).dtype, (*found, raw(x), out))]
