"""From a listing to a plan: who owns memory, who may overwrite whom, where everything lies."""

from __future__ import annotations

from collections.abc import Mapping

from engine.graph.simplify import Instruction, Listing, simplify
from engine.infer import broadcast, broadcast_bool, same, same_bool, same_number
from engine.plan.layout import Layout, contiguous_strides, layouts, nbytes
from engine.plan.memory import Arena
from engine.plan.plan import Buffer, Plan, Root, Step
from engine.registry import lookup
from engine.value import Value

ELEMENTWISE = (broadcast, broadcast_bool, same, same_bool, same_number)
END = 2**62


def make_plan(
    inputs: Mapping[str, Value], state: Mapping[str, Value], outputs: Mapping[str, Value], updates: Mapping[str, Value]
) -> Plan:
    """Plan the computation of `outputs` and of the new values `updates` of some of the `state`.

    Args:
        inputs: leaves that are fed before each run.
        state: leaves that keep their memory from run to run.
        outputs: values to be read after a run.
        updates: by name of a state, the value it has after a run.
    """
    return _Planner(simplify(inputs, state, outputs, updates)).plan()


def overwrites(instruction: Instruction) -> bool:
    """Tell whether the kernel may write its output over an input of the same shape and dtype."""
    return instruction.op.takes_out and instruction.op.infer in ELEMENTWISE


class _Planner:
    """Works on bases: values that own memory. Every other value is a window on one."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self._copy_outputs_of_states()
        self._copy_leaf_updates()
        self.layouts, self.free = layouts(listing)
        self.made_at = {n: i for i, ins in enumerate(listing.instructions) if i not in self.free for n in ins.outputs}
        self.last_use = self._last_uses()
        self.roots: list[Root] = []
        self.place: dict[int, tuple[int, int]] = {}  # base -> (root, byte offset)
        self.fixed: set[int] = set()  # roots that no other value may be written over
        self.copies: list[tuple[int, int]] = []

    def plan(self) -> Plan:
        listing = self.listing
        for kind, leaves in (("input", listing.inputs), ("state", listing.state)):
            for name, number in leaves.items():
                self._own_root(number, kind, name)
        for number in listing.constants:
            self._own_root(number, "constant", f"%{number}")
        self._place_updates()
        self._place_packs()
        arena_bytes, inplace = self._place_rest()
        used = {n for ins in listing.instructions for n in (*ins.inputs, *ins.outputs)}
        used.update(listing.inputs.values(), listing.state.values(), listing.outputs.values(), listing.updates.values())
        return Plan(
            steps=tuple(
                Step(ins.op, ins.inputs, ins.outputs, ins.attrs, index in inplace)
                for index, ins in enumerate(listing.instructions)
                if index not in self.free
            ),
            buffers={number: self._buffer(number) for number in sorted(used)},
            roots=tuple(self.roots),
            constants={n: array for n, array in listing.constants.items() if n in used},
            inputs=listing.inputs,
            state=listing.state,
            outputs=listing.outputs,
            copies=tuple(self.copies),
            arena_bytes=arena_bytes,
        )

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

    def _last_uses(self) -> dict[int, int]:
        """Return, for each base, the index of the last instruction that touches it or a window on it."""
        last: dict[int, int] = {}
        for index, instruction in enumerate(self.listing.instructions):
            for number in (*instruction.inputs, *instruction.outputs):
                last[self.layouts[number].base] = index
        for number in self.listing.outputs.values():
            last[self.layouts[number].base] = END
        return last

    def _own_root(self, number: int, kind: str, name: str) -> None:
        self.roots.append(Root(kind, name, nbytes(self.listing.specs[number])))  # type: ignore[arg-type]
        self.place[number] = (len(self.roots) - 1, 0)
        self.fixed.add(len(self.roots) - 1)

    def _whole(self, number: int) -> bool:
        """Tell whether a value covers the whole of its base in order."""
        layout, spec = self.layouts[number], self.listing.specs[number]
        return (
            layout.offset == 0
            and layout.strides == contiguous_strides(spec)
            and nbytes(spec) == nbytes(self.listing.specs[layout.base])
        )

    def _place_updates(self) -> None:
        """Let new values of states be written straight over the old ones where nobody reads the old ones later."""
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
        if self.listing.instructions[made].op.name == "pack":
            return False  # the gaps of a pack are zero from the start, those of a state need not be
        last = self.last_use.get(state, -1)
        if last != made:
            return last < made
        instruction = self.listing.instructions[made]
        readers = [n for n in instruction.inputs if self.layouts[n].base == state]
        return overwrites(instruction) and all(self._lies_like(n, instruction.outputs[0]) for n in readers)

    def _lies_like(self, number: int, other: int) -> bool:
        """Tell whether two values have the same spec, and the first covers its base in order."""
        return self._whole(number) and self.listing.specs[number] == self.listing.specs[other]

    def _place_packs(self) -> None:
        """Let what is packed into a vector be computed in its place there, so that packing copies nothing."""
        for index, instruction in enumerate(self.listing.instructions):
            if instruction.op.name != "pack" or index in self.free:
                continue
            vector = instruction.outputs[0]
            if vector not in self.place:
                self._own_root(vector, "pinned", f"%{vector}")
            root = self.place[vector][0]
            if self.roots[root].kind != "pinned":
                continue
            itemsize = self.listing.specs[vector].dtype.itemsize
            for number, offset in zip(instruction.inputs, instruction.attrs["offsets"], strict=True):
                base = self.layouts[number].base
                if base in self.made_at and base not in self.place and self._whole(number):
                    self.place[base] = (root, offset * itemsize)

    def _place_rest(self) -> tuple[int, set[int]]:
        """Give every remaining base a range of the arena, in order, over a dying input where the kernel allows."""
        arena = Arena()
        inplace: set[int] = set()
        owners: dict[int, int] = {}  # arena root -> the base that lives there now
        dying: dict[int, list[int]] = {}
        for index, instruction in enumerate(self.listing.instructions):
            if index not in self.free:
                for number in instruction.outputs:
                    if number in self.place:
                        if self._over_input(instruction, number):
                            inplace.add(index)
                        continue
                    root = self._reusable(index, instruction, number, owners)
                    if root is None:
                        size = nbytes(self.listing.specs[number])
                        self.roots.append(Root("arena", f"%{number}", size, arena.allocate(size)))
                        root = len(self.roots) - 1
                    else:
                        inplace.add(index)
                    self.place[number] = (root, 0)
                    owners[root] = number
                    dying.setdefault(self.last_use[number], []).append(number)
            for number in dying.pop(index, ()):
                root = self.place[number][0]
                if owners[root] == number:
                    arena.release(self.roots[root].offset, self.roots[root].nbytes)
                    del owners[root]
        return arena.size, inplace

    def _over_input(self, instruction: Instruction, number: int) -> bool:
        return any(self.place.get(self.layouts[n].base) == self.place[number] for n in instruction.inputs)

    def _reusable(self, index: int, instruction: Instruction, number: int, owners: dict[int, int]) -> int | None:
        """Return the arena root of an input that dies here and that the kernel may overwrite, or None."""
        if not overwrites(instruction):
            return None
        for operand in instruction.inputs:
            base = self.layouts[operand].base
            root = self.place[base][0]
            if (
                owners.get(root) == base
                and self.last_use[base] == index
                and self._lies_like(operand, number)
                and all(self._lies_like(n, number) for n in instruction.inputs if self.layouts[n].base == base)
            ):
                return root
        return None

    def _buffer(self, number: int) -> Buffer:
        layout: Layout = self.layouts[number]
        root, offset = self.place[layout.base]
        return Buffer(root, offset + layout.offset, self.listing.specs[number], layout.strides)
