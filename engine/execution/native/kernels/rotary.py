"""Rotary embeddings: pairs of numbers turned by angles."""

from __future__ import annotations

from typing import Any

from engine.execution.native.inline.pointers import view
from engine.execution.native.kernel import FLOATS, itemsize, kernel, real
from engine.execution.native.kernels.elementwise import broadcast_strides, joined_axes
from engine.execution.native.lowering import Argument, Call, Work, lowers

OUT, X, COSINES, SINES = 8, 13, 18, 23
"""Where an operand's words begin: its address, then its strides along the leading axes."""


@kernel
def rotate(a: Any) -> None:
    """Words: four leading extents; pairs of a row, numbers in a row, are the pairs neighbours, is the turn inverse."""
    pairs, length = a[4], a[5]
    for n in range(a[0] * a[1] * a[2] * a[3]):
        i3, rest = n % a[3], n // a[3]
        i2, rest = rest % a[2], rest // a[2]
        i1, i0 = rest % a[1], rest // a[1]
        out = a[OUT] + i0 * a[OUT + 1] + i1 * a[OUT + 2] + i2 * a[OUT + 3] + i3 * a[OUT + 4]
        x = a[X] + i0 * a[X + 1] + i1 * a[X + 2] + i2 * a[X + 3] + i3 * a[X + 4]
        at = a[COSINES] + i0 * a[COSINES + 1] + i1 * a[COSINES + 2] + i2 * a[COSINES + 3] + i3 * a[COSINES + 4]
        cosines = view(at, pairs, real)
        at = a[SINES] + i0 * a[SINES + 1] + i1 * a[SINES + 2] + i2 * a[SINES + 3] + i3 * a[SINES + 4]
        sines = view(at, pairs, real)
        sign = real(-1) if a[7] else real(1)
        if a[6]:
            xs, ys = view(x, length, real), view(out, length, real)
            for p in range(cosines.size):
                first, second, s = xs[2 * p], xs[2 * p + 1], sines[p] * sign
                ys[2 * p] = first * cosines[p] - second * s
                ys[2 * p + 1] = second * cosines[p] + first * s
        else:
            firsts, seconds = view(x, pairs, real), view(x + pairs * itemsize, pairs, real)
            lows, highs = view(out, pairs, real), view(out + pairs * itemsize, pairs, real)
            for p in range(cosines.size):
                lows[p] = firsts[p] * cosines[p] - seconds[p] * (sines[p] * sign)
            for p in range(cosines.size):
                highs[p] = seconds[p] * cosines[p] + firsts[p] * (sines[p] * sign)
        rest = 2 * pairs * itemsize
        xs, ys = view(x + rest, length - 2 * pairs, real), view(out + rest, length - 2 * pairs, real)
        for e in range(ys.size):
            ys[e] = xs[e]


@lowers("rotate_pairs")
def _(work: Work) -> list[Call] | None:
    (x, cosines, sines), (out,) = work.inputs, work.outputs
    operands = (out, x, cosines, sines)
    if x.dtype not in FLOATS or any(each.dtype != x.dtype or not each.size for each in operands):
        return None
    if any(each.strides[-1] != x.itemsize and each.shape[-1] > 1 for each in operands):
        return None
    lead = x.shape[:-1]
    found = joined_axes(lead, [broadcast_strides(each[..., 0], lead) for each in operands])
    if found is None:
        return None
    extents, strides = found
    pairs, neighbours, inverse = cosines.shape[-1], work.attrs["mode"] == "normal", bool(work.attrs["inverse"])
    words: list[Argument] = [*extents, pairs, x.shape[-1], neighbours, inverse]
    for each, steps in zip(operands, strides, strict=True):
        words += [each, *steps]
    return [Call(rotate, x.dtype, tuple(words))]
