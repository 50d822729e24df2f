"""The arena: ranges of one block of memory, given out for the time between first and last use."""

from __future__ import annotations

from bisect import insort

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


def _rounded(nbytes: int) -> int:
    return max(-(-nbytes // ALIGNMENT) * ALIGNMENT, ALIGNMENT)
