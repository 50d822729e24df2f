"""How long each node of a step takes, and how many bytes it reads and makes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from engine.plan import NumpyExecutor
from engine.plan.numpy_executor import prepare
from engine.recipe import Recipe
from engine.session.batch import Batch
from engine.session.walking import walk
from engine.session.work import Work
from engine.training.plan_cache import cached_plan
from engine.training.plans import plan_update


@dataclass(frozen=True, slots=True)
class Timing:
    """One node of a step.

    Attributes:
        name: as the list of the graph's nodes has it; steps of the update are numbered.
        op: what it does.
        phase: "forward", "backward" or "update".
        seconds: of its NumPy kernel.
        bytes_read: of its inputs.
        bytes_made: of its outputs.
    """

    name: str
    op: str
    phase: str
    seconds: float
    bytes_read: int
    bytes_made: int


def profile(work: Work, recipe: Recipe, batch: Batch, key: tuple[int, int]) -> list[Timing]:
    """Measure forward, backward and update of one step; arrays stay as they are.

    Raises:
        DocumentError: numbers that an op does not take.
    """
    timings = []
    for visit in walk(work.model, batch, key):
        phase = "backward" if visit.backward else "forward"
        read, made = (sum(array.nbytes for array in arrays) for arrays in (visit.inputs, visit.outputs))
        timings.append(Timing(visit.name, visit.op, phase, visit.seconds, read, made))
    return [*timings, *_update(work, recipe)]


def _update(work: Work, recipe: Recipe) -> Iterator[Timing]:
    """Time the update on copies of the arrays, by the gradients as they are."""
    if not work.model.flats:
        return
    plan = cached_plan(plan_update, work.model, recipe, work.model.flats, "sum", tells_clipping=True)
    executor = NumpyExecutor(plan, {name: array.copy() for name, array in work.arrays.items()})
    for place, step in enumerate(plan.steps):
        call = prepare(step, executor.arrays)
        with np.errstate(all="ignore"):
            start = time.perf_counter()
            if call is not None:
                call()
            seconds = time.perf_counter() - start
        read, made = (sum(executor.arrays[n].nbytes for n in numbers) for numbers in (step.inputs, step.outputs))
        yield Timing(f"update {place}", step.op.name, "update", seconds, read, made)
