"""Extremes of long curves, cached by blocks of rows: rows never change."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

Scan = Callable[[str, int, int], Iterator[tuple[int, str]]]
"""Yields the rows of a fit after a number and up to another, each with its `seq`."""

BLOCK_ROWS = 50
"""Rows per block; a bucket of a downsampled curve consists of whole blocks."""
BLOCKS_MAX = 200_000
"""Maximum number of cached blocks, of all curves: about 300 bytes each."""


class Extremes(NamedTuple):
    """The `seq` of the lowest and of the highest row with their values, and of the first that is not finite."""

    lowest: tuple[float, int] | None = None
    highest: tuple[float, int] | None = None
    nonfinite: int | None = None

    def with_row(self, seq: int, value: float | None) -> "Extremes":
        """Return the extremes including the next row."""
        if value is None:
            return self if self.nonfinite is not None else self._replace(nonfinite=seq)
        entry = (value, seq)
        lowest = entry if self.lowest is None else min(self.lowest, entry)
        highest = entry if self.highest is None else max(self.highest, entry)
        return Extremes(lowest, highest, self.nonfinite)

    def with_block(self, other: "Extremes") -> "Extremes":
        """Return the extremes including the rows of the next block."""
        lows = [each for each in (self.lowest, other.lowest) if each is not None]
        highs = [each for each in (self.highest, other.highest) if each is not None]
        nonfinite = other.nonfinite if self.nonfinite is None else self.nonfinite
        return Extremes(min(lows, default=None), max(highs, default=None), nonfinite)

    def seqs(self) -> Iterator[int]:
        """Yield the rows to keep."""
        for entry in (self.lowest, self.highest):
            if entry is not None:
                yield entry[1]
        if self.nonfinite is not None:
            yield self.nonfinite


@dataclass(slots=True)
class _Curve:
    """The blocks of one value of a fit by split and number, up to row `upto`."""

    upto: int = 0
    blocks: dict[tuple[str, int], Extremes] = field(default_factory=dict)
    growing: threading.Lock = field(default_factory=threading.Lock)


class CurveExtremes:
    """The blocks of the curves that were requested last. Thread-safe."""

    def __init__(self, scan: Scan) -> None:
        self._scan = scan
        self._lock = threading.Lock()
        self._curves: OrderedDict[tuple[str, str], _Curve] = OrderedDict()

    def find(self, fit_id: str, key: str, split: str | None, last: int, buckets: int) -> set[int]:
        """Return the rows with the extremes of `key` among the first `last` rows.

        These are the lowest, the highest and the first non-finite row of each of about `buckets` buckets, and of each
        split, or of one.
        """
        curve = self._grown(fit_id, key, last)
        size = -(-last // (buckets * BLOCK_ROWS))
        found: dict[tuple[str, int], Extremes] = {}
        with curve.growing:
            for (of, number), block in curve.blocks.items():
                if split in (None, of):
                    bucket = (of, number // size)
                    found[bucket] = found.get(bucket, Extremes()).with_block(block)
        # A row may have been stored since the number of rows was read.
        return {seq for each in found.values() for seq in each.seqs() if seq <= last}

    def _grown(self, fit_id: str, key: str, last: int) -> _Curve:
        with self._lock:
            curve = self._curves.setdefault((fit_id, key), _Curve())
            self._curves.move_to_end((fit_id, key))
        with curve.growing:
            for seq, body in self._scan(fit_id, curve.upto, last):
                row = orjson.loads(body)
                if key in row["values"]:
                    place = (row["split"], (seq - 1) // BLOCK_ROWS)
                    curve.blocks[place] = curve.blocks.get(place, Extremes()).with_row(seq, row["values"][key])
                curve.upto = seq
        with self._lock:
            while len(self._curves) > 1 and sum(len(each.blocks) for each in self._curves.values()) > BLOCKS_MAX:
                self._curves.popitem(last=False)
        return curve
