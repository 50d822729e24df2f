"""Selecting elements by a mask: the result has a shape that depends on values, so it has no place in a graph."""

from __future__ import annotations

from engine.core.registry import composite
from engine.core.samples import booleans, sample
from engine.core.shape_rules import broadcast_shapes
from engine.core.value import Value
from engine.ops.advanced_index import index_get
from engine.ops.places import places_of
from engine.ops.shape import broadcast_to


@composite(data_dependent=True, samples=[sample((2, 3), booleans(2, 3)), sample((2, 3), booleans(3))])
def masked_select(x: Value, mask: Value) -> Value:
    """The elements of x where the bool mask is true, in order, as a vector; the two broadcast. Not in graphs."""
    shape = broadcast_shapes(x.shape, mask.shape)
    if not shape:
        x, mask, shape = broadcast_to(x, shape=(1,)), broadcast_to(mask, shape=(1,)), (1,)
    places = places_of(broadcast_to(mask, shape=shape))
    return index_get(broadcast_to(x, shape=shape), *places, axes=tuple(range(len(shape))))
