"""Replacement of a slice, a diagonal, masked or indexed elements; the input is not modified."""

from __future__ import annotations

import numpy as np

from engine.core.declarations import CallForms
from engine.core.dtypes import BOOL, INT64
from engine.core.errors import DTypeError, ShapeError
from engine.core.modes import charge_table
from engine.core.registry import composite
from engine.core.samples import Argument, booleans, integers, sample
from engine.core.shape_rules import broadcast_shapes, normalize_axis, require_integer, require_rank
from engine.core.value import Value, as_value
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.comparison import where
from engine.ops.elementwise.elementwise import clamp
from engine.ops.index.advanced_index import cast_like, index_put
from engine.ops.index.index import embedding
from engine.ops.index.scatter import Reduction, scatter_reduce
from engine.ops.linalg.diagonals import diagonal_scatter
from engine.ops.reduce.scan import cumsum
from engine.ops.shape.shape import bounds, broadcast_to, reshape, slice_scatter, unsqueeze


@composite(samples=[sample((4, 3), (2, 3), start=1, stop=3), sample((2, 5), (2, 2), axis=1, start=-4, step=2)])
def slice_replace(
    x: Value, source: Value, *, axis: int = 0, start: int | None = None, stop: int | None = None, step: int = 1
) -> Value:
    """x with the slice start:stop:step of one axis replaced by `source`: PyTorch's slice_scatter."""
    if not x.ndim:
        raise ShapeError("slice_replace needs an input with at least one axis")
    place = normalize_axis(axis, x.ndim)
    extent = x.shape[place]
    picked = bounds(extent, start, stop, step)
    wanted = (*x.shape[:place], len(picked), *x.shape[place + 1 :])
    if source.shape != wanted:
        raise ShapeError(f"slice_replace: the part has shape {list(wanted)}, the source {list(source.shape)}")
    if not len(picked):
        return x
    written = slice_scatter(
        cast_like("slice_replace", source, x), axis=place, extent=extent, start=picked.start, step=step
    )
    charge_table("slice_replace", extent, item_bytes=1)
    mask = np.zeros(extent, bool)
    mask[picked.start : picked.stop : step] = True
    return where(as_value(mask.reshape(-1, *(1,) * (x.ndim - 1 - place))), written, x)


@composite(samples=[sample((3, 2), (2,), index=1), sample((2, 3), (2,), axis=1, index=-1)])
def select_replace(x: Value, source: Value, *, axis: int = 0, index: int) -> Value:
    """x with the slice `index` of one axis replaced by `source`: PyTorch's select_scatter."""
    place = normalize_axis(axis, x.ndim)
    if not x.ndim or not -x.shape[place] <= index < x.shape[place]:
        raise ShapeError(f"select_replace: index {index} is out of range for axis {axis} of shape {list(x.shape)}")
    first = index % x.shape[place]
    return slice_replace(x, unsqueeze(source, axis=place), axis=place, start=first, stop=first + 1)


@composite(samples=[sample((3, 3), (3,)), sample((2, 3, 4), (2, 3), offset=1, axis0=1, axis1=2)])
def diagonal_replace(x: Value, source: Value, *, offset: int = 0, axis0: int = 0, axis1: int = 1) -> Value:
    """x with a diagonal replaced by `source`: PyTorch's diagonal_scatter."""
    where_it_lies = {"offset": offset, "axis0": axis0, "axis1": axis1}
    written = diagonal_scatter(cast_like("diagonal_replace", source, x), shape=x.shape, **where_it_lies)
    first, second = normalize_axis(axis0, x.ndim), normalize_axis(axis1, x.ndim)
    charge_table("diagonal_replace", x.shape[first], x.shape[second], item_bytes=1)
    mask = np.eye(x.shape[first], x.shape[second], offset, dtype=bool)
    shape = tuple(extent if axis in (first, second) else 1 for axis, extent in enumerate(x.shape))
    return where(as_value((mask if first < second else mask.T).reshape(shape)), written, x)


@composite(samples=[sample((2, 3), booleans(2, 3), (6,)), sample((2, 3), booleans(3), (2, 3))])
def masked_scatter(x: Value, mask: Value, source: Value) -> Value:
    """x with the elements where the bool mask is true replaced by those of source, in order; x and mask broadcast.

    The source needs at least as many elements as the mask has true ones.
    """
    if mask.dtype != BOOL:
        raise DTypeError(f"masked_scatter needs a bool mask, got {mask.dtype.name}; compare it with something first")
    shape = broadcast_shapes(x.shape, mask.shape)
    x, mask = broadcast_to(x, shape=shape), broadcast_to(mask, shape=shape)
    flat = reshape(mask, shape=(mask.size,))
    # Behind the last true element the running count stays the same, so every index is within the source.
    places = clamp(cumsum(cast(flat, dtype=INT64), axis=0) - 1, min=0)
    values = reshape(cast_like("masked_scatter", source, x), shape=(source.size,))
    if not source.size or not flat.size:
        return x
    return where(mask, reshape(embedding(values, places), shape=shape), x)


@composite(samples=[sample((2, 3), integers(-6, 6, 4)), sample((4,), integers(0, 4, 2, 2))])
def take_flat(x: Value, index: Value) -> Value:
    """The elements of the flattened x at `index`, in its shape: PyTorch's take."""
    return embedding(reshape(x, shape=(x.size,)), index)


def _order(size: int, *shape: int) -> Argument:
    """Draw distinct indices below `size`."""
    return Argument(shape, lambda g, shape: g.permutation(size)[: int(np.prod(shape))].reshape(shape))


@composite(samples=[sample((2, 3), _order(6, 4), (4,)), sample((2, 3), integers(0, 6, 2, 4), (2, 4), accumulate=True)])
def put_flat(x: Value, index: Value, source: Value, *, accumulate: bool = False, unsafe: bool = False) -> Value:
    """x with the elements of source written at `index`, counted in the flattened x, or added there: PyTorch's put.

    Duplicate indices are as in index_put.
    """
    if index.size != source.size:
        raise ShapeError(f"put_flat: {index.size} indices for {source.size} elements")
    places, values = reshape(index, shape=(index.size,)), reshape(source, shape=(source.size,))
    flat = reshape(x, shape=(x.size,))
    return reshape(index_put(flat, values, places, axes=(0,), accumulate=accumulate, unsafe=unsafe), shape=x.shape)


@composite(
    call=CallForms(orders=(("x", "axis", "index", "source", "reduce"),)),
    samples=[
        sample((3, 2), integers(0, 3, 4), (4, 2), reduce="mean"),
        sample((2, 3), integers(0, 3, 4), (2, 4), axis=1, reduce="amax", include_self=False),
    ],
)
def index_reduce(
    x: Value, index: Value, source: Value, *, axis: int = 0, reduce: Reduction, include_self: bool = True
) -> Value:
    """x with its slices at the positions `index` of `axis` combined with those of source: see scatter_reduce."""
    require_integer("index_reduce", "indices", index)
    require_rank("index_reduce", "indices", index, 1)
    if x.ndim != source.ndim:
        raise ShapeError(f"index_reduce: {list(x.shape)} and {list(source.shape)} must have as many axes")
    place = normalize_axis(axis, x.ndim)
    if not x.ndim:
        only = scatter_reduce(
            reshape(x, shape=(1,)), index, reshape(source, shape=(1,)), axis=0, reduce=reduce, include_self=include_self
        )
        return reshape(only, shape=())
    wide = broadcast_to(reshape(index, shape=(index.size, *(1,) * (x.ndim - 1 - place))), shape=source.shape)
    return scatter_reduce(x, wide, source, axis=place, reduce=reduce, include_self=include_self)
