"""Multi-head attention in all its forms in PyTorch: inputs of other widths, further keys and values, its weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import numpy as np

from engine.core.declarations import Numerics
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import composite
from engine.core.samples import booleans, key, sample
from engine.core.value import Shape, Value, as_value
from engine.ops.linalg.matmul import linear, matrix_product
from engine.ops.random.random import check_dropout
from engine.ops.random.random import dropout as drop
from engine.ops.reduce.reduce import mean
from engine.ops.shape.creation import zeros
from engine.ops.shape.shape import broadcast_to, concat, pad, permute, reshape, slice, transpose
from engine.ops.transformer.attention import joined_masks, scaled_dot_product_attention
from engine.ops.transformer.masked_softmax import soft_max

OP = "general_attention"

Weights = Literal["none", "mean", "heads"]


def _take(rest: Iterator[Value], name: str, shape: Shape) -> Value:
    """Return the next input, which must have the shape."""
    value = next(rest)
    if value.shape != shape:
        raise ShapeError(f"{OP}: {name} {list(value.shape)} must have the shape {list(shape)}")
    return value


def _projections(rest: Iterator[Value], widths: tuple[int, int, int], apart: bool) -> tuple[Value, ...]:
    """Return the weights of query, key and value."""
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
    """Let every row see the columns that were added."""
    if mask is None or not more:
        return mask
    kept = ((0, 0),) * (mask.ndim - 1)
    if mask.dtype.kind == "f":
        return pad(mask, widths=(*kept, (0, more)))
    return concat(mask, as_value(np.ones((*mask.shape[:-1], more), bool)), axis=-1)


@composite(
    numerics=Numerics(compute_float32=True, autocast="half"),
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
    dropout: float = 0.0,
    training: bool | None = None,
    masked_row_zero: bool = False,
) -> tuple[Value, ...]:
    """multi_head_attention in all forms of PyTorch's: the outputs [rows, steps, width] and, if asked for, the weights.

    query [rows, steps, width], key [rows, columns, kdim], value [rows, columns, vdim]. There follow in_proj_weight, or
    `apart` q_proj_weight, k_proj_weight and v_proj_weight; out_proj_weight; with `bias` in_proj_bias and out_proj_bias;
    with `bias_kv` bias_k and bias_v [1, 1, width], a further key and value; `masked` attn_mask, `padded`
    key_padding_mask, as of multi_head_attention; at last, if you like, a random key for `dropout`. `zero_attn` adds a
    key and value of zeros. Every step sees what is added. `weights` [rows, steps, columns] are the "mean" over the
    heads, or [rows, heads, steps, columns] those of all "heads".
    """
    check_dropout(OP, dropout)
    wanted = (3 if apart else 1) + 1 + 2 * bias + 2 * bias_kv + masked + padded
    _check_inputs(query, key, value, heads, len(inputs), wanted)
    rest = iter(inputs)
    rows, steps, width = query.shape
    projections = _projections(rest, (width, key.shape[2], value.shape[2]), apart)
    out_weight = _take(rest, "out_proj_weight", (width, width))
    biases: tuple[Value | None, ...] = (None,) * 3
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
    mask = joined_masks(OP, attn_mask, padding, shape, q, causal=causal)
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
