"""Collectives: the ranks of a data-parallel fit sum buffers and gather messages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from engine.core.dtypes import BOOL, NATIVE
from engine.core.errors import AttributeValueError, CollectiveError, DTypeError, RankAborted, RankLost, ShapeError

Array = np.ndarray[Any, Any]


class Collective(Protocol):
    """One rank's end of a collective.

    Every operation raises `RankLost` if another rank is gone or has closed, `RankAborted` if one aborted, and
    `CollectiveError` on every rank if they do not all call the same operation. After such an error only `close` is
    valid.
    """

    @property
    def rank(self) -> int:
        """The index of this rank, from 0."""
        ...

    @property
    def size(self) -> int:
        """The number of ranks."""
        ...

    def allreduce_(self, buffer: Array) -> None:
        """Replace `buffer`, of one axis and any element type but bool, by its sum over the ranks.

        Elements are added in their own type and in the order of the ranks, ((0 + 1) + 2) + ..., so that every rank gets
        the same bits in every run. Overflow and NaN raise no warning.
        """
        ...

    def gather(self, payload: bytes) -> list[bytes]:
        """Return the message of each rank."""
        ...

    def barrier(self) -> None:
        """Return when every rank has called it."""
        ...

    def abort(self, reason: bytes) -> None:
        """Abort: the next operation of every other rank raises `RankAborted` with this reason. Never raises."""
        ...

    def close(self) -> None:
        """Leave the collective. May be called again; the next operation of the others fails."""
        ...


def refuse_unsummable(buffer: Array) -> None:
    """Raise DTypeError or ShapeError for a buffer that `Collective.allreduce_` does not take."""
    if buffer.dtype == BOOL or buffer.dtype not in NATIVE:
        raise DTypeError(f"allreduce_ sums floats and integers, not {buffer.dtype}; convert the buffer first")
    if buffer.ndim != 1:
        raise ShapeError(f"allreduce_ takes a flat buffer, not one of shape {buffer.shape}; pass buffer.reshape(-1)")


def sum_in_order(buffers: Sequence[Array] | Array, out: Array) -> None:
    """Write the sum of the ranks' `buffers` to `out`, which may be the first of them."""
    # A diverged fit is a result like another: its NaN goes into the rows and the losses.
    with np.errstate(all="ignore"):
        if len(buffers) == 1:
            out[:] = buffers[0]
            return
        np.add(buffers[0], buffers[1], out=out)
        for more in buffers[2:]:
            np.add(out, more, out=out)


class Alone:
    """The only rank (see `Collective`): sums are its own values."""

    rank = 0
    size = 1

    def allreduce_(self, buffer: Array) -> None:
        refuse_unsummable(buffer)

    def gather(self, payload: bytes) -> list[bytes]:
        return [payload]

    def barrier(self) -> None:
        """Return at once."""

    def abort(self, reason: bytes) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def in_memory(size: int) -> list[Collective]:
    """Return the ends of a collective of `size` threads, for tests and for use without processes."""
    if size < 1:
        raise AttributeValueError(f"a collective needs a size >= 1, got {size}")
    table = _Table(size)
    return [InMemory(rank, table) for rank in range(size)]


class _Table:
    """The shared state of the threads: each writes its message, and reads all when the last one has."""

    def __init__(self, size: int) -> None:
        """Start with an empty table of `size` ranks."""
        self.size = size
        self._said: dict[int, tuple[str, Any]] = {}
        self._round = 0
        self._taken: list[tuple[str, Any]] = []
        self._failure: Callable[[], CollectiveError] | None = None
        self._changed = threading.Condition()

    def exchange(self, rank: int, operation: str, content: Any) -> list[Any]:
        with self._changed:
            self._said[rank] = (operation, content)
            now = self._round
            if len(self._said) == self.size and self._failure is None:
                # No rank can overwrite this before all have read it: all must have entered the next call by then.
                self._taken = [self._said[each] for each in range(self.size)]
                self._said = {}
                self._round += 1
                self._changed.notify_all()
            self._changed.wait_for(lambda: self._round != now or self._failure is not None)
            if self._round == now:
                assert self._failure is not None
                raise self._failure()
            taken = self._taken
        refuse_disagreement([operation for operation, _ in taken])
        return [content for _, content in taken]

    def leave(self, failure: Callable[[], CollectiveError]) -> None:
        """Wake everyone; the first failure stands."""
        with self._changed:
            self._failure = self._failure or failure
            self._changed.notify_all()


class InMemory:
    """One thread's end of a collective (see `Collective`); `in_memory` returns it."""

    def __init__(self, rank: int, table: _Table) -> None:
        """Use the shared state `table`."""
        self._rank = rank
        self._table = table

    @property
    def rank(self) -> int:
        return self._rank

    @property
    def size(self) -> int:
        return self._table.size

    def allreduce_(self, buffer: Array) -> None:
        refuse_unsummable(buffer)
        buffers = self._table.exchange(self._rank, f"allreduce_ of {buffer.size} {buffer.dtype}", buffer.copy())
        sum_in_order(buffers, out=buffer)

    def gather(self, payload: bytes) -> list[bytes]:
        return self._table.exchange(self._rank, "gather", payload)

    def barrier(self) -> None:
        self._table.exchange(self._rank, "barrier", None)

    def abort(self, reason: bytes) -> None:
        self._table.leave(partial(RankAborted, self._rank, reason))

    def close(self) -> None:
        self._table.leave(partial(RankLost, self._rank))


def refuse_disagreement(operations: Sequence[str]) -> None:
    """Raise CollectiveError unless all ranks, given in order, call the same operation."""
    for rank, operation in enumerate(operations):
        if operation != operations[0]:
            raise CollectiveError(
                f"the ranks disagree: rank 0 is at {operations[0]}, rank {rank} at {operation};"
                " all ranks must run the same steps with buffers of the same size"
            )
