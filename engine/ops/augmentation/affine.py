"""Images seen through affine maps of their pixels, and random such maps.

Maps are in fixed point, so that every executor reads the same pixels: int64 numbers of 1 / UNIT of a pixel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from engine.core.attributes import Ints
from engine.core.batching import folded
from engine.core.declarations import AUTOCAST_FLOAT32, Memory
from engine.core.dtypes import INT64, DType, computing_dtype
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import primitive
from engine.core.samples import Argument, key, sample
from engine.core.shape_rules import require_float
from engine.core.sharding_rules import batch_axes
from engine.core.value import Array, Shape, Spec, Value
from engine.ops.random.random import check_key, check_shape, stream

Interpolation = Literal["nearest", "bilinear"]

UNIT = 2**32
LARGEST = 2**16
"""Limit of the height and width of an image: products of a map and a place then fit into 64 bits."""
SMALLEST_SCALE = 0.01
SINE = tuple((-1) ** k / math.factorial(2 * k + 1) for k in reversed(range(9)))
"""Coefficients of the Taylor series of sin(x) / x in x^2, the highest power first; exact to 1e-17 up to pi / 4."""
COSINE = tuple((-1) ** k / math.factorial(2 * k) for k in reversed(range(10)))


def _check_extents(op: str, *extents: int) -> None:
    if not all(1 <= extent <= LARGEST for extent in extents):
        raise ShapeError(f"{op}: heights and widths must be in 1..{LARGEST}, got {list(extents)}")


def _check_range(op: str, name: str, pair: Sequence[float]) -> None:
    if len(pair) != 2 or not pair[0] <= pair[1]:
        raise AttributeValueError(f"{op}: {name} {list(pair)} must be two numbers, the lowest and the highest")


def _random_affine_maps(
    key: Value, *, rows: int, size: Ints, top: Ints, left: Ints, degrees: tuple[float, ...], scale: tuple[float, ...]
) -> Spec:
    op = "random_affine_maps"
    check_key(op, key)
    check_shape(op, (rows,))
    if len(size) != 2:
        raise AttributeValueError(f"{op}: size {list(size)} must be a height and a width")
    _check_extents(op, *size)
    for name, pair in (("top", top), ("left", left), ("degrees", degrees), ("scale", scale)):
        _check_range(op, name, pair)
    if max(map(abs, (*top, *left))) > LARGEST:
        raise AttributeValueError(f"{op}: top {list(top)} and left {list(left)} must be in -{LARGEST}..{LARGEST}")
    if scale[0] < SMALLEST_SCALE:
        raise AttributeValueError(f"{op}: scale {list(scale)} must be at least {SMALLEST_SCALE}")
    return Spec((rows, 2, 3), INT64)


def _turn(degrees: Array) -> tuple[Array, Array]:
    """Return sines and cosines by the operations of the compiled kernel; quarter turns are exact."""
    quarters = degrees / 90.0
    whole = np.floor(quarters + 0.5)
    x = (quarters - whole) * (math.pi / 2)
    square = x * x
    sine, cosine = np.full_like(x, SINE[0]), np.full_like(x, COSINE[0])
    for coefficient in SINE[1:]:
        sine = sine * square + coefficient
    for coefficient in COSINE[1:]:
        cosine = cosine * square + coefficient
    sine = sine * x
    turn = whole.astype(np.int64) & 3
    return np.choose(turn, (sine, cosine, -sine, -cosine)), np.choose(turn, (cosine, -sine, -cosine, sine))


def _fixed(number: Array) -> Array:
    fixed: Array = np.floor(number * UNIT + 0.5).astype(np.int64)
    return fixed


@primitive(
    shape_rule=_random_affine_maps,
    random=True,
    differentiable=False,
    samples=[
        sample(key(), rows=3, size=(4, 5), top=(-1, 1), left=(0, 2)),
        sample(key(), rows=2, size=(4, 4), degrees=(-30.0, 30.0), scale=(0.5, 2.0)),
    ],
)
def random_affine_maps(
    key: Array,
    *,
    rows: int,
    size: Ints,
    top: Ints = (0, 0),
    left: Ints = (0, 0),
    degrees: tuple[float, ...] = (0.0, 0.0),
    scale: tuple[float, ...] = (1.0, 1.0),
) -> Array:
    """Maps int64[rows, 2, 3] for `affine_sample`, one drawn for each row, of results of `size` (height, width).

    The image is turned counter-clockwise by `degrees` and magnified by `scale` about the centre of the result, which
    lies `top` and `left` whole pixels from that corner of the image. Each is drawn uniformly from its range, the ends
    of whole numbers included. A map holds, for rows and then columns of the image, the factors of the row and the
    column of the result and a constant, in units of 2^-32 pixels.
    """
    share = stream(key).random((rows, 4))
    sine, cosine = _turn(degrees[0] + share[:, 0] * (degrees[1] - degrees[0]))
    zoom = scale[0] + share[:, 1] * (scale[1] - scale[0])
    sine, cosine = _fixed(sine / zoom), _fixed(cosine / zoom)
    high, wide = size[0] - 1, size[1] - 1
    maps = np.empty((rows, 2, 3), np.int64)
    maps[:, 0, 0], maps[:, 0, 1] = cosine, sine
    maps[:, 1, 0], maps[:, 1, 1] = -sine, cosine
    for axis, (extent, (low, most)) in enumerate(((high, top), (wide, left))):
        offset = np.floor(share[:, 2 + axis] * (most - low + 1)).astype(np.int64) + low
        turned = maps[:, axis, 0] * high + maps[:, axis, 1] * wide
        maps[:, axis, 2] = ((extent * UNIT - turned) >> 1) + offset * UNIT
    return maps


def _check_sampling(op: str, x: Value, maps: Value) -> None:
    require_float(op, x)
    if x.ndim != 4:
        raise ShapeError(f"{op} needs images [N, C, H, W], got {list(x.shape)}")
    if maps.shape != (x.shape[0], 2, 3) or maps.dtype != INT64:
        raise ShapeError(
            f"{op} needs maps int64[{x.shape[0]}, 2, 3], one for each image, got {maps.dtype.name}{list(maps.shape)}"
        )


def _affine_sample(x: Value, maps: Value, *, size: Ints, interpolation: Interpolation, fill: float) -> Spec:
    _check_sampling("affine_sample", x, maps)
    if len(size) != 2:
        raise AttributeValueError(f"affine_sample: size {list(size)} must be a height and a width")
    _check_extents("affine_sample", *x.shape[2:], *size)
    return Spec((*x.shape[:2], *size), x.dtype)


def _scratch(attrs: Mapping[str, Any], inputs: Sequence[Spec], outputs: Sequence[Spec]) -> int:
    results = outputs[0].shape if "size" in attrs else inputs[0].shape
    planes, channels = results[0] * results[2] * results[3], results[1]
    return planes * (8 * 8 + 3 * 8 * channels)


class _Tap(NamedTuple):
    """One of the pixels that each result is made of: its place in a plane, whether it lies in it, and its weight."""

    place: Array
    inside: Array
    weight: Array | None


def _taps(maps: Array, source: Shape, size: Shape, interpolation: Interpolation, dtype: DType) -> list[_Tap]:
    """Return the pixels of planes of extents `source` that results of `size` are made of, each [N, *size]."""
    grid = np.ogrid[: size[0], : size[1]]
    y, x = (
        maps[:, axis, 0, None, None] * grid[0] + maps[:, axis, 1, None, None] * grid[1] + maps[:, axis, 2, None, None]
        for axis in (0, 1)
    )
    if interpolation == "nearest":
        return [_tap(y + UNIT // 2 >> 32, x + UNIT // 2 >> 32, source, None)]
    down, right = ((place & (UNIT - 1)).astype(dtype) * dtype.type(1 / UNIT) for place in (y, x))
    one = dtype.type(1)
    return [
        _tap(y >> 32, x >> 32, source, (one - down) * (one - right)),
        _tap(y >> 32, (x >> 32) + 1, source, (one - down) * right),
        _tap((y >> 32) + 1, x >> 32, source, down * (one - right)),
        _tap((y >> 32) + 1, (x >> 32) + 1, source, down * right),
    ]


def _tap(row: Array, column: Array, source: Shape, weight: Array | None) -> _Tap:
    inside = (row >= 0) & (row < source[0]) & (column >= 0) & (column < source[1])
    return _Tap(np.where(inside, row * source[1] + column, 0), inside, weight)


def _spread(tap: Array) -> Array:
    """Add the axis of channels, and join those of places."""
    rows, height, width = tap.shape
    spread: Array = tap.reshape(rows, 1, height * width)
    return spread


MAPS = Argument((2, 2, 3), lambda generator, shape: _sample_maps(generator))
"""Maps of a sample: turns about the centre of 4 x 3 pixels, shifted."""


def _sample_maps(generator: np.random.Generator) -> Array:
    drawn: Array = random_affine_maps.body(
        generator.integers(0, 2**62, 2), rows=2, size=(4, 3), top=(-1, 1), left=(-1, 1), degrees=(5.0, 85.0)
    )
    return drawn


@primitive(
    shape_rule=_affine_sample,
    numerics=AUTOCAST_FLOAT32,
    memory=Memory(scratch=_scratch),
    sharding=batch_axes("00", "0"),
    batching=folded(0, 1),
    samples=[
        sample((2, 2, 4, 3), MAPS, size=(4, 3)),
        sample((2, 1, 4, 3), MAPS, size=(4, 3), interpolation="bilinear", fill=0.5),
        sample((2, 1, 5, 4), MAPS, size=(2, 3)),
    ],
)
def affine_sample(
    x: Array, maps: Array, *, size: Ints, interpolation: Interpolation = "nearest", fill: float = 0.0
) -> Array:
    """Images [N, C, *size] whose pixels are those of x [N, C, H, W] where the maps lead; see random_affine_maps.

    "nearest" takes the nearest pixel, "bilinear" the mean of four by their distance. Pixels outside of x are `fill`.
    """
    dtype = computing_dtype(x.dtype)
    planes = x.reshape(*x.shape[:2], x.shape[2] * x.shape[3])
    total: Array | None = None
    for place, inside, weight in _taps(maps, x.shape[2:], size, interpolation, dtype):
        read = np.take_along_axis(planes, _spread(place), axis=2).astype(dtype, copy=False)
        read = np.where(_spread(inside), read, dtype.type(fill))
        term = read if weight is None else read * _spread(weight)
        total = term if total is None else total + term
    result: Array = np.asarray(total, x.dtype).reshape(*x.shape[:2], *size)
    return result


@affine_sample.vjp
def _(g: Value, y: Value, x: Value, maps: Value, *, interpolation: Interpolation) -> object:
    return affine_sample_back(g, maps, size=x.shape[2:], interpolation=interpolation), None


def _affine_sample_back(x: Value, maps: Value, *, size: Ints, interpolation: Interpolation) -> Spec:
    _check_sampling("affine_sample_back", x, maps)
    if len(size) != 2:
        raise AttributeValueError(f"affine_sample_back: size {list(size)} must be a height and a width")
    _check_extents("affine_sample_back", *x.shape[2:], *size)
    return Spec((*x.shape[:2], *size), x.dtype)


@primitive(
    shape_rule=_affine_sample_back,
    numerics=AUTOCAST_FLOAT32,
    memory=Memory(scratch=_scratch),
    sharding=batch_axes("00", "0"),
    batching=folded(0, 1),
    samples=[
        sample((2, 2, 4, 3), MAPS, size=(4, 3)),
        sample((2, 1, 4, 3), MAPS, size=(5, 4), interpolation="bilinear"),
    ],
)
def affine_sample_back(x: Array, maps: Array, *, size: Ints, interpolation: Interpolation = "nearest") -> Array:
    """The transpose of affine_sample: images [N, C, *size] each of whose pixels sums what it gave to the results x."""
    dtype = computing_dtype(x.dtype)
    planes = x.reshape(*x.shape[:2], x.shape[2] * x.shape[3]).astype(dtype, copy=False)
    total = np.zeros((*x.shape[:2], size[0] * size[1]), dtype)
    number = np.arange(x.shape[0])[:, None, None], np.arange(x.shape[1])[:, None]
    for place, inside, weight in _taps(maps, size, x.shape[2:], interpolation, dtype):
        given = planes if weight is None else planes * _spread(weight)
        np.add.at(total, (*number, _spread(place)), np.where(_spread(inside), given, dtype.type(0)))
    result: Array = total.astype(x.dtype, copy=False).reshape(*x.shape[:2], *size)
    return result


@affine_sample_back.vjp
def _(g: Value, y: Value, x: Value, maps: Value, *, interpolation: Interpolation) -> object:
    return affine_sample(g, maps, size=x.shape[2:], interpolation=interpolation), None
