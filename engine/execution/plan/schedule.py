"""Steps of a plan in an order in which one thread can take them, shard by shard, and the memory that each one uses.

A step reads a value through a `BufferView`: whole, or a part, in memory that all share or of one shard. `region_of`
gives its bytes, which the verifier compares."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Generic, NamedTuple, TypeVar

from engine.core.sharding_rules import WHOLE
from engine.core.value import Spec
from engine.execution.plan.plan import Buffer, Phase, Plan, Step
from engine.execution.plan.sharding import ALL_REDUCE


class BufferView(NamedTuple):
    """A value as a step reads it.

    Attributes:
        number: which value.
        owner: the shard whose own memory it lies in; None for a value that all share.
        axis: the axis along which only a part of it is seen, if it is.
        part: which part.
    """

    number: int
    owner: int | None = None
    axis: int | None = None
    part: int = 0


class StepRun(NamedTuple):
    """A step, and the values it works on; the inputs of a `ALL_REDUCE` are the summands of all shards."""

    step: Step
    inputs: tuple[BufferView, ...]
    outputs: tuple[BufferView, ...]


def schedule(plan: Plan) -> Iterator[StepRun]:
    """Yield every step, those of a phase that the shards run once for each of them."""
    for phase in plan.phases:
        for shard in range(plan.shards) if phase.sharded else (0,):
            yield from schedule_phase(plan, phase, shard)


def schedule_phase(plan: Plan, phase: Phase, shard: int) -> Iterator[StepRun]:
    """Yield the steps of a phase as one shard runs them; `shard` counts only in a phase that all shards run."""
    for place in phase.steps:
        yield _run(plan, plan.steps[place], shard if phase.sharded else None)


def buffer_of(plan: Plan, seen: BufferView) -> Buffer:
    """Return where a value lies as a step reads it; the root of one that has an owner is in memory of the owner's."""
    buffer = plan.buffers[seen.number]
    if seen.axis is None:
        return buffer
    shape = list(buffer.spec.shape)
    shape[seen.axis] //= plan.shards
    offset = buffer.offset + seen.part * shape[seen.axis] * buffer.strides[seen.axis]
    return replace(buffer, offset=offset, spec=Spec(tuple(shape), buffer.spec.dtype))


def _run(plan: Plan, step: Step, shard: int | None) -> StepRun:
    outputs = tuple(_seen(plan, number, shard, None) for number in step.outputs)
    if step.op is ALL_REDUCE:
        axis, part = (None, 0) if shard is None else (0, shard)
        return StepRun(
            step, tuple(BufferView(step.inputs[0], owner, axis, part) for owner in range(plan.shards)), outputs
        )
    if step.op.memory.packs and shard:  # what is whole is added by the first shard
        step = _of_summands(plan, step)
    windows = step.windows or (None,) * len(step.inputs)
    inputs = (_seen(plan, number, shard, window) for number, window in zip(step.inputs, windows, strict=True))
    return StepRun(step, tuple(inputs), outputs)


def _seen(plan: Plan, number: int, shard: int | None, window: int | None) -> BufferView:
    buffer = plan.buffers[number]
    if shard is None:
        return BufferView(number)
    if plan.allocations[buffer.allocation].kind in ("shard", "partial"):
        return BufferView(number, shard)
    axis = buffer.split if window is None else None if window == WHOLE else window
    return BufferView(number) if axis is None else BufferView(number, None, axis, shard)


def _of_summands(plan: Plan, step: Step) -> Step:
    """Return a pack without the inputs of which a shard has no summand."""
    kept = [i for i, n in enumerate(step.inputs) if plan.allocations[plan.buffers[n].allocation].kind == "partial"]
    attrs: dict[str, Any] = {**step.attrs, "offsets": tuple(step.attrs["offsets"][i] for i in kept)}
    windows = tuple(step.windows[i] for i in kept) if step.windows else ()
    return replace(step, inputs=tuple(step.inputs[i] for i in kept), attrs=attrs, windows=windows)


Space = tuple[str, int, int]
"""A piece of memory with addresses of its own: its kind, which root if that is not an arena, and whose (-1: all's)."""


class Parts(NamedTuple):
    """A cut of a range of bytes into parts, one for each shard: byte b is in part (b - start) % period // extent."""

    start: int
    period: int
    extent: int


class Region(NamedTuple):
    """The bytes of a value as a step reads it.

    Attributes:
        space: the memory.
        start, stop: the bytes from its first to its last element; if it is a part, those of all parts.
        base: the value that has to have been written there.
        order: how its elements are spread over the bytes; equal for equal bytes in an equal order.
        size: the number of its elements.
        parts: the cut it is a part of, if it is one.
        part: which part.
    """

    space: Space
    start: int
    stop: int
    base: int
    order: tuple[tuple[int, int], ...]
    size: int
    parts: Parts | None = None
    part: int = 0

    def lies_like(self, other: Region) -> bool:
        """Return whether element i has the same address in both, for every i."""
        return (self.space, self.start, self.order, self.parts, self.part) == (
            other.space, other.start, other.order, other.parts, other.part,
        )  # fmt: skip

    def overlaps(self, other: Region) -> bool:
        """Return whether two values may share a byte."""
        if self.space != other.space or self.start >= other.stop or other.start >= self.stop:
            return False
        return self.parts is None or self.parts != other.parts or self.part == other.part


def region_of(plan: Plan, seen: BufferView) -> Region | None:
    """Return where a value lies as a step reads it; None if it has no elements."""
    buffer = plan.buffers[seen.number]
    own = buffer_of(plan, seen)
    size = 1
    for extent in own.spec.shape:
        size *= extent
    if not size:
        return None
    allocation = plan.allocations[buffer.allocation]
    arena = allocation.kind in ("arena", "shard")
    first = allocation.offset if arena else 0
    parts = None if seen.axis is None else _parts(plan, buffer, seen.axis, first)
    space = (allocation.kind, -1 if arena else buffer.allocation, -1 if seen.owner is None else seen.owner)
    whole = own if parts is None else buffer
    part = 0 if parts is None else seen.part
    if seen.axis is not None and buffer.strides[seen.axis] < 0:  # a view in reverse: its first part is the last
        part = plan.shards - 1 - part
    low = high = 0
    for step, extent in zip(whole.strides, whole.spec.shape, strict=True):
        reach = step * (extent - 1)
        if reach < 0:
            low += reach
        else:
            high += reach
    at = first + whole.offset
    return Region(
        space,
        at + low,
        at + high + whole.spec.dtype.itemsize,
        buffer.base,
        ((at, own.spec.dtype.itemsize), *_merged(own.spec.shape, own.strides)),
        size,
        parts,
        part,
    )


def _parts(plan: Plan, buffer: Buffer, axis: int, first: int) -> Parts | None:
    """Return the cut of a root that begins at byte `first` along an axis; None if all shards see the same elements."""
    step, extent = abs(buffer.strides[axis]), buffer.spec.shape[axis]
    if not step:
        return None
    base = plan.buffers[buffer.base]
    return Parts(first + base.offset, step * extent, step * extent // plan.shards)


def _merged(shape: Sequence[int], strides: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return extents and strides of the axes that matter, those joined that one walks through as through one."""
    axes: list[tuple[int, int]] = []
    for extent, step in zip(shape, strides, strict=True):
        if extent == 1:
            continue
        if axes and axes[-1][1] == extent * step:
            axes[-1] = (axes[-1][0] * extent, step)
        else:
            axes.append((extent, step))
    return tuple(axes)


T = TypeVar("T")


class Intervals(Generic[T]):
    """Ranges [start, stop) that do not overlap, in order, each with a content."""

    def __init__(self) -> None:
        """Start empty."""
        self._starts: list[int] = []
        self._items: list[tuple[int, int, T]] = []

    def overlapping(self, start: int, stop: int) -> Iterator[tuple[int, int, T]]:
        """Yield (start, stop, content) of every range that shares an address with [start, stop), in order."""
        place = self._first(start)
        while place < len(self._items) and self._items[place][0] < stop:
            yield self._items[place]
            place += 1

    def covers(self, start: int, stop: int) -> bool:
        """Return whether every address of [start, stop) is in a range."""
        reached = start
        for first, last, _ in self.overlapping(start, stop):
            if first > reached:
                return False
            reached = last
        return reached >= stop

    def write(self, start: int, stop: int, content: T) -> None:
        """Put a content at [start, stop); what was there before keeps the rest of its range."""
        place = self._first(start)
        stopped = place
        kept: list[tuple[int, int, T]] = [(start, stop, content)]
        while stopped < len(self._items) and self._items[stopped][0] < stop:
            first, last, old = self._items[stopped]
            if first < start:
                kept.insert(0, (first, start, old))
            if last > stop:
                kept.append((stop, last, old))
            stopped += 1
        self._items[place:stopped] = kept
        self._starts[place:stopped] = [first for first, _, _ in kept]

    def _first(self, start: int) -> int:
        """Return the place of the first range that ends behind `start`."""
        place = bisect_right(self._starts, start) - 1
        return place if place >= 0 and self._items[place][1] > start else place + 1
