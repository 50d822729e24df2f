"""Convolutions and transposed convolutions over one to three spatial axes."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from engine.core.attributes import Extents, Length, Margins, Range, Window
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.value import Value
from engine.nn.layers.activation import Activation, activate
from engine.nn.layers.dense import affine_start
from engine.nn.layers.table import Layer, Scope, layer

Border = Literal["zeros", "reflect", "replicate", "circular"]


def per_axis(place: str, window: Window, rank: int) -> tuple[int, ...]:
    """Return one number for each spatial axis, given one for all or one per axis."""
    numbers = (window,) * rank if isinstance(window, int) else window
    if len(numbers) != rank:
        raise AttributeValueError(f"{place} {list(numbers)} must be one number, or {rank}: one a spatial axis")
    return numbers


def _check(kind: str, rank: int, x: Value, channels: int, groups: int) -> None:
    if x.ndim != rank + 2:
        raise ShapeError(f"{kind} needs an input [batch, channels, {rank} more], got shape {list(x.shape)}")
    if x.shape[1] % groups or channels % groups:
        raise ShapeError(f"{kind}: groups {groups} must divide the channels {x.shape[1]} and {channels}")


def _pad(
    scope: Scope,
    x: Value,
    windows: tuple[tuple[int, ...], tuple[int, ...]],
    padding: Window | Literal["same", "valid"],
    mode: Border,
) -> Value:
    """Pad x by `padding` in the given `mode`."""
    kernel, dilation = windows
    rank = len(kernel)
    if padding == "same":
        totals = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
        pairs = [(total // 2, total - total // 2) for total in totals]
    else:
        widths = (0,) * rank if padding == "valid" else per_axis(f"conv{rank}d.padding", padding, rank)
        pairs = [(width, width) for width in widths]
    return scope.apply("pad", x, name="padded", widths=((0, 0), (0, 0), *pairs), mode=mode)


def _convolution(rank: int) -> Layer:
    kind = f"conv{rank}d"

    def build(
        scope: Scope,
        x: Value,
        *,
        channels: Length,
        kernel: Extents,
        stride: Extents = 1,
        padding: Annotated[Window | Literal["same", "valid"], Range(0)] = 0,
        dilation: Extents = 1,
        groups: Length = 1,
        bias: bool = True,
        padding_mode: Border = "zeros",
        activation: Activation = "none",
    ) -> Value:
        _check(kind, rank, x, channels, groups)
        window = per_axis(f"{kind}.kernel", kernel, rank)
        shape = (channels, x.shape[1] // groups, *window)
        if padding_mode != "zeros":
            x = _pad(scope, x, (window, per_axis(f"{kind}.dilation", dilation, rank)), padding, padding_mode)
            padding = 0
        weight = scope.parameter("weight", shape, kind="kaiming_uniform", a=math.sqrt(5))
        start = affine_start(math.prod(shape[1:]))
        inputs = [x, weight] + ([scope.parameter("bias", (channels,), **start)] if bias else [])
        y = scope.apply(kind, *inputs, stride=stride, padding=padding, dilation=dilation, groups=groups)
        return activate(scope, y, activation)

    build.__name__ = kind
    build.__doc__ = (
        f"Convolution over {rank} spatial {'axis' if rank == 1 else 'axes'} of [batch, channels, ...], "
        f"with weight [channels, in / groups, kernel...]; starts as torch.nn.Conv{rank}d."
    )
    return layer(build)


def _declare_transposed(rank: int) -> Layer:
    kind = f"conv_transpose{rank}d"

    def build(
        scope: Scope,
        x: Value,
        *,
        channels: Length,
        kernel: Extents,
        stride: Extents = 1,
        padding: Margins = 0,
        output_padding: Margins = 0,
        dilation: Extents = 1,
        groups: Length = 1,
        bias: bool = True,
        activation: Activation = "none",
    ) -> Value:
        _check(kind, rank, x, channels, groups)
        shape = (x.shape[1], channels // groups, *per_axis(f"{kind}.kernel", kernel, rank))
        weight = scope.parameter("weight", shape, kind="kaiming_uniform", a=math.sqrt(5))
        start = affine_start(math.prod(shape[1:]))
        inputs = [x, weight] + ([scope.parameter("bias", (channels,), **start)] if bias else [])
        y = scope.apply(
            kind,
            *inputs,
            stride=stride,
            padding=padding,
            output_padding=output_padding,
            dilation=dilation,
            groups=groups,
        )
        return activate(scope, y, activation)

    build.__name__ = kind
    build.__doc__ = (
        f"Transposed convolution over {rank} spatial {'axis' if rank == 1 else 'axes'} of [batch, channels, ...], "
        f"with weight [in, channels / groups, kernel...]; starts as torch.nn.ConvTranspose{rank}d."
    )
    return layer(build)


for _rank in (1, 2, 3):
    _convolution(_rank)
for _rank in (1, 2, 3):
    _declare_transposed(_rank)
