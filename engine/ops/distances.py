"""Distances between vectors by the p-norm, and vectors limited in length."""

from __future__ import annotations

import numpy as np

from engine.core.declarations import CallForms, Numerics
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.modes import charge_table
from engine.core.registry import composite
from engine.core.samples import sample
from engine.core.shape_rules import broadcast_shapes, normalize_axis, require_rank
from engine.core.value import Value, as_value
from engine.ops.compare import gt, where
from engine.ops.index import embedding
from engine.ops.lengths import Power, norm
from engine.ops.shape import broadcast_to, unsqueeze


@composite(
    numerics=Numerics(autocast="float32"), samples=[sample((2, 3), (2, 3)), sample((3,), (2, 3), p=1.0, keepdims=True)]
)
def pairwise_distance(a: Value, b: Value, *, p: Power = 2.0, eps: float = 1e-6, keepdims: bool = False) -> Value:
    """The p-norm of a - b + eps over the last axis, with broadcasting."""
    return norm(a - b + eps, p=p, axis=-1, keepdims=keepdims)


@composite(
    numerics=Numerics(autocast="float32"),
    samples=[sample((2, 3), (4, 3)), sample((2, 2, 3), (1, 3, 3), p=3.0), sample((2, 3), (2, 3), p="inf")],
)
def cdist(a: Value, b: Value, *, p: Power = 2.0) -> Value:
    """The p-norms [..., m, n] of the differences of all rows of a [..., m, k] and b [..., n, k]; batches broadcast.

    Takes memory for all differences, m n k numbers a batch. The gradient at a distance of 0 is 0.
    """
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-1]:
        raise ShapeError(
            f"cdist needs rows of one length, [..., m, k] and [..., n, k], got {list(a.shape)} and {list(b.shape)}"
        )
    lead = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (broadcast_to(x, shape=(*lead, *x.shape[-2:])) for x in (a, b))
    return norm(unsqueeze(a, axis=-2) - unsqueeze(b, axis=-3), p=p, axis=-1)


@composite(numerics=Numerics(autocast="float32"), samples=[sample((3, 2)), sample((4, 2), p=1.0)])
def pdist(x: Value, *, p: Power = 2.0) -> Value:
    """The p-norms of the differences of each row of the matrix x and those after it, as a vector."""
    require_rank("pdist", "a matrix", x, 2)
    charge_table("pdist", x.shape[0], x.shape[0])
    first, second = (as_value(places) for places in np.triu_indices(x.shape[0], 1))
    return norm(embedding(x, first) - embedding(x, second), p=p, axis=-1)


@composite(numerics=Numerics(autocast="float32"), samples=[sample((2, 3), (3,)), sample((4,), (4,), p=1.0)])
def dist(a: Value, b: Value, *, p: Power = 2.0) -> Value:
    """The p-norm of a - b over all elements, with broadcasting."""
    return norm(a - b, p=p)


@composite(
    call=CallForms(by_place=("p", "axis", "largest")),
    numerics=Numerics(autocast="float32"),
    samples=[sample((2, 3, 2), axis=1, largest=0.5), sample((3, 2), axis=0, largest=9.0, p=1.0)],
)
def renorm(x: Value, *, axis: int, largest: float, p: Power = 2.0) -> Value:
    """x with each slice of `axis` whose p-norm is above `largest` brought to that length."""
    if largest < 0 or x.ndim < 2:
        raise (
            AttributeValueError(f"renorm: largest {largest} must be at least 0")
            if x.ndim > 1
            else ShapeError(f"renorm needs an input with at least two axes, got {list(x.shape)}")
        )
    place = normalize_axis(axis, x.ndim)
    length = norm(x, p=p, axis=tuple(a for a in range(x.ndim) if a != place), keepdims=True)
    # 1e-7 as in PyTorch, where it guards the division.
    return x * where(gt(length, largest), largest / (length + 1e-7), 1.0)
