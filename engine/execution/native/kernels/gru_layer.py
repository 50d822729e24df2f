"""The steps of a GRU layer: rows of the batch go through all steps together, a few at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.execution.native.inline.arithmetic import sigmoid, tanh
from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.sequences import (
    add_product,
    add_row,
    clear,
    copy_row,
    pack,
    row_at,
    rows_at_a_time,
    within,
)
from engine.execution.native.kernel import inline, itemsize, kernel, real
from engine.execution.native.kernels.sequences import fit, words
from engine.execution.native.lowering import Argument, Call, Scratch, Status, Work, lowers


@inline
def advance(gates: Any, sums: Any, bias: Any, h: Any, q: Any, new_h: Any, size: Any, real: Any) -> None:
    """Apply the gates of one row, which hold what x gives, to its products `sums` with the weights."""
    width = size * view(h, 1, real).itemsize
    both, products = view(gates, 2 * size, real), view(sums, 2 * size, real)
    for j in range(both.size):
        both[j] = sigmoid(both[j] + products[j])
    kept, products, shift = view(q, size, real), view(sums + 2 * width, size, real), view(bias, size, real)
    for j in range(kept.size):
        kept[j] = products[j] + shift[j]
    n = view(gates + 2 * width, size, real)
    r, z = view(gates, size, real), view(gates + width, size, real)
    for j in range(n.size):
        n[j] = tanh(n[j] + r[j] * kept[j])
    old, new = view(h, size, real), view(new_h, size, real)
    for j in range(new.size):
        new[j] = (old[j] - n[j]) * z[j] + n[j]


@kernel
def gru_forward(a: Any) -> None:
    """States, gates and q after each step.

    Words: steps, rows, hidden units, in reverse, rows at a time; address and strides of x, w_hh, b_n, h0, lengths, h,
    gates and q; where to say that a length is out of range; scratch for the weights, for products of the rows at a
    time, for their first h, and for b_n.
    """
    count, rows, size, reverse, most = a[0], a[1], a[2], a[3], a[4]
    h_step, gate_step, q_step = a[21], a[25], a[29]
    packed, sums, first_h, bias = a[32], a[33], a[34], a[35]
    width = size * itemsize
    if not within(a[17], a[18], rows, count):
        view(a[31], 1, np.int64)[0] = 1
        return
    pack(a[9], a[11], a[10], size, 3 * size, packed, real)
    copy_row(a[12], a[13], size, bias, real)
    for start in range(0, rows, most):
        piece = min(most, rows - start)
        for r in range(piece):
            copy_row(a[14] + (start + r) * a[15], a[16], size, first_h + r * width, real)
        h, h_apart = first_h, width
        for step in range(count):
            t = count - 1 - step if reverse else step
            x = a[5] + t * a[6] + start * a[7]
            new_h = a[19] + t * a[20] + start * h_step
            gates, q = a[23] + t * a[24] + start * gate_step, a[27] + t * a[28] + start * q_step
            clear(sums, 3 * size * piece, real)
            add_product(piece, size, 3 * size, h, h_apart, packed, sums, 3 * width, real)
            for r in range(piece):
                gate, h_row, q_row = gates + r * gate_step, new_h + r * h_step, q + r * q_step
                if t < view(a[17] + (start + r) * a[18], 1, np.int64)[0]:
                    copy_row(x + r * a[7], a[8], 3 * size, gate, real)
                    advance(gate, sums + r * 3 * width, bias, h + r * h_apart, q_row, h_row, size, real)
                else:
                    clear(gate, 3 * size, real)
                    clear(q_row, size, real)
                    copy_row(h + r * h_apart, itemsize, size, h_row, real)
            h, h_apart = new_h, h_step


@inline
def retreat(
    gp: Any, gn: Any, dh: Any, gates: Any, q: Any, before: Any, ggates: Any, gq: Any, size: Any, real: Any
) -> None:
    """Go back over one row of one step; dh holds then what reaches the state before past the products."""
    width = size * dh.itemsize
    r, z, n = view(gates, size, real), view(gates + width, size, real), view(gates + 2 * width, size, real)
    old, kept = view(before, size, real), view(q, size, real)
    to, more = view(gp + width, size, real), view(ggates + width, size, real)
    for j in range(to.size):
        to[j] = (dh[j] * (old[j] - n[j]) + more[j]) * (z[j] - z[j] * z[j])
    candidate, more = view(gn, size, real), view(ggates + 2 * width, size, real)
    for j in range(candidate.size):
        candidate[j] = (dh[j] - dh[j] * z[j] + more[j]) * (real(1) - n[j] * n[j])
    to, more = view(gp, size, real), view(ggates, size, real)
    for j in range(to.size):
        to[j] = (candidate[j] * kept[j] + more[j]) * (r[j] - r[j] * r[j])
    to, more = view(gp + 2 * width, size, real), view(gq, size, real)
    for j in range(to.size):
        to[j] = candidate[j] * r[j] + more[j]
    for j in range(dh.size):
        dh[j] *= z[j]


@kernel
def gru_backward(a: Any) -> None:
    """Gradients by p, by the n part of x, and by h0.

    Words: steps, rows, hidden units, in reverse, rows at a time; address and strides of g, h, gates, q, w_hh, h0,
    lengths, ggates and gq (scratch that is set to 0, if there are none), gp, gn and dh; where to say that a length is
    out of range; scratch for the weights, for a row of each of g, q, the h before, gq, gates and ggates, and for zeros.
    """
    count, rows, size, reverse, most = a[0], a[1], a[2], a[3], a[4]
    gp_step, gn_step, h_step = a[39], a[43], a[46]
    packed, space = a[49], a[50]
    width = size * itemsize
    if not within(a[27], a[28], rows, count):
        view(a[48], 1, np.int64)[0] = 1
        return
    clear(space + 10 * width, 3 * size, real)
    pack(a[21], a[22], a[23], 3 * size, size, packed, real)
    for start in range(0, rows, most):
        piece = min(most, rows - start)
        for r in range(start, start + piece):
            clear(a[45] + r * h_step, size, real)
        for step in range(count):
            t = step if reverse else count - 1 - step
            last = t == count - 1 if reverse else t == 0
            earlier = t + 1 if reverse else t - 1
            for r in range(start, start + piece):
                dh = view(a[45] + r * h_step, size, real)
                add_row(dh, view(row_at(a[5] + t * a[6] + r * a[7], a[8], size, space, real), size, real))
                gp, gn = a[37] + t * a[38] + r * gp_step, a[41] + t * a[42] + r * gn_step
                if t >= view(a[27] + r * a[28], 1, np.int64)[0]:
                    clear(gp, 3 * size, real)
                    clear(gn, size, real)
                    continue
                before, apart = a[9] + earlier * a[10] + r * a[11], a[12]
                if last:
                    before, apart = a[24] + r * a[25], a[26]
                before = row_at(before, apart, size, space + width, real)
                q = row_at(a[17] + t * a[18] + r * a[19], a[20], size, space + 2 * width, real)
                gq = row_at(a[33] + t * a[34] + r * a[35], a[36], size, space + 3 * width, real)
                gates = row_at(a[13] + t * a[14] + r * a[15], a[16], 3 * size, space + 4 * width, real)
                more = row_at(a[29] + t * a[30] + r * a[31], a[32], 3 * size, space + 7 * width, real)
                retreat(gp, gn, dh, gates, q, before, more, gq, size, real)
            # gp is 0 in the rows that have ended: they keep what they have.
            gp, dh_rows = a[37] + t * a[38] + start * gp_step, a[45] + start * h_step
            add_product(piece, 3 * size, size, gp, gp_step, packed, dh_rows, h_step, real)


@lowers("gru_steps")
def _(work: Work) -> list[Call] | None:
    _, w_hh, _, _, lengths = work.inputs
    h, _, _ = work.outputs
    if not fit(work, lengths):
        return None
    count, rows, size = h.shape
    most, width = rows_at_a_time(rows, size), size * h.itemsize
    sums = w_hh.nbytes
    first = sums + 3 * most * width
    bias = first + most * width
    arguments = (
        count, rows, size, work.attrs["reverse"], most, *words(*work.inputs, *work.outputs), Status(), Scratch(),
        Scratch(sums), Scratch(first), Scratch(bias),
    )  # fmt: skip
    return [Call(gru_forward, h.dtype, arguments, bias + width)]


@lowers("gru_steps_backward")
def _(work: Work) -> list[Call] | None:
    g, h, gates, q, w_hh, h0, lengths, *rest = work.inputs
    if not fit(work, lengths):
        return None
    count, rows, size = h.shape
    width, first = size * h.itemsize, w_hh.nbytes
    none: tuple[Argument, ...] = (Scratch(first + 10 * width), 0, 0, h.itemsize)
    arguments = (
        count, rows, size, work.attrs["reverse"], rows_at_a_time(rows, 3 * size),
        *words(g, h, gates, q, w_hh, h0, lengths), *(words(*rest) if rest else none * 2), *words(*work.outputs),
        Status(), Scratch(), Scratch(first),
    )  # fmt: skip
    return [Call(gru_backward, h.dtype, arguments, first + 13 * width)]
