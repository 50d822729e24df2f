"""Standardization of rows, what layer_norm and rms_norm are made of, and its gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.core.shape_rules import normalize_axes
from engine.core.value import Array
from engine.execution.native.inline.pointers import float_of, view
from engine.execution.native.inline.rows import PIECE, dot, total
from engine.execution.native.kernel import FLOATS, kernel, real
from engine.execution.native.kernels.channel_norm import standardize_calls, standardize_gradient_calls
from engine.execution.native.lowering import Call, Work, lowers


@kernel
def standardize(a: Any) -> None:
    """Words: rows, their length; x, the bytes from row to row; y, its; factors; eps; is the mean subtracted."""
    rows, length = a[0], a[1]
    factors, eps = view(a[6], rows, real), float_of(a[7])
    for r in range(rows):
        x, y = view(a[2] + r * a[3], length, real), view(a[4] + r * a[5], length, real)
        if a[8]:
            mean = real(total(x) / length)
            squares = 0.0
            for start in range(0, length, PIECE):
                piece, centred = x[start : start + PIECE], y[start : start + PIECE]
                part = real(0)
                for i in range(piece.size):
                    c = piece[i] - mean
                    centred[i] = c
                    part += c * c
                squares += np.float64(part)
            factor = real(1.0 / np.sqrt(squares / length + eps))
            for i in range(y.size):
                y[i] *= factor
        else:
            factor = real(1.0 / np.sqrt(dot(x, x) / length + eps))
            for i in range(y.size):
                y[i] = x[i] * factor
        factors[r] = factor


@kernel
def standardize_gradient(a: Any) -> None:
    """Words: rows, their length; g, the bytes from row to row; y, its; factors; out, its; was the mean subtracted."""
    rows, length = a[0], a[1]
    factors = view(a[6], rows, real)
    for r in range(rows):
        g, y = view(a[2] + r * a[3], length, real), view(a[4] + r * a[5], length, real)
        out, factor = view(a[7] + r * a[8], length, real), factors[r]
        slope, mean = real(0), real(0)
        if length <= PIECE:
            for i in range(g.size):
                slope += g[i] * y[i]
                mean += g[i]
            slope /= real(length)
            mean /= real(length)
        else:
            slope, mean = real(dot(g, y) / length), real(total(g) / length)
        mean = mean if a[9] else real(0)
        for i in range(out.size):
            out[i] = (g[i] - (y[i] * slope + mean)) * factor


@lowers("standardize")
def _(work: Work) -> list[Call] | None:
    (x,), (y, factor) = work.inputs, work.outputs
    found = rows_of(work.attrs["axis"], x, y)
    if found is None:
        return standardize_calls(work)
    if factor.dtype != x.dtype or not factor.flags.c_contiguous:
        return None
    rows, length, (x_step, y_step) = found
    words = (rows, length, x, x_step, y, y_step, factor, float(work.attrs["eps"]), bool(work.attrs["centre"]))
    return [Call(standardize, x.dtype, words)]


@lowers("standardize_backward")
def _(work: Work) -> list[Call] | None:
    (g, y, factor), (out,) = work.inputs, work.outputs
    found = rows_of(work.attrs["axis"], g, y, out)
    if found is None:
        return standardize_gradient_calls(work)
    if factor.dtype != g.dtype or not factor.flags.c_contiguous:
        return None
    rows, length, (g_step, y_step, out_step) = found
    words = (rows, length, g, g_step, y, y_step, factor, out, out_step, bool(work.attrs["centre"]))
    return [Call(standardize_gradient, g.dtype, words)]


def rows_of(axis: Any, *arrays: Array) -> tuple[int, int, list[int]] | None:
    """Take arrays of one shape as rows of contiguous numbers along trailing axes.

    Returns:
        how many rows, how long, and for each array the bytes from row to row; None where `axis` is not trailing, or the
        rows of one lie unevenly, or it is of another dtype.
    """
    first = arrays[0]
    axes = normalize_axes(axis, first.ndim)
    kept = first.ndim - len(axes)
    if first.dtype not in FLOATS or not first.size or axes != tuple(range(kept, first.ndim)):
        return None
    rows, length = math.prod(first.shape[:kept]), math.prod(first.shape[kept:])
    steps = []
    for x in arrays:
        try:
            matrix = x.reshape(rows, length, copy=False)
        except ValueError:
            return None
        if x.dtype != first.dtype or (length > 1 and matrix.strides[1] != x.itemsize):
            return None
        steps.append(matrix.strides[0])
    return rows, length, steps
