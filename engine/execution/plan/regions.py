"""Where the values that a step of a plan works on lie: ranges of bytes, and how the elements are spread over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from engine.execution.plan.plan import Buffer, Plan
from engine.execution.plan.runs import Seen, buffer_of

Space = tuple[str, int, int]
"""A piece of memory with addresses of its own: its kind, which root if that is not an arena, and whose (-1: all's)."""


class Parts(NamedTuple):
    """A cut of a range of bytes into parts, one for each shard: byte b is in part (b - start) % period // extent."""

    start: int
    period: int
    extent: int


class Region(NamedTuple):
    """The bytes of a value as a step sees it.

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


def region_of(plan: Plan, seen: Seen) -> Region | None:
    """Return where a value lies as a step sees it; None if it has no elements."""
    buffer = plan.buffers[seen.number]
    own = buffer_of(plan, seen)
    size = 1
    for extent in own.spec.shape:
        size *= extent
    if not size:
        return None
    root = plan.roots[buffer.root]
    arena = root.kind in ("arena", "shard")
    first = root.offset if arena else 0
    parts = None if seen.axis is None else _parts(plan, buffer, seen.axis, first)
    space = (root.kind, -1 if arena else buffer.root, -1 if seen.owner is None else seen.owner)
    whole = own if parts is None else buffer
    part = 0 if parts is None else seen.part
    if seen.axis is not None and buffer.strides[seen.axis] < 0:  # a view in reverse: its first part is the last
        part = plan.shards - 1 - part
    low = sum(min(0, step * (extent - 1)) for step, extent in zip(whole.strides, whole.spec.shape, strict=True))
    high = sum(max(0, step * (extent - 1)) for step, extent in zip(whole.strides, whole.spec.shape, strict=True))
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
