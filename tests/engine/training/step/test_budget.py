"""Memory budgets: as much is computed again as they need, and nothing comes out differently."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine.core.errors import DocumentError
from engine.execution.plan import Plan, plan_text
from engine.training.check import ColumnInfo
from engine.training.step.plans import plan_training, trained_parameters
from engine.training.train_state import StateLayout

pytestmark = pytest.mark.law

UNITS, LAYERS, ROWS = 16, 24, 256
DEEP = engine.parse_graph(
    {
        "inputs": {"x": ["n", UNITS], "label": {"shape": ["n"], "dtype": "int64"}},
        "layers": [
            *[{"layer": "linear", "units": UNITS, "activation": "gelu"}] * LAYERS,
            {"layer": "linear", "units": 4},
        ],
        "loss": "cross_entropy",
    }
)


def planned(**options: Any) -> Plan:
    recipe = engine.read_recipe({"steps": 2, "batch_size": ROWS, **options})
    dims = {"n": ROWS}
    return plan_training(StateLayout(DEEP, trained_parameters(DEEP, dims), recipe.groups), dims, recipe)


PLAIN = planned()


def test_a_budget_that_is_large_enough_changes_nothing() -> None:
    assert plan_text(planned(memory_budget=PLAIN.peak_bytes)) == plan_text(PLAIN)


@pytest.mark.parametrize("share", [0.8, 0.6, 0.45])
def test_a_plan_fits_its_budget_and_computes_no_more_again_than_that_needs(share: float) -> None:
    budget = int(share * PLAIN.peak_bytes)
    plan = planned(memory_budget=budget)
    assert plan.peak_bytes <= budget
    pieces = [planned(recompute={"segments": n}) for n in (2, 3, 4, 6, 8, 12)]
    assert plan_text(plan) == plan_text(next(p for p in pieces if p.peak_bytes <= budget))
    assert plan.flops > PLAIN.flops


def test_parts_of_batches_have_the_budget_too() -> None:
    columns = {"x": ColumnInfo("float32", (UNITS,), ROWS), "label": ColumnInfo("int64", (), ROWS)}
    found = []
    for options in ({}, {"memory_budget": PLAIN.peak_bytes // 3}):
        recipe = engine.read_recipe({"steps": 1, "batch_size": ROWS, "micro_batch_size": ROWS // 2, **options})
        found.append(engine.check_fit(DEEP, recipe, columns).memory["plan_bytes"])
    assert found[1] < found[0]


def test_a_budget_that_nothing_meets_is_refused_with_the_least_there_is() -> None:
    with pytest.raises(DocumentError) as caught:
        planned(memory_budget=1000)
    (fault,) = caught.value.findings
    assert (fault.pointer, fault.code) == ("/memory_budget", "memory_exceeded")
    least = min(planned(recompute={"segments": n}).peak_bytes for n in (2, 3, 4, 6, 8, 12, 16, 24))
    assert f"needs at least {least} bytes" in fault.detail


def test_a_fit_is_refused_before_it_starts() -> None:
    columns = {"x": ColumnInfo("float32", (UNITS,), ROWS), "label": ColumnInfo("int64", (), ROWS)}
    recipe = engine.read_recipe({"steps": 2, "batch_size": ROWS, "memory_budget": 1000})
    with pytest.raises(DocumentError) as caught:
        engine.check_fit(DEEP, recipe, columns)
    assert [fault.pointer for fault in caught.value.findings] == ["/memory_budget"]


def test_a_fit_within_a_budget_comes_to_the_same_bits() -> None:
    drawn = np.random.default_rng(2)
    rows = {"x": drawn.standard_normal((600, UNITS)).astype("float32"), "label": drawn.integers(0, 4, 600)}
    found = []
    for options in ({}, {"memory_budget": PLAIN.peak_bytes // 2}, {"recompute": {"segments": 5}}):
        recipe = engine.read_recipe({"epochs": 2, "batch_size": ROWS, **options})
        fit = engine.Fit(DEEP, recipe, rows, execution=engine.Execution("numpy"))
        points = [point.to_json() for point in fit]
        found.append((points, {name: array.tobytes() for name, array in fit.model.arrays.items()}))
    assert found[0] == found[1] == found[2]
