"""Convolutions with the arguments of PyTorch, written in the convolution primitives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from engine.core.attributes import Window
from engine.core.declarations import PRODUCT_COMPOSITION, CallForms
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import Op, composite, named
from engine.core.samples import Sample, sample
from engine.core.value import Value
from engine.ops.conv.columns import Ints, Pairs, kernel_extents, per_axis
from engine.ops.conv.conv_primitives import convolution, convolution_input
from engine.ops.shape.shape import pad, reshape, squeeze, unsqueeze

Padding = int | tuple[int, ...] | Literal["same", "valid"]


def _pairs(op: str, padding: Padding, kernel: Ints, stride: Ints, dilation: Ints) -> Pairs:
    """Return PyTorch's padding argument as [before, after] pairs; "same" puts the odd element after."""
    if padding == "same":
        if max(stride) > 1:
            raise AttributeValueError(f"{op}: padding 'same' needs stride 1, got {list(stride)}")
        return tuple(((span - 1) // 2, span // 2) for span in kernel_extents(kernel, dilation))
    widths = per_axis(f"{op}.padding", 0 if isinstance(padding, str) else padding, len(kernel), 0)
    return tuple((width, width) for width in widths)


def _batched(op: str, rank: int, x: Value, weight: Value) -> tuple[Value, bool]:
    """Add the batch axis if the input has none; return the input and whether the axis was added."""
    if x.ndim not in (rank + 1, rank + 2) or weight.ndim != rank + 2:
        raise ShapeError(
            f"{op} needs an input [N, C, *spatial] or [C, *spatial] with {rank} spatial axes and a weight with "
            f"{rank + 2} axes, got {list(x.shape)} and {list(weight.shape)}"
        )
    alone = x.ndim == rank + 1
    return (unsqueeze(x, axis=0) if alone else x), alone


def _finish(op: str, y: Value, bias: Value | None, alone: bool) -> Value:
    if bias is not None:
        if bias.shape != (y.shape[1],):
            raise ShapeError(f"{op}: the bias has shape {list(bias.shape)}, the output {y.shape[1]} channels")
        y = y + reshape(bias, shape=(*bias.shape, *(1,) * (y.ndim - 2)))
    return squeeze(y, axis=0) if alone else y


def _declare_conv(rank: int, shapes: str, samples: Sequence[Sample], notes: str = "") -> Op[Value]:
    op = f"conv{rank}d"

    def conv(
        x: Value,
        weight: Value,
        bias: Value | None = None,
        *,
        stride: Window = 1,
        padding: Padding = 0,
        dilation: Window = 1,
        groups: int = 1,
    ) -> Value:
        x, alone = _batched(op, rank, x, weight)
        strides = per_axis(f"{op}.stride", stride, rank, 1)
        dilations = per_axis(f"{op}.dilation", dilation, rank, 1)
        pairs = _pairs(op, padding, weight.shape[2:], strides, dilations)
        y = convolution(x, weight, stride=strides, padding=pairs, dilation=dilations, groups=groups)
        return _finish(op, y, bias, alone)

    named(conv, op, f"Convolution of x {shapes}, as PyTorch's {op}.{notes}")
    return composite(numerics=PRODUCT_COMPOSITION, samples=samples)(conv)


conv1d = _declare_conv(
    1,
    "[N, C, L] (or [C, L]) with weight [out, in / groups, k]",
    [
        sample((2, 2, 5), (3, 2, 3), (3,), padding=1),
        sample((4, 6), (2, 2, 3), stride=2, dilation=2, padding="valid", groups=2),
    ],
)
conv2d = _declare_conv(
    2,
    "[N, C, H, W] (or [C, H, W]) with weight [out, in / groups, kh, kw]",
    [
        sample((1, 1, 4, 4), (2, 1, 3, 3), (2,), padding=1),
        sample((2, 2, 3, 4), (2, 1, 2, 2), padding="same", groups=2),
        sample((1, 2, 3, 3), (2, 2, 1, 1), stride=(2, 1)),
    ],
    """

    `padding` is a number, one per axis, "valid" (none) or "same" (the output has the extents of the input).
    """,
)
conv3d = _declare_conv(
    3,
    "[N, C, D, H, W] with weight [out, in / groups, kd, kh, kw]",
    [sample((1, 2, 2, 3, 3), (2, 2, 2, 2, 2), (2,), padding=(0, 1, 0), stride=(1, 2, 1))],
)


def _declare_conv_transpose(rank: int, shapes: str, samples: Sequence[Sample]) -> Op[Value]:
    op = f"conv_transpose{rank}d"

    def conv_transpose(
        x: Value,
        weight: Value,
        bias: Value | None = None,
        *,
        stride: Window = 1,
        padding: Window = 0,
        output_padding: Window = 0,
        dilation: Window = 1,
        groups: int = 1,
    ) -> Value:
        x, alone = _batched(op, rank, x, weight)
        if x.shape[1] != weight.shape[0]:
            raise ShapeError(
                f"{op}: the input {list(x.shape)} has {x.shape[1]} channels, the weight {list(weight.shape)} "
                f"[in, out / groups, *kernel] takes {weight.shape[0]}"
            )
        strides = per_axis(f"{op}.stride", stride, rank, 1)
        dilations = per_axis(f"{op}.dilation", dilation, rank, 1)
        paddings = per_axis(f"{op}.padding", padding, rank, 0)
        extras = per_axis(f"{op}.output_padding", output_padding, rank, 0)
        if any(extra >= max(s, d) for extra, s, d in zip(extras, strides, dilations, strict=True)):
            raise AttributeValueError(
                f"{op}: output_padding {list(extras)} must be smaller than stride {list(strides)} "
                f"or dilation {list(dilations)}"
            )
        # Output padding first cancels the padding at the end; no window reaches the remainder.
        pairs = tuple((p, p - min(extra, p)) for p, extra in zip(paddings, extras, strict=True))
        spans = kernel_extents(weight.shape[2:], dilations)
        extents = tuple(
            (e - 1) * s + span - low - high
            for e, s, span, (low, high) in zip(x.shape[2:], strides, spans, pairs, strict=True)
        )
        if min(extents) < 1:
            raise ShapeError(f"{op}: padding {list(paddings)} leaves an output of extents {list(extents)}; use less")
        shape = (x.shape[0], weight.shape[1] * groups, *extents)
        y = convolution_input(x, weight, shape=shape, stride=strides, padding=pairs, dilation=dilations, groups=groups)
        rest = tuple((0, max(extra - p, 0)) for p, extra in zip(paddings, extras, strict=True))
        if any(after for _, after in rest):
            y = pad(y, widths=((0, 0), (0, 0), *rest))
        return _finish(op, y, bias, alone)

    named(conv_transpose, op, f"Transposed convolution of x {shapes}, as in PyTorch.")
    call = CallForms(by_place=("stride", "padding", "output_padding", "groups", "dilation"))
    return composite(call=call, numerics=PRODUCT_COMPOSITION, samples=samples)(conv_transpose)


conv_transpose1d = _declare_conv_transpose(
    1,
    "[N, C, L] with weight [in, out / groups, k]",
    [sample((2, 2, 3), (2, 1, 3), (2,), stride=2, padding=1, output_padding=1, groups=2)],
)
conv_transpose2d = _declare_conv_transpose(
    2,
    "[N, C, H, W] with weight [in, out / groups, kh, kw]",
    [
        sample((1, 2, 2, 3), (2, 2, 2, 2), (2,), stride=(2, 1)),
        sample((2, 2, 2), (2, 1, 2, 2), stride=2, output_padding=1),
    ],
)
conv_transpose3d = _declare_conv_transpose(
    3,
    "[N, C, D, H, W] with weight [in, out / groups, kd, kh, kw]",
    [sample((1, 1, 2, 2, 2), (1, 2, 2, 1, 2), (2,), stride=(1, 2, 1), padding=(1, 0, 0))],
)
