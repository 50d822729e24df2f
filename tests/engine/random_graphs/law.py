"""The law: however a program is run, its numbers are the same.

On the tape and as a plan by NumPy they are equal to the bit; by compiled kernels within what rounding explains, and
equal to the bit whether steps are gone through together or one after the other. Where the batch is cut into shards,
they are within what rounding explains, and equal to the bit for any number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from engine.autograd.backward import reachable
from engine.core.dtypes import is_float
from engine.core.errors import EngineError, GradientError
from engine.core.value import Array
from engine.execution.plan import Plan
from tests.engine.random_graphs.executors import Native, Results, by_numpy, on_tape, replay, trace
from tests.engine.random_graphs.program import Program
from tests.engine.random_graphs.thresholds import Thresholds
from tests.engine.random_graphs.tolerance import Tolerance

MOST_SHARDS = 8
MOST_NODES = 10_000
"""Second derivatives of some rules, as that of products of all but one, take the square of the number of elements."""
THREADS = (1, 2, 3)


@dataclass(frozen=True)
class Broken:
    """A way in which the law is broken: which comparison fails, and what it finds."""

    law: str
    detail: str

    def __str__(self) -> str:
        return f"{self.law}: {self.detail}"


def check(program: Program, thresholds: Thresholds) -> Broken | None:
    """Run a program in every way; return the first comparison that fails, or None."""
    with thresholds.applied():
        return _checked(program)


def _checked(program: Program) -> Broken | None:
    definition = program.definition()
    runs = 2 if program.updates else 1
    try:
        taped = list(on_tape(program, definition, runs))
    except EngineError as error:
        if program.twice and isinstance(error, GradientError):  # a rule that has no derivative of its own
            return _checked(replace(program, twice=False))
        if program.updates:  # an op that checks its numbers takes those of the first run only
            return _checked(replace(program, updates={}))
        raise
    traced = trace(program, definition)
    nodes = reachable([*traced.results.values(), *traced.updates.values()])
    if program.twice and len(nodes) > MOST_NODES:
        return _checked(replace(program, twice=False))
    plan = traced.plan()
    if differing := different_runs(taped, by_numpy(plan, program, runs)):
        return Broken("tape and NumPy plan differ", differing)
    tolerance = Tolerance(taped[0], lambda noise: replay(traced, nodes, noise))
    found = _compiled(plan, program, runs, tolerance)
    if found is None:
        plan = traced.plan(MOST_SHARDS)
        found = _compiled(plan, program, runs, tolerance) if plan.shards > 1 else None
    return found


def _compiled(plan: Plan, program: Program, runs: int, tolerance: Tolerance) -> Broken | None:
    """Compare what compiled kernels make of a plan with what they make of it in other ways, and with NumPy's."""
    native = Native(plan, program)
    found = native.run(1, runs)
    if plan.shards > 1:
        for threads in THREADS[1:]:
            if differing := different_runs(found, native.run(threads, runs)):
                return Broken("threads change bits", f"{threads} threads, {plan.shards} shards: {differing}")
    elif plan.groups:
        apart = Native(replace(plan, groups=()), program).run(1, runs)
        if differing := different_runs(apart, found):
            return Broken("steps that are gone through together have other bits", differing)
    faults = tolerance.faults(found[0])
    where = "with shards" if plan.shards > 1 else "without shards"
    return Broken(f"compiled kernels are off, {where}", "; ".join(faults[:4])) if faults else None


def different_runs(expected: list[Results], found: list[Results]) -> str:
    """Say in which bits runs differ."""
    for number, (one, other) in enumerate(zip(expected, found, strict=True)):
        if differing := different(one, other):
            return f"run {number}: {differing}"
    return ""


def different(expected: Mapping[str, Array], found: Mapping[str, Array]) -> str:
    """Say in which bits results differ: nothing if they are equal, NaN for NaN."""
    if expected.keys() != found.keys():
        return f"there are {sorted(found)}, not {sorted(expected)}"
    for name, array in expected.items():
        other = found[name]
        if (array.shape, array.dtype) != (other.shape, other.dtype):
            return f"{name} is {other.dtype}{list(other.shape)}, not {array.dtype}{list(array.shape)}"
        if array.tobytes() != other.tobytes():
            wrong = bits(array) != bits(other)
            if wrong.any():
                worst = int(np.argmax(wrong))
                one, two = array.reshape(-1)[worst], other.reshape(-1)[worst]
                return f"{name}: {int(wrong.sum())} of {wrong.size} elements; element {worst} is {two!r}, not {one!r}"
    return ""


def bits(array: Array) -> Array:
    """Return the bits of each element, but one and the same for every NaN."""
    if is_float(array.dtype):
        with np.errstate(all="ignore"):
            array = np.where(np.isnan(array), np.asarray(np.nan, array.dtype), array)
    array = np.ascontiguousarray(array).reshape(-1)
    return array.view(np.dtype(f"u{array.itemsize}"))
