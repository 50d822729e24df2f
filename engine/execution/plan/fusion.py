"""Fused groups: neighbouring elementwise instructions that run together, block by block.

An executor may run the instructions of a group in any interleaving of equal blocks of rows: all of them on the first
rows, then all of them on the next. What passes between them then stays in the nearest cache. The planner decides on the
groups before it places values in memory, because interleaving moves a write of one instruction before reads of the
instructions ahead of it.

Two accesses of the instructions of a group that share bytes, one of them a write, must therefore be *aligned*: row r
of the group's result is at the same bytes for both. Values that are read otherwise in a group (repeated along an axis,
as a part, in another order) are `unaligned` there: nothing that the group makes may lie over them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from engine.core.value import Shape
from engine.execution.plan.plan import Layout, Step, is_whole
from engine.graph.simplify import Instruction, Listing


@dataclass(frozen=True)
class FusedGroups:
    """The fused groups of a listing.

    Attributes:
        members: for each group the indices of its instructions, two or more.
        group_of: for each instruction of a group, and each view among them, the index of the group.
        unaligned: pairs of a group and a base of which it reads other bytes for a row than those of that row.
    """

    members: list[tuple[int, ...]] = field(default_factory=list)
    group_of: dict[int, int] = field(default_factory=dict)
    unaligned: set[tuple[int, int]] = field(default_factory=set)

    def end(self, index: int) -> int:
        """Return the last instruction that may run interleaved with instruction `index`."""
        group = self.group_of.get(index)
        return index if group is None else self.members[group][-1]

    def is_aligned(self, index: int, base: int) -> bool:
        """Return whether the group of instruction `index` reads `base`, if at all, row by row."""
        group = self.group_of.get(index)
        return group is None or (group, base) not in self.unaligned


def overwritable(instruction: Instruction | Step, number: int) -> tuple[int, ...]:
    """Return the places of the inputs over which the kernel may write its output `number`, given equal specs."""
    op = instruction.op
    if op.takes_out and op.elementwise:
        return tuple(range(len(instruction.inputs)))
    over = op.memory.inplace.get(instruction.outputs.index(number))
    return () if over is None else (over,)


def fuse(listing: Listing, layouts: Sequence[Layout], free: Set[int], levels: Sequence[int] | None) -> FusedGroups:
    """Find the groups of a listing.

    Args:
        listing: instructions in the order in which they run.
        layouts: of each value, the base it lies in and how.
        free: indices of view instructions, which do not run.
        levels: for each instruction its phase, if the listing is sharded; a group lies in one phase.
    """
    groups = FusedGroups()
    run: list[int] = []
    made: set[int] = set()
    key: object = None
    for index, instruction in enumerate(listing.instructions):
        if index in free:
            continue
        shape = _result_shape(listing, instruction)
        found = None if shape is None else (shape, None if levels is None else levels[index])
        if found is None or found != key or _reads_unaligned(listing, layouts, instruction, made):
            _close(groups, run)
            run, made, key = [], set(), found
        if found is not None:
            run.append(index)
            made.add(instruction.outputs[0])
    _close(groups, run)
    for group, members in enumerate(groups.members):
        for index in members:
            instruction = listing.instructions[index]
            groups.unaligned.update((group, base) for base in _unaligned_bases(listing, layouts, instruction))
    return groups


def _close(groups: FusedGroups, run: list[int]) -> None:
    if len(run) > 1:
        groups.group_of.update(dict.fromkeys(range(run[0], run[-1] + 1), len(groups.members)))
        groups.members.append(tuple(run))


def _result_shape(listing: Listing, instruction: Instruction) -> Shape | None:
    """Return the shape of the result of an elementwise instruction with one result, else None."""
    if not instruction.op.elementwise or instruction.op.view or len(instruction.outputs) != 1:
        return None
    shape = listing.specs[instruction.outputs[0]].shape
    return shape if any(extent > 1 for extent in shape) else None


def _reads_unaligned(listing: Listing, layouts: Sequence[Layout], instruction: Instruction, made: Set[int]) -> bool:
    """Return whether an instruction reads rows of values in `made` that are not written before its own row."""
    return any(base in made for base in _unaligned_bases(listing, layouts, instruction))


def _unaligned_bases(listing: Listing, layouts: Sequence[Layout], instruction: Instruction) -> list[int]:
    """Return the bases of the inputs that do not cover their base in order, one element for each of the result."""
    size = math.prod(listing.specs[instruction.outputs[0]].shape)
    return [
        layouts[number].base
        for number in instruction.inputs
        if math.prod(listing.specs[number].shape) != size or not is_whole(listing, layouts[number], number)
    ]
