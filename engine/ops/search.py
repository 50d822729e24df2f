"""Finding elements again: the distinct ones, and places in sorted rows. Forward only."""

from __future__ import annotations

from typing import Literal

import numpy as np

from engine.dtypes import INT64
from engine.errors import ShapeError
from engine.registry import composite, primitive
from engine.samples import distinct, integers, sample
from engine.value import Array, Spec, Value


def _unique(x: Value) -> tuple[Spec, Spec, Spec]:
    return Spec((x.size,), x.dtype), Spec(x.shape, INT64), Spec((x.size,), INT64)


@primitive(infer=_unique, several=True, differentiable=False, samples=[sample(integers(0, 4, 2, 3)), sample((3,))])
def unique(x: Array) -> tuple[Array, Array, Array]:
    """The distinct elements in increasing order, the index of each element of x among them, and how often each occurs.

    Shapes do not depend on data here: values and counts have as many places as x has elements, and those after the
    distinct elements repeat the last one with a count of 0.
    """
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True, equal_nan=False)
    spare = (0, x.size - values.size)
    padded = np.pad(values, spare, mode="edge") if values.size else values
    return padded, inverse.reshape(x.shape).astype(INT64), np.pad(counts, spare).astype(INT64)


def _search(boundaries: Value, values: Value, *, right: bool) -> Spec:
    if not boundaries.ndim or (boundaries.ndim > 1 and boundaries.shape[:-1] != values.shape[:-1]):
        raise ShapeError(
            f"searchsorted: sorted rows of shape {list(boundaries.shape)} must be one row, or agree with the values' "
            f"shape {list(values.shape)} in all axes but the last"
        )
    return Spec(values.shape, INT64)


@primitive(
    infer=_search,
    promotion="common",
    differentiable=False,
    samples=[sample(integers(0, 1, 4), integers(-1, 2, 2, 3)), sample(distinct(2, 1), (2, 3), right=True)],
)
def searchsorted(boundaries: Array, values: Array, *, right: bool = False) -> Array:
    """Where each value would go into the sorted last axis of `boundaries`: before its equals, or after when `right`."""
    side: Literal["left", "right"] = "right" if right else "left"
    if boundaries.ndim == 1:
        return np.asarray(np.searchsorted(boundaries, values, side=side))
    found = np.empty(values.shape, INT64)
    for row in np.ndindex(values.shape[:-1]):
        found[row] = np.searchsorted(boundaries[row], values[row], side=side)
    return found


@composite(samples=[sample((2, 3), distinct(1)), sample(integers(0, 9, 4), integers(3, 4, 2), right=True)])
def bucketize(x: Value, boundaries: Value, *, right: bool = False) -> Value:
    """Number of the bucket, between increasing `boundaries`, that each element falls in (see searchsorted)."""
    if boundaries.ndim != 1:
        raise ShapeError(f"bucketize needs a vector of boundaries, got shape {list(boundaries.shape)}")
    return searchsorted(boundaries, x, right=right)
