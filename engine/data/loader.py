"""DataLoader: examples in memory, handed out in batches as tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from engine.autograd.memory_layout import Layout, check_layout
from engine.core.errors import AttributeValueError, DataError
from engine.core.value import Array, Operand, Value, as_value
from engine.data.batches import Batches
from engine.data.shuffling import Shuffle


class Batch(NamedTuple):
    """Examples and what belongs to them; `y` is None when the loader has none."""

    x: Value
    y: Value | None


class DataLoader:
    """Hands out x and y in batches, in a new random order each epoch: ggmlR's ag_dataloader.

    `for batch in loader.epoch()`, or `while loader.has_next(): batch = loader.next_batch()` and then `reset()`.
    """

    def __init__(
        self,
        x: Operand,
        y: Operand | None = None,
        *,
        batch_size: int,
        shuffle: bool | Shuffle = True,
        drop_last: bool = True,
        layout: Layout = "row",
        seed: int = 0,
    ) -> None:
        """Take the examples; they are not copied.

        Args:
            x: the examples: rows under the layout "row", columns (the last axis) under "col".
            y: one entry for each of them; a vector in either layout, or a matrix in the layout of x.
            batch_size: examples in a batch.
            shuffle: draw the order of each epoch from the seed and the number of the epoch, as a `Shuffle` says; False
                keeps the order.
            drop_last: leave out the examples that do not fill a batch.
            layout: of x and y.
            seed: where the order comes from.

        Raises:
            DataError: x and y are not of equally many examples, or there are none.
        """
        check_layout(layout)
        self._axis = 0 if layout == "row" else -1
        self._x = as_value(x).numpy()
        self._y = None if y is None else as_value(y).numpy()
        count = self._count("x", self._x)
        if self._y is not None and self._count("y", self._y) != count:
            raise DataError(f"x has {count} examples, y {self._count('y', self._y)}: their numbers must agree")
        if batch_size < 1:
            raise AttributeValueError(f"batch_size must be at least 1, not {batch_size}")
        self._batches = Batches(range(count), batch_size, shuffle, drop_last, seed)
        self._epoch = 0
        self._position = 0
        self._order = self._batches.order(0)

    @property
    def n_batches(self) -> int:
        """Number of batches in an epoch."""
        return self._batches.per_epoch

    def __len__(self) -> int:
        """Return the number of batches in an epoch."""
        return self.n_batches

    def __iter__(self) -> Iterator[Batch]:
        """Go through one epoch."""
        return self.epoch()

    def epoch(self) -> Iterator[Batch]:
        """Yield the batches of an epoch: of this one when none has been taken yet, else of the next."""
        if self._position:
            self.reset()
        while self.has_next():
            yield self.next_batch()

    def has_next(self) -> bool:
        """Tell whether this epoch has another batch."""
        return self._position < self.n_batches

    def next_batch(self) -> Batch:
        """Return the next batch of this epoch.

        Raises:
            DataError: there is none.
        """
        if not self.has_next():
            raise DataError(f"the epoch has no more than {self.n_batches} batches; reset() starts the next one")
        rows = self._batches.batch(self._order, self._position)
        self._position += 1
        return Batch(_taken(self._x, rows, self._axis), None if self._y is None else _taken(self._y, rows, self._axis))

    def reset(self) -> None:
        """Start the next epoch, in an order of its own."""
        self._epoch += 1
        self._position = 0
        self._order = self._batches.order(self._epoch)

    def _count(self, name: str, array: Array) -> int:
        if not array.ndim or not array.shape[self._axis]:
            raise DataError(f"{name} of shape {list(array.shape)} holds no examples")
        return int(array.shape[self._axis])


def _taken(array: Array, rows: Array, axis: int) -> Value:
    picked = np.take(array, rows, axis=axis)
    return Value(picked.shape, picked.dtype, picked)
