"""Splits of examples into those to train on and those held out, seeded and repeatable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from engine.core.attributes import Range
from engine.core.errors import DataError
from engine.core.value import Array
from engine.data.batches import SPLIT_STREAM, generator
from engine.data.class_encoding import Labels, check_labels
from engine.data.source import Source
from engine.data.windows import Windows

EXACT = 10**8
"""Groups times rows up to which groups are fitted exactly; rows beyond are filled in random order first."""

Parts = tuple[Array, Array]


@dataclass(frozen=True, kw_only=True)
class Split:
    """The examples that are held out of the training: a fraction of them, drawn with the seed.

    `stratify` names a column of classes that keep their shares on both sides; `group` a column whose equal values stay
    on one side. "last" holds out the end of the data instead, as for time series; training windows that overlap it are
    dropped. (Overlapping windows share rows: drawn at random, some rows would be on both sides.)
    """

    split: Annotated[float, Range(0, 1, below=True)] = 0.0
    stratify: str | None = None
    group: str | None = None
    order: Literal["random", "last"] = "random"

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield what is wrong between the fields."""
        if self.stratify is not None and self.group is not None:
            yield "/group", "a split goes by classes or by groups: leave out 'stratify' or 'group'"
        for name in ("stratify", "group"):
            if getattr(self, name) is not None and not self.split:
                yield f"/{name}", f"{name!r} goes with a 'split' greater than 0"
            if getattr(self, name) is not None and self.order == "last":
                yield f"/{name}", f'{name!r} goes with a random order: leave it out, or "last"'

    def sizes(self, rows: int, windows: Windows | None = None) -> tuple[int, int] | None:
        """Return the numbers of training and held-out examples, or None if they depend on the data."""
        if windows is not None and windows.within is not None:
            return None
        count = rows if windows is None else windows.count(rows)
        held_out = held_out_rows(count, self.split)
        if self.group is not None and held_out:
            return None
        if self.order == "last" and windows is not None and held_out:
            first = (count - held_out) * windows.stride
            return max((first - windows.length) // windows.stride + 1, 0), held_out
        return count - held_out, held_out


def held_out_rows(rows: int, fraction: float) -> int:
    """Return how many of `rows` a split holds out: the nearest number to the fraction, but neither all nor none."""
    return min(max(round(rows * fraction), 1), rows - 1) if fraction else 0


def split_rows(rows: int, fraction: float, seed: int) -> Parts:
    """Return the row numbers for training and for validation, both in ascending order.

    The validation rows are `held_out_rows` of all, picked at random.
    """
    held_out = held_out_rows(rows, fraction)
    if not held_out:
        return np.arange(rows), np.arange(0)
    order = generator(seed, SPLIT_STREAM, 0).permutation(rows)
    return np.sort(order[held_out:]), np.sort(order[:held_out])


def split_examples(source: Source, split: Split, seed: int) -> Parts:
    """Return the examples of `source` for training and for validation, both in ascending order.

    Raises:
        DataError: a column does not fit the split, or no training example is left.
    """
    if not split.split:
        return np.arange(source.count), np.arange(0)
    if source.count < 2:
        raise DataError(f"a split needs at least two examples; there is {source.count}: leave it out")
    if split.stratify is not None:
        labels = check_labels(split.stratify, source.values(split.stratify), "stratify")
        return stratified_split(labels, split.split, seed)
    if split.group is not None:
        groups = check_labels(split.group, source.values(split.group), "group")
        if len(groups.names) < 2:
            raise DataError(f"column {split.group!r} holds one group only, which cannot be on both sides of a split")
        return grouped_split(groups, split.split, seed)
    if split.order == "last":
        return _last(source, split.split)
    return split_rows(source.count, split.split, seed)


def stratified_split(labels: Labels, fraction: float, seed: int) -> Parts:
    """Split so that every class has its share among the held-out rows, `held_out_rows` in all.

    Shares are rounded by the method of largest remainders; of equal ones the first class's is rounded up.
    """
    rows = len(labels.codes)
    held_out = held_out_rows(rows, fraction)
    shares, remainders = np.divmod(labels.counts * held_out, rows)
    shares[np.argsort(-remainders, kind="stable")[: held_out - shares.sum()]] += 1
    order = generator(seed, SPLIT_STREAM, 0).permutation(rows)
    by_class = order[np.argsort(labels.codes[order], kind="stable")]
    codes = labels.codes[by_class]
    place = np.arange(rows) - (np.cumsum(labels.counts) - labels.counts)[codes]
    picked = place < shares[codes]
    return np.sort(by_class[~picked]), np.sort(by_class[picked])


def grouped_split(groups: Labels, fraction: float, seed: int) -> Parts:
    """Split so that no group is on both sides, with as near to `held_out_rows` held out as whole groups allow."""
    order = generator(seed, SPLIT_STREAM, 0).permutation(len(groups.names))
    sizes = groups.counts[order]
    picked = np.zeros(len(order), bool)
    picked[order[_nearest_sum(sizes, held_out_rows(len(groups.codes), fraction))]] = True
    held_out = picked[groups.codes]
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def _last(source: Source, fraction: float) -> Parts:
    held_out = held_out_rows(source.count, fraction)
    train, validation = np.arange(source.count - held_out), np.arange(source.count - held_out, source.count)
    if source.windows is not None and source.starts is not None:
        train = train[source.starts[train] + source.windows.length <= source.starts[validation[0]]]
        if not len(train):
            detail = f"every window of {source.windows.length} rows reaches into the held-out rows"
            raise DataError(f"{detail}: take shorter windows, a smaller split or more rows")
    return train, validation


def _nearest_sum(sizes: Array, target: int) -> list[int]:
    """Return the sizes whose sum is nearest to `target`, but neither 0 nor all; ties go to the first."""
    filled, rest = _fill(sizes, target - EXACT // len(sizes))
    target -= int(sizes[filled].sum())
    open_sizes = sizes[rest]
    total = int(open_sizes.sum())
    limit = min(max(2 * target, int(open_sizes.min())), total)
    reached_by = np.full(limit + 1, -1, np.int32)  # the number of the size that first made a sum possible
    reached_by[0] = len(sizes)
    for number, size in enumerate(open_sizes.tolist()):
        if size <= limit:
            new = (reached_by[:-size] >= 0) & (reached_by[size:] < 0)
            reached_by[size:][new] = number
        if reached_by[target] >= 0:
            break
    sums = np.flatnonzero(reached_by >= 0)
    sums = sums[(sums > (-1 if filled else 0)) & (sums < total)]
    rest_sum = int(sums[np.argmin(np.abs(sums - target))])
    picked = list(filled)
    while rest_sum:
        number = int(reached_by[rest_sum])
        picked.append(int(rest[number]))
        rest_sum -= int(open_sizes[number])
    return picked


def _fill(sizes: Array, target: int) -> tuple[list[int], Array]:
    """Return the sizes that fit into `target`, taken in their order, and the others."""
    filled, total = [], 0
    if target > 0:
        for number, size in enumerate(sizes.tolist()):
            if total + size <= target:
                filled.append(number)
                total += size
    rest = np.ones(len(sizes), bool)
    rest[filled] = False
    return filled, np.flatnonzero(rest)
