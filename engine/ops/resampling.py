"""Resampling along one axis: the interpolation of values between elements, and its transpose.

The coordinates are PyTorch's: element i lies at i + 1/2, or with `align_corners` the outermost elements at the ends.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from engine.core.batching import along
from engine.core.declarations import Numerics
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import primitive
from engine.core.samples import sample
from engine.core.shape_rules import normalize_axis, require_float
from engine.core.value import Array, Spec, Value

Method = Literal["nearest", "nearest-exact", "linear", "cubic", "linear-antialias", "cubic-antialias"]

CUBIC = -0.75
"""The parameter of Keys' cubic convolution kernel (1981) that PyTorch, OpenCV and others use."""


SUPPORTS = {"linear-antialias": 1.0, "cubic-antialias": 2.0}
"""How far the kernels of the smoothing methods reach, in elements."""


class _Taps(NamedTuple):
    """For each result the elements it is made of and their weights: [taps, size]. Elements never decrease."""

    places: Array
    weights: Array


def _taps(extent: int, size: int, method: Method, align_corners: bool, scale: float | None) -> _Taps:
    if method in ("nearest", "nearest-exact"):
        # In float32, as PyTorch does, so that the same element is chosen where rounding decides.
        step = np.float32(1 / scale if scale else extent / size)
        start = np.float32(0.5 if method == "nearest-exact" else 0)
        places = np.floor((np.arange(size, dtype=np.float32) + start) * step).astype(np.int64)
        return _Taps(np.minimum(places, extent - 1)[None], np.ones((1, size)))
    if method in SUPPORTS:
        return _smoothing_taps(extent, size, method, align_corners, scale)
    at = _coordinates(extent, size, align_corners, scale)
    if method == "linear":
        at = np.maximum(at, 0)
        first = np.minimum(at.astype(np.int64), extent - 1)
        share = np.clip(at - first, 0, 1)
        return _Taps(np.stack((first, np.minimum(first + 1, extent - 1))), np.stack((1 - share, share)))
    first = np.floor(at).astype(np.int64)
    places = np.clip(first + np.arange(-1, 3)[:, None], 0, extent - 1)
    return _Taps(places, _cubic_weights(at - first))


def _smoothing_taps(extent: int, size: int, method: str, align_corners: bool, scale: float | None) -> _Taps:
    """The elements under a kernel that is widened where fewer elements come out, so that each counts; as in Pillow."""
    step = 1 / scale if scale else extent / size
    if align_corners:
        step = (extent - 1) / (size - 1) if size > 1 else 0.0
    wide = max(step, 1.0)
    reach = SUPPORTS[method] * wide
    centres = step * (np.arange(size) + 0.5)
    first = np.maximum((centres - reach + 0.5).astype(np.int64), 0)
    count = np.minimum((centres + reach + 0.5).astype(np.int64), extent) - first
    places = first + np.arange(max(int(count.max(initial=1)), 1))[:, None]
    distances = np.abs(places - centres + 0.5) / wide
    weights = np.where(places - first < count, _triangle(distances) if "linear" in method else _keys(distances), 0)
    return _Taps(np.minimum(places, extent - 1), weights / weights.sum(axis=0))


def _triangle(distance: Array) -> Array:
    result: Array = np.maximum(1 - distance, 0)
    return result


def _keys(distance: Array) -> Array:
    """Keys' kernel with the parameter -1/2, that of smoothing resizes."""
    near = (1.5 * distance - 2.5) * distance**2 + 1
    far = ((-0.5 * distance + 2.5) * distance - 4) * distance + 2
    result: Array = np.where(distance < 1, near, np.where(distance < 2, far, 0))
    return result


def _coordinates(extent: int, size: int, align_corners: bool, scale: float | None) -> Array:
    if align_corners:
        return np.arange(size) * ((extent - 1) / (size - 1) if size > 1 else 0.0)
    return (np.arange(size) + 0.5) * (1 / scale if scale else extent / size) - 0.5


def _cubic_weights(t: Array) -> Array:
    """Keys' kernel at the distances 1 + t, t, 1 - t and 2 - t."""

    def near(d: Array) -> Array:
        return ((CUBIC + 2) * d - (CUBIC + 3)) * d * d + 1

    def far(d: Array) -> Array:
        return ((CUBIC * d - 5 * CUBIC) * d + 8 * CUBIC) * d - 4 * CUBIC

    return np.stack((far(1 + t), near(t), near(1 - t), far(2 - t)))


def _wide(x: Array) -> Array:
    return x.astype(np.float32) if x.dtype == np.float16 else x


def _check(op: str, extent: int, size: int, scale: float | None) -> None:
    if size < 1 or extent < 1:
        raise ShapeError(f"{op}: from {extent} to {size} elements; both must be at least 1")
    if scale is not None and not scale > 0:
        raise AttributeValueError(f"{op}: scale {scale} must be positive")


def _resample(x: Value, *, axis: int, size: int, method: Method, align_corners: bool, scale: float | None) -> Spec:
    require_float("resample", x)
    place = normalize_axis(axis, x.ndim)
    if not x.ndim:
        raise ShapeError("resample needs at least one axis")
    _check("resample", x.shape[place], size, scale)
    return Spec((*x.shape[:place], size, *x.shape[place + 1 :]), x.dtype)


@primitive(
    shape_rule=_resample,
    numerics=Numerics(autocast="float32"),
    samples=[
        sample((2, 3), axis=1, size=5, method="nearest"),
        sample((3, 2), axis=0, size=5, method="linear"),
        sample((4,), axis=0, size=7, method="cubic", align_corners=True),
        sample((5,), axis=0, size=3, method="linear", scale=0.7),
        sample((7,), axis=0, size=3, method="linear-antialias"),
        sample((5,), axis=0, size=4, method="cubic-antialias"),
    ],
)
def resample(
    x: Array, *, axis: int, size: int, method: Method, align_corners: bool = False, scale: float | None = None
) -> Array:
    """x with `size` elements along `axis`, interpolated between its own; see interpolate.

    `scale` is the step the coordinates are reckoned with; without it, the ratio of the extents is.
    """
    place, wide = axis % x.ndim, _wide(x)
    taps = _taps(x.shape[place], size, method, align_corners, scale)
    if len(taps.places) == 1:
        return np.asarray(np.take(x, taps.places[0], axis=place))
    total = np.zeros((*x.shape[:place], size, *x.shape[place + 1 :]), wide.dtype)
    for elements, weights in zip(*taps, strict=True):
        total += np.take(wide, elements, axis=place) * _along(weights, place, wide)
    return np.asarray(total, x.dtype)


resample.batch(along("axis"))


def _along(weights: Array, place: int, like: Array) -> Array:
    """Shape a vector to lie along one axis."""
    return weights.astype(like.dtype).reshape(-1, *(1,) * (like.ndim - 1 - place))


@resample.vjp
def _(g: Value, y: Value, x: Value, *, axis: int, method: Method, align_corners: bool, scale: float | None) -> Value:
    place = normalize_axis(axis, x.ndim)
    extent = x.shape[place]
    return resample_back(g, axis=place, extent=extent, method=method, align_corners=align_corners, scale=scale)


def _resample_back(
    x: Value, *, axis: int, extent: int, method: Method, align_corners: bool, scale: float | None
) -> Spec:
    require_float("resample_back", x)
    place = normalize_axis(axis, x.ndim)
    if not x.ndim:
        raise ShapeError("resample_back needs at least one axis")
    _check("resample_back", extent, x.shape[place], scale)
    return Spec((*x.shape[:place], extent, *x.shape[place + 1 :]), x.dtype)


@primitive(
    shape_rule=_resample_back,
    numerics=Numerics(autocast="float32"),
    samples=[
        sample((2, 5), axis=1, extent=3, method="nearest-exact"),
        sample((5, 2), axis=0, extent=3, method="linear"),
        sample((7,), axis=0, extent=4, method="cubic", scale=1.9),
    ],
)
def resample_back(
    x: Array, *, axis: int, extent: int, method: Method, align_corners: bool = False, scale: float | None = None
) -> Array:
    """What each of `extent` elements gave to the results x of a resampling along `axis`: its transpose."""
    place, wide = axis % x.ndim, _wide(x)
    taps = _taps(extent, x.shape[place], method, align_corners, scale)
    total = np.zeros((*x.shape[:place], extent, *x.shape[place + 1 :]), wide.dtype)
    lead = (slice(None),) * place
    for elements, weights in zip(*taps, strict=True):
        starts = np.flatnonzero(np.diff(elements, prepend=-1))
        weighted = wide * _along(weights, place, wide)
        total[(*lead, elements[starts])] += np.add.reduceat(weighted, starts, axis=place)
    return total.astype(x.dtype, copy=False)


resample_back.batch(along("axis"))


@resample_back.vjp
def _(g: Value, y: Value, x: Value, *, axis: int, method: Method, align_corners: bool, scale: float | None) -> Value:
    place = normalize_axis(axis, x.ndim)
    return resample(g, axis=place, size=x.shape[place], method=method, align_corners=align_corners, scale=scale)
