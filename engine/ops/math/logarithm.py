"""Exponentials and logarithms to other bases, logarithms of sums, and x log y with 0 log 0 = 0."""

from __future__ import annotations

import math

import numpy as np

from engine.core.declarations import Numerics
from engine.core.registry import primitive
from engine.core.samples import normal, positive, sample, uniform
from engine.core.shape_rules import broadcast, same
from engine.core.value import Array, Value
from engine.ops.activation.activation import sigmoid
from engine.ops.elementwise.comparison import eq, le, where
from engine.ops.elementwise.elementwise import exp, log, log1p
from engine.ops.kernels.blocks import stored
from engine.ops.reduce.reduce import finite_floor

LN_2, LN_10 = math.log(2), math.log(10)
POSITIVES = [sample(positive(2, 3)), sample(positive())]
SUMS = [sample((2, 3), (3,)), sample((), (4,)), sample((3,), (3,), zero_grad_at_neg_inf=True)]


@primitive(
    shape_rule=same, numerics=Numerics(promotion="float", autocast="float32"), samples=[sample((2, 3)), sample(())]
)
def exp2(x: Array, *, out: Array | None = None) -> Array:
    """2 to the power x."""
    return np.exp2(x, out=out)


exp2.vjp(lambda g, y, x: g * (y * LN_2))


@primitive(shape_rule=same, numerics=Numerics(promotion="float", autocast="float32"), samples=POSITIVES)
def log2(x: Array, *, out: Array | None = None) -> Array:
    """Logarithm to base 2."""
    return np.log2(x, out=out)


log2.vjp(lambda g, y, x: g / (x * LN_2))


@primitive(shape_rule=same, numerics=Numerics(promotion="float", autocast="float32"), samples=POSITIVES)
def log10(x: Array, *, out: Array | None = None) -> Array:
    """Logarithm to base 10."""
    return np.log10(x, out=out)


log10.vjp(lambda g, y, x: g / (x * LN_10))


@primitive(shape_rule=broadcast, numerics=Numerics(promotion="float", autocast="float32"), samples=SUMS)
def logaddexp(a: Array, b: Array, *, zero_grad_at_neg_inf: bool = False, out: Array | None = None) -> Array:
    """log(exp(a) + exp(b)) without overflow.

    The gradients where both are -inf are NaN, as in PyTorch, or 0 with `zero_grad_at_neg_inf`.
    """
    return np.logaddexp(a, b, out=out)


@logaddexp.vjp
def _(g: Value, y: Value, a: Value, b: Value, *, zero_grad_at_neg_inf: bool) -> object:
    if zero_grad_at_neg_inf:
        return lambda: g * exp(a - finite_floor(y)), lambda: g * exp(b - finite_floor(y))
    return lambda: g * sigmoid(a - b), lambda: g * sigmoid(b - a)


@primitive(shape_rule=broadcast, numerics=Numerics(promotion="float", autocast="float32"), samples=SUMS)
def logaddexp2(a: Array, b: Array, *, zero_grad_at_neg_inf: bool = False, out: Array | None = None) -> Array:
    """log2(2**a + 2**b) without overflow.

    The gradients where both are -inf are NaN, as in PyTorch, or 0 with `zero_grad_at_neg_inf`.
    """
    return np.logaddexp2(a, b, out=out)


@logaddexp2.vjp
def _(g: Value, y: Value, a: Value, b: Value, *, zero_grad_at_neg_inf: bool) -> object:
    if zero_grad_at_neg_inf:
        return lambda: g * exp2(a - finite_floor(y)), lambda: g * exp2(b - finite_floor(y))
    return lambda: g * sigmoid((a - b) * LN_2), lambda: g * sigmoid((b - a) * LN_2)


def _times_log(a: Array, b: Array, logarithm: np.ufunc, out: Array | None) -> Array:
    return stored(np.where((a == 0) & ~np.isnan(b), 0, a * logarithm(b)), out)


@primitive(
    shape_rule=broadcast,
    numerics=Numerics(promotion="float", autocast="float32"),
    samples=[sample((2, 3), positive(3)), sample(normal(), positive(4))],
)
def xlogy(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a log(b), and 0 where a is 0 (unless b is NaN), elementwise with broadcasting."""
    return _times_log(a, b, np.log, out)


@xlogy.vjp
def _(g: Value, y: Value, a: Value, b: Value) -> object:
    def left() -> Value:
        flat = eq(a, 0.0) & le(b, 0.0)
        return where(flat, 0.0, g * log(where(flat, 1.0, b)))

    return left, lambda: g * a / b


@primitive(
    shape_rule=broadcast,
    numerics=Numerics(promotion="float", autocast="float32"),
    samples=[sample((2, 3), uniform(-0.5, 2.0, 3))],
)
def xlog1py(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a log(1 + b), and 0 where a is 0 (unless b is NaN), elementwise with broadcasting."""
    return _times_log(a, b, np.log1p, out)


@xlog1py.vjp
def _(g: Value, y: Value, a: Value, b: Value) -> object:
    def left() -> Value:
        flat = eq(a, 0.0) & le(b, -1.0)
        return where(flat, 0.0, g * log1p(where(flat, 0.0, b)))

    return left, lambda: g * a / (b + 1.0)
