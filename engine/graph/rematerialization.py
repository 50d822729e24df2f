"""Rematerialization: activations that are recomputed, or stored in a half type, until the backward pass reads them.

What the backward pass reads of the forward pass goes through a `barrier` with the cotangent that needs it. The
barrier has two effects. Merging of equal operations cannot join the recomputed values with those of the forward pass,
which would keep them alive. And the planner cannot start the recomputation before that cotangent exists, so the memory
is needed only then.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import accumulate, pairwise
from typing import Annotated

from engine.core.attributes import Range
from engine.core.dtypes import FLOAT32, DType, is_float
from engine.core.errors import DocumentError, Finding
from engine.core.value import Node, Value
from engine.graph.simplify import Instruction, Listing
from engine.ops.elementwise.casting import barrier, cast

SMALL = 64
"""Activations this many times smaller than the largest are not compressed: statistics, for example, save little."""


class ActivationCompressor:
    """Stores float32 activations in a half type between forward and backward pass. Use it while tracing."""

    def __init__(self, nodes: Sequence[Node], dtype: DType) -> None:
        """Compress the outputs of `nodes`, the forward pass, to the half type `dtype`."""
        self._nodes = frozenset(nodes)
        self._dtype = dtype
        self._halves: dict[object, Value] = {}
        sizes = [node.output(index).size for node in nodes for index in range(len(node.outputs))]
        self._least = max(sizes, default=0) // SMALL

    def read(self, value: Value, cotangent: Value, uncompressed: Value) -> Value:
        """Return the decompressed `value`, available once `cotangent` is computed.

        Leaves, views of leaves, small values and values that are not float32 are not compressed: for these it returns
        `uncompressed`.
        """
        if value.dtype != FLOAT32 or value.data is not None:
            return uncompressed
        # Views are compressed at their base: several views of one activation share its half, and none is copied.
        views: list[Node] = []
        base = value
        while base.node is not None and base.node.op.view:
            views.append(base.node)
            base = base.node.inputs[0]
        if base.node not in self._nodes or base.dtype != FLOAT32 or base.size <= self._least:
            return uncompressed
        half = self._halves.get(base.key)
        if half is None:
            half = self._halves[base.key] = cast(base, dtype=self._dtype)
        for view in reversed(views):
            half = view.op(half, *view.inputs[1:], **view.attrs)
        return cast(barrier(half, cotangent), dtype=FLOAT32)


@dataclass
class _Recomputation:
    """One recomputed segment.

    Attributes:
        cotangent: what the recomputation waits for.
        read_saved: returns a value that the forward pass keeps, given the value and the cotangent.
        twins: by node of the forward pass, the recomputed node.
        values: by key in the forward pass, the value read in its place.
    """

    cotangent: Value
    read_saved: Callable[[Value, Value], Value]
    twins: dict[Node, Node] = field(default_factory=dict)
    values: dict[object, Value] = field(default_factory=dict)

    def value(self, value: Value) -> Value:
        """Return the value to read in place of one of the forward pass; constants are read as they are."""
        if value.data is not None:
            return value
        found = self.values.get(value.key)
        if found is None:
            found = self.values[value.key] = self.read_saved(value, self.cotangent)
        return found


class Rematerializer:
    """Selects what backward rules read: `saved_values` is for `pull_back`. Use it while tracing.

    The rule of a node in a segment reads its recomputed twin. Casts from a half type to float32 are repeated wherever a
    rule reads their result, so that only the half is kept. With `activations`, what remains of the forward pass is
    stored in that half type.
    """

    def __init__(
        self, nodes: Sequence[Node], segment_of: Callable[[Node], int | None], activations: DType | None = None
    ) -> None:
        """Take the forward pass.

        Args:
            nodes: its nodes, in order.
            segment_of: returns the segment of a node, None for a node whose values are kept.
            activations: the half type in which activations are stored; None keeps them as they are.
        """
        self._compressor = None if activations is None else ActivationCompressor(nodes, activations)
        self._segments = {node: segment for node in nodes if (segment := segment_of(node)) is not None}
        self._recomputed: dict[int, _Recomputation] = {}
        self._members: dict[int, list[Node]] = {}
        for node, segment in self._segments.items():
            self._members.setdefault(segment, []).append(node)
        # Values that cross the border of a segment are the only ones kept of it.
        self._kept = {
            value.key
            for node in nodes
            for value in node.inputs
            if value.node is not None and self._segments.get(value.node) != self._segments.get(node)
        }

    def saved_values(self, node: Node, cotangent: Value) -> tuple[Sequence[Value], Sequence[Value]]:
        """Return the inputs and outputs that the rule of `node` reads, given the first of its cotangents."""
        outputs: Sequence[Value] = [node.output(index) for index in range(len(node.outputs))]
        inputs: Sequence[Value] = node.inputs
        segment = self._segments.get(node)
        if segment is not None:
            if segment not in self._recomputed:
                self._recomputed[segment] = self._recompute(segment, cotangent)
            run = self._recomputed[segment]
            inputs, outputs = run.twins[node].inputs, [run.value(output) for output in outputs]
        if self._compressor is not None:
            inputs, outputs = (
                [self._compressor.read(value, cotangent, value) for value in values] for values in (inputs, outputs)
            )
        return [_repeat_widening(value, cotangent) for value in inputs], outputs

    def _read_saved(self, value: Value, cotangent: Value) -> Value:
        """Return a kept value of the forward pass for a recomputation to read."""
        held = barrier(value, cotangent)
        return held if self._compressor is None else self._compressor.read(value, cotangent, held)

    def _recompute(self, segment: int, cotangent: Value) -> _Recomputation:
        """Apply the nodes of a segment again, with the same attributes and random keys.

        Kept values are not recomputed. A whole segment is traced even if rules read little of it: values that nothing
        reads are dropped when the plan is made.
        """
        run = _Recomputation(cotangent, self._read_saved)
        for node in self._members[segment]:
            inputs = tuple(run.value(value) for value in node.inputs)
            twin = Node(node.op, inputs, node.attrs, node.outputs, None, node.needs_grad)
            run.twins[node] = twin
            for index in range(len(node.outputs)):
                if (node, index) not in self._kept:
                    run.values[(node, index)] = twin.output(index)
        return run


def _repeat_widening(value: Value, cotangent: Value) -> Value:
    """Return the result of a cast from a half type to float32, cast once more behind a barrier; others as they are."""
    node = value.node
    if node is None or not node.op.algebra.conversion or value.dtype != FLOAT32:
        return value
    (half,) = node.inputs
    if not is_float(half.dtype) or half.dtype.itemsize != 2:
        return value
    return cast(barrier(half, cotangent), dtype=FLOAT32)


LEEWAY = 0.25
"""Maximum distance of a cut from the place of equal pieces, as a fraction of a piece."""


@dataclass(frozen=True, kw_only=True)
class RematOptions:
    """Gradient checkpointing (Chen et al. 2016): memory for activations is saved, for about a third more time.

    Only values that cross the border of a segment are kept for the backward pass; what is inside is computed again
    just before it is needed there. Gradients are the same to the bit.

    Attributes:
        segments: number of consecutive pieces, with about equal bytes of activations; the last piece
            is not computed again, because its backward pass follows at once.
        match: patterns of node names, * for anything and ? for one character: the nodes of each are one segment.
    """

    segments: Annotated[int | None, Range(2, 10_000)] = None
    match: tuple[str, ...] = ()

    def faults(self) -> list[tuple[str, str]]:
        """Find options that exclude each other."""
        return (
            [("", "give exactly one of 'segments' and 'match'")] if (self.segments is None) != bool(self.match) else []
        )

    def cut(self, names: Sequence[str], nodes: Sequence[Node], starts: Sequence[int]) -> RematSegments:
        """Assign the nodes of a definition to segments.

        Args:
            names: what the nodes of the definition are called.
            nodes: the applications of primitive ops that they were traced into, in order.
            starts: for each name a number below those of its applications, and a last one above all.

        Raises:
            DocumentError: a pattern that no name fits, or more pieces than nodes; pointers begin at these options.
        """
        chosen = self._match_names(names) if self.match else self._divide(names, nodes, starts)
        return RematSegments(tuple(starts), tuple(chosen))

    def _match_names(self, names: Sequence[str]) -> list[int | None]:
        idle = [place for place, p in enumerate(self.match) if not any(fnmatchcase(name, p) for name in names)]
        if idle:
            raise DocumentError(
                [
                    Finding(f"/match/{k}", "unknown_name", f"no node of the graph fits {self.match[k][:64]!r}")
                    for k in idle
                ]
            )
        return [next((k for k, p in enumerate(self.match) if fnmatchcase(name, p)), None) for name in names]

    def _divide(self, names: Sequence[str], nodes: Sequence[Node], starts: Sequence[int]) -> list[int | None]:
        count = self.segments or 1
        if count > len(names):
            detail = f"the graph has {len(names)} nodes, which cannot be cut into {count} pieces"
            raise DocumentError([Finding("/segments", "out_of_range", detail)])
        cuts = _choose_cuts(*_count_bytes(nodes, starts), count)
        chosen: list[int | None] = [bisect_right(cuts, place) for place in range(len(names))]
        return [None if segment == len(cuts) else segment for segment in chosen]


@dataclass(frozen=True, slots=True)
class RematSegments:
    """Assignment of the nodes of a trace to segments.

    Attributes:
        starts: numbers at which the nodes of a definition begin in the trace, and where the last one ends.
        chosen: the segment of each node of the definition; None for those that are in none.
    """

    starts: tuple[int, ...]
    chosen: tuple[int | None, ...]

    def of(self, node: Node) -> int | None:
        """Return the segment of a node of the trace."""
        place = bisect_right(self.starts, node.seq) - 1
        return self.chosen[place] if 0 <= place < len(self.chosen) else None


def _count_bytes(nodes: Sequence[Node], starts: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the bytes that each node of a definition makes, and those that are made before it and read from it on."""
    made, crossing = [0] * (len(starts) - 1), [0] * len(starts)
    bases: dict[object, object] = {}
    owners: dict[object, tuple[int, int]] = {}
    last: dict[object, int] = {}
    for node in nodes:
        place = bisect_right(starts, node.seq) - 1
        if not 0 <= place < len(made):
            continue  # parameters cut out of one vector, before the graph begins
        for value in node.inputs:
            last[bases.get(value.key, value.key)] = place
        for index in range(len(node.outputs)):
            value = node.output(index)
            if node.op.view:
                bases[value.key] = bases.get(node.inputs[0].key, node.inputs[0].key)
            else:
                owners[value.key] = place, value.nbytes
                made[place] += value.nbytes
    for key, (place, nbytes) in owners.items():
        if last.get(key, place) > place:
            crossing[place + 1] += nbytes
            crossing[last[key] + 1] -= nbytes
    return made, list(accumulate(crossing))


def _choose_cuts(made: Sequence[int], crossing: Sequence[int], count: int) -> list[int]:
    """Return the places at which to cut: near equal bytes on both sides, where the fewest bytes cross."""
    before = [0, *accumulate(made)]
    piece = before[-1] / count
    cuts = [0]
    for number in range(1, count):
        ideal, room = number * piece, LEEWAY * piece
        places = range(cuts[-1] + 1, len(made) - (count - 1 - number))
        near = [place for place in places if abs(before[place] - ideal) <= room]
        distances = {place: abs(before[place] - ideal) for place in near or places}
        cuts.append(min(distances, key=lambda place: (crossing[place] if near else 0, distances[place])))
    assert all(low < high for low, high in pairwise(cuts))
    return cuts[1:]


def schedule_casts(listing: Listing) -> Listing:
    """Move casts from float32 to a smaller type, read only through barriers, behind the last read of their operand.

    The trace has them where the backward pass first reads them. There the float32 value would have to live through the
    whole forward pass, and compression would save nothing. The order of all other instructions stays.
    """
    instructions = listing.instructions
    readers = _readers(listing)
    moving: dict[int, list[Instruction]] = {}
    moved: set[int] = set()
    latest: dict[int, int] = {}
    bases: dict[int, int] = {}
    for index, instruction in enumerate(instructions):
        if instruction.op.algebra.conversion and _feeds_only_barriers(listing, instruction, readers):
            after = latest.get(bases.get(instruction.inputs[0], instruction.inputs[0]), -1)
            moving.setdefault(after, []).append(instruction)
            moved.add(index)
            continue
        if instruction.op.view:
            bases[instruction.outputs[0]] = bases.get(instruction.inputs[0], instruction.inputs[0])
        for number in (*instruction.inputs, *instruction.outputs):
            latest[bases.get(number, number)] = index
    if moved:
        listing.instructions = [
            placed
            for index, instruction in enumerate(instructions)
            for placed in (*(() if index in moved else (instruction,)), *moving.get(index, ()))
        ]
    return listing


def _readers(listing: Listing) -> dict[int, list[Instruction]]:
    readers: dict[int, list[Instruction]] = {}
    for instruction in listing.instructions:
        for number in instruction.inputs:
            readers.setdefault(number, []).append(instruction)
    return readers


def _feeds_only_barriers(listing: Listing, instruction: Instruction, readers: dict[int, list[Instruction]]) -> bool:
    """Return whether a narrowing cast is read by barriers only, directly or through views."""
    source, made = listing.specs[instruction.inputs[0]], listing.specs[instruction.outputs[0]]
    if source.dtype != FLOAT32 or made.dtype.itemsize >= source.dtype.itemsize:
        return False
    pending = [instruction.outputs[0]]
    while pending:
        for reader in readers.get(pending.pop(), ()):
            if reader.op.algebra.barrier:
                continue
            if not reader.op.view:
                return False
            pending.append(reader.outputs[0])
    return True
