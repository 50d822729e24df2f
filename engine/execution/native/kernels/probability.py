"""Softmax and log_softmax of rows, with masks too, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.value import Array
from engine.execution.native.inline.arithmetic import exp
from engine.execution.native.inline.logarithm import log
from engine.execution.native.inline.pointers import float_of, view
from engine.execution.native.inline.rows import (
    dot,
    exponentials,
    exponentials_in_place,
    largest,
    log_probability,
    total,
)
from engine.execution.native.inline.short_softmax import TOGETHER, add_exponentials, scratch_of_rows, write_rows
from engine.execution.native.kernel import inline, itemsize, kernel, real
from engine.execution.native.kernels.elementwise import broadcast_strides, joined_axes
from engine.execution.native.kernels.standardize import rows_of
from engine.execution.native.lowering import Argument, Call, Scratch, Work, lowers

BOOL_MASK, FLOAT_MASK = 1, 2
SHORT, FOURS = 32, 4
"""Of rows shorter than SHORT, exponentials are computed for many rows at a time, unless their length is a multiple of
FOURS: vector instructions then compute the end of a row as well."""


@kernel
def softmax(a: Any) -> None:
    """Words: rows, their length; x, the bytes from row to row; y, its; then those of `of_short_rows`."""
    if a[9] > 0:
        of_short_rows(a, False, itemsize, real)
        return
    for r in range(a[0]):
        x, y = view(a[2] + r * a[3], a[1], real), view(a[4] + r * a[5], a[1], real)
        share = real(1.0 / exponentials(y, x, largest(x)))
        for i in range(y.size):
            y[i] *= share


@inline
def of_short_rows(a: Any, logarithms: Any, itemsize: Any, real: Any) -> None:
    """Compute softmax, or its logarithms, of short rows; registers hold numbers of many rows for it.

    Words from the seventh on: scratch for rows that are transposed, for their largest and for their sums in float64;
    lanes of a register, 0 where rows are not transposed.
    """
    length, lanes, step = a[1], a[9], TOGETHER * itemsize
    for first in range(0, a[0], TOGETHER):
        rows = min(TOGETHER, a[0] - first)
        tops, sums = view(a[7], rows, real), view(a[8], rows, np.float64)
        add_exponentials(a[6], a[2] + first * a[3], a[3], tops, sums, length, lanes, logarithms, itemsize, real)
        for e in range(tops.size):
            tops[e] = real(log(sums[e])) if logarithms else real(1.0 / sums[e])
        for i in range(length):
            terms = view(a[6] + i * step, rows, real)
            for e in range(terms.size):
                terms[e] = terms[e] - tops[e] if logarithms else terms[e] * tops[e]
        write_rows(a[4] + first * a[5], a[5], a[6], rows, length, lanes, itemsize, real)


@kernel
def softmax_gradient(a: Any) -> None:
    """Words: rows, their length; g, the bytes from row to row; y, its; out, its."""
    for r in range(a[0]):
        g, y = view(a[2] + r * a[3], a[1], real), view(a[4] + r * a[5], a[1], real)
        out = view(a[6] + r * a[7], a[1], real)
        share = real(dot(g, y))
        for i in range(out.size):
            out[i] = (g[i] - share) * y[i]


@kernel
def log_softmax(a: Any) -> None:
    """Words as of `softmax`."""
    if a[9] > 0:
        of_short_rows(a, True, itemsize, real)
        return
    for r in range(a[0]):
        x, y = view(a[2] + r * a[3], a[1], real), view(a[4] + r * a[5], a[1], real)
        top = largest(x)
        log = real(np.log(exponentials(y, x, top)))
        for i in range(y.size):
            y[i] = log_probability(x[i], top, log)


@kernel
def log_softmax_gradient(a: Any) -> None:
    """Words: rows, their length; g, the bytes from row to row; y, its; out, its; how many rows are taken at a time.

    Of more than one row, which then lie one behind the other, scratch memory takes the exponentials: rows that fill no
    registers would leave many that are computed one by one.
    """
    length, together = a[1], a[8]
    for first in range(0, a[0], together):
        rows = min(together, a[0] - first)
        if together > 1:
            logarithms, shares = view(a[4] + first * a[5], rows * length, real), view(a[9], rows * length, real)
            for e in range(shares.size):
                shares[e] = exp(logarithms[e])
        for r in range(first, first + rows):
            g, out = view(a[2] + r * a[3], length, real), view(a[6] + r * a[7], length, real)
            sum_of_row = real(total(g))
            if together > 1:
                shares = view(a[9] + (r - first) * a[5], length, real)
                for i in range(out.size):
                    out[i] = g[i] - shares[i] * sum_of_row
            else:
                y = view(a[4] + r * a[5], length, real)
                for i in range(out.size):
                    out[i] = g[i] - exp(y[i]) * sum_of_row


@kernel
def masked_softmax(a: Any) -> None:
    """Softmax of scaled rows with a mask.

    Words: four leading extents, the length of rows; scale; is a row without unmasked columns 0; kind of the mask; then
    for y, x and the mask the address, four strides along the leading axes, and that along the row.
    """
    length, scale = a[4], real(float_of(a[5]))
    for n in range(a[0] * a[1] * a[2] * a[3]):
        i3, rest = n % a[3], n // a[3]
        i2, rest = rest % a[2], rest // a[2]
        i1, i0 = rest % a[1], rest // a[1]
        y = view(a[8] + i0 * a[9] + i1 * a[10] + i2 * a[11] + i3 * a[12], length, real)
        x = view(a[14] + i0 * a[15] + i1 * a[16] + i2 * a[17] + i3 * a[18], length, real)
        mask = a[20] + i0 * a[21] + i1 * a[22] + i2 * a[23] + i3 * a[24]
        for e in range(x.size):
            y[e] = x[e] * scale
        if a[7] == BOOL_MASK:
            for e in range(length):
                y[e] = y[e] if view(mask + e * a[25], 1, np.uint8)[0] else real(-np.inf)
        elif a[7] == FLOAT_MASK:
            for e in range(length):
                y[e] += view(mask + e * a[25], 1, real)[0]
        top = largest(y)
        empty = a[6] != 0 and top == real(-np.inf)
        share = exponentials_in_place(y, real(np.inf) if empty else top)
        share = real(1.0 / (1.0 if empty else share))
        for e in range(y.size):
            y[e] *= share


_OF_ONE = {"softmax": softmax, "log_softmax": log_softmax}
_OF_TWO = {"softmax_backward": softmax_gradient, "log_softmax_backward": log_softmax_gradient}


def _lower(op: str) -> None:
    """Declare the lowering of an op on rows."""
    code = {**_OF_ONE, **_OF_TWO}[op]

    def lowering(work: Work) -> list[Call] | None:
        arrays = (*work.inputs, *work.outputs)
        if not arrays[0].ndim:
            return None
        found = rows_of(work.attrs["axis"], *arrays)
        if found is None:
            return None
        rows, length, steps = found
        words: list[Argument] = [rows, length]
        for array, step in zip(arrays, steps, strict=True):
            words += [array, step]
        if code is log_softmax_gradient:
            size = arrays[0].itemsize
            joined = length < SHORT and length % FOURS > 0 and steps[1] == length * size
            together = TOGETHER if joined else 1
            words += [together, Scratch()]
            return [Call(code, arrays[0].dtype, tuple(words), scratch=together * length * size)]
        if op not in _OF_ONE:
            return [Call(code, arrays[0].dtype, tuple(words))]
        more, scratch = scratch_of_rows(rows, length, arrays[0].itemsize)
        return [Call(code, arrays[0].dtype, (*words, *more), scratch=scratch)]

    lowers(op)(lowering)


for _op in (*_OF_ONE, *_OF_TWO):
    _lower(_op)


@lowers("soft_max")
def _(work: Work) -> list[Call] | None:
    x, *masks = work.inputs
    (y,) = work.outputs
    found = rows_of(-1, y)
    if found is None or x.dtype != y.dtype or x.strides[-1] != x.itemsize or work.attrs["max_bias"]:
        return None
    mask = np.broadcast_to(masks[0], (*masks[0].shape[:-1], x.shape[-1])) if masks and masks[0].ndim else None
    if masks and (mask is None or mask.dtype not in (np.bool_, x.dtype)):
        return None
    kind = 0 if mask is None else BOOL_MASK if mask.dtype == np.bool_ else FLOAT_MASK
    operands: list[Array] = [y, x, x if mask is None else mask]
    joined = joined_axes(y.shape[:-1], [broadcast_strides(each[..., 0], y.shape[:-1]) for each in operands])
    if joined is None:
        return None
    extents, strides = joined
    scale, zero = float(work.attrs["scale"]), bool(work.attrs["masked_row_zero"])
    words: list[Argument] = [*extents, x.shape[-1], scale, zero, kind]
    for each, steps in zip(operands, strides, strict=True):
        words += [each, *steps, each.strides[-1]]
    return [Call(masked_softmax, x.dtype, tuple(words))]
