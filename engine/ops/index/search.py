"""Distinct elements, indices of true elements, and positions in sorted rows. Without gradients."""

from __future__ import annotations

from typing import Literal

import numpy as np

from engine.core.declarations import PROMOTE_COMMON, CallForms
from engine.core.dtypes import BOOL, INT64
from engine.core.errors import DTypeError, ShapeError
from engine.core.modes import MODES
from engine.core.registry import composite, primitive
from engine.core.samples import Argument, booleans, distinct, integers, sample
from engine.core.shape_rules import normalize_axis, require_integer
from engine.core.value import Array, Shape, Spec, Value
from engine.ops.index.index import gather
from engine.ops.shape.shape import reshape, slice


def _unique_padded(x: Value, *, axis: int | None, consecutive: bool) -> tuple[Spec, Spec, Spec]:
    if axis is None:
        return Spec((x.size,), x.dtype), Spec(x.shape, INT64), Spec((x.size,), INT64)
    if not x.ndim:
        raise ShapeError("unique: a number has no axis to go along; leave `axis` out")
    extent = x.shape[normalize_axis(axis, x.ndim)]
    return x.spec, Spec((extent,), INT64), Spec((extent,), INT64)


@primitive(
    shape_rule=_unique_padded,
    multi_output=True,
    differentiable=False,
    samples=[
        sample(integers(0, 4, 2, 3)),
        sample((3,)),
        sample(integers(0, 2, 2, 5), axis=1),
        sample(integers(0, 2, 6), consecutive=True),
    ],
)
def unique_padded(x: Array, *, axis: int | None = None, consecutive: bool = False) -> tuple[Array, Array, Array]:
    """The distinct elements (or slices of `axis`) of x, the index of each of x among them, and the count of each.

    They are in ascending order, slices lexicographically. Shapes do not depend on data, so that graphs can hold the op:
    values and counts have as many entries as x has elements (or slices), and those after the distinct ones repeat the
    last with a count of 0. `unique` returns the distinct ones alone. With `consecutive` the order of x is kept and only
    equal neighbours are merged.
    """
    rows = (
        x.reshape(-1, 1)
        if axis is None
        else np.moveaxis(x, axis, 0).reshape(x.shape[axis], x.size // max(x.shape[axis], 1))
    )
    order = np.arange(len(rows)) if consecutive else _order(rows)
    ordered = rows[order]
    begins = np.ones(len(rows), bool)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    inverse = np.empty(len(rows), INT64)
    inverse[order] = np.cumsum(begins) - 1
    first = order[begins]
    places = np.pad(first, (0, len(rows) - len(first)), mode="edge") if len(first) else first
    values = x.reshape(-1)[places] if axis is None else np.take(x, places, axis=axis)
    return values, inverse.reshape(x.shape) if axis is None else inverse, np.bincount(inverse, minlength=len(rows))


def _order(rows: Array) -> Array:
    """Return the lexicographic order of rows; the sort is stable."""
    if rows.shape[1] == 1:
        return np.argsort(rows[:, 0], kind="stable")
    return np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))


@composite(
    data_dependent=True,
    call=CallForms(by_place=()),
    samples=[
        sample(integers(0, 4, 2, 3)),
        sample(integers(0, 2, 2, 5), axis=1, return_inverse=True, return_counts=True),
    ],
)
def unique(
    x: Value, *, axis: int | None = None, return_inverse: bool = False, return_counts: bool = False
) -> Value | tuple[Value, ...]:
    """The distinct elements of x as a vector, or its distinct slices along `axis`, in ascending order. Not in graphs.

    With `return_inverse` also the index of each element (or slice) of x among them, with `return_counts` also the count
    of each, both int64, in this order. Each NaN is distinct. In graphs, use `unique_padded`, whose shape is fixed.
    """
    return _distinct(x, axis, False, return_inverse, return_counts)


@composite(
    data_dependent=True,
    call=CallForms(by_place=()),
    samples=[sample(integers(0, 2, 6)), sample(integers(0, 2, 5, 1), axis=0, return_counts=True)],
)
def unique_consecutive(
    x: Value, *, axis: int | None = None, return_inverse: bool = False, return_counts: bool = False
) -> Value | tuple[Value, ...]:
    """x as a vector, or its slices along `axis`, with equal neighbours merged; results as unique. Not in graphs."""
    return _distinct(x, axis, True, return_inverse, return_counts)


def _distinct(
    x: Value, axis: int | None, consecutive: bool, return_inverse: bool, return_counts: bool
) -> Value | tuple[Value, ...]:
    if x.data is None or MODES.tracing:
        raise ShapeError(
            "unique gives as many elements as there are distinct ones, which is not known when a graph is built; use "
            "unique_padded, which keeps the shape"
        )
    values, inverse, counts = unique_padded(x, axis=axis, consecutive=consecutive)
    assert counts.data is not None
    found = int(np.count_nonzero(counts.data))
    results = [slice(values, axis=0 if axis is None else axis, stop=found)]
    results += [inverse] * return_inverse + [slice(counts, axis=0, stop=found)] * return_counts
    return results[0] if len(results) == 1 else tuple(results)


def _row_places(boundaries: Value, values: Value, *, right: bool) -> Spec:
    if not boundaries.ndim or (boundaries.ndim > 1 and boundaries.shape[:-1] != values.shape[:-1]):
        raise ShapeError(
            f"searchsorted: sorted rows of shape {list(boundaries.shape)} must be one row, or agree with the values' "
            f"shape {list(values.shape)} in all axes but the last"
        )
    return Spec(values.shape, INT64)


@primitive(
    shape_rule=_row_places,
    differentiable=False,
    numerics=PROMOTE_COMMON,
    samples=[sample(integers(0, 1, 4), integers(-1, 2, 2, 3)), sample(distinct(2, 1), (2, 3), right=True)],
)
def row_places(boundaries: Array, values: Array, *, right: bool = False) -> Array:
    """The insertion index of each value in the sorted last axis of `boundaries`: see searchsorted."""
    side: Literal["left", "right"] = "right" if right else "left"
    if boundaries.ndim == 1:
        return np.asarray(np.searchsorted(boundaries, values, side=side))
    found = np.empty(values.shape, INT64)
    for row in np.ndindex(values.shape[:-1]):
        found[row] = np.searchsorted(boundaries[row], values[row], side=side)
    return found


def _orders(*shape: int) -> Argument:
    """Draw a permutation of the last axis for each row."""

    def draw(generator: np.random.Generator, shape: Shape) -> Array:
        return np.argsort(generator.standard_normal(shape), axis=-1)

    return Argument(shape, draw)


@composite(
    call=CallForms(by_place=()),
    samples=[
        sample(integers(0, 1, 4), integers(-1, 2, 2, 3)),
        sample(distinct(2, 1), (2, 3), right=True),
        sample(integers(0, 1, 2, 4), (2, 3), _orders(2, 4)),
    ],
)
def searchsorted(boundaries: Value, values: Value, sorter: Value | None = None, *, right: bool = False) -> Value:
    """The insertion index of each value in the sorted last axis of `boundaries`: before equal ones, after with `right`.

    `sorter`, of the same shape, holds the indices that sort unsorted rows (see argsort).
    """
    if sorter is not None:
        require_integer("searchsorted", "indices as sorter", sorter)
        if sorter.shape != boundaries.shape or not boundaries.ndim:
            raise ShapeError(
                f"searchsorted: the sorter {list(sorter.shape)} must have the shape of the boundaries "
                f"{list(boundaries.shape)}, with at least one axis"
            )
        boundaries = gather(boundaries, sorter, axis=-1)
    return row_places(boundaries, values, right=right)


@composite(
    call=CallForms(by_place=()),
    samples=[sample((2, 3), distinct(1)), sample(integers(0, 9, 4), integers(3, 4, 2), right=True)],
)
def bucketize(x: Value, boundaries: Value, *, right: bool = False) -> Value:
    """The index of the bucket, between ascending `boundaries`, that each element falls in (see searchsorted)."""
    if boundaries.ndim != 1:
        raise ShapeError(f"bucketize needs a vector of boundaries, got shape {list(boundaries.shape)}")
    return searchsorted(boundaries, x, right=right)


def _argwhere(x: Value) -> Spec:
    if x.data is None or MODES.tracing:
        raise ShapeError(
            "nonzero, masked_select and masks as indices give as many elements as there are true ones, which is "
            "not known when a graph is built; use where or masked_fill, which keep the shape"
        )
    return Spec((int(np.count_nonzero(x.data)), x.ndim), INT64)


@primitive(shape_rule=_argwhere, data_dependent=True, differentiable=False, samples=[sample(booleans(2, 3))])
def argwhere(x: Array) -> Array:
    """The indices of the nonzero elements of x in order, as rows: [elements, axes]. Not in graphs."""
    return np.argwhere(x)


@composite(data_dependent=True, samples=[sample(booleans(2, 3)), sample(booleans(2, 3), as_tuple=True)])
def nonzero(x: Value, *, as_tuple: bool = False) -> Value | tuple[Value, ...]:
    """The indices of the nonzero elements of x in order, as rows: [elements, axes]. Not in graphs.

    With `as_tuple` one vector for each axis instead; a scalar is treated as a vector of one element.
    """
    if not as_tuple:
        return argwhere(x)
    rows = argwhere(reshape(x, shape=x.shape or (1,)))
    return tuple(
        reshape(slice(rows, axis=1, start=a, stop=a + 1), shape=(rows.shape[0],)) for a in range(rows.shape[1])
    )


def indices_of_true(mask: Value) -> tuple[Value, ...]:
    """Return one vector of indices for each axis of a mask."""
    if mask.dtype != BOOL:
        raise DTypeError(f"a mask must be bool, got {mask.dtype.name}; compare it with something first")
    rows = argwhere(mask)
    assert rows.data is not None
    return tuple(Value((rows.shape[0],), INT64, np.ascontiguousarray(rows.data[:, axis])) for axis in range(mask.ndim))
