"""Images and volumes brought to other sizes: interpolation, and channels traded for pixels."""

from __future__ import annotations

import math
from typing import Literal

from engine.core.declarations import Numerics
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import composite
from engine.core.samples import sample
from engine.core.value import Value
from engine.ops.adaptive import bin_mean
from engine.ops.resampling import Method, resample
from engine.ops.shape import permute, reshape
from engine.ops.windows import per_axis

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
"""What takes the place of a method that is to smooth."""


@composite(
    aliases=("upscale",),
    numerics=Numerics(compute_float32=True, autocast="float32"),
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
    size: int | tuple[int, ...] | None = None,
    scale: float | tuple[float, ...] | None = None,
    mode: Mode = "nearest",
    align_corners: bool = False,
    antialias: bool = False,
) -> Value:
    """x [N, C, *spatial] with its 1 to 3 spatial axes resampled to `size`, or to `scale` times theirs, as in PyTorch.

    "linear", "bilinear" and "trilinear" are the same for 1, 2 and 3 axes; "area" takes the means of bins. Elements are
    taken for squares with values in the middle, or with `align_corners` for points, the outermost at the ends.
    `antialias` widens the kernel of "bilinear" and "bicubic" where the result is smaller, so that every element counts.
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
    for axis, (extent, step) in enumerate(zip(sizes, scales, strict=True), start=2):
        if method is None:
            x = bin_mean(x, axis=axis, bins=extent)
        elif antialias or extent != x.shape[axis] or (step is not None and method in ("nearest-exact", "cubic")):
            # PyTorch leaves an extent that stays the same alone in the other modes, whatever the scale
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
    if len(scales) != rank or not all(0 < s <= LARGEST_SCALE for s in scales):
        raise AttributeValueError(
            f"interpolate.scale must be a positive number up to {LARGEST_SCALE} or a list of {rank}, got {scale}"
        )
    extents = tuple(math.floor(e * s) for e, s in zip(x.shape[2:], scales, strict=True))
    return per_axis("interpolate: the size that scale gives", extents, rank, 1), scales


@composite(samples=[sample((1, 4, 2, 3), factor=2)])
def pixel_shuffle(x: Value, *, factor: int) -> Value:
    """[..., C r², H, W] as [..., C, H r, W r] for the factor r: channels become pixels (Shi et al. 2016)."""
    if factor < 1 or x.ndim < 3 or x.shape[-3] % factor**2:
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
def pixel_unshuffle(x: Value, *, factor: int) -> Value:
    """[..., C, H r, W r] as [..., C r², H, W] for the factor r: pixels become channels, pixel_shuffle undone."""
    if factor < 1 or x.ndim < 3 or x.shape[-2] % factor or x.shape[-1] % factor:
        raise ShapeError(
            f"pixel_unshuffle: input [..., C, H r, W r] needs extents that factor {factor} divides, got {list(x.shape)}"
        )
    *batch, channels, rows, columns = x.shape
    parts = reshape(x, shape=(*batch, channels, rows // factor, factor, columns // factor, factor))
    n = len(batch)
    together = permute(parts, axes=(*range(n + 1), n + 2, n + 4, n + 1, n + 3))
    return reshape(together, shape=(*batch, channels * factor**2, rows // factor, columns // factor))


@composite(samples=[sample((1, 4, 2), groups=2)])
def channel_shuffle(x: Value, *, groups: int) -> Value:
    """x [N, C, *spatial] with the channels of `groups` groups interleaved (Zhang et al. 2018)."""
    if groups < 1 or x.ndim < 3 or x.shape[1] % groups:
        raise ShapeError(
            f"channel_shuffle: groups {groups} must divide the channels of {list(x.shape)} [N, C, *spatial]"
        )
    apart = reshape(x, shape=(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))
    return reshape(permute(apart, axes=(0, 2, 1, *range(3, apart.ndim))), shape=x.shape)
