"""Attention straight on views of queries, keys and values, by blocks of rows whose scores fit in the cache.

Forward as in Rabe & Staats (2021), backward as in Dao et al. (2022), as the op's own kernel: of the weights only the
logarithm of each row's sum is kept. Of a causal block no column behind its last row is computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.core.value import Array
from engine.execution.native.inline.arithmetic import exp
from engine.execution.native.inline.logarithm import log
from engine.execution.native.inline.pointers import float_of, view
from engine.execution.native.inline.products import gemm
from engine.execution.native.inline.rows import LANES, dot, exponentials_in_place, fill, largest
from engine.execution.native.inline.shared_loops import COUNT, LOOP, OWN
from engine.execution.native.inline.threads import load
from engine.execution.native.kernel import FLOATS, Kernel, inline, itemsize, real
from engine.execution.native.kernels.elementwise import broadcast_strides, joined_axes
from engine.execution.native.kernels.products import leading
from engine.execution.native.kernels.shared_loop import round_parts, run_round
from engine.execution.native.lowering import Argument, Call, Scratch, Work, lowers

BLOCK_BYTES = 2**19
"""Bytes of the scores of a block, at most: a second-level cache holds them beside the rows they come from."""
SHORT_BLOCK = 64
"""Rows of a causal block where there are more: what lies above the diagonal of a block is computed for nothing."""
MOST_LOTS = 32
"""Most lots that heads are dealt out in to threads."""
BOOL_MASK, FLOAT_MASK = 1, 2

LEAD = 4
"""Words of leading extents, then of strides along them for each operand."""
ROWS, COLUMNS, WIDTH, VALUES, SCALE, CAUSAL, ZERO, HEIGHT, LD, SCORES_AT, SLOPES_AT, SHARED = range(LEAD, LEAD + 12)
MASK_KIND = SHARED + 3
FIRST = MASK_KIND + 1
"""Where the operands start. Each has its address, its strides along the leading axes, and along rows and columns."""
SPAN = LEAD + 3
MASK, Q, K, V, Y, LOGS, G, GLOGS, GQ, GK, GV = range(FIRST, FIRST + 11 * SPAN, SPAN)


@inline
def matrix(a: Any, operand: Any, lead: Any) -> Any:
    """Return the address of an operand's matrix at some place of the leading axes."""
    return (
        a[operand] + lead[0] * a[operand + 1] + lead[1] * a[operand + 2] + lead[2] * a[operand + 3]
        + lead[3] * a[operand + 4]
    )  # fmt: skip


@inline
def place_of(a: Any, n: Any) -> Any:
    """Return where the matrices number n are along the leading axes."""
    rest, i3 = n // a[3], n % a[3]
    rest, i2 = rest // a[2], rest % a[2]
    return rest // a[1], rest % a[1], i2, i3


@inline
def heads_of(a: Any, lot: Any) -> Any:
    """Return the numbers of the heads of a lot."""
    heads, lots = a[0] * a[1] * a[2] * a[3], load(a[LOOP] + COUNT)
    return range(lot * heads // lots, (lot + 1) * heads // lots)


def masked_scores(a: Any, lead: Any, start: Any, count: Any, seen: Any) -> None:
    """Write scores of a block of rows against the first columns, scaled and with the mask, but not the causal one."""
    at, ld = a[SCORES_AT], a[LD]
    q, k = matrix(a, Q, lead) + start * a[Q + 5], matrix(a, K, lead)
    scale = real(float_of(a[SCALE]))
    gemm(False, True, count, seen, a[WIDTH], scale, q, a[Q + 5] // itemsize, k, a[K + 5] // itemsize, real(0), at, ld)
    if a[MASK_KIND]:
        for r in range(count):
            row = view(at + r * ld * itemsize, seen, real)
            mask = matrix(a, MASK, lead) + (start + r) * a[MASK + 5]
            if a[MASK_KIND] == BOOL_MASK:
                for c in range(row.size):
                    row[c] = row[c] if view(mask + c * a[MASK + 6], 1, np.uint8)[0] else real(-np.inf)
            elif a[MASK + 6]:
                added = view(mask, seen, real)
                for c in range(row.size):
                    row[c] += added[c]
            else:
                added_to_all = view(mask, 1, real)[0]
                for c in range(row.size):
                    row[c] += added_to_all


def scores(*_: Any) -> None:
    """Stand for `masked_scores` in the kernels, which have it in their dtype."""
    raise NotImplementedError


def clear(*_: Any) -> None:
    """Stand for `clear_rows`."""
    raise NotImplementedError


def attend(a: Any) -> None:
    """Attention of every head; threads share them. The words are named above."""
    run_round(a)


def attend_in_heads(a: Any, lot: Any) -> None:
    """Attention of some of the heads. The second scratch takes each row's sum and maximum."""
    at, ld, columns = a[SCORES_AT], a[LD], a[COLUMNS]
    totals, tops = view(a[SLOPES_AT], a[HEIGHT], real), view(a[SLOPES_AT] + a[HEIGHT] * itemsize, a[HEIGHT], real)
    for n in heads_of(a, lot):
        lead = place_of(a, n)
        v, y, logs = matrix(a, V, lead), matrix(a, Y, lead), matrix(a, LOGS, lead)
        for start in range(0, a[ROWS], a[HEIGHT]):
            count = min(a[HEIGHT], a[ROWS] - start)
            seen = min(start + count, columns) if a[CAUSAL] else columns
            scores(a, lead, start, count, seen)
            for r in range(count):
                visible = min(start + r + 1, columns) if a[CAUSAL] else columns
                address, length = at + r * ld * itemsize, rounded(visible)
                fill(view(address + visible * itemsize, length - visible, real), real(-np.inf))
                row = view(address, length, real)
                top = largest(row)
                empty = a[ZERO] != 0 and top == real(-np.inf)
                top = real(np.inf) if empty else top
                total = real(exponentials_in_place(row, top))
                totals[r] = real(1) if empty else total
                tops[r] = top
                if length < seen:
                    fill(view(address + length * itemsize, seen - length, real), real(0))
            out = y + start * a[Y + 5]
            gemm(
                False, False, count, a[VALUES], seen, real(1), at, ld, v, a[V + 5] // itemsize, real(0), out,
                a[Y + 5] // itemsize,
            )  # fmt: skip
            for r in range(count):
                made = view(out + r * a[Y + 5], a[VALUES], real)
                share = real(1) / totals[r]
                for i in range(made.size):
                    made[i] *= share
            for r in range(count):
                tops[r] += log(totals[r])
            for r in range(count):
                view(logs + (start + r) * a[LOGS + 5], 1, real)[0] = tops[r]


@inline
def rounded(extent: Any) -> Any:
    """Return an extent rounded up to whole registers."""
    return (extent + LANES - 1) // LANES * LANES


def attend_backward(a: Any) -> None:
    """Gradients by queries, keys and values; where one serves several heads, theirs are added up in one lot."""
    heads = a[0] * a[1] * a[2] * a[3]
    for side in range(3):
        if a[OWN] and a[SHARED + side]:
            result = GQ + side * SPAN
            rows, width = a[ROWS] if side == 0 else a[COLUMNS], a[VALUES] if side == 2 else a[WIDTH]
            for n in range(heads):
                clear(matrix(a, result, place_of(a, n)), a[result + 5], rows, width)
    run_round(a)


def attend_backward_in_heads(a: Any, lot: Any) -> None:
    """Gradients of some of the heads."""
    at, ld, columns = a[SCORES_AT], a[LD], a[COLUMNS]
    scale = real(float_of(a[SCALE]))
    for n in heads_of(a, lot):
        lead = place_of(a, n)
        q, k, v, g = matrix(a, Q, lead), matrix(a, K, lead), matrix(a, V, lead), matrix(a, G, lead)
        gq, gk, gv, y = matrix(a, GQ, lead), matrix(a, GK, lead), matrix(a, GV, lead), matrix(a, Y, lead)
        logs, glogs = matrix(a, LOGS, lead), matrix(a, GLOGS, lead)
        for start in range(0, a[ROWS], a[HEIGHT]):
            count = min(a[HEIGHT], a[ROWS] - start)
            seen = min(start + count, columns) if a[CAUSAL] else columns
            scores(a, lead, start, count, seen)
            part = g + start * a[G + 5]
            gemm(
                False, True, count, seen, a[VALUES], real(1), part, a[G + 5] // itemsize, v, a[V + 5] // itemsize,
                real(0), a[SLOPES_AT], ld,
            )  # fmt: skip
            for r in range(count):
                place = start + r
                visible = min(place + 1, columns) if a[CAUSAL] else columns
                weights, slopes = at + r * ld * itemsize, a[SLOPES_AT] + r * ld * itemsize
                row = view(y + place * a[Y + 5], a[VALUES], real)
                shared = real(dot(view(part + r * a[G + 5], a[VALUES], real), row))
                shared -= view(glogs + place * a[GLOGS + 5], 1, real)[0]
                normalizer = view(logs + place * a[LOGS + 5], 1, real)[0]
                # What stands between the last visible column and a whole register does no harm.
                first, second = view(weights, rounded(visible), real), view(slopes, rounded(visible), real)
                for i in range(first.size):
                    e = exp(first[i] - normalizer)
                    first[i] = e
                    second[i] = e * (second[i] - shared)
                if visible < seen:
                    fill(view(weights + visible * itemsize, seen - visible, real), real(0))
                    fill(view(slopes + visible * itemsize, seen - visible, real), real(0))
            if start == 0:
                if not a[SHARED + 1]:
                    clear(gk + seen * a[GK + 5], a[GK + 5], columns - seen, a[WIDTH])
                if not a[SHARED + 2]:
                    clear(gv + seen * a[GV + 5], a[GV + 5], columns - seen, a[VALUES])
            beta_k = real(0) if start == 0 and not a[SHARED + 1] else real(1)
            beta_v = real(0) if start == 0 and not a[SHARED + 2] else real(1)
            beta_q = real(1) if a[SHARED] else real(0)
            gemm(
                True, False, seen, a[VALUES], count, real(1), at, ld, part, a[G + 5] // itemsize, beta_v, gv,
                a[GV + 5] // itemsize,
            )  # fmt: skip
            gemm(
                True, False, seen, a[WIDTH], count, scale, a[SLOPES_AT], ld, q + start * a[Q + 5], a[Q + 5] // itemsize,
                beta_k, gk, a[GK + 5] // itemsize,
            )  # fmt: skip
            gemm(
                False, False, count, a[WIDTH], seen, scale, a[SLOPES_AT], ld, k, a[K + 5] // itemsize, beta_q,
                gq + start * a[GQ + 5], a[GQ + 5] // itemsize,
            )  # fmt: skip


def clear_rows(address: Any, step: Any, rows: Any, width: Any) -> None:
    """Set `rows` rows, `step` bytes apart, to 0."""
    for r in range(rows):
        fill(view(address + r * step, width, real), real(0))


attention = Kernel(attend, name="attention", parts={"scores": masked_scores, **round_parts(attend_in_heads)})
attention_backward = Kernel(
    attend_backward,
    name="attention_backward",
    parts={"scores": masked_scores, "clear": clear_rows, **round_parts(attend_backward_in_heads)},
)


@lowers("attention")
def _(work: Work) -> list[Call] | None:
    y, logs = work.outputs
    q, k, v, *mask = work.inputs
    return _call(attention, work, mask, {Q: q, K: k, V: v, Y: y, LOGS: logs[..., None]})


@lowers("attention_backward")
def _(work: Work) -> list[Call] | None:
    g, glogs, y, logs, q, k, v, *mask = work.inputs
    gq, gk, gv = work.outputs
    operands = {Q: q, K: k, V: v, Y: y, LOGS: logs[..., None], G: g, GLOGS: glogs[..., None], GQ: gq, GK: gk, GV: gv}
    return _call(attention_backward, work, mask, operands)


def _call(kernel: Kernel, work: Work, masks: Sequence[Array], operands: dict[int, Array]) -> list[Call] | None:
    """Return the call for operands by their place among the words; None where one needs a copy."""
    q, k, y = operands[Q], operands[K], operands[Y]
    if q.dtype not in FLOATS or any(x.dtype != q.dtype or not x.size for x in operands.values()):
        return None
    if any(not _multipliable(x) for place, x in operands.items() if place not in (LOGS, GLOGS)):
        return None
    rows, columns, lead = q.shape[-2], k.shape[-2], y.shape[:-2]
    kind, mask = _mask(masks, q, rows, columns)
    if kind is None:
        return None
    operands = {**operands, MASK: mask}
    found = joined_axes(lead, [broadcast_strides(x[..., 0, 0], lead) for x in operands.values()])
    if found is None:
        return None
    extents, strides = found
    causal = bool(work.attrs["causal"])
    words: dict[int, Argument] = dict(enumerate(extents))
    for (place, x), steps in zip(operands.items(), strides, strict=True):
        words.update(enumerate((x, *steps, _row_step(x), x.strides[-1]), place))
    ld = -(-columns // LANES) * LANES
    height = min(rows, max(LANES, BLOCK_BYTES // (ld * q.itemsize)), *([SHORT_BLOCK] if causal else []))
    size = -(-height * ld * q.itemsize // 64) * 64
    words |= {
        ROWS: rows, COLUMNS: columns, WIDTH: q.shape[-1], VALUES: y.shape[-1], SCALE: float(work.attrs["scale"]),
        CAUSAL: causal, ZERO: bool(work.attrs.get("masked_row_zero")), HEIGHT: height, LD: ld,
        SCORES_AT: Scratch(), SLOPES_AT: Scratch(size), MASK_KIND: kind,
    }  # fmt: skip
    for side, place in enumerate((GQ, GK, GV)):
        result = operands.get(place)
        words[SHARED + side] = result is not None and math.prod(result.shape[:-2]) < math.prod(lead)
    # Where heads add to the same numbers they do so in order.
    lots = 1 if any(words[SHARED + side] for side in range(3)) else min(math.prod(lead), MOST_LOTS)
    arguments = tuple(words.get(place, 0) for place in range(max(words) + 1))
    return [Call(kernel, q.dtype, arguments, scratch=2 * size, iterations=lots)]


def _multipliable(x: Array) -> bool:
    """Tell whether a matrix product can take the matrices of an operand as they lie."""
    found = leading(x[(0,) * (x.ndim - 2)])
    return found is not None and not found[0]


def _row_step(x: Array) -> int:
    """Return the bytes from row to row; of a single row something that a product takes as a leading dimension."""
    return x.strides[-2] if x.shape[-2] > 1 else x.shape[-1] * x.itemsize


def _mask(masks: Sequence[Array], q: Array, rows: int, columns: int) -> tuple[int | None, Array]:
    """Return the kind of a mask and the mask with all its rows and columns; None as the kind of one not covered."""
    if not masks:
        return 0, q
    mask = np.broadcast_to(masks[0], (*masks[0].shape[:-2], rows, columns))
    if mask.dtype == np.bool_:
        return BOOL_MASK, mask
    return (FLOAT_MASK if mask.dtype == q.dtype and mask.strides[-1] in (0, q.itemsize) else None), mask
