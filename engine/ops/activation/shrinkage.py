"""Activations with a learnt or a flat part: prelu, celu, xielu, and the shrinkages. The gradients at the kinks are
PyTorch's."""

from __future__ import annotations

import math

import numpy as np

from engine.core.batching import Call, Outputs, by_itself, each, folded
from engine.core.declarations import Numerics
from engine.core.dtypes import is_float
from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import away_from, normal, sample
from engine.core.value import Array, Shape, Spec, Value
from engine.ops.activation.activation import softplus
from engine.ops.elementwise.comparison import gt, lt, where
from engine.ops.elementwise.elementwise import clamp, exp, expm1, square, tanh
from engine.ops.kernels.blocks import stored
from engine.ops.reduce.reduce import sum_to
from engine.ops.shape.shape import reshape

KINKED = [sample(away_from((0.0,), 2, 3)), sample(away_from((0.0,)))]


def _prelu(x: Value, weight: Value) -> Spec:
    channels = x.shape[1] if x.ndim > 1 else 1
    if weight.ndim > 1 or weight.size not in (1, channels):
        raise ShapeError(
            f"prelu: weight has shape {list(weight.shape)}, the input {list(x.shape)} has {channels} channels on "
            f"axis 1: the weight needs one element, or shape [{channels}]"
        )
    return x.spec


def _spread(weight: Shape, ndim: int) -> Shape:
    """The shape in which a weight broadcasts over the channels, axis 1 of x."""
    size = math.prod(weight)
    return () if size == 1 else (1, size, *(1,) * (ndim - 2))


@primitive(
    shape_rule=_prelu,
    numerics=Numerics(promotion="float", autocast="half"),
    samples=[
        sample(away_from((0.0,), 2, 3), normal(3)),
        sample(away_from((0.0,), 2, 3, 2), normal(3)),
        sample(away_from((0.0,), 4), normal(1)),
        sample(away_from((0.0,), 4), normal()),
    ],
)
def prelu(x: Array, weight: Array, *, out: Array | None = None) -> Array:
    """x where x > 0, else weight x: one learnt slope for everything, or one for each channel (axis 1; He et al. 2015).

    At 0 the gradient by x is the slope.
    """
    return stored(np.where(x > 0, x, weight.reshape(_spread(weight.shape, x.ndim)) * x), out)


@prelu.batch
def _(call: Call) -> Outputs:
    if call.batched[1]:
        return each(call)
    return folded(0)(call) if call.rank(0) > 1 else call.again(*call.inputs)


@prelu.vjp
def _(g: Value, y: Value, x: Value, weight: Value) -> object:
    shape = _spread(weight.shape, x.ndim)
    positive = gt(x, 0.0)

    def weights() -> Value:
        return reshape(sum_to(where(positive, 0.0, g * x), shape=shape), shape=weight.shape)

    return lambda: where(positive, g, g * reshape(weight, shape=shape)), weights


def _celu(x: Value, *, alpha: float) -> Spec:
    if alpha == 0:
        raise AttributeValueError("celu: alpha must not be 0")
    return x.spec


@primitive(
    shape_rule=_celu, numerics=Numerics(promotion="float"), samples=[*KINKED, sample(away_from((0.0,), 4), alpha=0.7)]
)
def celu(x: Array, *, alpha: float = 1.0, out: Array | None = None) -> Array:
    """x where x > 0, else alpha (exp(x / alpha) - 1), whose gradient is continuous (Barron 2017)."""
    return stored(np.where(x > 0, x, np.expm1(np.minimum(x, 0) / alpha) * alpha), out)


celu.batch(by_itself)


celu.vjp(lambda g, y, x, *, alpha: g * where(gt(x, 0.0), 1.0, exp(where(lt(x, 0.0), x, 0.0) / alpha)))


@composite(
    numerics=Numerics(compute_float32=True),
    samples=[
        sample(away_from((0.0,), 2, 3), normal(), normal(1)),
        sample(away_from((-0.5, 0.0), 4), normal(), normal(), beta=0.3, eps=-0.5),
    ],
)
def xielu(x: Value, alpha_n: Value, alpha_p: Value, *, beta: float = 0.5, eps: float = -1e-6) -> Value:
    """Expanded integral of elu, with two learnt numbers kept positive by softplus (Huang & Schlag 2024; ggml).

    softplus(alpha_p) x² + beta x where x > 0, else (beta + softplus(alpha_n)) (exp(min(x, eps)) - 1 - x) + beta x.
    """
    if not is_float(x.dtype):
        raise DTypeError(f"xielu needs a floating input, got {x.dtype.name}; cast it to float32")
    for name, alpha in (("alpha_n", alpha_n), ("alpha_p", alpha_p)):
        if alpha.size != 1:
            raise ShapeError(f"xielu: {name} has shape {list(alpha.shape)}: it must hold one element")
    negative = reshape(softplus(alpha_n), shape=()) + beta
    positive = reshape(softplus(alpha_p), shape=())
    curved = where(gt(x, 0.0), positive * square(x), negative * (expm1(clamp(x, max=eps)) - x))
    return curved + x * beta


def _positive_width(x: Value, *, lambd: float) -> Spec:
    if lambd < 0:
        raise AttributeValueError(f"lambd {lambd} must not be negative")
    return x.spec


SHRINKABLE = [sample(away_from((-0.5, 0.5), 2, 3)), sample(away_from((-1.0, 1.0), 4), lambd=1.0)]


@primitive(shape_rule=_positive_width, numerics=Numerics(promotion="float"), samples=SHRINKABLE)
def hardshrink(x: Array, *, lambd: float = 0.5, out: Array | None = None) -> Array:
    """x where |x| > lambd, else 0."""
    return stored(np.where(np.abs(x) <= lambd, 0, x), out)


hardshrink.batch(by_itself)


hardshrink.vjp(lambda g, y, x, *, lambd: where((x >= -lambd) & (x <= lambd), 0.0, g))


@primitive(shape_rule=_positive_width, numerics=Numerics(promotion="float"), samples=SHRINKABLE)
def softshrink(x: Array, *, lambd: float = 0.5, out: Array | None = None) -> Array:
    """x moved towards 0 by lambd, and 0 where |x| <= lambd."""
    result: Array = np.subtract(x, np.clip(x, -lambd, lambd), out=out)
    return result


softshrink.batch(by_itself)


softshrink.vjp(lambda g, y, x, *, lambd: where((x >= -lambd) & (x <= lambd), 0.0, g))


@composite(numerics=Numerics(compute_float32=True), samples=[sample((2, 3)), sample(())])
def tanhshrink(x: Value) -> Value:
    """x - tanh(x)."""
    return x - tanh(x)
