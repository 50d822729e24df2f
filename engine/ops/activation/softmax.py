"""Probabilities along an axis: softmax and log_softmax. Stable for any finite input; -inf stands for probability 0."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.core.batching import along
from engine.core.declarations import AUTOCAST_FLOAT32, PRECISE_FUNCTION, Numerics
from engine.core.dtypes import FLOAT16, FLOAT32
from engine.core.errors import ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import sample
from engine.core.shape_rules import normalize_axis, require_float
from engine.core.sharding_rules import ALONG_AXIS
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.elementwise import exp
from engine.ops.reduce.reduce import dot_over, max_over, sum, sum_over

SAMPLES = [sample((2, 3)), sample((3, 2, 2), axis=1), sample((4,), axis=0), sample(())]
PAIRS = [sample((2, 3), (2, 3)), sample((3, 2, 2), (3, 2, 2), axis=1), sample((), ())]
SHORT = 32
"""Rows of up to this many elements are handled as columns: NumPy reduces many short rows slowly."""

Kernel = Callable[..., None]


def _along(x: Value, *others: Value, axis: int) -> Spec:
    normalize_axis(axis, x.ndim)
    for other in others:
        if other.shape != x.shape:
            raise ShapeError(f"g {list(x.shape)} and y {list(other.shape)} must have one shape")
    return x.spec


def _gradient_along(g: Value, y: Value, *, axis: int) -> Spec:
    require_float("a gradient of softmax", g, y)
    return _along(g, y, axis=axis)


def along_axis(kernel: Kernel, inputs: tuple[Array, ...], axis: int, out: Array | None) -> Array:
    """Run `kernel(y, *inputs, axis)` and return y, in the layout NumPy reduces fastest.

    float16 is computed in float32.
    """
    first = inputs[0]
    if out is None:
        out = np.empty(first.shape, first.dtype)
    if first.size == 0:
        return out
    if first.dtype == FLOAT16:
        out[...] = along_axis(kernel, tuple(x.astype(FLOAT32) for x in inputs), axis, None)
        return out
    if first.ndim == 0:
        kernel(out.reshape(1), *(x.reshape(1) for x in inputs), 0)
        return out
    place = axis % first.ndim
    extent = first.shape[place]
    if place == first.ndim - 1 and extent <= SHORT and first.size >= 32 * extent:
        columns = [np.ascontiguousarray(np.moveaxis(x, place, 0)) for x in inputs]
        result = np.empty_like(columns[0])
        kernel(result, *columns, 0)
        out[...] = np.moveaxis(result, 0, place)
    else:
        kernel(out, *inputs, place)
    return out


def _softmax(y: Array, x: Array, axis: int) -> None:
    np.subtract(x, max_over(x, axis), out=y)
    np.exp(y, out=y)
    y /= sum_over(y, (axis,))


@primitive(shape_rule=_along, numerics=PRECISE_FUNCTION, sharding=ALONG_AXIS, batching=along("axis"), samples=SAMPLES)
def softmax(x: Array, *, axis: int = -1, out: Array | None = None) -> Array:
    """exp(x) / sum(exp(x)) along `axis`; NaN where every element is -inf."""
    return along_axis(_softmax, (x,), axis, out)


@softmax.vjp
def _(g: Value, y: Value, x: Value, *, axis: int) -> Value:
    return softmax_backward(g, y, axis=axis)


def _softmax_backward(gx: Array, g: Array, y: Array, axis: int) -> None:
    share = dot_over(g, y, (axis,))
    np.subtract(g, share, out=gx)
    gx *= y


@primitive(
    shape_rule=_gradient_along,
    numerics=Numerics(promotion="common", autocast="float32"),
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=PAIRS,
)
def softmax_backward(g: Array, y: Array, *, axis: int = -1, out: Array | None = None) -> Array:
    """y (g - sum(g y)) along `axis`: the gradient of softmax, given its output y."""
    return along_axis(_softmax_backward, (g, y), axis, out)


@softmax_backward.vjp
def _(u: Value, gx: Value, g: Value, y: Value, *, axis: int) -> object:
    def probabilities() -> Value:
        return u * (g - sum(g * y, axis=axis, keepdims=True)) - g * sum(u * y, axis=axis, keepdims=True)

    return lambda: softmax_backward(u, y, axis=axis), probabilities


def _log_softmax(y: Array, x: Array, axis: int) -> None:
    np.subtract(x, max_over(x, axis), out=y)
    y -= np.log(sum_over(np.exp(y), (axis,)))


@primitive(shape_rule=_along, numerics=PRECISE_FUNCTION, sharding=ALONG_AXIS, batching=along("axis"), samples=SAMPLES)
def log_softmax(x: Array, *, axis: int = -1, out: Array | None = None) -> Array:
    """log(softmax(x)) along `axis`, without the rounding of softmax; NaN where every element is -inf."""
    return along_axis(_log_softmax, (x,), axis, out)


@log_softmax.vjp
def _(g: Value, y: Value, x: Value, *, axis: int) -> Value:
    return log_softmax_backward(g, y, axis=axis)


def _log_softmax_backward(gx: Array, g: Array, y: Array, axis: int) -> None:
    total = sum_over(g, (axis,))
    share = np.exp(y)
    share *= total
    np.subtract(g, share, out=gx)


@primitive(
    shape_rule=_gradient_along,
    numerics=Numerics(promotion="common", autocast="float32"),
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=PAIRS,
)
def log_softmax_backward(g: Array, y: Array, *, axis: int = -1, out: Array | None = None) -> Array:
    """g - exp(y) sum(g) along `axis`: the gradient of log_softmax, given its output y."""
    return along_axis(_log_softmax_backward, (g, y), axis, out)


@log_softmax_backward.vjp
def _(u: Value, gx: Value, g: Value, y: Value, *, axis: int) -> object:
    def exponents() -> Value:
        return -(u * exp(y) * sum(g, axis=axis, keepdims=True))

    return lambda: u - sum(u * exp(y), axis=axis, keepdims=True), exponents


@composite(numerics=AUTOCAST_FLOAT32, samples=SAMPLES)
def softmin(x: Value, *, axis: int = -1) -> Value:
    """softmax of -x along `axis`."""
    return softmax(-x, axis=axis)
