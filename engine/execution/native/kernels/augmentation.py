"""Augmentation of images: random maps, rectangles and spans, sampling along maps and its transpose, and erasing.

Every number is that of engine.ops.augmentation to the bit: operations on floats round one by one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.execution.native.inline.pointers import float_of, view
from engine.execution.native.inline.rows import fill
from engine.execution.native.inline.streams import output, started, stepped
from engine.execution.native.kernel import inline, inline_exact, itemsize, kernel, kernel_of, real
from engine.execution.native.lowering import Argument, Call, Work, alike, lowers
from engine.ops.augmentation.affine import COSINE, SINE, UNIT
from engine.ops.augmentation.boxes import GROWTH, HALVINGS

MASK, HALF = UNIT - 1, UNIT // 2


@inline
def drawn(high: Any, low: Any) -> Any:
    """Return a number of 0 <= u < 1 and the state after it."""
    share = np.float64(output(high, low) >> np.uint64(11)) * 2.0**-53
    high, low = stepped(high, low)
    return share, high, low


@inline_exact
def between(low: Any, share: Any, high: Any) -> Any:
    """Return the number at a share of the way from one to another."""
    return low + share * (high - low)


@inline_exact
def chosen(share: Any, count: Any) -> Any:
    """Return one of the whole numbers 0 <= n < count."""
    return np.floor(share * count)


@inline_exact
def series(coefficients: Any, x: Any) -> Any:
    """Return a polynomial, given from the highest power on."""
    y = coefficients[0]
    for k in range(1, len(coefficients)):
        y = y * x + coefficients[k]
    return y


@inline_exact
def turned(degrees: Any) -> Any:
    """Return the sine and the cosine of an angle."""
    quarters = degrees / 90.0
    whole = np.floor(quarters + 0.5)
    x = (quarters - whole) * (math.pi / 2)
    sine, cosine = series(SINE, x * x) * x, series(COSINE, x * x)
    turn = np.int64(whole) & 3
    if turn == 1:
        return cosine, -sine
    if turn == 2:
        return -sine, -cosine
    if turn == 3:
        return -cosine, sine
    return sine, cosine


@inline_exact
def fixed(number: Any) -> Any:
    """Return a number in units of maps."""
    return np.int64(np.floor(number * UNIT + 0.5))


@inline_exact
def quotient(x: Any, y: Any) -> Any:
    """Return x / y."""
    return x / y


@inline_exact
def exponential(x: Any) -> Any:
    """Return exp(x)."""
    y = series(GROWTH, x * 2.0**-HALVINGS)
    for _ in range(HALVINGS):
        y = y * y
    return y


@inline_exact
def sides(area: Any, shape: Any) -> Any:
    """Return the height and the width, in whole pixels, of an area of a given ratio of height to width."""
    return np.floor(np.sqrt(area * shape) + 0.5), np.floor(np.sqrt(area / shape) + 0.5)


@kernel_of(np.int64)
def affine_maps(a: Any) -> None:
    """Draw maps.

    Words: key and its stride; rows; height and width less 1; the lowest offset and the number of offsets of rows, and
    of columns; lowest and highest angle, and scale; maps.
    """
    high, low = started(view(a[0], 1, np.uint64)[0], view(a[0] + a[1], 1, np.uint64)[0])
    maps = view(a[13], 6 * a[2], np.int64)
    for row in range(a[2]):
        angle, high, low = drawn(high, low)
        growth, high, low = drawn(high, low)
        down, high, low = drawn(high, low)
        right, high, low = drawn(high, low)
        sine, cosine = turned(between(float_of(a[9]), angle, float_of(a[10])))
        zoom = between(float_of(a[11]), growth, float_of(a[12]))
        across, along = fixed(quotient(sine, zoom)), fixed(quotient(cosine, zoom))
        top = a[5] + np.int64(chosen(down, np.float64(a[6])))
        left = a[7] + np.int64(chosen(right, np.float64(a[8])))
        maps[6 * row], maps[6 * row + 1] = along, across
        maps[6 * row + 2] = ((a[3] * UNIT - (along * a[3] + across * a[4])) >> 1) + top * UNIT
        maps[6 * row + 3], maps[6 * row + 4] = -across, along
        maps[6 * row + 5] = ((a[4] * UNIT - (along * a[4] - across * a[3])) >> 1) + left * UNIT


@kernel_of(np.int64)
def boxes(a: Any) -> None:
    """Draw rectangles.

    Words: key and its stride; rows; height; width; probability; lowest and highest share of the area; logarithms of the
    lowest and the highest ratio; rectangles.
    """
    high, low = started(view(a[0], 1, np.uint64)[0], view(a[0] + a[1], 1, np.uint64)[0])
    out = view(a[10], 4 * a[2], np.int64)
    fill(out, np.int64(0))
    for row in range(a[2]):
        chance, high, low = drawn(high, low)
        size, high, low = drawn(high, low)
        form, high, low = drawn(high, low)
        down, high, low = drawn(high, low)
        right, high, low = drawn(high, low)
        if chance < float_of(a[5]):
            area = between(float_of(a[6]), size, float_of(a[7])) * np.float64(a[3] * a[4])
            height, width = sides(area, exponential(between(float_of(a[8]), form, float_of(a[9]))))
            height, width = min(height, np.float64(a[3])), min(width, np.float64(a[4]))
            top, left = chosen(down, a[3] - height + 1.0), chosen(right, a[4] - width + 1.0)
            out[4 * row], out[4 * row + 1] = np.int64(top), np.int64(top + height)
            out[4 * row + 2], out[4 * row + 3] = np.int64(left), np.int64(left + width)


@kernel_of(np.int64)
def spans(a: Any) -> None:
    """Draw spans.

    Words: key and its stride; rows; extent; the greatest length; probability; spans.
    """
    high, low = started(view(a[0], 1, np.uint64)[0], view(a[0] + a[1], 1, np.uint64)[0])
    out = view(a[6], 2 * a[2], np.int64)
    fill(out, np.int64(0))
    for row in range(a[2]):
        chance, high, low = drawn(high, low)
        size, high, low = drawn(high, low)
        place, high, low = drawn(high, low)
        if chance < float_of(a[5]):
            length = chosen(size, np.float64(a[4]) + 1.0)
            first = chosen(place, a[3] - length + 1.0)
            out[2 * row], out[2 * row + 1] = np.int64(first), np.int64(first + length)


@inline
def pixel(plane: Any, row: Any, column: Any, height: Any, width: Any, outside: Any) -> Any:
    """Return a pixel of a plane, or what is outside of it."""
    return plane[row * width + column] if 0 <= row < height and 0 <= column < width else outside


@inline_exact
def share_of(place: Any, one: Any) -> Any:
    """Return how far a place lies behind the pixel before it, in the type of `one`."""
    return type(one)(place & MASK) * type(one)(1 / UNIT)


@inline_exact
def weights(down: Any, right: Any, one: Any) -> Any:
    """Return the weights of four pixels around a place."""
    return (one - down) * (one - right), (one - down) * right, down * (one - right), down * right


@inline_exact
def mean(x: Any, w: Any) -> Any:
    """Return the weighted sum of four pixels."""
    return ((x[0] * w[0] + x[1] * w[1]) + x[2] * w[2]) + x[3] * w[3]


@inline_exact
def add_product(out: Any, place: Any, x: Any, w: Any) -> None:
    """Add a product to an element."""
    out[place] += x * w


@kernel
def affine_sample(a: Any) -> None:
    """Read pixels along maps.

    Words: images; channels; height and width of x; of the results; maps; x; out; 1 for bilinear; what is outside.
    """
    height, width, outside, one = a[2], a[3], real(float_of(a[10])), real(1)
    area, size = height * width, a[4] * a[5]
    for n in range(a[0]):
        m = view(a[6] + n * 48, 6, np.int64)
        for c in range(a[1]):
            plane = view(a[7] + (n * a[1] + c) * area * itemsize, area, real)
            out = view(a[8] + (n * a[1] + c) * size * itemsize, size, real)
            for i in range(a[4]):
                y, x = m[0] * i + m[2], m[3] * i + m[5]
                for j in range(a[5]):
                    if a[9]:
                        row, column = y >> 32, x >> 32
                        four = (
                            pixel(plane, row, column, height, width, outside),
                            pixel(plane, row, column + 1, height, width, outside),
                            pixel(plane, row + 1, column, height, width, outside),
                            pixel(plane, row + 1, column + 1, height, width, outside),
                        )
                        out[i * a[5] + j] = mean(four, weights(share_of(y, one), share_of(x, one), one))
                    else:
                        row, column = (y + HALF) >> 32, (x + HALF) >> 32
                        out[i * a[5] + j] = pixel(plane, row, column, height, width, outside)
                    y += m[1]
                    x += m[4]


@kernel
def affine_sample_back(a: Any) -> None:
    """Give results back to the pixels that they were read from.

    Words: images; channels; height and width of the images; of the results; maps; cotangents of results; out; 1 for
    bilinear.
    """
    height, width, one = a[2], a[3], real(1)
    area, size = height * width, a[4] * a[5]
    for n in range(a[0]):
        m = view(a[6] + n * 48, 6, np.int64)
        for c in range(a[1]):
            given = view(a[7] + (n * a[1] + c) * size * itemsize, size, real)
            out = view(a[8] + (n * a[1] + c) * area * itemsize, area, real)
            fill(out, real(0))
            for tap in range(4 if a[9] else 1):
                half = 0 if a[9] else HALF
                for i in range(a[4]):
                    y, x = m[0] * i + m[2] + half, m[3] * i + m[5] + half
                    for j in range(a[5]):
                        row, column = (y >> 32) + (tap >> 1), (x >> 32) + (tap & 1)
                        if 0 <= row < height and 0 <= column < width:
                            weight = one
                            if a[9]:
                                weight = weights(share_of(y, one), share_of(x, one), one)[tap]
                            add_product(out, row * width + column, given[i * a[5] + j], weight)
                        y += m[1]
                        x += m[4]


@kernel
def erase(a: Any) -> None:
    """Copy images and write a value into the rectangle of each.

    Words: images; channels; height; width; rectangles; x; out; value.
    """
    area, value = a[2] * a[3], real(float_of(a[7]))
    for n in range(a[0]):
        box = view(a[4] + n * 32, 4, np.int64)
        for c in range(a[1]):
            at = (n * a[1] + c) * area * itemsize
            x, out = view(a[5] + at, area, real), view(a[6] + at, area, real)
            for k in range(area):
                out[k] = x[k]
            for row in range(max(box[0], 0), min(box[1], a[2])):
                for column in range(max(box[2], 0), min(box[3], a[3])):
                    out[row * a[3] + column] = value


def _draw(code: Any, work: Work, *words: Argument) -> list[Call] | None:
    """Return the call that fills an array with draws from a key; None for an array that is not row-major."""
    (key,), (out,) = work.inputs, work.outputs
    if not out.flags.c_contiguous:
        return None
    return [Call(code, out.dtype, (key, key.strides[0], out.shape[0], *words, out))]


@lowers("random_affine_maps")
def _(work: Work) -> list[Call] | None:
    attrs = work.attrs
    ranges = [word for low, most in (attrs["top"], attrs["left"]) for word in (low, most - low + 1)]
    ends = [float(end) for name in ("degrees", "scale") for end in attrs[name]]
    return _draw(affine_maps, work, *(extent - 1 for extent in attrs["size"]), *ranges, *ends)


@lowers("random_boxes")
def _(work: Work) -> list[Call] | None:
    attrs = work.attrs
    ends = (*map(float, attrs["scale"]), *map(math.log, attrs["ratio"]))
    return _draw(boxes, work, *attrs["size"], float(attrs["p"]), *ends)


@lowers("random_spans")
def _(work: Work) -> list[Call] | None:
    attrs = work.attrs
    return _draw(spans, work, attrs["extent"], attrs["longest"], float(attrs["p"]))


def _sampling(code: Any, work: Work, source: int, *words: Argument) -> list[Call] | None:
    """Return the call that samples images, or gives results back to them: `source` is the operand with the images."""
    (x, maps), (out,) = work.inputs, work.outputs
    if not alike(x, out) or not maps.flags.c_contiguous:
        return None
    images, results = ((x, out), (out, x))[source]
    bilinear = int(work.attrs["interpolation"] == "bilinear")
    return [Call(code, x.dtype, (*images.shape, *results.shape[2:], maps, x, out, bilinear, *words))]


@lowers("affine_sample")
def _(work: Work) -> list[Call] | None:
    return _sampling(affine_sample, work, 0, float(work.attrs["fill"]))


@lowers("affine_sample_back")
def _(work: Work) -> list[Call] | None:
    return _sampling(affine_sample_back, work, 1)


@lowers("erase_boxes")
def _(work: Work) -> list[Call] | None:
    (x, edges), (out,) = work.inputs, work.outputs
    if not alike(x, out) or not edges.flags.c_contiguous:
        return None
    return [Call(erase, x.dtype, (*x.shape, edges, x, out, float(work.attrs["value"])))]
