"""Many training steps in one call of the interpreter of plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from engine.core.dtypes import INT64
from engine.core.value import Array
from engine.data import Source
from engine.execution.plan import NumpyExecutor
from engine.graph.trace import KEY
from engine.training.fit.steps import StepBatch
from engine.training.step.names import AVERAGING, FINITE, LOSS, LOSS_WEIGHT, MOMENTUM, SQUARED_NORM, STEP, rate_input

if TYPE_CHECKING:
    from engine.execution.native.loop import Loop


MAX_STEPS_PER_CALL = 4096
"""Maximum number of steps in one call."""


@dataclass(frozen=True)
class MultiStepResult:
    """Outputs of the steps of one call: losses, their weights, squared norms of the gradients."""

    losses: Sequence[float]
    weights: Sequence[float] | None
    squared_norms: Sequence[float] | None

    def first_nonfinite(self) -> int | None:
        """Return the index of the first step whose loss or norm is not finite, or None."""
        finite = np.isfinite(self.losses)
        if self.squared_norms is not None:
            finite &= np.isfinite(self.squared_norms)
        return None if finite.all() else int(np.argmin(finite))


class MultiStep:
    """Runs the plan of a whole step in a loop, on rows that lie in memory."""

    def __init__(self, loop: Loop) -> None:
        """Use a loop whose plan is a whole training step."""
        self._loop = loop

    @classmethod
    def of(cls, executor: NumpyExecutor, source: Source) -> Self | None:
        """Return a runner of an executor's plan, or None where steps or rows need Python."""
        segment = executor.whole
        blocks = {name: source.blocks(name) for name in source.inputs}
        if segment is None or any(name not in executor.inputs for name in blocks):
            return None
        from engine.execution.native.executor import NativeExecutor  # imports numba
        from engine.execution.native.loop import Blocks, Loop

        assert isinstance(executor, NativeExecutor)
        rows = {}
        for name, found in blocks.items():
            if found is None or found[0].dtype != executor.inputs[name].dtype:
                return None
            data, first, count = found
            step = data.strides[0] if data.ndim and len(data) else 0
            rows[name] = Blocks(data, data.ctypes.data + first * step, step, count * step)
        fed = [name for name in executor.inputs if name not in rows]
        logged = [name for name in (LOSS, LOSS_WEIGHT, SQUARED_NORM) if name in executor.outputs]
        until = FINITE if FINITE in executor.outputs else None
        return cls(Loop(executor, segment, rows, fed, logged, MAX_STEPS_PER_CALL, until))

    def run(self, source: Source, batch: StepBatch, seed: int) -> MultiStepResult:
        """Run the steps, until one is not finite where the plan reports that; return the outputs of each."""
        loop, steps = self._loop, len(batch.rows)
        first = batch.first.step
        count = np.arange(first, first + steps)
        given: dict[str, Any] = {STEP: count, MOMENTUM: batch.momenta, AVERAGING: batch.averaging}
        given.update({rate_input(group): batch.rates[:, group] for group in range(batch.rates.shape[1])})
        for name, table in loop.fed.items():
            if name == KEY:
                table[:steps, 0], table[:steps, 1] = seed, count
            else:
                table[:steps] = given[name]
        numbers = np.ascontiguousarray(source.row_of(batch.rows.reshape(-1)), INT64).reshape(batch.rows.shape)
        done = loop.run(numbers)
        return MultiStepResult(
            self._listed(LOSS, done) or [], self._listed(LOSS_WEIGHT, done), self._listed(SQUARED_NORM, done)
        )

    def _listed(self, name: str, done: int) -> list[float] | None:
        table: Array | None = self._loop.logged.get(name)
        return None if table is None else table[:done].reshape(done).tolist()
