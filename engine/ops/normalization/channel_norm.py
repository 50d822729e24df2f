"""Normalization by channel: batch, group and instance normalization, local response, and their running statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from engine.core.attributes import Length, NonNegative, Share
from engine.core.batching import Call, Outputs, join_channels, part_channels
from engine.core.declarations import AUTOCAST_FLOAT32, PRECISE_COMPOSITION, CallForms, Documentation, Memory
from engine.core.dtypes import is_float
from engine.core.errors import DTypeError, ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import integers, normal, positive, sample
from engine.core.shape_rules import require_float, require_integer, require_rank
from engine.core.sharding_rules import batch_axes
from engine.core.value import Array, Cotangents, Spec, Value
from engine.ops.conv.pooling import avg_pool
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.elementwise import power, rsqrt, square
from engine.ops.normalization.batch_norm_gradient import batch_norm_backward, channel_axes, per_channel
from engine.ops.normalization.normalization import standardize, statistics_dtype
from engine.ops.reduce.reduce import count, dot_over, mean, sum, sum_over, var
from engine.ops.shape.creation import ones, zeros
from engine.ops.shape.shape import broadcast_to, pad, reshape


def _batch_norm(
    x: Value,
    weight: Value,
    bias: Value,
    running_mean: Value,
    running_var: Value,
    *,
    momentum: float,
    eps: float,
    training: bool,
) -> tuple[Spec, Spec, Spec]:
    require_rank("batch_norm", "an input", x, 2, 3, 4, 5)
    channels = x.shape[1]
    given = {"weight": weight, "bias": bias, "running_mean": running_mean, "running_var": running_var}
    for name, value in given.items():
        if value.shape != (channels,):
            raise ShapeError(
                f"batch_norm: {name} has shape {list(value.shape)}, the input {list(x.shape)} has {channels} channels "
                f"on axis 1: it needs shape [{channels}]"
            )
    if not all(is_float(value.dtype) for value in (x, *given.values())):
        raise DTypeError("batch_norm needs floating inputs; cast them to float32")
    if training and count(x.shape, channel_axes(x.ndim)) <= 1:
        raise ShapeError(f"expected more than 1 value per channel when training, got input size {list(x.shape)}")
    return x.spec, running_mean.spec, running_var.spec


BATCH = (normal(3), normal(3), normal(3), positive(3))


@primitive(
    shape_rule=_batch_norm,
    multi_output=True,
    call=CallForms(by_place=()),
    numerics=AUTOCAST_FLOAT32,
    memory=Memory(state_updates={3: 1, 4: 2}),
    documentation=Documentation(outputs=("y", "running_mean", "running_var")),
    sharding=batch_axes("10000", "100"),
    samples=[
        sample((4, 3), *BATCH, training=True),
        sample((2, 3, 2, 2), *BATCH, training=True, momentum=0.3),
        sample((4, 3), *BATCH, training=False),
        sample((2, 3, 2), *BATCH, training=False, eps=1e-2),
    ],
)
def batch_norm(
    x: Array,
    weight: Array,
    bias: Array,
    running_mean: Array,
    running_var: Array,
    *,
    momentum: Share = 0.1,
    eps: NonNegative = 1e-5,
    training: bool | None = None,
    out: tuple[Array, Array, Array] | None = None,
) -> tuple[Array, Array, Array]:
    """(x - mean) / sqrt(variance + eps) * weight + bias for each channel (axis 1 of x), and the new running statistics.

    In training, mean and biased variance are those of the batch, and the running ones are updated with `momentum`
    (with the unbiased variance, as in PyTorch); otherwise the running statistics are used unchanged (Ioffe & Szegedy
    2015).
    """
    y, new_mean, new_var = out or (np.empty(x.shape, x.dtype), np.empty_like(running_mean), np.empty_like(running_var))
    weight, bias, running_mean, running_var = (
        a.astype(statistics_dtype(a.dtype), copy=False) for a in (weight, bias, running_mean, running_var)
    )
    wide = x.astype(statistics_dtype(x.dtype), copy=False)
    target = y if y.dtype == wide.dtype else np.empty(x.shape, wide.dtype)
    kept = (1, x.shape[1], *(1,) * (x.ndim - 2))
    if training:
        axes, total = channel_axes(x.ndim), x.size // x.shape[1] if x.size else 0
        batch_mean = sum_over(wide, axes) / total
        np.subtract(wide, batch_mean, out=target)
        squares = dot_over(target, target, axes)
        factor = weight.reshape(kept) / np.sqrt(squares / total + eps)
        np.multiply(target, factor.astype(wide.dtype, copy=False), out=target)
        target += bias.reshape(kept)
        new_mean[...] = (1 - momentum) * running_mean + momentum * batch_mean.reshape(-1)
        new_var[...] = (1 - momentum) * running_var + momentum * (squares.reshape(-1) / (total - 1))
    else:
        factor = weight / np.sqrt(running_var + eps)
        np.multiply(wide, factor.reshape(kept).astype(wide.dtype, copy=False), out=target)
        target += (bias - running_mean * factor).reshape(kept)
        new_mean[...], new_var[...] = running_mean, running_var
    if target is not y:
        y[...] = target
    return y, new_mean, new_var


@batch_norm.batch
def _(call: Call) -> Outputs:
    channels = (call.join(index) for index in range(1, len(call.inputs)))
    y, *statistics = call.made(join_channels(call.spread(0)), *channels)
    return part_channels(call.size, y), *(call.split(value) for value in statistics)


@batch_norm.vjp
def _(
    g: Cotangents,
    y: tuple[Value, ...],
    x: Value,
    weight: Value,
    bias: Value,
    running_mean: Value,
    running_var: Value,
    *,
    momentum: float,
    eps: float,
    training: bool,
) -> object:
    if training:
        return _batch_pull(g, x, weight, momentum, eps)
    return _running_pull(g, x, weight, running_mean, running_var, eps)


def _batch_pull(g: Cotangents, x: Value, weight: Value, momentum: float, eps: float) -> object:
    gy, g_mean, g_var = g
    by_output = (None, None, None) if gy is None else batch_norm_backward(gy, x, weight, eps=eps)
    return (
        lambda: _added([by_output[0], *_by_statistics(g_mean, g_var, x, momentum)]),
        by_output[1],
        by_output[2],
        lambda: None if g_mean is None else g_mean * (1 - momentum),
        lambda: None if g_var is None else g_var * (1 - momentum),
    )


def _by_statistics(g_mean: Value | None, g_var: Value | None, x: Value, momentum: float) -> list[Value]:
    """Return the parts of the gradient by x that come from the new running statistics."""
    parts: list[Value] = []
    axes = channel_axes(x.ndim)
    total = count(x.shape, axes)
    if g_mean is not None:
        parts.append(broadcast_to(per_channel(g_mean * (momentum / total), x.ndim), shape=x.shape))
    if g_var is not None:
        centred = x - mean(x, axis=axes, keepdims=True)
        parts.append(centred * per_channel(g_var * (2 * momentum / (total - 1)), x.ndim))
    return parts


def _running_pull(
    g: Cotangents, x: Value, weight: Value, running_mean: Value, running_var: Value, eps: float
) -> object:
    axes = channel_axes(x.ndim)
    gy, (_, g_mean, g_var) = g[0], g
    if gy is None:
        return None, None, None, g_mean, g_var
    factor = rsqrt(running_var + eps)

    def weights() -> Value:
        standard = (x - per_channel(running_mean, x.ndim)) * per_channel(factor, x.ndim)
        return sum(gy * standard, axis=axes)

    return (
        lambda: gy * per_channel(weight * factor, x.ndim),
        weights,
        lambda: sum(gy, axis=axes),
        lambda: _added([-(sum(gy, axis=axes) * weight * factor), g_mean]),
        lambda: _added([weights() * weight * (factor * factor) * -0.5, g_var]),
    )


def _added(parts: Sequence[Value | None]) -> Value | None:
    total: Value | None = None
    for part in parts:
        if part is not None:
            total = part if total is None else total + part
    return total


@composite(
    numerics=PRECISE_COMPOSITION,
    samples=[
        sample((4, 3), training=True),
        sample((2, 3, 2), normal(3), normal(3), training=True),
        sample((4, 3), *BATCH, training=False, eps=1e-2),
    ],
)
def batch_normalize(
    x: Value,
    weight: Value | None = None,
    bias: Value | None = None,
    running_mean: Value | None = None,
    running_var: Value | None = None,
    *,
    eps: NonNegative = 1e-5,
    training: bool | None = None,
) -> Value:
    """(x - mean) / sqrt(variance + eps) * weight + bias for each channel (axis 1 of x), without new statistics.

    Weight, bias and running statistics are optional, as in PyTorch's functional batch_norm: by default 1, 0, and the
    statistics of the batch outside of training too. See batch_norm, which updates the running ones.
    """
    require_rank("batch_normalize", "an input", x, 2, 3, 4, 5)
    if not training and (running_mean is None) != (running_var is None):
        raise ShapeError("batch_normalize: running mean and variance go together; give both or neither")
    none, all_ = zeros(shape=(x.shape[1],), dtype=x.dtype), ones(shape=(x.shape[1],), dtype=x.dtype)
    return batch_norm(
        x,
        all_ if weight is None else weight,
        none if bias is None else bias,
        none if running_mean is None else running_mean,
        all_ if running_var is None else running_var,
        eps=eps,
        training=training or running_mean is None,
    )[0]


def _as_wide(x: Value, *scaled: Value) -> tuple[Value, ...]:
    """Return what scales and shifts x in a dtype that is no narrower: constants of a graph stay float32 in float64."""
    return tuple(cast(v, dtype=x.dtype) if v.dtype.itemsize < x.dtype.itemsize else v for v in scaled)


@composite(
    numerics=PRECISE_COMPOSITION,
    memory=Memory(state_updates={3: 1, 4: 2, 5: 3}),
    documentation=Documentation(outputs=("y", "running_mean", "running_var", "num_batches_tracked")),
    samples=[
        sample((4, 3), *BATCH, integers(0, 5), training=True),
        sample((2, 3, 2), *BATCH, integers(1, 5), momentum=None, training=True),
        sample((4, 3), *BATCH, integers(1, 5), training=False),
    ],
)
def tracked_batch_norm(
    x: Value,
    weight: Value,
    bias: Value,
    running_mean: Value,
    running_var: Value,
    num_batches_tracked: Value,
    *,
    momentum: float | None = 0.1,
    eps: NonNegative = 1e-5,
    training: bool | None = None,
) -> tuple[Value, Value, Value, Value]:
    """batch_norm of x that counts the batches of training; with `momentum` null the statistics are cumulative means.

    The n-th batch then has the weight 1 / n, as in PyTorch.
    """
    require_integer("tracked_batch_norm", "the count of batches", num_batches_tracked)
    given = (x, *_as_wide(x, weight, bias), running_mean, running_var)
    if not training:
        y, *kept = batch_norm(*given, eps=eps, training=False)
        return y, kept[0], kept[1], num_batches_tracked
    counted = num_batches_tracked + 1
    if momentum is not None:
        y, new_mean, new_var = batch_norm(*given, momentum=momentum, eps=eps, training=True)
        return y, new_mean, new_var, counted
    y, batch_mean, batch_var = batch_norm(*given, momentum=1.0, eps=eps, training=True)
    share = 1.0 / cast(counted, dtype=running_mean.dtype)
    new_mean = running_mean + (batch_mean - running_mean) * share
    return y, new_mean, running_var + (batch_var - running_var) * share, counted


def _scaled(op: str, y: Value, weight: Value | None, bias: Value | None) -> Value:
    """Multiply and shift the channels, axis 1."""
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and value.shape != (y.shape[1],):
            raise ShapeError(
                f"{op}: {name} has shape {list(value.shape)}, the input {list(y.shape)} has {y.shape[1]} channels"
            )
    kept = (y.shape[1], *(1,) * (y.ndim - 2))
    y = y if weight is None else y * reshape(weight, shape=kept)
    return y if bias is None else y + reshape(bias, shape=kept)


@composite(
    call=CallForms(orders=(("x", "groups", "weight", "bias", "eps"),)),
    numerics=PRECISE_COMPOSITION,
    samples=[
        sample((2, 4, 3), positive(4), (4,), groups=2),
        sample((1, 4, 2, 2), groups=1),
        sample((2, 2), positive(2), groups=1, eps=1e-3),
    ],
)
def group_norm(
    x: Value, weight: Value | None = None, bias: Value | None = None, *, groups: Length, eps: NonNegative = 1e-5
) -> Value:
    """x [N, C, *spatial] standardized over each of `groups` groups of channels of each image, times weight plus bias.

    Wu & He 2018. The variance is the biased one; weight and bias hold one number per channel.
    """
    require_float("group_norm", x)
    if x.ndim < 2 or groups < 1 or x.shape[1] % groups:
        raise ShapeError(
            f"group_norm: groups {groups} must divide the channels of the input [N, C, *spatial] {list(x.shape)}"
        )
    size = math.prod(x.shape[1:]) // groups
    if x.shape[0] * size == 1:
        raise ShapeError(
            f"group_norm: expected more than 1 value per channel when training, got input size {list(x.shape)}"
        )
    y = standardize(reshape(x, shape=(x.shape[0], groups, size)), axis=-1, eps=eps)[0]
    return _scaled("group_norm", reshape(y, shape=x.shape), weight, bias)


@composite(
    call=CallForms(by_place=()),
    numerics=PRECISE_COMPOSITION,
    samples=[
        sample((2, 3, 4), positive(3), (3,)),
        sample((1, 2, 2, 2)),
        sample((2, 3, 4), positive(3), (3,), (3,), positive(3), use_input_stats=False),
    ],
)
def instance_norm(
    x: Value,
    weight: Value | None = None,
    bias: Value | None = None,
    running_mean: Value | None = None,
    running_var: Value | None = None,
    *,
    use_input_stats: bool = True,
    eps: NonNegative = 1e-5,
) -> Value:
    """x [N, C, *spatial] standardized over the spatial axes of each channel of each image, times weight plus bias.

    Ulyanov et al. 2016. The variance is the biased one; weight and bias hold one number per channel. Without
    `use_input_stats` the running statistics, one number per channel, replace mean and variance.
    """
    require_float("instance_norm", x)
    if x.ndim < 3 or math.prod(x.shape[2:]) <= 1:
        raise ShapeError(f"instance_norm: expected more than 1 spatial element, got input size {list(x.shape)}")
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise ShapeError("instance_norm: without use_input_stats it needs a running mean and variance")
        return batch_normalize(x, weight, bias, running_mean, running_var, eps=eps, training=False)
    return _scaled("instance_norm", standardize(x, axis=tuple(range(2, x.ndim)), eps=eps)[0], weight, bias)


STATISTICS = (positive(3), normal(3), normal(3), positive(3))


@composite(
    numerics=PRECISE_COMPOSITION,
    memory=Memory(state_updates={3: 1, 4: 2}),
    documentation=Documentation(outputs=("y", "running_mean", "running_var")),
    samples=[
        sample((2, 3, 4), *STATISTICS, training=True),
        sample((1, 3, 2, 2), *STATISTICS, training=False, eps=1e-2),
    ],
)
def tracked_instance_norm(
    x: Value,
    weight: Value,
    bias: Value,
    running_mean: Value,
    running_var: Value,
    *,
    momentum: Share = 0.1,
    eps: NonNegative = 1e-5,
    training: bool | None = None,
) -> tuple[Value, Value, Value]:
    """instance_norm of x and the new running statistics, which replace mean and variance outside of training.

    In training the running ones are updated with `momentum` and the means, over the images, of mean and unbiased
    variance, as in PyTorch.
    """
    if not training:
        y = instance_norm(x, weight, bias, running_mean, running_var, use_input_stats=False, eps=eps)
        return y, running_mean, running_var
    y = instance_norm(x, weight, bias, eps=eps)
    axes = tuple(range(2, x.ndim))
    new_mean = running_mean * (1 - momentum) + mean(x, axis=(0, *axes)) * momentum
    new_var = running_var * (1 - momentum) + mean(var(x, axis=axes), axis=0) * momentum
    return y, new_mean, new_var


@composite(
    numerics=PRECISE_COMPOSITION,
    samples=[sample((2, 4, 3), size=3), sample((1, 3, 2, 2), size=2, alpha=0.5, beta=0.5, k=2.0)],
)
def local_response_norm(x: Value, *, size: Length, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Value:
    """x / (k + alpha mean of x² over `size` neighbouring channels)^beta for x [N, C, *spatial], padded with zeros.

    Krizhevsky et al. 2012, with the mean of PyTorch.
    """
    require_float("local_response_norm", x)
    if x.ndim < 3:
        raise ShapeError(f"local_response_norm needs an input [N, C, *spatial], got {list(x.shape)}")
    spatial = math.prod(x.shape[2:])
    squares = reshape(square(x), shape=(x.shape[0], 1, x.shape[1], spatial))
    before, after = (min(width, x.shape[1]) for width in (size // 2, (size - 1) // 2))  # beyond is only padding
    padded = pad(squares, widths=((0, 0), (0, 0), (before, after), (0, 0)))
    reached = before + 1 + after
    means = reshape(avg_pool(padded, kernel=(reached, 1), stride=(1, 1), padding=(0, 0)), shape=x.shape)
    return x / power(means * (alpha * reached / size) + k, beta)
