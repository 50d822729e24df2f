"""The arena: ranges of one block of memory, given out for the time between first and last use."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping

from engine.execution.plan.fusion import FusedGroups
from engine.execution.plan.plan import Kind, Root

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
        if self._free and sum(self._free[-1]) == self.size:
            offset = self._free.pop()[0]
        self.size = offset + length
        return offset


class ArenaRanges:
    """The roots in the arenas, each given to one value after another.

    A range is released at the last use of its value; if that is in a fused group, at the end of the group, since the
    instructions behind it may run before the last use on the rows that follow. Within the group such a range is passed
    on only to a value that lies exactly over the old one, row by row.
    """

    def __init__(self, roots: list[Root], groups: FusedGroups) -> None:
        """Start empty; new roots are appended to `roots`."""
        self.owner: dict[int, int] = {}  # root -> the value that lives there now
        self._roots = roots
        self._groups = groups
        self._arenas: dict[Kind, Arena] = {"arena": Arena(), "shard": Arena()}
        self._last_use: dict[int, int] = {}  # root -> last use of the value there
        self._ending: dict[int, list[int]] = {}  # last use -> roots
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
        self._roots.append(Root(kind, name, nbytes, self._arenas[kind].allocate(nbytes)))
        return len(self._roots) - 1

    def occupy(self, root: int, number: int, last_use: int) -> None:
        """Give a root to a value until its last use."""
        self.owner[root] = number
        self._last_use[root] = last_use
        self._ending.setdefault(last_use, []).append(root)

    def finish(self, index: int) -> None:
        """Release what is not used after instruction `index`."""
        for root in dict.fromkeys(self._ending.pop(index, ())):
            if self._last_use[root] == index:  # else it was passed on
                self._vacate(index, root)
        if self._groups.end(index) == index:
            for root in (*self._held, *(root for roots in self._vacant.values() for root in roots)):
                self._arenas[self._roots[root].kind].release(self._roots[root].offset, self._roots[root].nbytes)
            self._held.clear()
            self._vacant.clear()

    def _vacate(self, index: int, root: int) -> None:
        aligned = self._groups.is_aligned(index, self.owner.pop(root))
        key = self._roots[root].kind, self._roots[root].nbytes
        (self._vacant.setdefault(key, []) if aligned else self._held).append(root)


def _rounded(nbytes: int) -> int:
    return max(-(-nbytes // ALIGNMENT) * ALIGNMENT, ALIGNMENT)
