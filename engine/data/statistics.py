"""Running statistics of elements over chunks of rows, in float64 and constant memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from engine.core.value import Array

Chunks = Callable[[], Iterator[Array]]
"""Starts a pass over the rows: finite float64 arrays of the shape (rows, *row)."""

DIGIT_BITS = 8
DIGITS = 2**DIGIT_BITS
SIGN = np.uint64(1 << 63)


class Moments:
    """Mean, sum of squared deviations and extremes, for each element.

    Chunks are merged by the pairwise update of Chan, Golub and LeVeque ("Updating formulae and a pairwise algorithm for
    computing sample variances", 1979). Sums are of distances from the first row, so that a large offset costs no
    digits.
    """

    def __init__(self, chunks: Iterator[Array]) -> None:
        """Accumulate at least one row."""
        self.count = 0
        self._offset: Array | None = None
        self._distance: Array = np.zeros(())  # of the mean from the offset
        self.squares: Array = np.zeros(())
        self.low: Array = np.array(np.inf)
        self.high: Array = np.array(-np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            for chunk in chunks:
                self._add(chunk)

    @property
    def mean(self) -> Array:
        """Mean of the rows."""
        assert self._offset is not None
        return np.asarray(self._offset + self._distance)

    @property
    def deviation(self) -> Array:
        """Standard deviation of the rows themselves (divided by their number, as in scikit-learn)."""
        return np.asarray(np.sqrt(self.squares / self.count))

    def _add(self, chunk: Array) -> None:
        rows, total = len(chunk), self.count + len(chunk)
        if self._offset is None:
            self._offset = chunk[0].copy()
        deviations = chunk - self._offset
        mean = deviations.mean(axis=0)
        deviations -= mean
        rest = deviations.sum(axis=0)
        squares = np.einsum("i...,i...->...", deviations, deviations) - rest * rest / rows
        step = mean - self._distance
        self._distance = self._distance + step * (rows / total)
        self.squares = self.squares + squares + step * (step * (self.count * (rows / total)))
        self.low = np.minimum(self.low, chunk.min(axis=0))
        self.high = np.maximum(self.high, chunk.max(axis=0))
        self.count = total


def quantiles(chunks: Chunks, probabilities: Sequence[float]) -> list[Array]:
    """Return exact quantiles of each element, interpolated between neighbours as `numpy.quantile` does.

    The order statistics are found by their binary digits, eight bits in each pass over the rows, so that the memory is
    a histogram of 256 counts for each of them and each element.
    """
    count = sum(len(chunk) for chunk in chunks())
    places = [probability * (count - 1) for probability in probabilities]
    ranks = sorted({rank for place in places for rank in (int(place), min(int(place) + 1, count - 1))})
    found = dict(zip(ranks, _order_statistics(chunks, ranks), strict=True))
    return [_between(found[int(p)], found[min(int(p) + 1, count - 1)], p - int(p)) for p in places]


def _between(low: Array, high: Array, share: float) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(low + (high - low) * share)


def _order_statistics(chunks: Chunks, ranks: Sequence[int]) -> Array:
    """Return the elements that sorted rows of each element would have at `ranks` (from 0)."""
    shape = next(chunks()).shape[1:]
    elements = int(np.prod(shape, dtype=np.int64))
    found = np.zeros((len(ranks), elements), np.uint64)
    left = np.repeat(np.array(ranks)[:, None], elements, axis=1)
    for low_bit in range(64 - DIGIT_BITS, -1, -DIGIT_BITS):
        counts = np.zeros((len(ranks), elements, DIGITS), np.int64)
        for chunk in chunks():
            _count_digits(_keys(chunk.reshape(len(chunk), elements)), found, low_bit, counts)
        below = np.cumsum(counts, axis=2)
        digits = (below <= left[..., None]).sum(axis=2)
        left -= np.take_along_axis(below - counts, digits[..., None], axis=2)[..., 0]
        found |= digits.astype(np.uint64) << np.uint64(low_bit)
    return _numbers(found).reshape(len(ranks), *shape)


def _count_digits(keys: Array, found: Array, low_bit: int, counts: Array) -> None:
    """Count the next digit of the keys that match the digits found so far for element and rank."""
    digits = (keys >> np.uint64(low_bit)) % np.uint64(DIGITS)
    slots = digits.astype(np.int64) + np.arange(keys.shape[1]) * DIGITS
    higher = np.uint64(low_bit + DIGIT_BITS)
    for rank, prefix in enumerate(found):
        # A shift by the whole width is not defined; at first every key agrees.
        agreeing = slots.reshape(-1) if higher == 64 else slots[keys >> higher == prefix >> higher]
        counts[rank] += np.bincount(agreeing, minlength=counts[rank].size).reshape(counts[rank].shape)


def _keys(numbers: Array) -> Array:
    """Return unsigned integers in the order of the numbers: the sign is flipped, and all bits of negative numbers."""
    bits = (numbers + 0.0).view(np.uint64)  # the sum makes -0 and 0 one number
    return np.where(bits >= SIGN, ~bits, bits | SIGN)


def _numbers(keys: Array) -> Array:
    return np.where(keys >= SIGN, keys ^ SIGN, ~keys).view(np.float64)
