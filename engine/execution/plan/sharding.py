"""Sharding: a batch is cut into equal shards, whose forward and backward passes run in parallel.

A value of a program is whole, the same for all shards; split, so that each shard has its part along one axis; or
partial, so that each shard has a summand. The sharding rule of an op says what its outputs are. An op without a rule,
or whose rule does not apply to the way its inputs are split, runs on whole values, after all shards have computed
theirs. An op that needs the whole of a partial value gets their sum: a step of its own, `ALL_REDUCE`, adds the summands
in the order of the shards.

Steps are in phases, and shards wait for one another between two phases. The cut is part of the plan, so the numbers do
not depend on how many threads run it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.core.registry import Op
from engine.core.sharding_rules import PARTIAL, WHOLE, Case, Cut, State, cut, part_attrs, rules_of
from engine.core.value import Shape, Spec
from engine.graph.origin import Origin
from engine.graph.rounding import rounded_packs
from engine.graph.simplify import Instruction, Listing

SPLIT_SUM_ELEMENTS = 4096
"""From this many elements on, the sum of a partial value is split among shards; a smaller one is not."""


def all_reduce(*parts: Any) -> Any:
    """Sum the summands of all shards, in the order of the shards."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


ALL_REDUCE: Op[Any] = Op(all_reduce, shape_rule=None)
"""The step that sums a partial value over the shards. Plans have it; graphs do not, so it is not in the op table."""


LARGEST_SHARE = 0.25
"""The largest ratio of summands to what shards read of the batch, or write if that is more."""
MANY_SUMMANDS, LARGEST_SHARE_OF_MANY = 2**20, 0.1
"""From how many on summands of a shard are in no near cache when they are added up, and their largest ratio."""
LARGEST_SHARE_OF_IMAGES = 4.0
"""The largest ratio where most operations are on images, of which each summand takes many."""

WORTHWHILE, NUMBER = 1e6, 3
"""The fewest operations of a step that is cut into two shards, and as how many each number read or written counts.

Steps of fewer are done before another thread takes part.
"""
MORE_SHARDS = ((8e9, 4), (64e9, 8))
"""From how many operations, and numbers read and written, on a step is cut into how many shards.

More than are needed for the threads of a small machine make smaller products and more summands.
"""


BOUND_BY_ARITHMETIC, PRODUCTS = 4, 2e7
"""From how many operations for each number read or written an instruction is one of products, and from how many of all
of these on a batch that cannot be cut is worth cutting them by columns: threads wait for one another more often.
"""
BOUND_BY_MEMORY = 2.5
"""Up to how many operations for each number read or written steps take as long as memory does."""
NEAR_BYTES, NEAR_ROWS = 2**19, 32
"""A shard's part of an input that stays in a second-level cache for the backward pass, and the fewest rows of it."""


def worthwhile_shards(listing: Listing, rows: Collection[str]) -> int:
    """Return into how many shards the work of a listing is worth being cut along the first axis of the inputs `rows`.

    Where memory bounds the steps, what a shard reads is to be in a cache still when the backward pass reads it again.
    """
    costs = [_cost(listing, instruction) for instruction in listing.instructions]
    flops, moved = (sum(each) for each in zip(*costs, strict=True)) if costs else (0, 0)
    if flops + NUMBER * moved < WORTHWHILE:
        return 1
    count = max((count for least, count in MORE_SHARDS if flops + moved >= least), default=2)
    return max(count, _near_shards(listing, rows)) if flops <= BOUND_BY_MEMORY * moved else count


def worth_columns(listing: Listing) -> bool:
    """Tell whether a batch that is not cut into shards has products to cut by the columns of their results."""
    products = total = 0
    for instruction in listing.instructions:
        flops, moved = _cost(listing, instruction)
        total += flops + NUMBER * moved
        products += flops if flops >= BOUND_BY_ARITHMETIC * moved else 0
    return products >= max(PRODUCTS, total / 2)


def _cost(listing: Listing, instruction: Instruction) -> tuple[int, int]:
    """Return the operations of an instruction, and the numbers that it reads and writes; both 0 for views."""
    if instruction.op.view:
        return 0, 0
    read, made = ([listing.specs[n].shape for n in ns] for ns in (instruction.inputs, instruction.outputs))
    flops: int = instruction.op.count_flops(instruction.attrs, read, made)
    return flops, sum(math.prod(shape) for shape in (*read, *made))


def _near_shards(listing: Listing, rows: Collection[str]) -> int:
    """Return into how many shards a batch is cut so that their parts stay in a cache; 1 if it is too large for that."""
    specs = [listing.specs[listing.inputs[name]] for name in rows]
    nbytes = max((math.prod(spec.shape) * spec.dtype.itemsize for spec in specs), default=0)
    extent = max((spec.shape[0] for spec in specs if spec.shape), default=1)
    count = 1 << max(-(-nbytes // NEAR_BYTES) - 1, 0).bit_length()
    return count if count <= min(extent // NEAR_ROWS, MORE_SHARDS[-1][1]) else 1


@dataclass
class Sharding:
    """How a listing is cut.

    Attributes:
        count: shards.
        states: of each value that is not whole, the axis it is split along, or PARTIAL.
        sharded: for each instruction, whether the shards run it, each on its part.
        windows: for each instruction that they run, the axis along which each reads its part of an input, or None.
        levels: for each instruction its phase; even ones are run by the shards, odd ones by one of them.
        free: places of the instructions that are no steps.
        spread: values of which each shard computes a part although they do not depend on the batch, or are its sums.
    """

    count: int
    states: dict[int, State] = field(default_factory=dict)
    spread: set[int] = field(default_factory=set)
    sharded: list[bool] = field(default_factory=list)
    windows: list[tuple[State, ...]] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)
    free: set[int] = field(default_factory=set)

    def state(self, number: int) -> State:
        """Return the axis a value is split along, PARTIAL, or None."""
        return self.states.get(number)

    def part(self, spec: Spec, axis: State) -> Spec:
        """Return the spec of a shard's part."""
        if axis is None or axis == PARTIAL:
            return spec
        shape = list(spec.shape)
        shape[axis] //= self.count
        return Spec(tuple(shape), spec.dtype)


def shard(listing: Listing, free: Collection[int], rows: Collection[str], count: int) -> Sharding:
    """Cut a listing along the first axis of the inputs `rows`; its instructions are put in order of their phases.

    Where summands of all the shards would be much of the batch or of what a step writes, as with wide layers and few
    rows, the batch is left whole, and products are cut by the columns of their results.

    Args:
        listing: what is cut; it is changed.
        free: places of the instructions that are no steps, views of other values.
        rows: names of inputs whose first axis is the batch.
        count: shards.
    """
    trial = listing.copy()
    cutter = _Cutter(trial, count, by_columns=not rows)
    for name in rows:
        number = listing.inputs[name]
        if cutter.divides(listing.specs[number].shape, 0):
            cutter.sharding.states[number] = 0
    sharding = cutter.cut(free)
    # Summing costs a pass over the summands of every shard, in one phase more; by columns there is nothing to sum.
    work = max(_batch(trial, sharding), _written(trial, sharding))
    summands = _summands(trial, sharding)
    share = LARGEST_SHARE if summands < MANY_SUMMANDS else LARGEST_SHARE_OF_MANY
    if summands > share * work and (summands > LARGEST_SHARE_OF_IMAGES * work or not _is_of_images(listing)):
        trial = listing.copy()
        sharding = _Cutter(trial, count, by_columns=True).cut(free)
    listing.take(trial)
    return sharding


def _is_of_images(listing: Listing) -> bool:
    """Return whether most operations are on images."""
    total = images = 0
    for instruction in listing.instructions:
        flops, _ = _cost(listing, instruction)
        rules = rules_of(instruction.op)
        total += flops
        images += flops if rules is not None and rules.of_images else 0
    return images > total / 2


def _batch(listing: Listing, sharding: Sharding) -> int:
    """Return the elements of the inputs of which each shard has its part."""
    numbers = [number for number in listing.inputs.values() if sharding.state(number) is not None]
    return sum(math.prod(listing.specs[number].shape) for number in numbers)


def _summands(listing: Listing, sharding: Sharding) -> int:
    """Return the elements of which each shard has a summand."""
    return _elements(listing, sharding, lambda state: state == PARTIAL)


def _written(listing: Listing, sharding: Sharding) -> int:
    """Return the elements that depend on the batch of which each shard has its part; those of casts do not count."""
    return _elements(listing, sharding, lambda state: state is not None and state != PARTIAL)


def _elements(listing: Listing, sharding: Sharding, wanted: Callable[[State], bool]) -> int:
    return sum(
        math.prod(listing.specs[number].shape)
        for place, instruction in enumerate(listing.instructions)
        if place not in sharding.free and not _is_moved(instruction)
        for number in instruction.outputs
        if wanted(sharding.state(number)) and number not in sharding.spread
    )


def _is_moved(instruction: Instruction) -> bool:
    """Return whether an instruction computes nothing but copies, sums of shards and conversions."""
    algebra, memory = instruction.op.algebra, instruction.op.memory
    return bool(memory.packs) or algebra.conversion or instruction.op is ALL_REDUCE


def _takes_summands(instruction: Instruction, free: bool, states: Sequence[State]) -> bool:
    """Return whether summands may go in as they are, and summands come out."""
    if instruction.op.memory.packs:
        return all(state in (None, PARTIAL) for state in states)
    return free or (instruction.op.algebra.additive and all(state == PARTIAL for state in states))


class _Cutter:
    def __init__(self, listing: Listing, count: int, *, by_columns: bool = False) -> None:
        self.listing = listing
        self.by_columns = by_columns
        self.sharding = Sharding(count)
        self.made: list[Instruction] = []
        self.origins: dict[int, Origin] = {}
        self.level_of: dict[int, tuple[int, bool]] = {}  # number -> phase it is made in, and whether by the shards
        self.sums: dict[int, int] = {}  # partial number -> its sum
        self.free: set[int] = set()

    def cut(self, free: Collection[int]) -> Sharding:
        listing, sharding = self.listing, self.sharding
        for place, instruction in enumerate(listing.instructions):
            self._add(instruction, free=place in free)
        for names in (listing.outputs, listing.updates):
            for name, number in names.items():
                names[name] = self._summed(number)
        # The sort is stable, so that within a phase every instruction stays behind those that it reads from.
        order = sorted(range(len(self.made)), key=lambda place: sharding.levels[place])
        listing.instructions = [self.made[place] for place in order]
        sharding.sharded = [sharding.sharded[place] for place in order]
        sharding.windows = [sharding.windows[place] for place in order]
        sharding.levels = [sharding.levels[place] for place in order]
        sharding.free = {place for place, old in enumerate(order) if old in self.free}
        return sharding

    def divides(self, shape: Shape, axis: int) -> bool:
        return axis < len(shape) and shape[axis] > 0 and shape[axis] % self.sharding.count == 0

    def state(self, number: int) -> State:
        return self.sharding.states.get(number)

    def _add(self, instruction: Instruction, *, free: bool) -> None:
        if not _takes_summands(instruction, free, [self.state(n) for n in instruction.inputs]):
            instruction = self._on_sums(instruction)
        found = self._outcome(instruction)
        sharded = found is not None
        if found is None:
            instruction = self._on_sums(instruction)
            found = Cut((None,) * len(instruction.inputs), (None,) * len(instruction.outputs))
        if free:
            self._append_free(instruction, found, sharded=sharded)
        else:
            self._append(instruction, found, sharded=sharded)

    def _on_sums(self, instruction: Instruction) -> Instruction:
        inputs = tuple([self._summed(n) for n in instruction.inputs])
        return instruction if inputs == instruction.inputs else replace(instruction, inputs=inputs)

    def _append_free(self, instruction: Instruction, found: Cut, *, sharded: bool) -> None:
        """Add an instruction that runs nothing: any phase after that of its input will do."""
        (number,) = instruction.inputs[:1]
        made, by_shards = self.level_of.get(number, (-1, False))
        if not sharded and by_shards:
            made, by_shards = made | 1, False  # the whole of what the shards make
        for output, state in zip(instruction.outputs, found.states, strict=True):
            if state is not None:
                self.sharding.states[output] = state
            if number in self.sharding.spread:
                self.sharding.spread.add(output)
            if made >= 0:
                self.level_of[output] = (made, by_shards)
        self.free.add(len(self.made))
        self._keep(instruction, found, max(made, 0), sharded=sharded)

    def _append(self, instruction: Instruction, found: Cut, *, sharded: bool) -> None:
        spread = self.sharding.spread
        shared = instruction.op is ALL_REDUCE or all(self.state(n) is None or n in spread for n in instruction.inputs)
        for number, state in zip(instruction.outputs, found.states, strict=True):
            if state is not None:
                self.sharding.states[number] = state
                if shared:
                    spread.add(number)
        # Phases alternate: even ones are run by all shards, odd ones by one thread. A step may stand in the phase of an
        # input that the same thread has computed. One that reads what other shards compute has to wait for the next.
        level = 0 if sharded else 1
        for number, window in zip(instruction.inputs, found.windows, strict=True):
            made, by_shards = self.level_of.get(number, (-1, sharded))
            crosses = by_shards != sharded or window != self.state(number)
            level = max(level, made + crosses)
        if instruction.op is ALL_REDUCE:  # it reads the summands of all shards, so that even a shard's own must wait
            level = max(level, self.level_of[instruction.inputs[0]][0] + 1)
        level += (level % 2 == 0) != sharded  # to the next phase of its kind
        self._keep(instruction, found, level, sharded=sharded)
        self.level_of.update(dict.fromkeys(instruction.outputs, (level, sharded)))

    def _keep(self, instruction: Instruction, found: Cut, level: int, *, sharded: bool) -> None:
        self.made.append(instruction)
        self.sharding.sharded.append(sharded)
        self.sharding.windows.append(found.windows)
        self.sharding.levels.append(level)
        self.origins.update(dict.fromkeys(instruction.outputs, instruction.origin))

    def _summed(self, number: int) -> int:
        """Return a number for the sum of a value if it is partial."""
        if self.state(number) != PARTIAL:
            return number
        if number not in self.sums:
            spec = self.listing.specs[number]
            self.sums[number] = self.listing.new(spec)
            line = 64 // spec.dtype.itemsize  # a part begins at a cache line
            elements = math.prod(spec.shape)
            apart = elements >= SPLIT_SUM_ELEMENTS and self.divides(spec.shape, 0)
            apart = apart and elements % (line * self.sharding.count) == 0
            join = Instruction(ALL_REDUCE, (number,), (self.sums[number],), {}, self.origins[number])
            axis = (0 if apart else None,)
            self._append(join, Cut(axis, axis), sharded=apart)
        return self.sums[number]

    def _outcome(self, instruction: Instruction) -> Cut | None:
        """Return what the shards do in an instruction, None where they can do nothing without one another."""
        specs = self.listing.specs
        states = tuple(self.state(n) for n in instruction.inputs)
        made = [specs[n].shape for n in instruction.outputs]
        # Only additive ops get here with summands (see `_takes_summands`): each shard applies them to its own.
        if states and all(state == PARTIAL for state in states) and not instruction.op.memory.packs:
            return Cut(states, (PARTIAL,) * len(made))
        shapes = [specs[n].shape for n in instruction.inputs]
        case = Case(instruction.op, instruction.attrs, shapes, states, made, self.by_columns)
        return self._along_batch(instruction, case) or cut(case, self.sharding.count)

    def _along_batch(self, instruction: Instruction, case: Case) -> Cut | None:
        """Return the cut along the batch, for which what is spread counts as whole, of an instruction that has both."""
        spread = [number in self.sharding.spread for number in instruction.inputs]
        states = [None if own else state for own, state in zip(spread, case.states, strict=True)]
        if not any(spread) or all(state is None for state in states):
            return None
        found = cut(replace(case, states=states), self.sharding.count)
        if found is None:
            return None
        windows = zip(found.windows, spread, strict=True)
        return Cut(tuple(WHOLE if window is None and own else window for window, own in windows), found.states)


def assign_shard_buffers(listing: Listing, sharding: Sharding) -> set[int]:
    """Let values that only shards work on, each on its part, be of the size of a part; return their numbers.

    Others that are split have one place, of which each shard reads its part.
    """
    free = sharding.free
    base: dict[int, int] = {}
    for place in sorted(free):
        instruction = listing.instructions[place]
        base[instruction.outputs[0]] = base.get(instruction.inputs[0], instruction.inputs[0])
    shared = _shared(listing, free, sharding, base)
    own = {
        number
        for number, state in sharding.states.items()
        if state != PARTIAL and base.get(number, number) not in shared
    }
    full = list(listing.specs)
    for number in own:
        listing.specs[number] = sharding.part(full[number], sharding.state(number))
    for place, instruction in enumerate(listing.instructions):
        if not sharding.sharded[place]:
            continue
        number = instruction.outputs[0]
        if place in free and number not in own:
            continue  # a view of the whole
        whole, part = full[number], sharding.part(full[number], sharding.state(number))
        attrs = part_attrs(instruction.attrs, whole.shape, part.shape)
        if attrs is not instruction.attrs:
            listing.instructions[place] = replace(instruction, attrs=attrs)
    return own


def _shared(listing: Listing, free: Collection[int], sharding: Sharding, base: dict[int, int]) -> set[int]:
    """Return the values of which some step reads more than one shard's part, by the owner of their memory."""

    def owner(number: int) -> int:
        return base.get(number, number)

    wanted = (listing.inputs, listing.state, listing.outputs, listing.updates)
    shared = {owner(number) for names in wanted for number in names.values()}
    shared.update(owner(number) for number in listing.constants)
    shared.update(number for number, vector in rounded_packs(listing).items() if sharding.state(vector) is None)
    for place, instruction in enumerate(listing.instructions):
        for number, window in zip(instruction.inputs, sharding.windows[place], strict=True):
            if not sharding.sharded[place] or window != sharding.state(number):
                shared.add(owner(number))
        if place in free and sharding.state(instruction.outputs[0]) is None:
            shared.add(owner(instruction.outputs[0]))
    return shared
