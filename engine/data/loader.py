"""DataLoader: examples in memory, in batches as tensors; and the prefetching of batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np

from engine.autograd.creation import Layout, check_layout
from engine.core.dtypes import DType
from engine.core.errors import AttributeValueError, DataError
from engine.core.value import Array, Operand, Value, as_value
from engine.data.batches import Batches, Shuffle
from engine.data.source import Source


class Batch(NamedTuple):
    """Examples and their targets; `y` is None if the loader has none."""

    x: Value
    y: Value | None


class DataLoader:
    """Yields x and y in batches, in a new random order each epoch: ggmlR's ag_dataloader.

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
            drop_last: drop the examples that do not fill a batch.
            layout: of x and y.
            seed: determines the order.

        Raises:
            DataError: x and y differ in their number of examples, or there are none.
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
        return self.n_batches

    def __iter__(self) -> Iterator[Batch]:
        return self.epoch()

    def epoch(self) -> Iterator[Batch]:
        """Yield the batches of an epoch: of this one if none has been taken yet, else of the next."""
        if self._position:
            self.reset()
        while self.has_next():
            yield self.next_batch()

    def has_next(self) -> bool:
        """Return whether this epoch has another batch."""
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


DEPTH = 2


class Ahead(NamedTuple):
    """A prefetched batch: its examples, its buffers and the future of their content."""

    examples: Array
    buffers: Mapping[str, Array]
    gathered: Future[None]


class Prefetcher:
    """Gathers up to `depth` batches ahead in one thread; close it after use.

    The batches come from an iterator, such as `Batches.stream`, and are taken in that order. The results are those of
    the source itself; its errors are raised when the batch is taken.
    """

    def __init__(self, source: Source, batches: Iterable[Array], dtypes: Mapping[str, DType], depth: int = DEPTH):
        """Start to gather the first batches.

        Args:
            source: the source of the examples.
            batches: the examples of each batch, in the order in which they are taken.
            dtypes: the dtype of each input of the plan.
            depth: number of batches gathered ahead, each in its own buffers.

        Raises:
            AttributeValueError: the depth is less than 1.
        """
        if depth < 1:
            raise AttributeValueError(f"depth must be at least 1, not {depth}")
        self._source = source
        self._batches = iter(batches)
        self._dtypes = dtypes
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="prefetch")
        self._ahead: deque[Ahead] = deque()
        self._closed = False
        for _ in range(depth):
            self._send({})

    def gather(self, examples: Array, into: Mapping[str, Array]) -> None:
        """Copy the next batch, which must be of these examples, into the array of each input.

        Raises:
            DataError: the next batch is another one, or there is none; or the error of gathering it.
        """
        if self._closed:
            raise DataError("the prefetcher is closed: create another one")
        if not self._ahead or not np.array_equal(self._ahead[0].examples, examples):
            raise DataError("batches must be taken in the order in which they were announced to the prefetcher")
        batch = self._ahead.popleft()
        batch.gathered.result()
        for name in self._source.inputs:
            np.copyto(into[name], batch.buffers[name][: len(examples)])
        self._send(batch.buffers)

    def close(self) -> None:
        """Drop the prefetched batches and wait for the thread to end."""
        self._closed = True
        self._thread.shutdown(cancel_futures=True)
        self._ahead.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, buffers: Mapping[str, Array]) -> None:
        """Start to gather the next batch, if there is one, into free buffers."""
        examples = next(self._batches, None)
        if examples is None:
            return
        if any(len(array) < len(examples) for array in buffers.values()) or not buffers:
            buffers = self._buffers(len(examples))
        into = {name: array[: len(examples)] for name, array in buffers.items()}
        self._ahead.append(Ahead(examples, buffers, self._thread.submit(self._source.gather, examples, into)))

    def _buffers(self, examples: int) -> dict[str, Array]:
        specs = {name: self._source.spec(name) for name in self._source.inputs}
        return {name: np.empty((examples, *spec.shape), self._dtypes[name]) for name, spec in specs.items()}


def prefetch_depth(source: Source, asked: int | None = None) -> int:
    """Return the number of batches to prefetch: as requested, else 2 for a source on disk and 0 in memory.

    Gathering a batch in memory takes microseconds, less than a hand-over between threads.
    """
    if asked is not None:
        return asked
    return DEPTH if source.waits_for_disk else 0
