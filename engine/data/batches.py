"""The order in which examples are visited: a pure function of seed and epoch, so that any position is found again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from engine.core.errors import DataError
from engine.core.value import Array
from engine.data.sampling import Sampler
from engine.data.shuffling import Shuffle
from engine.data.streams import ORDER_STREAM, SAMPLE_STREAM, generator


@dataclass(frozen=True, slots=True)
class Batches:
    """Examples in batches: those that the sampler draws, or all; shuffled; the last short batch kept or dropped.

    Attributes:
        rows: the examples, by number.
        batch_size: how many are in a batch.
        shuffle: the kind of shuffle; True stands for single rows, False for none.
        drop_last: whether the examples that do not fill a batch are left out.
        seed: what orders and draws come from.
        sampler: draws the examples of an epoch; they are put in order by `shuffle` too.
    """

    rows: Array | range
    batch_size: int
    shuffle: bool | Shuffle
    drop_last: bool
    seed: int
    sampler: Sampler | None = None

    @property
    def examples(self) -> int:
        """Number of examples of one epoch, before the last are dropped."""
        return len(self.rows) if self.sampler is None else self.sampler.examples

    @property
    def per_epoch(self) -> int:
        """Number of batches of one epoch."""
        whole, rest = divmod(self.examples, self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def order(self, epoch: int) -> Array:
        """Return the examples in the order of `epoch` (counted from 0)."""
        rows = self._rows()
        if self.sampler is not None:
            rows = rows[self.sampler.draw(generator(self.seed, SAMPLE_STREAM, epoch))]
        shuffle = self.shuffle
        if isinstance(shuffle, bool):
            shuffle = Shuffle(kind="rows" if shuffle else "none")
        if shuffle.kind == "none":
            return rows
        return np.asarray(rows[shuffle.arrangement(len(rows), self.batch_size, self._random(epoch))])

    def batch(self, order: Array, position: int) -> Array:
        """Return the examples of batch `position` of an epoch's order."""
        return order[position * self.batch_size : (position + 1) * self.batch_size]

    def stream(self, start: int = 0, stop: int | None = None) -> Iterator[Array]:
        """Yield the examples of each step from `start` to before `stop` (never, if None), across epochs.

        Raises:
            DataError: an epoch has no batch.
        """
        if not self.per_epoch:
            raise DataError(
                f"{self.examples} examples fill no batch of {self.batch_size}: take smaller batches or keep the last"
            )
        step = start
        while stop is None or step < stop:
            epoch, position = divmod(step, self.per_epoch)
            order = self.order(epoch)
            ahead = self.per_epoch - position if stop is None else min(self.per_epoch - position, stop - step)
            for offset in range(ahead):
                yield self.batch(order, position + offset)
            step += ahead

    def _rows(self) -> Array:
        rows = self.rows
        return np.arange(rows.start, rows.stop, rows.step) if isinstance(rows, range) else np.asarray(rows)

    def _random(self, epoch: int) -> np.random.Generator:
        return generator(self.seed, ORDER_STREAM, epoch)
