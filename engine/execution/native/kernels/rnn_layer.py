"""The steps of a plain recurrent layer: rows of the batch go through all steps together, a few at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.execution.native.inline.arithmetic import tanh
from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.rows import larger
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
from engine.execution.native.lowering import Call, Scratch, Status, Work, lowers


@inline
def activate(x: Any, rectified: Any) -> None:
    """Apply the nonlinearity to a row."""
    if rectified:
        for j in range(x.size):
            x[j] = larger(x[j], x.dtype.type(0))
    else:
        for j in range(x.size):
            x[j] = tanh(x[j])


@kernel
def rnn_forward(a: Any) -> None:
    """States after each step.

    Words: steps, rows, hidden units, in reverse, rows at a time, rectified or tanh; address and strides of x, w_hh, h0,
    lengths and h; where to say that a length is out of range; scratch for the weights, and for the first h of the rows
    at a time.
    """
    count, rows, size, reverse, most = a[0], a[1], a[2], a[3], a[4]
    h_step = a[20]
    packed, first_h = a[23], a[24]
    width = size * itemsize
    if not within(a[16], a[17], rows, count):
        view(a[22], 1, np.int64)[0] = 1
        return
    pack(a[10], a[12], a[11], size, size, packed, real)
    for start in range(0, rows, most):
        piece = min(most, rows - start)
        for r in range(piece):
            copy_row(a[13] + (start + r) * a[14], a[15], size, first_h + r * width, real)
        h, h_apart = first_h, width
        for step in range(count):
            t = count - 1 - step if reverse else step
            x, new_h = a[6] + t * a[7] + start * a[8], a[18] + t * a[19] + start * h_step
            for r in range(piece):
                copy_row(x + r * a[8], a[9], size, new_h + r * h_step, real)
            add_product(piece, size, size, h, h_apart, packed, new_h, h_step, real)
            for r in range(piece):
                state = view(new_h + r * h_step, size, real)
                if t >= view(a[16] + (start + r) * a[17], 1, np.int64)[0]:
                    copy_row(h + r * h_apart, itemsize, size, new_h + r * h_step, real)
                else:
                    activate(state, a[5])
            h, h_apart = new_h, h_step


@kernel
def rnn_backward(a: Any) -> None:
    """Gradients by x and h0.

    Words: steps, rows, hidden units, in reverse, rows at a time, rectified or tanh; address and strides of g, h, w_hh,
    lengths, gx and dh; where to say that a length is out of range; scratch for the weights, and for a row of g and h.
    """
    count, rows, size, reverse, most = a[0], a[1], a[2], a[3], a[4]
    gx_step, h_step = a[21], a[24]
    packed, space = a[27], a[28]
    width = size * itemsize
    if not within(a[17], a[18], rows, count):
        view(a[26], 1, np.int64)[0] = 1
        return
    pack(a[14], a[15], a[16], size, size, packed, real)
    for start in range(0, rows, most):
        piece = min(most, rows - start)
        for r in range(start, start + piece):
            clear(a[23] + r * h_step, size, real)
        for step in range(count):
            t = step if reverse else count - 1 - step
            for r in range(start, start + piece):
                dh = view(a[23] + r * h_step, size, real)
                add_row(dh, view(row_at(a[6] + t * a[7] + r * a[8], a[9], size, space, real), size, real))
                to = a[19] + t * a[20] + r * gx_step
                if t >= view(a[17] + r * a[18], 1, np.int64)[0]:
                    clear(to, size, real)
                    continue
                row = row_at(a[10] + t * a[11] + r * a[12], a[13], size, space + width, real)
                gx, state = view(to, size, real), view(row, size, real)
                if a[5]:
                    for j in range(gx.size):
                        gx[j] = dh[j] * (real(1) if state[j] > real(0) else real(0))
                else:
                    for j in range(gx.size):
                        gx[j] = dh[j] * (real(1) - state[j] * state[j])
                clear(a[23] + r * h_step, size, real)
            # gx is 0 in the rows that have ended: they keep what they have.
            gx_rows, dh_rows = a[19] + t * a[20] + start * gx_step, a[23] + start * h_step
            add_product(piece, size, size, gx_rows, gx_step, packed, dh_rows, h_step, real)


@lowers("rnn_steps")
def _(work: Work) -> list[Call] | None:
    _, w_hh, _, lengths = work.inputs
    (h,) = work.outputs
    if not fit(work, lengths):
        return None
    count, rows, size = h.shape
    most = rows_at_a_time(rows, size)
    arguments = (
        count, rows, size, work.attrs["reverse"], most, work.attrs["nonlinearity"] == "relu",
        *words(*work.inputs, h), Status(), Scratch(), Scratch(w_hh.nbytes),
    )  # fmt: skip
    return [Call(rnn_forward, h.dtype, arguments, w_hh.nbytes + most * size * h.itemsize)]


@lowers("rnn_steps_backward")
def _(work: Work) -> list[Call] | None:
    _, h, w_hh, lengths = work.inputs
    if not fit(work, lengths):
        return None
    count, rows, size = h.shape
    arguments = (
        count, rows, size, work.attrs["reverse"], rows_at_a_time(rows, size), work.attrs["nonlinearity"] == "relu",
        *words(*work.inputs, *work.outputs), Status(), Scratch(), Scratch(w_hh.nbytes),
    )  # fmt: skip
    return [Call(rnn_backward, h.dtype, arguments, w_hh.nbytes + 2 * size * h.itemsize)]
