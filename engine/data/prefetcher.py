"""Prefetcher: gathers the batches to come in the background, so that a step does not wait for a disk."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np

from engine.core.dtypes import DType
from engine.core.errors import AttributeValueError, DataError
from engine.core.value import Array
from engine.data.source import Source

DEPTH = 2


class Ahead(NamedTuple):
    """A batch under way: its examples, where they go and when they are there."""

    examples: Array
    buffers: Mapping[str, Array]
    gathered: Future[None]


class Prefetcher:
    """Gathers batches as its source does, up to `depth` of them ahead in one thread; to be closed after use.

    The batches are announced as an iterator, such as `Batches.stream`, and taken in that order. The results are those
    of the source itself; its errors are raised when the batch is taken.
    """

    def __init__(self, source: Source, batches: Iterable[Array], dtypes: Mapping[str, DType], depth: int = DEPTH):
        """Begin to gather the first batches.

        Args:
            source: where the examples are.
            batches: the examples of each batch, in the order in which they will be taken.
            dtypes: the type that each input of the plan has.
            depth: how many batches are gathered ahead, each in memory of its own.

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
            DataError: another batch was announced, or none; or what gathering it raised.
        """
        if self._closed:
            raise DataError("the prefetcher is closed: make another one to go on")
        if not self._ahead or not np.array_equal(self._ahead[0].examples, examples):
            raise DataError("batches must be taken in the order in which they were announced to the prefetcher")
        batch = self._ahead.popleft()
        batch.gathered.result()
        for name in self._source.inputs:
            np.copyto(into[name], batch.buffers[name][: len(examples)])
        self._send(batch.buffers)

    def close(self) -> None:
        """Forget the batches ahead and wait for the thread to end."""
        self._closed = True
        self._thread.shutdown(cancel_futures=True)
        self._ahead.clear()

    def __enter__(self) -> Self:
        """Use it in a `with` statement."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def _send(self, buffers: Mapping[str, Array]) -> None:
        """Have the next batch gathered into buffers that are free, if there is a next one."""
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
    """Return how many batches to gather ahead: as asked, else 2 where the source waits for a disk and 0 elsewhere.

    A batch in memory is gathered in microseconds, less than handing it from thread to thread takes.
    """
    if asked is not None:
        return asked
    return DEPTH if source.waits_for_disk else 0
