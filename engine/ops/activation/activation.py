"""Activations of one number: rectifiers, sigmoids, shrinkages. The gradients at the kinks are PyTorch's."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from engine.core.attributes import NonNegative, Positive
from engine.core.batching import Call, Outputs, each, folded
from engine.core.declarations import COMPUTE_FLOAT32, PRECISE_FUNCTION, PROMOTE_COMMON, PROMOTE_FLOAT, Algebra, Numerics
from engine.core.dtypes import FLOAT16, FLOAT32, FLOAT64, INT64, DType, is_float
from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import away_from, normal, sample
from engine.core.shape_rules import broadcast, same
from engine.core.sharding_rules import batch_axes
from engine.core.value import Array, Shape, Spec, Value
from engine.ops.elementwise.comparison import gt, lt, where
from engine.ops.elementwise.elementwise import abs, clamp, clip_array, exp, expm1, square, tanh
from engine.ops.kernels.blocks import BLOCK, blockwise, number, store_result
from engine.ops.reduce.reduce import sum_to
from engine.ops.shape.shape import reshape

SHAPES = [sample((2, 3)), sample(())]
KINKED = [sample(away_from((0.0,), 2, 3)), sample(away_from((0.0,)))]
SMALL = 1024
"""Number of elements up to which one NumPy call is faster than several vectorised ones."""
BITS: dict[int, DType] = {4: np.dtype(np.int32), 8: INT64}
"""The integer dtype of the same size, by size in bytes."""
ONE = np.array(1, np.int8)
SELU_SCALE, SELU_ALPHA = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717


@primitive(shape_rule=same, numerics=PROMOTE_COMMON, samples=KINKED)
def relu(x: Array, *, out: Array | None = None) -> Array:
    """max(x, 0); the gradient at 0 is 0."""
    if x.size <= SMALL or x.dtype not in (FLOAT32, FLOAT64):
        return np.maximum(x, number(0, x.dtype), out=out)
    if x.size <= BLOCK:
        return np.maximum(x, np.zeros(x.shape, x.dtype), out=out)
    zeros = np.zeros(min(x.size, BLOCK), x.dtype)
    return blockwise(partial(_rectify, zeros), (x,), out)


def _rectify(zeros: Array, y: Array, x: Array) -> None:
    np.maximum(x, zeros[: x.size].reshape(x.shape), out=y)  # NumPy's maximum with a scalar is not vectorised


@relu.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    return relu_backward(g, y)


def _keep_where_positive(out: Array, g: Array, y: Array) -> None:
    # The bits of g under an integer mask (-1 or 0): as fast as a product, and right when g is infinite or NaN.
    bits = BITS[g.itemsize]
    mask = np.less_equal(y, 0).view(np.int8)
    np.subtract(mask, ONE, out=mask)
    np.bitwise_and(g.view(bits), mask, out=out.view(bits))


@primitive(shape_rule=broadcast, numerics=PROMOTE_FLOAT, samples=[sample((2, 3), away_from((0.0,), 2, 3))])
def relu_backward(g: Array, y: Array, *, out: Array | None = None) -> Array:
    """g where y > 0 (or is NaN), else 0: the gradient of relu, given its output y."""
    if g.size <= SMALL and g.shape == y.shape:
        zero = number(0, g.dtype)
        dropped = np.less_equal(y, zero)  # before the first write: out may be y
        kept = g.copy() if out is None else _into(out, g)
        np.putmask(kept, dropped, zero)
        return kept
    if out is not None and g.size <= BLOCK and g.itemsize in BITS and g.shape == y.shape and out.flags.c_contiguous:
        _keep_where_positive(out, np.ascontiguousarray(g), y)
        return out
    return blockwise(_keep_where_positive, (g, y), out)


def _into(out: Array, result: Array) -> Array:
    np.copyto(out, result)
    return out


relu_backward.vjp(lambda u, gx, g, y: (relu_backward(u, y), None))


@primitive(shape_rule=same, numerics=PROMOTE_FLOAT, samples=SHAPES)
def sigmoid(x: Array, *, out: Array | None = None) -> Array:
    """Logistic function 1 / (1 + exp(-x))."""
    return blockwise(_logistic, (x,), out)


def _logistic(y: Array, x: Array) -> None:
    np.negative(x, out=y)
    np.exp(y, out=y)
    y += 1
    np.divide(1, y, out=y)


@sigmoid.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    return sigmoid_backward(g, y)


@primitive(shape_rule=broadcast, numerics=PROMOTE_FLOAT, samples=[sample((2, 3), (2, 3)), sample((), ())])
def sigmoid_backward(g: Array, y: Array, *, out: Array | None = None) -> Array:
    """g y (1 - y): the gradient of the logistic function, given its output y."""
    return blockwise(_sigmoid_slope, (g, y), out, scratch=1)


def _sigmoid_slope(out: Array, g: Array, y: Array, slope: Array) -> None:
    np.subtract(1, y, out=slope)
    slope *= y
    np.multiply(g, slope, out=out)


sigmoid_backward.vjp(lambda u, gx, g, y: (sigmoid_backward(u, y), lambda: u * g * (1.0 - 2.0 * y)))


@primitive(shape_rule=same, numerics=PROMOTE_FLOAT, samples=SHAPES)
def logsigmoid(x: Array, *, out: Array | None = None) -> Array:
    """log(sigmoid(x)), finite for any finite x."""
    tail = np.log1p(np.exp(-np.abs(x)))
    return np.subtract(np.minimum(x, 0), tail, out=out)


logsigmoid.vjp(lambda g, y, x: g * sigmoid(-x))


def _softplus(x: Value, *, beta: float, threshold: float) -> Spec:
    return x.spec


@primitive(
    shape_rule=_softplus,
    numerics=PRECISE_FUNCTION,
    algebra=Algebra(elementwise=True),
    samples=[*SHAPES, sample((4,), beta=2.0, threshold=1.5)],
)
def softplus(x: Array, *, beta: Positive = 1.0, threshold: float = 20.0, out: Array | None = None) -> Array:
    """log(1 + exp(beta x)) / beta, a smooth relu; x itself where beta x > threshold."""
    wide = x.astype(FLOAT32) if x.dtype == FLOAT16 else x
    scaled = wide * wide.dtype.type(beta)
    smooth = np.log1p(np.exp(np.minimum(scaled, threshold))) / wide.dtype.type(beta)
    return _select(scaled > threshold, x, smooth.astype(x.dtype, copy=False), out)


def _select(condition: Array, a: Array, b: Array, out: Array | None) -> Array:
    result: Array = np.where(condition, a, b)
    if out is None:
        return result
    np.copyto(out, result)
    return out


@softplus.vjp
def _(g: Value, y: Value, x: Value, *, beta: float, threshold: float) -> Value:
    scaled = x * beta
    return g * where(scaled > threshold, 1.0, sigmoid(scaled))


@primitive(shape_rule=same, numerics=PROMOTE_FLOAT, samples=[*KINKED, sample(away_from((0.0,), 4), slope=0.3)])
def leaky_relu(x: Array, *, slope: float = 0.01, out: Array | None = None) -> Array:
    """x where x > 0, else slope x; the gradient at 0 is the slope."""
    if not 0 <= slope <= 1:
        return _select(x > 0, x, x * x.dtype.type(slope), out)
    result: Array = np.maximum(x, x * x.dtype.type(slope), out=out)
    return result


@leaky_relu.vjp
def _(g: Value, y: Value, x: Value, *, slope: float) -> Value:
    return where(x > 0, g, g * slope)  # not g * where(x > 0, 1.0, slope): two numbers make a float32


@primitive(shape_rule=same, numerics=PROMOTE_FLOAT, samples=[*KINKED, sample(away_from((0.0,), 4), alpha=0.7)])
def elu(x: Array, *, alpha: float = 1.0, out: Array | None = None) -> Array:
    """x where x > 0, else alpha (exp(x) - 1); the gradient at 0 is alpha."""
    return _select(x > 0, x, np.expm1(np.minimum(x, 0)) * x.dtype.type(alpha), out)


@elu.vjp
def _(g: Value, y: Value, x: Value, *, alpha: float) -> Value:
    return g * where(x > 0, 1.0, exp(where(x < 0, x, 0.0)) * alpha)  # exp(x) of a large x is inf, and 0 inf is NaN


@composite(samples=KINKED)
def selu(x: Value) -> Value:
    """Scaled elu that keeps mean 0 and variance 1 (Klambauer et al. 2017)."""
    return elu(x, alpha=SELU_ALPHA) * SELU_SCALE


def _hardtanh(x: Value, *, min: float, max: float) -> Spec:
    if min > max:
        raise AttributeValueError(f"hardtanh: min {min} must not be greater than max {max}")
    return x.spec


@primitive(
    shape_rule=_hardtanh,
    numerics=PROMOTE_COMMON,
    algebra=Algebra(elementwise=True),
    samples=[sample(away_from((-1.0, 1.0), 2, 3)), sample((2,), max=9.0)],
)
def hardtanh(x: Array, *, min: float = -1.0, max: float = 1.0, out: Array | None = None) -> Array:
    """x limited to min..max; the gradient at the bounds is 0 (that of clamp is 1)."""
    return clip_array(x, min, max, out)


@hardtanh.vjp
def _(g: Value, y: Value, x: Value, *, min: float, max: float) -> Value:
    # As y has them: 0.7 is larger than the bfloat16 that it is stored as.
    low, high = (float(np.asarray(limit, y.dtype)) for limit in (min, max))
    return hardtanh_backward(g, y, min=low, max=high)


@primitive(
    shape_rule=broadcast,
    numerics=PROMOTE_FLOAT,
    samples=[sample((2, 3), away_from((-1.0, 1.0), 2, 3)), sample((2,), away_from((0.0, 6.0), 2), min=0.0, max=6.0)],
)
def hardtanh_backward(g: Array, y: Array, *, min: float = -1.0, max: float = 1.0, out: Array | None = None) -> Array:
    """g where min < y < max, else 0: the gradient of hardtanh, given its output y."""
    return store_result(np.where((y > min) & (y < max), g, number(0, g.dtype)), out)


@hardtanh_backward.vjp
def _(u: Value, gx: Value, g: Value, y: Value, *, min: float, max: float) -> object:
    return hardtanh_backward(u, y, min=min, max=max), None


@composite(samples=[sample(away_from((0.0, 6.0), 2, 3))])
def relu6(x: Value) -> Value:
    """min(max(x, 0), 6); the gradient at 0 and at 6 is 0."""
    return hardtanh(x, min=0.0, max=6.0)


@composite(samples=[sample(away_from((-3.0, 3.0), 2, 3))])
def hardsigmoid(x: Value) -> Value:
    """relu6(x + 3) / 6, a sigmoid of straight lines."""
    return relu6(x + 3.0) / 6.0


@composite(samples=[sample(away_from((0.0,), 2, 3))])
def softsign(x: Value) -> Value:
    """x / (1 + |x|)."""
    return x / (abs(x) + 1.0)


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
    sharding=batch_axes("0-", "0"),
    samples=[
        sample(away_from((0.0,), 2, 3), normal(3)),
        sample(away_from((0.0,), 2, 3, 2), normal(3)),
        sample(away_from((0.0,), 4), normal(1)),
        sample(away_from((0.0,), 4), normal()),
    ],
)
def prelu(x: Array, weight: Array, *, out: Array | None = None) -> Array:
    """x where x > 0, else weight x: one learnable slope, or one per channel (axis 1; He et al. 2015).

    At 0 the gradient by x is the slope.
    """
    return store_result(np.where(x > 0, x, weight.reshape(_spread(weight.shape, x.ndim)) * x), out)


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
    shape_rule=_celu,
    numerics=PROMOTE_FLOAT,
    algebra=Algebra(elementwise=True),
    samples=[*KINKED, sample(away_from((0.0,), 4), alpha=0.7)],
)
def celu(x: Array, *, alpha: float = 1.0, out: Array | None = None) -> Array:
    """x where x > 0, else alpha (exp(x / alpha) - 1), whose gradient is continuous (Barron 2017)."""
    return store_result(np.where(x > 0, x, np.expm1(np.minimum(x, 0) / alpha) * alpha), out)


celu.vjp(lambda g, y, x, *, alpha: g * where(gt(x, 0.0), 1.0, exp(where(lt(x, 0.0), x, 0.0) / alpha)))


@composite(
    numerics=COMPUTE_FLOAT32,
    samples=[
        sample(away_from((0.0,), 2, 3), normal(), normal(1)),
        sample(away_from((-0.5, 0.0), 4), normal(), normal(), beta=0.3, eps=-0.5),
    ],
)
def xielu(x: Value, alpha_n: Value, alpha_p: Value, *, beta: float = 0.5, eps: float = -1e-6) -> Value:
    """Expanded integral of elu, with two learnable parameters made positive by softplus (Huang & Schlag 2024; ggml).

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
    return x.spec


SHRINKABLE = [sample(away_from((-0.5, 0.5), 2, 3)), sample(away_from((-1.0, 1.0), 4), lambd=1.0)]


@primitive(shape_rule=_positive_width, numerics=PROMOTE_FLOAT, algebra=Algebra(elementwise=True), samples=SHRINKABLE)
def hardshrink(x: Array, *, lambd: NonNegative = 0.5, out: Array | None = None) -> Array:
    """x where |x| > lambd, else 0."""
    return store_result(np.where(np.abs(x) <= lambd, 0, x), out)


hardshrink.vjp(lambda g, y, x, *, lambd: where((x >= -lambd) & (x <= lambd), 0.0, g))


@primitive(shape_rule=_positive_width, numerics=PROMOTE_FLOAT, algebra=Algebra(elementwise=True), samples=SHRINKABLE)
def softshrink(x: Array, *, lambd: NonNegative = 0.5, out: Array | None = None) -> Array:
    """x moved towards 0 by lambd, and 0 where |x| <= lambd."""
    result: Array = np.subtract(x, np.clip(x, -lambd, lambd), out=out)
    return result


softshrink.vjp(lambda g, y, x, *, lambd: where((x >= -lambd) & (x <= lambd), 0.0, g))


@composite(numerics=COMPUTE_FLOAT32, samples=[sample((2, 3)), sample(())])
def tanhshrink(x: Value) -> Value:
    """x - tanh(x)."""
    return x - tanh(x)
