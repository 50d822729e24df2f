"""Ops whose result has a shape that depends on values: they run eagerly and have no place in a graph."""

from __future__ import annotations

import numpy as np

from engine.dtypes import BOOL, INT64
from engine.errors import DTypeError, ShapeError
from engine.infer import broadcast_shapes
from engine.modes import MODES
from engine.ops.advanced_index import index_get
from engine.ops.shape import broadcast_to
from engine.registry import composite, primitive
from engine.samples import booleans, sample
from engine.value import Array, Spec, Value


def _nonzero(x: Value) -> Spec:
    if x.data is None or MODES.tracing:
        raise ShapeError(
            "nonzero, masked_select and masks as indices give as many elements as there are true ones, which a graph "
            "cannot know beforehand; use where or masked_fill, which keep the shape"
        )
    return Spec((int(np.count_nonzero(x.data)), x.ndim), INT64)


@primitive(infer=_nonzero, differentiable=False, aliases=("argwhere",), samples=[sample(booleans(2, 3))])
def nonzero(x: Array) -> Array:
    """The indices of the elements of x that are not 0, in order, one row for each: [elements, axes]. Not in graphs."""
    return np.argwhere(x)


def places_of(mask: Value) -> tuple[Value, ...]:
    """Return one vector of indices for each axis of a mask."""
    if mask.dtype != BOOL:
        raise DTypeError(f"a mask must be bool, got {mask.dtype.name}; compare it with something first")
    rows = nonzero(mask)
    assert rows.data is not None
    return tuple(Value((rows.shape[0],), INT64, np.ascontiguousarray(rows.data[:, axis])) for axis in range(mask.ndim))


@composite(samples=[sample((2, 3), booleans(2, 3)), sample((2, 3), booleans(3))])
def masked_select(x: Value, mask: Value) -> Value:
    """The elements of x where the bool mask is true, in order, as a vector; the two broadcast. Not in graphs."""
    shape = broadcast_shapes(x.shape, mask.shape)
    if not shape:
        x, mask, shape = broadcast_to(x, shape=(1,)), broadcast_to(mask, shape=(1,)), (1,)
    places = places_of(broadcast_to(mask, shape=shape))
    return index_get(broadcast_to(x, shape=shape), *places, axes=tuple(range(len(shape))))
