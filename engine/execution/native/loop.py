"""Many runs of a plan in one call: rows are gathered, numbers fed and results logged by kernels, without Python.

Rows that follow one another, as those of fits that do not shuffle, are read where they are: kernels are given their
address in the place of the input's buffer. No kernel reads another alignment in another order, so the bits are equal.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.core.value import Array
from engine.execution.native.executor import NativeExecutor, Segment
from engine.execution.native.kernels.feeding import bind_rows, feed, gather_rows, halt_unless, log
from engine.execution.native.lowering import address_of

INT64 = np.dtype(np.int64)
FETCHED = 2**14
"""Bytes of rows that are fetched before they are copied."""
CACHED = 2**20
"""Bytes of a dataset that stay in a near cache."""


@dataclass(frozen=True)
class Blocks:
    """Where the rows of an input lie one after the other: each is a block of bytes.

    Attributes:
        data: what they are in, kept alive.
        address: of row 0.
        step: bytes from one row to the next.
        size: bytes of what is copied of a row.
    """

    data: Array
    address: int
    step: int
    size: int


@dataclass(frozen=True)
class LoopTables:
    """What goes into and out of each run.

    Attributes:
        rows: for inputs that take the rows of a batch, where these are.
        fed: inputs that are given at each run, of 64-bit types.
        logged: outputs that are recorded at each run.
        until: an output, a truth value; when it is false that run is the last.
    """

    rows: Mapping[str, Blocks]
    fed: Sequence[str]
    logged: Sequence[str]
    until: str | None = None


class Loop:
    """Runs an executor's plan many times in one call."""

    def __init__(self, executor: NativeExecutor, segment: Segment, tables: LoopTables, most: int) -> None:
        """Add steps that feed the plan before each run and record its outputs after it.

        Args:
            executor: runs the plan.
            segment: all steps of the plan.
            tables: inputs and outputs of each run.
            most: maximum number of runs in one call.
        """
        self.most = most
        self._executor = executor
        self._numbers = [np.empty((0, 0), np.int64)]
        self.fed = {n: np.zeros((most, *executor.inputs[n].shape), executor.inputs[n].dtype) for n in tables.fed}
        self.logged = {
            n: np.zeros((most, *executor.outputs[n].shape), executor.outputs[n].dtype) for n in tables.logged
        }
        self._gathers: list[Array] = []
        self._bindings: list[Array] = []
        self._addresses: list[tuple[int, int]] = []
        bound = {name for name, blocks in tables.rows.items() if self._bind(name, blocks)}
        before = [
            [self._gather(name, blocks, shard, bound=name in bound) for name, blocks in tables.rows.items()]
            for shard in range(executor.plan.shards)
        ]
        before[0] += [(bind_rows.address(INT64), address_of(block)) for block in self._bindings]
        given = [(executor.inputs[n], table) for n, table in self.fed.items()]
        self._feed = _block([0, len(given), *_words((at, table, table[0].nbytes // 8) for at, table in given)])
        before[0].append((feed.address(INT64), address_of(self._feed)))
        recorded = [(executor.outputs[n], table) for n, table in self.logged.items()]
        self._log = _block([0, len(recorded), *_words((at, table, table[0].nbytes) for at, table in recorded)])
        after = [(log.address(INT64), address_of(self._log))]
        if tables.until is not None:
            self._until = _block([address_of(executor.outputs[tables.until]), executor.halt_address])
            after.append((halt_unless.address(INT64), address_of(self._until)))
        self._segment = Segment([before, *segment.phases, [after]])

    def run(self, numbers: Array) -> int:
        """Run for batches of rows, int64[runs, rows], with what has been written into `fed`; return how many ran."""
        self._numbers[0], address, runs = numbers, address_of(numbers), len(numbers)
        for gather in self._gathers:
            gather[0], gather[8], gather[10] = 0, address, runs
        for binding in self._bindings:
            binding[0], binding[5] = 0, address
        self._feed[0] = self._log[0] = 0
        try:
            return self._executor.run_many(self._segment, runs)
        finally:
            for place, address in self._addresses:
                ctypes.c_int64.from_address(place).value = address

    def _bind(self, name: str, blocks: Blocks) -> bool:
        """Make the block of the kernel that binds an input's rows in place, unless they cannot be."""
        target = self._executor.inputs[name]
        places = self._executor.input_words(name)
        if places is None or blocks.step != blocks.size or blocks.address % target.itemsize:
            return False
        at = address_of(target)
        words = [word for place in places for word in place]
        self._bindings.append(_block([0, len(target), blocks.size, blocks.address, at, 0, len(places), *words]))
        self._addresses += [(place, at + offset) for place, offset in places]
        return True

    def _gather(self, name: str, blocks: Blocks, shard: int, *, bound: bool) -> tuple[int, int]:
        target = self._executor.inputs[name]
        batch = target.shape[0]
        part = batch // self._executor.plan.shards
        at = address_of(target) + shard * part * blocks.size
        ahead = max(min(FETCHED // max(blocks.size, 1), part), 1) if blocks.data.nbytes > CACHED else 0
        block = _block([0, batch, shard * part, part, blocks.size, blocks.address, blocks.step, at, 0, bound, 0, ahead])
        self._gathers.append(block)
        return gather_rows.address(INT64), address_of(block)


def _words(entries: Iterable[tuple[Array, Array, int]]) -> list[int]:
    words: list[int] = []
    for array, table, size in entries:
        words += [address_of(array), address_of(table), size]
    return words


def _block(words: Sequence[int]) -> Array:
    return np.array(words, np.int64)
