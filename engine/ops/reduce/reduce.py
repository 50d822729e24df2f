"""Reductions over axes. Sums of float16 accumulate in float32; sums of float32 along outer axes go by blocks."""

from __future__ import annotations

import builtins
import math

import numpy as np

from engine.core.attributes import Axes
from engine.core.batching import Call, Outputs, along
from engine.core.declarations import (
    AUTOCAST_FLOAT32,
    PRECISE_COMPOSITION,
    PRECISE_FUNCTION,
    Algebra,
    CallForms,
    Numerics,
)
from engine.core.dtypes import FLOAT16, FLOAT32, INT64, is_float
from engine.core.errors import DTypeError, ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import Sample, booleans, distinct, sample
from engine.core.shape_rules import (
    nonempty_reduction,
    normalize_axes,
    normalize_axis,
    reduced_shape,
    reduction,
    reduction_bool,
    reduction_sum,
)
from engine.core.sharding_rules import ALONG_AXIS, PARTIAL, Case, Cut, along_first_axis
from engine.core.value import Array, Shape, Spec, Value
from engine.ops.elementwise.comparison import eq, where
from engine.ops.elementwise.elementwise import exp, sqrt, square
from engine.ops.index.index import gather
from engine.ops.shape.shape import broadcast_to, reshape, squeeze, unsqueeze

REDUCTIONS = [
    sample((2, 3)),
    sample((2, 3), axis=0),
    sample((2, 3, 4), axis=(0, 2), keepdims=True),
    sample((3, 2), axis=-1),
]
BLOCK = 256
"""Rows that are summed sequentially before the partial sums are; bounds the float32 error to about 1e-6."""
LONG = 8192
"""Longest row that the BLAS sums: the float32 error of its products grows with the length."""
PRODUCT = 4096
"""Elements from which on a product with ones is faster than a sum."""


def sum_array(x: Array, axes: tuple[int, ...] | None, keepdims: bool = False, out: Array | None = None) -> Array:
    """Sum an array accurately, over all axes where `axes` is None.

    NumPy adds pairwise only along the innermost axis; along the others it adds one row after another, which loses up to
    1e-2 of a float32 sum of a million rows. Here every float32 or float16 sum is pairwise or in blocks, which the BLAS
    sums as products with ones: three times as fast, and more accurate.
    """
    if out is not None and not x.flags.c_contiguous:  # into `out` NumPy would add in another order
        return _store(sum_array(x, axes, keepdims), out)
    if x.dtype is FLOAT32 and x.size <= BLOCK:  # a small sum takes no longer than the questions below
        return np.asarray(np.add.reduce(x, axes, None, out, keepdims))  # type: ignore[call-overload]
    if axes is None:
        axes = tuple(range(x.ndim))
    if x.dtype == FLOAT16:
        return _store(sum_array(x.astype(FLOAT32), axes, keepdims).astype(FLOAT16), out)
    if x.dtype != FLOAT32 or x.size <= BLOCK or not axes or (x.size < PRODUCT and _rows(x, axes) <= BLOCK):
        dtype = x.dtype if is_float(x.dtype) else INT64
        return np.asarray(np.add.reduce(x, axis=axes, keepdims=keepdims, out=out, dtype=dtype))  # type: ignore[arg-type]
    total, places = _merged(x, axes)
    for axis in reversed(places):
        total = _sum_axis(total, axis)
    return _store(total.reshape(reduced_shape(x.shape, axes, keepdims)), out)


def _rows(x: Array, axes: tuple[int, ...]) -> int:
    return math.prod([x.shape[axis] for axis in axes])


def _merged(x: Array, axes: tuple[int, ...]) -> tuple[Array, tuple[int, ...]]:
    """View adjacent axes as one if all or none of them are summed; also return which of the merged ones are."""
    if not x.flags.c_contiguous:
        return x, axes
    shape: list[int] = []
    places: list[int] = []
    for axis, extent in enumerate(x.shape):
        if axis and (axis in axes) == (axis - 1 in axes):
            shape[-1] *= extent
        else:
            if axis in axes:
                places.append(len(shape))
            shape.append(extent)
    return x.reshape(shape), tuple(places)


def _sum_axis(x: Array, axis: int) -> Array:
    """Sum one axis, keeping it with extent 1."""
    rows, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
    last = x.strides[axis] == x.itemsize
    if rows > BLOCK and not last:
        whole = rows // BLOCK * BLOCK
        index = (slice(None),) * axis
        blocks = x[(*index, slice(0, whole))].reshape(*x.shape[:axis], whole // BLOCK, BLOCK, *x.shape[axis + 1 :])
        total = _sum_axis(_sum_axis(blocks, axis + 1).reshape(*x.shape[:axis], -1, *x.shape[axis + 1 :]), axis)
        if whole < rows:
            total += np.sum(x[(*index, slice(whole, rows))], axis=axis, keepdims=True)
        return total
    if not x.flags.c_contiguous or (rows > LONG if inner == 1 else rows * inner < PRODUCT):
        return np.asarray(np.sum(x, axis=axis, keepdims=True))
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    ones = np.ones(rows, x.dtype)
    product = np.matmul(x.reshape(-1, rows), ones) if inner == 1 else np.matmul(ones, x.reshape(-1, rows, inner))
    return np.asarray(product).reshape(shape)


def _store(result: Array, out: Array | None) -> Array:
    if out is None:
        return result
    out[...] = result
    return out


def spread(g: Value, like: Value, axis: Axes, keepdims: bool) -> Value:
    """Broadcast the cotangent of a reduction back over the axes it removed."""
    if keepdims or not g.shape:
        return broadcast_to(g, shape=like.shape)
    kept = reduced_shape(like.shape, normalize_axes(axis, like.ndim), True)
    return broadcast_to(reshape(g, shape=kept), shape=like.shape)


def _split_sum(case: Case) -> Cut:
    axes = normalize_axes(case.attrs["axis"], len(case.shapes[0]))
    if case.axis in axes:
        return Cut((case.axis,), (PARTIAL,))
    before = len([axis for axis in axes if axis < case.axis])
    return Cut((case.axis,), (case.axis if case.attrs["keepdims"] else case.axis - before,))


@primitive(
    shape_rule=reduction_sum,
    numerics=AUTOCAST_FLOAT32,
    algebra=Algebra(total=True),
    sharding=along_first_axis(_split_sum),
    batching=along("axis"),
    samples=REDUCTIONS,
)
def sum(x: Array, *, axis: Axes = None, keepdims: bool = False, out: Array | None = None) -> Array:
    """Sum over `axis` (all axes when null); bool and integers give int64."""
    return sum_array(x, None if axis is None else normalize_axes(axis, x.ndim), keepdims, out)


sum.vjp(lambda g, y, x, *, axis, keepdims: spread(g, x, axis, keepdims))


def _split_sum_to(case: Case) -> Cut:
    own = case.axis - (len(case.shapes[0]) - len(case.outputs[0]))
    kept = own >= 0 and case.outputs[0][own] == case.shapes[0][case.axis]
    return Cut((case.axis,), (own if kept else PARTIAL,))


def _sum_to(x: Value, *, shape: tuple[int, ...]) -> Spec:
    extra = x.ndim - len(shape)
    if extra < 0 or builtins.any(extent not in (1, x.shape[extra + axis]) for axis, extent in enumerate(shape)):
        raise ShapeError(f"sum_to: shape {list(shape)} does not broadcast to that of x, {list(x.shape)}")
    return Spec(shape, x.dtype if is_float(x.dtype) else INT64)


@primitive(
    shape_rule=_sum_to,
    numerics=Numerics(reads_bfloat16=True),
    algebra=Algebra(identity=True),
    sharding=along_first_axis(_split_sum_to),
    samples=[sample((2, 3), shape=(3,)), sample((2, 3), shape=(2, 1)), sample((3,), shape=())],
)
def sum_to(x: Array, *, shape: tuple[int, ...], out: Array | None = None) -> Array:
    """Sum over the axes that broadcasting `shape` to the shape of x would have added or stretched."""
    if x.shape == shape and is_float(x.dtype):  # as in plans, which omit this step: NumPy turns -0 into 0
        return _store(x if out is not None else x.copy(), out)
    if not shape:
        return sum_array(x, None, False, out)
    extra = x.ndim - len(shape)
    if x.shape[extra:] == shape:
        return sum_array(x, tuple(range(extra)), False, out)
    axes = tuple(range(extra)) + tuple(
        extra + axis for axis, extent in enumerate(shape) if extent == 1 and x.shape[extra + axis] != 1
    )
    return _store(sum_array(x, axes, True).reshape(shape), out)


@sum_to.batch
def _(call: Call) -> Outputs:
    shape = call.attrs["shape"]
    kept = (*(1,) * (call.rank(0) - len(shape)), *shape)
    return call.reshaped(*call.made(call.inputs[0], shape=(call.size, *kept)))


sum_to.vjp(lambda g, y, x: broadcast_to(g, shape=x.shape))


def _mean(x: Value, *, axis: Axes, keepdims: bool) -> Spec:
    if not is_float(x.dtype):
        raise DTypeError(f"mean needs a floating input, got {x.dtype.name}; cast it to float32")
    return reduction(x, axis=axis, keepdims=keepdims)


def count(shape: Shape, axis: Axes) -> int:
    """Return the number of elements that are reduced to one result over `axis`."""
    return math.prod(shape[a] for a in normalize_axes(axis, len(shape)))


@primitive(shape_rule=_mean, numerics=AUTOCAST_FLOAT32, sharding=ALONG_AXIS, batching=along("axis"), samples=REDUCTIONS)
def mean(x: Array, *, axis: Axes = None, keepdims: bool = False, out: Array | None = None) -> Array:
    """Arithmetic mean over `axis` (all axes when null); NaN over no elements."""
    axes = normalize_axes(axis, x.ndim)
    wide = x.astype(FLOAT32) if x.dtype == FLOAT16 else x
    total = np.true_divide(sum_array(wide, axes, keepdims), count(x.shape, axis))
    return _store(np.asarray(total, dtype=x.dtype), out)


mean.vjp(lambda g, y, x, *, axis, keepdims: spread(g / max_int(count(x.shape, axis)), x, axis, keepdims))


def max_int(number: int) -> float:
    """Return the number as a float divisor of at least 1, also for empty inputs."""
    return float(number or 1)


@composite(
    call=CallForms(by_place=("axis",)),
    numerics=PRECISE_COMPOSITION,
    samples=[sample((2, 3)), sample((4, 3), axis=0), sample((2, 3, 4), axis=(0, 2), keepdims=True, correction=0)],
)
def var(x: Value, *, axis: Axes = None, correction: float = 1, keepdims: bool = False) -> Value:
    """Variance over `axis`; divides by the count minus `correction` (1 is Bessel's correction)."""
    centred = x - mean(x, axis=axis, keepdims=True)
    total = sum(square(centred), axis=axis, keepdims=keepdims)
    divisor = builtins.max(count(x.shape, axis) - correction, 0)
    return total / float(divisor)


@composite(
    call=CallForms(by_place=("axis",)),
    numerics=PRECISE_COMPOSITION,
    samples=[sample((2, 3)), sample((4, 3), axis=0), sample((2, 3), axis=1, keepdims=True, correction=0)],
)
def std(x: Value, *, axis: Axes = None, correction: float = 1, keepdims: bool = False) -> Value:
    """Square root of the variance; the gradient of constants is 0."""
    variance = var(x, axis=axis, correction=correction, keepdims=keepdims)
    zero = eq(variance, 0.0)
    return where(zero, 0.0, sqrt(where(zero, 1.0, variance)))


@primitive(
    shape_rule=nonempty_reduction,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[sample(distinct(2, 3)), sample(distinct(2, 3), axis=0), sample(distinct(2, 3), axis=1, keepdims=True)],
)
def amax(x: Array, *, axis: Axes = None, keepdims: bool = False, out: Array | None = None) -> Array:
    """Largest element over `axis`; tied elements share the gradient equally."""
    return np.max(x, axis=normalize_axes(axis, x.ndim), keepdims=keepdims, out=out)


amax.vjp(lambda g, y, x, *, axis, keepdims: _share_ties(g, y, x, axis, keepdims))


@primitive(
    shape_rule=nonempty_reduction,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[sample(distinct(2, 3)), sample(distinct(2, 3), axis=0), sample(distinct(2, 3), axis=1, keepdims=True)],
)
def amin(x: Array, *, axis: Axes = None, keepdims: bool = False, out: Array | None = None) -> Array:
    """Smallest element over `axis`; tied elements share the gradient equally."""
    return np.min(x, axis=normalize_axes(axis, x.ndim), keepdims=keepdims, out=out)


amin.vjp(lambda g, y, x, *, axis, keepdims: _share_ties(g, y, x, axis, keepdims))


def _share_ties(g: Value, y: Value, x: Value, axis: Axes, keepdims: bool) -> Value:
    chosen = where(eq(x, spread(y, x, axis, keepdims)), 1.0, 0.0)
    shares = sum(chosen, axis=axis, keepdims=keepdims)
    return spread(g / shares, x, axis, keepdims) * chosen


def _index_of(x: Value, *, axis: int | None, keepdims: bool) -> Spec:
    axes = None if axis is None else (axis,)
    return Spec(nonempty_reduction(x, axis=axes, keepdims=keepdims).shape, INT64)


def _place_along(call: Call) -> Outputs:
    """Batch an op that with axis None returns an index into the flattened input."""
    if call.attrs["axis"] is not None or not call.rank(0):
        return along("axis")(call)
    flat = reshape(call.inputs[0], shape=(call.size, -1)) if call.inputs[0].size else call.inputs[0]
    return call.reshaped(*call.made(flat, axis=1, keepdims=False))


@primitive(
    shape_rule=_index_of,
    differentiable=False,
    sharding=ALONG_AXIS,
    batching=_place_along,
    samples=[sample(distinct(2, 3)), sample(distinct(2, 3), axis=1)],
)
def argmax(x: Array, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Index of the first largest element (NaN wins) along `axis`, or in the flattened input."""
    return np.asarray(np.argmax(x, axis=axis, keepdims=keepdims))


@primitive(
    shape_rule=_index_of,
    differentiable=False,
    sharding=ALONG_AXIS,
    batching=_place_along,
    samples=[sample(distinct(2, 3)), sample(distinct(2, 3), axis=1)],
)
def argmin(x: Array, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Index of the first smallest element (NaN wins) along `axis`, or in the flattened input."""
    return np.asarray(np.argmin(x, axis=axis, keepdims=keepdims))


AXIS_SAMPLES: list[Sample] = [sample(distinct(2, 3), axis=0), sample(distinct(2, 3), axis=1, keepdims=True)]


@composite(call=CallForms(by_place=(), with_index="max_with_index"), samples=[sample(distinct(4)), *AXIS_SAMPLES])
def max(x: Value, *, axis: int | None = None, keepdims: bool = False) -> Value:
    """Largest element. Over all elements ties share the gradient; along one axis the first receives all of it."""
    if axis is None:
        return amax(x, keepdims=keepdims)
    return _pick(x, argmax(x, axis=axis), axis, keepdims)


@composite(call=CallForms(by_place=(), with_index="min_with_index"), samples=[sample(distinct(4)), *AXIS_SAMPLES])
def min(x: Value, *, axis: int | None = None, keepdims: bool = False) -> Value:
    """Smallest element. Over all elements ties share the gradient; along one axis the first receives all of it."""
    if axis is None:
        return amin(x, keepdims=keepdims)
    return _pick(x, argmin(x, axis=axis), axis, keepdims)


def _pick(x: Value, index: Value, axis: int, keepdims: bool) -> Value:
    picked = gather(x, unsqueeze(index, axis=axis), axis=axis)
    return picked if keepdims else squeeze(picked, axis=(normalize_axis(axis, x.ndim),))


@primitive(
    shape_rule=reduction_bool,
    differentiable=False,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[sample(booleans(2, 3)), sample(booleans(2, 3), axis=0)],
)
def all(x: Array, *, axis: Axes = None, keepdims: bool = False, out: Array | None = None) -> Array:
    """Whether every element over `axis` is true (not 0)."""
    return np.all(x, axis=normalize_axes(axis, x.ndim), keepdims=keepdims, out=out)


@primitive(
    shape_rule=reduction_bool,
    differentiable=False,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[sample(booleans(2, 3)), sample(booleans(2, 3), axis=0)],
)
def any(x: Array, *, axis: Axes = None, keepdims: bool = False, out: Array | None = None) -> Array:
    """Whether any element over `axis` is true (not 0)."""
    return np.any(x, axis=normalize_axes(axis, x.ndim), keepdims=keepdims, out=out)


@primitive(
    shape_rule=reduction,
    numerics=PRECISE_FUNCTION,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[*REDUCTIONS, sample((2, 3), axis=1, zero_grad_at_neg_inf=True)],
)
def logsumexp(
    x: Array, *, axis: Axes = None, keepdims: bool = False, zero_grad_at_neg_inf: bool = False, out: Array | None = None
) -> Array:
    """log(sum(exp(x))) over `axis`, stable; -inf if every element is. Integers become float32.

    The gradient where the result is -inf is NaN, as in PyTorch, or 0 with `zero_grad_at_neg_inf`.
    """
    axes = normalize_axes(axis, x.ndim)
    if not count(x.shape, axis):
        return _store(np.full(reduced_shape(x.shape, axes, keepdims), -np.inf, x.dtype), out)
    top = np.max(x, axis=axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    total = np.log(sum_array(np.exp(x - top), axes, True)) + top
    return _store(total.reshape(reduced_shape(x.shape, axes, keepdims)).astype(x.dtype, copy=False), out)


@logsumexp.vjp
def _(g: Value, y: Value, x: Value, *, axis: Axes, keepdims: bool, zero_grad_at_neg_inf: bool) -> Value:
    top = finite_floor(y) if zero_grad_at_neg_inf else y
    return spread(g, x, axis, keepdims) * exp(x - spread(top, x, axis, keepdims))


def finite_floor(y: Value) -> Value:
    """Return a logarithm of a sum with 0 for -inf, so that the terms exp(x - y) become 0, not NaN."""
    return where(eq(y, -math.inf), 0.0, y)


SHORT_ROW = 512
"""Rows up to this length have their maximum found by its index."""


def sum_over(x: Array, axes: tuple[int, ...]) -> Array:
    """Sum over sorted `axes`, kept with extent 1: the trailing axes as one row first, then the others.

    A product with ones adds short rows three times as fast as a reduction.
    """
    if len(axes) == 1 and x.shape[axes[0]] <= BLOCK and axes[0] < x.ndim - 1 and x.itemsize > 2:
        total: Array = np.add.reduce(x, axis=axes[0], keepdims=True)
        return total
    run, length = _trailing(x, axes)
    if run == 0 or not x.flags.c_contiguous:
        return sum_array(x, axes, True)
    inner = np.matmul(x.reshape(-1, length), np.ones(length, x.dtype))
    return _rest(inner, x, axes, run)


def dot_over(a: Array, b: Array, axes: tuple[int, ...]) -> Array:
    """Sum of a * b over sorted `axes`, kept with extent 1, without an array of products where axes are trailing."""
    run, length = _trailing(a, axes)
    if run == 0:
        return sum_array(a * b, axes, True)
    shape = (*a.shape[: a.ndim - run], length)
    # The BLAS sums strided elements in another order; results must not depend on the memory layout.
    rows, others = (np.ascontiguousarray(x).reshape(shape) for x in (a, b))
    return _rest(np.vecdot(rows, others), a, axes, run)


def max_over(x: Array, axis: int) -> Array:
    """Largest element over one axis (NaN wins), kept with extent 1; x is not empty.

    NumPy finds the index of the maximum of a short row twice as fast as the maximum itself.
    """
    length = x.shape[axis]
    top: Array
    if axis != x.ndim - 1 or length > SHORT_ROW or not x.flags.c_contiguous:
        top = np.maximum.reduce(x, axis=axis, keepdims=True)
        return top
    rows = x.reshape(-1, length)
    places = rows.argmax(axis=1)
    places += np.arange(0, x.size, length)
    top = rows.reshape(-1).take(places).reshape(*x.shape[:-1], 1)
    return top


def _trailing(x: Array, axes: tuple[int, ...]) -> tuple[int, int]:
    """Return how many of the last axes are all reduced and their joint length; 0 if the BLAS is unsuitable."""
    run = 0
    while run < len(axes) and axes[-1 - run] == x.ndim - 1 - run:
        run += 1
    length = math.prod(x.shape[x.ndim - run :])
    good = x.size and length <= LONG and x.dtype.char in "fd"
    return (run, length) if good else (0, 0)


def _rest(inner: Array, x: Array, axes: tuple[int, ...], run: int) -> Array:
    """Sum over the remaining axes after the trailing ones have been reduced."""
    if run < len(axes):
        inner = sum_array(inner.reshape(x.shape[: x.ndim - run]), axes[: len(axes) - run], True)
    return inner.reshape(reduced_shape(x.shape, axes, True))
