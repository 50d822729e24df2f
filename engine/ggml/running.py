"""Running a static graph: its results bound to memory once, its kernels called as often as wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from engine.core.errors import REFUSALS, ComputeError, EngineError
from engine.core.value import Array, Value
from engine.execution.plan.numpy_executor import prepare
from engine.execution.plan.plan import Step
from engine.ggml.arrangement import Arrangement
from engine.ggml.compute_plan import ComputePlan
from engine.ggml.job import Job
from engine.ggml.status import Status
from engine.ggml.storage import Storage
from engine.ggml.threadpool import Threadpool
from engine.graph.simplify import Instruction

Names = Callable[[Value], str]


@dataclass(frozen=True)
class Kernel:
    """One prepared call; `place` is the position of its first result among the nodes of the graph."""

    call: Callable[[], Any]
    place: int
    name: str
    sources: tuple[int, ...]

    def run(self) -> None:
        """Compute the node.

        Raises:
            ComputeError: the numbers do not suit the op, or memory ran out.
        """
        try:
            self.call()
        except MemoryError as error:
            detail = f": {error}" if str(error) else ""
            raise ComputeError(f"{self.name}: no memory is left{detail}", Status.ALLOC_FAILED) from error
        except (EngineError, *REFUSALS) as error:
            raise ComputeError(f"{self.name}: {error}", Status.FAILED) from error


class Bound:
    """An arrangement bound to memory: prepared calls, and the array of every result."""

    def __init__(self, arrangement: Arrangement, storage: Storage, memory: Array, names: Names, *, ref: bool) -> None:
        """Prepare every call."""
        arrays: dict[int, Array] = {n: storage.leaf(arrangement.values[n]) for n in arrangement.leaves}
        arrays.update({number: storage.writable(leaf) for number, leaf in arrangement.sums.items()})
        for number, offset in arrangement.offsets.items():
            arrays[number] = _window(memory, offset, arrangement.values[number])
        for number, layout in enumerate(arrangement.layouts):
            if number not in arrays:
                shape, dtype = arrangement.values[number].spec
                base = arrays[layout.base].reshape(-1).view(np.uint8)
                arrays[number] = (
                    np.ndarray(shape, dtype, buffer=base.data, offset=layout.offset, strides=layout.strides)
                    if base.size
                    else np.empty(shape, dtype)
                )
        self.results = {arrangement.values[n].key: array for n, array in arrays.items()}
        self.kernels = tuple(_kernels(arrangement, arrays, names, ref=ref))

    def run(self, plan: ComputePlan, window: range | None, *, auto_resume: bool) -> Status:
        """Run every kernel whose place is in `window` (None: all), on the threads of the plan."""
        kernels = self.kernels
        if window is not None:
            kernels = tuple(kernel for kernel in kernels if kernel.place in window)
        stop = None if plan.abort_callback is None else partial(plan.abort_callback, plan.abort_callback_data)
        if plan.threadpool is None and (plan.n_threads == 1 or len(kernels) < 2):
            with np.errstate(all="ignore"):
                return _in_order(kernels, stop)
        job = _job(kernels, stop)
        if plan.threadpool is not None:
            plan.threadpool.run(job, plan.n_threads, auto_resume=auto_resume)
        else:
            with Threadpool(plan.n_threads) as pool:
                pool.run(job)
        return Status.ABORTED if job.stopped else Status.SUCCESS


def _in_order(kernels: Sequence[Kernel], stop: Callable[[], bool] | None) -> Status:
    for kernel in kernels:
        kernel.run()
        if stop is not None and stop():
            return Status.ABORTED
    return Status.SUCCESS


def _job(kernels: Sequence[Kernel], stop: Callable[[], bool] | None) -> Job:
    """Make a job of the kernels: one after another when it may be stopped, else as soon as their inputs are there."""
    positions = {kernel.place: position for position, kernel in enumerate(kernels)}

    def task(kernel: Kernel) -> bool:
        kernel.run()
        return stop is not None and stop()

    tasks = [partial(task, kernel) for kernel in kernels]
    if stop is not None:
        return Job(tasks, [[position - 1] if position else [] for position in range(len(kernels))])
    return Job(tasks, [[positions[place] for place in kernel.sources if place in positions] for kernel in kernels])


def _kernels(arrangement: Arrangement, arrays: dict[int, Array], names: Names, *, ref: bool) -> list[Kernel]:
    made_at = {
        number: place
        for instruction, place in zip(arrangement.instructions, arrangement.places, strict=True)
        for number in instruction.outputs
    }
    kernels = []
    for instruction, place in zip(arrangement.instructions, arrangement.places, strict=True):
        bases = {arrangement.layouts[number].base for number in instruction.inputs}
        sources = tuple(sorted({made_at[base] for base in bases if base in made_at}))
        name = f"{names(arrangement.values[instruction.outputs[0]])} ({instruction.op.name})"
        call = _plain(instruction, arrays) if ref else _prepared(instruction, arrays)
        if call is not None:
            kernels.append(Kernel(call, place, name, sources))
    return kernels


def _prepared(instruction: Instruction, arrays: dict[int, Array]) -> Callable[[], Any] | None:
    step = Step(instruction.op, instruction.inputs, instruction.outputs, instruction.attrs)
    return prepare(step, [arrays[n] for n in step.inputs], [arrays[n] for n in step.outputs])


def _plain(instruction: Instruction, arrays: dict[int, Array]) -> Callable[[], Any] | None:
    """Let results be computed into arrays of their own and then be copied into place."""
    apart = {**arrays, **{number: np.empty_like(arrays[number]) for number in instruction.outputs}}
    call = _prepared(instruction, apart)
    pairs = [(arrays[number], apart[number]) for number in instruction.outputs]
    return None if call is None else partial(_then_copy, call, pairs)


def _then_copy(call: Callable[[], Any], pairs: Sequence[tuple[Array, Array]]) -> None:
    call()
    for target, source in pairs:
        np.copyto(target, source)


def _window(memory: Array, offset: int, value: Value) -> Array:
    if not value.nbytes:
        return np.empty(value.shape, value.dtype)
    return np.ndarray(value.shape, value.dtype, buffer=memory.data, offset=offset)
