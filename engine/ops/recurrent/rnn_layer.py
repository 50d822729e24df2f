"""The steps of a plain recurrent layer (Elman 1990), given its input product: h' = act(x + h w_hh^T)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from engine.core.declarations import AUTOCAST_HALF
from engine.core.errors import ShapeError
from engine.core.registry import primitive
from engine.core.samples import integers, sample
from engine.core.sharding_rules import batch_axes
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.comparison import gt, where
from engine.ops.elementwise.elementwise import square
from engine.ops.linalg.matmul import matrix_product
from engine.ops.recurrent.steps import (
    at,
    check_lengths,
    check_steps,
    join_rows,
    previous_states,
    run,
    running_rows,
    steps,
    weight_gradient,
)
from engine.ops.shape.shape import stack

Nonlinearity = Literal["tanh", "relu"]


def _rnn_steps(x: Value, w_hh: Value, h0: Value, lengths: Value, *, nonlinearity: Nonlinearity, reverse: bool) -> Spec:
    return Spec(check_steps("rnn_steps", 1, x, w_hh, (h0,), lengths), x.dtype)


@primitive(
    shape_rule=_rnn_steps,
    numerics=AUTOCAST_HALF,
    sharding=batch_axes("1-00", "1"),
    batching=join_rows((0,), (2, 3)),
    samples=[
        sample((3, 2, 3), (3, 3), (2, 3), integers(3, 4, 2)),
        sample((3, 4, 2), (2, 2), (4, 2), integers(0, 4, 4), reverse=True),
        sample((2, 1, 2), (2, 2), (1, 2), integers(2, 3, 1), nonlinearity="relu"),
    ],
)
def rnn_steps(
    x: Array,
    w_hh: Array,
    h0: Array,
    lengths: Array,
    *,
    nonlinearity: Nonlinearity = "tanh",
    reverse: bool = False,
    out: Array | None = None,
) -> Array:
    """The state h' = act(x + h w_hh^T) after each step of x [steps, rows, hidden], from h0 [rows, hidden] on.

    A row has `lengths` steps; its state is unchanged beyond them. `reverse` goes from the last step to the first.
    """
    check_lengths("rnn_steps", lengths, len(x))

    def kernel(results: tuple[Array, ...], x: Array, w_hh: Array, h: Array, lengths: Array) -> None:
        (states,) = results
        weight = np.ascontiguousarray(w_hh.T)
        for t, idle in steps(lengths, len(x), reverse):
            state = states[t]
            np.matmul(h, weight, out=state)
            state += x[t]
            np.tanh(state, out=state) if nonlinearity == "tanh" else np.maximum(state, 0, out=state)
            if idle is not None:
                np.copyto(state, h, where=idle[:, None])
            h = state

    return run(kernel, (x, w_hh, h0, lengths), (Spec(x.shape, x.dtype),), None if out is None else (out,))[0]


@rnn_steps.vjp
def _(
    g: Value, h: Value, x: Value, w_hh: Value, h0: Value, lengths: Value, *, nonlinearity: Nonlinearity, reverse: bool
) -> object:
    gx, gh = rnn_steps_backward(g, h, w_hh, lengths, nonlinearity=nonlinearity, reverse=reverse)
    return gx, lambda: weight_gradient(gx, previous_states(h, h0, reverse)), gh, None


def _rnn_steps_backward(
    g: Value, h: Value, w_hh: Value, lengths: Value, *, nonlinearity: Nonlinearity, reverse: bool
) -> tuple[Spec, Spec]:
    check_steps("rnn_steps_backward", 1, g, w_hh, (), lengths)
    if h.shape != g.shape:
        raise ShapeError(f"rnn_steps_backward: g {list(g.shape)} and h {list(h.shape)} must have one shape")
    return g.spec, Spec(g.shape[1:], g.dtype)


@primitive(
    shape_rule=_rnn_steps_backward,
    multi_output=True,
    sharding=batch_axes("11-0", "10"),
    batching=join_rows((0, 1), (3,)),
    samples=[
        sample((3, 2, 3), (3, 2, 3), (3, 3), integers(3, 4, 2)),
        sample((3, 4, 2), (3, 4, 2), (2, 2), integers(0, 4, 4), reverse=True),
        sample((2, 1, 2), (2, 1, 2), (2, 2), integers(2, 3, 1), nonlinearity="relu"),
    ],
)
def rnn_steps_backward(
    g: Array,
    h: Array,
    w_hh: Array,
    lengths: Array,
    *,
    nonlinearity: Nonlinearity = "tanh",
    reverse: bool = False,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, ...]:
    """The gradients of rnn_steps by x and h0, given that of the states and the states h themselves."""

    def kernel(results: tuple[Array, ...], g: Array, h: Array, w_hh: Array, lengths: Array) -> None:
        gx, carry = results
        if nonlinearity == "tanh":  # the slopes of all steps at once
            np.multiply(h, h, out=gx)
            np.subtract(1, gx, out=gx)
        else:
            np.greater(h, 0, out=gx, casting="unsafe")
        carry.fill(0)
        for t, idle in steps(lengths, len(g), not reverse):
            carry += g[t]
            gx[t] *= carry
            passed = None
            if idle is not None:
                gx[t][idle] = 0
                passed = carry[idle]
            np.matmul(gx[t], w_hh, out=carry)
            if passed is not None:
                carry[idle] = passed

    specs = (Spec(g.shape, g.dtype), Spec(g.shape[1:], g.dtype))
    return run(kernel, (g, h, w_hh, lengths), specs, out)


@rnn_steps_backward.vjp_through
def _(
    g: Value, h: Value, w_hh: Value, lengths: Value, *, nonlinearity: Nonlinearity, reverse: bool
) -> tuple[Value, Value]:
    count = g.shape[0]
    parts: dict[int, Value] = {}
    carry: Value | None = None
    for t in range(count) if reverse else range(count - 1, -1, -1):
        state, running = at(h, t), running_rows(lengths, t)
        total = at(g, t) if carry is None else at(g, t) + carry
        slope = total * (1.0 - square(state)) if nonlinearity == "tanh" else where(gt(state, 0.0), total, 0.0)
        parts[t] = where(running, slope, 0.0)
        carry = where(running, matrix_product(parts[t], w_hh), total)
    assert carry is not None
    return stack(*(parts[t] for t in range(count))), carry
