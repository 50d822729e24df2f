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
from engine.execution.native.kernels.extremes import extents_around
from engine.execution.native.lowering import Call, Scratch, Work, lowers

SORTED = (*FLOATS, *WHOLE)


def precedes(x: Any, y: Any) -> Any:
    """Stand for whether x comes before y, and not because of its place."""
    raise NotImplementedError


def sort_places(a: Any) -> None:
    """Words: extents before, along and behind the axis; x; out, int64; scratch for the places, twice."""
    extent, behind = a[1], a[2]
    for lot in range(a[0]):
        size = extent * behind
        x = view(a[3] + lot * size * view(a[3], 1, real).itemsize, size, real)
        out = view(a[4] + lot * size * 8, size, np.int64)
        for e in range(behind):
            places, merged = view(a[5], extent, np.int64), view(a[6], extent, np.int64)
            for i in range(extent):
                places[i] = i
            width = 1
            while width < extent:
                for start in range(0, extent, 2 * width):
                    middle, end = min(start + width, extent), min(start + 2 * width, extent)
                    i, j = start, middle
                    for k in range(start, end):
                        if j >= end or (
                            i < middle and not precedes(x[places[j] * behind + e], x[places[i] * behind + e])
                        ):
                            merged[k] = places[i]
                            i += 1
                        else:
                            merged[k] = places[j]
                            j += 1
                places, merged = merged, places
                width *= 2
            for i in range(extent):
                out[i * behind + e] = places[i]


# NaN is the largest.
ORDERS: Mapping[bool, Callable[[Any, Any], Any]] = {
    False: lambda x, y: x < y or (y != y and x == x),
    True: lambda x, y: x > y or (x != x and y == y),
}
KERNELS = {
    descending: Kernel(sort_places, SORTED, name=f"argsort_{descending}".lower(), parts={"precedes": order})
    for descending, order in ORDERS.items()
}


@lowers("argsort")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    if not x.ndim or x.dtype not in SORTED or not x.flags.c_contiguous:
        return None
    found = extents_around(x, out, (normalize_axis(work.attrs["axis"], x.ndim),))
    if found is None:
        return None
    size = -(-found[1] * INT64.itemsize // 64) * 64
    words = (*found, x, out, Scratch(), Scratch(size))
    return [Call(KERNELS[work.attrs["descending"]], x.dtype, words, 2 * size)]
