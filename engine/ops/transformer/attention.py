"""Attention as in PyTorch: scaled_dot_product_attention, multi_head_attention (batch first), and the general case."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import numpy as np

from engine.core.attributes import Share
from engine.core.declarations import PRODUCT_COMPOSITION, CallForms
from engine.core.dtypes import BOOL, is_float
from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.core.modes import charge_table
from engine.core.registry import composite
from engine.core.samples import booleans, key, sample
from engine.core.value import Cotangents, Shape, Value, as_value
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.comparison import logical_and, logical_not, where
from engine.ops.linalg.matmul import linear, matrix_product
from engine.ops.random.random import dropout as drop
from engine.ops.reduce.reduce import mean
from engine.ops.shape.creation import zeros
from engine.ops.shape.shape import broadcast_to, concat, pad, permute, reshape, slice, squeeze, transpose, unsqueeze
from engine.ops.transformer.attention_kernel import attention
from engine.ops.transformer.masked_softmax import check_mask, soft_max


def _heads_of(op: str, q: Value, k: Value, v: Value) -> int:
    """Return how many heads of q share one head of k and v: 1 if there are as many."""
    if min(q.ndim, k.ndim, v.ndim) < 3 or q.shape[-3] == k.shape[-3] or k.shape[-3] == 1:
        return 1
    if v.shape[-3] != k.shape[-3] or q.shape[-3] % k.shape[-3]:
        raise ShapeError(
            f"{op}: the {q.shape[-3]} heads of q {list(q.shape)} must be a multiple of those of k {list(k.shape)}, "
            f"and v {list(v.shape)} must have as many as k"
        )
    return q.shape[-3] // k.shape[-3]


def _split_heads(x: Value, group: int) -> Value:
    """Split axis -3, the heads, into those of k and the group that shares each."""
    heads = x.shape[-3]
    pair = (1, 1) if heads == 1 else (heads // group, group)
    return reshape(x, shape=(*x.shape[:-3], *pair, *x.shape[-2:]))


@composite(
    aliases=("sdpa",),
    call=CallForms(by_place=("dropout", "causal")),
    numerics=PRODUCT_COMPOSITION,
    samples=[
        sample((2, 3, 2), (2, 4, 2), (2, 4, 3)),
        sample((2, 2, 3, 2), (2, 1, 3, 2), (2, 1, 3, 2), causal=True, scale=0.6),
        sample((1, 4, 2, 2), (1, 2, 3, 2), (1, 2, 3, 1), (1, 4, 2, 3)),
        sample((2, 3, 2), (2, 3, 2), (2, 3, 2), booleans(3, 3), masked_row_zero=True),
        sample((2, 2, 2), (2, 3, 2), (2, 3, 2), (2, 3), key(), dropout=0.3, training=True),
    ],
)
def scaled_dot_product_attention(
    q: Value,
    k: Value,
    v: Value,
    mask: Value | None = None,
    key: Value | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
    dropout: Share = 0.0,
    training: bool | None = None,
    masked_row_zero: bool = False,
) -> Value:
    """softmax(scale q k^T + mask) v for q [..., heads, rows, width], k [..., columns, width], v [..., columns, values].

    The scale is 1 / sqrt(width) unless given. A float mask is added, a bool one is true where attention is allowed;
    `causal` lets row i attend to the columns up to i. If k and v have fewer heads, consecutive heads of q share one
    (grouped-query attention). In training a share `dropout` of the weights is dropped, by `key` if given. A row that is
    masked completely is NaN, or 0 with `masked_row_zero`.
    """
    op = "scaled_dot_product_attention"
    group = _heads_of(op, q, k, v)
    if group > 1:
        rows = q.shape[-2]
        if mask is not None and mask.ndim > 2:
            check_mask(op, mask, (*q.shape[:-1], k.shape[-2]))
            mask = _split_heads(mask, group)
        y = scaled_dot_product_attention(
            _split_heads(q, group),
            unsqueeze(k, axis=-3),
            unsqueeze(v, axis=-3),
            mask,
            key,
            causal=causal,
            scale=scale,
            dropout=dropout,
            training=training,
            masked_row_zero=masked_row_zero,
        )
        return reshape(y, shape=(*y.shape[:-4], y.shape[-4] * y.shape[-3], rows, y.shape[-1]))
    factor = 1 / math.sqrt(max(q.shape[-1] if q.ndim else 1, 1)) if scale is None else scale
    if not (dropout and training):
        return attention(q, k, v, mask, scale=factor, causal=causal, masked_row_zero=masked_row_zero)[0]
    scores = matrix_product(q * factor, transpose(k))
    if causal:
        charge_table("scaled_dot_product_attention", q.shape[-2], k.shape[-2], item_bytes=1)
        scores = where(np.tri(q.shape[-2], k.shape[-2], dtype=bool), scores, -np.inf)
    weights = soft_max(scores, mask, masked_row_zero=masked_row_zero)
    return matrix_product(drop(weights, key, p=dropout, training=True), v)


def _as_taking_part(mask: Value) -> Value:
    """Convert a mask of multi_head_attention, in which true means "masked out", to one of attention."""
    return logical_not(mask) if mask.dtype == BOOL else mask


def _joined(a: Value | None, b: Value | None, like: Value) -> Value | None:
    """Combine two masks in which true means "allowed"."""
    if a is None or b is None:
        return b if a is None else a
    if a.dtype == b.dtype == BOOL:
        return logical_and(a, b)
    added = [cast(m, dtype=like.dtype) if is_float(m.dtype) else where(m, like.dtype.type(0), -np.inf) for m in (a, b)]
    return added[0] + added[1]


def combine_masks(
    op: str,
    attn_mask: Value | None,
    padding: Value | None,
    shape: tuple[int, ...],
    like: Value,
    *,
    causal: bool = False,
) -> Value | None:
    """Broadcast both masks to the scores [rows, heads, steps, columns], and combine them with the causal one."""
    batch, heads, rows, columns = shape
    for name, mask in (("attn_mask", attn_mask), ("key_padding_mask", padding)):
        if mask is not None and mask.dtype != BOOL and not is_float(mask.dtype):
            raise DTypeError(f"{op}: {name} must be bool (true is left out) or float (added), not {mask.dtype.name}")
    if attn_mask is not None:
        if attn_mask.shape == (batch * heads, rows, columns):
            attn_mask = reshape(attn_mask, shape=shape)
        elif attn_mask.shape != (rows, columns):
            raise ShapeError(
                f"{op}: attn_mask {list(attn_mask.shape)} must have the shape [{rows}, {columns}] or "
                f"[{batch * heads}, {rows}, {columns}]"
            )
        attn_mask = _as_taking_part(attn_mask)
    if padding is not None:
        if padding.shape != (batch, columns):
            raise ShapeError(f"{op}: key_padding_mask {list(padding.shape)} must have the shape [{batch}, {columns}]")
        padding = _as_taking_part(reshape(padding, shape=(batch, 1, 1, columns)))
    mask = _joined(attn_mask, padding, like)
    if not causal:
        return mask
    charge_table(op, rows, columns, item_bytes=1)
    return _joined(mask, as_value(np.tri(rows, columns, dtype=bool)), like)


def _projected(query: Value, key: Value, value: Value, weight: Value, bias: Value | None) -> tuple[Value, ...]:
    """Multiply query, key and value each by its third of the weight; in one product if they are the same."""
    width = weight.shape[1]
    if query.key == key.key == value.key:
        together = linear(query, weight, bias)
        return tuple(slice(together, axis=-1, start=n * width, stop=(n + 1) * width) for n in range(3))
    thirds = [(n * width, (n + 1) * width) for n in range(3)]
    return tuple(
        linear(x, slice(weight, start=low, stop=high), None if bias is None else slice(bias, start=low, stop=high))
        for x, (low, high) in zip((query, key, value), thirds, strict=True)
    )


def _check_projections(
    query: Value, key: Value, value: Value, weights: tuple[Value, Value], biases: Cotangents, heads: int
) -> None:
    op, width = "multi_head_attention", query.shape[-1]
    if heads < 1 or width % heads:
        raise AttributeValueError(f"{op}: heads {heads} must divide the width {width} of the query")
    for name, given, wanted in zip(
        ("in_proj_weight", "out_proj_weight", "in_proj_bias", "out_proj_bias"),
        (*weights, *biases),
        ((3 * width, width), (width, width), (3 * width,), (width,)),
        strict=True,
    ):
        if given is not None and given.shape != wanted:
            raise ShapeError(f"{op}: {name} {list(given.shape)} must have the shape {list(wanted)}")
    if (
        key.shape[:-1] != value.shape[:-1]
        or key.shape[0] != query.shape[0]
        or {key.shape[-1], value.shape[-1]} != {width}
    ):
        raise ShapeError(
            f"{op}: query {list(query.shape)}, key {list(key.shape)} and value {list(value.shape)} must agree in rows "
            "and width, key and value in steps too"
        )


@composite(
    numerics=PRODUCT_COMPOSITION,
    samples=[
        sample((2, 3, 4), (2, 2, 4), (2, 2, 4), (12, 4), (4, 4), (12,), (4,), heads=2),
        sample((2, 2), (2, 2), (2, 2), (6, 2), (2, 2), heads=1, causal=True),
        sample(
            (2, 2, 2), (2, 3, 2), (2, 3, 2), (6, 2), (2, 2), (6,), (2,), (2, 3), booleans(2, 3), key(), heads=2,
            dropout=0.3, training=True, masked_row_zero=True,
        ),
    ],
)  # fmt: skip
def multi_head_attention(
    query: Value,
    key: Value,
    value: Value,
    in_proj_weight: Value,
    out_proj_weight: Value,
    in_proj_bias: Value | None = None,
    out_proj_bias: Value | None = None,
    attn_mask: Value | None = None,
    key_padding_mask: Value | None = None,
    dropout_key: Value | None = None,
    *,
    heads: int,
    causal: bool = False,
    dropout: Share = 0.0,
    training: bool | None = None,
    masked_row_zero: bool = False,
) -> Value:
    """Attention of `heads` heads (Vaswani et al. 2017) with the weights of PyTorch's MultiheadAttention, batch first.

    query [rows, steps, width], key and value [rows, columns, width], or all without rows. in_proj_weight
    [3 * width, width] holds those of query, key and value, concatenated; out_proj_weight is [width, width].
    attn_mask [steps, columns] or [rows * heads, steps, columns] and key_padding_mask [rows, columns] are added, or, if
    bool, mask out the true elements, as in PyTorch. Optional inputs may be null.
    """
    alone = query.ndim == 2
    if alone:
        query, key, value = _together(query, key, value)
        key_padding_mask = None if key_padding_mask is None else unsqueeze(key_padding_mask, axis=0)
    if not query.ndim == key.ndim == value.ndim == 3:
        raise ShapeError(
            f"multi_head_attention: query {list(query.shape)}, key {list(key.shape)} and value {list(value.shape)} "
            "must have the shape [rows, steps, width]"
        )
    weights, biases = (in_proj_weight, out_proj_weight), (in_proj_bias, out_proj_bias)
    _check_projections(query, key, value, weights, biases, heads)
    projected = _projected(query, key, value, in_proj_weight, in_proj_bias)
    q, k, v = (
        permute(reshape(x, shape=(*x.shape[:2], heads, x.shape[2] // heads)), axes=(0, 2, 1, 3)) for x in projected
    )
    y = scaled_dot_product_attention(
        q,
        k,
        v,
        combine_masks("multi_head_attention", attn_mask, key_padding_mask, (*q.shape[:3], k.shape[2]), q),
        dropout_key,
        causal=causal,
        dropout=dropout,
        training=training,
        masked_row_zero=masked_row_zero,
    )
    y = linear(reshape(permute(y, axes=(0, 2, 1, 3)), shape=query.shape), out_proj_weight, out_proj_bias)
    return squeeze(y, axis=0) if alone else y


def _together(query: Value, key: Value, value: Value) -> tuple[Value, Value, Value]:
    """Add the axis of rows; equal inputs stay equal."""
    rows = {x.key: unsqueeze(x, axis=0) for x in (query, key, value)}
    return rows[query.key], rows[key.key], rows[value.key]


OP = "general_attention"

Weights = Literal["none", "mean", "heads"]


def _take(rest: Iterator[Value], name: str, shape: Shape) -> Value:
    """Return the next input, which must have the shape."""
    value = next(rest)
    if value.shape != shape:
        raise ShapeError(f"{OP}: {name} {list(value.shape)} must have the shape {list(shape)}")
    return value


def _projections(rest: Iterator[Value], widths: tuple[int, int, int], apart: bool) -> tuple[Value, ...]:
    width = widths[0]
    if apart:
        return tuple(
            _take(rest, f"{name}_proj_weight", (width, size)) for name, size in zip("qkv", widths, strict=True)
        )
    together = _take(rest, "in_proj_weight", (3 * width, width))
    return tuple(slice(together, start=n * width, stop=(n + 1) * width) for n in range(3))


def _check_inputs(query: Value, key: Value, value: Value, heads: int, given: int, wanted: int) -> None:
    shapes = f"query {list(query.shape)}, key {list(key.shape)} and value {list(value.shape)}"
    if not query.ndim == key.ndim == value.ndim == 3:
        raise ShapeError(f"{OP}: {shapes} must have the shape [rows, steps, width]")
    if key.shape[:2] != value.shape[:2] or key.shape[0] != query.shape[0]:
        raise ShapeError(f"{OP}: {shapes} must agree in rows, key and value in steps too")
    if heads < 1 or query.shape[2] % heads:
        raise AttributeValueError(f"{OP}: heads {heads} must divide the width {query.shape[2]} of the query")
    if given not in (wanted, wanted + 1):
        raise ShapeError(
            f"{OP}: these options need {wanted} inputs after query, key and value (and a random key for dropout, if "
            f"you like), got {given}"
        )


def _by_head(x: Value, heads: int) -> Value:
    return permute(reshape(x, shape=(*x.shape[:2], heads, x.shape[2] // heads)), axes=(0, 2, 1, 3))


def _widened(mask: Value | None, more: int) -> Value | None:
    """Extend a mask by columns that every row may attend to."""
    if mask is None or not more:
        return mask
    kept = ((0, 0),) * (mask.ndim - 1)
    if mask.dtype.kind == "f":
        return pad(mask, widths=(*kept, (0, more)))
    return concat(mask, as_value(np.ones((*mask.shape[:-1], more), bool)), axis=-1)


@composite(
    numerics=PRODUCT_COMPOSITION,
    samples=[
        sample((2, 3, 4), (2, 2, 3), (2, 2, 5), (4, 4), (4, 3), (4, 5), (4, 4), (12,), (4,), heads=2, apart=True),
        sample(
            (2, 3, 2), (2, 3, 2), (2, 3, 2), (6, 2), (2, 2), (1, 1, 2), (1, 1, 2), (3, 3), booleans(2, 3), heads=2,
            bias=False, bias_kv=True, zero_attn=True, masked=True, padded=True, causal=True, weights="heads",
        ),
        sample(
            (1, 2, 2), (1, 2, 2), (1, 2, 2), (6, 2), (2, 2), key(), heads=1, bias=False, dropout=0.3, training=True,
            weights="mean",
        ),
    ],
)  # fmt: skip
def general_attention(
    query: Value,
    key: Value,
    value: Value,
    *inputs: Value,
    heads: int,
    apart: bool = False,
    bias: bool = True,
    bias_kv: bool = False,
    zero_attn: bool = False,
    masked: bool = False,
    padded: bool = False,
    causal: bool = False,
    weights: Weights = "none",
    dropout: Share = 0.0,
    training: bool | None = None,
    masked_row_zero: bool = False,
) -> tuple[Value, ...]:
    """multi_head_attention with all options of PyTorch's: outputs [rows, steps, width] and, on request, the weights.

    query [rows, steps, width], key [rows, columns, kdim], value [rows, columns, vdim]. There follow in_proj_weight, or
    `apart` q_proj_weight, k_proj_weight and v_proj_weight; out_proj_weight; with `bias` in_proj_bias and out_proj_bias;
    with `bias_kv` bias_k and bias_v [1, 1, width], a further key and value; `masked` attn_mask, `padded`
    key_padding_mask, as of multi_head_attention; last, optionally, a random key for `dropout`. `zero_attn` adds a key
    and value of zeros. Masks do not apply to added keys. `weights` [rows, steps, columns] are the "mean" over the
    heads, or [rows, heads, steps, columns] those of all "heads".
    """
    wanted = (3 if apart else 1) + 1 + 2 * bias + 2 * bias_kv + masked + padded
    _check_inputs(query, key, value, heads, len(inputs), wanted)
    rest = iter(inputs)
    rows, steps, width = query.shape
    projections = _projections(rest, (width, key.shape[2], value.shape[2]), apart)
    out_weight = _take(rest, "out_proj_weight", (width, width))
    biases: Cotangents = (None,) * 3
    out_bias = None
    if bias:
        together = _take(rest, "in_proj_bias", (3 * width,))
        biases = tuple(slice(together, start=n * width, stop=(n + 1) * width) for n in range(3))
        out_bias = _take(rest, "out_proj_bias", (width,))
    q, k, v = (linear(x, w, b) for x, w, b in zip((query, key, value), projections, biases, strict=True))
    if bias_kv:
        k, v = (
            concat(x, broadcast_to(_take(rest, f"bias_{name}", (1, 1, width)), shape=(rows, 1, width)), axis=1)
            for name, x in (("k", k), ("v", v))
        )
    q, k, v = (_by_head(x, heads) for x in (q, k, v))
    if zero_attn:
        none = zeros(shape=(rows, heads, 1, width // heads), dtype=q.dtype)
        k, v = concat(k, none, axis=2), concat(v, none, axis=2)
    shape = (rows, heads, steps, key.shape[1])
    attn_mask, padding = (next(rest) if given else None for given in (masked, padded))
    mask = combine_masks(OP, attn_mask, padding, shape, q, causal=causal)
    mask = _widened(mask, bias_kv + zero_attn)
    random_key = next(rest, None)
    if weights == "none":
        y = scaled_dot_product_attention(
            q, k, v, mask, random_key, dropout=dropout, training=training, masked_row_zero=masked_row_zero
        )
        seen = None
    else:
        scores = matrix_product(q * (1 / math.sqrt(max(width // heads, 1))), transpose(k))
        seen = soft_max(scores, mask, masked_row_zero=masked_row_zero)
        seen = drop(seen, random_key, p=dropout, training=True) if dropout and training else seen
        y = matrix_product(seen, v)
    y = linear(reshape(permute(y, axes=(0, 2, 1, 3)), shape=query.shape), out_weight, out_bias)
    if seen is None:
        return (y,)
    return y, mean(seen, axis=1) if weights == "mean" else seen
