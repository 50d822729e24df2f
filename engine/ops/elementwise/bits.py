"""Bitwise logic and shifts of integers."""

from __future__ import annotations

import numpy as np

from engine.core.declarations import PROMOTE_COMMON, Algebra
from engine.core.dtypes import is_float
from engine.core.errors import DTypeError
from engine.core.registry import primitive
from engine.core.samples import booleans, integers, sample
from engine.core.shape_rules import broadcast, same
from engine.core.value import Array, Spec, Value

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


@primitive(
    shape_rule=_whole_pair,
    differentiable=False,
    numerics=PROMOTE_COMMON,
    algebra=Algebra(elementwise=True),
    samples=BIT_PAIRS,
)
def bitwise_and(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """The bits set in both a and b, elementwise with broadcasting."""
    return np.bitwise_and(a, b, out=out)


@primitive(
    shape_rule=_whole_pair,
    differentiable=False,
    numerics=PROMOTE_COMMON,
    algebra=Algebra(elementwise=True),
    samples=BIT_PAIRS,
)
def bitwise_or(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """The bits set in a, in b or in both, elementwise with broadcasting."""
    return np.bitwise_or(a, b, out=out)


@primitive(
    shape_rule=_whole_pair,
    differentiable=False,
    numerics=PROMOTE_COMMON,
    algebra=Algebra(elementwise=True),
    samples=BIT_PAIRS,
)
def bitwise_xor(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """The bits set in exactly one of a and b, elementwise with broadcasting."""
    return np.bitwise_xor(a, b, out=out)


@primitive(
    shape_rule=_whole,
    aliases=("bitwise_invert",),
    differentiable=False,
    algebra=Algebra(elementwise=True),
    samples=[sample(integers(-9, 9, 2, 3)), sample(booleans(3))],
)
def bitwise_not(x: Array, *, out: Array | None = None) -> Array:
    """x with every bit inverted; logical not for bool."""
    return np.bitwise_not(x, out=out)


@primitive(
    shape_rule=_shift,
    aliases=("left_shift",),
    differentiable=False,
    numerics=PROMOTE_COMMON,
    algebra=Algebra(elementwise=True),
    samples=SHIFTS,
)
def bitwise_left_shift(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a shifted left by b bits, elementwise; 0 if b is negative or not less than the number of bits."""
    return np.left_shift(a, b, out=out)


@primitive(
    shape_rule=_shift,
    aliases=("right_shift",),
    differentiable=False,
    numerics=PROMOTE_COMMON,
    algebra=Algebra(elementwise=True),
    samples=SHIFTS,
)
def bitwise_right_shift(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a shifted right by b bits, elementwise, with sign extension; a large b leaves only the sign."""
    return np.right_shift(a, b, out=out)
