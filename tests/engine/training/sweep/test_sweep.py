"""Sweeps run by the engine alone: each variant is what it would be alone, however many threads run them."""

import itertools
from typing import Any

import numpy as np
import pytest

import engine
from tests.support.rows import each_row

ROWS = np.random.default_rng(5)
X = ROWS.standard_normal((40, 3)).astype(np.float32)
COLUMNS = {"x": X, "label": (X[:, 0] > 0).astype(np.int64)}
GRAPH = engine.parse_graph(
    {
        "inputs": {"x": ["batch", 3], "label": {"shape": ["batch"], "dtype": "int64"}},
        "layers": [{"layer": "linear", "units": 5, "activation": "tanh"}, {"layer": "linear", "units": 2}],
        "loss": "cross_entropy",
    }
)
RECIPE: dict[str, Any] = {"epochs": 4, "batch_size": 8, "optimizer": {"kind": "adam", "lr": 0.01}}
GRID: dict[str, Any] = {"kind": "grid", "parameters": {"optimizer.lr": [0.1, 0.001, 0.01], "seed": [0, 1]}}


def sweep(recipe: dict[str, Any] = RECIPE, *, threads: int = 1, **changes: Any) -> engine.Sweep:
    return engine.Sweep(GRAPH, recipe, {**GRID, **changes}, COLUMNS, threads=threads)


def alone(variant: engine.sweep.Variant) -> engine.Fit:
    # As many threads as beside others: one.
    fit = engine.Fit(GRAPH, engine.read_recipe(variant.recipe), COLUMNS, execution=engine.Execution(threads=1))
    list(fit)
    return fit


@pytest.mark.parametrize("threads", [2, 5])
def test_variants_come_to_the_bits_that_they_come_to_alone(threads: int) -> None:
    results = sweep(threads=threads).run()
    assert len(results) == 6
    for result in results:
        fit = alone(result.variant)
        assert result.checkpoint is not None
        assert (result.step, result.value) == (20, fit.best and fit.best["value"])
        for name, array in fit.snapshot().parameters.items():
            assert array.tobytes() == result.checkpoint.parameters[name].tobytes()


def test_results_are_ranked_by_the_monitored_metric() -> None:
    found = sweep(threads=2)
    assert (found.monitor, found.mode) == ("loss", "min")
    values = [result.value for result in found.run()]
    assert values == sorted(values)
    best = sweep({**RECIPE, "metrics": ["accuracy"], "validation": {"split": 0.25}}, monitor="val_accuracy")
    assert best.mode == "max"
    values = [result.value for result in best.run()]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("threads", [1, 3])
def test_halving_runs_fewer_steps_and_its_survivor_as_it_would_alone(threads: int) -> None:
    results = sweep(kind="halving", eta=2, min_steps=5, threads=threads).run()
    assert sorted(result.step for result in results) == [5, 5, 5, 10, 10, 20]
    survivor = next(result for result in results if result.step == 20)
    assert survivor.stopped is None
    assert all("left behind" in result.stopped for result in results if result.step < 20)
    assert survivor.checkpoint is not None
    for name, array in alone(survivor.variant).snapshot().parameters.items():
        assert array.tobytes() == survivor.checkpoint.parameters[name].tobytes()


def test_a_variant_that_fails_ranks_last_and_says_why() -> None:
    recipe = {**RECIPE, "divergence": {"action": "stop"}, "optimizer": {"kind": "sgd", "lr": 0.1}}
    results = sweep(recipe, parameters={"optimizer.lr": [1e38, 0.1]}).run()
    assert [result.variant.index for result in results] == [1, 0]
    assert isinstance(results[1].failure, engine.EngineError)
    assert results[0].failure is None


def test_a_sweep_that_is_stopped_goes_on_with_the_variants_that_are_left() -> None:
    found, seen = sweep(), itertools.count()

    def watch(variant: engine.sweep.Variant, fit: engine.Fit, points: Any) -> None:
        if variant.index == 3 and next(seen) == 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found.run(watch)
    assert sorted(result.step for result in found.results) == [0, 0, 0, 20, 20, 20]
    assert {result.step for result in found.run()} == {20}


COLUMN_INFO = {
    "x": engine.ColumnInfo("float32", (3,), 40, -3.0, 3.0),
    "label": engine.ColumnInfo("int64", (), 40, 0, 1),
}


def checked(recipe: dict[str, Any] = RECIPE, **changes: Any) -> engine.sweep.SweepEstimate:
    options = engine.sweep.read_sweep({**GRID, **changes})
    return engine.sweep.check_sweep(GRAPH, options, engine.sweep.expand(recipe, options), COLUMN_INFO)


def test_what_a_sweep_will_take_is_known_before() -> None:
    estimate = checked()
    assert [fit.total_steps for fit in estimate.fits] == [20] * 6
    assert (estimate.total_steps, estimate.rungs, estimate.monitor, estimate.mode) == (120, (), "loss", "min")
    assert checked(kind="halving", eta=2).rungs == (5, 10)
    assert checked(kind="halving", eta=2).total_steps == 6 * 5 + 3 * 5 + 10
    sizes = checked(parameters={"batch_size": [4, 8]})
    assert [fit.total_steps for fit in sizes.fits] == [40, 20]
    assert sizes.fits[0].memory["plan_bytes"] < sizes.fits[1].memory["plan_bytes"]


@each_row(
    ("changes", "expected"),
    [
        ({"parameters": {"optimizer.lr": [0.1, -1, "a"]}}, ["/optimizer.lr/1", "/optimizer.lr/2"]),
        ({"parameters": {"optimizer.kind": ["sgd", "sgt"], "seed": [0, 1]}}, ["/optimizer.kind/1"]),
        ({"parameters": {"batch_size": [0, 8], "epochs": [1, -1]}}, ["/batch_size/0", "/epochs/1"]),
        ({"parameters": {"optimizer": ["sgt"]}}, ["/optimizer/0"]),
        ({"parameters": {"early_stopping.monitor": ["val_loss"]}}, ["/early_stopping.monitor/0"]),
    ],
)
def test_every_wrong_value_is_pointed_at_once(changes: dict[str, Any], expected: list[str]) -> None:
    with pytest.raises(engine.DocumentError) as caught:
        checked(**changes)
    assert [finding.pointer for finding in caught.value.findings] == [f"/sweep/parameters{place}" for place in expected]


def test_a_fault_that_all_variants_have_is_one_of_the_fit() -> None:
    with pytest.raises(engine.DocumentError) as caught:
        checked({**RECIPE, "optimizer": {"kind": "sgt"}})
    assert [finding.pointer for finding in caught.value.findings] == ["/optimizer"]


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"monitor": "val_loss"}, "/sweep/monitor"),
        ({"kind": "halving", "min_steps": 20}, "/sweep/min_steps"),
    ],
)
def test_what_the_fits_cannot_give_is_refused(changes: dict[str, Any], pointer: str) -> None:
    with pytest.raises(engine.DocumentError) as caught:
        checked(**changes)
    assert [finding.pointer for finding in caught.value.findings] == [pointer]
