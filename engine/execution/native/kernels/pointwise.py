"""Convolutions whose kernel has one element, that meet every place of an image once: straight products, image by image.

The leading dimensions of a matrix [channels, positions] spare the copies that other convolutions need.
"""

from __future__ import annotations

import math
from typing import Any

from engine.core.value import Array, Shape
from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.products import gemm
from engine.execution.native.kernel import kernel, real
from engine.execution.native.kernels.products import products
from engine.execution.native.lowering import Argument, Call, Scratch, Work

FEW = 64
"""Images of fewer positions than this are worth joining, which products of one image cannot."""
BLOCK = 64
"""Number of images that are summed before their sum is added to the gradient of a weight."""


@kernel
def weight_products(a: Any) -> None:
    """Sum over images the products of a cotangent [outputs, positions] and the transpose of an image.

    Words: images, a block of them; outputs, inputs, positions; cotangent and the bytes from image to image; images and
    those bytes; result; scratch memory for the sum of a block.
    """
    outputs, inputs, positions = a[2], a[3], a[4]
    total, block = view(a[9], outputs * inputs, real), view(a[10], outputs * inputs, real)
    for first in range(0, a[0], a[1]):
        for image in range(first, min(first + a[1], a[0])):
            beta = real(0) if image == first else real(1)
            gemm(
                0, 1, outputs, inputs, positions, real(1), a[5] + image * a[6], positions, a[7] + image * a[8],
                positions, beta, a[10] if first else a[9], inputs,
            )  # fmt: skip
        if first:
            for e in range(total.size):
                total[e] += block[e]


def is_pointwise(weight: Shape, image: Shape, work: Work) -> bool:
    """Tell whether a convolution meets every place of its input once, and has enough of them for products."""
    attrs = work.attrs
    plain = max(attrs["stride"]) == 1 and not any(low or high for low, high in attrs["padding"])
    return math.prod(weight[2:]) == 1 and plain and math.prod(image[2:]) >= FEW and min(weight[:2]) > 1


def pointwise(x: Array, weight: Array, y: Array, groups: int, *, transposed: bool) -> list[Call]:
    """Return the calls that multiply the channels of x by a weight, or its transpose, group by group."""
    outputs, inputs = weight.shape[0] // groups, weight.shape[1]
    rows, depth = (inputs, outputs) if transposed else (outputs, inputs)
    positions = math.prod(x.shape[2:])
    return [
        Call(
            products,
            x.dtype,
            (
                transposed, 0, rows, positions, depth, weight[group * outputs :], inputs, x[:, group * depth :],
                positions, y[:, group * rows :], positions, 0, x.shape[0], 0, x.strides[0], y.strides[0],
            ),
        )
        for group in range(groups)
    ]  # fmt: skip


def pointwise_weight(x: Array, g: Array, weight: Array, groups: int) -> list[Call]:
    """Return the calls for the gradient of a weight, group by group."""
    outputs, inputs = weight.shape[0] // groups, weight.shape[1]
    calls = []
    for group in range(groups):
        operands: tuple[Argument, ...] = (
            g[:, group * outputs :], g.strides[0], x[:, group * inputs :], x.strides[0], weight[group * outputs :],
        )  # fmt: skip
        words = (x.shape[0], BLOCK, outputs, inputs, math.prod(x.shape[2:]), *operands, Scratch())
        calls.append(Call(weight_products, x.dtype, words, outputs * inputs * x.itemsize))
    return calls
