"""Attention without a matrix of weights: blocks of scores that fit in the cache, recomputed for the gradient.

Forward as in Rabe & Staats (2021), backward as in Dao et al. (2022): of the weights only the logarithm of the sum of
each row is saved.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.core.batching import Call, Outputs
from engine.core.declarations import AUTOCAST_HALF, Documentation, Memory, computing_itemsize, nbytes
from engine.core.dtypes import FLOAT16, FLOAT32, DType, is_float
from engine.core.errors import ShapeError
from engine.core.registry import primitive
from engine.core.samples import booleans, sample
from engine.core.shape_rules import broadcast_shapes, require_float
from engine.core.sharding_rules import matrix_axes
from engine.core.value import Array, Cotangents, Shape, Spec, Value
from engine.ops.elementwise.comparison import where
from engine.ops.elementwise.elementwise import exp
from engine.ops.kernels.blocks import WORKSPACE
from engine.ops.linalg.matmul import matrix_product
from engine.ops.normalization.normalization import statistics_dtype
from engine.ops.recurrent.steps import or_zeros
from engine.ops.reduce.reduce import sum, sum_to
from engine.ops.shape.shape import transpose, unsqueeze
from engine.ops.transformer.masked_softmax import apply_mask, check_mask, exponentials

SCORES = 2**16
"""Scores of a block: 256 KiB of float32; two blocks and their rows fit in the second-level cache."""
CAUSAL_ROWS = 32
"""Rows of a block of causal scores: smaller blocks skip more of the masked scores."""


class _Side:
    """One input as matrices [batch, rows, columns], with any broadcast axes."""

    def __init__(self, array: Array, lead: Shape, dtype: DType | None = None) -> None:
        own = array.shape[:-2]
        array = WORKSPACE.copied(array, dtype or array.dtype)
        self.matrices = array.reshape((math.prod(own), *array.shape[-2:]), copy=False)
        places = np.arange(math.prod(own)).reshape(own)
        self.places = None if own == lead else np.broadcast_to(places, lead).reshape(-1)

    def of(self, block: _Block) -> Array:
        """Return the matrices of a part of the batch."""
        low, high = block.low, block.high
        if self.places is None:
            return self.matrices[low:high]
        if high - low == 1:
            place = int(self.places[low])
            return self.matrices[place : place + 1]
        return self.matrices[self.places[low:high]]

    def add(self, block: _Block, rows: slice, a: Array, b: Array) -> None:
        """Add products to rows of the matrices of a part of the batch."""
        with WORKSPACE:
            part = np.matmul(a, b, out=WORKSPACE.array((*a.shape[:-1], b.shape[-1]), b.dtype))
            if self.places is None:
                self.matrices[block.low : block.high, rows] += part
                return
            for place, matrix in zip(self.places[block.low : block.high], part, strict=True):
                self.matrices[place, rows] += matrix


@dataclass(frozen=True, slots=True)
class _Block:
    """A part of the batch, rows in it, and the number of columns these rows attend to."""

    low: int
    high: int
    rows: slice
    columns: int

    @property
    def scores(self) -> Shape:
        return self.high - self.low, self.rows.stop - self.rows.start, self.columns


def _blocks(batch: int, rows: int, columns: int, causal: bool) -> Iterator[_Block]:
    # The scores of a block stay in cache; blocks of at least 16 rows keep the matrix products efficient. With a causal
    # mask early blocks skip the columns that none of their rows attends to, half of all scores with many blocks.
    height = max(rows, 1) if rows * columns <= SCORES else max(16, SCORES // columns)
    if causal:
        height = min(height, CAUSAL_ROWS)
    together = max(1, SCORES // max(height * columns, 1))
    for low in range(0, batch, together):
        for start in range(0, rows, height):
            stop = min(start + height, rows)
            seen = min(stop, columns) if causal else columns
            yield _Block(low, min(low + together, batch), slice(start, stop), seen)


class _Scores:
    """Masked scores, block by block."""

    def __init__(self, q: _Side, keys: _Side, masks: _Side | None, causal: bool) -> None:
        """Prepare q as matrices [rows, width] and k, times the scale, as [width, columns]."""
        self.q, self.keys, self.masks, self.causal = q, keys, masks, causal
        self.dtype = q.matrices.dtype

    def of(self, block: _Block) -> Array:
        """Return the scores [batch, rows, columns] of a block."""
        rows, columns = block.rows, block.columns
        scores = WORKSPACE.array(block.scores, self.dtype)
        np.matmul(self.q.of(block)[:, rows], self.keys.of(block)[:, :, :columns], out=scores)
        if self.masks is not None:
            mask = self.masks.of(block)
            part = mask[:, rows] if mask.shape[1] > 1 else mask
            apply_mask(scores, part[:, :, :columns] if mask.shape[2] > 1 else part)
        if self.causal and columns > rows.start:
            corner = scores[:, :, rows.start :]  # the columns before are visible to every row of the block
            np.copyto(corner, -np.inf, where=np.triu(np.ones(corner.shape[1:], bool), 1))
        return scores


def _turned(x: Array, dtype: DType, scale: float = 1.0) -> Array:
    """Return transposed matrices, times the scale, in row-major order: products with strided matrices take twice as
    long.
    """
    turned = WORKSPACE.copied(x.swapaxes(-1, -2), dtype)
    if scale == 1:
        return turned
    scaled: Array = np.multiply(turned, dtype.type(scale), out=WORKSPACE.array(turned.shape, dtype))
    return scaled


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


def _block_bytes(q: Spec, k: Spec) -> int:
    return min(SCORES, math.prod(q.shape[:-1]) * k.shape[-2]) * computing_itemsize(q)


def _attention_scratch(attrs: Mapping[str, Any], inputs: Sequence[Spec], outputs: Sequence[Spec]) -> int:
    q, k, v = map(nbytes, inputs[:3])
    return q + 2 * k + v + 2 * _block_bytes(inputs[0], inputs[1])


@primitive(
    shape_rule=_attention,
    multi_output=True,
    numerics=AUTOCAST_HALF,
    memory=Memory(scratch=_attention_scratch, keeps_workspace=True),
    documentation=Documentation(outputs=("y", "logs")),
    sharding=matrix_axes("2222", "21"),
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
    added, a bool one is true where attention is allowed; `causal` lets row i attend to the columns up to i. A row that
    is masked completely is NaN, or 0 (with the logarithm inf) with `masked_row_zero`.
    """
    lead = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    wide = FLOAT32 if q.dtype == FLOAT16 else q.dtype
    direct = out is not None and q.dtype == wide and out[0].flags.c_contiguous and out[1].flags.c_contiguous
    y, logs = out if out is not None and direct else _empty((*lead, q.shape[-2]), v.shape[-1], wide)
    with WORKSPACE:
        _fill(y, logs, q, k, v, mask, scale=scale, causal=causal, masked_row_zero=masked_row_zero)
    if direct:
        return y, logs
    if out is None:
        return y.astype(q.dtype, copy=False), logs
    out[0][...], out[1][...] = y, logs
    return out


def _fill(
    y: Array,
    logs: Array,
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None,
    *,
    scale: float,
    causal: bool,
    masked_row_zero: bool,
) -> None:
    """Write both results, which are row-major and of the dtype that is computed in."""
    lead, rows, dtype = logs.shape[:-1], logs.shape[-1], y.dtype
    batch = math.prod(lead)
    flat, flat_logs = y.reshape(batch, *y.shape[-2:]), logs.reshape(batch, rows)
    values = _Side(v, lead, dtype)
    scores = _Scores(_Side(q, lead, dtype), _Side(_turned(k, dtype, scale), lead), _masks(mask, lead), causal)
    for block in _blocks(batch, rows, k.shape[-2], causal):
        with WORKSPACE:
            # A block holds whole rows, so a softmax needs no second pass. It is divided by its sum after the product
            # with the values, which has fewer columns than there are scores in a row.
            weights = scores.of(block)
            top, total = exponentials(weights, masked_row_zero)
            part = flat[block.low : block.high, block.rows]
            np.matmul(weights, values.of(block)[:, : block.columns], out=part)
            np.divide(part, total, out=part)
            np.add(top, np.log(total), out=flat_logs[block.low : block.high, block.rows, None])


def _empty(rows: Shape, values: int, dtype: DType) -> tuple[Array, Array]:
    return np.empty((*rows, values), dtype), np.empty(rows, dtype)


def _masks(mask: Array | None, lead: Shape) -> _Side | None:
    return None if mask is None else _Side(np.atleast_2d(mask), lead)


@attention.batch
def _(call: Call) -> Outputs:
    rank = max(call.rank(index) for index in range(len(call.inputs)))
    return call.again(call.spread(0, rank), *(call.aligned(index, rank) for index in range(1, len(call.inputs))))


@attention.vjp
def _(
    g: Cotangents,
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


def _attention_backward_scratch(attrs: Mapping[str, Any], inputs: Sequence[Spec], outputs: Sequence[Spec]) -> int:
    g, _, y, _, q, k, v = map(nbytes, inputs[:7])
    return g + y + 2 * (q + k + v) + 4 * _block_bytes(inputs[4], inputs[5])


@primitive(
    shape_rule=_attention_backward,
    multi_output=True,
    memory=Memory(scratch=_attention_backward_scratch, keeps_workspace=True),
    sharding=matrix_axes("21212222", "222"),
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
    wide = FLOAT32 if q.dtype == FLOAT16 else q.dtype
    direct = out is not None and q.dtype == wide and all(target.flags.c_contiguous for target in out)
    results = out if out is not None and direct else tuple(np.empty(x.shape, wide) for x in (q, k, v))
    for result in results:
        result.fill(0)
    with WORKSPACE:
        _add_gradients(results, g, glogs, y, logs, q, k, v, mask, scale=scale, causal=causal)
    if direct:
        return results
    if out is None:
        return tuple(result.astype(q.dtype, copy=False) for result in results)
    for target, result in zip(out, results, strict=True):
        target[...] = result
    return out


def _add_gradients(
    results: tuple[Array, ...],
    g: Array,
    glogs: Array,
    y: Array,
    logs: Array,
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None,
    *,
    scale: float,
    causal: bool,
) -> None:
    """Add the gradients to zeros, which are row-major and of the dtype that is computed in."""
    lead, rows, dtype = logs.shape[:-1], logs.shape[-1], results[0].dtype
    gq, gk, gv = (_Side(x, lead) for x in results)
    queries, keys, gs, ys = (_Side(x, lead, dtype) for x in (q, k, g, y))
    values, scaled_keys = _Side(_turned(v, dtype), lead), _Side(_turned(k, dtype, scale), lead)
    flat_logs, flat_glogs = (x.reshape(math.prod(lead), rows, 1) for x in (logs, glogs))
    scores = _Scores(queries, scaled_keys, _masks(mask, lead), causal)
    for block in _blocks(math.prod(lead), rows, k.shape[-2], causal):
        seen = slice(0, block.columns)
        with WORKSPACE:
            # exp(score - log of the row's sum) recomputes the weights of the forward pass, which keeps none of them:
            # memory grows with rows + columns, not with their product (FlashAttention; Dao et al. 2022).
            weights = scores.of(block)
            weights -= flat_logs[block.low : block.high, block.rows]
            np.exp(weights, out=weights)
            part = gs.of(block)[:, block.rows]
            gv.add(block, seen, weights.swapaxes(1, 2), part)
            slopes = WORKSPACE.array(block.scores, dtype)
            np.matmul(part, values.of(block)[:, :, seen], out=slopes)
            # The slope of softmax takes from each score the weighted mean of its row, and sum_j w_j (g . v_j) = g . y.
            shared = np.vecdot(part, ys.of(block)[:, block.rows])[..., None]
            shared -= flat_glogs[block.low : block.high, block.rows]
            slopes -= shared
            slopes *= weights
            gk.add(block, seen, slopes.swapaxes(1, 2), queries.of(block)[:, block.rows])
            gq.add(block, block.rows, slopes, keys.of(block)[:, seen])
    for matrices in results[:2]:
        np.multiply(matrices, dtype.type(scale), out=matrices)


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
    """Return the weights and the gradient by the masked scores, written in ops."""
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
