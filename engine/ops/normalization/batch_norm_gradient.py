"""The gradient of batch normalization by the statistics of the batch, as one op."""

from __future__ import annotations

import numpy as np

from engine.core.attributes import NonNegative
from engine.core.batching import Call, Outputs, join_channels, part_channels
from engine.core.declarations import AUTOCAST_FLOAT32, Documentation
from engine.core.errors import ShapeError
from engine.core.registry import primitive
from engine.core.samples import normal, sample
from engine.core.shape_rules import require_float, require_rank
from engine.core.sharding_rules import batch_axes
from engine.core.value import Array, Spec, Value
from engine.ops.normalization.normalization import standardize, standardize_backward, statistics_dtype
from engine.ops.reduce.reduce import count, dot_over, sum, sum_over
from engine.ops.shape.shape import reshape


def channel_axes(ndim: int) -> tuple[int, ...]:
    """Return all axes but the channels', axis 1."""
    return (0, *range(2, ndim))


def per_channel(value: Value, ndim: int) -> Value:
    """Return [C] as [1, C, 1, ...]."""
    return reshape(value, shape=(1, value.shape[0], *(1,) * (ndim - 2)))


def _batch_norm_backward(g: Value, x: Value, weight: Value, *, eps: float) -> tuple[Spec, Spec, Spec]:
    require_float("batch_norm_backward", g, x)
    require_float("batch_norm_backward", weight)
    require_rank("batch_norm_backward", "an input", x, 2, 3, 4, 5)
    if g.shape != x.shape or weight.shape != (x.shape[1],):
        raise ShapeError(
            f"batch_norm_backward: g {list(g.shape)} and weight {list(weight.shape)} must have shapes "
            f"{list(x.shape)} and [{x.shape[1]}]"
        )
    return x.spec, weight.spec, weight.spec


@primitive(
    shape_rule=_batch_norm_backward,
    multi_output=True,
    numerics=AUTOCAST_FLOAT32,
    documentation=Documentation(outputs=("gx", "g_weight", "g_bias")),
    sharding=batch_axes("110", "100"),
    samples=[sample((4, 3), (4, 3), normal(3)), sample((2, 3, 2, 2), (2, 3, 2, 2), normal(3), eps=1e-2)],
)
def batch_norm_backward(
    g: Array, x: Array, weight: Array, *, eps: NonNegative = 1e-5, out: tuple[Array, Array, Array] | None = None
) -> tuple[Array, Array, Array]:
    """The gradients of batch_norm in training by x, weight and bias, given that by its first output.

    With the standardized y = (x - mean) f, f = 1 / sqrt(variance + eps): those of weight and bias are the sums of g y
    and of g for each channel, that of x is weight f (g - mean(g) - y mean(g y)).
    """
    gx, g_weight, g_bias = out or (np.empty(x.shape, x.dtype), np.empty_like(weight), np.empty_like(weight))
    axes = channel_axes(x.ndim)
    total = max(count(x.shape, axes), 1)
    wide, y, scale = (a.astype(statistics_dtype(a.dtype), copy=False) for a in (g, x, weight))
    y = y - sum_over(y, axes) / total
    factor = np.divide(1, np.sqrt(dot_over(y, y, axes) / total + eps), dtype=y.dtype)
    y *= factor
    products, terms = dot_over(wide, y, axes), sum_over(wide, axes)
    y *= products / total
    y += terms / total
    np.subtract(wide, y, out=y)
    gx[...] = np.multiply(y, factor * scale.reshape(factor.shape), out=y)
    g_weight[...], g_bias[...] = products.reshape(-1), terms.reshape(-1)
    return gx, g_weight, g_bias


@batch_norm_backward.batch
def _(call: Call) -> Outputs:
    gx, *others = call.made(join_channels(call.spread(0)), join_channels(call.spread(1)), call.join(2))
    return part_channels(call.size, gx), *(call.split(value) for value in others)


@batch_norm_backward.vjp_through
def _(g: Value, x: Value, weight: Value, *, eps: float) -> tuple[Value, Value, Value]:
    axes = channel_axes(x.ndim)
    standard, factor = standardize(x, axis=axes, eps=eps)
    gx = standardize_backward(g * per_channel(weight, x.ndim), standard, factor, axis=axes)
    return gx, sum(g * standard, axis=axes), sum(g, axis=axes)
