"""From steps to kernel calls: the lowering of an op chooses its kernels and their operands."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.core.dtypes import BFLOAT16, BOOL, FLOAT16, DType
from engine.core.value import Array, Shape
from engine.execution.native.kernel import Kernel

LINE = 64
"""Bytes of a cache line."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """Scratch memory of a call, at an offset in bytes from its start, which is aligned to a cache line.

    Each thread of a shared loop has its own, but for what is `common`: operands that were copied there.
    """

    offset: int = 0
    common: bool = False


class Memory:
    """Scratch memory of a call, given out piece by piece."""

    def __init__(self) -> None:
        """Start empty."""
        self.size = 0

    def take(self, nbytes: int) -> Scratch:
        """Return the place of `nbytes` bytes."""
        place = Scratch(self.size)
        self.size += rounded(nbytes)
        return place


def rounded(nbytes: int) -> int:
    """Return bytes of whole cache lines."""
    return -(-nbytes // LINE) * LINE


@dataclass(frozen=True, slots=True)
class Status:
    """An int64 that a kernel sets to 1 for an invalid operand; the NumPy kernel then raises the error."""


@dataclass(frozen=True, slots=True)
class KernelAddress:
    """The address of another kernel, which a kernel calls with its own block."""

    kernel: Kernel
    dtype: DType


Argument = int | float | Array | Scratch | Status | KernelAddress


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a kernel.

    Attributes:
        kernel: what is called.
        dtype: which of its codes.
        arguments: the 64-bit words it finds; an array stands for the address of its first element, a float for its
            bits as a float64.
        scratch: bytes of scratch memory it needs.
        elementwise: its block is that of the elementwise kernels, so it may be one of a chain.
        alone: it is none of a chain all the same, since the last bits of a number depend on where in a row it stands:
            what fills no register is computed by other instructions.
        iterations: of a round of its loop that threads share (see `engine.execution.native.inline.shared_loops`); 0 if
            it has none.
        rounds: of that loop.
    """

    kernel: Kernel
    dtype: DType
    arguments: tuple[Argument, ...]
    scratch: int = 0
    elementwise: bool = False
    alone: bool = False
    iterations: int = 0
    rounds: int = 1

    @property
    def codes(self) -> list[tuple[Kernel, DType]]:
        """The machine codes that run, each as a kernel and a dtype."""
        called = [argument for argument in self.arguments if isinstance(argument, KernelAddress)]
        return [(self.kernel, self.dtype), *((each.kernel, each.dtype) for each in called)]


@dataclass(frozen=True, slots=True)
class Work:
    """A step on its arrays, which never move: those of one shard, if the batch is cut into several.

    Outputs may lie over inputs of the same shape and strides where the op is elementwise.
    """

    inputs: Sequence[Array]
    outputs: Sequence[Array]
    attrs: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Refuse what is no array: kernels would take a number, as NumPy gives for some views, for an address."""
        for operand in (*self.inputs, *self.outputs):
            if not isinstance(operand, np.ndarray):
                raise TypeError(f"a kernel works on arrays, not on {type(operand).__name__}")


Lowering = Callable[[Work], "Sequence[Call] | None"]

LOWERINGS: dict[str, Lowering] = {}
"""By name of an op, what makes calls of a step; it returns None for operands that no kernel of its can take."""


def lowers(*names: str) -> Callable[[Lowering], Lowering]:
    """Declare the lowering of ops."""

    def declare(lowering: Lowering) -> Lowering:
        LOWERINGS.update(dict.fromkeys(names, lowering))
        return lowering

    return declare


def address_of(array: Array) -> int:
    """Return the address of the first element."""
    address: int = array.__array_interface__["data"][0]
    return address


def word(argument: Argument, scratch: int) -> int:
    """Return an argument as a kernel finds it; `scratch` is the address of scratch memory."""
    if argument.__class__ is int:  # nearly all are
        return argument
    if isinstance(argument, np.ndarray):
        return address_of(argument)
    if isinstance(argument, Scratch):
        return scratch + argument.offset
    if isinstance(argument, KernelAddress):
        return argument.kernel.address(argument.dtype)
    assert not isinstance(argument, Status), "the executor gives every status a word"
    if isinstance(argument, float):
        bits: int = struct.unpack("<q", struct.pack("<d", argument))[0]
        return bits
    return int(argument)


def scratch_arrays(*specs: tuple[Shape, DType]) -> tuple[Array, list[Array]]:
    """Return a block of memory, and an array for each shape and dtype in it that begins at a cache line.

    Nothing is written here: kernels find the arrays of `relocated` calls at these places of the scratch memory.
    """
    counts = [math.prod(shape) * dtype.itemsize for shape, dtype in specs]
    places = np.cumsum([0, *map(rounded, counts)])
    whole = np.empty(int(places[-1]) + LINE, np.uint8)
    block: Array = whole[-whole.ctypes.data % LINE :][: int(places[-1])]
    arrays = [
        block[place : place + count].view(dtype).reshape(shape)
        for place, count, (shape, dtype) in zip(places, counts, specs, strict=False)
    ]
    return block, arrays


def relocated(call: Call, block: Array) -> Call:
    """Return a call that finds in scratch memory what lies in a block of memory."""
    start = address_of(block)

    def moved(argument: Argument) -> Argument:
        if isinstance(argument, Scratch):
            return replace(argument, offset=block.nbytes + argument.offset)
        if isinstance(argument, np.ndarray) and 0 <= address_of(argument) - start < max(block.nbytes, 1):
            return Scratch(address_of(argument) - start, common=True)
        return argument

    arguments: Sequence[Argument] = [moved(argument) for argument in call.arguments]
    # The words of a chain do not point into scratch memory.
    return replace(call, arguments=tuple(arguments), scratch=block.nbytes + call.scratch, elementwise=False)


def is_half(dtype: DType) -> bool:
    """Return whether a dtype is float16 or bfloat16."""
    return dtype == FLOAT16 or dtype is BFLOAT16  # which is None without its package, and a dtype equals that


def raw(x: Array) -> Array:
    """Return bool as bytes and half types as their bits, and other arrays as they are."""
    if x.dtype == BOOL:
        return x.view(np.uint8)
    return x.view(np.uint16) if is_half(x.dtype) else x


def alike(*arrays: Array) -> bool:
    """Tell whether arrays have one floating dtype that kernels are compiled for, and are row-major."""
    dtype = arrays[0].dtype
    return dtype.char in "fd" and all(a.dtype == dtype and a.flags.c_contiguous for a in arrays)


def are_bfloat16(*arrays: Array) -> bool:
    """Tell whether arrays are of bfloat16, and row-major."""
    return all(array.dtype is BFLOAT16 and array.flags.c_contiguous for array in arrays)
