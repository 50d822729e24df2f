"""The order in which rows are visited: a pure function of seed and epoch, so that any position can be found again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.value import Array

SPLIT_STREAM = 0x5B17
ORDER_STREAM = 0x0DE4


def held_out_rows(rows: int, fraction: float) -> int:
    """Return how many of `rows` a split holds out: the nearest number to the fraction, but never all or none."""
    return min(max(round(rows * fraction), 1), rows - 1) if fraction else 0


def split_rows(rows: int, fraction: float, seed: int) -> tuple[Array, Array]:
    """Return the row numbers for training and for validation, both in ascending order.

    The validation rows are `held_out_rows` of all, picked at random.
    """
    held_out = held_out_rows(rows, fraction)
    if not held_out:
        return np.arange(rows), np.arange(0)
    order = _generator(seed, SPLIT_STREAM, 0).permutation(rows)
    return np.sort(order[held_out:]), np.sort(order[:held_out])


@dataclass(frozen=True, slots=True)
class Batches:
    """Rows in batches: in random order of each epoch when shuffled, the last short batch kept or dropped."""

    rows: Array | range
    batch_size: int
    shuffle: bool
    drop_last: bool
    seed: int

    @property
    def per_epoch(self) -> int:
        """Number of batches of one epoch."""
        whole, rest = divmod(len(self.rows), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def order(self, epoch: int) -> Array:
        """Return the row numbers in the order of `epoch` (counted from 0)."""
        if not self.shuffle:
            return np.asarray(self.rows)
        return np.asarray(np.asarray(self.rows)[_generator(self.seed, ORDER_STREAM, epoch).permutation(len(self.rows))])

    def batch(self, order: Array, position: int) -> Array:
        """Return the row numbers of batch `position` of an epoch's order."""
        return order[position * self.batch_size : (position + 1) * self.batch_size]


def _generator(seed: int, stream: int, epoch: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=[seed, stream], counter=[0, 0, 0, epoch]))
