"""The NumPy executor of static graphs: every node keeps its memory, and a window of the nodes can be run.

A ComputePlan (ggml_cplan) holds the memory, threads and abort callback of one computation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np

from engine.core.errors import REFUSALS, ComputeError, EngineError, GraphError
from engine.core.value import Array, Value
from engine.execution.plan import NumpyExecutor, Plan
from engine.execution.plan.numpy_executor import prepare
from engine.execution.plan.plan import Allocation, Buffer, Step, layouts, nbytes
from engine.ggml.context import align
from engine.ggml.storage import Storage, allocate_zeroed
from engine.ggml.tensor_table import TensorTable
from engine.ggml.threadpool import Job, Threadpool
from engine.graph.simplify import Instruction, Listing

Names = Callable[[Value], str]


@dataclass(frozen=True)
class StaticPlan:
    """The computed part of a static graph as a plan.

    A root of kind "state", named by the number of its value, is a leaf, or a sum in the memory of a leaf. The arena
    holds all other results side by side, so that each can be read after the computation.

    Attributes:
        plan: steps and buffers; a result that is a view has no step.
        values: every leaf and result, by number.
        positions: for each step, the position of its first result among the nodes of the graph.
        leaves: the numbers of the leaves that are read, and `results` those of the values in the arena.
        sums: by number of a sum, the leaf whose memory holds it.
    """

    plan: Plan
    values: tuple[Value, ...]
    positions: tuple[int, ...]
    leaves: tuple[int, ...]
    results: tuple[int, ...]
    sums: dict[int, Value]

    @property
    def work_size(self) -> int:
        """Bytes of the arena."""
        return self.plan.arena_bytes


def make_static_plan(table: TensorTable, sums: Iterable[tuple[Value, Value]]) -> StaticPlan:
    """Plan the computed part of `table`; each of `sums` is a result and the leaf whose memory it is computed into."""
    computed = table.computed()
    values = tuple(value for value in table if value.key in computed)
    numbers = {value.key: number for number, value in enumerate(values)}
    into = {numbers[total.key]: leaf for total, leaf in sums if total.key in numbers}
    listing = Listing(specs=[value.spec for value in values])
    positions: list[int] = []
    for value in values:
        if value.node is not None and value.index == 0:
            inputs = tuple(numbers[source.key] for source in value.node.inputs)
            made = tuple(numbers[(value.node, index)] for index in range(len(value.node.outputs)))
            listing.instructions.append(Instruction(value.node.op, inputs, made, value.node.attrs))
            positions.append(table.place(value))
    laid, free = layouts(listing)
    kept = [index for index in range(len(listing.instructions)) if index not in free]
    leaves = tuple(number for number, value in enumerate(values) if value.node is None)
    outputs = (number for index in kept for number in listing.instructions[index].outputs)
    results = tuple(number for number in outputs if number not in into)
    allocations = [Allocation("state", str(number), values[number].nbytes) for number in (*leaves, *into)]
    arena_bytes = 0
    for number in results:
        allocations.append(Allocation("arena", str(number), values[number].nbytes, arena_bytes))
        arena_bytes += align(nbytes(listing.specs[number]))
    root_of = {int(allocation.name): index for index, allocation in enumerate(allocations)}
    buffers = {
        number: Buffer(root_of[at.base], at.offset, listing.specs[number], at.strides, base=at.base)
        for number, at in enumerate(laid)
    }
    instructions = [listing.instructions[index] for index in kept]
    plan = Plan(
        steps=tuple(Step(each.op, each.inputs, each.outputs, each.attrs) for each in instructions),
        buffers=buffers,
        allocations=tuple(allocations),
        constants={},
        inputs={},
        state={str(number): number for number in (*leaves, *into)},
        outputs={},
        updates={},
        copies=(),
        arena_bytes=arena_bytes,
        phases=(),
    )
    return StaticPlan(plan, values, tuple(positions[index] for index in kept), leaves, results, into)


@dataclass(frozen=True)
class Kernel:
    """One prepared call.

    `position` is that of its first result among the nodes; `sources` are the positions of the calls it waits for.
    """

    call: Callable[[], Any]
    position: int
    name: str
    sources: tuple[int, ...]

    def run(self) -> None:
        """Compute the node.

        Raises:
            ComputeError: the op refuses the numbers, or memory ran out.
        """
        try:
            self.call()
        except MemoryError as error:
            detail = f": {error}" if str(error) else ""
            raise ComputeError(f"{self.name}: out of memory{detail}", Status.ALLOC_FAILED) from error
        except (EngineError, *REFUSALS) as error:
            raise ComputeError(f"{self.name}: {error}", Status.FAILED) from error


class StaticExecutor(NumpyExecutor):
    """A static plan bound to memory.

    Attributes:
        results: the array of every leaf and result, by key.
    """

    def __init__(self, planned: StaticPlan, storage: Storage, arena: Array, names: Names, *, ref: bool) -> None:
        """Prepare every call; with `ref`, calls compute into separate arrays and copy the results into place."""
        self._planned, self._names, self._ref = planned, names, ref
        state = {str(number): storage.leaf(planned.values[number]) for number in planned.leaves}
        state.update({str(number): storage.writable(leaf) for number, leaf in planned.sums.items()})
        super().__init__(planned.plan, state, arena)
        self.results = {planned.values[number].key: array for number, array in self.arrays.items()}

    def _bind(self) -> None:
        planned, plan = self._planned, self.plan
        steps = list(zip(plan.steps, planned.positions, strict=True))
        made_at = {number: position for step, position in steps for number in step.outputs}
        self._kernels = []
        for step, position in steps:
            bases = {plan.buffers[number].base for number in step.inputs}
            sources = tuple(sorted({made_at[base] for base in bases if base in made_at}))
            name = f"{self._names(planned.values[step.outputs[0]])} ({step.op.name})"
            call = self._prepare(step)
            if call is not None:
                self._kernels.append(Kernel(call, position, name, sources))

    def _prepare(self, step: Step) -> Callable[[], Any] | None:
        inputs, outputs = ([self.arrays[number] for number in numbers] for numbers in (step.inputs, step.outputs))
        if not self._ref:
            return prepare(step, inputs, outputs)
        separate = [np.empty_like(array) for array in outputs]
        call = prepare(step, inputs, separate)
        return None if call is None else partial(_call_and_copy, call, list(zip(outputs, separate, strict=True)))

    def compute(self, how: ComputePlan, window: range | None, *, auto_resume: bool) -> Status:
        """Run every kernel whose position is in `window` (None: all), on the threads of `how`."""
        kernels = [kernel for kernel in self._kernels if window is None or kernel.position in window]
        stop = None if how.abort_callback is None else partial(how.abort_callback, how.abort_callback_data)
        if how.threadpool is None and (how.n_threads == 1 or len(kernels) < 2):
            with np.errstate(all="ignore"):
                return _run_in_order(kernels, stop)
        job = _job(kernels, stop)
        if how.threadpool is not None:
            how.threadpool.run(job, how.n_threads, auto_resume=auto_resume)
        else:
            with Threadpool(how.n_threads) as pool:
                pool.run(job)
        return Status.ABORTED if job.stopped else Status.SUCCESS


def _run_in_order(kernels: Sequence[Kernel], stop: Callable[[], bool] | None) -> Status:
    for kernel in kernels:
        kernel.run()
        if stop is not None and stop():
            return Status.ABORTED
    return Status.SUCCESS


def _job(kernels: Sequence[Kernel], stop: Callable[[], bool] | None) -> Job:
    """Return a job of the kernels: one after another when it may be stopped, else each as soon as its inputs are."""
    indices = {kernel.position: index for index, kernel in enumerate(kernels)}

    def task(kernel: Kernel) -> bool:
        kernel.run()
        return stop is not None and stop()

    tasks = [partial(task, kernel) for kernel in kernels]
    if stop is not None:
        return Job(tasks, [[index - 1] if index else [] for index in range(len(kernels))])
    return Job(tasks, [[indices[source] for source in kernel.sources if source in indices] for kernel in kernels])


def _call_and_copy(call: Callable[[], Any], pairs: Sequence[tuple[Array, Array]]) -> None:
    call()
    for target, source in pairs:
        np.copyto(target, source)


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
