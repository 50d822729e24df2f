"""Sampling images at the coordinates of a grid, and grids of affine maps (Jaderberg et al. 2015)."""

from __future__ import annotations

from itertools import product
from typing import Literal, NamedTuple

from engine.core.attributes import Ints
from engine.core.declarations import PRECISE_COMPOSITION
from engine.core.dtypes import INT64
from engine.core.errors import ShapeError
from engine.core.registry import composite
from engine.core.samples import sample, uniform
from engine.core.shape_rules import require_float
from engine.core.value import Value
from engine.ops.conv.resize import CUBIC
from engine.ops.elementwise.casting import cast, stop_gradient
from engine.ops.elementwise.comparison import where
from engine.ops.elementwise.elementwise import clamp, mul
from engine.ops.elementwise.rounding import floor, round
from engine.ops.index.advanced_index import index_get
from engine.ops.linalg.matmul import matrix_product
from engine.ops.shape.creation import arange, linspace, ones, zeros
from engine.ops.shape.shape import broadcast_to, permute, reshape, slice, squeeze, stack, transpose

Border = Literal["zeros", "border", "reflection"]
Mode = Literal["bilinear", "nearest", "bicubic"]


class _Corner(NamedTuple):
    """One neighbour along one axis: its index (a whole float), and the weight it has (None for 1)."""

    element: Value
    weight: Value | None


@composite(
    numerics=PRECISE_COMPOSITION,
    samples=[
        sample((1, 2, 3, 4), uniform(-1.2, 1.2, 1, 2, 2, 2)),
        sample((1, 1, 3, 3), uniform(-2.0, 2.0, 1, 2, 3, 2), padding_mode="border", align_corners=True),
        sample((1, 1, 3, 2), uniform(-2.0, 2.0, 1, 2, 2, 2), padding_mode="reflection"),
        sample((2, 1, 3, 3), uniform(-1.0, 1.0, 2, 2, 2, 2), mode="nearest"),
        sample((1, 2, 3, 4), uniform(-1.2, 1.2, 1, 2, 2, 2), mode="bicubic"),
        sample((1, 1, 3, 3), uniform(-1.5, 1.5, 1, 2, 2, 2), mode="bicubic", padding_mode="reflection"),
        sample((1, 1, 2, 3, 2), uniform(-1.0, 1.0, 1, 1, 2, 2, 3), align_corners=True),
    ],
)
def grid_sample(
    x: Value, grid: Value, *, mode: Mode = "bilinear", padding_mode: Border = "zeros", align_corners: bool = False
) -> Value:
    """x [N, C, H, W] sampled at the coordinates (x, y) of grid [N, h, w, 2]: -1 is the left or top border, 1 the other.

    Volumes [N, C, D, H, W] take grids [N, d, h, w, 3] of (x, y, z). The borders are the outer edges of the outermost
    elements, or with `align_corners` their centres. Coordinates outside read 0 ("zeros"), the nearest border element
    ("border") or the reflected element ("reflection"). "bicubic", for images only, weights 16 elements by Keys'
    kernel (1981).
    """
    rank = x.ndim - 2
    _check_grid(x, grid, rank)
    if mode == "bicubic" and rank != 2:
        raise ShapeError(f"grid_sample: bicubic needs an image [N, C, H, W], got {list(x.shape)}; use bilinear")
    # The last axis of the grid counts from the last spatial axis of x.
    places = [
        _place(
            squeeze(slice(grid, axis=-1, start=rank - 1 - axis, stop=rank - axis), axis=-1),
            x.shape[2 + axis],
            align_corners,
        )
        for axis in range(rank)
    ]
    if padding_mode != "zeros" and mode != "bicubic":
        places = [_inside(place, x.shape[2 + axis], padding_mode, align_corners) for axis, place in enumerate(places)]
    corners = [
        _taps(place, x.shape[2 + axis], padding_mode, align_corners) if mode == "bicubic" else _corners(place, mode)
        for axis, place in enumerate(places)
    ]
    rows = permute(x, axes=(0, *range(2, x.ndim), 1))
    total: Value | None = None
    for chosen in product(*corners):
        term = _read(rows, chosen)
        total = term if total is None else total + term
    assert total is not None
    return permute(total, axes=(0, total.ndim - 1, *range(1, total.ndim - 1)))


def _check_grid(x: Value, grid: Value, rank: int) -> None:
    require_float("grid_sample", x, grid)
    if rank not in (2, 3) or grid.ndim != x.ndim or grid.shape[-1] != rank or grid.shape[0] != x.shape[0]:
        raise ShapeError(
            "grid_sample needs an input [N, C, H, W] and a grid [N, h, w, 2], or [N, C, D, H, W] and [N, d, h, w, 3], "
            f"got {list(x.shape)} and {list(grid.shape)}"
        )
    if 0 in x.shape[2:]:
        raise ShapeError(f"grid_sample needs spatial extents of at least 1, got {list(x.shape)}")


def _place(coordinate: Value, extent: int, align_corners: bool) -> Value:
    """Turn -1..1 into the index of an element."""
    if align_corners:
        return (coordinate + 1.0) * ((extent - 1) / 2)
    return ((coordinate + 1.0) * float(extent) - 1.0) * 0.5


def _inside(place: Value, extent: int, padding_mode: Border, align_corners: bool) -> Value:
    """Move coordinates outside to the border; no gradient flows through those, nor through the border itself."""
    if padding_mode == "reflection":
        place = _reflected(place, extent, align_corners)
    within = (place > 0.0) & (place < float(extent - 1))
    return where(within, place, stop_gradient(clamp(place, min=0.0, max=float(extent - 1))))


def _reflected(place: Value, extent: int, align_corners: bool) -> Value:
    """Reflect a coordinate at the borders until it lies between them."""
    low, span = (0.0, float(extent - 1)) if align_corners else (-0.5, float(extent))
    if span == 0:
        return mul(place, 0.0)
    away = place - low
    away = where(away < 0.0, -away, away)
    flips = stop_gradient(floor(away / span))
    rest = away - flips * span
    odd = flips - floor(flips * 0.5) * 2.0 > 0.0
    return where(odd, span - rest, rest) + low


def _corners(place: Value, mode: Mode) -> list[_Corner]:
    if mode == "nearest":
        return [_Corner(stop_gradient(round(place)), None)]
    lower = stop_gradient(floor(place))
    upper = lower + 1.0
    return [_Corner(lower, upper - place), _Corner(upper, place - lower)]


def _taps(place: Value, extent: int, padding_mode: Border, align_corners: bool) -> list[_Corner]:
    """Return the four neighbours that a cubic interpolates; each is clamped separately, as in PyTorch."""
    lower = stop_gradient(floor(place))
    t = place - lower
    elements = [lower + float(k) for k in range(-1, 3)]
    if padding_mode != "zeros":
        elements = [stop_gradient(_inside(e, extent, padding_mode, align_corners)) for e in elements]
    weights = (_far(t + 1.0), _near(t), _near(1.0 - t), _far(2.0 - t))
    return [_Corner(element, weight) for element, weight in zip(elements, weights, strict=True)]


def _near(d: Value) -> Value:
    """Keys' kernel at distances up to 1."""
    return (d * (CUBIC + 2) - (CUBIC + 3)) * d * d + 1.0


def _far(d: Value) -> Value:
    """Keys' kernel at distances from 1 to 2."""
    return ((d * CUBIC - 5 * CUBIC) * d + 8 * CUBIC) * d - 4 * CUBIC


def _read(rows: Value, corners: tuple[_Corner, ...]) -> Value:
    """Return the elements [N, *places, C] of rows [N, *spatial, C] at one corner of each place, times its weight."""
    places = corners[0].element.shape
    number = arange(stop=places[0])
    indices = [broadcast_to(reshape(number, shape=(places[0], *(1,) * (len(places) - 1))), shape=places)]
    weight: Value | None = None
    for extent, corner in zip(rows.shape[1:-1], corners, strict=True):
        inside = (corner.element >= 0.0) & (corner.element <= float(extent - 1))
        indices.append(cast(where(inside, corner.element, 0.0), dtype=INT64))
        share = where(inside, ones(shape=(), dtype=rows.dtype) if corner.weight is None else corner.weight, 0.0)
        weight = share if weight is None else weight * share
    assert weight is not None
    found = index_get(rows, *indices, axes=tuple(range(len(indices))))
    return found * reshape(weight, shape=(*places, 1))


@composite(
    samples=[sample((2, 2, 3), shape=(2, 1, 3, 2)), sample((1, 3, 4), shape=(1, 1, 2, 3, 2), align_corners=True)]
)
def affine_grid(theta: Value, *, shape: Ints, align_corners: bool = False) -> Value:
    """The sampling grid, for grid_sample, of an output of `shape` [N, C, H, W] under the affine maps theta.

    theta [N, 2, 3] maps (x, y, 1) of the output to (x, y) of the image; for volumes it is [N, 3, 4].
    """
    require_float("affine_grid", theta)
    rank = len(shape) - 2
    if rank not in (2, 3) or theta.shape != (shape[0], rank, rank + 1) or min(shape) < 1:
        raise ShapeError(
            "affine_grid needs maps [N, 2, 3] and a shape [N, C, H, W], or [N, 3, 4] and [N, C, D, H, W], got "
            f"{list(theta.shape)} and {list(shape)}"
        )
    spatial = shape[2:]
    coordinates = [
        broadcast_to(
            reshape(_steps(extent, align_corners, theta), shape=(extent, *(1,) * (rank - 1 - axis))), shape=spatial
        )
        for axis, extent in enumerate(spatial)
    ]
    points = stack(*reversed(coordinates), ones(shape=spatial, dtype=theta.dtype), axis=-1)
    flat = reshape(points, shape=(-1, rank + 1))
    return reshape(matrix_product(flat, transpose(theta)), shape=(shape[0], *spatial, rank))


def _steps(extent: int, align_corners: bool, like: Value) -> Value:
    """Return the coordinates of the elements of one axis in -1..1."""
    if extent == 1:
        return zeros(shape=(1,), dtype=like.dtype)
    steps = linspace(start=-1.0, stop=1.0, steps=extent, dtype=like.dtype)
    return steps if align_corners else steps * ((extent - 1) / extent)
