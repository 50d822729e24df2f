"""Normalization layers: over the batch, over channels, groups of channels, or trailing axes."""

from __future__ import annotations

from typing import Annotated

from engine.core.attributes import Length, NonNegative, Range
from engine.core.errors import ShapeError
from engine.core.value import Shape, Value
from engine.nn.layers.table import Scope, layer, layer_of_op


def _scale_and_shift(scope: Scope, shape: Shape) -> tuple[Value, Value]:
    return scope.parameter("weight", shape, kind="ones"), scope.parameter("bias", shape, kind="zeros")


def _statistics(scope: Scope, shape: Shape) -> tuple[Value, Value, Value]:
    """Declare the running statistics and the count of the batches they come from."""
    return (
        scope.buffer("running_mean", shape),
        scope.buffer("running_var", shape, kind="ones"),
        scope.buffer("num_batches_tracked", (), dtype="int64"),
    )


def _ones_and_zeros(scope: Scope, x: Value) -> tuple[Value, Value]:
    """Stand for the weight and bias of a layer that has none."""
    one, zero = (scope.apply(kind, name=kind, shape=(x.shape[1],), dtype=x.dtype.name) for kind in ("ones", "zeros"))
    return one, zero


@layer
def batch_norm(
    scope: Scope,
    x: Value,
    *,
    eps: NonNegative = 1e-5,
    momentum: Annotated[float | None, Range(0, 1)] = 0.1,
    affine: bool = True,
    track_running_stats: bool = True,
) -> Value:
    """Normalise each channel (axis 1) over the batch, then scale and shift; keeps running statistics for evaluation.

    They move by `momentum` towards those of each batch; null makes them the means over all batches so far. Without
    `track_running_stats` evaluation too takes the statistics of the batch. See torch.nn.BatchNorm1d to 3d.
    """
    if x.ndim < 2:
        raise ShapeError(f"batch_norm needs an input [batch, channels, ...], got shape {list(x.shape)}")
    channels = (x.shape[1],)
    if not track_running_stats:
        return scope.apply("batch_normalize", x, *(_scale_and_shift(scope, channels) if affine else ()), eps=eps)
    scaled = _scale_and_shift(scope, channels) if affine else _ones_and_zeros(scope, x)
    return scope.apply("tracked_batch_norm", x, *scaled, *_statistics(scope, channels), eps=eps, momentum=momentum)


@layer
def instance_norm(
    scope: Scope,
    x: Value,
    *,
    eps: NonNegative = 1e-5,
    momentum: Annotated[float | None, Range(0, 1)] = 0.1,
    affine: bool = False,
    track_running_stats: bool = False,
) -> Value:
    """Normalise each channel (axis 1) of each example over its spatial axes, then, if `affine`, scale and shift.

    With `track_running_stats` running statistics are kept and serve in evaluation. As in PyTorch the count of batches
    stays 0 and `momentum` null moves nothing. See torch.nn.InstanceNorm1d to 3d.
    """
    if x.ndim < 3:
        raise ShapeError(f"instance_norm needs an input [batch, channels, spatial ...], got shape {list(x.shape)}")
    channels = (x.shape[1],)
    if not track_running_stats:
        return scope.apply("instance_norm", x, *(_scale_and_shift(scope, channels) if affine else ()), eps=eps)
    scaled = _scale_and_shift(scope, channels) if affine else _ones_and_zeros(scope, x)
    mean, var, _ = _statistics(scope, channels)
    momentum = 0.0 if momentum is None else momentum
    return scope.apply("tracked_instance_norm", x, *scaled, mean, var, eps=eps, momentum=momentum)


@layer
def group_norm(scope: Scope, x: Value, *, groups: Length, eps: NonNegative = 1e-5, affine: bool = True) -> Value:
    """Normalise each of `groups` groups of channels (axis 1) of each example, then scale and shift each channel.

    See torch.nn.GroupNorm.
    """
    if x.ndim < 2 or x.shape[1] % groups:
        raise ShapeError(
            f"group_norm: groups {groups} must divide the channels of [batch, channels, ...] {list(x.shape)}"
        )
    scaled = _scale_and_shift(scope, (x.shape[1],)) if affine else ()
    return scope.apply("group_norm", x, *scaled, groups=groups, eps=eps)


def _trailing(kind: str, x: Value, axes: int) -> Shape:
    if axes > x.ndim:
        raise ShapeError(f"{kind}: axes {axes} must be at most {x.ndim}, the axes of the input")
    return x.shape[x.ndim - axes :]


@layer
def layer_norm(
    scope: Scope, x: Value, *, axes: Length = 1, eps: NonNegative = 1e-5, affine: bool = True, bias: bool = True
) -> Value:
    """Normalise over the last `axes` axes, then scale and, with `bias`, shift; `affine` false does neither.

    See torch.nn.LayerNorm.
    """
    shape = _trailing("layer_norm", x, axes)
    scaled = [scope.parameter("weight", shape, kind="ones")] if affine else []
    if affine and bias:
        scaled.append(scope.parameter("bias", shape, kind="zeros"))
    return scope.apply("layer_norm", x, *scaled, axes=axes, eps=eps)


@layer
def rms_norm(
    scope: Scope, x: Value, *, axes: Length = 1, eps: Annotated[float | None, Range(0)] = None, affine: bool = True
) -> Value:
    """Divide by the root of the mean square over the last `axes` axes, then scale (Zhang and Sennrich 2019).

    `eps` left out is that of the dtype. See torch.nn.RMSNorm.
    """
    shape = _trailing("rms_norm", x, axes)
    scaled = [scope.parameter("weight", shape, kind="ones")] if affine else []
    return scope.apply("rms_norm", x, *scaled, axes=axes, eps=eps)


layer_of_op("local_response_norm")
layer_of_op("normalize")
