"""Convolutions of images of few positions by large weights: products with the patches of the images as rows.

Such a weight is in no near cache when correlations read it again for the next image. A row has the numbers that a
position meets, in the order of the weight's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.core.value import Array, Shape
from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.rows import fill
from engine.execution.native.inline.vectors import vector_bytes
from engine.execution.native.kernel import FLOATS, Kernel, inline, itemsize, real
from engine.execution.native.kernels.arrangement import copied, joined_calls
from engine.execution.native.kernels.correlation import computed
from engine.execution.native.lowering import LOWERINGS, Call, Scratch, Work, relocated, scratch_arrays

WEIGHT_BYTES, STRIDED_BYTES = 2**21, 2**19
"""The smallest weights of convolutions without strides, and with them."""
PATCH_BYTES = 2**24
"""The largest patches: more would leave the caches before they are multiplied."""


def begin(*_: Any) -> None:
    """Stand for what is done with an image before its patches."""
    raise NotImplementedError


def move_square(*_: Any) -> None:
    """Stand for what is done with a patch of three rows and columns and with these."""
    raise NotImplementedError


def move(*_: Any) -> None:
    """Stand for what is done with a number of a patch and one of a row."""
    raise NotImplementedError


def end(*_: Any) -> None:
    """Stand for what is done with an image behind its patches."""
    raise NotImplementedError


def go_through_patches(a: Any) -> None:
    """Go through the patches of images.

    Words: images, channels; rows and columns of an image, of its positions, and of the kernel; strides, dilations,
    zeros before; images, the bytes from one to the next; patches; scratch for a padded image, its rows and columns.
    """
    taps, row, line = a[6] * a[7], a[16], a[19] * itemsize
    is_square = a[6] == 3 and a[7] == 3 and a[10] == 1 and a[11] == 1
    for image in range(a[0]):
        begin(a, image)
        for i in range(a[4]):
            for j in range(a[5]):
                for channel in range(a[1]):
                    patch = view(row, taps, real)
                    first = a[17] + (channel * a[18] + i * a[8]) * line + j * a[9] * itemsize
                    row += taps * itemsize
                    if is_square:
                        x, y, z = view(first, 3, real), view(first + line, 3, real), view(first + 2 * line, 3, real)
                        move_square(patch, x, y, z)
                        continue
                    for u in range(a[6]):
                        met = view(first + u * a[10] * line, (a[7] - 1) * a[11] + 1, real)
                        for v in range(a[7]):
                            move(patch, u * a[7] + v, met, v * a[11])
        end(a, image)


@inline
def rows_of_image(a: Any, image: Any, number: Any, real: Any, itemsize: Any) -> tuple[Any, Any]:
    """Return row `number` of an image, of all channels one after the other, and where it is in the padded image."""
    channel, i = number // a[2], number % a[2]
    place = a[17] + ((channel * a[18] + i + a[12]) * a[19] + a[13]) * itemsize
    return view(a[14] + image * a[15] + number * a[3] * itemsize, a[3], real), view(place, a[3], real)


def _clear(a: Any, image: Any) -> None:
    fill(view(a[17], a[1] * a[18] * a[19], real), real(0))


def _pad(a: Any, image: Any) -> None:
    if image == 0:
        fill(view(a[17], a[1] * a[18] * a[19], real), real(0))
    for number in range(a[1] * a[2]):
        source, padded = rows_of_image(a, image, number, real, itemsize)
        for j in range(padded.size):
            padded[j] = source[j]


def _crop(a: Any, image: Any) -> None:
    for number in range(a[1] * a[2]):
        target, padded = rows_of_image(a, image, number, real, itemsize)
        for j in range(target.size):
            target[j] = padded[j]


def _copy_square(patch: Any, x: Any, y: Any, z: Any) -> None:
    patch[0], patch[1], patch[2] = x[0], x[1], x[2]
    patch[3], patch[4], patch[5] = y[0], y[1], y[2]
    patch[6], patch[7], patch[8] = z[0], z[1], z[2]


def _copy(patch: Any, place: Any, row: Any, other: Any) -> None:
    patch[place] = row[other]


def _add_square(patch: Any, x: Any, y: Any, z: Any) -> None:
    x[0], x[1], x[2] = x[0] + patch[0], x[1] + patch[1], x[2] + patch[2]
    y[0], y[1], y[2] = y[0] + patch[3], y[1] + patch[4], y[2] + patch[5]
    z[0], z[1], z[2] = z[0] + patch[6], z[1] + patch[7], z[2] + patch[8]


def _add(patch: Any, place: Any, row: Any, other: Any) -> None:
    row[other] += patch[place]


copy_patches = Kernel(
    go_through_patches,
    name="copy_patches",
    parts={"begin": _pad, "move_square": _copy_square, "move": _copy, "end": lambda _a, _image: None},
)
add_patches = Kernel(
    go_through_patches,
    name="add_patches",
    parts={"begin": _clear, "move_square": _add_square, "move": _add, "end": _crop},
)


@dataclass(frozen=True, slots=True)
class Wide:
    """A convolution of images by a large weight.

    Attributes:
        image, weight, positions: shapes of the image, the weight and the spatial axes of the result, all with two of
            these.
        strides, dilations, zeros: of the rows and columns.
    """

    image: Shape
    weight: Shape
    positions: Shape
    strides: tuple[int, int]
    dilations: tuple[int, int]
    zeros: tuple[int, int]

    @property
    def rows(self) -> int:
        """How many patches there are."""
        return self.image[0] * math.prod(self.positions)

    @property
    def depth(self) -> int:
        """How many numbers each has."""
        return math.prod(self.weight[1:])

    def patches(self, images: Array, patches: Array, *, added: bool) -> Call:
        """Return the call that copies patches, or adds them up."""
        padded = [
            max((count - 1) * stride + (taps - 1) * dilation + 1, zeros + extent)
            for count, stride, taps, dilation, zeros, extent in zip(
                self.positions, self.strides, self.weight[2:], self.dilations, self.zeros, self.image[2:], strict=True
            )
        ]
        spans = (*self.image[2:], *self.positions, *self.weight[2:], *self.strides, *self.dilations, *self.zeros)
        words = (*self.image[:2], *spans, images, images.strides[0], patches, Scratch(), *padded)
        scratch = self.image[1] * math.prod(padded) * images.itemsize
        return Call(add_patches if added else copy_patches, images.dtype, words, scratch)


def wide(image: Array, weight: Array, result: Array, work: Work) -> Wide | None:
    """Return what is convolved, if products of patches take less time than correlations.

    Operands may be bfloat16, which are to be widened first.
    """
    attrs, spatial, arrays = work.attrs, image.ndim - 2, (image, weight, result)
    dtypes = {computed(each) for each in arrays}
    if len(dtypes) > 1 or not dtypes <= set(FLOATS) or not all(each.size for each in arrays):
        return None
    if attrs["groups"] != 1 or spatial > 2 or vector_bytes() != 64 or min(map(min, attrs["padding"])) < 0:
        return None
    if not all(each[:1].flags.c_contiguous for each in arrays):
        return None
    one = (1,) * (2 - spatial)
    found = Wide(
        (*image.shape[:2], *one, *image.shape[2:]),
        (*weight.shape[:2], *one, *weight.shape[2:]),
        (*one, *result.shape[2:]),
        (*one, *attrs["stride"]),
        (*one, *attrs["dilation"]),
        ((0,) * (2 - spatial) + tuple(low for low, _ in attrs["padding"])),
    )
    least, size = STRIDED_BYTES if max(attrs["stride"]) > 1 else WEIGHT_BYTES, dtypes.pop().itemsize
    fits = weight.size * size >= least and found.rows * found.depth * size <= PATCH_BYTES
    return found if fits and math.prod(weight.shape[2:]) > 1 else None


def convolve(found: Wide, x: Array, weight: Array, y: Array) -> list[Call] | None:
    """Return the calls of a convolution."""
    block, (patches, rows) = _scratch(found, x, y.shape[1])
    product = _product(patches, _matrix(weight), rows, "b")
    calls = joined_calls([found.patches(x, patches, added=False)], product, copied(_by_position(rows, y), _flat(y)))
    return None if calls is None else [relocated(call, block) for call in calls]


def convolve_back(found: Wide, g: Array, weight: Array, x: Array) -> list[Call] | None:
    """Return the calls of the gradient by the images."""
    block, (patches, rows) = _scratch(found, x, g.shape[1])
    product = _product(rows, _matrix(weight), patches)
    calls = joined_calls(copied(_flat(g), _by_position(rows, g)), product, [found.patches(x, patches, added=True)])
    return None if calls is None else [relocated(call, block) for call in calls]


def convolve_weight(found: Wide, x: Array, g: Array, weight: Array) -> list[Call] | None:
    """Return the calls of the gradient by the weight."""
    block, (patches, rows) = _scratch(found, x, g.shape[1])
    product = _product(rows, patches, _matrix(weight), "a")
    calls = joined_calls([found.patches(x, patches, added=False)], copied(_flat(g), _by_position(rows, g)), product)
    return None if calls is None else [relocated(call, block) for call in calls]


def _scratch(found: Wide, x: Array, outputs: int) -> tuple[Array, list[Array]]:
    """Return a block of memory with the patches and the outputs of each position."""
    return scratch_arrays(((found.rows, found.depth), x.dtype), ((found.rows, outputs), x.dtype))


def _product(a: Array, b: Array, c: Array, transposed: str = "") -> list[Call] | None:
    """Return the calls that write a b into c; `transposed` names an operand whose transpose is meant."""
    attrs = {"transpose_a": transposed == "a", "transpose_b": transposed == "b"}
    calls = LOWERINGS["matrix_product"](Work([a, b], [c], attrs))
    return None if calls is None else list(calls)


def _matrix(weight: Array) -> Array:
    """Return a weight with the numbers of an output as a row."""
    return np.lib.stride_tricks.as_strided(
        weight, (len(weight), weight[0].size), (weight.strides[0], weight.itemsize), writeable=True
    )


def _flat(images: Array) -> Array:
    """Return images with their positions along one axis."""
    return images.reshape(*images.shape[:2], -1, copy=False)


def _by_position(rows: Array, images: Array) -> Array:
    """Return rows, one for each position of images, in the order of these."""
    return rows.reshape(len(images), -1, images.shape[1]).transpose(0, 2, 1)
