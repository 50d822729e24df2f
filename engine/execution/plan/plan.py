"""A plan is a computation as data: steps in order, buffers with their memory, and which values are views of which."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from engine.core.registry import Op
from engine.core.value import Array, Shape, Spec
from engine.graph.origin import NONE, Origin
from engine.graph.simplify import Instruction, Listing
from engine.ops.kernels.blocks import KEPT_BYTES

Kind = Literal["input", "state", "constant", "arena", "pinned", "shard", "partial"]


@dataclass(frozen=True, slots=True)
class Allocation:
    """A piece of memory: an input, a state, a constant, a range of the arena, or a piece that is never shared.

    Of a "shard" range and of a "partial" piece each shard has its own: ranges lie in an arena of the shard's.
    """

    kind: Kind
    name: str
    nbytes: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Buffer:
    """Where a numbered value lives: a root, and the layout of its elements in it (offset and strides in bytes).

    `split` is the axis along which shards have parts of the value: of one place for all, or each in memory of its own.
    `base` is the number of the value that the memory belongs to, of which this one is a view unless it is that itself.
    """

    allocation: int
    offset: int
    spec: Spec
    strides: tuple[int, ...]
    split: int | None = None
    base: int = -1


@dataclass(frozen=True, slots=True)
class Step:
    """One kernel call on buffers.

    `inplace`: the output lies over an input; `windows`, for a step that shards run, the axes along which each
    sees its part of inputs that are whole otherwise; `origin` the node of the definition and the pass.
    """

    op: Op[Any]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    attrs: Mapping[str, Any]
    inplace: bool = False
    windows: tuple[int | None, ...] = ()
    origin: Origin = NONE


@dataclass(frozen=True, slots=True)
class Phase:
    """Steps between two points where threads wait for one another: each shard runs all of them, or one thread does."""

    sharded: bool
    steps: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """Everything an executor needs, and the figures that describe the plan.

    `updates` names the number whose value a state has after a run; `copies` are the pairs (target, source) that are
    copied at its end, for updates that are not computed in the state's memory. `groups` are the places of steps that
    may run interleaved, block by block.
    """

    steps: tuple[Step, ...]
    buffers: Mapping[int, Buffer]
    allocations: tuple[Allocation, ...]
    constants: Mapping[int, Array]
    inputs: Mapping[str, int]
    state: Mapping[str, int]
    outputs: Mapping[str, int]
    updates: Mapping[str, int]
    copies: tuple[tuple[int, int], ...]
    arena_bytes: int
    phases: tuple[Phase, ...]
    groups: tuple[tuple[int, ...], ...] = ()
    shards: int = 1
    shard_bytes: int = 0

    @property
    def flops(self) -> int:
        """Estimated arithmetic operations of one run."""
        return sum(self.flops_of(step) for step in self.steps)

    @property
    def peak_bytes(self) -> int:
        """Bytes of everything the plan holds, arena, inputs, state and constants, and its kernels while they run."""
        apart = self.shard_bytes + sum(
            allocation.nbytes for allocation in self.allocations if allocation.kind == "partial"
        )
        shared = sum(
            allocation.nbytes for allocation in self.allocations if allocation.kind not in ("arena", "shard", "partial")
        )
        return self.arena_bytes + shared + self.shards * apart + self.scratch_bytes

    @property
    def scratch_bytes(self) -> int:
        """The most that NumPy's kernels take at a time beside inputs and outputs, with what they keep for the next."""
        kept = passing = 0
        for step in self.steps:
            size = self.scratch_of(step)
            keeps = min(size, KEPT_BYTES) if step.op.memory.keeps_workspace else 0
            kept, passing = max(kept, keeps), max(passing, size - keeps)
        return kept + passing

    def scratch_of(self, step: Step) -> int:
        """Bytes that the kernel of one step takes while it runs, beside its inputs and outputs."""
        inputs, outputs = ([self.buffers[n].spec for n in numbers] for numbers in (step.inputs, step.outputs))
        return step.op.scratch_bytes(step.attrs, inputs, outputs)

    def flops_of(self, step: Step) -> int:
        """Estimated arithmetic operations of one step."""
        outputs = [self.buffers[number].spec.shape for number in step.outputs]
        inputs = [self.buffers[number].spec.shape for number in step.inputs]
        apart = any(
            self.allocations[self.buffers[number].allocation].kind in ("shard", "partial") for number in step.outputs
        )
        return step.op.count_flops(step.attrs, inputs, outputs) * (self.shards if apart else 1)


@dataclass(frozen=True, slots=True)
class Layout:
    """A value as a strided window on the memory of the value `base`."""

    base: int
    offset: int
    strides: tuple[int, ...]


def contiguous_strides(spec: Spec) -> tuple[int, ...]:
    """Return the byte strides of a row-major array."""
    return _row_major(spec.shape, spec.dtype.itemsize)


@lru_cache(maxsize=1024)  # the values of a plan have few shapes
def _row_major(shape: Shape, itemsize: int) -> tuple[int, ...]:
    strides, step = [], itemsize
    for extent in reversed(shape):
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


def layouts(listing: Listing, steps: Collection[int] = ()) -> tuple[list[Layout], set[int]]:
    """Lay out every value; also return the indices of view instructions that need no step at run time.

    Those at the indices `steps` are steps, and copy, even where a view could be taken.
    """
    result = [Layout(number, 0, contiguous_strides(spec)) for number, spec in enumerate(listing.specs)]
    free: set[int] = set()
    for index, instruction in enumerate(listing.instructions):
        if instruction.op.view and index not in steps:
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
