"""Proof of a plan: every read of its schedule finds the intended value, whole and written before.

The verifier goes through the steps as executors run them (phase by phase, each phase for every shard) and keeps for
every byte which value was written there last. It shows, for any number of threads and any size of a block:

* an input holds, in all the bytes that the step reads, the value that the step's number stands for;
* of what several shards may touch at the same time, nothing is written by one that another reads or writes;
* the steps of a fused group, which may run interleaved block by block, share only bytes that are read, or that lie row
  by row at the same place for both;
* a result lies over an input only where the kernel may overwrite it, element by element;
* a shard reads of every input the part that the op's split rule requires, and no less;
* after a run every output is there, every state has its new value, and the gaps of packed vectors are still zero.

Time is linear in the number of steps, but for the logarithm of a search among the ranges of an arena.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from engine.core.errors import PlanError
from engine.core.sharding_rules import PARTIAL, Case, State, cut, part_attrs
from engine.core.value import Shape
from engine.execution.plan.fusion import overwritable
from engine.execution.plan.plan import Plan
from engine.execution.plan.schedule import (
    BufferView,
    Intervals,
    Parts,
    Region,
    Space,
    StepRun,
    region_of,
    schedule_phase,
)
from engine.execution.plan.sharding import ALL_REDUCE

VARIABLE = "ADJOINT_VERIFY_PLANS"
UNKNOWN = -1
"""What bytes hold of which a value that lies there now has no part."""


def should_verify() -> bool:
    """Return whether the environment asks for a proof of every plan (`ADJOINT_VERIFY_PLANS` is neither empty nor 0)."""
    return os.environ.get(VARIABLE, "0") not in ("", "0")


def verify_plan(plan: Plan) -> None:
    """Prove a plan.

    Raises:
        PlanError: a read may see what it is not meant to see; the message names the step, the value and the bytes.
    """
    _Verifier(plan).verify()


@dataclass
class _Content:
    """The values that were written last to a range: one for all of it, or one for each part of a cut."""

    values: list[int]
    parts: Parts | None = None

    def value(self, part: int) -> int:
        """Return what a part holds."""
        return self.values[part] if self.parts is not None else self.values[0]

    def read(self, region: Region) -> Sequence[int]:
        """Return the values that lie in what a region has of this range."""
        if region.parts is not None and region.parts == self.parts:
            return self.values[region.part : region.part + 1]
        return self.values


class _Verifier:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.memory: dict[Space, Intervals[_Content]] = {}
        self.pieces: dict[int, set[int]] = {}  # packed vector -> the values that were computed in their places there
        self.group_of = {place: group for group, places in enumerate(plan.groups) for place in places}
        self.regions: dict[BufferView, Region | None] = {}

    def verify(self) -> None:
        plan = self.plan
        for number in (*plan.inputs.values(), *plan.state.values(), *plan.constants):
            self._write(BufferView(number))
        for phase in plan.phases:
            touched: list[tuple[Region, int, bool, StepRun]] = []
            for shard in range(plan.shards) if phase.sharded else (0,):
                interleaved = _FusedAccesses()
                group: int | None = None
                for place, run in zip(phase.steps, schedule_phase(plan, phase, shard), strict=True):
                    if self.group_of.get(place) != group:
                        group, interleaved = self.group_of.get(place), _FusedAccesses()
                    reads, writes = self._run(run, sharded=phase.sharded)
                    if group is not None:
                        interleaved.add(run, reads, writes)
                    touched += [(region, shard, False, run) for region in reads]
                    touched += [(region, shard, True, run) for region in writes]
            if phase.sharded:
                _check_races(touched)
        for target, source in plan.copies:
            self._read(BufferView(source), "the copy at the end of a run")
            self._write(BufferView(target), plan.buffers[source].base)
        self._check_results()

    def _check_results(self) -> None:
        plan = self.plan
        for name, number in plan.outputs.items():
            self._read(BufferView(number), f"output {name!r}")
        for name, number in plan.state.items():
            expected = plan.buffers[plan.updates.get(name, number)].base
            self._read(BufferView(number), f"state {name!r} after a run", expected)
        for number in plan.constants:
            self._read(BufferView(number), f"constant %{number} after a run")

    def _run(self, run: StepRun, *, sharded: bool) -> tuple[list[Region], list[Region]]:
        """Take one step: check what it reads, then note what it writes."""
        about = f"step {run.step.op.name} -> %{run.step.outputs[0]}"
        reads = [region for seen in run.inputs if (region := self._read(seen, about)) is not None]
        writes = [region for seen in run.outputs if (region := self._bounded(seen, about)) is not None]
        if sharded:
            _check_parts(self.plan, run, about)
        if run.step.op.memory.packs:
            return reads, self._pack(run, about)
        self._check_overlaps(run, about)
        for seen in run.outputs:
            self._write(seen)
        return reads, writes

    def _region(self, seen: BufferView) -> Region | None:
        """Return where a value lies; most are looked up by several steps."""
        if seen not in self.regions:
            self.regions[seen] = region_of(self.plan, seen)
        return self.regions[seen]

    def _bounded(self, seen: BufferView, about: str) -> Region | None:
        """Return a region that lies inside of its root."""
        plan, region = self.plan, self._region(seen)
        allocation = plan.allocations[plan.buffers[seen.number].allocation]
        if region is not None:
            first = allocation.offset if allocation.kind in ("arena", "shard") else 0
            size = {"arena": plan.arena_bytes, "shard": plan.shard_bytes}.get(allocation.kind, allocation.nbytes)
            if region.start < first or region.stop > first + allocation.nbytes or region.stop > size:
                raise PlanError(f"{about}: %{seen.number} lies outside of its memory {_place(region)}")
        return region

    def _read(self, seen: BufferView, about: str, base: int | None = None) -> Region | None:
        """Check that a value is where a step reads it."""
        region = self._bounded(seen, about)
        if region is None:
            return None
        wanted = region if base is None else region._replace(base=base)
        memory = self.memory.get(region.space)
        found = list(memory.overlapping(region.start, region.stop)) if memory is not None else []
        for start, stop, content in found:
            for value in content.read(region):
                if value != wanted.base and value not in self.pieces.get(wanted.base, ()):
                    there = f"%{value}" if value != UNKNOWN else "no value"
                    where = _place(region._replace(start=max(start, region.start), stop=min(stop, region.stop)))
                    raise PlanError(f"{about}: %{wanted.base} is read at {where}, which holds {there}")
        if memory is None or not memory.covers(region.start, region.stop):
            raise PlanError(f"{about}: %{wanted.base} is read at {_place(region)} before all of it is written")
        return region

    def _write(self, seen: BufferView, base: int | None = None) -> None:
        """Note that a value lies where it is written."""
        region = self._region(seen)
        if region is None:
            return
        value = region.base if base is None else base
        memory = self.memory.setdefault(region.space, Intervals())
        if region.parts is None:
            memory.write(region.start, region.stop, _Content([value]))
            return
        found = list(memory.overlapping(region.start, region.stop))
        values = [UNKNOWN] * self.plan.shards
        if len(found) == 1 and found[0][0] <= region.start and found[0][1] >= region.stop:
            old = found[0][2]
            if old.parts == region.parts or len(set(old.values)) == 1:
                values = [old.value(part) for part in range(self.plan.shards)]
        elif memory.covers(region.start, region.stop):
            values = [self._vector({value for _, _, old in found for value in old.values})] * self.plan.shards
        values[region.part] = value
        memory.write(region.start, region.stop, _Content(values, region.parts))

    def _vector(self, values: set[int]) -> int:
        """Return the packed vector that values are pieces of; UNKNOWN if there is none."""
        vectors = (vector for vector, pieces in self.pieces.items() if values <= {vector, *pieces})
        return next(vectors, UNKNOWN)

    def _pack(self, run: StepRun, about: str) -> list[Region]:
        """Note a packed vector and return what is copied there: pieces that were not computed in their places.

        Nothing may have been written between the pieces, which are zero from the start.
        """
        seen = run.outputs[0]
        vector = self._region(seen)
        if vector is None:
            return []
        copied: list[Region] = []
        itemsize = self.plan.buffers[seen.number].spec.dtype.itemsize
        memory = self.memory.setdefault(vector.space, Intervals())
        targets: list[tuple[int, int]] = []
        for source, offset in zip(run.inputs, run.step.attrs["offsets"], strict=True):
            piece = self._read(source, about)  # copies of pieces before it may have been written over it
            if piece is None:
                continue
            start = vector.start + offset * itemsize
            stop = start + piece.size * itemsize
            targets.append((start, stop))
            if (piece.space, piece.start, piece.stop) == (vector.space, start, stop):
                self.pieces.setdefault(vector.base, set()).add(piece.base)
            else:
                memory.write(start, stop, _Content([vector.base]))
                copied.append(vector._replace(start=start, stop=stop))
        ends = [vector.start, *(stop for _, stop in sorted(targets))]
        starts = [*(start for start, _ in sorted(targets)), vector.stop]
        for start, stop in zip(ends, starts, strict=True):
            self._fill_gap(memory, vector, start, stop, about)
        return copied

    def _fill_gap(self, memory: Intervals[_Content], vector: Region, start: int, stop: int, about: str) -> None:
        if start >= stop:
            return
        for first, last, _ in memory.overlapping(start, stop):
            raise PlanError(f"{about}: bytes {max(first, start)} to {min(last, stop)} between its pieces are written")
        memory.write(start, stop, _Content([vector.base]))

    def _check_overlaps(self, run: StepRun, about: str) -> None:
        """Check that a result shares bytes with inputs only where the kernel may write over them."""
        for place, seen in enumerate(run.outputs):
            result = self._region(seen)
            if result is None:
                continue
            allowed = overwritable(run.step, run.step.outputs[place])
            for position, other in enumerate(run.inputs):
                read = self._region(other)
                if read is None or not read.overlaps(result):
                    continue
                if run.step.op is ALL_REDUCE or (position in allowed and read.lies_like(result)):
                    continue
                raise PlanError(f"{about}: it is written over its input %{other.number} at {_place(result)}")
            for other in run.outputs[:place]:
                second = self._region(other)
                if second is not None and second.overlaps(result):
                    raise PlanError(f"{about}: its results lie over one another at {_place(result)}")


class _FusedAccesses:
    """What the steps of a fused group have touched: of each range the order of its elements, and if it is written."""

    def __init__(self) -> None:
        self.memory: dict[Space, Intervals[tuple[Region | None, bool]]] = {}

    def add(self, run: StepRun, reads: Sequence[Region], writes: Sequence[Region]) -> None:
        """Check and note one step."""
        size = writes[0].size if writes else 0
        for region in reads:
            self._touch(run, region, size, written=False)
        for region in writes:
            self._touch(run, region, size, written=True)

    def _touch(self, run: StepRun, region: Region, size: int, *, written: bool) -> None:
        memory = self.memory.setdefault(region.space, Intervals())
        alike: Region | None = region
        for _, _, (other, other_written) in memory.overlapping(region.start, region.stop):
            aligned = other is not None and region.size == size and region.lies_like(other)
            if not aligned and (written or other_written):
                raise PlanError(
                    f"step {run.step.op.name} -> %{run.step.outputs[0]}: the steps of its fused group read and write "
                    f"{_place(region)} in different orders"
                )
            written = written or other_written
            alike = alike if aligned else None
        memory.write(region.start, region.stop, (alike, written))


def _check_races(touched: Sequence[tuple[Region, int, bool, StepRun]]) -> None:
    """Check that no shard writes what another touches in the same phase."""
    active: dict[Space, list[tuple[Region, int, bool, StepRun]]] = {}
    for item in sorted(touched, key=lambda item: item[0].start):
        region, shard, written, run = item
        others = active.setdefault(region.space, [])
        others[:] = [other for other in others if other[0].stop > region.start]
        for other, by, other_written, _ in others:
            if by != shard and (written or other_written) and region.overlaps(other):
                raise PlanError(
                    f"step {run.step.op.name} -> %{run.step.outputs[0]}: shards {by} and {shard} touch "
                    f"{_place(region)} in one phase, and one of them writes it"
                )
        others.append(item)


def _check_parts(plan: Plan, run: StepRun, about: str) -> None:
    """Check that a shard reads of each input the part that the split rule of the op requires."""
    step = run.step
    if step.op is ALL_REDUCE:
        if len({seen.owner for seen in run.inputs}) != plan.shards:
            raise PlanError(f"{about}: it does not add up the summands of all {plan.shards} shards")
        return
    states = tuple(_state(plan, seen) for seen in run.inputs)
    made = tuple(_state(plan, seen) for seen in run.outputs)
    if step.op.algebra.additive and all(state == PARTIAL for state in (*states, *made)):
        return
    shapes = [_whole_shape(plan, seen) for seen in run.inputs]
    results = [_whole_shape(plan, seen) for seen in run.outputs]
    attrs = part_attrs(step.attrs, plan.buffers[step.outputs[0]].spec.shape, results[0])
    # What shards read parts of may be whole, or have been computed in these parts.
    for read, by_columns in product((states, (None,) * len(states)), (False, True)):
        found = cut(Case(step.op, attrs, shapes, read, results, by_columns), plan.shards)
        if found is not None and (tuple(found.windows), tuple(found.states)) == (states, made):
            return
    raise PlanError(f"{about}: shards see its inputs by {states} and make its results by {made}, which no rule allows")


def _state(plan: Plan, seen: BufferView) -> State:
    """Return the part of a value that a shard reads: the axis of its part, PARTIAL, or None for the whole."""
    buffer = plan.buffers[seen.number]
    if plan.allocations[buffer.allocation].kind == "partial":
        return PARTIAL
    return buffer.split if seen.owner is not None else seen.axis


def _whole_shape(plan: Plan, seen: BufferView) -> Shape:
    """Return the shape of a value over all shards."""
    buffer = plan.buffers[seen.number]
    if plan.allocations[buffer.allocation].kind != "shard" or buffer.split is None:
        return buffer.spec.shape
    return tuple(n * plan.shards if axis == buffer.split else n for axis, n in enumerate(buffer.spec.shape))


def _place(region: Region) -> str:
    kind, allocation, owner = region.space
    name = kind if allocation < 0 else f"{kind} {allocation}"
    whose = f" of shard {owner}" if owner >= 0 else ""
    return f"bytes {region.start} to {region.stop} of {name}{whose}"
