"""Interpolation along an axis by tables of elements and weights, and its transpose, which the gradient is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.core.shape_rules import normalize_axis
from engine.core.value import Array
from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.rows import fill
from engine.execution.native.kernel import itemsize, kernel, real
from engine.execution.native.lowering import Call, Work, alike, lowers
from engine.ops.conv.resize import taps_of


@kernel
def interpolate(a: Any) -> None:
    """Weighted sums of elements along an axis.

    Words: extents before, along and behind the axis; results; taps; places, int64[taps, results]; weights, of the
    dtype; x; out.
    """
    extent, behind, size = a[1], a[2], a[3]
    for lot in range(a[0]):
        source, target = a[7] + lot * extent * behind * itemsize, a[8] + lot * size * behind * itemsize
        if behind == 1:
            x, out = view(source, extent, real), view(target, size, real)
            for tap in range(a[4]):
                places, weights = (
                    view(a[5] + tap * size * 8, size, np.int64),
                    view(a[6], a[4] * size, real)[tap * size :],
                )
                if tap == 0:
                    for s in range(out.size):
                        out[s] = x[places[s]] * weights[s]
                else:
                    for s in range(out.size):
                        out[s] += x[places[s]] * weights[s]
        else:
            for s in range(size):
                row = view(target + s * behind * itemsize, behind, real)
                for tap in range(a[4]):
                    place = view(a[5] + (tap * size + s) * 8, 1, np.int64)[0]
                    weight = view(a[6] + (tap * size + s) * itemsize, 1, real)[0]
                    terms = view(source + place * behind * itemsize, behind, real)
                    if tap == 0:
                        for e in range(row.size):
                            row[e] = terms[e] * weight
                    else:
                        for e in range(row.size):
                            row[e] += terms[e] * weight


@kernel
def interpolate_back(a: Any) -> None:
    """Give each result back to the elements it was made of, by its weights.

    Words as of `interpolate`; x holds cotangents of results, out those of elements.
    """
    extent, behind, size = a[1], a[2], a[3]
    for lot in range(a[0]):
        source, target = a[7] + lot * size * behind * itemsize, a[8] + lot * extent * behind * itemsize
        fill(view(target, extent * behind, real), real(0))
        for tap in range(a[4]):
            places, weights = (
                view(a[5] + tap * size * 8, size, np.int64),
                view(a[6] + tap * size * itemsize, size, real),
            )
            if behind == 1:
                x, out = view(source, size, real), view(target, extent, real)
                for s in range(x.size):
                    out[places[s]] += x[s] * weights[s]
            else:
                for s in range(size):
                    row = view(source + s * behind * itemsize, behind, real)
                    sums = view(target + places[s] * behind * itemsize, behind, real)
                    weight = weights[s]
                    for e in range(sums.size):
                        sums[e] += row[e] * weight


def _call(code: Any, work: Work, large: Array, small: Array) -> list[Call] | None:
    """Return the call between an array and the results of its resampling."""
    (x,), (out,), attrs = work.inputs, work.outputs, work.attrs
    if not alike(x, out) or not x.size:
        return None
    axis = normalize_axis(attrs["axis"], x.ndim)
    extent, size = large.shape[axis], small.shape[axis]
    taps = taps_of(extent, size, attrs["method"], attrs["align_corners"], attrs["scale"])
    places = np.ascontiguousarray(taps.places, np.int64)
    weights = np.ascontiguousarray(taps.weights, x.dtype)
    before, behind = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    return [Call(code, x.dtype, (before, extent, behind, size, len(places), places, weights, x, out))]


@lowers("resample")
def _(work: Work) -> list[Call] | None:
    return _call(interpolate, work, work.inputs[0], work.outputs[0])


@lowers("resample_back")
def _(work: Work) -> list[Call] | None:
    return _call(interpolate_back, work, work.outputs[0], work.inputs[0])
