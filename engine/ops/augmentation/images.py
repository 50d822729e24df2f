"""Augmentation of images [N, C, H, W]: flips, crops, shifts, rotations, erased rectangles.

Each image has its own draw. Outside of training an image is returned as it is; a crop is then that of the centre.
"""

from __future__ import annotations

import math
from typing import Annotated

from engine.core.attributes import Extents, Margins, Range, Share, Window
from engine.core.declarations import PRECISE_COMPOSITION
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import composite
from engine.core.samples import key, sample
from engine.core.shape_rules import require_float
from engine.core.value import Value
from engine.ops.augmentation.affine import SMALLEST_SCALE, Interpolation, affine_sample, random_affine_maps
from engine.ops.augmentation.boxes import erase_boxes, random_boxes
from engine.ops.elementwise.comparison import where
from engine.ops.random.random import bernoulli, check_key
from engine.ops.shape.shape import flip, pad, slice


def _check_images(op: str, x: Value, key: Value) -> None:
    check_key(op, key)
    require_float(op, x)
    if x.ndim != 4:
        raise ShapeError(f"{op} needs images [N, C, H, W], got {list(x.shape)}")


def _pair(op: str, name: str, number: Window) -> tuple[int, int]:
    """Return the numbers of the height and the width."""
    pair = (number, number) if isinstance(number, int) else number
    if len(pair) != 2 or min(pair) < 0:
        raise AttributeValueError(f"{op}: {name} {number} must be one number, or two: of the height and the width")
    return pair[0], pair[1]


def _flip(op: str, x: Value, key: Value, axis: int, p: float, training: bool | None) -> Value:
    _check_images(op, x, key)
    if not training or p == 0:
        return x
    return where(bernoulli(key, shape=(x.shape[0], 1, 1, 1), p=p), flip(x, axis=axis), x)


@composite(random=True, samples=[sample((3, 2, 2, 3), key(), training=True), sample((2, 1, 2, 2), key())])
def random_horizontal_flip(x: Value, key: Value, *, p: Share = 0.5, training: bool | None = None) -> Value:
    """Images x [N, C, H, W], each mirrored left to right with probability p in training.

    As torchvision's RandomHorizontalFlip, with a draw for each image.
    """
    return _flip("random_horizontal_flip", x, key, 3, p, training)


@composite(random=True, samples=[sample((3, 2, 2, 3), key(), training=True), sample((2, 1, 2, 2), key())])
def random_vertical_flip(x: Value, key: Value, *, p: Share = 0.5, training: bool | None = None) -> Value:
    """Images x [N, C, H, W], each turned upside down with probability p in training.

    As torchvision's RandomVerticalFlip, with a draw for each image.
    """
    return _flip("random_vertical_flip", x, key, 2, p, training)


@composite(
    random=True,
    samples=[
        sample((2, 2, 4, 3), key(), size=(4, 3), padding=1, training=True),
        sample((2, 1, 4, 5), key(), size=2, training=True),
        sample((2, 1, 4, 5), key(), size=3),
    ],
)
def random_crop(
    x: Value, key: Value, *, size: Extents, padding: Margins = 0, fill: float = 0.0, training: bool | None = None
) -> Value:
    """A window of `size` (height and width, or one number for both) of each image x [N, C, H, W].

    Its place is drawn uniformly in training, from the image with `padding` pixels of the value `fill` on all sides, and
    is the centre outside of training. As torchvision's RandomCrop, with a draw for each image, and its CenterCrop.
    """
    _check_images("random_crop", x, key)
    window, border = _pair("random_crop", "size", size), _pair("random_crop", "padding", padding)
    room = [extent + 2 * edge - side for extent, edge, side in zip(x.shape[2:], border, window, strict=True)]
    if min(room) < 0:
        raise ShapeError(
            f"random_crop: a window of {list(window)} must fit into images of "
            f"{list(x.shape[2:])} with a padding of {list(border)}"
        )
    if training and max(room):
        top, left = ((-edge, free - edge) for edge, free in zip(border, room, strict=True))
        maps = random_affine_maps(key, rows=x.shape[0], size=window, top=top, left=left)
        return affine_sample(x, maps, size=window, fill=fill)
    for axis, edge, free, side in zip((2, 3), border, room, window, strict=True):
        first = round(free / 2) - edge
        grown = [max(-first, 0), max(first + side - x.shape[axis], 0)]
        if max(grown):
            x = pad(x, widths=tuple((*grown,) if a == axis else (0, 0) for a in range(4)), value=fill)
        x = slice(x, axis=axis, start=first + grown[0], stop=first + grown[0] + side)
    return x


def _angles(op: str, degrees: float | tuple[float, ...]) -> tuple[float, float]:
    """Return the lowest and highest angle: one number stands for those up to it in both directions."""
    pair = degrees if isinstance(degrees, tuple) else (-degrees, degrees)
    if len(pair) != 2 or not pair[0] <= pair[1]:
        raise AttributeValueError(
            f"{op}: degrees {degrees} must be one number of at least 0, or the lowest and the highest angle"
        )
    return pair[0], pair[1]


@composite(
    random=True,
    numerics=PRECISE_COMPOSITION,
    samples=[
        sample((2, 2, 4, 3), key(), degrees=30.0, training=True),
        sample((2, 1, 4, 4), key(), degrees=(10.0, 80.0), interpolation="bilinear", fill=0.5, training=True),
        sample((2, 1, 4, 4), key(), degrees=30.0),
    ],
)
def random_rotation(
    x: Value,
    key: Value,
    *,
    degrees: float | tuple[float, ...],
    interpolation: Interpolation = "nearest",
    fill: float = 0.0,
    training: bool | None = None,
) -> Value:
    """Images x [N, C, H, W], each turned about its centre in training, by an angle drawn uniformly from `degrees`.

    One number stands for -degrees..degrees; positive angles turn counter-clockwise. What lies outside of the image is
    `fill`. As torchvision's RandomRotation, with a draw for each image.
    """
    _check_images("random_rotation", x, key)
    angles = _angles("random_rotation", degrees)
    if not training:
        return x
    maps = random_affine_maps(key, rows=x.shape[0], size=x.shape[2:], degrees=angles)
    return affine_sample(x, maps, size=x.shape[2:], interpolation=interpolation, fill=fill)


@composite(
    random=True,
    numerics=PRECISE_COMPOSITION,
    samples=[
        sample((2, 2, 4, 3), key(), degrees=10.0, translate=(0.4, 0.3), scale=(0.8, 1.25), training=True),
        sample((2, 1, 4, 4), key(), translate=(0.25, 0.0), training=True),
        sample((2, 1, 4, 4), key(), degrees=20.0, interpolation="bilinear", training=True),
        sample((2, 1, 4, 4), key(), degrees=30.0),
    ],
)
def random_affine(
    x: Value,
    key: Value,
    *,
    degrees: float | tuple[float, ...] = 0.0,
    translate: Annotated[tuple[float, ...], Range(0, 1)] = (0.0, 0.0),
    scale: Annotated[tuple[float, ...], Range(SMALLEST_SCALE)] = (1.0, 1.0),
    interpolation: Interpolation = "nearest",
    fill: float = 0.0,
    training: bool | None = None,
) -> Value:
    """Images x [N, C, H, W], each turned, shifted and magnified in training by amounts drawn uniformly.

    `degrees` as of random_rotation. `translate` is the largest shift to either side, as shares of the width and of the
    height, in whole pixels. `scale` is the lowest and the highest magnification. What lies outside of the image is
    `fill`. As torchvision's RandomAffine without shear, with a draw for each image.
    """
    _check_images("random_affine", x, key)
    angles = _angles("random_affine", degrees)
    if len(translate) != 2:
        raise AttributeValueError(f"random_affine: translate {list(translate)} must be two shares, of width and height")
    if not training:
        return x
    wide, high = (math.floor(share * extent) for share, extent in zip(translate, x.shape[:1:-1], strict=True))
    maps = random_affine_maps(
        key, rows=x.shape[0], size=x.shape[2:], top=(-high, high), left=(-wide, wide), degrees=angles, scale=scale
    )
    return affine_sample(x, maps, size=x.shape[2:], interpolation=interpolation, fill=fill)


@composite(
    random=True,
    samples=[
        sample((3, 2, 6, 5), key(), p=0.8, training=True),
        sample((2, 1, 4, 4), key(), p=1.0, scale=(0.25, 0.25), ratio=(1.0, 1.0), value=0.5, training=True),
        sample((2, 1, 4, 4), key()),
    ],
)
def random_erasing(
    x: Value,
    key: Value,
    *,
    p: Share = 0.5,
    scale: Annotated[tuple[float, ...], Range(0, 1)] = (0.02, 0.33),
    ratio: Annotated[tuple[float, ...], Range(1e-3, 1e3)] = (0.3, 3.3),
    value: float = 0.0,
    training: bool | None = None,
) -> Value:
    """Images x [N, C, H, W], each with probability p with `value` in a random rectangle in training.

    Its share of the area is drawn from `scale`, its height over its width from `ratio`: as torchvision's RandomErasing
    (Zhong et al. 2020), with a draw for each image. Cutout (DeVries & Taylor 2017) is p 1 and ratio [1, 1].
    """
    _check_images("random_erasing", x, key)
    if not training or p == 0:
        return x
    boxes = random_boxes(key, rows=x.shape[0], size=x.shape[2:], p=p, scale=scale, ratio=ratio)
    return erase_boxes(x, boxes, value=value)
