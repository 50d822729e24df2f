"""Convolution over 1, 2 or 3 spatial axes: three primitives that are each other's derivatives.

Inputs are [N, C, *spatial], weights [out, in / groups, *kernel], padding [before, after] for each spatial axis.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine.core.batching import Call, Outputs, folded, join_channels, part_channels
from engine.core.declarations import Memory, Numerics, computing_itemsize, nbytes
from engine.core.dtypes import computing_dtype
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import primitive
from engine.core.samples import sample
from engine.core.shape_rules import require_float
from engine.core.sharding_rules import image_axes
from engine.core.value import Array, Shape, Spec, Value
from engine.ops.conv.columns import (
    COLUMN_BYTES,
    Ints,
    Pairs,
    column_bytes,
    correlate,
    count_positions,
    kernel_extents,
    mirror_weight,
    pad_spatial,
    padded_bytes,
    per_axis,
    scatter_columns,
    store,
    weight_products,
    widen,
)

Attrs = Mapping[str, Any]

STRIDED = {"stride": (2,), "padding": ((1, 1),), "dilation": (1,)}
GROUPED = {"stride": (1, 1), "padding": ((1, 0), (0, 0)), "dilation": (2, 1), "groups": 2}
OF_HALVES = Numerics(promotion="common", autocast="half", reads_bfloat16=True)
IN_HALVES = Numerics(promotion="common", autocast="half", reads_bfloat16=True, writes_bfloat16=True)
PLAIN = {"stride": (1,), "padding": ((0, 0),), "dilation": (1,)}


def _positions(op: str, x: Shape, weight: Shape, stride: Ints, padding: Pairs, dilation: Ints, groups: int) -> Shape:
    """Check shapes and attributes of a convolution and return the shape of its result."""
    rank = len(x) - 2
    if rank not in (1, 2, 3) or len(weight) != len(x):
        raise ShapeError(
            f"{op} needs an input [N, C, *spatial] with 1 to 3 spatial axes and a weight [out, in / groups, *kernel] "
            f"of as many, got {list(x)} and {list(weight)}"
        )
    for name, numbers in (("stride", stride), ("dilation", dilation)):
        if len(numbers) != rank:
            raise AttributeValueError(f"{op}.{name} must hold {rank} numbers, got {len(numbers)}")
        per_axis(f"{op}.{name}", numbers, rank, 1)
    if len(padding) != rank:
        raise AttributeValueError(f"{op}.padding must hold {rank} pairs [before, after], got {len(padding)}")
    if min(weight[2:]) < 1:
        raise ShapeError(f"{op}: every extent of the kernel must be at least 1, got {list(weight[2:])}")
    if not x[1] or not weight[0]:
        raise ShapeError(f"{op} needs at least one channel on both sides, got input {list(x)}, weight {list(weight)}")
    if groups < 1 or x[1] % groups or weight[0] % groups:
        raise ShapeError(f"{op}: groups {groups} must divide the {x[1]} input and the {weight[0]} output channels")
    if x[1] // groups != weight[1]:
        raise ShapeError(
            f"{op}: the weight {list(weight)} takes {weight[1]} channels a group, the input {list(x)} has "
            f"{x[1]} / {groups} groups = {x[1] // groups}"
        )
    return (x[0], weight[0], *count_positions(op, x[2:], weight[2:], stride, padding, dilation))


def _expect(op: str, g: Value, wanted: Shape) -> None:
    if g.shape != wanted:
        raise ShapeError(f"{op}: g has shape {list(g.shape)}, a convolution of these shapes gives {list(wanted)}")


def _convolution(x: Value, weight: Value, **window: Any) -> Spec:
    shape = _positions("convolution", x.shape, weight.shape, **window)
    return Spec(shape, require_float("convolution", x, weight))


def _convolution_flops(attrs: Attrs, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> int:
    return 2 * math.prod(outputs[0]) * math.prod(inputs[1][1:])


def _convolution_scratch(attrs: Attrs, inputs: Sequence[Spec], outputs: Sequence[Spec]) -> int:
    x, weight = inputs[:2]
    line = attrs["groups"] * math.prod(weight.shape[1:])
    columns = column_bytes(x.shape[0], line, outputs[0].shape[2:], computing_itemsize(x))
    return padded_bytes(x, attrs["padding"]) + columns


def _convolution_fans(attrs: Attrs, index: int, shape: Shape) -> tuple[int, int] | None:
    window = math.prod(shape[2:])
    return (shape[1] * window, shape[0] * window) if index == 1 else None


@primitive(
    shape_rule=_convolution,
    numerics=IN_HALVES,
    memory=Memory(scratch=_convolution_scratch, keeps_workspace=True),
    sharding=image_axes("0-", "0", ("-0", "1")),
    flops=_convolution_flops,
    fans=_convolution_fans,
    samples=[
        sample((2, 2, 5), (3, 2, 2), **STRIDED),
        sample((2, 2, 4, 3), (2, 1, 2, 2), **GROUPED),
        sample((1, 1, 2, 2, 3), (2, 1, 1, 2, 1), stride=(1, 1, 2), padding=((0, 0),) * 3, dilation=(1, 1, 1)),
    ],
)
def convolution(
    x: Array, weight: Array, *, stride: Ints, padding: Pairs, dilation: Ints, groups: int = 1, out: Array | None = None
) -> Array:
    """Cross-correlation of x [N, C, *spatial] with weight [out, in / groups, *kernel], in 1, 2 or 3 spatial axes.

    `padding` holds [before, after] for each spatial axis. float16 accumulates in float32.
    """
    if x.dtype == np.float16:
        wide = correlate(pad_spatial(widen(x), padding), widen(weight), stride, dilation, groups)
        return store(wide, x.dtype, out)
    return correlate(pad_spatial(x, padding), weight, stride, dilation, groups, out)


@convolution.batch
def _(call: Call) -> Outputs:
    if not call.batched[1]:
        return folded(0)(call)
    x, weight = join_channels(call.spread(0)), call.join(1)
    return part_channels(call.size, *call.made(x, weight, groups=call.size * call.attrs["groups"]))


@convolution.vjp
def _(g: Value, y: Value, x: Value, weight: Value, **window: Any) -> object:
    return (
        lambda: convolution_input(g, weight, shape=x.shape, **window),
        lambda: convolution_weight(x, g, kernel=weight.shape[2:], **window),
    )


def _convolution_input(g: Value, weight: Value, *, shape: Ints, **window: Any) -> Spec:
    op = "convolution_input"
    _expect(op, g, _positions(op, shape, weight.shape, **window))
    return Spec(shape, require_float(op, g, weight))


def _convolution_input_flops(attrs: Attrs, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> int:
    return 2 * math.prod(inputs[0]) * math.prod(inputs[1][1:])


def _convolution_input_scratch(attrs: Attrs, inputs: Sequence[Spec], outputs: Sequence[Spec]) -> int:
    (g, weight), (x,), groups = inputs[:2], outputs, attrs["groups"]
    itemsize, rows = computing_itemsize(g), weight.shape[0] // groups
    if max(attrs["stride"]) == 1 and (rows <= 2 * weight.shape[1] or math.prod(weight.shape[2:]) == 1):
        spans = [(k - 1) * d for k, d in zip(weight.shape[2:], attrs["dilation"], strict=True)]
        around = tuple((span - low, span - high) for span, (low, high) in zip(spans, attrs["padding"], strict=True))
        line = weight.shape[0] * math.prod(weight.shape[2:])
        converted = math.prod(x.shape) * computing_itemsize(x) if computing_dtype(x.dtype) != x.dtype else 0
        columns = column_bytes(g.shape[0], line, x.shape[2:], itemsize)
        return padded_bytes(g, around) + columns + converted + nbytes(weight)
    line = groups * math.prod(weight.shape[1:])
    extents = (extent + low + high for extent, (low, high) in zip(x.shape[2:], attrs["padding"], strict=True))
    spread: int = math.prod(x.shape[:2]) * math.prod(extents) * computing_itemsize(x)
    unpadded = math.prod(x.shape) * computing_itemsize(x) if any(map(any, attrs["padding"])) else 0
    return spread + max(unpadded, 2 * column_bytes(g.shape[0], line, g.shape[2:], itemsize))


def _convolution_input_fans(attrs: Attrs, index: int, shape: Shape) -> tuple[int, int] | None:
    window = math.prod(shape[2:])
    return (shape[0] // int(attrs["groups"]) * window, shape[1] * window) if index == 1 else None


@primitive(
    shape_rule=_convolution_input,
    numerics=IN_HALVES,
    memory=Memory(scratch=_convolution_input_scratch, keeps_workspace=True),
    sharding=image_axes("0-", "0", ("-1", "1")),
    flops=_convolution_input_flops,
    fans=_convolution_input_fans,
    samples=[
        sample((2, 3, 3), (3, 2, 2), shape=(2, 2, 5), **STRIDED),
        sample((1, 2, 3, 2), (2, 1, 2, 2), shape=(1, 2, 4, 3), **GROUPED),
        sample((1, 4, 2), (4, 1, 2), shape=(1, 1, 3), **PLAIN),
    ],
)
def convolution_input(
    g: Array,
    weight: Array,
    *,
    shape: Ints,
    stride: Ints,
    padding: Pairs,
    dilation: Ints,
    groups: int = 1,
    out: Array | None = None,
) -> Array:
    """The cotangent of the input, of `shape`, of a convolution: the transpose of `convolution` in x."""
    wide, kernel = widen(g), widen(weight)
    channels = weight.shape[0] // groups, weight.shape[1]
    if max(stride) == 1 and (channels[0] <= 2 * channels[1] or weight[0, 0].size == 1):
        # Windows of g are copied faster than windows of x are added up, unless there are far more of the former.
        spans = kernel_extents(weight.shape[2:], dilation)
        around = tuple((span - 1 - lo, span - 1 - hi) for span, (lo, hi) in zip(spans, padding, strict=True))
        result = correlate(pad_spatial(wide, around), mirror_weight(kernel, groups), stride, dilation, groups)
    else:
        padded = tuple(e + lo + hi for e, (lo, hi) in zip(shape[2:], padding, strict=True))
        spread = scatter_columns(wide, kernel, (*shape[:2], *padded), stride, dilation, groups)
        result = pad_spatial(spread, tuple((-lo, -hi) for lo, hi in padding))
    return store(result, g.dtype, out)


@convolution_input.batch
def _(call: Call) -> Outputs:
    if not call.batched[1]:
        return folded(0, shape="shape")(call)
    rows, channels, *spatial = call.attrs["shape"]
    shape, groups = (rows, call.size * channels, *spatial), call.size * call.attrs["groups"]
    made = call.made(join_channels(call.spread(0)), call.join(1), shape=shape, groups=groups)
    return part_channels(call.size, *made)


@convolution_input.vjp
def _(c: Value, y: Value, g: Value, weight: Value, *, shape: Ints, **window: Any) -> object:
    return (
        lambda: convolution(c, weight, **window),
        lambda: convolution_weight(c, g, kernel=weight.shape[2:], **window),
    )


def _convolution_weight(x: Value, g: Value, *, kernel: Ints, groups: int, **window: Any) -> Spec:
    op = "convolution_weight"
    if x.ndim < 3 or g.ndim != x.ndim or groups < 1:
        raise ShapeError(f"{op} needs x and g [N, C, *spatial] of one rank, got {list(x.shape)} and {list(g.shape)}")
    shape = (g.shape[1], x.shape[1] // groups, *kernel)
    _expect(op, g, _positions(op, x.shape, shape, groups=groups, **window))
    return Spec(shape, require_float(op, x, g))


def _convolution_weight_flops(attrs: Attrs, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> int:
    return 2 * math.prod(inputs[1]) * math.prod(outputs[0][1:])


def _convolution_weight_scratch(attrs: Attrs, inputs: Sequence[Spec], outputs: Sequence[Spec]) -> int:
    (x, g), (weight,) = inputs[:2], outputs
    itemsize = computing_itemsize(x)
    total = math.prod(weight.shape) * itemsize
    line: int = attrs["groups"] * math.prod(weight.shape[1:])
    columns = column_bytes(x.shape[0], line, g.shape[2:], itemsize, max(COLUMN_BYTES, total))
    return padded_bytes(x, attrs["padding"]) + columns + 2 * total


@primitive(
    shape_rule=_convolution_weight,
    numerics=OF_HALVES,
    memory=Memory(scratch=_convolution_weight_scratch, keeps_workspace=True),
    sharding=image_axes("00", "+", ("-1", "0")),
    flops=_convolution_weight_flops,
    samples=[
        sample((2, 2, 5), (2, 3, 3), kernel=(2,), **STRIDED),
        sample((2, 2, 4, 3), (2, 2, 3, 2), kernel=(2, 2), **GROUPED),
        sample((1, 4, 3), (1, 2, 2), kernel=(2,), **PLAIN),
    ],
)
def convolution_weight(
    x: Array,
    g: Array,
    *,
    kernel: Ints,
    stride: Ints,
    padding: Pairs,
    dilation: Ints,
    groups: int = 1,
    out: Array | None = None,
) -> Array:
    """The cotangent of a convolution's weight, whose spatial extents are `kernel`."""
    padded = pad_spatial(widen(x), padding)
    result = weight_products(padded, widen(g), kernel, stride, dilation, groups)
    return store(result, x.dtype, out)


@convolution_weight.batch
def _(call: Call) -> Outputs:
    x, g = join_channels(call.spread(0)), join_channels(call.spread(1))
    return call.reshaped(*call.made(x, g, groups=call.size * call.attrs["groups"]))


@convolution_weight.vjp
def _(c: Value, y: Value, x: Value, g: Value, *, kernel: Ints, **window: Any) -> object:
    return (lambda: convolution_input(g, c, shape=x.shape, **window), lambda: convolution(x, c, **window))
