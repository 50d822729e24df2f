"""The steps of a GRU layer (Cho et al. 2014) in PyTorch's form, given its input product; gates in the order r z n."""

from __future__ import annotations

import numpy as np

from engine.core.declarations import AUTOCAST_HALF
from engine.core.errors import ShapeError
from engine.core.registry import primitive
from engine.core.samples import integers, sample, uniform
from engine.core.shape_rules import require_float
from engine.core.sharding_rules import batch_axes
from engine.core.value import Array, Cotangents, Spec, Value
from engine.ops.elementwise.comparison import where
from engine.ops.elementwise.elementwise import square
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
from engine.ops.reduce.reduce import sum
from engine.ops.shape.shape import concat, slice, split, stack


def _gru_steps(
    x: Value, w_hh: Value, b_n: Value, h0: Value, lengths: Value, *, reverse: bool
) -> tuple[Spec, Spec, Spec]:
    states = Spec(check_steps("gru_steps", 3, x, w_hh, (h0,), lengths), x.dtype)
    if b_n.shape != states.shape[2:] or b_n.dtype != x.dtype:
        raise ShapeError(f"gru_steps: b_n {b_n.dtype.name}{list(b_n.shape)} must be {x.dtype.name}[{w_hh.shape[1]}]")
    return states, x.spec, states


@primitive(
    shape_rule=_gru_steps,
    multi_output=True,
    numerics=AUTOCAST_HALF,
    sharding=batch_axes("1--00", "111"),
    batching=join_rows((0,), (3, 4)),
    samples=[
        sample((3, 2, 6), (6, 2), (2,), (2, 2), integers(3, 4, 2)),
        sample((3, 4, 3), (3, 1), (1,), (4, 1), integers(0, 4, 4), reverse=True),
    ],
)
def gru_steps(
    x: Array,
    w_hh: Array,
    b_n: Array,
    h0: Array,
    lengths: Array,
    *,
    reverse: bool = False,
    out: tuple[Array, Array, Array] | None = None,
) -> tuple[Array, ...]:
    """States h [steps, rows, hidden], gates [steps, rows, 3 hidden] and q = h w_n^T + b_n after each step of x.

    With p = h w_hh^T: r, z = sigmoid(x + p), n = tanh(x + r q), h' = (1 - z) n + z h. A row has `lengths` steps; beyond
    them its state is unchanged and gates and q are 0. `reverse` goes from the last step to the first.
    """
    check_lengths("gru_steps", lengths, len(x))

    def kernel(results: tuple[Array, ...], x: Array, w_hh: Array, b_n: Array, h: Array, lengths: Array) -> None:
        hs, gates, qs = results
        size = w_hh.shape[1]
        # sigmoid(a) = tanh(a / 2) / 2 + 1 / 2, so half of what goes into r and z is computed.
        factor = np.full(3 * size, 0.5, x.dtype)
        factor[2 * size :] = 1
        weight = np.ascontiguousarray(w_hh.T * factor)
        np.multiply(x, factor, out=gates)
        product = np.empty(x.shape[1:], x.dtype)
        for t, idle in steps(lengths, len(x), reverse):
            np.matmul(h, weight, out=product)
            rz, n = gates[t][:, : 2 * size], gates[t][:, 2 * size :]
            rz += product[:, : 2 * size]
            np.tanh(rz, out=rz)
            rz += 1
            rz *= 0.5
            np.add(product[:, 2 * size :], b_n, out=qs[t])
            n += np.multiply(rz[:, :size], qs[t], out=hs[t])
            np.tanh(n, out=n)
            np.subtract(h, n, out=hs[t])
            hs[t] *= rz[:, size:]
            hs[t] += n
            if idle is not None:
                gates[t][idle] = 0
                qs[t][idle] = 0
                np.copyto(hs[t], h, where=idle[:, None])
            h = hs[t]

    states = Spec((*x.shape[:2], w_hh.shape[1]), x.dtype)
    return run(kernel, (x, w_hh, b_n, h0, lengths), (states, Spec(x.shape, x.dtype), states), out)


@gru_steps.vjp
def _(
    g: Cotangents, y: tuple[Value, ...], x: Value, w_hh: Value, b_n: Value, h0: Value, lengths: Value, *, reverse: bool
) -> object:
    h, gates, q = y
    more = () if g[1] is None and g[2] is None else (or_zeros(g[1], gates), or_zeros(g[2], q))
    gp, gn, gh = gru_steps_backward(or_zeros(g[0], h), h, gates, q, w_hh, h0, lengths, *more, reverse=reverse)
    twice = 2 * h.shape[2]
    return (
        lambda: concat(slice(gp, axis=2, stop=twice), gn, axis=2),
        lambda: weight_gradient(gp, previous_states(h, h0, reverse)),
        lambda: sum(slice(gp, axis=2, start=twice), axis=(0, 1)),
        gh,
        None,
    )


def _gru_steps_backward(
    g: Value,
    h: Value,
    gates: Value,
    q: Value,
    w_hh: Value,
    h0: Value,
    lengths: Value,
    ggates: Value | None = None,
    gq: Value | None = None,
    *,
    reverse: bool,
) -> tuple[Spec, Spec, Spec]:
    op = "gru_steps_backward"
    states = check_steps(op, 3, gates, w_hh, (h0,), lengths)
    require_float(op, gates, g, h, q)
    if not g.shape == h.shape == q.shape == states:
        raise ShapeError(f"{op}: g, h and q must have the shape {list(states)}")
    if ggates is not None and (gq is None or ggates.shape != gates.shape or gq.shape != states):
        raise ShapeError(f"{op}: ggates and gq must come together and have the shapes of gates and q")
    return gates.spec, Spec(states, h.dtype), h0.spec


@primitive(
    shape_rule=_gru_steps_backward,
    multi_output=True,
    sharding=batch_axes("1111-00", "110"),
    batching=join_rows((0, 1, 2, 3, 7, 8), (5, 6)), samples=[
        sample((2, 2, 2), (2, 2, 2), uniform(0.1, 0.9, 2, 2, 6), (2, 2, 2), (6, 2), (2, 2), integers(2, 3, 2)),
        sample(
            (2, 3, 1), (2, 3, 1), uniform(0.1, 0.9, 2, 3, 3), (2, 3, 1), (3, 1), (3, 1), integers(0, 3, 3), (2, 3, 3),
            (2, 3, 1), reverse=True,
        ),
    ],
)  # fmt: skip
def gru_steps_backward(
    g: Array,
    h: Array,
    gates: Array,
    q: Array,
    w_hh: Array,
    h0: Array,
    lengths: Array,
    ggates: Array | None = None,
    gq: Array | None = None,
    *,
    reverse: bool = False,
    out: tuple[Array, Array, Array] | None = None,
) -> tuple[Array, ...]:
    """The gradients of gru_steps by p = h w_hh^T, by the n part of x and by h0, given those of its results."""

    def kernel(
        results: tuple[Array, ...],
        g: Array,
        h: Array,
        gates: Array,
        q: Array,
        w_hh: Array,
        h0: Array,
        lengths: Array,
        ggates: Array | None = None,
        gq: Array | None = None,
    ) -> None:
        gp, gn, dh = results
        size, count = h.shape[2], len(h)
        parts = [np.s_[..., k * size : (k + 1) * size] for k in range(3)]
        np.multiply(gates, gates, out=gp)  # slopes of all steps at once
        np.subtract(gates, gp, out=gp)
        np.subtract(1, np.square(gates[parts[2]]), out=gn)
        dh.fill(0)
        outer, held = np.empty(h0.shape, h.dtype), np.empty(h0.shape, h.dtype)
        last = count - 1 if reverse else 0
        for t, idle in steps(lengths, count, not reverse):
            dh += g[t]
            rest = None if idle is None else dh[idle]
            r, z, n = (gates[t][part] for part in parts)
            np.subtract(h0 if t == last else h[t + 1 if reverse else t - 1], n, out=outer)
            outer *= dh
            if ggates is not None:
                outer += ggates[t][parts[1]]
            gp[t][parts[1]] *= outer
            np.multiply(dh, z, out=held)
            np.subtract(dh, held, out=outer)
            if ggates is not None:
                outer += ggates[t][parts[2]]
            gn[t] *= outer
            np.multiply(gn[t], q[t], out=outer)
            if ggates is not None:
                outer += ggates[t][parts[0]]
            gp[t][parts[0]] *= outer
            np.multiply(gn[t], r, out=gp[t][parts[2]])
            if gq is not None:
                gp[t][parts[2]] += gq[t]
            if idle is not None:
                gp[t][idle] = 0
                gn[t][idle] = 0
            np.matmul(gp[t], w_hh, out=dh)
            dh += held
            if idle is not None:
                dh[idle] = rest

    more = () if ggates is None or gq is None else (ggates, gq)
    specs = tuple(Spec(array.shape, array.dtype) for array in (gates, h, h0))
    return run(kernel, (g, h, gates, q, w_hh, h0, lengths, *more), specs, out)


@gru_steps_backward.vjp_through
def _(
    g: Value,
    h: Value,
    gates: Value,
    q: Value,
    w_hh: Value,
    h0: Value,
    lengths: Value,
    ggates: Value | None = None,
    gq: Value | None = None,
    *,
    reverse: bool,
) -> tuple[Value, Value, Value]:
    count, size = h.shape[0], h.shape[2]
    previous = previous_states(h, h0, reverse)
    products: dict[int, Value] = {}
    candidates: dict[int, Value] = {}
    dh = h0 * 0.0
    for t in range(count) if reverse else range(count - 1, -1, -1):
        running = running_rows(lengths, t)
        r, z, n = split(at(gates, t), sizes=(size,) * 3, axis=1)
        dh = dh + at(g, t)
        dr: Value | float = 0.0
        dz, dn = dh * (at(previous, t) - n), dh * (1.0 - z)
        if ggates is not None:
            dr, more_z, more_n = split(at(ggates, t), sizes=(size,) * 3, axis=1)
            dz, dn = dz + more_z, dn + more_n
        dn = dn * (1.0 - square(n))
        dr = (dn * at(q, t) + dr) * r * (1.0 - r)
        dq = dn * r if gq is None else dn * r + at(gq, t)
        products[t] = where(running, concat(dr, dz * z * (1.0 - z), dq, axis=1), 0.0)
        candidates[t] = where(running, dn, 0.0)
        dh = where(running, matrix_product(products[t], w_hh) + dh * z, dh)
    gp, gn = (stack(*(found[t] for t in range(count))) for found in (products, candidates))
    return gp, gn, dh
