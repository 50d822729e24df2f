"""Pooling into a given number of bins: bin i of n begins at floor(i e / n) and ends before ceil((i + 1) e / n)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.core.attributes import Extents
from engine.core.batching import along
from engine.core.declarations import AUTOCAST_FLOAT32, COMPUTE_FLOAT32, PRECISE_COMPOSITION
from engine.core.dtypes import INT64
from engine.core.errors import ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import distinct, sample
from engine.core.shape_rules import normalize_axis, require_float
from engine.core.sharding_rules import ALONG_AXIS
from engine.core.value import Array, Shape, Spec, Value
from engine.ops.conv.columns import per_axis
from engine.ops.conv.pool import batched
from engine.ops.index.index import gather
from engine.ops.shape.creation import arange
from engine.ops.shape.shape import broadcast_to, reshape, squeeze


def _bins(extent: int, bins: int) -> tuple[Array, Array]:
    """Return where each bin begins and how many elements it holds."""
    numbers = np.arange(bins)
    starts = numbers * extent // bins
    return starts, -(-(numbers + 1) * extent // bins) - starts


def _along(numbers: Array, place: int, ndim: int) -> Array:
    """Shape a vector to lie along one axis."""
    return numbers.reshape(-1, *(1,) * (ndim - 1 - place))


def _binned(op: str, x: Value, axis: int, bins: int) -> Spec:
    require_float(op, x)
    place = normalize_axis(axis, x.ndim)
    if not x.ndim or bins < 1 or x.shape[place] < 1:
        raise ShapeError(f"{op}: {bins} bins along axis {axis} of {list(x.shape)}; both extents must be at least 1")
    return Spec((*x.shape[:place], bins, *x.shape[place + 1 :]), x.dtype)


def _bin_mean(x: Value, *, axis: int, bins: int) -> Spec:
    return _binned("bin_mean", x, axis, bins)


@primitive(
    shape_rule=_bin_mean,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[sample((2, 5), axis=1, bins=3), sample((3, 2), axis=0, bins=4)],
)
def bin_mean(x: Array, *, axis: int, bins: int) -> Array:
    """The mean of each of `bins` bins along an axis, as in adaptive pooling; bins may overlap."""
    place = axis % x.ndim
    starts, counts = _bins(x.shape[place], bins)
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    total = np.zeros((*x.shape[:place], bins, *x.shape[place + 1 :]), wide.dtype)
    lead: tuple[Any, ...] = (slice(None),) * place
    for step in range(int(counts.max())):
        inside = np.flatnonzero(counts > step)
        total[(*lead, inside)] += np.take(wide, starts[inside] + step, axis=place)
    total /= _along(counts, place, x.ndim)
    return total.astype(x.dtype, copy=False)


@bin_mean.vjp
def _(g: Value, y: Value, x: Value, *, axis: int) -> Value:
    place = normalize_axis(axis, x.ndim)
    return bin_mean_back(g, axis=place, extent=x.shape[place])


def _bin_mean_back(x: Value, *, axis: int, extent: int) -> Spec:
    return _binned("bin_mean_back", x, axis, extent)


@primitive(
    shape_rule=_bin_mean_back,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[sample((2, 3), axis=1, extent=5), sample((4, 2), axis=0, extent=3)],
)
def bin_mean_back(x: Array, *, axis: int, extent: int) -> Array:
    """The value of each bin divided among its elements, along an axis of `extent`: the transpose of bin_mean."""
    place = axis % x.ndim
    starts, counts = _bins(extent, x.shape[place])
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    shares = wide / _along(counts, place, x.ndim).astype(wide.dtype)
    total = np.zeros((*x.shape[:place], extent, *x.shape[place + 1 :]), wide.dtype)
    lead: tuple[Any, ...] = (slice(None),) * place
    for step in range(int(counts.max())):
        inside = np.flatnonzero(counts > step)
        elements = starts[inside] + step
        runs = np.flatnonzero(np.diff(elements, prepend=-1))
        added = np.add.reduceat(np.take(shares, inside, axis=place), runs, axis=place)
        total[(*lead, elements[runs])] += added
    return total.astype(x.dtype, copy=False)


@bin_mean_back.vjp
def _(g: Value, y: Value, x: Value, *, axis: int) -> Value:
    place = normalize_axis(axis, x.ndim)
    return bin_mean(g, axis=place, bins=x.shape[place])


def _bin_argmax(x: Value, *, axis: int, bins: int) -> Spec:
    return Spec(_binned("bin_argmax", x, axis, bins).shape, INT64)


@primitive(
    shape_rule=_bin_argmax,
    differentiable=False,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[sample(distinct(2, 5), axis=1, bins=3)],
)
def bin_argmax(x: Array, *, axis: int, bins: int) -> Array:
    """The index along `axis` of the first largest element (NaN wins) of each of `bins` bins."""
    place = axis % x.ndim
    starts, counts = _bins(x.shape[place], bins)
    best = np.take(x, starts, axis=place)
    index = np.broadcast_to(_along(starts, place, x.ndim), best.shape).copy()
    for step in range(1, int(counts.max())):
        elements = np.where(counts > step, starts + step, starts)  # repeating the first element changes no maximum
        found = np.take(x, elements, axis=place)
        better = (found > best) | (np.isnan(found) & ~np.isnan(best))
        best = np.where(better, found, best)
        index = np.where(better, _along(elements, place, x.ndim), index)
    return index


def _adaptive_avg(rank: int, x: Value, output_size: Extents) -> Value:
    op = f"adaptive_avg_pool{rank}d"
    x, alone = batched(op, rank, x)
    for axis, bins in enumerate(per_axis(f"{op}.output_size", output_size, rank, 1), start=2):
        if bins != x.shape[axis]:
            x = bin_mean(x, axis=axis, bins=bins)
    return squeeze(x, axis=0) if alone else x


def _adaptive_max(rank: int, x: Value, output_size: Extents, return_indices: bool) -> Value | tuple[Value, Value]:
    op = f"adaptive_max_pool{rank}d"
    x, alone = batched(op, rank, x)
    sizes = per_axis(f"{op}.output_size", output_size, rank, 1)
    whole, index = x.shape, _spatial_indices(x.shape) if return_indices else None
    for axis in range(rank + 1, 1, -1):  # the last axis first, so that of ties the first in row-major order wins
        if sizes[axis - 2] != whole[axis]:
            best = bin_argmax(x, axis=axis, bins=sizes[axis - 2])
            x = gather(x, best, axis=axis)
            index = None if index is None else gather(index, best, axis=axis)
    x = squeeze(x, axis=0) if alone else x
    if index is None:
        return x
    return x, squeeze(index, axis=0) if alone else index


def _spatial_indices(shape: Shape) -> Value:
    """Return the index of each element [N, C, *spatial] in the flattened spatial axes."""
    places = arange(stop=math.prod(shape[2:]), dtype=INT64)
    return broadcast_to(reshape(places, shape=(1, 1, *shape[2:])), shape=shape)


@composite(numerics=COMPUTE_FLOAT32, samples=[sample((1, 2, 5), output_size=2), sample((2, 3), output_size=4)])
def adaptive_avg_pool1d(x: Value, *, output_size: Extents) -> Value:
    """Means of bins of x [N, C, L] chosen so that the result has the extent `output_size`, as PyTorch's."""
    return _adaptive_avg(1, x, output_size)


@composite(
    numerics=COMPUTE_FLOAT32, samples=[sample((1, 2, 4, 4), output_size=2), sample((2, 1, 5, 3), output_size=(3, 2))]
)
def adaptive_avg_pool2d(x: Value, *, output_size: Extents) -> Value:
    """Means of bins of x [N, C, H, W] chosen so that the result has the extents `output_size`, as PyTorch's.

    Bin i of n begins at floor(i * extent / n) and ends before ceil((i + 1) * extent / n).
    """
    return _adaptive_avg(2, x, output_size)


@composite(numerics=PRECISE_COMPOSITION, samples=[sample((1, 1, 3, 2, 5), output_size=(2, 2, 3))])
def adaptive_avg_pool3d(x: Value, *, output_size: Extents) -> Value:
    """Means of bins of x [N, C, D, H, W] chosen so that the result has the extents `output_size`, as PyTorch's."""
    return _adaptive_avg(3, x, output_size)


@composite(
    samples=[
        sample(distinct(1, 2, 5), output_size=2),
        sample(distinct(2, 3), output_size=4),
        sample(distinct(1, 2, 5), output_size=2, return_indices=True),
    ]
)
def adaptive_max_pool1d(x: Value, *, output_size: Extents, return_indices: bool = False) -> Value | tuple[Value, Value]:
    """Largest elements of bins of x [N, C, L] chosen so that the result has the extent `output_size`, as PyTorch's.

    With `return_indices` also their indices along the axis, int64.
    """
    return _adaptive_max(1, x, output_size, return_indices)


@composite(samples=[sample(distinct(1, 2, 4, 4), output_size=2), sample(distinct(2, 1, 5, 3), output_size=(3, 2))])
def adaptive_max_pool2d(x: Value, *, output_size: Extents, return_indices: bool = False) -> Value | tuple[Value, Value]:
    """Largest elements of bins of x [N, C, H, W] chosen so that the result has the extents `output_size`, as PyTorch's.

    Bin i of n begins at floor(i * extent / n) and ends before ceil((i + 1) * extent / n). Ties give the first element.
    With `return_indices` also the indices in the flattened spatial axes, int64.
    """
    return _adaptive_max(2, x, output_size, return_indices)


@composite(numerics=AUTOCAST_FLOAT32, samples=[sample(distinct(1, 1, 3, 2, 5), output_size=(2, 2, 3))])
def adaptive_max_pool3d(x: Value, *, output_size: Extents, return_indices: bool = False) -> Value | tuple[Value, Value]:
    """Largest elements of bins of x [N, C, D, H, W] chosen so that the result has the extents `output_size`.

    With `return_indices` also their indices in the flattened spatial axes, int64.
    """
    return _adaptive_max(3, x, output_size, return_indices)
