"""Rectangles of images that are erased, and random ones."""

from __future__ import annotations

import math

import numpy as np

from engine.core.attributes import Count, Ints, Share
from engine.core.batching import folded
from engine.core.dtypes import INT64
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import primitive
from engine.core.samples import Argument, key, sample
from engine.core.shape_rules import require_float
from engine.core.sharding_rules import batch_axes
from engine.core.value import Array, Spec, Value
from engine.ops.random.random import check_key, check_shape, stream

GROWTH = tuple(1 / math.factorial(k) for k in reversed(range(7)))
"""Coefficients of the Taylor series of exp(x), the highest power first, for x up to 0.01."""
HALVINGS = 10
"""The series is of x / 2^10; its value is squared ten times."""
LARGEST_RATIO = 1000.0


def _random_boxes(
    key: Value, *, rows: int, size: Ints, p: float, scale: tuple[float, ...], ratio: tuple[float, ...]
) -> Spec:
    op = "random_boxes"
    check_key(op, key)
    check_shape(op, (rows, *size))
    if len(size) != 2:
        raise AttributeValueError(f"{op}: size {list(size)} must be a height and a width")
    if len(scale) != 2 or not 0 <= scale[0] <= scale[1] <= 1:
        raise AttributeValueError(f"{op}: scale {list(scale)} must be two shares of the area in 0..1, the lower first")
    if len(ratio) != 2 or not 1 / LARGEST_RATIO <= ratio[0] <= ratio[1] <= LARGEST_RATIO:
        raise AttributeValueError(
            f"{op}: ratio {list(ratio)} must be two ratios of height to width in {1 / LARGEST_RATIO}..{LARGEST_RATIO}, "
            "the lower first"
        )
    return Spec((rows, 4), INT64)


def _exp(x: Array) -> Array:
    """Return exp(x) by the operations of the compiled kernel."""
    small = x * 2.0**-HALVINGS
    y = np.full_like(x, GROWTH[0])
    for coefficient in GROWTH[1:]:
        y = y * small + coefficient
    for _ in range(HALVINGS):
        y = y * y
    return y


@primitive(
    shape_rule=_random_boxes,
    random=True,
    differentiable=False,
    samples=[sample(key(), rows=3, size=(8, 6)), sample(key(), rows=2, size=(4, 4), p=1.0, ratio=(1.0, 1.0))],
)
def random_boxes(
    key: Array,
    *,
    rows: int,
    size: Ints,
    p: float = 0.5,
    scale: tuple[float, ...] = (0.02, 0.33),
    ratio: tuple[float, ...] = (0.3, 3.3),
) -> Array:
    """Rectangles int64[rows, 4] of images of `size`: the first row, the row behind the last, and so for columns.

    Each is drawn with probability p, else it is empty. Its share of the area is uniform over `scale`, and the logarithm
    of its height over its width over that of `ratio`; what is higher or wider than the image is cut to it. Its place
    is uniform among those in which it lies in the image.
    """
    high, wide = size
    share = stream(key).random((rows, 5))
    area = (scale[0] + share[:, 1] * (scale[1] - scale[0])) * float(high * wide)
    low, top = math.log(ratio[0]), math.log(ratio[1])
    shape = _exp(low + share[:, 2] * (top - low))
    height = np.minimum(np.floor(np.sqrt(area * shape) + 0.5), float(high))
    width = np.minimum(np.floor(np.sqrt(area / shape) + 0.5), float(wide))
    first = np.floor(share[:, 3] * (high - height + 1.0))
    left = np.floor(share[:, 4] * (wide - width + 1.0))
    boxes = np.stack((first, first + height, left, left + width), axis=1).astype(np.int64)
    boxes[share[:, 0] >= p] = 0
    return boxes


def _random_spans(key: Value, *, rows: int, extent: int, longest: int, p: float) -> Spec:
    op = "random_spans"
    check_key(op, key)
    check_shape(op, (rows, extent))
    if longest > extent:
        raise AttributeValueError(f"{op}: longest {longest} must be at most {extent}, the extent of the axis")
    return Spec((rows, 2), INT64)


@primitive(
    shape_rule=_random_spans,
    random=True,
    differentiable=False,
    samples=[sample(key(), rows=3, extent=6, longest=2), sample(key(), rows=2, extent=4, longest=4, p=0.5)],
)
def random_spans(key: Array, *, rows: int, extent: int, longest: Count, p: Share = 1.0) -> Array:
    """Spans int64[rows, 2] of an axis of `extent`: the first element, and the element behind the last.

    Each is drawn with probability p, else it is empty. Its length is uniform over 0..longest, and its place among those
    in which it lies within the axis.
    """
    share = stream(key).random((rows, 3))
    length = np.floor(share[:, 1] * (longest + 1.0))
    first = np.floor(share[:, 2] * (extent - length + 1.0))
    spans = np.stack((first, first + length), axis=1).astype(np.int64)
    spans[share[:, 0] >= p] = 0
    return spans


def _erase_boxes(x: Value, boxes: Value, *, value: float) -> Spec:
    require_float("erase_boxes", x)
    if x.ndim != 4:
        raise ShapeError(f"erase_boxes needs images [N, C, H, W], got {list(x.shape)}")
    if boxes.shape != (x.shape[0], 4) or boxes.dtype != INT64:
        raise ShapeError(
            f"erase_boxes needs rectangles int64[{x.shape[0]}, 4], one for each image, got "
            f"{boxes.dtype.name}{list(boxes.shape)}"
        )
    return x.spec


BOXES = Argument((2, 4), lambda generator, shape: np.array([[1, 3, 0, 2], [0, 0, 0, 0]]))


@primitive(
    shape_rule=_erase_boxes,
    sharding=batch_axes("00", "0"),
    batching=folded(0, 1),
    samples=[sample((2, 2, 4, 3), BOXES), sample((2, 1, 3, 2), BOXES, value=0.5)],
)
def erase_boxes(x: Array, boxes: Array, *, value: float = 0.0, out: Array | None = None) -> Array:
    """Images x [N, C, H, W] with `value` in the rectangle int64[4] of each: rows and columns as of random_boxes."""
    if out is None:
        out = np.empty_like(x)
    rows, columns = np.arange(x.shape[2])[:, None], np.arange(x.shape[3])
    first, end, left, right = (boxes[:, edge, None, None] for edge in range(4))
    inside = (rows >= first) & (rows < end) & (columns >= left) & (columns < right)
    np.copyto(out, x)
    np.copyto(out, x.dtype.type(value), where=inside[:, None])
    return out


@erase_boxes.vjp
def _(g: Value, y: Value, x: Value, boxes: Value) -> object:
    return erase_boxes(g, boxes), None
