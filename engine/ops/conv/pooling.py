"""Pooling over 1, 2 or 3 spatial axes of [N, C, *spatial]: primitives and their transposes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine.core.batching import folded
from engine.core.declarations import Memory, computing_itemsize, nbytes
from engine.core.dtypes import FLOAT16, FLOAT32, INT64
from engine.core.errors import AttributeValueError, LimitError, ShapeError
from engine.core.registry import primitive
from engine.core.samples import distinct, integers, sample
from engine.core.shape_rules import require_float, require_integer
from engine.core.sharding_rules import image_axes
from engine.core.value import Array, Cotangents, Shape, Spec, Value
from engine.ops.conv.columns import (
    Ints,
    Pairs,
    count_positions,
    kernel_extents,
    pad_spatial,
    padded_bytes,
    per_axis,
    tap,
)
from engine.ops.index.index import check_range, gather
from engine.ops.shape.shape import reshape

WHOLE = (slice(None), slice(None))
MOST_BEFORE = 10_000
"""Maximum number of windows that begin in the padding; they are checked one by one."""


def _pads(extents: Shape, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> Pairs:
    """Return the padding in pairs: in ceil mode the end grows until the last window fits.

    A window that would begin in the padding at the end is left out, as in PyTorch.
    """
    pairs = []
    for extent, span, step, pad in zip(extents, kernel_extents(kernel, dilation), stride, padding, strict=True):
        after = pad
        if ceil_mode:
            last = -(-max(extent + 2 * pad - span, 0) // step) * step
            if last >= extent + pad:
                last -= step
            after = max(last + span - extent - pad, pad)
        pairs.append((pad, after))
    return tuple(pairs)


def _pooled(op: str, x: Shape, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> Shape:
    rank = len(x) - 2
    if rank not in (1, 2, 3):
        raise ShapeError(f"{op} needs an input [N, C, *spatial] with 1 to 3 spatial axes, got {list(x)}")
    for name, numbers, least in (
        ("kernel", kernel, 1),
        ("stride", stride, 1),
        ("padding", padding, 0),
        ("dilation", dilation, 1),
    ):
        if len(numbers) != rank:
            raise AttributeValueError(f"{op}.{name} must hold {rank} numbers, got {len(numbers)}")
        per_axis(f"{op}.{name}", numbers, rank, least)
    if any(2 * p > k for p, k in zip(padding, kernel, strict=True)):
        raise AttributeValueError(f"{op}: padding {list(padding)} must be at most half of the kernel {list(kernel)}")
    pads = _pads(x[2:], kernel, stride, padding, dilation, ceil_mode)
    return (*x[:2], *count_positions(op, x[2:], kernel, stride, pads, dilation))


def _in_reach(extent: int, count: int, kernel: int, stride: int, padding: int, dilation: int) -> Array:
    """Return, for one axis, which kernel elements read the input at each position: bool [kernel, count]."""
    place = np.arange(count) * stride - padding + np.arange(kernel)[:, None] * dilation
    return np.asarray((place >= 0) & (place < extent))


def _misses(extent: int, count: int, stride: int, padding: int, dilation: int) -> bool:
    """Return, for one axis, whether a window contains only padding.

    The padding is at most half of the kernel. A window that begins in the padding before the input first reads the
    input at the start of the window modulo the dilation.
    """
    if (count - 1) * stride - padding >= extent:
        return True
    before = min(count, -(-padding // stride), dilation // math.gcd(stride, dilation))
    if dilation <= extent or not before:
        return False
    if before > MOST_BEFORE:
        raise LimitError(f"max_pool: {before} windows begin in the padding, more than {MOST_BEFORE}; use less padding")
    return any((start * stride - padding) % dilation >= extent for start in range(before))


def _max_pool(x: Value, *, stride: Ints, padding: Ints, dilation: Ints, **window: Any) -> tuple[Spec, Spec]:
    shape = _pooled("max_pool", x.shape, stride=stride, padding=padding, dilation=dilation, **window)
    for axis, geometry in enumerate(zip(x.shape[2:], shape[2:], stride, padding, dilation, strict=True)):
        if _misses(*geometry):
            raise ShapeError(
                f"max_pool: a window on spatial axis {axis} (extent {x.shape[2 + axis]}) would hold only padding; "
                "use less padding or dilation"
            )
    return Spec(shape, require_float("max_pool", x)), Spec(shape, INT64)


def _max_pool_scratch(attrs: Mapping[str, Any], inputs: Sequence[Spec], outputs: Sequence[Spec]) -> int:
    x, y = inputs[0], outputs[0]
    folded = (*x.shape[:2], y.shape[2], *x.shape[3:])  # the maxima are taken along one axis after the other
    between = math.prod(folded) * computing_itemsize(x) if len(x.shape) > 3 else 0
    return padded_bytes(x, tuple((p, p) for p in attrs["padding"])) + between + math.prod(y.shape)


@primitive(
    shape_rule=_max_pool,
    multi_output=True,
    memory=Memory(scratch=_max_pool_scratch),
    sharding=image_axes("0", "00", ("1", "11")),
    batching=folded(0),
    samples=[
        sample(distinct(2, 1, 4, 4), kernel=(2, 2), stride=(2, 2), padding=(0, 0), dilation=(1, 1)),
        sample(distinct(1, 2, 5), kernel=(3,), stride=(2,), padding=(1,), dilation=(1,), ceil_mode=True),
        sample(distinct(1, 1, 3, 2, 3), kernel=(2, 1, 2), stride=(1, 1, 1), padding=(0,) * 3, dilation=(2, 1, 1)),
    ],
)
def max_pool(
    x: Array,
    *,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    ceil_mode: bool = False,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """The largest element of each window of x [N, C, *spatial], and its index in the flattened spatial axes (int64).

    Ties give the first element; NaN is larger than every number; padding is never selected.
    """
    pads = _pads(x.shape[2:], kernel, stride, padding, dilation, ceil_mode)
    extents = count_positions("max_pool", x.shape[2:], kernel, stride, pads, dilation)
    padded = pad_spatial(x, pads, -np.inf)
    values, index = (None, None) if out is None else out
    best = _fold_windows(np.maximum, padded, extents, kernel, stride, dilation, values)
    reach = [_in_reach(*g) for g in zip(x.shape[2:], extents, kernel, stride, padding, dilation, strict=True)]
    code = _first_equal(padded, best, kernel, stride, dilation, None if padded is x else reach)
    return best, _flat_index(code, x.shape[2:], kernel, stride, padding, dilation, index)


def _fold_windows(
    fold: np.ufunc, x: Array, extents: Shape, kernel: Ints, stride: Ints, dilation: Ints, out: Array | None = None
) -> Array:
    """Combine the elements of each window, along one axis after the other."""
    last = len(kernel) - 1
    for axis, (count, size, step, spread) in enumerate(zip(extents, kernel, stride, dilation, strict=True)):
        lead = (slice(None),) * (axis + 2)
        views = [x[(*lead, *tap((k,), (count,), (step,), (spread,)))] for k in range(size)]
        result = np.empty(views[0].shape, x.dtype) if axis < last or out is None else out
        if size == 1:
            np.copyto(result, views[0])
        else:
            fold(views[0], views[1], out=result)
        for view in views[2:]:
            fold(result, view, out=result)
        x = result
    return x


def _first_equal(
    padded: Array, best: Array, kernel: Ints, stride: Ints, dilation: Ints, reach: list[Array] | None
) -> Array:
    """Return which kernel element, in row-major order, is the first to equal the maximum of its window."""
    code = np.zeros(best.shape, np.min_scalar_type(math.prod(kernel)))
    searching, differs = np.ones(best.shape, bool), np.empty(best.shape, bool)
    poisoned = bool(np.isnan(best).any())
    for offset in list(np.ndindex(*kernel))[:-1]:
        view = padded[(*WHOLE, *tap(offset, best.shape[2:], stride, dilation))]
        np.not_equal(view, best, out=differs)
        if poisoned:
            differs &= view == view  # a NaN is the maximum of its window
        if reach is not None:
            differs |= ~_outer_and([axis[o] for axis, o in zip(reach, offset, strict=True)])
        searching &= differs
        code += searching
    return code


def _outer_and(flags: list[Array]) -> Array:
    result = flags[0]
    for flag in flags[1:]:
        result = result[..., None] & flag
    return result


def _flat_index(
    code: Array, extents: Shape, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, out: Array | None
) -> Array:
    """Turn the number of a kernel element at each position into an index in the flattened spatial axes."""
    steps = [math.prod(extents[axis + 1 :]) for axis in range(len(extents))]
    offsets = np.zeros(1, np.int64)
    starts = np.zeros((), np.int64)
    for k, s, p, d, count, step in zip(kernel, stride, padding, dilation, code.shape[2:], steps, strict=True):
        offsets = (offsets[:, None] + np.arange(k) * (d * step)).reshape(-1)
        starts = starts[..., None] + (np.arange(count) * s - p) * step
    index = np.take(offsets, code, out=out, mode="clip")
    index += starts
    return index


@max_pool.vjp
def _(g: Cotangents, y: tuple[Value, Value], x: Value) -> object:
    return None if g[0] is None else max_unpool(g[0], y[1], shape=x.shape)


def _max_unpool(x: Value, index: Value, *, shape: Ints) -> Spec:
    require_integer("max_unpool", "indices", index)
    if index.shape != x.shape or len(shape) != x.ndim or x.ndim < 3 or shape[:2] != x.shape[:2]:
        raise ShapeError(
            f"max_unpool: values {list(x.shape)} and indices {list(index.shape)} must have one shape [N, C, *spatial], "
            f"and the result {list(shape)} the same N and C"
        )
    return Spec(shape, x.dtype)


def _into(out: Array, result: Array) -> Array:
    np.copyto(out, result)
    return out


def _check_places(index: Array, size: int) -> None:
    unsigned = index.view(f"u{index.itemsize}") if index.dtype.kind == "i" else index  # negative ones become large
    if index.size and int(unsigned.max()) >= size:
        check_range("max_unpool", index, size)
        raise ShapeError(f"max_unpool: index {int(index.min())} is negative; indices count from 0")


def _max_unpool_scratch(attrs: Mapping[str, Any], inputs: Sequence[Spec], outputs: Sequence[Spec]) -> int:
    return nbytes(inputs[1])


@primitive(
    shape_rule=_max_unpool,
    memory=Memory(scratch=_max_unpool_scratch),
    sharding=image_axes("00", "0", ("11", "1")),
    batching=folded(0, 1, shape="shape"),
    samples=[sample((2, 1, 2, 2), integers(0, 12, 2, 1, 2, 2), shape=(2, 1, 3, 4))],
)
def max_unpool(x: Array, index: Array, *, shape: Ints, out: Array | None = None) -> Array:
    """Zeros of `shape` with x added at `index`, counted in the flattened spatial axes: the transpose of max_pool."""
    size = math.prod(shape[2:])
    _check_places(index, size)
    if x.dtype == FLOAT16:
        result = max_unpool.body(x.astype(FLOAT32), index, shape=shape).astype(FLOAT16)
        return result if out is None else _into(out, result)
    if out is None:
        out = np.empty(shape, x.dtype)
    out.fill(0)
    planes = (np.arange(math.prod(shape[:2])) * size).reshape(*shape[:2], *(1,) * (x.ndim - 2))
    np.add.at(out.reshape(-1, copy=False), (index + planes).reshape(-1), x.reshape(-1))
    return out


@max_unpool.vjp
def _(g: Value, y: Value, x: Value, index: Value) -> object:
    rows = (*x.shape[:2], -1) if x.size else (*x.shape[:2], 0)
    planes = reshape(g, shape=(*g.shape[:2], math.prod(g.shape[2:])))
    return reshape(gather(planes, reshape(index, shape=rows), axis=2), shape=x.shape), None


def _mean_shape(
    op: str, x: Shape, *, kernel: Ints, count_include_pad: bool, divisor: int | None, **window: Any
) -> Shape:
    """Check the attributes of an average pooling of x and return the shape of its result."""
    if divisor == 0:
        raise AttributeValueError(f"{op}: divisor 0 must be another number, or null for the size of the window")
    return _pooled(op, x, kernel, dilation=(1,) * len(kernel), **window)


def _avg_pool(x: Value, **window: Any) -> Spec:
    return Spec(_mean_shape("avg_pool", x.shape, **window), require_float("avg_pool", x))


@primitive(
    shape_rule=_avg_pool,
    sharding=image_axes("0", "0", ("1", "1")),
    batching=folded(0),
    samples=[
        sample((1, 2, 4, 4), kernel=(2, 2), stride=(2, 2), padding=(0, 0)),
        sample((2, 1, 5), kernel=(3,), stride=(2,), padding=(1,), count_include_pad=False),
        sample((1, 1, 4, 3), kernel=(2, 2), stride=(3, 1), padding=(1, 1), ceil_mode=True),
        sample((1, 1, 4, 3), kernel=(2, 2), stride=(2, 1), padding=(1, 0), divisor=3),
    ],
)
def avg_pool(
    x: Array,
    *,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor: int | None = None,
    out: Array | None = None,
) -> Array:
    """The mean of each window of x [N, C, *spatial]; padding counts as zeros, or not with count_include_pad=False.

    With `divisor` the sum of each window divided by that number instead.
    """
    ones = (1,) * len(kernel)
    pads = _pads(x.shape[2:], kernel, stride, padding, ones, ceil_mode)
    extents = count_positions("avg_pool", x.shape[2:], kernel, stride, pads, ones)
    total = pad_spatial(x.astype(np.float32) if x.dtype == np.float16 else x, pads)
    total = _fold_windows(np.add, total, extents, kernel, stride, ones)
    counts = _counts(x.shape[2:], extents, kernel, stride, padding, count_include_pad, divisor)
    if out is None:
        out = np.empty(total.shape, x.dtype)
    return np.divide(total, counts, out=out, dtype=total.dtype, casting="same_kind")


def _counts(
    extents: Shape, result: Shape, kernel: Ints, stride: Ints, padding: Ints, with_padding: bool, divisor: int | None
) -> Array:
    """Return how many elements each window's mean is over; elements added by ceil mode are never counted."""
    if divisor is not None:
        return np.full((1,) * len(result), divisor, np.float32)
    total = np.ones((), np.float32)
    for extent, count, k, s, p in zip(extents, result, kernel, stride, padding, strict=True):
        inside = _in_reach(extent + 2 * p, count, k, s, 0, 1) if with_padding else _in_reach(extent, count, k, s, p, 1)
        total = total[..., None] * inside.sum(axis=0, dtype=np.float32)
    return total


@avg_pool.vjp
def _(g: Value, y: Value, x: Value, **window: Any) -> Value:
    return avg_pool_input(g, shape=x.shape, **window)


def _avg_pool_input(g: Value, *, shape: Ints, **window: Any) -> Spec:
    wanted = _mean_shape("avg_pool_input", shape, **window)
    if g.shape != wanted:
        raise ShapeError(f"avg_pool_input: g has shape {list(g.shape)}, pooling {list(shape)} gives {list(wanted)}")
    return Spec(shape, require_float("avg_pool_input", g))


@primitive(
    shape_rule=_avg_pool_input,
    sharding=image_axes("0", "0", ("1", "1")),
    batching=folded(0, shape="shape"),
    samples=[
        sample((1, 2, 2, 2), shape=(1, 2, 4, 5), kernel=(2, 2), stride=(2, 2), padding=(0, 0)),
        sample((2, 1, 3), shape=(2, 1, 5), kernel=(3,), stride=(2,), padding=(1,), count_include_pad=False),
        sample((2, 1, 3), shape=(2, 1, 5), kernel=(3,), stride=(2,), padding=(1,), divisor=-2),
    ],
)
def avg_pool_input(
    g: Array,
    *,
    shape: Ints,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor: int | None = None,
    out: Array | None = None,
) -> Array:
    """The cotangent of the input, of `shape`, of an average pooling: the transpose of `avg_pool`."""
    pads = _pads(shape[2:], kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    counts = _counts(shape[2:], g.shape[2:], kernel, stride, padding, count_include_pad, divisor)
    spread = np.divide(g, counts, dtype=np.float32 if g.dtype == np.float16 else g.dtype)
    for axis, (extent, (low, high)) in enumerate(zip(shape[2:], pads, strict=True)):
        spread = _unfold_axis(spread, axis + 2, extent + low + high, kernel[axis], stride[axis])
    result = pad_spatial(spread, tuple((-low, -high) for low, high in pads))
    if out is None:
        return result.astype(g.dtype, copy=False)
    np.copyto(out, result, casting="same_kind")
    return out


def _unfold_axis(g: Array, axis: int, extent: int, kernel: int, stride: int) -> Array:
    """Add each element to all elements of its window along one axis."""
    lead = (slice(None),) * axis
    spread = np.zeros((*g.shape[:axis], extent, *g.shape[axis + 1 :]), g.dtype)
    for k in range(kernel):
        place = spread[(*lead, *tap((k,), (g.shape[axis],), (stride,), (1,)))]
        np.add(place, g, out=place)
    return spread


@avg_pool_input.vjp
def _(c: Value, y: Value, g: Value, *, shape: Ints, **window: Any) -> Value:
    return avg_pool(c, **window)
