"""Elements set, compared and multiplied at indices of a copy, in the order of the indices."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.core.dtypes import INT64
from engine.execution.native.inline.pointers import view
from engine.execution.native.kernel import FLOATS, Kernel, itemsize, kernel, real
from engine.execution.native.kernels.arrangement import copied, joined_calls
from engine.execution.native.kernels.tables import INDICES, index_at
from engine.execution.native.lowering import Call, Status, Work, lowers


def merged(old: Any, new: Any) -> Any:
    """Stand for what an element becomes."""
    raise NotImplementedError


def merge_along(a: Any) -> None:
    """Words: extents before and behind the axis; of the axis, and how many indices along it; indices, contiguous, are
    they int64; source, of their shape; out; where to say that an index is none of the axis.
    """
    behind, extent, given = a[1], a[2], a[3]
    for lot in range(a[0]):
        out = view(a[7] + lot * extent * behind * itemsize, extent * behind, real)
        for r in range(given):
            row = (lot * given + r) * behind
            source = view(a[6] + row * itemsize, behind, real)
            for e in range(behind):
                index = index_at(a[4], a[5], row + e, 8 if a[5] else 4, row + behind, 0)
                if index < -extent or index >= extent:
                    view(a[8], 1, np.int64)[0] = 1
                    continue
                place = (index + extent if index < 0 else index) * behind + e
                out[place] = merged(out[place], source[e])


@kernel
def set_rows(a: Any) -> None:
    """Words: how many; numbers in a row; rows of the result; source, indices, are they int64; out; where to say that an
    index is none of a row; how the indices lie, as in `index_at`; how many results, one behind another.
    """
    length, rows = a[1], a[2]
    for result in range(a[11]):
        given, made = a[3] + result * a[0] * length * itemsize, a[6] + result * rows * length * itemsize
        for i in range(a[0]):
            index = index_at(a[4], a[5], i, a[8], a[9], a[10])
            if index < -rows or index >= rows:
                view(a[7], 1, np.int64)[0] = 1
                continue
            row = index + rows if index < 0 else index
            source = view(given + i * length * itemsize, length, real)
            out = view(made + row * length * itemsize, length, real)
            for j in range(out.size):
                out[j] = source[j]


MERGES: Mapping[str, Callable[[Any, Any], Any]] = {
    "set": lambda _, new: new,
    # NaN counts as the largest and as the smallest.
    "largest": lambda old, new: new if new > old or new != new else old,
    "smallest": lambda old, new: new if new < old or new != new else old,
    "product": lambda old, new: old * new,
}
PLACED = (*FLOATS, INT64)
KERNELS = {name: Kernel(merge_along, PLACED, name=f"merge_{name}", parts={"merged": m}) for name, m in MERGES.items()}


def _merge(work: Work, merge: str) -> list[Call] | None:
    (x, index, source), (out,) = work.inputs, work.outputs
    if not x.ndim or not index.size or index.dtype not in INDICES or out.dtype not in PLACED:
        return None
    if not x.dtype == source.dtype == out.dtype or not (source.flags.c_contiguous and out.flags.c_contiguous):
        return None
    axis = work.attrs["axis"] % x.ndim
    before, behind = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    around = (x.shape[:axis], x.shape[axis + 1 :])
    if (index.shape[:axis], index.shape[axis + 1 :]) != around or not index.flags.c_contiguous:
        return None
    words = (before, behind, x.shape[axis], index.shape[axis], index, index.itemsize == 8, source, out, Status())
    return joined_calls(copied(x, out), [Call(KERNELS[merge], out.dtype, words)])


lowers("scatter_set")(lambda work: _merge(work, "set"))
lowers("scatter_extreme")(lambda work: _merge(work, "largest" if work.attrs["largest"] else "smallest"))
lowers("scatter_prod")(lambda work: _merge(work, "product"))
