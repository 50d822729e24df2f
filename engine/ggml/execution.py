"""Execution: the memory, prepared calls and random key that a graph shares with its views."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.core.dtypes import INT64
from engine.core.errors import ComputeError, GraphError
from engine.core.modes import MODES
from engine.core.rng import fold, key_value
from engine.core.value import Array, Value
from engine.ggml.context import Context
from engine.ggml.executor import ComputePlan, StaticExecutor, StaticPlan, Status, make_static_plan
from engine.ggml.storage import Storage, allocate_zeroed
from engine.ggml.tensor_table import TensorTable
from engine.ops.random.random import fold_in


class GraphKey:
    """Keys for random ops, derived from the leaf `value`, which changes with each computation."""

    def __init__(self) -> None:
        """Draw the root key from this thread's keys at the first computation."""
        self.value = Value((2,), INT64, None, name="key")
        self._root: tuple[int, int] | None = None
        self._computed = 0
        self._numbers = itertools.count()

    def seed(self, number: int) -> None:
        """Restart from a seed: equal seeds give equal random numbers in the computations that follow."""
        self._root = fold(0, 0, number)
        self._computed = 0

    def next_key(self) -> Value:
        """Return the key of one more random op."""
        return fold_in(self.value, next(self._numbers))

    def advance(self, storage: Storage) -> None:
        """Set the leaf to the key of the next computation."""
        if self._root is None:
            high, low = (int(word) for word in MODES.keys.next_key().numpy())
            self._root = high, low
        self._computed += 1
        storage.set(self.value, key_value(*fold(*self._root, self._computed)))


class Execution:
    """Computes the values of a table.

    Attributes:
        sums: gradient sums, and the leaves in whose memory they are computed.
        updates: leaves and their values after each complete computation.
    """

    def __init__(self, table: TensorTable, storage: Storage, key: GraphKey) -> None:
        """Plan and bind at the first computation."""
        self.sums: list[tuple[Value, Value]] = []
        self.updates: list[tuple[Value, Value]] = []
        self._table = table
        self._storage = storage
        self._key = key
        self._planned: tuple[int, StaticPlan] | None = None
        self._bound: tuple[tuple[object, ...], Any, StaticExecutor] | None = None
        self._memory: tuple[Context | None, Array] | None = None
        self._computing = threading.Lock()

    def static_plan(self) -> StaticPlan:
        """Return the plan of the table; it is made again when the table changes."""
        if self._planned is None or self._planned[0] != self._table.version:
            self._planned = self._table.version, make_static_plan(self._table, self.sums)
        return self._planned[1]

    def memory(self, context: Context | None = None) -> Array:
        """Return the memory of all results, allocated once, in `context` if one is given.

        Raises:
            OutOfContextMemory: the context has too few bytes left.
            ComputeError: the system has too little memory.
        """
        size = self.static_plan().work_size
        if self._memory is None or not self._holds(context, size):
            try:
                self._memory = context, allocate_zeroed(size) if context is None else context.take(size)
            except MemoryError as error:
                raise ComputeError(
                    f"out of memory: {size} bytes of results cannot be allocated", Status.ALLOC_FAILED
                ) from error
        return self._memory[1]

    def missing(self, context: Context | None = None) -> int:
        """Return how many bytes `memory` would allocate: 0 if it has enough already."""
        size = self.static_plan().work_size
        return 0 if self._holds(context, size) else size

    def _holds(self, context: Context | None, size: int) -> bool:
        return self._memory is not None and self._memory[0] is context and self._memory[1].size >= size

    def reserved(self, context: Context) -> int:
        """Return how many bytes of `context` are allocated for results."""
        return 0 if self._memory is None or self._memory[0] is not context else self._memory[1].size

    def published(self) -> Mapping[object, Array]:
        """Return the results of the last computation, by key; empty before the first."""
        return {} if self._bound is None else self._bound[2].results

    def resume(self, results: Mapping[object, Array], context: Context | None = None, nbytes: int = 0) -> None:
        """Restore computed results by key, in `nbytes` of `context` or in memory of its own."""
        if context is not None:
            self._memory = context, context.take(nbytes)
        memory = self.memory(context)
        bound = StaticExecutor(self.static_plan(), self._storage, memory, self._table.name_of, ref=False)
        held: dict[object, Array] = {}
        for key, array in results.items():
            held[key] = bound.results.get(key, array)
            np.copyto(held[key], array)
        self._bound = (self._table.version, self._storage.version, False), memory, bound
        self._storage.publish(held)

    def compute(self, plan: ComputePlan, window: range | None = None, *, auto_resume: bool = False) -> Status:
        """Compute the nodes in `window` (None: all) as `plan` says; see `Graph.compute`."""
        if not self._computing.acquire(blocking=False):
            raise GraphError("the graph is being computed; wait until it ends, or compute a dup() of it")
        try:
            if plan.threadpool is not None:
                plan.threadpool.check_ready(auto_resume=auto_resume)
            if self._key.value in self._table:
                self._key.advance(self._storage)
            bound = self._bind(plan, partly=window is not None or plan.abort_callback is not None)
            self._storage.publish(bound.results)
            status = bound.compute(plan, window, auto_resume=auto_resume)
            if status is Status.SUCCESS and window is None:
                self._update(bound)
            return status
        finally:
            self._computing.release()

    def _bind(self, plan: ComputePlan, *, partly: bool) -> StaticExecutor:
        planned = self.static_plan()
        if plan.work_size < planned.work_size:
            raise GraphError("the graph has grown since it was planned: plan() it again")
        memory = plan.memory()
        for leaf, _ in self.updates:
            self._storage.own(leaf)
        state = (self._table.version, self._storage.version, plan.use_ref)
        if self._bound is None or self._bound[0] != state or self._bound[1] is not plan.work_data:
            self._check_filled(planned)
            bound = StaticExecutor(planned, self._storage, memory, self._table.name_of, ref=plan.use_ref)
            state = (self._table.version, self._storage.version, plan.use_ref)
            if partly:
                self._carry_over(planned, bound)
            self._bound = state, plan.work_data, bound
        return self._bound[2]

    def _check_filled(self, planned: StaticPlan) -> None:
        for number in planned.leaves:
            leaf = planned.values[number]
            if not self._storage.is_filled(leaf):
                raise GraphError(f"{self._table.name_of(leaf)} has no data: set() it before the graph is computed")

    def _carry_over(self, planned: StaticPlan, bound: StaticExecutor) -> None:
        """Copy results to the new memory: a partial computation does not compute all of them."""
        owned = [planned.values[number] for number in planned.results]
        before = [(value, self._storage.result(value)) for value in owned]
        kept = [(value, array.copy()) for value, array in before if array is not None]
        for value, array in kept:
            np.copyto(bound.results[value.key], array)

    def _update(self, bound: StaticExecutor) -> None:
        """Write the updates to their leaves. Sources that share memory with a target are copied first."""
        targets = [self._storage.leaf(leaf) for leaf, _ in self.updates]
        sources = [bound.results[new.key] for _, new in self.updates]
        kept = [
            source.copy() if any(np.may_share_memory(source, target) for target in targets) else source
            for source in sources
        ]
        for target, source in zip(targets, kept, strict=True):
            np.copyto(target, source)
