"""The arena: ranges of one block of memory, given out for the time between first and last use."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping

from engine.execution.plan.fusion import FusedGroups
from engine.execution.plan.plan import Allocation, Kind

ALIGNMENT = 64


class Arena:
    """Best-fit allocation with immediate reuse; the result is a set of offsets, no memory is touched here.

    Free ranges are kept in two orders, so that a search takes the logarithm of their number: a plan of thousands of
    nodes has thousands of them. No two touch each other.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.size = 0
        self._by_offset: list[tuple[int, int]] = []  # (offset, length)
        self._by_length: list[tuple[int, int]] = []  # (length, offset)

    def allocate(self, nbytes: int) -> int:
        """Return the offset of a free range of at least `nbytes`, growing the arena when none fits."""
        length = _rounded(nbytes)
        # Best fit: the shortest that is long enough, of equal ones the first.
        place = bisect_left(self._by_length, (length, 0))
        if place == len(self._by_length):
            return self._grow(length)
        extent, offset = self._by_length[place]
        self._remove(offset, extent)
        if extent > length:
            self._insert(offset + length, extent - length)
        return offset

    def release(self, offset: int, nbytes: int) -> None:
        """Give a range back, joining it with free neighbours."""
        start, end = offset, offset + _rounded(nbytes)
        place = bisect_left(self._by_offset, (offset, 0))
        before = self._by_offset[place - 1] if place else None
        after = self._by_offset[place] if place < len(self._by_offset) else None
        if before is not None and sum(before) == start:
            self._remove(*before)
            start = before[0]
        if after is not None and after[0] == end:
            self._remove(*after)
            end = sum(after)
        self._insert(start, end - start)

    def _grow(self, length: int) -> int:
        offset = self.size
        if self._by_offset and sum(self._by_offset[-1]) == self.size:  # extend the free range at the end
            offset, extent = self._by_offset[-1]
            self._remove(offset, extent)
        self.size = offset + length
        return offset

    def _insert(self, offset: int, length: int) -> None:
        insort(self._by_offset, (offset, length))
        insort(self._by_length, (length, offset))

    def _remove(self, offset: int, length: int) -> None:
        del self._by_offset[bisect_left(self._by_offset, (offset, length))]
        del self._by_length[bisect_left(self._by_length, (length, offset))]


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
