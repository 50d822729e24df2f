"""What the tests of plans share: a computation written once, run on the tape and run as a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from engine.core.modes import no_grad, tracing
from engine.core.value import Array, Value
from engine.execution.plan import NumpyExecutor, Plan, make_plan

Body = Callable[[dict[str, Value]], tuple[dict[str, Value], dict[str, Value]]]
"""From leaves by name to outputs and updates of states, both by name."""


@dataclass
class Both:
    """Results of one computation on the tape and as a plan, after several runs."""

    plan: Plan
    taped: list[dict[str, Array]]
    planned: list[dict[str, Array]]

    def check(self) -> None:
        """The bits are the same: outputs and states after every run."""
        for taped, planned in zip(self.taped, self.planned, strict=True):
            assert taped.keys() == planned.keys()
            for name in taped:
                assert taped[name].dtype == planned[name].dtype
                np.testing.assert_array_equal(bits(taped[name]), bits(planned[name]), err_msg=name)


def bits(array: Array) -> Array:
    """Return the bits of an array, but one and the same for every NaN."""
    array = np.where(np.isnan(array), np.asarray(np.nan, array.dtype), array) if array.dtype.kind == "f" else array
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


@pytest.fixture
def both() -> Callable[..., Both]:
    """Give a function that runs a body on the tape and as a plan, several times with the state carried on.

    Unless `vary` is False, the inputs of the second run are twice those of the first, and so on.
    """

    def run(
        body: Body,
        inputs: Mapping[str, Array],
        state: Mapping[str, Array] | None = None,
        runs: int = 2,
        vary: bool = True,
    ) -> Both:
        state = state or {}
        feeds = [
            {name: np.asarray(array * (1 + run)) if vary else array for name, array in inputs.items()}
            for run in range(runs)
        ]
        plan = traced(body, inputs, state)
        return Both(plan, list(on_tape(body, feeds, state)), list(as_plan(plan, feeds, state)))

    return run


def leaf(name: str, like: Array, data: Array | None) -> Value:
    """Return a value of the shape and type of an array, that requires a gradient if it can."""
    return Value(like.shape, like.dtype, data, name=name, requires_grad=like.dtype.kind == "f")


def traced(body: Body, inputs: Mapping[str, Array], state: Mapping[str, Array]) -> Plan:
    """Plan the computation without running it."""
    leaves = {n: leaf(n, a, None) for n, a in {**inputs, **state}.items()}
    with tracing(lambda: pytest.fail("no random op is used here")):
        outputs, updates = body(leaves)
    return make_plan({n: leaves[n] for n in inputs}, {n: leaves[n] for n in state}, outputs, updates)


def on_tape(body: Body, feeds: list[dict[str, Array]], state: Mapping[str, Array]) -> Any:
    """Run the computation op by op, each result in memory of its own."""
    state = {name: array.copy() for name, array in state.items()}
    for feed in feeds:
        leaves = {n: leaf(n, a, a.copy()) for n, a in {**feed, **state}.items()}
        outputs, updates = body(leaves)
        with no_grad():
            results = {name: value.numpy().copy() for name, value in outputs.items()}
            state.update({name: value.numpy().copy() for name, value in updates.items()})
        yield {**results, **{f"state {name}": array for name, array in state.items()}}


def as_plan(plan: Plan, feeds: list[dict[str, Array]], state: Mapping[str, Array]) -> Any:
    """Run the plan on shared memory."""
    state = {name: array.copy() for name, array in state.items()}
    executor = NumpyExecutor(plan, state)
    for feed in feeds:
        for name, array in feed.items():
            executor.inputs[name][...] = array
        executor.run()
        results = {name: array.copy() for name, array in executor.outputs.items()}
        yield {**results, **{f"state {name}": array.copy() for name, array in state.items()}}
