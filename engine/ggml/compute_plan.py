"""ComputePlan: memory, threads and abort callback of one computation (ggml_cplan), and its status."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from engine.core.errors import GraphError
from engine.core.value import Array
from engine.ggml.storage import allocate_zeroed
from engine.ggml.threadpool import Threadpool


class Status(IntEnum):
    """Status of a computation (GGML_STATUS_*); the negative ones are raised, as the status of a ComputeError."""

    SUCCESS = 0
    ABORTED = 1
    FAILED = -1
    ALLOC_FAILED = -2


DEFAULT_N_THREADS = 4


@dataclass
class ComputePlan:
    """Options of a computation (ggml_cplan).

    Attributes:
        work_size: bytes of all results that the computation makes.
        n_threads: how many threads compute; fewer than 1 is an error.
        threadpool: the threads; None for a pool that is made and freed with each computation (with one thread: none).
        work_data: writable memory of at least `work_size` bytes, where the results lie.
        abort_callback: called with `abort_callback_data` after each node that is computed; True ends the computation.
            Nodes are then computed one at a time, in order, so that the ones behind stay untouched.
        use_ref: compute each result apart from the memory it belongs in and copy it there, as a reference.
        warnings: what was asked for and could not be granted.
    """

    work_size: int
    n_threads: int = DEFAULT_N_THREADS
    threadpool: Threadpool | None = None
    work_data: Any = None
    abort_callback: Callable[[Any], bool] | None = None
    abort_callback_data: Any = None
    use_ref: bool = False
    warnings: tuple[str, ...] = ()

    def allocate(self) -> ComputePlan:
        """Allocate `work_data`, and return the plan."""
        self.work_data = allocate_zeroed(self.work_size)
        return self

    def memory(self) -> Array:
        """Return `work_data` as bytes.

        Raises:
            GraphError: threads or memory are missing, or the memory is too small.
        """
        if self.n_threads < 1:
            raise GraphError(f"n_threads {self.n_threads} of a plan must be at least 1")
        if self.work_size and self.work_data is None:
            raise GraphError(f"the plan needs work_data of {self.work_size} bytes: set it, or call allocate()")
        if not self.work_size:
            return allocate_zeroed(0)
        memory = memoryview(self.work_data).cast("B")
        if memory.readonly or memory.nbytes < self.work_size:
            raise GraphError(f"work_data must be {self.work_size} bytes that can be written to, not {memory.nbytes}")
        return np.frombuffer(memory, np.uint8)


def make_compute_plan(work_size: int, n_threads: int = 0, threadpool: Threadpool | None = None) -> ComputePlan:
    """Plan a computation (ggml_graph_plan).

    Args:
        work_size: bytes of the results.
        n_threads: how many threads; below 1, those of the pool, or 4 without one.
        threadpool: a pool that is there; more threads than it has are cut to its number, with a warning.
    """
    if n_threads < 1:
        n_threads = threadpool.n_threads if threadpool else DEFAULT_N_THREADS
    plan = ComputePlan(work_size, n_threads, threadpool)
    if threadpool is not None and n_threads > threadpool.n_threads:
        plan.n_threads = threadpool.n_threads
        plan.warnings = (f"{n_threads} threads requested; the pool has {threadpool.n_threads}, which are used",)
    return plan
