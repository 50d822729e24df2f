"""The indices that sort elements along an axis, by merging runs that are twice as long each time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.core.dtypes import INT64
from engine.core.shape_rules import normalize_axis
from engine.execution.native.inline.pointers import view
from engine.execution.native.kernel import FLOATS, Kernel, real
from engine.execution.native.kernels.elementwise import WHOLE
from engine.execution.native.kernels.reduced_axes import extents_around
from engine.execution.native.lowering import Call, Scratch, Work, lowers

SORTED = (*FLOATS, *WHOLE)


def precedes(x: Any, y: Any) -> Any:
    """Stand for whether x comes before y, and not because of its place."""
    raise NotImplementedError


def sort_line(x: Any, first: Any, apart: Any, places: Any, merged: Any) -> Any:
    """Return the places of elements in their order, in one of two arrays of the length of the line.

    The line's first element is x[first], and others lie `apart` from each other.
    """
    extent = places.size
    for i in range(extent):
        places[i] = i
    width = 1
    while width < extent:
        for start in range(0, extent, 2 * width):
            middle, end = min(start + width, extent), min(start + 2 * width, extent)
            i, j = start, middle
            for k in range(start, end):
                if j >= end or (
                    i < middle and not precedes(x[first + places[j] * apart], x[first + places[i] * apart])
                ):
                    merged[k] = places[i]
                    i += 1
                else:
                    merged[k] = places[j]
                    j += 1
        places, merged = merged, places
        width *= 2
    return places


def sort_places(a: Any) -> None:
    """Words: extents before, along and behind the axis; x; out, int64; scratch for the places, twice."""
    extent, behind = a[1], a[2]
    size = a[0] * extent * behind
    x, out = view(a[3], size, real), view(a[4], size, np.int64)
    for lot in range(a[0]):
        for e in range(behind):
            first = lot * extent * behind + e
            places = sort_line(x, first, behind, view(a[5], extent, np.int64), view(a[6], extent, np.int64))
            for i in range(extent):
                out[first + i * behind] = places[i]


def median_places(a: Any) -> None:
    """Find the lower median, or the first NaN. Words: as of `sort_places`, then whether NaN is skipped."""
    extent, behind = a[1], a[2]
    x, out = view(a[3], a[0] * extent * behind, real), view(a[4], a[0] * behind, np.int64)
    for lot in range(a[0]):
        for e in range(behind):
            first = lot * extent * behind + e
            places = sort_line(x, first, behind, view(a[5], extent, np.int64), view(a[6], extent, np.int64))
            known = 0
            for i in range(extent):
                if x[first + i * behind] == x[first + i * behind]:
                    known += 1
            middle = max(known - 1, 0) // 2
            out[lot * behind + e] = places[middle if a[7] or known == extent else known]


# NaN is the largest.
ORDERS: Mapping[bool, Callable[[Any, Any], Any]] = {
    False: lambda x, y: x < y or (y != y and x == x),
    True: lambda x, y: x > y or (x != x and y == y),
}
KERNELS = {
    descending: Kernel(
        sort_places, SORTED, name=f"argsort_{descending}".lower(), parts={"precedes": order, "sort_line": sort_line}
    )
    for descending, order in ORDERS.items()
}
MEDIAN = Kernel(median_places, SORTED, name="argmedian", parts={"precedes": ORDERS[False], "sort_line": sort_line})


def _along_axis(code: Kernel, work: Work, *rest: int) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    if not x.ndim or x.dtype not in SORTED or not x.flags.c_contiguous:
        return None
    found = extents_around(x, out, (normalize_axis(work.attrs["axis"], x.ndim),))
    if found is None:
        return None
    size = -(-found[1] * INT64.itemsize // 64) * 64
    return [Call(code, x.dtype, (*found, x, out, Scratch(), Scratch(size), *rest), 2 * size)]


@lowers("argsort")
def _(work: Work) -> list[Call] | None:
    return _along_axis(KERNELS[work.attrs["descending"]], work)


@lowers("argmedian")
def _(work: Work) -> list[Call] | None:
    return _along_axis(MEDIAN, work, work.attrs["ignore_nan"])
