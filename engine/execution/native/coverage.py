"""Which kernels a plan needs, and which steps the native executor runs in NumPy, found without memory for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from engine.core.dtypes import DType
from engine.core.value import Array
from engine.execution.native import kernels
from engine.execution.native.kernel import Kernel
from engine.execution.native.lowering import Call, Work
from engine.execution.native.packing import calls_of
from engine.execution.plan.plan import Buffer, Plan, Step
from engine.execution.plan.schedule import buffer_of, schedule_phase
from engine.execution.plan.sharding import ALL_REDUCE

assert kernels  # declares the lowerings


def numpy_steps(plan: Plan) -> tuple[str, ...]:
    """Return the ops, each once, of steps that have no compiled kernel for their operands.

    Of a phase that shards run, the first counts: the parts of the others need the same kernels.
    """
    return tuple(dict.fromkeys(step.op.name for step, calls in _lowered(plan) if calls is None))


def kernels_of(plan: Plan) -> list[tuple[Kernel, DType]]:
    """Return the kernels that the steps of a plan call and the dtype of each, every pair once."""
    return list(dict.fromkeys((call.kernel, call.dtype) for _, calls in _lowered(plan) for call in calls or ()))


def _lowered(plan: Plan) -> Iterator[tuple[Step, Sequence[Call] | None]]:
    """Yield the steps that are ops of the graph, each with its calls, None where no kernel takes its operands."""
    for run in (run for phase in plan.phases for run in schedule_phase(plan, phase, 0)):
        step = run.step
        if step.op is ALL_REDUCE or step.op.memory.packs:
            continue
        inputs = [_stand_in(buffer_of(plan, seen)) for seen in run.inputs]
        outputs = [_stand_in(buffer_of(plan, seen)) for seen in run.outputs]
        yield step, calls_of(step.op.name, Work(inputs, outputs, step.attrs))


def _stand_in(buffer: Buffer) -> Array:
    """Return an array of the shape and strides of a buffer that has but one element."""
    return np.lib.stride_tricks.as_strided(np.zeros(1, buffer.spec.dtype), buffer.spec.shape, buffer.strides)
