"""Which steps of a plan the native executor runs in NumPy, found out without memory for them."""

from __future__ import annotations

import numpy as np

from engine.core.value import Array
from engine.execution.plan.plan import Buffer, Plan


def numpy_steps(plan: Plan) -> tuple[str, ...]:
    """Return the ops, each once, of steps that have no compiled kernel for their operands.

    Shards see parts of what is looked at here; the kernels that a part needs are those of the whole.
    """
    from engine.execution.native import kernels  # imports numba
    from engine.execution.native.lowering import LOWERINGS, Work
    from engine.execution.plan.sharding import JOIN

    assert kernels
    found: dict[str, None] = {}
    for step in plan.steps:
        if step.op is JOIN or step.op.memory.packs:
            continue
        lowering = LOWERINGS.get(step.op.name)
        inputs = [_stand_in(plan.buffers[number]) for number in step.inputs]
        outputs = [_stand_in(plan.buffers[number]) for number in step.outputs]
        if lowering is None or lowering(Work(inputs, outputs, step.attrs)) is None:
            found[step.op.name] = None
    return tuple(found)


def _stand_in(buffer: Buffer) -> Array:
    """Return an array of the shape and strides of a buffer that has but one element."""
    return np.lib.stride_tricks.as_strided(np.zeros(1, buffer.spec.dtype), buffer.spec.shape, buffer.strides)
