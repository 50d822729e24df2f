"""Running sums, of exponentials too, and products with factors among them, in float64 along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.shape_rules import normalize_axis
from engine.execution.native.inline.arithmetic import exp
from engine.execution.native.inline.logarithm import log1p_of_share
from engine.execution.native.inline.pointers import view
from engine.execution.native.kernel import Kernel, inline, itemsize, kernel, real
from engine.execution.native.kernels.reduced_axes import blocks
from engine.execution.native.lowering import Call, Scratch, Work, alike, lowers

TOGETHER = 4
"""Rows that are gone through at a time: each number waits for the one before it."""


def next_of(total: Any, x: Any) -> Any:
    """Stand for what follows a total."""
    raise NotImplementedError


@inline
def rows_together(first: Any, rows: Any, extent: Any) -> Any:
    """Return where four rows begin, of which there may be several that are the last one."""
    last = rows - 1
    return (
        first * extent,
        min(first + 1, last) * extent,
        min(first + 2, last) * extent,
        min(first + 3, last) * extent,
    )


def running(a: Any) -> None:
    """Words: extents before, along and behind the axis; x; out; scratch for a float64 of every column."""
    extent, behind = a[1], a[2]
    if behind == 1:
        x, out = view(a[3], a[0] * extent, real), view(a[4], a[0] * extent, real)
        for lot in range(0, a[0], TOGETHER):
            p, q, r, s = rows_together(lot, a[0], extent)
            first, second, third, fourth = np.float64(x[p]), np.float64(x[q]), np.float64(x[r]), np.float64(x[s])
            out[p], out[q], out[r], out[s] = x[p], x[q], x[r], x[s]
            for i in range(1, extent):
                first = next_of(first, np.float64(x[p + i]))
                second = next_of(second, np.float64(x[q + i]))
                third = next_of(third, np.float64(x[r + i]))
                fourth = next_of(fourth, np.float64(x[s + i]))
                out[p + i], out[q + i], out[r + i], out[s + i] = real(first), real(second), real(third), real(fourth)
        return
    for lot in range(a[0]):
        start = lot * extent * behind * itemsize
        totals = view(a[5], behind, np.float64)
        for r in range(extent):
            row = view(a[3] + start + r * behind * itemsize, behind, real)
            made = view(a[4] + start + r * behind * itemsize, behind, real)
            for e in range(totals.size):
                totals[e] = next_of(totals[e], np.float64(row[e])) if r else np.float64(row[e])
            for e in range(made.size):
                made[e] = real(totals[e])


@inline
def along_rows(a: Any, real: Any) -> None:
    """Do what `recurrence` does along the last axis."""
    extent, size = a[1], a[0] * a[1]
    factors, terms, made = view(a[3], size, real), view(a[4], size, real), view(a[5], size, real)
    for lot in range(0, a[0], TOGETHER):
        p, q, r, s = rows_together(lot, a[0], extent)
        first, second = np.float64(terms[p]), np.float64(terms[q])
        third, fourth = np.float64(terms[r]), np.float64(terms[s])
        made[p], made[q], made[r], made[s] = terms[p], terms[q], terms[r], terms[s]
        for i in range(1, extent):
            first = np.float64(factors[p + i]) * first + np.float64(terms[p + i])
            second = np.float64(factors[q + i]) * second + np.float64(terms[q + i])
            third = np.float64(factors[r + i]) * third + np.float64(terms[r + i])
            fourth = np.float64(factors[s + i]) * fourth + np.float64(terms[s + i])
            made[p + i], made[q + i], made[r + i], made[s + i] = real(first), real(second), real(third), real(fourth)


@kernel
def recurrence(a: Any) -> None:
    """y[t] = a[t] y[t - 1] + b[t], from b[0].

    Words: extents before, along and behind the axis; a; b; out; scratch for a float64 of every column.
    """
    extent, behind = a[1], a[2]
    if behind == 1:
        along_rows(a, real)
        return
    totals = view(a[6], behind, np.float64)
    for lot in range(a[0]):
        for r in range(extent):
            at = (lot * extent + r) * behind * itemsize
            factors, terms, made = (
                view(a[3] + at, behind, real),
                view(a[4] + at, behind, real),
                view(a[5] + at, behind, real),
            )
            for e in range(totals.size):
                totals[e] = np.float64(factors[e]) * totals[e] + np.float64(terms[e]) if r else np.float64(terms[e])
            for e in range(made.size):
                made[e] = real(totals[e])


def _log_added(total: Any, x: Any) -> Any:
    # Where both are one infinity their difference is NaN.
    top = total if total >= x or total != total else x
    gap = 0.0 if total == x else abs(total - x)
    return top + log1p_of_share(exp(-gap))


SCANS = {
    "cumsum": Kernel(running, name="cumsum", parts={"next_of": lambda total, x: total + x}),
    "cumprod": Kernel(running, name="cumprod", parts={"next_of": lambda total, x: total * x}),
    "logcumsumexp": Kernel(running, name="logcumsumexp", parts={"next_of": _log_added}),
}


def _along(work: Work) -> tuple[int, int, int] | None:
    """Return extents before, along and behind the axis of a scan over contiguous operands."""
    (out,) = work.outputs
    if not out.ndim or not alike(out, *work.inputs):
        return None
    return blocks(out, out, (normalize_axis(work.attrs["axis"], out.ndim),))


def _scan(op: str) -> None:
    def lower(work: Work) -> list[Call] | None:
        found = _along(work)
        if found is None:
            return None
        return [Call(SCANS[op], work.outputs[0].dtype, (*found, *work.inputs, *work.outputs, Scratch()), found[2] * 8)]

    lowers(op)(lower)


for _op in SCANS:
    _scan(_op)


@lowers("linear_recurrence")
def _(work: Work) -> list[Call] | None:
    found = _along(work)
    if found is None:
        return None
    return [Call(recurrence, work.outputs[0].dtype, (*found, *work.inputs, *work.outputs, Scratch()), found[2] * 8)]
