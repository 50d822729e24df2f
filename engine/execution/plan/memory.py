"""The arena: ranges of one block of memory, given out for the time between first and last use."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping

from engine.execution.plan.fusion import FusedGroups
from engine.execution.plan.plan import Allocation, Kind

ALIGNMENT = 64


class Arena:
    """Best-fit allocation with immediate reuse; the result is a set of offsets, no memory is touched here."""

    def __init__(self) -> None:
        """Start empty."""
        self.size = 0
        self._free: list[tuple[int, int]] = []  # (offset, length), by offset

    def allocate(self, nbytes: int) -> int:
        """Return the offset of a free range of at least `nbytes`, growing the arena when none fits."""
        length = _rounded(nbytes)
        # Best fit
        best = min((block for block in self._free if block[1] >= length), key=lambda block: block[1], default=None)
        if best is None:
            return self._grow(length)
        self._free.remove(best)
        if best[1] > length:
            insort(self._free, (best[0] + length, best[1] - length))
        return best[0]

    def release(self, offset: int, nbytes: int) -> None:
        """Give a range back, joining it with free neighbours."""
        length = _rounded(nbytes)
        merged = []
        for start, extent in self._free:
            if start + extent == offset:
                offset, length = start, extent + length
            elif offset + length == start:
                length += extent
            else:
                merged.append((start, extent))
        insort(merged, (offset, length))
        self._free = merged

    def _grow(self, length: int) -> int:
        offset = self.size
        if self._free and sum(self._free[-1]) == self.size:  # extend the free range at the end
            offset = self._free.pop()[0]
        self.size = offset + length
        return offset


class ArenaRanges:
    """The allocations in the arenas, each given to one value after another.

    A range is released at the last use of its value; if that is in a fused group, at the end of the group, since the
    instructions behind it may run before the last use on the rows that follow. Within the group such a range is passed
    on only to a value that lies exactly over the old one, row by row.
    """

    def __init__(self, allocations: list[Allocation], groups: FusedGroups) -> None:
        """Start empty; new ones are appended to `allocations`."""
        self.owner: dict[int, int] = {}  # root -> the value that lives there now
        self._allocations = allocations
        self._groups = groups
        self._arenas: dict[Kind, Arena] = {"arena": Arena(), "shard": Arena()}
        self._last_use: dict[int, int] = {}  # root -> last use of the value there
        self._ending: dict[int, list[int]] = {}  # last use -> allocations
        # Roots of the present group whose values are no longer used: those that can be passed on, and the others.
        self._vacant: dict[tuple[Kind, int], list[int]] = {}
        self._held: list[int] = []

    @property
    def sizes(self) -> Mapping[Kind, int]:
        """The bytes of each arena."""
        return {kind: arena.size for kind, arena in self._arenas.items()}

    def take(self, kind: Kind, nbytes: int, name: str) -> int:
        """Return a root of `nbytes`."""
        vacant = self._vacant.get((kind, nbytes))
        if vacant:
            return vacant.pop()
        self._allocations.append(Allocation(kind, name, nbytes, self._arenas[kind].allocate(nbytes)))
        return len(self._allocations) - 1

    def occupy(self, allocation: int, number: int, last_use: int) -> None:
        """Give a root to a value until its last use."""
        self.owner[allocation] = number
        self._last_use[allocation] = last_use
        self._ending.setdefault(last_use, []).append(allocation)

    def finish(self, index: int) -> None:
        """Release what is not used after instruction `index`."""
        for allocation in dict.fromkeys(self._ending.pop(index, ())):
            if self._last_use[allocation] == index:  # else it was passed on
                self._vacate(index, allocation)
        if self._groups.end(index) == index:
            for allocation in (
                *self._held,
                *(allocation for allocations in self._vacant.values() for allocation in allocations),
            ):
                self._arenas[self._allocations[allocation].kind].release(
                    self._allocations[allocation].offset, self._allocations[allocation].nbytes
                )
            self._held.clear()
            self._vacant.clear()

    def _vacate(self, index: int, allocation: int) -> None:
        aligned = self._groups.is_aligned(index, self.owner.pop(allocation))
        key = self._allocations[allocation].kind, self._allocations[allocation].nbytes
        (self._vacant.setdefault(key, []) if aligned else self._held).append(allocation)


def _rounded(nbytes: int) -> int:
    return max(-(-nbytes // ALIGNMENT) * ALIGNMENT, ALIGNMENT)
