"""Arrays that hold one value, and borders of it: constants, padding, triangles and diagonals of matrices.

Values of any kind are copied by their bits, so that one code serves all types of a size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.core.value import Array
from engine.execution.native.inline.pointers import view
from engine.execution.native.kernel import itemsize, kernel_of, real
from engine.execution.native.kernels.arrangement import copied, joined_calls
from engine.execution.native.kernels.elementwise import FIRST, OUT, operands
from engine.execution.native.lowering import Call, Work, lowers
from engine.ops.shape.creation import arange, linspace

BITS = {size: np.dtype(f"uint{8 * size}") for size in (1, 2, 4, 8)}
VALUE = FIRST
"""Where the bits of the value are in a block."""


@kernel_of(np.uint8, np.uint16, np.uint32, np.uint64)
def fill_bits(a: Any) -> None:
    """Set all elements. Words: extents; out and its strides as of an elementwise kernel; the bits of the value."""
    n, value = a[3], real(a[VALUE])
    for i in range(a[0]):
        for j in range(a[1]):
            for k in range(a[2]):
                out = a[OUT] + i * a[OUT + 1] + j * a[OUT + 2] + k * a[OUT + 3]
                if a[OUT + 4] == itemsize:
                    row = view(out, n, real)
                    for e in range(row.size):
                        row[e] = value
                else:
                    for e in range(n):
                        view(out + e * a[OUT + 4], 1, real)[0] = value


@kernel_of(np.uint8, np.uint16, np.uint32, np.uint64)
def triangle(a: Any) -> None:
    """Copy a triangle of matrices, and set what is outside.

    Words: matrices, rows, columns; the diagonal; is it the lower triangle, up to the diagonal, or the upper one, from
    there on; out; x, the bytes from matrix to matrix and from row to row; the bits of what is outside.
    """
    rows, columns, value = a[1], a[2], real(a[9])
    for r in range(a[0] * rows):
        row = r % rows
        cut = min(max(row + a[3] + (1 if a[4] else 0), 0), columns)
        first, last = (0, cut) if a[4] else (cut, columns)
        out = a[5] + r * columns * itemsize
        x = a[6] + (r // rows) * a[7] + row * a[8]
        before, behind = view(out, first, real), view(out + last * itemsize, columns - last, real)
        for e in range(before.size):
            before[e] = value
        for e in range(behind.size):
            behind[e] = value
        if x != out:
            inner = view(x + first * itemsize, last - first, real)
            kept = view(out + first * itemsize, last - first, real)
            for e in range(kept.size):
                kept[e] = inner[e]


def bits_of(value: float, like: Array) -> int:
    """Return the bits of a value in the dtype of an array."""
    return int(np.asarray(value, like.dtype).reshape(1).view(BITS[like.itemsize])[0])


def filled(out: Array, value: float) -> list[Call] | None:
    """Return the calls that set every element of an array, of any strides."""
    if not out.size:
        return []
    if out.itemsize not in BITS or out.dtype.kind == "c":
        return None
    bits = bits_of(value, out)
    signed = bits - 2**64 if bits >= 2**63 else bits
    words = operands(Work([], [out.view(BITS[out.itemsize]) if out.ndim else out.reshape(1)], {}))
    return None if words is None else [Call(fill_bits, BITS[out.itemsize], (*words, signed))]


@lowers("zeros")
def _(work: Work) -> list[Call] | None:
    return filled(work.outputs[0], 0)


@lowers("ones")
def _(work: Work) -> list[Call] | None:
    return filled(work.outputs[0], 1)


@lowers("full")
def _(work: Work) -> list[Call] | None:
    return filled(work.outputs[0], work.attrs["value"])


@lowers("eye")
def _(work: Work) -> list[Call] | None:
    (out,) = work.outputs
    return joined_calls(filled(out, 0), filled(out.diagonal(), 1))


@lowers("arange", "linspace")
def _(work: Work) -> list[Call] | None:
    (out,) = work.outputs
    made = np.empty(out.shape, out.dtype)
    op = linspace if "steps" in work.attrs else arange
    op.body(**work.attrs, out=made)
    return copied(made, out)


@lowers("diagonal_scatter")
def _(work: Work) -> list[Call] | None:
    (x,), (out,), attrs = work.inputs, work.outputs, work.attrs
    rows, columns = out.shape[attrs["axis0"]], out.shape[attrs["axis1"]]
    offset = max(min(attrs["offset"], columns), -rows)
    return joined_calls(filled(out, 0), copied(x, out.diagonal(offset, attrs["axis0"], attrs["axis1"])))


# -- padding ----------------------------------------------------------------------------------------------------------


@lowers("pad")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    widths = work.attrs["widths"]
    if work.attrs["mode"] == "constant":
        return _surrounded(x, out, widths, work.attrs["value"])
    if any(width < 0 for pair in widths for width in pair) or not x.size:
        return None
    return _mirrored(x, out, widths, work.attrs["mode"])


def _surrounded(x: Array, out: Array, widths: Sequence[tuple[int, int]], value: float) -> list[Call] | None:
    """Copy what is not cut off, and fill the borders, axis by axis, where no border of an earlier axis lies."""
    if any(extent == 0 for extent in (*x.shape, *out.shape)):
        return filled(out, value)
    parts: list[list[Call] | None] = []
    for axis, (before, after) in enumerate(widths):
        lead = (slice(None),) * axis
        start, stop = max(before, 0), out.shape[axis] - max(after, 0)
        if start >= stop:
            return filled(out, value)
        parts += [filled(out[(*lead, slice(0, start))], value), filled(out[(*lead, slice(stop, None))], value)]
        out = out[(*lead, slice(start, stop))]
        x = x[(*lead, slice(max(-before, 0), x.shape[axis] - max(-after, 0)))]
    return joined_calls(*parts, copied(x, out))


def _mirrored(x: Array, out: Array, widths: Sequence[tuple[int, int]], mode: str) -> list[Call] | None:
    """Copy the inner part, then for each axis borders out of what is there already, as long as all axes before."""
    inner = [slice(before, before + extent) for (before, _), extent in zip(widths, x.shape, strict=True)]
    parts = [copied(x, out[tuple(inner)])]
    for axis, ((before, after), extent) in enumerate(zip(widths, x.shape, strict=True)):
        lead, rest = (slice(None),) * axis, tuple(inner[axis + 1 :])

        def along(start: int, stop: int, lead: Any = lead, rest: Any = rest) -> Array:
            part: Array = out[(*lead, slice(start, stop), *rest)]
            return part

        first, last = before, before + extent
        for border, width, near, opposite, edge in (
            (along(0, first), before, (first + 1, first + 1 + before), (last - before, last), first),
            (along(last, last + after), after, (last - 1 - after, last - 1), (first, first + after), last - 1),
        ):
            if not width:
                continue
            if mode != "replicate" and width > extent - (mode == "reflect"):
                return None  # NumPy goes to and fro
            if mode == "replicate":
                source = np.broadcast_to(along(edge, edge + 1), border.shape)
            else:
                source = np.flip(along(*near), axis) if mode == "reflect" else along(*opposite)
            parts.append(copied(source, border))
    return joined_calls(*parts)


# -- triangles --------------------------------------------------------------------------------------------------------


def _triangle(work: Work, diagonal: int, *, lower: bool, outside: float = 0.0) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    if not out.size or not out.flags.c_contiguous or x.strides[-1] != x.itemsize or x.itemsize not in BITS:
        return None
    rows, columns = x.shape[-2:]
    try:
        stack = x.reshape(math.prod(x.shape[:-2]), rows, columns, copy=False)
    except ValueError:
        return None
    bits = bits_of(outside, out)
    signed = bits - 2**64 if bits >= 2**63 else bits
    words = (*stack.shape, diagonal, lower, out, stack, stack.strides[0], stack.strides[1], signed)
    return [Call(triangle, BITS[x.itemsize], words)]


@lowers("tril")
def _(work: Work) -> list[Call] | None:
    return _triangle(work, work.attrs["diagonal"], lower=True)


@lowers("triu")
def _(work: Work) -> list[Call] | None:
    return _triangle(work, work.attrs["diagonal"], lower=False)


@lowers("diag_mask_inf")
def _(work: Work) -> list[Call] | None:
    return _triangle(work, work.attrs["n_past"], lower=True, outside=-math.inf)
