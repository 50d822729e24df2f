"""Normalisation of images: over groups of channels, over each channel of each image, over neighbouring channels."""

from __future__ import annotations

import math

from engine.core.declarations import CallForms, Documentation, Memory, Numerics
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import composite
from engine.core.samples import normal, positive, sample
from engine.core.shape_rules import require_float
from engine.core.value import Value
from engine.ops.conv.pooling import avg_pool
from engine.ops.elementwise.elementwise import power, square
from engine.ops.normalization.channel_norm import batch_normalize
from engine.ops.normalization.normalization import standardize
from engine.ops.reduce.reduce import mean, var
from engine.ops.shape.shape import pad, reshape


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
    numerics=Numerics(compute_float32=True, autocast="float32"),
    samples=[
        sample((2, 4, 3), positive(4), (4,), groups=2),
        sample((1, 4, 2, 2), groups=1),
        sample((2, 2), positive(2), groups=1, eps=1e-3),
    ],
)
def group_norm(
    x: Value, weight: Value | None = None, bias: Value | None = None, *, groups: int, eps: float = 1e-5
) -> Value:
    """x [N, C, *spatial] standardized over each of `groups` groups of channels of each image, times weight plus bias.

    Wu & He 2018. The variance is the biased one; weight and bias hold one number a channel.
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
    numerics=Numerics(compute_float32=True, autocast="float32"),
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
    eps: float = 1e-5,
) -> Value:
    """x [N, C, *spatial] standardized over the spatial axes of each channel of each image, times weight plus bias.

    Ulyanov et al. 2016. The variance is the biased one; weight and bias hold one number a channel. Without
    `use_input_stats` the running statistics, one number a channel, take the place of mean and variance.
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
    numerics=Numerics(compute_float32=True, autocast="float32"),
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
    momentum: float = 0.1,
    eps: float = 1e-5,
    training: bool | None = None,
) -> tuple[Value, Value, Value]:
    """instance_norm of x and the new running statistics, which take the place of mean and variance out of training.

    In training the running ones move by `momentum` towards the means, over the images, of mean and unbiased variance,
    as in PyTorch.
    """
    if not 0 <= momentum <= 1:
        raise AttributeValueError(f"tracked_instance_norm: momentum {momentum} must be in 0..1")
    if not training:
        y = instance_norm(x, weight, bias, running_mean, running_var, use_input_stats=False, eps=eps)
        return y, running_mean, running_var
    y = instance_norm(x, weight, bias, eps=eps)
    axes = tuple(range(2, x.ndim))
    new_mean = running_mean * (1 - momentum) + mean(x, axis=(0, *axes)) * momentum
    new_var = running_var * (1 - momentum) + mean(var(x, axis=axes), axis=0) * momentum
    return y, new_mean, new_var


@composite(
    numerics=Numerics(compute_float32=True, autocast="float32"),
    samples=[sample((2, 4, 3), size=3), sample((1, 3, 2, 2), size=2, alpha=0.5, beta=0.5, k=2.0)],
)
def local_response_norm(x: Value, *, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Value:
    """x / (k + alpha mean of x² over `size` neighbouring channels)^beta for x [N, C, *spatial]; beyond the ends is 0.

    Krizhevsky et al. 2012, with the mean of PyTorch.
    """
    require_float("local_response_norm", x)
    if size < 1:
        raise AttributeValueError(f"local_response_norm: size {size} must be at least 1")
    if x.ndim < 3:
        raise ShapeError(f"local_response_norm needs an input [N, C, *spatial], got {list(x.shape)}")
    spatial = math.prod(x.shape[2:])
    squares = reshape(square(x), shape=(x.shape[0], 1, x.shape[1], spatial))
    before, after = (min(width, x.shape[1]) for width in (size // 2, (size - 1) // 2))  # further off is only padding
    padded = pad(squares, widths=((0, 0), (0, 0), (before, after), (0, 0)))
    reached = before + 1 + after
    means = reshape(avg_pool(padded, kernel=(reached, 1), stride=(1, 1), padding=(0, 0)), shape=x.shape)
    return x / power(means * (alpha * reached / size) + k, beta)
