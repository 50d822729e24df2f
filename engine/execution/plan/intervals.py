"""A map from ranges of addresses to what is there."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Intervals(Generic[T]):
    """Ranges [start, stop) that do not overlap, in order, each with a content."""

    def __init__(self) -> None:
        """Start empty."""
        self._starts: list[int] = []
        self._items: list[tuple[int, int, T]] = []

    def overlapping(self, start: int, stop: int) -> Iterator[tuple[int, int, T]]:
        """Yield (start, stop, content) of every range that shares an address with [start, stop), in order."""
        place = self._first(start)
        while place < len(self._items) and self._items[place][0] < stop:
            yield self._items[place]
            place += 1

    def covers(self, start: int, stop: int) -> bool:
        """Return whether every address of [start, stop) is in a range."""
        reached = start
        for first, last, _ in self.overlapping(start, stop):
            if first > reached:
                return False
            reached = last
        return reached >= stop

    def write(self, start: int, stop: int, content: T) -> None:
        """Put a content at [start, stop); what was there before keeps the rest of its range."""
        place = self._first(start)
        stopped = place
        kept: list[tuple[int, int, T]] = [(start, stop, content)]
        while stopped < len(self._items) and self._items[stopped][0] < stop:
            first, last, old = self._items[stopped]
            if first < start:
                kept.insert(0, (first, start, old))
            if last > stop:
                kept.append((stop, last, old))
            stopped += 1
        self._items[place:stopped] = kept
        self._starts[place:stopped] = [first for first, _, _ in kept]

    def _first(self, start: int) -> int:
        """Return the place of the first range that ends behind `start`."""
        place = bisect_right(self._starts, start) - 1
        return place if place >= 0 and self._items[place][1] > start else place + 1
