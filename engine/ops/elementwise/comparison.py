"""Comparisons, choice, and logic on truth values. Only `where` carries a gradient."""

from __future__ import annotations

import numpy as np

from engine.core.batching import by_itself
from engine.core.declarations import PROMOTE_COMMON, Numerics
from engine.core.errors import DTypeError
from engine.core.registry import primitive
from engine.core.samples import booleans, sample
from engine.core.shape_rules import broadcast_bool, broadcast_shapes, same_bool
from engine.core.sharding_rules import ELEMENTWISE
from engine.core.value import Array, Spec, Value

PAIRS = [sample((2, 3), (3,)), sample((), (4,))]
LOGICAL = [sample(booleans(2, 3), booleans(3))]


@primitive(shape_rule=broadcast_bool, differentiable=False, numerics=PROMOTE_COMMON, samples=PAIRS)
def eq(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a == b."""
    return np.equal(a, b, out=out)


@primitive(shape_rule=broadcast_bool, differentiable=False, numerics=PROMOTE_COMMON, samples=PAIRS)
def ne(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a != b."""
    return np.not_equal(a, b, out=out)


@primitive(shape_rule=broadcast_bool, differentiable=False, numerics=PROMOTE_COMMON, samples=PAIRS)
def lt(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a < b."""
    return np.less(a, b, out=out)


@primitive(shape_rule=broadcast_bool, differentiable=False, numerics=PROMOTE_COMMON, samples=PAIRS)
def le(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a <= b."""
    return np.less_equal(a, b, out=out)


@primitive(shape_rule=broadcast_bool, differentiable=False, numerics=PROMOTE_COMMON, samples=PAIRS)
def gt(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a > b."""
    return np.greater(a, b, out=out)


@primitive(shape_rule=broadcast_bool, differentiable=False, numerics=PROMOTE_COMMON, samples=PAIRS)
def ge(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a >= b."""
    return np.greater_equal(a, b, out=out)


@primitive(shape_rule=broadcast_bool, differentiable=False, samples=LOGICAL)
def logical_and(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a and b, elementwise (numbers count as true unless 0)."""
    return np.logical_and(a, b, out=out)


@primitive(shape_rule=broadcast_bool, differentiable=False, samples=LOGICAL)
def logical_or(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a or b, elementwise (numbers count as true unless 0)."""
    return np.logical_or(a, b, out=out)


@primitive(shape_rule=same_bool, differentiable=False, samples=[sample(booleans(2, 3))])
def logical_not(x: Array, *, out: Array | None = None) -> Array:
    """not x, elementwise (numbers count as true unless 0)."""
    return np.logical_not(x, out=out)


@primitive(
    shape_rule=same_bool, differentiable=False, numerics=Numerics(handles_missing=True), samples=[sample((2, 3))]
)
def isnan(x: Array, *, out: Array | None = None) -> Array:
    """Whether x is NaN."""
    return np.isnan(x, out=out)


@primitive(
    shape_rule=same_bool, differentiable=False, numerics=Numerics(handles_missing=True), samples=[sample((2, 3))]
)
def isfinite(x: Array, *, out: Array | None = None) -> Array:
    """Whether x is neither NaN nor infinite."""
    return np.isfinite(x, out=out)


def _choice(condition: Value, a: Value, b: Value) -> Spec:
    if condition.dtype != np.bool_:
        raise DTypeError(f"where needs a bool condition, got {condition.dtype.name}; compare it with something first")
    return Spec(broadcast_shapes(condition.shape, a.shape, b.shape), a.dtype)


@primitive(
    shape_rule=_choice,
    numerics=Numerics(promotion="common", promote_from=1, handles_missing=True),
    sharding=ELEMENTWISE,
    batching=by_itself,
    samples=[sample(booleans(2, 3), (3,), (2, 3)), sample(booleans(3), (), (2, 3))],
)
def where(condition: Array, a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a where the condition holds, else b; the branch not taken gets gradient 0."""
    if out is None:
        return np.where(condition, a, b)
    np.copyto(out, b)
    np.copyto(out, a, where=condition)
    return out


where.vjp(lambda g, y, condition, a, b: (None, lambda: where(condition, g, 0.0), lambda: where(condition, 0.0, g)))


@primitive(shape_rule=broadcast_bool, differentiable=False, samples=[sample(booleans(2, 3), booleans(3))])
def logical_xor(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """Whether exactly one of a and b holds (numbers count as true unless 0), elementwise with broadcasting."""
    return np.logical_xor(a, b, out=out)
