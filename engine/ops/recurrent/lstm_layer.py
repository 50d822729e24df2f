"""The steps of an LSTM layer (Hochreiter & Schmidhuber 1997), given its input product; gates in the order i f g o."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine.core.declarations import AUTOCAST_HALF, Memory, nbytes
from engine.core.errors import ShapeError
from engine.core.registry import primitive
from engine.core.samples import integers, sample, uniform
from engine.core.sharding_rules import batch_axes
from engine.core.value import Array, Cotangents, Spec, Value
from engine.ops.elementwise.comparison import where
from engine.ops.elementwise.elementwise import square, tanh
from engine.ops.linalg.matmul import matrix_product
from engine.ops.recurrent.steps import (
    at,
    check_lengths,
    check_steps,
    join_rows,
    or_zeros,
    previous_states,
    run,
    running_rows,
    steps,
    weight_gradient,
)
from engine.ops.shape.shape import concat, split, stack


def _lstm_steps(
    x: Value, w_hh: Value, h0: Value, c0: Value, lengths: Value, *, reverse: bool
) -> tuple[Spec, Spec, Spec]:
    states = Spec(check_steps("lstm_steps", 4, x, w_hh, (h0, c0), lengths), x.dtype)
    return states, states, x.spec


@primitive(
    shape_rule=_lstm_steps,
    multi_output=True,
    numerics=AUTOCAST_HALF,
    sharding=batch_axes("1-000", "111"),
    batching=join_rows((0,), (2, 3, 4)),
    samples=[
        sample((3, 2, 8), (8, 2), (2, 2), (2, 2), integers(3, 4, 2)),
        sample((3, 4, 4), (4, 1), (4, 1), (4, 1), integers(0, 4, 4), reverse=True),
    ],
)
def lstm_steps(
    x: Array,
    w_hh: Array,
    h0: Array,
    c0: Array,
    lengths: Array,
    *,
    reverse: bool = False,
    out: tuple[Array, Array, Array] | None = None,
) -> tuple[Array, ...]:
    """States h and c [steps, rows, hidden] and gates [steps, rows, 4 hidden] after each step of x.

    i, f, o = sigmoid and g = tanh of x + h w_hh^T; c' = f c + i g; h' = o tanh(c'). A row has `lengths` steps; beyond
    them its states are unchanged and its gates are 0. `reverse` goes from the last step to the first.
    """
    check_lengths("lstm_steps", lengths, len(x))

    def kernel(results: tuple[Array, ...], x: Array, w_hh: Array, h: Array, c: Array, lengths: Array) -> None:
        hs, cs, gates = results
        size = w_hh.shape[1]
        # sigmoid(a) = tanh(a / 2) / 2 + 1 / 2: one tanh serves all four gates.
        factor = np.full(4 * size, 0.5, x.dtype)
        factor[2 * size : 3 * size] = 1
        weight = np.ascontiguousarray(w_hh.T * factor)
        factor = np.tile(factor, (x.shape[1], 1))  # in the shape of the gates: NumPy is slower if it broadcasts
        offset = np.where(factor == 1, 0, factor)
        np.multiply(x, factor, out=gates)
        product, inner = np.empty(x.shape[1:], x.dtype), np.empty(h.shape, x.dtype)
        for t, idle in steps(lengths, len(x), reverse):
            a = gates[t]
            a += np.matmul(h, weight, out=product)
            np.tanh(a, out=a)
            a *= factor
            a += offset
            i, f, g, o = (a[:, k * size : (k + 1) * size] for k in range(4))
            np.multiply(f, c, out=cs[t])
            cs[t] += np.multiply(i, g, out=inner)
            np.multiply(o, np.tanh(cs[t], out=inner), out=hs[t])
            if idle is not None:
                a[idle] = 0
                np.copyto(cs[t], c, where=idle[:, None])
                np.copyto(hs[t], h, where=idle[:, None])
            h, c = hs[t], cs[t]

    states = Spec((*x.shape[:2], w_hh.shape[1]), x.dtype)
    return run(kernel, (x, w_hh, h0, c0, lengths), (states, states, Spec(x.shape, x.dtype)), out)


@lstm_steps.vjp
def _(
    g: Cotangents, y: tuple[Value, ...], x: Value, w_hh: Value, h0: Value, c0: Value, lengths: Value, *, reverse: bool
) -> object:
    h, c, gates = y
    gx, gh, gc = lstm_steps_backward(
        or_zeros(g[0], h), or_zeros(g[1], c), c, gates, w_hh, c0, lengths, g[2], reverse=reverse
    )
    return gx, lambda: weight_gradient(gx, previous_states(h, h0, reverse)), gh, gc, None


def _lstm_steps_backward(
    gh: Value,
    gc: Value,
    c: Value,
    gates: Value,
    w_hh: Value,
    c0: Value,
    lengths: Value,
    ggates: Value | None = None,
    *,
    reverse: bool,
) -> tuple[Spec, Spec, Spec]:
    op = "lstm_steps_backward"
    states = check_steps(op, 4, gates, w_hh, (c0,), lengths)
    if not gh.shape == gc.shape == c.shape == states or (ggates is not None and ggates.shape != gates.shape):
        raise ShapeError(f"{op}: gh, gc and c must have the shape {list(states)}, ggates that of the gates")
    return gates.spec, c0.spec, c0.spec


def _backward_scratch(attrs: Mapping[str, Any], inputs: Sequence[Spec], outputs: Sequence[Spec]) -> int:
    return 3 * nbytes(inputs[0])  # the slopes of all states


@primitive(
    shape_rule=_lstm_steps_backward,
    multi_output=True,
    memory=Memory(scratch=_backward_scratch),
    sharding=batch_axes("1111-00", "100"),
    batching=join_rows((0, 1, 2, 3, 7), (5, 6)), samples=[
        sample((2, 2, 2), (2, 2, 2), (2, 2, 2), uniform(0.1, 0.9, 2, 2, 8), (8, 2), (2, 2), integers(2, 3, 2)),
        sample(
            (2, 3, 1), (2, 3, 1), (2, 3, 1), uniform(0.1, 0.9, 2, 3, 4), (4, 1), (3, 1), integers(0, 3, 3), (2, 3, 4),
            reverse=True,
        ),
    ],
)  # fmt: skip
def lstm_steps_backward(
    gh: Array,
    gc: Array,
    c: Array,
    gates: Array,
    w_hh: Array,
    c0: Array,
    lengths: Array,
    ggates: Array | None = None,
    *,
    reverse: bool = False,
    out: tuple[Array, Array, Array] | None = None,
) -> tuple[Array, ...]:
    """The gradients of lstm_steps by x, h0 and c0, given those of its results and the states c and gates."""

    def kernel(
        results: tuple[Array, ...],
        gh: Array,
        gc: Array,
        c: Array,
        gates: Array,
        w_hh: Array,
        c0: Array,
        lengths: Array,
        ggates: Array | None = None,
    ) -> None:
        gx, dh, dc = results
        count, size = len(c), w_hh.shape[1]
        pieces = [np.s_[..., k * size : (k + 1) * size] for k in range(4)]
        squashed = np.tanh(c)
        # Slopes of all steps at once: a (1 - a) for the sigmoids, 1 - a^2 for g; o (1 - tanh(c)^2) from h to c.
        np.multiply(gates, gates, out=gx)
        np.subtract(gates, gx, out=gx)
        np.subtract(1, np.square(gates[pieces[2]]), out=gx[pieces[2]])
        through = 1 - squashed * squashed
        through *= gates[pieces[3]]
        dh.fill(0)
        dc.fill(0)
        outer, inner = np.empty(gates.shape[1:], gates.dtype), np.empty(c0.shape, gates.dtype)
        last = count - 1 if reverse else 0
        for t, idle in steps(lengths, count, not reverse):
            dh += gh[t]
            dc += gc[t]
            rest = None if idle is None else (dh[idle], dc[idle])
            dc += np.multiply(dh, through[t], out=inner)
            i, f, g, _ = (gates[t][piece] for piece in pieces)
            np.multiply(dc, g, out=outer[pieces[0]])
            np.multiply(dc, c0 if t == last else c[t + 1 if reverse else t - 1], out=outer[pieces[1]])
            np.multiply(dc, i, out=outer[pieces[2]])
            np.multiply(dh, squashed[t], out=outer[pieces[3]])
            if ggates is not None:
                outer += ggates[t]
            gx[t] *= outer
            if idle is not None:
                gx[t][idle] = 0
            dc *= f
            np.matmul(gx[t], w_hh, out=dh)
            if rest is not None:
                dh[idle], dc[idle] = rest

    start = Spec(c0.shape, c0.dtype)
    inputs = (gh, gc, c, gates, w_hh, c0, lengths) if ggates is None else (gh, gc, c, gates, w_hh, c0, lengths, ggates)
    return run(kernel, inputs, (Spec(gates.shape, gates.dtype), start, start), out)


@lstm_steps_backward.vjp_through
def _(
    gh: Value,
    gc: Value,
    c: Value,
    gates: Value,
    w_hh: Value,
    c0: Value,
    lengths: Value,
    ggates: Value | None = None,
    *,
    reverse: bool,
) -> tuple[Value, Value, Value]:
    count, size = c.shape[0], w_hh.shape[1]
    previous = previous_states(c, c0, reverse)
    parts: dict[int, Value] = {}
    dh, dc = c0 * 0.0, c0 * 0.0
    for t in range(count) if reverse else range(count - 1, -1, -1):
        running = running_rows(lengths, t)
        i, f, g, o = split(at(gates, t), sizes=(size,) * 4, axis=1)
        squashed = tanh(at(c, t))
        dh, dc = dh + at(gh, t), dc + at(gc, t)
        total = dc + dh * o * (1.0 - square(squashed))
        outer = concat(total * g, total * at(previous, t), total * i, dh * squashed, axis=1)
        outer = outer if ggates is None else outer + at(ggates, t)
        slopes = concat(i * (1.0 - i), f * (1.0 - f), 1.0 - square(g), o * (1.0 - o), axis=1)
        parts[t] = where(running, outer * slopes, 0.0)
        dh, dc = where(running, matrix_product(parts[t], w_hh), dh), where(running, total * f, dc)
    return stack(*(parts[t] for t in range(count))), dh, dc
