"""The steps of an LSTM layer: rows of the batch go through all steps together, a few at a time."""

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
def advance(gates: Any, c: Any, new_h: Any, new_c: Any, size: Any, real: Any) -> None:
    """Apply the gates of one row, which hold their sums: short loops, as LLVM vectorises those of few operands only."""
    width = size * view(c, 1, real).itemsize
    both, g, o = view(gates, 2 * size, real), view(gates + 2 * width, size, real), view(gates + 3 * width, size, real)
    for j in range(both.size):
        both[j] = sigmoid(both[j])
    for j in range(g.size):
        g[j] = tanh(g[j])
    for j in range(o.size):
        o[j] = sigmoid(o[j])
    i, f, old = both[:size], view(gates + width, size, real), view(c, size, real)
    state, hidden = view(new_c, size, real), view(new_h, size, real)
    for j in range(state.size):
        state[j] = f[j] * old[j] + i[j] * g[j]
    for j in range(hidden.size):
        hidden[j] = o[j] * tanh(state[j])


@kernel
def lstm_forward(a: Any) -> None:
    """States and gates after each step.

    Words: steps, rows, hidden units, in reverse, rows at a time; address and strides of x, w_hh, h0, c0, lengths, h, c
    and gates; where to say that a length is out of range; scratch for the weights, and for the first h and c of the
    rows at a time.
    """
    count, rows, size, reverse, most = a[0], a[1], a[2], a[3], a[4]
    h_step, c_step, gate_step = a[22], a[26], a[30]
    packed, first_h, first_c = a[33], a[34], a[35]
    width = size * itemsize
    if not within(a[18], a[19], rows, count):
        view(a[32], 1, np.int64)[0] = 1
        return
    pack(a[9], a[11], a[10], size, 4 * size, packed, real)
    for start in range(0, rows, most):
        piece = min(most, rows - start)
        for r in range(piece):
            copy_row(a[12] + (start + r) * a[13], a[14], size, first_h + r * width, real)
            copy_row(a[15] + (start + r) * a[16], a[17], size, first_c + r * width, real)
        h, h_apart, c, c_apart = first_h, width, first_c, width
        for step in range(count):
            t = count - 1 - step if reverse else step
            x = a[5] + t * a[6] + start * a[7]
            new_h, new_c = a[20] + t * a[21] + start * h_step, a[24] + t * a[25] + start * c_step
            gates = a[28] + t * a[29] + start * gate_step
            for r in range(piece):
                copy_row(x + r * a[7], a[8], 4 * size, gates + r * gate_step, real)
            add_product(piece, size, 4 * size, h, h_apart, packed, gates, gate_step, real)
            for r in range(piece):
                gate, h_row, c_row = gates + r * gate_step, new_h + r * h_step, new_c + r * c_step
                if t < view(a[18] + (start + r) * a[19], 1, np.int64)[0]:
                    advance(gate, c + r * c_apart, h_row, c_row, size, real)
                else:
                    clear(gate, 4 * size, real)
                    copy_row(h + r * h_apart, itemsize, size, h_row, real)
                    copy_row(c + r * c_apart, itemsize, size, c_row, real)
            h, h_apart, c, c_apart = new_h, h_step, new_c, c_step


@inline
def retreat(
    gx: Any, dh: Any, dc: Any, gates: Any, c: Any, before: Any, ggates: Any, squashed: Any, size: Any, real: Any
) -> None:
    """Go back over one row of one step; dh holds nothing then, dc the gradient by the state before."""
    width = size * squashed.itemsize
    i, f = view(gates, size, real), view(gates + width, size, real)
    g, o = view(gates + 2 * width, size, real), view(gates + 3 * width, size, real)
    state, old = view(c, size, real), view(before, size, real)
    for j in range(squashed.size):
        squashed[j] = tanh(state[j])
    for j in range(dc.size):
        dc[j] += dh[j] * (o[j] * (real(1) - squashed[j] * squashed[j]))
    to, more = view(gx, size, real), view(ggates, size, real)
    for j in range(to.size):
        to[j] = (dc[j] * g[j] + more[j]) * (i[j] - i[j] * i[j])
    to, more = view(gx + width, size, real), view(ggates + width, size, real)
    for j in range(to.size):
        to[j] = (dc[j] * old[j] + more[j]) * (f[j] - f[j] * f[j])
    to, more = view(gx + 2 * width, size, real), view(ggates + 2 * width, size, real)
    for j in range(to.size):
        to[j] = (dc[j] * i[j] + more[j]) * (real(1) - g[j] * g[j])
    to, more = view(gx + 3 * width, size, real), view(ggates + 3 * width, size, real)
    for j in range(to.size):
        to[j] = (dh[j] * squashed[j] + more[j]) * (o[j] - o[j] * o[j])
    for j in range(dc.size):
        dc[j] *= f[j]
    for j in range(dh.size):
        dh[j] = real(0)


@kernel
def lstm_backward(a: Any) -> None:
    """Gradients by x, h0 and c0.

    Words: steps, rows, hidden units, in reverse, rows at a time; address and strides of gh, gc, c, gates, w_hh, c0,
    lengths, ggates (scratch that is set to 0, if there are none), gx, dh and dc; where to say that a length is out of
    range; scratch for the weights, for a row of each of gh, gc, c, the c before, tanh(c), for gates and for ggates, and
    for zeros.
    """
    count, rows, size, reverse, most = a[0], a[1], a[2], a[3], a[4]
    gx_step, h_step, c_step = a[35], a[38], a[41]
    packed, space = a[44], a[45]
    width = size * itemsize
    gate_space, more_space = space + 5 * width, space + 9 * width
    squashed = view(space + 4 * width, size, real)
    if not within(a[27], a[28], rows, count):
        view(a[43], 1, np.int64)[0] = 1
        return
    clear(space + 13 * width, 4 * size, real)
    pack(a[21], a[22], a[23], 4 * size, size, packed, real)
    for start in range(0, rows, most):
        piece = min(most, rows - start)
        for r in range(start, start + piece):
            clear(a[37] + r * h_step, size, real)
            clear(a[40] + r * c_step, size, real)
        for step in range(count):
            t = step if reverse else count - 1 - step
            last = t == count - 1 if reverse else t == 0
            earlier = t + 1 if reverse else t - 1
            for r in range(start, start + piece):
                dh, dc = view(a[37] + r * h_step, size, real), view(a[40] + r * c_step, size, real)
                add_row(dh, view(row_at(a[5] + t * a[6] + r * a[7], a[8], size, space, real), size, real))
                gc = row_at(a[9] + t * a[10] + r * a[11], a[12], size, space + width, real)
                add_row(dc, view(gc, size, real))
                gx = a[33] + t * a[34] + r * gx_step
                if t >= view(a[27] + r * a[28], 1, np.int64)[0]:
                    clear(gx, 4 * size, real)
                    continue
                c = row_at(a[13] + t * a[14] + r * a[15], a[16], size, space + 2 * width, real)
                before, apart = a[13] + earlier * a[14] + r * a[15], a[16]
                if last:
                    before, apart = a[24] + r * a[25], a[26]
                before = row_at(before, apart, size, space + 3 * width, real)
                gates = row_at(a[17] + t * a[18] + r * a[19], a[20], 4 * size, gate_space, real)
                more = row_at(a[29] + t * a[30] + r * a[31], a[32], 4 * size, more_space, real)
                retreat(gx, dh, dc, gates, c, before, more, squashed, size, real)
            # dh is 0 in the rows that went back, and gx in those that have ended: they keep what they have.
            gx, dh_rows = a[33] + t * a[34] + start * gx_step, a[37] + start * h_step
            add_product(piece, 4 * size, size, gx, gx_step, packed, dh_rows, h_step, real)


@lowers("lstm_steps")
def _(work: Work) -> list[Call] | None:
    _, w_hh, _, _, lengths = work.inputs
    h, _, _ = work.outputs
    if not fit(work, lengths):
        return None
    count, rows, size = h.shape
    most = rows_at_a_time(rows, size)
    first, width = w_hh.nbytes, most * size * h.itemsize
    arguments = (
        count, rows, size, work.attrs["reverse"], most, *words(*work.inputs, *work.outputs), Status(), Scratch(),
        Scratch(first), Scratch(first + width),
    )  # fmt: skip
    return [Call(lstm_forward, h.dtype, arguments, first + 2 * width)]


@lowers("lstm_steps_backward")
def _(work: Work) -> list[Call] | None:
    gh, gc, c, gates, w_hh, c0, lengths, *rest = work.inputs
    if not fit(work, lengths):
        return None
    count, rows, size = c.shape
    width, first = size * c.itemsize, w_hh.nbytes
    ggates: tuple[Argument, ...] = words(*rest) if rest else (Scratch(first + 13 * width), 0, 0, c.itemsize)
    arguments = (
        count, rows, size, work.attrs["reverse"], rows_at_a_time(rows, 4 * size),
        *words(gh, gc, c, gates, w_hh, c0, lengths), *ggates, *words(*work.outputs), Status(), Scratch(),
        Scratch(first),
    )  # fmt: skip
    return [Call(lstm_backward, c.dtype, arguments, first + 17 * width)]
