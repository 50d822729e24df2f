"""Statistics of an array, computed in chunks: the array may be larger than memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.core.value import Array

BINS = 50
CHUNK = 1 << 18

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ArrayStatistics:
    """An array in a few numbers, computed in float64.

    `norm` (the root of the sum of squares) and `mean` are over all elements, so that one that is NaN or infinite
    shows in them; the extremes leave NaN out, None where nothing is left, and so does the histogram, infinities too.
    `edges` are one more than `counts`; the last bin includes its upper edge.
    """

    elements: int
    norm: float
    mean: float | None
    min: float | None
    max: float | None
    abs_max: float | None
    zeros: int
    nan: int
    inf: int
    edges: list[float]
    counts: list[int]


def array_statistics(array: Array) -> ArrayStatistics:
    """Sum `array` up, reading it three times and holding a small piece of it."""
    flat = array.reshape(-1)
    extremes = _Extremes()
    for chunk in _chunks(flat):
        extremes.see(chunk)
    # Squares of what is divided by the largest neither overflow nor vanish.
    scale = extremes.scale
    with np.errstate(all="ignore"):
        mean = _total(flat, lambda chunk: chunk / scale) / flat.size * scale if flat.size else None
        norm = math.sqrt(_total(flat, lambda chunk: np.square(chunk / scale))) * scale
    edges, counts = _histogram(flat, extremes.lowest, extremes.highest)
    return ArrayStatistics(
        elements=flat.size,
        norm=norm,
        mean=mean,
        min=extremes.min,
        max=extremes.max,
        abs_max=None if extremes.min is None or extremes.max is None else max(abs(extremes.min), abs(extremes.max)),
        zeros=extremes.zeros,
        nan=extremes.nan,
        inf=extremes.inf,
        edges=edges,
        counts=counts,
    )


class _Extremes:
    """Counts what is special, and finds the extremes: of the finite elements (`lowest`, `highest`) and of all."""

    def __init__(self) -> None:
        self.zeros = self.nan = self.inf = 0
        self.lowest: float | None = None
        self.highest: float | None = None
        self.min: float | None = None
        self.max: float | None = None

    @property
    def scale(self) -> float:
        """The largest absolute value of the finite elements; 1 where there is none."""
        return max(abs(self.lowest or 0.0), abs(self.highest or 0.0)) or 1.0

    def see(self, chunk: Floats) -> None:
        self.zeros += int(chunk.size - np.count_nonzero(chunk))
        known = chunk[~np.isnan(chunk)]
        finite = known[np.isfinite(known)]
        self.nan += chunk.size - known.size
        self.inf += known.size - finite.size
        self.min, self.max = _wider(self.min, self.max, known)
        self.lowest, self.highest = _wider(self.lowest, self.highest, finite)


def _wider(low: float | None, high: float | None, elements: Floats) -> tuple[float | None, float | None]:
    """Return the range from `low` to `high` as far as it must reach to hold the elements too."""
    if not elements.size:
        return low, high
    least, most = float(elements.min()), float(elements.max())
    return (least if low is None else min(low, least)), (most if high is None else max(high, most))


def _total(flat: Array, term: Callable[[Floats], Floats]) -> float:
    sums = [float(term(chunk).sum()) for chunk in _chunks(flat)]
    # fsum refuses what is not finite.
    return math.fsum(sums) if all(map(math.isfinite, sums)) else sum(sums)


def _histogram(flat: Array, low: float | None, high: float | None) -> tuple[list[float], list[int]]:
    if low is None or high is None:
        return [], []
    part = np.linspace(0.0, 1.0, BINS + 1)
    # Between numbers that lie close together there are fewer edges; high - low may be infinite.
    edges = np.unique(np.clip(low * (1.0 - part) + high * part, low, high))
    edges = edges if len(edges) > 1 else np.array([low, high])
    counts = np.zeros(len(edges) - 1, np.int64)
    for chunk in _chunks(flat):
        places = np.searchsorted(edges, chunk[np.isfinite(chunk)], side="right") - 1
        counts += np.bincount(np.clip(places, 0, len(counts) - 1), minlength=len(counts))
    return edges.tolist(), counts.tolist()


def _chunks(flat: Array) -> Iterator[Floats]:
    for start in range(0, flat.size, CHUNK):
        yield flat[start : start + CHUNK].astype(np.float64)
