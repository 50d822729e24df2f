"""The places of true elements. Their number depends on values, so that these ops have no place in a graph."""

from __future__ import annotations

import numpy as np

from engine.core.dtypes import BOOL, INT64
from engine.core.errors import DTypeError, ShapeError
from engine.core.modes import MODES
from engine.core.registry import composite, primitive
from engine.core.samples import booleans, sample
from engine.core.value import Array, Spec, Value
from engine.ops.shape.shape import reshape, slice


def _argwhere(x: Value) -> Spec:
    if x.data is None or MODES.tracing:
        raise ShapeError(
            "nonzero, masked_select and masks as indices give as many elements as there are true ones, which a graph "
            "cannot know beforehand; use where or masked_fill, which keep the shape"
        )
    return Spec((int(np.count_nonzero(x.data)), x.ndim), INT64)


@primitive(shape_rule=_argwhere, data_dependent=True, differentiable=False, samples=[sample(booleans(2, 3))])
def argwhere(x: Array) -> Array:
    """The indices of the elements of x that are not 0, in order, one row for each: [elements, axes]. Not in graphs."""
    return np.argwhere(x)


@composite(data_dependent=True, samples=[sample(booleans(2, 3)), sample(booleans(2, 3), as_tuple=True)])
def nonzero(x: Value, *, as_tuple: bool = False) -> Value | tuple[Value, ...]:
    """The indices of the elements of x that are not 0, in order, one row for each: [elements, axes]. Not in graphs.

    With `as_tuple` one vector for each axis instead; a number counts as a vector of one element.
    """
    if not as_tuple:
        return argwhere(x)
    rows = argwhere(reshape(x, shape=x.shape or (1,)))
    return tuple(
        reshape(slice(rows, axis=1, start=a, stop=a + 1), shape=(rows.shape[0],)) for a in range(rows.shape[1])
    )


def places_of(mask: Value) -> tuple[Value, ...]:
    """Return one vector of indices for each axis of a mask."""
    if mask.dtype != BOOL:
        raise DTypeError(f"a mask must be bool, got {mask.dtype.name}; compare it with something first")
    rows = argwhere(mask)
    assert rows.data is not None
    return tuple(Value((rows.shape[0],), INT64, np.ascontiguousarray(rows.data[:, axis])) for axis in range(mask.ndim))
