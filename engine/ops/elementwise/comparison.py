"""Comparisons, choice, and logic on truth values and on bits. Only `where` carries a gradient."""

from __future__ import annotations

import numpy as np

from engine.core.batching import by_itself
from engine.core.declarations import PROMOTE_COMMON, Numerics
from engine.core.dtypes import is_float
from engine.core.errors import DTypeError
from engine.core.registry import primitive
from engine.core.samples import booleans, integers, sample
from engine.core.shape_rules import broadcast, broadcast_bool, broadcast_shapes, same, same_bool
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
    samples=[sample(booleans(2, 3), (3,), (2, 3)), sample(booleans(3), (), (2, 3))],
)
def where(condition: Array, a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a where the condition holds, else b; the branch not taken gets gradient 0."""
    if out is None:
        return np.where(condition, a, b)
    np.copyto(out, b)
    np.copyto(out, a, where=condition)
    return out


where.batch(by_itself)


where.vjp(lambda g, y, condition, a, b: (None, lambda: where(condition, g, 0.0), lambda: where(condition, 0.0, g)))


BIT_PAIRS = [sample(integers(-9, 9, 2, 3), integers(0, 9, 3)), sample(booleans(2, 3), booleans(3))]
SHIFTS = [sample(integers(-9, 9, 2, 3), integers(0, 5, 3))]


def _whole(x: Value) -> Spec:
    if is_float(x.dtype):
        raise DTypeError(f"operations on bits need integers or bool, got {x.dtype.name}; cast it to int64")
    return same(x)


def _whole_pair(a: Value, b: Value) -> Spec:
    _whole(a)
    return broadcast(a, b)


def _shift(a: Value, b: Value) -> Spec:
    if a.dtype.kind == "b":
        raise DTypeError("a shift needs integers, got bool; cast it to int64")
    return _whole_pair(a, b)


@primitive(shape_rule=broadcast_bool, differentiable=False, samples=[sample(booleans(2, 3), booleans(3))])
def logical_xor(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """Whether exactly one of a and b holds (numbers count as true unless 0), elementwise with broadcasting."""
    return np.logical_xor(a, b, out=out)


@primitive(shape_rule=_whole_pair, differentiable=False, numerics=PROMOTE_COMMON, samples=BIT_PAIRS)
def bitwise_and(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """The bits set in both a and b, elementwise with broadcasting."""
    return np.bitwise_and(a, b, out=out)


bitwise_and.batch(by_itself)


@primitive(shape_rule=_whole_pair, differentiable=False, numerics=PROMOTE_COMMON, samples=BIT_PAIRS)
def bitwise_or(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """The bits set in a, in b or in both, elementwise with broadcasting."""
    return np.bitwise_or(a, b, out=out)


bitwise_or.batch(by_itself)


@primitive(shape_rule=_whole_pair, differentiable=False, numerics=PROMOTE_COMMON, samples=BIT_PAIRS)
def bitwise_xor(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """The bits set in exactly one of a and b, elementwise with broadcasting."""
    return np.bitwise_xor(a, b, out=out)


bitwise_xor.batch(by_itself)


@primitive(
    shape_rule=_whole,
    aliases=("bitwise_invert",),
    differentiable=False,
    samples=[sample(integers(-9, 9, 2, 3)), sample(booleans(3))],
)
def bitwise_not(x: Array, *, out: Array | None = None) -> Array:
    """x with every bit turned over; not x for bool."""
    return np.bitwise_not(x, out=out)


bitwise_not.batch(by_itself)


@primitive(shape_rule=_shift, aliases=("left_shift",), differentiable=False, numerics=PROMOTE_COMMON, samples=SHIFTS)
def bitwise_left_shift(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """The bits of a moved b places up, elementwise; 0 when b is negative or not less than the number of bits."""
    return np.left_shift(a, b, out=out)


bitwise_left_shift.batch(by_itself)


@primitive(shape_rule=_shift, aliases=("right_shift",), differentiable=False, numerics=PROMOTE_COMMON, samples=SHIFTS)
def bitwise_right_shift(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """The bits of a moved b places down, elementwise, keeping the sign; only the sign is left once all are out."""
    return np.right_shift(a, b, out=out)


bitwise_right_shift.batch(by_itself)
