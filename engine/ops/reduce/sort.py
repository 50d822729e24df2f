"""Sorting, topk, kthvalue, extremes with indices, median, mode, quantiles.

Sorting is stable, NaN is the largest, and gradients go to the selected elements alone.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from engine.core.batching import along
from engine.core.declarations import AUTOCAST_FLOAT32, PRECISE_COMPOSITION, CallForms, Documentation, Numerics
from engine.core.dtypes import FLOAT64, INT64
from engine.core.errors import AttributeValueError
from engine.core.registry import composite, primitive
from engine.core.samples import distinct, integers, sample
from engine.core.shape_rules import nonempty_reduction, normalize_axis, require_float
from engine.core.sharding_rules import ALONG_AXIS
from engine.core.value import Array, Spec, Value, as_value
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.comparison import eq, isfinite, isnan, where
from engine.ops.elementwise.elementwise import clamp, lerp, lerp_tensor
from engine.ops.elementwise.rounding import ceil, floor, round
from engine.ops.index.index import gather
from engine.ops.reduce.reduce import any, argmax, argmin, sum
from engine.ops.shape.arrangement import movedim
from engine.ops.shape.shape import broadcast_to, reshape, slice, squeeze

SAMPLES = [sample(distinct(2, 4)), sample(distinct(3, 2), axis=0), sample(())]
PICKS = [sample(distinct(2, 4)), sample(distinct(3, 2), axis=0), sample(distinct(2, 3), axis=1, keepdims=True)]


def _places(x: Value, *, axis: int, **_: bool) -> Spec:
    normalize_axis(axis, x.ndim)
    return Spec(x.shape, INT64)


@primitive(
    shape_rule=_places,
    differentiable=False,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[*SAMPLES, sample(integers(0, 3, 6), descending=True)],
)
def argsort(x: Array, *, axis: int = -1, descending: bool = False) -> Array:
    """Indices that sort x along `axis`; the sort is stable, NaN is the largest."""
    if not x.ndim:
        return np.zeros((), INT64)
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    backwards = np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    return np.asarray(x.shape[axis] - 1 - backwards)


def _pick(x: Value, places: Value, axis: int) -> Value:
    """Return the elements of x at `places`, of equal rank, along `axis`."""
    if x.ndim:
        return gather(x, places, axis=axis)
    return reshape(gather(reshape(x, shape=(1,)), reshape(places, shape=(1,)), axis=0), shape=())


@composite(
    documentation=Documentation(outputs=("values", "indices")), samples=[*SAMPLES, sample(distinct(5), descending=True)]
)
def sort(x: Value, *, axis: int = -1, descending: bool = False) -> tuple[Value, Value]:
    """x sorted along `axis`, and the indices that sort it; the sort is stable."""
    places = argsort(x, axis=axis, descending=descending)
    return _pick(x, places, axis), places


@composite(
    aliases=("top_k",),
    documentation=Documentation(outputs=("values", "indices")),
    samples=[sample(distinct(2, 4), k=2), sample(distinct(3, 2), k=1, axis=0), sample(distinct(5), k=3, largest=False)],
)
def topk(x: Value, *, k: int, axis: int = -1, largest: bool = True) -> tuple[Value, Value]:
    """The k largest (or smallest) elements along `axis`, in order, and their indices; of ties the first ones."""
    extent = x.shape[normalize_axis(axis, x.ndim)] if x.ndim else 1
    if not 0 <= k <= extent:
        raise AttributeValueError(f"topk: k {k} must be in 0..{extent}, the extent of axis {axis}")
    order = argsort(x, axis=axis, descending=largest)
    places = slice(order, axis=axis, stop=k) if x.ndim else order
    return _pick(x, places, axis), places


def _chosen(x: Value, place: Value, axis: int, keepdims: bool) -> tuple[Value, Value]:
    """Return the elements at `place`, whose axis has extent 1, and the index itself."""
    value = _pick(x, place, axis)
    if keepdims or not x.ndim:
        return value, place
    return squeeze(value, axis=normalize_axis(axis, x.ndim)), squeeze(place, axis=normalize_axis(axis, x.ndim))


@composite(
    documentation=Documentation(outputs=("value", "index")),
    samples=[sample(distinct(2, 4), k=2), sample(distinct(3, 2), k=1, axis=0, keepdims=True)],
)
def kthvalue(x: Value, *, k: int, axis: int = -1, keepdims: bool = False) -> tuple[Value, Value]:
    """The k-th smallest element along `axis`, counted from 1, and its index."""
    extent = x.shape[normalize_axis(axis, x.ndim)] if x.ndim else 1
    if not 1 <= k <= extent:
        raise AttributeValueError(f"kthvalue: k {k} must be in 1..{extent}, the extent of axis {axis}")
    order = argsort(x, axis=axis)
    return _chosen(x, slice(order, axis=axis, start=k - 1, stop=k) if x.ndim else order, axis, keepdims)


@composite(documentation=Documentation(outputs=("values", "indices")), samples=PICKS)
def max_with_index(x: Value, *, axis: int = -1, keepdims: bool = False) -> tuple[Value, Value]:
    """Largest element along `axis` and its index: the first of ties, which receives the gradient, or the first NaN."""
    return _chosen(x, argmax(x, axis=axis, keepdims=True), axis, keepdims)


@composite(documentation=Documentation(outputs=("values", "indices")), samples=PICKS)
def min_with_index(x: Value, *, axis: int = -1, keepdims: bool = False) -> tuple[Value, Value]:
    """Smallest element along `axis` and its index: the first of ties, which receives the gradient, or the first NaN."""
    return _chosen(x, argmin(x, axis=axis, keepdims=True), axis, keepdims)


def _one_place(x: Value, *, axis: int, **_: bool) -> Spec:
    return Spec(nonempty_reduction(x, axis=axis, keepdims=True).shape, INT64)


@primitive(
    shape_rule=_one_place,
    differentiable=False,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[sample(distinct(2, 4)), sample(distinct(3, 2), axis=0), sample(distinct(4), ignore_nan=True)],
)
def argmedian(x: Array, *, axis: int = -1, ignore_nan: bool = False) -> Array:
    """Index of the lower median along `axis`, which is kept with extent 1; the first NaN if there is one.

    With `ignore_nan` NaN is skipped, and returned only if there is no number.
    """
    return _median_places(x, axis, ignore_nan) if x.ndim else np.zeros((), INT64)


def _median_places(x: Array, axis: int, ignore_nan: bool) -> Array:
    order = np.argsort(x, axis=axis, kind="stable")
    missing = np.isnan(x).sum(axis=axis, keepdims=True)
    known = x.shape[axis] - missing
    middle = np.maximum(known - 1, 0) // 2
    return np.take_along_axis(order, middle if ignore_nan else np.where(missing > 0, known, middle), axis)


def _one_number(x: Value, **_: bool) -> Spec:
    return Spec((), nonempty_reduction(x).dtype)


@primitive(
    shape_rule=_one_number,
    numerics=AUTOCAST_FLOAT32,
    samples=[sample(distinct(2, 4)), sample(distinct(3), ignore_nan=True)],
)
def overall_median(x: Array, *, ignore_nan: bool = False) -> Array:
    """Lower median of all elements, whose gradient is shared among the elements equal to it."""
    flat = x.reshape(-1)
    return np.asarray(flat[_median_places(flat, 0, ignore_nan)[0]])


@overall_median.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    chosen = eq(x, y) | (isnan(x) & isnan(y))
    return where(chosen, g / sum(chosen), 0.0)


def _median(x: Value, axis: int | None, keepdims: bool, ignore_nan: bool) -> Value:
    if axis is not None:
        return _chosen(x, argmedian(x, axis=axis, ignore_nan=ignore_nan), axis, keepdims)[0]
    value = overall_median(x, ignore_nan=ignore_nan)
    return reshape(value, shape=(1,) * x.ndim) if keepdims else value


@composite(
    call=CallForms(by_place=(), with_index="median_with_index"),
    numerics=AUTOCAST_FLOAT32,
    samples=[sample(distinct(2, 4)), *PICKS],
)
def median(x: Value, *, axis: int | None = None, keepdims: bool = False) -> Value:
    """Lower median, over all elements or along one axis; NaN if there is one.

    Over all elements ties share the gradient; along an axis one of them receives all of it.
    """
    return _median(x, axis, keepdims, ignore_nan=False)


@composite(
    call=CallForms(by_place=(), with_index="nanmedian_with_index"),
    numerics=Numerics(autocast="float32", handles_missing=True),
    samples=[sample(distinct(2, 4)), *PICKS],
)
def nanmedian(x: Value, *, axis: int | None = None, keepdims: bool = False) -> Value:
    """Lower median of the elements that are not NaN, over all or along one axis; NaN if there are none."""
    return _median(x, axis, keepdims, ignore_nan=True)


@composite(documentation=Documentation(outputs=("values", "indices")), samples=PICKS)
def median_with_index(x: Value, *, axis: int = -1, keepdims: bool = False) -> tuple[Value, Value]:
    """Lower median along `axis`, NaN if there is one, and its index."""
    return _chosen(x, argmedian(x, axis=axis, ignore_nan=False), axis, keepdims)


@composite(documentation=Documentation(outputs=("values", "indices")), samples=PICKS)
def nanmedian_with_index(x: Value, *, axis: int = -1, keepdims: bool = False) -> tuple[Value, Value]:
    """Lower median along `axis` of the elements that are not NaN, and its index."""
    return _chosen(x, argmedian(x, axis=axis, ignore_nan=True), axis, keepdims)


@primitive(
    shape_rule=_one_place,
    differentiable=False,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[sample(integers(0, 3, 2, 5)), sample(distinct(3), axis=0)],
)
def argmode(x: Array, *, axis: int = -1) -> Array:
    """Index of the most frequent element along `axis`, kept with extent 1: the last occurrence of the smallest mode."""
    if not x.ndim:
        return np.zeros((), INT64)
    rows = np.moveaxis(x, axis, -1)
    order = np.argsort(rows, axis=-1, kind="stable")
    ordered = np.take_along_axis(rows, order, -1)
    # The run of equal elements is longest where the mode ends; argmax returns the first, so the smallest value.
    places = np.arange(rows.shape[-1])
    begins = np.ones(rows.shape, bool)
    begins[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    length = places - np.maximum.accumulate(np.where(begins, places, 0), axis=-1)
    found = np.take_along_axis(order, np.argmax(length, axis=-1, keepdims=True), -1)
    return np.moveaxis(found, -1, axis)


@composite(documentation=Documentation(outputs=("values", "indices")), samples=PICKS)
def mode(x: Value, *, axis: int = -1, keepdims: bool = False) -> tuple[Value, Value]:
    """Most frequent element along `axis`, the smallest of several, and the index of its last occurrence."""
    return _chosen(x, argmode(x, axis=axis), axis, keepdims)


Interpolation = Literal["linear", "lower", "higher", "midpoint", "nearest"]
Shares = float | tuple[float, ...]

QUANTILE_SAMPLES = [
    sample(distinct(2, 4), q=0.3),
    sample(distinct(2, 5), q=(0.25, 0.6, 1.0), axis=1),
    sample(distinct(5, 2), q=(0.4,), axis=0, keepdims=True, interpolation="midpoint"),
    sample(distinct(2, 4), q=0.6, axis=-1, interpolation="nearest"),
]


def _shares(op: str, q: Shares) -> tuple[float, ...]:
    shares = q if isinstance(q, tuple) else (q,)
    for share in shares:
        if not 0 <= share <= 1:
            raise AttributeValueError(f"{op}: q {share} must be in 0..1")
    return shares


def _ranks(x: Value, shares: tuple[float, ...], axis: int, ignore_nan: bool) -> Value:
    """Return the ranks of the quantiles in sorted rows, float64, with one per share along `axis`."""
    q = as_value(np.array(shares).reshape(-1, *(1,) * (x.ndim - 1 - axis)))
    if ignore_nan:
        known = sum(~isnan(x), axis=axis, keepdims=True)
        return clamp(q * cast(known - 1, dtype=FLOAT64), min=0.0)
    last = float(x.shape[axis] - 1)
    # NaN is sorted last, so that a row with one gives NaN.
    return where(any(isnan(x), axis=axis, keepdims=True), last, q * last)


def _between(x: Value, ranks: Value, axis: int, interpolation: Interpolation) -> Value:
    """Return the elements of x at ranks of their order along `axis`, or interpolated between two of them."""
    order = argsort(x, axis=axis)

    def element(rank: Value) -> Value:
        return gather(x, gather(order, cast(rank, dtype=INT64), axis=axis), axis=axis)

    if interpolation == "nearest":
        return element(round(ranks))
    if interpolation == "higher":
        return element(ceil(ranks))
    low = floor(ranks)
    below = element(low)
    if interpolation == "lower":
        return below
    above = element(ceil(ranks))
    if interpolation == "midpoint":
        found = lerp(below, above, weight=0.5)
    else:
        found = lerp_tensor(below, above, cast(ranks - low, dtype=x.dtype))
    # The difference of infinite elements is NaN.
    return where(isfinite(below), found, below)


def _quantile(
    op: str, x: Value, q: Shares, axis: int | None, keepdims: bool, interpolation: Interpolation, ignore_nan: bool
) -> Value:
    require_float(op, x)
    shares = _shares(op, q)
    kept = nonempty_reduction(x, axis=axis, keepdims=True).shape
    if axis is None or not x.ndim:
        x, place = reshape(x, shape=(x.size,)), 0
    else:
        place = axis % x.ndim
    wide = (*x.shape[:place], len(shares), *x.shape[place + 1 :])
    ranks = broadcast_to(_ranks(x, shares, place, ignore_nan), shape=wide)
    found = movedim(_between(x, ranks, place, interpolation), source=place, destination=0)
    if keepdims:
        found = reshape(found, shape=(len(shares), *kept))
    return found if isinstance(q, tuple) else squeeze(found, axis=0)


@composite(numerics=PRECISE_COMPOSITION, samples=QUANTILE_SAMPLES)
def quantile(
    x: Value, *, q: Shares, axis: int | None = None, keepdims: bool = False, interpolation: Interpolation = "linear"
) -> Value:
    """The q-quantiles (0..1) of x over all elements or along one axis; NaN if an element is.

    A list q gives a new first axis. Between two elements `interpolation` selects the point on the line between them
    ("linear"), the lower or the higher, the midpoint, or the nearest (of halves the even rank). The gradient goes to
    these elements. Ranks are computed in float64. As in PyTorch, except that an infinite element is itself a quantile
    and does not give NaN.
    """
    return _quantile("quantile", x, q, axis, keepdims, interpolation, ignore_nan=False)


@composite(numerics=Numerics(compute_float32=True, autocast="float32", handles_missing=True), samples=QUANTILE_SAMPLES)
def nanquantile(
    x: Value, *, q: Shares, axis: int | None = None, keepdims: bool = False, interpolation: Interpolation = "linear"
) -> Value:
    """The quantiles of the elements that are not NaN; NaN if there are none: see quantile."""
    return _quantile("nanquantile", x, q, axis, keepdims, interpolation, ignore_nan=True)
