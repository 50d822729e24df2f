"""Execution: what a graph and its views share to be computed: memory, prepared calls, what is carried over."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.core.errors import ComputeError, GraphError
from engine.core.value import Array, Value
from engine.ggml.arrangement import Arrangement, arrange
from engine.ggml.compute_plan import ComputePlan
from engine.ggml.context import Context
from engine.ggml.graph_key import GraphKey
from engine.ggml.running import Bound
from engine.ggml.status import Status
from engine.ggml.storage import Storage, zeroed
from engine.ggml.tensor_table import TensorTable


class Execution:
    """Computes what is in a table.

    Attributes:
        sums: results and the leaves in whose memory they are computed.
        updates: leaves and the values they take on after each complete computation.
    """

    def __init__(self, table: TensorTable, storage: Storage, key: GraphKey) -> None:
        """Prepare nothing yet."""
        self.sums: list[tuple[Value, Value]] = []
        self.updates: list[tuple[Value, Value]] = []
        self._table = table
        self._storage = storage
        self._key = key
        self._arranged: tuple[int, Arrangement] | None = None
        self._bound: tuple[tuple[object, ...], Any, Bound] | None = None
        self._memory: tuple[Context | None, Array] | None = None
        self._computing = threading.Lock()

    def arrangement(self) -> Arrangement:
        """Return what there is to compute, worked out once for each state of the table."""
        if self._arranged is None or self._arranged[0] != self._table.version:
            self._arranged = self._table.version, arrange(self._table, self.sums)
        return self._arranged[1]

    def memory(self, context: Context | None = None) -> Array:
        """Return bytes for all results, kept from one computation to the next; of `context` when there is one.

        Raises:
            OutOfContextMemory: the context has not so many left.
            ComputeError: nor has the system.
        """
        size = self.arrangement().work_size
        if self._memory is None or not self._holds(context, size):
            try:
                self._memory = context, zeroed(size) if context is None else context.take(size)
            except MemoryError as error:
                raise ComputeError(f"no memory is left for {size} bytes of results", Status.ALLOC_FAILED) from error
        return self._memory[1]

    def missing(self, context: Context | None = None) -> int:
        """Return how many bytes `memory` would allocate: those of all results, or none where it holds enough."""
        size = self.arrangement().work_size
        return 0 if self._holds(context, size) else size

    def _holds(self, context: Context | None, size: int) -> bool:
        return self._memory is not None and self._memory[0] is context and self._memory[1].size >= size

    def reserved(self, context: Context) -> int:
        """Return how many bytes for results were taken of `context`."""
        return 0 if self._memory is None or self._memory[0] is not context else self._memory[1].size

    def published(self) -> Mapping[object, Array]:
        """Return the results of the last computation, by key; empty before the first."""
        return {} if self._bound is None else self._bound[2].results

    def resume(self, results: Mapping[object, Array], context: Context | None = None, nbytes: int = 0) -> None:
        """Hold `results`, by key, as if they had been computed, in `nbytes` of `context` or in memory of its own."""
        if context is not None:
            self._memory = context, context.take(nbytes)
        memory = self.memory(context)
        bound = Bound(self.arrangement(), self._storage, memory, self._table.name_of, ref=False)
        held: dict[object, Array] = {}
        for key, array in results.items():
            held[key] = bound.results.get(key, array)
            np.copyto(held[key], array)
        self._bound = (self._table.version, self._storage.version, False), memory, bound
        self._storage.publish(held)

    def compute(self, plan: ComputePlan, window: range | None = None, *, auto_resume: bool = False) -> Status:
        """Compute what is in `window` (None: everything) as `plan` says; see `Graph.compute`."""
        if not self._computing.acquire(blocking=False):
            raise GraphError("the graph is being computed; wait for the end, or make a dup() of it")
        try:
            if plan.threadpool is not None:
                plan.threadpool.check_ready(auto_resume=auto_resume)
            if self._key.value in self._table:
                self._key.advance(self._storage)
            bound = self._bind(plan, partly=window is not None or plan.abort_callback is not None)
            self._storage.publish(bound.results)
            status = bound.run(plan, window, auto_resume=auto_resume)
            if status is Status.SUCCESS and window is None:
                self._update(bound)
            return status
        finally:
            self._computing.release()

    def _bind(self, plan: ComputePlan, *, partly: bool) -> Bound:
        arrangement = self.arrangement()
        if plan.work_size < arrangement.work_size:
            raise GraphError("the graph has grown since it was planned: plan() it again")
        memory = plan.memory()
        for leaf, _ in self.updates:
            self._storage.own(leaf)
        state = (self._table.version, self._storage.version, plan.use_ref)
        if self._bound is None or self._bound[0] != state or self._bound[1] is not plan.work_data:
            self._check_filled(arrangement)
            bound = Bound(arrangement, self._storage, memory, self._table.name_of, ref=plan.use_ref)
            state = (self._table.version, self._storage.version, plan.use_ref)
            if partly:
                self._carry_over(arrangement, bound)
            self._bound = state, plan.work_data, bound
        return self._bound[2]

    def _check_filled(self, arrangement: Arrangement) -> None:
        for number in arrangement.leaves:
            leaf = arrangement.values[number]
            if not self._storage.is_filled(leaf):
                raise GraphError(f"{self._table.name_of(leaf)} has no data: set() it before the graph is computed")

    def _carry_over(self, arrangement: Arrangement, bound: Bound) -> None:
        """Let results that may not be computed now hold what they held in the memory they had before."""
        owned = [arrangement.values[number] for number in arrangement.offsets]
        before = [(value, self._storage.result(value)) for value in owned]
        kept = [(value, array.copy()) for value, array in before if array is not None]
        for value, array in kept:
            np.copyto(bound.results[value.key], array)

    def _update(self, bound: Bound) -> None:
        """Give leaves their new values, all as they were before the first of them changes."""
        targets = [self._storage.leaf(leaf) for leaf, _ in self.updates]
        sources = [bound.results[new.key] for _, new in self.updates]
        kept = [
            source.copy() if any(np.may_share_memory(source, target) for target in targets) else source
            for source in sources
        ]
        for target, source in zip(targets, kept, strict=True):
            np.copyto(target, source)
