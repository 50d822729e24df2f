"""Attention without its matrix of weights: blocks of scores that fit in the cache, computed again for the gradient.

Forward as in Rabe & Staats (2021), backward as in Dao et al. (2022): of the weights only the logarithm of each row's
sum is kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from engine.batching import Call, Outputs
from engine.dtypes import FLOAT16, FLOAT32, is_float
from engine.errors import ShapeError
from engine.infer import broadcast_shapes, require_float
from engine.ops.compare import where
from engine.ops.elementwise import exp
from engine.ops.linalg import matrix_product
from engine.ops.masked_softmax import apply_mask, check_mask, exponentials
from engine.ops.normalization import statistics_dtype
from engine.ops.reduce import sum, sum_to
from engine.ops.shape import transpose, unsqueeze
from engine.ops.steps import or_zeros
from engine.registry import primitive
from engine.samples import booleans, sample
from engine.value import Array, Shape, Spec, Value

SCORES = 2**17
"""Scores in a block: half a megabyte of float32, which a second-level cache holds beside the rows they come from."""


class _Side:
    """One of the inputs as matrices [batch, rows, columns], whatever axes it is broadcast over."""

    def __init__(self, array: Array, lead: Shape) -> None:
        own = array.shape[:-2]
        self.matrices = array.reshape(math.prod(own), *array.shape[-2:])
        places = np.arange(math.prod(own)).reshape(own)
        self.places = None if own == lead else np.broadcast_to(places, lead).reshape(-1)

    def take(self, low: int, high: int) -> Array:
        """Return the matrices that belong to this part of the batch."""
        if self.places is None:
            return self.matrices[low:high]
        if high - low == 1:
            place = int(self.places[low])
            return self.matrices[place : place + 1]
        return self.matrices[self.places[low:high]]

    def add(self, low: int, rows: slice, part: Array) -> None:
        """Add to rows of the matrices that belong to the part of the batch starting at `low`."""
        if self.places is None:
            self.matrices[low : low + len(part), rows] += part
            return
        for place, matrix in zip(self.places[low : low + len(part)], part, strict=True):
            self.matrices[place, rows] += matrix


def _blocks(batch: int, rows: int, columns: int, causal: bool) -> Iterator[tuple[int, int, slice, int]]:
    """Yield parts of the batch, rows in them, and how many columns these rows see."""
    together = max(1, SCORES // max(rows * columns, 1))
    height = max(rows, 1) if rows * columns <= SCORES else max(16, SCORES // columns)
    for low in range(0, batch, together):
        for start in range(0, rows, height):
            stop = min(start + height, rows)
            yield low, min(low + together, batch), slice(start, stop), min(stop, columns) if causal else columns


def _scores(q: Array, k: Array, mask: Array | None, rows: slice, causal: bool) -> Array:
    """Return the masked scores of rows of q (already scaled) against the first columns, k [batch, columns, width]."""
    columns = k.shape[1]
    scores: Array = np.matmul(q[:, rows], k.swapaxes(1, 2))
    if mask is not None:
        part = mask[:, rows] if mask.shape[1] > 1 else mask
        apply_mask(scores, part[:, :, :columns] if mask.shape[2] > 1 else part)
    if causal and columns > rows.start:
        corner = scores[:, :, rows.start :]
        np.copyto(corner, -np.inf, where=np.triu(np.ones(corner.shape[1:], bool), 1))
    return scores


def _check(op: str, q: Value, k: Value, v: Value, mask: Value | None) -> Shape:
    """Check the inputs and return the leading axes."""
    require_float(op, q, k, v)
    if min(q.ndim, k.ndim, v.ndim) < 2 or q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2] or not k.shape[-2]:
        raise ShapeError(
            f"{op}: q {list(q.shape)} [..., rows, width], k {list(k.shape)} [..., columns, width] and v "
            f"{list(v.shape)} [..., columns, values] must agree, with at least one column"
        )
    lead = broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    check_mask(op, mask, (*lead, q.shape[-2], k.shape[-2]))
    return lead


def _attention(
    q: Value, k: Value, v: Value, mask: Value | None = None, *, scale: float, causal: bool, masked_row_zero: bool
) -> tuple[Spec, Spec]:
    lead = _check("attention", q, k, v, mask)
    rows = q.shape[-2]
    return Spec((*lead, rows, v.shape[-1]), q.dtype), Spec((*lead, rows), statistics_dtype(q.dtype))


@primitive(
    outputs=("y", "logs"),
    infer=_attention,
    several=True,
    samples=[
        sample((2, 3, 2), (2, 4, 2), (2, 4, 3), (3, 4), scale=0.7),
        sample((2, 2, 3, 2), (2, 1, 4, 2), (1, 4, 2), scale=0.5, causal=True),
        sample((3, 2), (4, 2), (4, 1), booleans(3, 4), masked_row_zero=True),
    ],
)
def attention(
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None = None,
    *,
    scale: float = 1.0,
    causal: bool = False,
    masked_row_zero: bool = False,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """softmax(scale q k^T + mask) v, and the logarithm of each row's sum of exponentials.

    q [..., rows, width], k [..., columns, width], v [..., columns, values]; leading axes broadcast. A float mask is
    added, a bool one lets those take part that are true; `causal` lets row i see the columns up to i. A row that sees
    nothing is NaN, or 0 (with the logarithm inf) with `masked_row_zero`.
    """
    lead = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    wide = FLOAT32 if q.dtype == FLOAT16 else q.dtype
    y = np.empty((*lead, q.shape[-2], v.shape[-1]), wide)
    logs = np.empty((*lead, q.shape[-2]), wide)
    queries, keys, values = (_Side(x.astype(wide, copy=False), lead) for x in (q, k, v))
    masks = None if mask is None else _Side(np.atleast_2d(mask), lead)
    batch = math.prod(lead)
    flat, flat_logs = y.reshape(batch, *y.shape[-2:]), logs.reshape(batch, y.shape[-2])
    for low, high, rows, columns in _blocks(batch, y.shape[-2], k.shape[-2], causal):
        scaled = queries.take(low, high) * wide.type(scale)
        chosen = None if masks is None else masks.take(low, high)
        weights = _scores(scaled, keys.take(low, high)[:, :columns], chosen, rows, causal)
        top, total = exponentials(weights, masked_row_zero)
        part = np.matmul(weights, values.take(low, high)[:, :columns])
        np.divide(part, total, out=flat[low:high, rows])
        np.add(top, np.log(total), out=flat_logs[low:high, rows, None])
    if out is None:
        return y.astype(q.dtype, copy=False), logs
    out[0][...], out[1][...] = y, logs
    return out


@attention.batch
def _(call: Call) -> Outputs:
    rank = max(call.rank(index) for index in range(len(call.inputs)))
    return call.again(call.spread(0, rank), *(call.aligned(index, rank) for index in range(1, len(call.inputs))))


@attention.vjp
def _(
    g: tuple[Value | None, ...],
    y: tuple[Value, ...],
    q: Value,
    k: Value,
    v: Value,
    mask: Value | None = None,
    *,
    scale: float,
    causal: bool,
) -> tuple[object, ...]:
    given = or_zeros(g[0], y[0]), or_zeros(g[1], y[1])
    gq, gk, gv = attention_backward(*given, *y, q, k, v, mask, scale=scale, causal=causal)
    if mask is None:
        return gq, gk, gv

    def of_mask() -> Value | None:
        if not is_float(mask.dtype):
            return None
        return _score_gradients(*given, y[0], y[1], q, k, v, mask, scale, causal)[1]

    return gq, gk, gv, of_mask


def _attention_backward(
    g: Value,
    glogs: Value,
    y: Value,
    logs: Value,
    q: Value,
    k: Value,
    v: Value,
    mask: Value | None = None,
    *,
    scale: float,
    causal: bool,
) -> tuple[Spec, Spec, Spec]:
    lead = _check("attention_backward", q, k, v, mask)
    wanted = (*lead, q.shape[-2], v.shape[-1])
    if not (g.shape == y.shape == wanted and glogs.shape == logs.shape == wanted[:-1]):
        raise ShapeError(
            f"attention_backward: g {list(g.shape)} and y {list(y.shape)} must have the shape {list(wanted)}, glogs "
            f"{list(glogs.shape)} and logs {list(logs.shape)} the shape {list(wanted[:-1])}"
        )
    return q.spec, k.spec, v.spec


@primitive(
    infer=_attention_backward,
    several=True,
    samples=[
        sample((2, 3, 3), (2, 3), (2, 3, 3), (2, 3), (2, 3, 2), (2, 4, 2), (2, 4, 3), (3, 4), scale=0.7),
        sample((2, 3, 1), (2, 3), (2, 3, 1), (2, 3), (2, 3, 2), (1, 4, 2), (4, 1), scale=0.5, causal=True),
    ],
)
def attention_backward(
    g: Array,
    glogs: Array,
    y: Array,
    logs: Array,
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None = None,
    *,
    scale: float = 1.0,
    causal: bool = False,
    out: tuple[Array, Array, Array] | None = None,
) -> tuple[Array, ...]:
    """The gradients of attention by q, k and v, given those of its results and the results themselves."""
    lead = y.shape[:-2]
    wide = FLOAT32 if q.dtype == FLOAT16 else q.dtype
    results = tuple(np.zeros(x.shape, wide) for x in (q, k, v))
    gq, gk, gv = (_Side(x, lead) for x in results)
    queries, keys, values, gs, ys = (_Side(x.astype(wide, copy=False), lead) for x in (q, k, v, g, y))
    flat_logs, flat_glogs = (x.reshape(math.prod(lead), x.shape[-1], 1) for x in (logs, glogs))
    masks = None if mask is None else _Side(np.atleast_2d(mask), lead)
    factor = wide.type(scale)
    for low, high, rows, columns in _blocks(math.prod(lead), q.shape[-2], k.shape[-2], causal):
        scaled, key = queries.take(low, high) * factor, keys.take(low, high)[:, :columns]
        weights = _scores(scaled, key, None if masks is None else masks.take(low, high), rows, causal)
        weights -= flat_logs[low:high, rows]
        np.exp(weights, out=weights)
        part = gs.take(low, high)[:, rows]
        gv.add(low, slice(0, columns), np.matmul(weights.swapaxes(1, 2), part))
        slopes = np.matmul(part, values.take(low, high)[:, :columns].swapaxes(1, 2))
        shared = np.vecdot(part, ys.take(low, high)[:, rows])[..., None]
        shared -= flat_glogs[low:high, rows]
        slopes -= shared
        slopes *= weights
        gk.add(low, slice(0, columns), np.matmul(slopes.swapaxes(1, 2), scaled[:, rows]))
        product = np.matmul(slopes, key)
        product *= factor
        gq.add(low, rows, product)
    if out is None:
        return tuple(result.astype(q.dtype, copy=False) for result in results)
    for target, result in zip(out, results, strict=True):
        target[...] = result
    return out


@attention_backward.batch
def _(call: Call) -> Outputs:
    rank = call.rank(0)
    made = call.made(*(call.spread(i, rank - 1 if i in (1, 3) else rank) for i in range(len(call.inputs))))
    return call.reshaped(*made)


def _score_gradients(
    g: Value,
    glogs: Value,
    y: Value,
    logs: Value,
    q: Value,
    k: Value,
    v: Value,
    mask: Value | None,
    scale: float,
    causal: bool,
) -> tuple[Value, Value]:
    """The weights and the gradient by the masked scores, written in ops."""
    scores = matrix_product(q * scale, transpose(k))
    if mask is not None:
        scores = scores + mask if is_float(mask.dtype) else where(mask, scores, -np.inf)
    if causal:
        scores = where(np.tri(q.shape[-2], k.shape[-2], dtype=bool), scores, -np.inf)
    weights = exp(scores - unsqueeze(logs, axis=-1))
    shared = sum(g * y, axis=-1, keepdims=True) - unsqueeze(glogs, axis=-1)
    return weights, weights * (matrix_product(g, transpose(v)) - shared)


@attention_backward.vjp_through
def _(
    g: Value,
    glogs: Value,
    y: Value,
    logs: Value,
    q: Value,
    k: Value,
    v: Value,
    mask: Value | None = None,
    *,
    scale: float,
    causal: bool,
) -> tuple[Value, Value, Value]:
    weights, slopes = _score_gradients(g, glogs, y, logs, q, k, v, mask, scale, causal)
    return (
        sum_to(matrix_product(slopes, k) * scale, shape=q.shape),
        sum_to(matrix_product(transpose(slopes), q) * scale, shape=k.shape),
        sum_to(matrix_product(transpose(weights), g), shape=v.shape),
    )
