"""Convolutions whose kernel has one element, that meet every place of an image once: straight products, image by image.

The leading dimensions of a matrix [channels, positions] spare the copies that other convolutions need.
"""

from __future__ import annotations

import math
from typing import Any

from engine.core.dtypes import BFLOAT16
from engine.core.value import Array, Shape
from engine.execution.native.inline.pointers import size_of, view
from engine.execution.native.inline.products import gemm
from engine.execution.native.inline.vectors import copy_row
from engine.execution.native.kernel import BITS, FLOATS, Kernel, itemsize, real, stored
from engine.execution.native.kernels.products import products
from engine.execution.native.lowering import Argument, Call, Memory, Work

FEW = 64
"""Images of fewer positions than this are worth joining, which products of one image cannot."""
BLOCK = 64
"""Number of images that are summed before their sum is added to the gradient of a weight."""


def _weight_products(a: Any) -> None:
    """Sum over images the products of a cotangent [outputs, positions] and the transpose of an image.

    Words: images, a block of them; outputs, inputs, positions; cotangent and the bytes from image to image; images and
    those bytes; result; scratch memory for the sum of a block, and for what is widened of bfloat16, of both.
    """
    outputs, inputs, positions = a[2], a[3], a[4]
    total, block = view(a[9], outputs * inputs, real), view(a[10], outputs * inputs, real)
    for first in range(0, a[0], a[1]):
        for image in range(first, min(first + a[1], a[0])):
            g, x = a[5] + image * a[6], a[7] + image * a[8]
            if size_of(stored) != itemsize:
                copy_row(a[11], g, outputs * positions, (real(0), stored(0)))
                copy_row(a[12], x, inputs * positions, (real(0), stored(0)))
                g, x = a[11], a[12]
            gemm(
                0, 1, outputs, inputs, positions, real(1), g, positions, x, positions,
                real(0) if image == first else real(1), a[10] if first else a[9], inputs,
            )  # fmt: skip
        if first:
            for e in range(total.size):
                total[e] += block[e]


def _half_products(a: Any) -> None:
    """Multiply a weight by images, all of bfloat16, each of which is widened in its turn.

    Words: is the weight transposed; rows, positions, depth; weight; images, the bytes from one to the next; results and
    those bytes; how many images; are results bfloat16 too; scratch memory for weight, image and result.
    """
    rows, positions, depth = a[1], a[2], a[3]
    weight, image = a[11], a[12]
    copy_row(weight, a[4], rows * depth, (real(0), stored(0)))
    for i in range(a[9]):
        result = a[13] if a[10] else a[7] + i * a[8]
        copy_row(image, a[5] + i * a[6], depth * positions, (real(0), stored(0)))
        leading = rows if a[0] else depth
        gemm(a[0], 0, rows, positions, depth, real(1), weight, leading, image, positions, real(0), result, positions)
        if a[10]:
            copy_row(a[7] + i * a[8], result, rows * positions, (stored(0), real(0)))


weight_products = Kernel(_weight_products, name="weight_products")
half_weight_products = Kernel(_weight_products, FLOATS[:1], name="half_weight_products", stored=BITS)
half_products = Kernel(_half_products, FLOATS[:1], name="half_image_products", stored=BITS)


def is_pointwise(weight: Shape, image: Shape, work: Work) -> bool:
    """Tell whether a convolution meets every place of its input once, and has enough of them for products."""
    attrs = work.attrs
    plain = max(attrs["stride"]) == 1 and not any(low or high for low, high in attrs["padding"])
    return math.prod(weight[2:]) == 1 and plain and math.prod(image[2:]) >= FEW and min(weight[:2]) > 1


def pointwise(x: Array, weight: Array, y: Array, groups: int, *, transposed: bool) -> list[Call]:
    """Return the calls that multiply the channels of x by a weight, or its transpose, group by group."""
    outputs, inputs = weight.shape[0] // groups, weight.shape[1]
    rows, depth = (inputs, outputs) if transposed else (outputs, inputs)
    positions, calls = math.prod(x.shape[2:]), []
    for group in range(groups):
        w, image, result = weight[group * outputs :], x[:, group * depth :], y[:, group * rows :]
        if x.dtype is BFLOAT16:
            memory = Memory()
            widened = [
                memory.take(n * FLOATS[0].itemsize) for n in (w[:outputs].size, depth * positions, rows * positions)
            ]
            words: tuple[Argument, ...] = (
                transposed, rows, positions, depth, w, image, x.strides[0], result, y.strides[0], x.shape[0],
                y.dtype is BFLOAT16, *widened,
            )  # fmt: skip
            calls.append(Call(half_products, FLOATS[0], words, memory.size))
        else:
            words = (
                transposed, 0, rows, positions, depth, w, inputs, image, positions, result, positions, 0, x.shape[0], 0,
                x.strides[0], y.strides[0],
            )  # fmt: skip
            calls.append(Call(products, x.dtype, words))
    return calls


def pointwise_weight(x: Array, g: Array, weight: Array, groups: int) -> list[Call]:
    """Return the calls for the gradient of a weight, group by group."""
    outputs, inputs = weight.shape[0] // groups, weight.shape[1]
    positions, code, calls = math.prod(x.shape[2:]), weight_products, []
    memory = Memory()
    scratch = [memory.take(outputs * inputs * weight.itemsize)]
    if x.dtype is BFLOAT16:
        code = half_weight_products
        scratch += [memory.take(channels * positions * weight.itemsize) for channels in (outputs, inputs)]
    for group in range(groups):
        operands: tuple[Argument, ...] = (
            g[:, group * outputs :], g.strides[0], x[:, group * inputs :], x.strides[0], weight[group * outputs :],
        )  # fmt: skip
        words = (x.shape[0], BLOCK, outputs, inputs, positions, *operands, *scratch)
        calls.append(Call(code, weight.dtype, words, memory.size))
    return calls
