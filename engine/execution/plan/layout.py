"""Which values are views of which, and how: shape, byte offset and strides inside the value that owns the memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.core.value import Array, Spec
from engine.graph.simplify import Instruction, Listing


@dataclass(frozen=True, slots=True)
class Layout:
    """A value as a strided window on the memory of the value `base`."""

    base: int
    offset: int
    strides: tuple[int, ...]


def contiguous_strides(spec: Spec) -> tuple[int, ...]:
    """Return the byte strides of a row-major array."""
    strides, step = [], spec.dtype.itemsize
    for extent in reversed(spec.shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def nbytes(spec: Spec) -> int:
    """Return the bytes of a row-major array."""
    size = spec.dtype.itemsize
    for extent in spec.shape:
        size *= extent
    return size


def is_whole(listing: Listing, layout: Layout, number: int) -> bool:
    """Return whether value `number`, laid out so, covers all of its base in row-major order."""
    spec = listing.specs[number]
    return (
        layout.offset == 0
        and layout.strides == contiguous_strides(spec)
        and nbytes(spec) == nbytes(listing.specs[layout.base])
    )


def layouts(listing: Listing) -> tuple[list[Layout], set[int]]:
    """Lay out every value; also return the indices of view instructions that need no step at run time."""
    result = [Layout(number, 0, contiguous_strides(spec)) for number, spec in enumerate(listing.specs)]
    free: set[int] = set()
    for index, instruction in enumerate(listing.instructions):
        if instruction.op.view:
            layout = _view(listing, instruction, result[instruction.inputs[0]])
            if layout is not None:
                result[instruction.outputs[0]] = layout
                free.add(index)
    return result, free


def _view(listing: Listing, instruction: Instruction, source: Layout) -> Layout | None:
    """Run the view op on an array that has the source's strides but whose elements are never touched."""
    spec = listing.specs[instruction.inputs[0]]
    if not nbytes(spec):
        return None
    if instruction.op.view == "reshape" and source.strides == contiguous_strides(spec):  # most views are these
        return Layout(source.base, source.offset, contiguous_strides(listing.specs[instruction.outputs[0]]))
    stand_in = np.lib.stride_tricks.as_strided(np.empty(1, spec.dtype), spec.shape, source.strides)
    if instruction.op.view == "reshape":
        view = _reshaped(stand_in, listing.specs[instruction.outputs[0]].shape)
    else:
        view = instruction.op.body(stand_in, **instruction.attrs)
    if not isinstance(view, np.ndarray):  # no reshape without a copy, or a number in the place of an array
        return None
    return Layout(source.base, source.offset + _address(view) - _address(stand_in), view.strides)


def _reshaped(array: Array, shape: tuple[int, ...]) -> Array | None:
    """Reshape without copying, or return None when that is impossible."""
    # Setting `shape` would do too, but NumPy then copies first and refuses afterwards: a read past the stand-in's end.
    try:
        return array.reshape(shape, copy=False)
    except ValueError:
        return None


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
