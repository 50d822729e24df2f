"""Reductions that compare: largest and smallest elements, their places, and logarithms of sums of exponentials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.core.shape_rules import normalize_axes, normalize_axis
from engine.execution.native.inline.arithmetic import exp
from engine.execution.native.inline.logarithm import log
from engine.execution.native.inline.matrix_tiles import transpose
from engine.execution.native.inline.pointers import frozen, view
from engine.execution.native.inline.rows import PIECE, fill, larger, largest
from engine.execution.native.inline.short_softmax import TOGETHER, transposes
from engine.execution.native.inline.vectors import vector_bytes
from engine.execution.native.kernel import FLOATS, Kernel, inline, itemsize, kernel, real
from engine.execution.native.kernels.reduced_axes import blocks
from engine.execution.native.lowering import LOWERINGS, Call, Scratch, Work, lowers


def term(x: Any) -> Any:
    """Stand for the number whose largest is sought."""
    raise NotImplementedError


def extreme(a: Any) -> None:
    """Words: extents before, along and behind the reduced axes; x; out. NaN if there is one."""
    extent, behind = a[1], a[2]
    for lot in range(a[0]):
        source = a[3] + lot * extent * behind * itemsize
        out = view(a[4] + lot * behind * itemsize, behind, real)
        if behind == 1:
            row, top = view(source, extent, real), real(-np.inf)
            for i in range(row.size):
                top = larger(top, term(row[i]))
            out[0] = term(top)
        else:
            fill(out, real(-np.inf))
            for r in range(extent):
                terms = view(source + r * behind * itemsize, behind, real)
                for e in range(out.size):
                    out[e] = larger(frozen(out[e]), term(terms[e]))
            for e in range(out.size):
                out[e] = term(out[e])


def place_of_extreme(a: Any) -> None:
    """Words: extents before, along and behind the axis; x; out, int64. The first NaN counts as the extreme."""
    extent, behind = a[1], a[2]
    for lot in range(a[0]):
        out = view(a[4] + lot * behind * 8, behind, np.int64)
        x = view(a[3] + lot * extent * behind * itemsize, extent * behind, real)
        for e in range(behind):
            best, place = term(x[e]), 0
            for r in range(1, extent):
                number = term(x[r * behind + e])
                if best == best and (number > best or number != number):
                    best, place = number, r
            out[e] = place


@kernel
def largest_of_bins(a: Any) -> None:
    """Words: extents before, along and behind the axis; bins; x; out, int64. The first NaN is the largest."""
    extent, behind, bins = a[1], a[2], a[3]
    for lot in range(a[0]):
        x = view(a[4] + lot * extent * behind * itemsize, extent * behind, real)
        for b in range(bins):
            first, last = b * extent // bins, ((b + 1) * extent + bins - 1) // bins
            out = view(a[5] + (lot * bins + b) * behind * 8, behind, np.int64)
            for e in range(behind):
                best, place = x[first * behind + e], first
                for r in range(first + 1, last):
                    number = x[r * behind + e]
                    if best == best and (number > best or number != number):
                        best, place = number, r
                out[e] = place


@kernel
def log_sum_exp(a: Any) -> None:
    """Logarithms of sums of exponentials.

    Words: extents before, along and behind the reduced axes; x; out; scratch for the columns' largest, for their
    sums in float64, and for rows that are transposed; lanes of a register, 0 where none are.
    """
    extent, behind, lanes = a[1], a[2], a[8]
    if lanes > 0:
        for first in range(0, a[0], TOGETHER):
            rows = min(TOGETHER, a[0] - first)
            for r in range(0, rows, lanes):
                source = a[3] + (first + r) * extent * itemsize
                place, count = a[7] + r * itemsize, min(lanes, rows - r)
                transpose(place, TOGETHER * itemsize, source, extent * itemsize, count, extent, real(0))
            add_columns(a, a[7], TOGETHER * itemsize, a[4] + first * itemsize, rows, itemsize, real)
    elif behind == 1:
        for lot in range(a[0]):
            row = view(a[3] + lot * extent * itemsize, extent, real)
            top = largest(row)
            # Of an infinite or NaN top differences would be NaN.
            top = top if abs(top) < real(np.inf) else real(0)
            total = 0.0
            for start in range(0, extent, PIECE):
                piece, part = row[start : start + PIECE], real(0)
                for i in range(piece.size):
                    part += exp(piece[i] - top)
                total += np.float64(part)
            view(a[4] + lot * itemsize, 1, real)[0] = real(np.log(total) + np.float64(top))
    else:
        for lot in range(a[0]):
            source = a[3] + lot * extent * behind * itemsize
            add_columns(a, source, behind * itemsize, a[4] + lot * behind * itemsize, behind, itemsize, real)


@inline
def add_columns(a: Any, source: Any, step: Any, target: Any, count: Any, itemsize: Any, real: Any) -> None:
    """Compute the results of `count` columns whose rows lie `step` bytes apart."""
    out, tops, sums = view(target, count, real), view(a[5], count, real), view(a[6], count, np.float64)
    fill(tops, real(-np.inf))
    fill(sums, 0.0)
    for r in range(a[1]):
        terms = view(source + r * step, count, real)
        for e in range(tops.size):
            tops[e] = larger(frozen(tops[e]), terms[e])
    for e in range(tops.size):
        top = frozen(tops[e])
        tops[e] = top if abs(top) < real(np.inf) else real(0)
    for r in range(a[1]):
        terms = view(source + r * step, count, real)
        for e in range(sums.size):
            sums[e] += np.float64(exp(terms[e] - tops[e]))
    for e in range(out.size):
        out[e] = real(log(sums[e]) + np.float64(tops[e]))


SIGNS = {"max": lambda x: x, "min": lambda x: -x}
EXTREMES = {f"a{name}": Kernel(extreme, name=f"a{name}", parts={"term": sign}) for name, sign in SIGNS.items()}
PLACES = {f"arg{n}": Kernel(place_of_extreme, name=f"arg{n}", parts={"term": sign}) for n, sign in SIGNS.items()}


def _reduced(work: Work) -> tuple[int, int, int] | None:
    (x,), (out,) = work.inputs, work.outputs
    return blocks(x, out, normalize_axes(work.attrs["axis"], x.ndim)) if out.dtype == x.dtype else None


def _extreme(op: str) -> None:
    def lower(work: Work) -> list[Call] | None:
        found = _reduced(work)
        (x,), (out,) = work.inputs, work.outputs
        return None if found is None else [Call(EXTREMES[op], x.dtype, (*found, x, out))]

    lowers(op)(lower)


def _place(op: str) -> None:
    for_rows = LOWERINGS.get(op)

    def lower(work: Work) -> list[Call] | None:
        calls = None if for_rows is None else for_rows(work)
        if calls is not None:
            return list(calls)
        (x,), (out,) = work.inputs, work.outputs
        axis = work.attrs["axis"]
        if axis is None and not x.flags.c_contiguous:
            return None
        found = blocks(x, out, range(x.ndim) if axis is None else (normalize_axis(axis, x.ndim),))
        return None if found is None else [Call(PLACES[op], x.dtype, (*found, x, out))]

    lowers(op)(lower)


for _name in SIGNS:
    _extreme(f"a{_name}")
    _place(f"arg{_name}")


@lowers("bin_argmax")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    axis = normalize_axis(work.attrs["axis"], x.ndim)
    if not x.flags.c_contiguous or not x.size or x.dtype not in FLOATS or not out.flags.c_contiguous:
        return None
    extents = math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :])
    return [Call(largest_of_bins, x.dtype, (*extents, out.shape[axis], x, out))]


@lowers("logsumexp")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    found = _reduced(work)
    if found is None:
        return None
    before, extent, behind = found
    transposed = behind == 1 < before and transposes(extent, x.itemsize)
    columns = TOGETHER if transposed else behind
    own = -(-columns * x.itemsize // 64) * 64
    sums = -(-columns * 8 // 64) * 64
    rows = extent * TOGETHER * x.itemsize if transposed else 0
    places = (Scratch(), Scratch(own), Scratch(own + sums))
    lanes = vector_bytes() // x.itemsize if transposed else 0
    return [Call(log_sum_exp, x.dtype, (*found, x, out, *places, lanes), scratch=own + sums + rows)]
