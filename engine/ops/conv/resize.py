"""Interpolation of images and volumes, axis by axis, its transpose, and pixel and channel shuffling."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from engine.core.attributes import Length, Range
from engine.core.batching import along
from engine.core.declarations import AUTOCAST_FLOAT32, PRECISE_COMPOSITION
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import sample
from engine.core.shape_rules import normalize_axis, require_float
from engine.core.sharding_rules import ALONG_AXIS
from engine.core.value import Array, Spec, Value
from engine.ops.conv.adaptive import bin_mean
from engine.ops.conv.columns import per_axis
from engine.ops.shape.shape import permute, reshape

Method = Literal["nearest", "nearest-exact", "linear", "cubic", "linear-antialias", "cubic-antialias"]

CUBIC = -0.75
"""The parameter of Keys' cubic convolution kernel (1981) that PyTorch, OpenCV and others use."""


SUPPORTS = {"linear-antialias": 1.0, "cubic-antialias": 2.0}
"""Radius of the antialiasing kernels, in elements."""


class Taps(NamedTuple):
    """Indices and weights of the elements that each result is made from: [taps, size]; indices are non-decreasing."""

    places: Array
    weights: Array


def taps_of(extent: int, size: int, method: Method, align_corners: bool, scale: float | None) -> Taps:
    """Return what `size` results along an axis of `extent` elements are made of; see resample for the attributes."""
    if method in ("nearest", "nearest-exact"):
        # In float32, as PyTorch does, so that the same element is chosen where rounding decides.
        step = np.float32(1 / scale if scale else extent / size)
        start = np.float32(0.5 if method == "nearest-exact" else 0)
        places = np.floor((np.arange(size, dtype=np.float32) + start) * step).astype(np.int64)
        return Taps(np.minimum(places, extent - 1)[None], np.ones((1, size)))
    if method in SUPPORTS:
        return _smoothing_taps(extent, size, method, align_corners, scale)
    at = _coordinates(extent, size, align_corners, scale)
    if method == "linear":
        at = np.maximum(at, 0)
        first = np.minimum(at.astype(np.int64), extent - 1)
        share = np.clip(at - first, 0, 1)
        return Taps(np.stack((first, np.minimum(first + 1, extent - 1))), np.stack((1 - share, share)))
    first = np.floor(at).astype(np.int64)
    places = np.clip(first + np.arange(-1, 3)[:, None], 0, extent - 1)
    return Taps(places, _cubic_weights(at - first))


def _smoothing_taps(extent: int, size: int, method: str, align_corners: bool, scale: float | None) -> Taps:
    """Taps of a kernel that is widened for downsampling, so that every element contributes, as in Pillow."""
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
    return Taps(np.minimum(places, extent - 1), weights / weights.sum(axis=0))


def _triangle(distance: Array) -> Array:
    result: Array = np.maximum(1 - distance, 0)
    return result


def _keys(distance: Array) -> Array:
    """Keys' kernel with the parameter -1/2, that of antialiased resizing."""
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


def _check_axis(op: str, x: Value, axis: int) -> int:
    """Check the input and return the axis, counted from the front."""
    require_float(op, x)
    place = normalize_axis(axis, x.ndim)
    if not x.ndim:
        raise ShapeError(f"{op} needs at least one axis")
    return place


def _resample(x: Value, *, axis: int, size: int, scale: float | None, **_: Any) -> Spec:
    place = _check_axis("resample", x, axis)
    _check("resample", x.shape[place], size, scale)
    return Spec((*x.shape[:place], size, *x.shape[place + 1 :]), x.dtype)


@primitive(
    shape_rule=_resample,
    numerics=AUTOCAST_FLOAT32,
    sharding=ALONG_AXIS,
    batching=along("axis"),
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

    `scale` is the factor from which coordinates are computed; by default the ratio of the extents.
    """
    place, wide = axis % x.ndim, _wide(x)
    taps = taps_of(x.shape[place], size, method, align_corners, scale)
    if len(taps.places) == 1:
        return np.asarray(np.take(x, taps.places[0], axis=place))
    total = np.zeros((*x.shape[:place], size, *x.shape[place + 1 :]), wide.dtype)
    for elements, weights in zip(*taps, strict=True):
        total += np.take(wide, elements, axis=place) * _along(weights, place, wide)
    return np.asarray(total, x.dtype)


def _along(weights: Array, place: int, like: Array) -> Array:
    """Shape a vector to lie along one axis."""
    return weights.astype(like.dtype).reshape(-1, *(1,) * (like.ndim - 1 - place))


@resample.vjp
def _(g: Value, y: Value, x: Value, *, axis: int, size: int, **how: Any) -> Value:
    place = normalize_axis(axis, x.ndim)
    return resample_back(g, axis=place, extent=x.shape[place], **how)


def _resample_back(x: Value, *, axis: int, extent: int, scale: float | None, **_: Any) -> Spec:
    place = _check_axis("resample_back", x, axis)
    _check("resample_back", extent, x.shape[place], scale)
    return Spec((*x.shape[:place], extent, *x.shape[place + 1 :]), x.dtype)


@primitive(
    shape_rule=_resample_back,
    numerics=AUTOCAST_FLOAT32,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[
        sample((2, 5), axis=1, extent=3, method="nearest-exact"),
        sample((5, 2), axis=0, extent=3, method="linear"),
        sample((7,), axis=0, extent=4, method="cubic", scale=1.9),
    ],
)
def resample_back(
    x: Array, *, axis: int, extent: int, method: Method, align_corners: bool = False, scale: float | None = None
) -> Array:
    """The transpose of resample along `axis`: each of `extent` elements sums its contributions to the results x."""
    place, wide = axis % x.ndim, _wide(x)
    taps = taps_of(extent, x.shape[place], method, align_corners, scale)
    total = np.zeros((*x.shape[:place], extent, *x.shape[place + 1 :]), wide.dtype)
    lead = (slice(None),) * place
    for elements, weights in zip(*taps, strict=True):
        starts = np.flatnonzero(np.diff(elements, prepend=-1))
        weighted = wide * _along(weights, place, wide)
        total[(*lead, elements[starts])] += np.add.reduceat(weighted, starts, axis=place)
    return total.astype(x.dtype, copy=False)


@resample_back.vjp
def _(g: Value, y: Value, x: Value, *, axis: int, extent: int, **how: Any) -> Value:
    place = normalize_axis(axis, x.ndim)
    return resample(g, axis=place, size=x.shape[place], **how)


Mode = Literal["nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area"]

LARGEST_SCALE = 2**31

METHODS: dict[str, tuple[Method, int | None]] = {
    "nearest": ("nearest", None),
    "nearest-exact": ("nearest-exact", None),
    "linear": ("linear", 1),
    "bilinear": ("linear", 2),
    "trilinear": ("linear", 3),
    "bicubic": ("cubic", 2),
}
"""For each mode the method along an axis, and how many axes it is meant for."""

SMOOTHING: dict[str, Method] = {"linear": "linear-antialias", "cubic": "cubic-antialias"}
"""The antialiased variant of a method."""


@composite(
    aliases=("upscale",),
    numerics=PRECISE_COMPOSITION,
    samples=[
        sample((1, 2, 3), size=5),
        sample((1, 1, 2, 3), size=(4, 5), mode="bilinear"),
        sample((1, 1, 4, 4), size=3, mode="bicubic", align_corners=True),
        sample((1, 1, 2, 2, 3), scale=1.5, mode="trilinear"),
        sample((1, 1, 5), size=2, mode="area"),
        sample((2, 1, 3), scale=2.0, mode="linear", align_corners=True),
        sample((1, 1, 5, 6), size=(2, 3), mode="bilinear", antialias=True),
    ],
)
def interpolate(
    x: Value,
    *,
    size: Annotated[int | tuple[int, ...] | None, Range(1)] = None,
    scale: Annotated[float | tuple[float, ...] | None, Range(0, LARGEST_SCALE, above=True)] = None,
    mode: Mode = "nearest",
    align_corners: bool = False,
    antialias: bool = False,
) -> Value:
    """x [N, C, *spatial] with its 1 to 3 spatial axes resampled to `size`, or to `scale` times theirs, as in PyTorch.

    "linear", "bilinear" and "trilinear" are the same for 1, 2 and 3 axes; "area" takes the means of bins. Elements are
    squares with their values at the centre, or with `align_corners` points, the outermost at the ends of the axis.
    `antialias` widens the kernel of "bilinear" and "bicubic" for downsampling, so that every element contributes.
    """
    rank = x.ndim - 2
    if rank not in (1, 2, 3):
        raise ShapeError(f"interpolate needs an input [N, C, *spatial] with 1 to 3 spatial axes, got {list(x.shape)}")
    method, meant = METHODS.get(mode, (None, None))
    if meant not in (None, rank):
        raise AttributeValueError(
            f"interpolate: mode {mode!r} is for {meant} spatial axes, the input {list(x.shape)} has {rank}"
        )
    if align_corners and method not in ("linear", "cubic"):
        raise AttributeValueError(f"interpolate: align_corners does not go with mode {mode!r}")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise AttributeValueError(f"interpolate: antialias goes with modes 'bilinear' and 'bicubic', not {mode!r}")
    smooth: Method | None = SMOOTHING[method] if antialias and method in SMOOTHING else method
    sizes, scales = _sizes(x, rank, size, scale)
    axes = list(enumerate(zip(sizes, scales, strict=True), start=2))
    if math.prod(sizes) > math.prod(x.shape[2:]):
        axes.reverse()  # the last axis, whose elements are gathered one by one, while there are fewer of them
    for axis, (extent, step) in axes:
        if method is None:
            x = bin_mean(x, axis=axis, bins=extent)
        elif antialias or extent != x.shape[axis] or (step is not None and method in ("nearest-exact", "cubic")):
            # In the other modes PyTorch does not resample an axis whose extent stays the same, at any scale.
            assert smooth is not None
            x = resample(x, axis=axis, size=extent, method=smooth, align_corners=align_corners, scale=step)
    return x


def _sizes(
    x: Value, rank: int, size: int | tuple[int, ...] | None, scale: float | tuple[float, ...] | None
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """Return the new extents and, where they follow from them, the scales."""
    if (size is None) == (scale is None):
        raise AttributeValueError("interpolate needs either size or scale")
    if size is not None:
        return per_axis("interpolate.size", size, rank, 1), (None,) * rank
    assert scale is not None
    scales = (float(scale),) * rank if isinstance(scale, int | float) else tuple(scale)
    if len(scales) != rank:
        raise AttributeValueError(f"interpolate.scale must be a number or a list of {rank}, got {scale}")
    extents = tuple(math.floor(e * s) for e, s in zip(x.shape[2:], scales, strict=True))
    return per_axis("interpolate: the size that scale gives", extents, rank, 1), scales


@composite(samples=[sample((1, 4, 2, 3), factor=2)])
def pixel_shuffle(x: Value, *, factor: Length) -> Value:
    """[..., C r², H, W] as [..., C, H r, W r] for the factor r: channels become pixels (Shi et al. 2016)."""
    if x.ndim < 3 or x.shape[-3] % factor**2:
        raise ShapeError(
            f"pixel_shuffle: input [..., C r², H, W] needs channels that the square of factor {factor} divides, got "
            f"{list(x.shape)}"
        )
    *batch, channels, rows, columns = x.shape
    parts = reshape(x, shape=(*batch, channels // factor**2, factor, factor, rows, columns))
    n = len(batch)
    apart = permute(parts, axes=(*range(n + 1), n + 3, n + 1, n + 4, n + 2))
    return reshape(apart, shape=(*batch, channels // factor**2, rows * factor, columns * factor))


@composite(samples=[sample((1, 1, 4, 6), factor=2)])
def pixel_unshuffle(x: Value, *, factor: Length) -> Value:
    """[..., C, H r, W r] as [..., C r², H, W] for the factor r: pixels become channels, pixel_shuffle undone."""
    if x.ndim < 3 or x.shape[-2] % factor or x.shape[-1] % factor:
        raise ShapeError(
            f"pixel_unshuffle: input [..., C, H r, W r] needs extents that factor {factor} divides, got {list(x.shape)}"
        )
    *batch, channels, rows, columns = x.shape
    parts = reshape(x, shape=(*batch, channels, rows // factor, factor, columns // factor, factor))
    n = len(batch)
    together = permute(parts, axes=(*range(n + 1), n + 2, n + 4, n + 1, n + 3))
    return reshape(together, shape=(*batch, channels * factor**2, rows // factor, columns // factor))


@composite(samples=[sample((1, 4, 2), groups=2)])
def channel_shuffle(x: Value, *, groups: Length) -> Value:
    """x [N, C, *spatial] with the channels of `groups` groups interleaved (Zhang et al. 2018)."""
    if x.ndim < 3 or x.shape[1] % groups:
        raise ShapeError(
            f"channel_shuffle: groups {groups} must divide the channels of {list(x.shape)} [N, C, *spatial]"
        )
    apart = reshape(x, shape=(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))
    return reshape(permute(apart, axes=(0, 2, 1, *range(3, apart.ndim))), shape=x.shape)
