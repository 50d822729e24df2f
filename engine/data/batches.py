"""The order of rows and the batches of an epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from engine.core.attributes import Range
from engine.core.errors import DataError
from engine.core.options import Reader, read_options
from engine.core.value import Array
from engine.data.sampling import Sampler


@dataclass(frozen=True, slots=True)
class Batches:
    """The batches of an epoch: examples that the sampler draws, or all; in the order of `shuffle`.

    Attributes:
        rows: the examples, by number.
        batch_size: examples in a batch.
        shuffle: the kind of shuffle; True stands for single rows, False for none.
        drop_last: whether to drop the examples that do not fill a batch.
        seed: determines orders and draws.
        sampler: draws the examples of an epoch; `shuffle` orders them too.
    """

    rows: Array | range
    batch_size: int
    shuffle: bool | Shuffle
    drop_last: bool
    seed: int
    sampler: Sampler | None = None

    @property
    def examples(self) -> int:
        """Number of examples of one epoch, including those that `drop_last` drops."""
        return len(self.rows) if self.sampler is None else self.sampler.examples

    @property
    def per_epoch(self) -> int:
        """Number of batches of one epoch."""
        whole, rest = divmod(self.examples, self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def order(self, epoch: int) -> Array:
        """Return the examples in the order of `epoch` (from 0)."""
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
        """Return the examples of the batch at index `position` of an epoch's order."""
        return order[position * self.batch_size : (position + 1) * self.batch_size]

    def stream(self, start: int = 0, stop: int | None = None) -> Iterator[Array]:
        """Yield the examples of each step from `start` to `stop` (excluded; None for no end), across epochs.

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


@dataclass(frozen=True, kw_only=True)
class Shuffle:
    """The order of the examples, which differs in each epoch.

    "rows" makes every order equally likely; "none" keeps the order of the data. "shards" shuffles groups of `size`
    consecutive examples (by default a batch), whose order inside remains, as ggml's data sets do; examples that do not
    fill a group remain at the end. "window" moves an example by fewer than `size` places, so that a disk is read
    forwards.
    """

    kind: Literal["rows", "shards", "window", "none"] = "rows"
    size: Annotated[int | None, Range(1, 2**31)] = None

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield what is wrong between the fields."""
        if self.kind == "window" and self.size is None:
            yield "/size", "a windowed shuffle needs a 'size': how many places an example may move"
        if self.kind in ("rows", "none") and self.size is not None:
            yield "/size", f"a shuffle of kind {self.kind!r} has no size; leave it out, or take 'shards' or 'window'"

    def arrangement(self, count: int, batch_size: int, random: np.random.Generator) -> Array:
        """Return the positions 0 to `count` - 1 (int64) in the order that `random` draws."""
        if self.kind == "rows":
            return random.permutation(count)
        if self.kind == "shards":
            return _shards(count, self.size or batch_size, random)
        positions = np.arange(count)
        if self.kind == "window":
            return np.argsort(positions + random.random(count) * (self.size or 1), kind="stable")
        return positions


def read_shuffle(reader: Reader, value: Any, pointer: str) -> Shuffle | None:
    """Read `true` (rows), `false` (none) or an object with a kind; faults are reported."""
    if isinstance(value, bool):
        return Shuffle(kind="rows" if value else "none")
    return read_options(reader, value, pointer, Shuffle)


def _shards(count: int, size: int, random: np.random.Generator) -> Array:
    whole = count // size
    order = random.permutation(whole)[:, None] * size + np.arange(size)
    return np.concatenate([order.reshape(-1), np.arange(whole * size, count)])


SPLIT_STREAM = 0x5B17
ORDER_STREAM = 0x0DE4
SAMPLE_STREAM = 0x5A3B


def generator(seed: int, stream: int, epoch: int) -> np.random.Generator:
    """Return the random generator of a stream for one epoch (from 0); its numbers are the same on every machine."""
    return np.random.Generator(np.random.Philox(key=[seed, stream], counter=[0, 0, 0, epoch]))
