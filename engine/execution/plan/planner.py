"""From a listing to a plan: who owns memory, who may overwrite whom, where everything lies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from engine.core.registry import lookup
from engine.core.sharding_rules import PARTIAL, State
from engine.core.value import Node, Value
from engine.execution.plan.fusion import FusedGroups, fuse, overwritable
from engine.execution.plan.memory import ArenaRanges
from engine.execution.plan.plan import (
    Allocation,
    Buffer,
    Kind,
    Layout,
    Phase,
    Plan,
    Step,
    contiguous_strides,
    is_whole,
    layouts,
    nbytes,
)
from engine.execution.plan.sharding import Sharding, assign_shard_buffers, shard, worth_columns, worthwhile_shards
from engine.execution.plan.verifier import should_verify, verify_plan
from engine.graph.half_operands import read_halves, write_halves
from engine.graph.origin import Origin
from engine.graph.rematerialization import schedule_casts
from engine.graph.rounding import round_at_once, rounded_packs
from engine.graph.simplify import Instruction, Listing, simplify

END = 2**62


def make_plan(
    inputs: Mapping[str, Value],
    state: Mapping[str, Value],
    outputs: Mapping[str, Value],
    updates: Mapping[str, Value],
    *,
    rows: Collection[str] = (),
    most_shards: int = 1,
    origin_of: Callable[[Node], Origin] | None = None,
) -> Plan:
    """Plan the computation of `outputs` and of the new values `updates` of some of the `state`.

    Args:
        inputs: leaves that are fed before each run.
        state: leaves that keep their memory from run to run.
        outputs: values to be read after a run.
        updates: by name of a state, the value it has after a run.
        rows: the inputs whose first axis is the batch; those without axes stay whole.
        most_shards: into how many shards the batch may be cut, where there is enough work.
        origin_of: what each node comes from; steps have it as their origin.

    Raises:
        PlanError: the environment asks for a proof of every plan, and this one has none.
    """
    plan = _planned(simplify(inputs, state, outputs, updates, origin_of), rows, most_shards)
    if should_verify():
        verify_plan(plan)
    return plan


def _planned(listing: Listing, rows: Collection[str], most_shards: int) -> Plan:
    listing = round_at_once(write_halves(read_halves(schedule_casts(listing))))
    count = min(most_shards, worthwhile_shards(listing, rows)) if rows else 1
    extents = [extent for name in rows for extent in listing.specs[listing.inputs[name]].shape[:1]]
    # Shards are equal parts: the numbers of a plan must not depend on how a remainder is handed out.
    equal = count
    while equal > 1 and any(extent % equal for extent in extents):
        equal //= 2
    if count > 1 and (equal > 1 or worth_columns(listing)):
        planner = _Planner(listing.copy(), rows if equal > 1 else (), equal if equal > 1 else count)
        if planner.views_stay:
            return planner.plan()
    return _Planner(listing).plan()


class _Planner:
    """Works on bases: values that own memory. Every other value is a window on one."""

    def __init__(self, listing: Listing, rows: Collection[str] = (), shards: int = 1) -> None:
        self.listing = listing
        self._copy_outputs_of_states()
        self._copy_leaf_updates()
        self.sharding: Sharding | None = None
        self.own: set[int] = set()  # values of which each shard has its part in a place of its own
        if shards > 1:
            self.sharding = shard(listing, layouts(listing)[1], rows, shards)
            self.own = assign_shard_buffers(listing, self.sharding)
        self.layouts, self.free = layouts(listing, self._copies_of_parts())
        # A view that has to be copied where it is of a part would have no place among the phases.
        self.views_stay = self.sharding is None or self.sharding.free <= self.free
        self.made_at = {n: i for i, ins in enumerate(listing.instructions) if i not in self.free for n in ins.outputs}
        self.readers = self._readers()
        self.groups: FusedGroups = fuse(
            listing, self.layouts, self.free, self.sharding.levels if self.sharding else None
        )
        self.last_use = self._last_uses()
        self.allocations: list[Allocation] = []
        self.place: dict[int, tuple[int, int]] = {}  # base -> (allocation, byte offset)
        self.fixed: set[int] = set()  # allocations that no other value may be written over
        self.copies: list[tuple[int, int]] = []

    def _copies_of_parts(self) -> set[int]:
        """Return the places of views that copy each shard's part to its place in a whole value.

        Such a view could be taken of the part, whose axis may have an extent of 1, but not of the whole.
        """
        if self.sharding is None:
            return set()
        return {
            place
            for place, instruction in enumerate(self.listing.instructions)
            if instruction.op.view and place not in self.sharding.free and instruction.outputs[0] not in self.own
        }

    def plan(self) -> Plan:
        listing = self.listing
        for name, number in listing.inputs.items():
            self._allocate(number, "input", name)
        for name, number in listing.state.items():
            self._allocate(number, "state", name)
        for number in listing.constants:
            self._allocate(number, "constant", f"%{number}")
        # What has only one good place goes first. An update in its state's memory saves a copy in every run, and an
        # input of a pack in the vector saves one too; a summand needs memory of every shard. The rest shares the arena.
        self._place_updates()
        self._place_packs()
        self._place_partials()
        self._keep_through_phases()
        sizes, inplace = self._place_rest()
        used = {n for ins in listing.instructions for n in (*ins.inputs, *ins.outputs)}
        used.update(listing.inputs.values(), listing.state.values(), listing.outputs.values(), listing.updates.values())
        steps = tuple(
            Step(ins.op, ins.inputs, ins.outputs, ins.attrs, index in inplace, self._windows(index), ins.origin)
            for index, ins in enumerate(listing.instructions)
            if index not in self.free
        )
        return Plan(
            steps=steps,
            buffers={number: self._buffer(number) for number in sorted(used)},
            allocations=tuple(self.allocations),
            constants={n: array for n, array in listing.constants.items() if n in used},
            inputs=listing.inputs,
            state=listing.state,
            outputs=listing.outputs,
            updates=listing.updates,
            copies=tuple(self.copies),
            arena_bytes=sizes["arena"],
            phases=self._phases(),
            groups=self._step_groups(),
            shards=self.sharding.count if self.sharding else 1,
            shard_bytes=sizes["shard"],
        )

    def _windows(self, index: int) -> tuple[int | None, ...]:
        """Return the axes along which shards see parts of whole inputs."""
        if self.sharding is None or not self.sharding.sharded[index]:
            return ()
        states = [self.sharding.state(n) for n in self.listing.instructions[index].inputs]
        windows = zip(self.sharding.windows[index], states, strict=True)
        return tuple(window if window != state else None for window, state in windows)

    def _phases(self) -> tuple[Phase, ...]:
        """Return the steps of each phase: all in one if there are no shards."""
        places = [index for index in range(len(self.listing.instructions)) if index not in self.free]
        sharding = self.sharding
        if sharding is None:
            return (Phase(False, tuple(range(len(places)))),)
        levels: dict[int, list[int]] = {}
        for step, index in enumerate(places):
            levels.setdefault(sharding.levels[index], []).append(step)
        return tuple(Phase(level % 2 == 0, tuple(steps)) for level, steps in levels.items())

    def _step_groups(self) -> tuple[tuple[int, ...], ...]:
        """Return the fused groups by the places of their steps."""
        runs = (index for index in range(len(self.listing.instructions)) if index not in self.free)
        step_of = {index: step for step, index in enumerate(runs)}
        return tuple(tuple(step_of[index] for index in members) for members in self.groups.members)

    def _keep_through_phases(self) -> None:
        """Keep what all shards share to the end of the phase of its last use: another shard may still be before it."""
        if self.sharding is None:
            return
        ends = {level: index for index, level in enumerate(self.sharding.levels)}
        for base, last in self.last_use.items():
            if base not in self.own and last < len(self.listing.instructions):
                self.last_use[base] = ends[self.sharding.levels[last]]

    def _place_partials(self) -> None:
        """Give every shard a place of its own for its summand of a partial value."""
        if self.sharding is None:
            return
        for number, state in self.sharding.states.items():
            if state == PARTIAL and number in self.made_at and number not in self.place:
                self._allocate(number, "partial", f"%{number}")

    def _copy_outputs_of_states(self) -> None:
        """Make every output that is a window on an updated state a copy: it is the state as it was before the run."""
        windows = {ins.outputs[0]: ins.inputs[0] for ins in self.listing.instructions if ins.op.view}
        updated = {self.listing.state[name] for name in self.listing.updates}
        for name, number in self.listing.outputs.items():
            source = number
            while source in windows:
                source = windows[source]
            if source in updated:
                self.listing.outputs[name] = self._copied(number)

    def _copied(self, number: int) -> int:
        fresh = self.listing.new(self.listing.specs[number])
        self.listing.instructions.append(Instruction(lookup("copy"), (number,), (fresh,), {}))
        return fresh

    def _copy_leaf_updates(self) -> None:
        """Make every update a freshly computed value, so that states can be exchanged with one another."""
        made = {n for ins in self.listing.instructions if not ins.op.view for n in ins.outputs}
        seen: set[int] = set()
        for name, number in self.listing.updates.items():
            if number == self.listing.state[name]:
                continue
            if number not in made or number in seen:
                self.listing.updates[name] = self._copied(number)
            seen.add(self.listing.updates[name])

    def _readers(self) -> dict[int, list[int]]:
        """Return, for each base, the indices of the instructions that read it or a window on it; views do not."""
        readers: dict[int, list[int]] = {}
        for index, instruction in enumerate(self.listing.instructions):
            if index not in self.free:
                for base in {self.layouts[number].base for number in instruction.inputs}:
                    readers.setdefault(base, []).append(index)
        return readers

    def _last_uses(self) -> dict[int, int]:
        """Return, for each base, the index of the last instruction that touches it or a window on it."""
        last: dict[int, int] = {}
        for index, instruction in enumerate(self.listing.instructions):
            for number in (*instruction.inputs, *instruction.outputs):
                last[self.layouts[number].base] = index
        for number in self.listing.outputs.values():
            last[self.layouts[number].base] = END
        return last

    def _allocate(self, number: int, kind: Kind, name: str) -> None:
        self.allocations.append(Allocation(kind, name, nbytes(self.listing.specs[number])))
        self.place[number] = (len(self.allocations) - 1, 0)
        self.fixed.add(len(self.allocations) - 1)

    def _whole(self, number: int) -> bool:
        """Tell whether a value covers the whole of its base in order."""
        return is_whole(self.listing, self.layouts[number], number)

    def _place_updates(self) -> None:
        """Write new values of states directly over the old ones where no later step reads the old ones."""
        for name, number in self.listing.updates.items():
            state, base = self.listing.state[name], self.layouts[number].base
            if number == state:
                continue
            if base not in self.place and self._whole(number) and self._may_overwrite_state(state, base):
                self.place[base] = self.place[state]
            else:
                self.copies.append((state, number))
                self.last_use[base] = END

    def _may_overwrite_state(self, state: int, base: int) -> bool:
        made = self.made_at[base]
        if self.listing.instructions[made].op.memory.packs:
            return False  # the gaps of a pack are zero from the start, those of a state need not be
        # The old value may be read up to the step that writes the new one, and by that step at the same places only.
        last = self.last_use.get(state, -1)
        if not self._apart_by_shards(state, base) or not self.groups.is_aligned(made, state):
            return False
        if last != made:
            return last < made
        instruction = self.listing.instructions[made]
        return self._may_overwrite(instruction, base, state)

    def _apart_by_shards(self, state: int, base: int) -> bool:
        """Tell whether no shard reads, in the phase that makes the new value, what another writes over the old one."""
        if self.sharding is None:
            return True
        made, levels = self.made_at[base], self.sharding.levels
        axis = self.sharding.state(base)
        return all(
            levels[index] != levels[made] or self._has_parts_of_base(number, window, axis)
            for index in self.readers.get(state, ())
            for number, window in zip(
                self.listing.instructions[index].inputs, self.sharding.windows[index], strict=True
            )
            if self.layouts[number].base == state
        )

    def _has_parts_of_base(self, number: int, window: State, axis: State) -> bool:
        """Tell whether the parts of a value along `window` are, byte for byte, those of its base along `axis`.

        Row parts of a transposed view are column parts of its base: then one shard reads what all others write.
        """
        view, spec = self.layouts[number], self.listing.specs[number]
        base = self.listing.specs[view.base]
        if window is None or axis is None or window < 0 or axis < 0:
            return window == axis
        if view.offset or nbytes(spec) != nbytes(base):
            return False
        return (spec.shape[window], view.strides[window]) == (base.shape[axis], contiguous_strides(base)[axis])

    def _may_overwrite(self, instruction: Instruction, number: int, base: int) -> bool:
        """Tell whether an output may lie over `base`, which the instruction reads: at the same places, if at all."""
        readers = [place for place, n in enumerate(instruction.inputs) if self.layouts[n].base == base]
        allowed = overwritable(instruction, number)
        if not self.groups.is_aligned(self.made_at[number], base):
            return False
        return all(place in allowed and self._lies_like(instruction.inputs[place], number) for place in readers)

    def _lies_like(self, number: int, other: int) -> bool:
        """Tell whether two values have the same spec, and the first covers its base in order."""
        return self._whole(number) and self.listing.specs[number] == self.listing.specs[other]

    def _place_packs(self) -> None:
        """Let what is packed into a vector be computed in its place there, so that packing copies nothing."""
        for index, instruction in enumerate(self.listing.instructions):
            if not instruction.op.memory.packs or index in self.free:
                continue
            vector = instruction.outputs[0]
            kind: Kind = "partial" if self._is_partial(vector) else "pinned"
            if vector not in self.place:
                self._allocate(vector, kind, f"%{vector}")
            allocation = self.place[vector][0]
            if self.allocations[allocation].kind != kind:
                continue
            itemsize = self.listing.specs[vector].dtype.itemsize
            for number, offset in zip(instruction.inputs, instruction.attrs["offsets"], strict=True):
                base = self.layouts[number].base
                alike = self._is_partial(base) == self._is_partial(vector)
                if alike and base in self.made_at and base not in self.place and self._whole(number):
                    self.place[base] = (allocation, offset * itemsize)
        self._round_packs()

    def _round_packs(self) -> None:
        """Round packed vectors where they lie: the gaps, zero, stay so."""
        for number, vector in rounded_packs(self.listing).items():
            pack = self.made_at[vector]
            pieces = (self.layouts[piece].base for piece in self.listing.instructions[pack].inputs)
            free = all(self.last_use[piece] <= pack for piece in pieces) and number not in (*self.place, *self.own)
            if free and self.last_use[vector] == self.made_at[number]:
                self.place[number] = self.place[vector]

    def _is_partial(self, number: int) -> bool:
        return self.sharding is not None and self.sharding.state(number) == PARTIAL

    def _place_rest(self) -> tuple[Mapping[Kind, int], set[int]]:
        """Give every remaining base a range of an arena, in order, over a dying input where the kernel allows."""
        ranges = ArenaRanges(self.allocations, self.groups)
        inplace: set[int] = set()
        for index, instruction in enumerate(self.listing.instructions):
            for number in instruction.outputs if index not in self.free else ():
                if number in self.place:
                    if self._over_input(instruction, number):
                        inplace.add(index)
                    continue
                allocation = self._reusable(index, instruction, number, ranges)
                if allocation is None:
                    kind: Kind = "shard" if number in self.own else "arena"
                    allocation = ranges.take(kind, nbytes(self.listing.specs[number]), f"%{number}")
                else:
                    inplace.add(index)
                ranges.occupy(allocation, number, self.last_use[number])
                self.place[number] = (allocation, 0)
            ranges.finish(index)
        return ranges.sizes, inplace

    def _over_input(self, instruction: Instruction, number: int) -> bool:
        return any(self.place.get(self.layouts[n].base) == self.place[number] for n in instruction.inputs)

    def _reusable(self, index: int, instruction: Instruction, number: int, ranges: ArenaRanges) -> int | None:
        """Return the arena root of an input that dies here and that the kernel may overwrite, or None."""
        for place in overwritable(instruction, number):
            base = self.layouts[instruction.inputs[place]].base
            allocation = self.place[base][0]
            # A shard's own memory and shared memory are different arenas.
            if self.sharding is not None and (number in self.own) != (base in self.own):
                continue
            # Another shard may still read the input in this phase: the shards do not run in step with one another.
            if self.sharding is not None and number not in self.own and self.sharding.sharded[index]:
                continue
            if (
                ranges.owner.get(allocation) == base
                and self.last_use[base] == index
                and self._may_overwrite(instruction, number, base)
            ):
                return allocation
        return None

    def _buffer(self, number: int) -> Buffer:
        layout: Layout = self.layouts[number]
        allocation, offset = self.place[layout.base]
        state = None if self.sharding is None else self.sharding.state(number)
        split = None if state == PARTIAL else state
        return Buffer(
            allocation, offset + layout.offset, self.listing.specs[number], layout.strides, split, layout.base
        )
