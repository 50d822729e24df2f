"""Rematerialization segments: parts of a graph whose inner values are recomputed in the backward pass."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import accumulate, pairwise
from typing import Annotated

from engine.core.constraints import Range
from engine.core.errors import DocumentError, Finding
from engine.core.value import Node

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
