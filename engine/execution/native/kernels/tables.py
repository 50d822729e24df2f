"""Rows of tables, looked up by index; elements picked and placed along an axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.core.dtypes import DType
from engine.core.value import Array, Shape
from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.rows import fill
from engine.execution.native.kernel import FLOATS, Kernel, inline, itemsize, kernel, kernel_of, real
from engine.execution.native.kernels.arrangement import NARROW, SAME_SIZE, as_bits
from engine.execution.native.lowering import Argument, Call, Status, Work, lowers

INDICES = (np.dtype(np.int32), np.dtype(np.int64))
MOVED: tuple[DType, ...] = (*FLOATS, *NARROW)
"""As what elements of any kind are moved: their bits stay."""


@inline
def index_at(address: Any, wide: Any, i: Any, step: Any, together: Any, apart: Any) -> Any:
    """Return index number i of int64, or of int32 unless `wide`.

    `together` of them lie `step` bytes apart, and so many begin `apart` bytes after those before.
    """
    place = address + i * step
    if i >= together:
        place = address + (i // together) * apart + (i % together) * step
    if wide:
        return view(place, 1, np.int64)[0]
    return np.int64(view(place, 1, np.int32)[0])


@kernel_of(np.float32, np.float64, np.uint8, np.uint16)
def lookup(a: Any) -> None:
    """Words: how many; numbers in a row; the table's rows; table; indices, are they int64; out; where to say that an
    index is none of the table's; how the indices lie, as in `index_at`; how many tables, one behind another.
    """
    length, rows, together, target = a[1], a[2], a[9], a[6]
    for table in range(a[11]):
        first = a[3] + table * rows * length * itemsize
        for lot in range(a[0] // together):
            for i in range(together):
                index = index_at(a[4] + lot * a[10], a[5], i, a[8], together, 0)
                if index < -rows or index >= rows:
                    view(a[7], 1, np.int64)[0] = 1
                    continue
                index = index + rows if index < 0 else index
                source, out = view(first + index * length * itemsize, length, real), view(target, length, real)
                for j in range(out.size):
                    out[j] = source[j]
                target += length * itemsize


@kernel_of(np.float32, np.float64, np.uint8, np.uint16)
def pick(a: Any) -> None:
    """Pick single elements along the last axis.

    Words: rows; picked of each; extent of the axis; x, bytes from row to row; indices, bytes from row to row, are they
    int64; out; where to say that an index is none of the axis.
    """
    picked, extent = a[1], a[2]
    for r in range(a[0]):
        x, out = view(a[3] + r * a[4], extent, real), view(a[8] + r * picked * itemsize, picked, real)
        for i in range(picked):
            index = index_at(a[5] + r * a[6], a[7], i, 8 if a[7] else 4, picked, 0)
            if index < -extent or index >= extent:
                view(a[9], 1, np.int64)[0] = 1
            else:
                out[i] = x[index + extent if index < 0 else index]


@kernel
def place(a: Any) -> None:
    """Add single elements along the last axis of zeros.

    Words: rows; elements of each; extent of the axis; x, bytes from row to row; indices, bytes from row to row, are
    they int64; out; where to say that an index is none of the axis.
    """
    given, extent = a[1], a[2]
    for r in range(a[0]):
        x, out = view(a[3] + r * a[4], given, real), view(a[8] + r * extent * itemsize, extent, real)
        fill(out, real(0))
        for i in range(given):
            index = index_at(a[5] + r * a[6], a[7], i, 8 if a[7] else 4, given, 0)
            if index < -extent or index >= extent:
                view(a[9], 1, np.int64)[0] = 1
            else:
                out[index + extent if index < 0 else index] += x[i]


def transfer(*_: Any) -> None:
    """Stand for what a kernel does with elements beside one another and those that an index names."""
    raise NotImplementedError


def across(a: Any) -> None:
    """Go through indices along an axis that is not the last, each for an element, or for all elements of a row.

    Words: extents before and behind the axis; indices along it; its extent; what has an element for each index;
    indices, are they int64, bytes from one to the next along each of the three; what is indexed; where to say that an
    index is none of the axis; whether what is indexed is cleared first.
    """
    behind, given, extent, row = a[1], a[2], a[3], a[1] * itemsize
    together = behind if a[9] == 0 else 1
    if a[12]:
        fill(view(a[10], a[0] * extent * behind, real), real(0))
    for lot in range(a[0]):
        own, indexed = a[4] + lot * given * row, a[10] + lot * extent * row
        for i in range(given):
            for e in range(0, behind, together):
                index = index_at(a[5] + lot * a[7] + i * a[8], a[6], e, a[9], behind, 0)
                if index < -extent or index >= extent:
                    view(a[11], 1, np.int64)[0] = 1
                    continue
                place = (index + extent if index < 0 else index) * row + e * itemsize
                transfer(view(own + i * row + e * itemsize, together, real), view(indexed + place, together, real))


def _picked(own: Any, indexed: Any) -> None:
    for e in range(own.size):
        own[e] = indexed[e]


def _placed(own: Any, indexed: Any) -> None:
    for e in range(own.size):
        indexed[e] += own[e]


pick_across = Kernel(across, MOVED, name="pick_across", parts={"transfer": _picked})
place_across = Kernel(across, name="place_across", parts={"transfer": _placed})


@lowers("embedding")
def _(work: Work) -> list[Call] | None:
    (table, index), (out,) = work.inputs, work.outputs
    lots = row_lots(index, index)
    if index.dtype not in INDICES or lots is None or not (out.size and moves(table, out)):
        return None
    table, out = as_bits(table), as_bits(out)
    length, wide = out.size // index.size, index.itemsize == 8
    return [Call(lookup, out.dtype, (index.size, length, len(table), table, index, wide, out, Status(), *lots, 1))]


@lowers("gather")
def _(work: Work) -> list[Call] | None:
    (x, index), (out,) = work.inputs, work.outputs
    if x.dtype != out.dtype or x.itemsize not in SAME_SIZE:
        return None
    x, out = as_bits(x), as_bits(out)
    work = Work([x, index], [out], work.attrs)
    return _along_last(pick, work, x.shape, out) or _across(pick_across, work, out, x)


@lowers("scatter_add")
def _(work: Work) -> list[Call] | None:
    (out,) = work.outputs
    if out.dtype not in FLOATS:
        return None
    return _along_last(place, work, out.shape, out) or _across(place_across, work, work.inputs[0], out)


def _is_along(work: Work, shape: Shape, out: Array) -> bool:
    """Tell whether indices along an axis have the extents of what they index, a value of a shape, along the others."""
    x, index = work.inputs
    if not (x.ndim and x.size and index.size and out.flags.c_contiguous):
        return False
    if x.dtype != out.dtype or index.dtype not in INDICES:
        return False
    axis = work.attrs["axis"] % x.ndim
    return index.ndim == len(shape) and all(
        own == other for place, (own, other) in enumerate(zip(index.shape, shape, strict=True)) if place != axis
    )


def _along_last(code: Kernel, work: Work, shape: Shape, out: Array) -> list[Call] | None:
    """Return the call that goes through rows of indices, where the axis is the last."""
    x, index = work.inputs
    if not _is_along(work, shape, out) or work.attrs["axis"] % x.ndim != x.ndim - 1:
        return None
    rows, wide = math.prod(index.shape[:-1]), index.itemsize == 8
    x_step, index_step = row_step(x, rows), row_step(index, rows)
    if x_step is None or index_step is None:
        return None
    words = (rows, index.shape[-1], shape[-1], x, x_step, index, index_step, wide, out, Status())
    return [Call(code, out.dtype, words)]


def _across(code: Kernel, work: Work, own: Array, indexed: Array) -> list[Call] | None:
    """Return the call that goes through indices, of any strides, along any axis of `indexed`.

    `own` has an element for each of them.
    """
    (x, index), (out,), shape = work.inputs, work.outputs, indexed.shape
    if not _is_along(work, shape, out) or not x.flags.c_contiguous:
        return None
    axis = work.attrs["axis"] % x.ndim
    before, given, behind = math.prod(shape[:axis]), index.shape[axis], math.prod(shape[axis + 1 :])
    try:
        steps = index.reshape(before, given, behind, copy=False).strides
    except ValueError:
        return None
    operands: tuple[Argument, ...] = (own, index, index.itemsize == 8, *steps, indexed, Status(), indexed is out)
    return [Call(code, out.dtype, (before, behind, given, shape[axis], *operands))]


def moves(x: Array, out: Array) -> bool:
    """Tell whether the elements of both, which are row-major, can be moved from one to the other by their bits."""
    return x.dtype == out.dtype and x.itemsize in SAME_SIZE and x.flags.c_contiguous and out.flags.c_contiguous


def row_lots(x: Array, index: Array) -> tuple[int, int, int] | None:
    """Return the bytes from row to row of `x`, one for each index; of how many rows, and from these to the next.

    None where they lie unevenly.
    """
    if not index.size:
        return None
    step = row_step(x, index.size)
    if step is not None:
        return step, index.size, 0
    if index.ndim != 2 or x.shape[:2] != index.shape or row_step(x[0], index.shape[1]) is None:
        return None
    return x.strides[1], index.shape[1], x.strides[0]


def row_step(x: Array, rows: int) -> int | None:
    """Return the bytes from one row of contiguous elements to the next; None where they lie unevenly."""
    try:
        matrix = x.reshape(rows, x.size // rows, copy=False)
    except ValueError:
        return None
    return matrix.strides[0] if matrix.shape[1] == 1 or matrix.strides[1] == x.itemsize else None
