"""Which values of a cut listing are a shard's own: the specs and attributes they have for a shard."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from engine.core.sharding_rules import PARTIAL, part_attrs
from engine.execution.plan.sharding import Sharding
from engine.graph.simplify import Listing


def give_parts(listing: Listing, sharding: Sharding) -> set[int]:
    """Let values that only shards work on, each on its part, be of the size of a part; return their numbers.

    Others that are split have one place, of which each shard sees its part.
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
        listing.instructions[place] = replace(instruction, attrs=attrs)
    return own


def _shared(listing: Listing, free: Collection[int], sharding: Sharding, base: dict[int, int]) -> set[int]:
    """Return the values of which somebody sees more than a shard's part, by what owns their memory."""

    def owner(number: int) -> int:
        return base.get(number, number)

    wanted = (listing.inputs, listing.state, listing.outputs, listing.updates)
    shared = {owner(number) for names in wanted for number in names.values()}
    shared.update(owner(number) for number in listing.constants)
    for place, instruction in enumerate(listing.instructions):
        for number, window in zip(instruction.inputs, sharding.windows[place], strict=True):
            if not sharding.sharded[place] or window != sharding.state(number):
                shared.add(owner(number))
        if place in free and sharding.state(instruction.outputs[0]) is None:
            shared.add(owner(instruction.outputs[0]))
    return shared
