"""Plans made before are found again, by all that they depend on and nothing else."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import engine
from engine.core.errors import EngineError
from engine.execution.plan import Plan, make_plan
from engine.graph.trace import build
from engine.training.step import plan_cache
from engine.training.step.plan_cache import LEFT_OUT, PlanCache, fact
from engine.training.step.plans import plan_evaluation, plan_training, plan_update, trained_parameters
from engine.training.train_state import StateLayout, StateOptions
from tests.support.rows import each_row

GRAPH: dict[str, Any] = {
    "inputs": {"x": ["batch", 4], "label": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [{"layer": "linear", "units": 5, "activation": "relu"}, {"layer": "linear", "units": 3}],
    "loss": "cross_entropy",
}


def planned(cache: PlanCache, batch: int = 8, graph: dict[str, Any] = GRAPH, **options: Any) -> Plan:
    """The plan of a training step by way of the cache; all that it is made from is new."""
    definition = engine.parse_graph(graph)
    recipe = engine.read_recipe({"steps": 5, "optimizer": "adam", **options})
    dims = {"batch": batch}
    form = StateLayout(
        definition,
        trained_parameters(definition, dims),
        recipe.groups,
        StateOptions(freeze=recipe.freeze, scaled=recipe.scaled),
    )
    return cache.plan(plan_training, form, dims, recipe)


@each_row(
    "options",
    [
        {"seed": 3},
        {"steps": 99},
        {"batch_size": 8},
        {"optimizer": {"kind": "adam", "lr": 0.5}},
        {"schedule": {"kind": "cosine", "t_max": 9}},
        {"validation": {"split": 0.1}},
        {"checkpoint": {"every_steps": 2}},
        {"record": {"every_steps": 2}},
    ],
    ids=str,
)
def test_a_fit_that_steps_alike_takes_the_plan_of_the_one_before(options: dict[str, Any]) -> None:
    cache = PlanCache()
    assert planned(cache) is planned(cache, **options)


@each_row(
    "options",
    [
        {"batch": 9},
        {"optimizer": "sgd"},
        {"optimizer": {"kind": "adam", "weight_decay": 0.1}},
        {"optimizer": {"kind": "adam", "betas": [0.8, 0.999]}},
        {"clip": {"norm": 1.0}},
        {"clip": {"norm": 2.0}},
        {"metrics": ["accuracy"]},
        {"precision": "mixed_float16"},
        {"divergence": {"action": "skip"}},
        {"noise": {"eta": 0.1}},
        {"record": {"gradient_norms": False}},
        {"freeze": [{"match": ["*weight*"], "last_epoch": 1}]},
        {"schedule": {"kind": "one_cycle", "max_lr": 0.1, "total_steps": 5}},
        {"graph": {**GRAPH, "layers": [*GRAPH["layers"][:1], {"layer": "linear", "units": 4}]}},
    ],
    ids=lambda options: str(options)[:60],
)
def test_a_fit_that_steps_in_another_way_has_a_plan_of_its_own(options: dict[str, Any]) -> None:
    cache = PlanCache()
    assert planned(cache) is not planned(cache, **options)
    assert len(cache) == 2


def test_what_is_planned_is_part_of_the_key() -> None:
    cache, definition = PlanCache(), engine.parse_graph(GRAPH)
    recipe = engine.read_recipe({"steps": 5})
    form = StateLayout(definition, trained_parameters(definition, {"batch": 4}), recipe.groups)
    plans = [
        cache.plan(plan_training, form, {"batch": 4}, recipe),
        cache.plan(plan_update, form, recipe, form.flat_groups, "mean"),
        cache.plan(plan_update, form, recipe, form.flat_groups, "weighted"),
        cache.plan(plan_evaluation, form, {"batch": 4}, ()),
        cache.plan(plan_evaluation, form, {"batch": 4}, (), outputs=True),
    ]
    assert len(cache) == len({id(plan) for plan in plans}) == 5


def test_numbers_that_are_equal_but_not_the_same_are_distinguished() -> None:
    values = [1, 1.0, True, 0.0, -0.0, False, "1", None, (1,), [1], np.array([1]), np.array([1.0])]
    assert len({fact(value) for value in values}) == len(values)
    assert fact({"a": np.arange(3)}) == fact({"a": np.arange(3)})


def test_predictions_of_two_checkpoints_of_a_graph_share_a_plan_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    created: list[Plan] = []

    def counted(*args: Any, **kwargs: Any) -> Plan:
        created.append(make_plan(*args, **kwargs))
        return created[-1]

    monkeypatch.setattr("engine.training.step.plans.make_plan", counted)
    layers = [{"layer": "linear", "units": 7}, {"layer": "linear", "units": 3}]
    definition = engine.parse_graph({**GRAPH, "layers": layers})
    x, label = np.ones((5, 4), np.float32), np.zeros(5, np.int64)
    answers = []
    for seed in (1, 2):
        recipe = engine.read_recipe({"steps": 1, "batch_size": 5, "seed": seed, "optimizer": "sgd"})
        fit = engine.Fit(definition, recipe, {"x": x, "label": label})
        planned_before = len(created)
        predictor = engine.Predictor(definition, fit.snapshot())
        answers.append(next(iter(predictor.predict({"x": x}).values())))
        assert len(created) == planned_before + (seed == 1)
    assert not np.array_equal(*answers)


def test_the_fields_that_no_plan_depends_on_are_fields() -> None:
    for kind, names in LEFT_OUT.items():
        assert names <= {field.name for field in fields(kind)}


def make(size: int) -> Plan:
    """A plan that holds a constant of so many bytes."""
    graph = build(replace(engine.parse_graph(GRAPH), nodes=(), outputs=(), losses=()), {"batch": 1}, training=False)
    constant = engine.tensor(np.ones(size // 8))
    with graph.trace():
        return make_plan(graph.inputs, {}, {"y": constant + graph.inputs["x"].sum()}, {})


def test_the_plans_that_were_not_asked_for_the_longest_are_dropped_when_there_are_too_many() -> None:
    cache = PlanCache(plans=2)
    first, _ = cache.plan(make, 8), cache.plan(make, 16)
    assert cache.plan(make, 8) is first
    cache.plan(make, 24)
    assert len(cache) == 2
    assert cache.plan(make, 8) is first


def test_trained_parameters_are_found_once_for_each_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[Any] = []

    def trace(definition: engine.Definition, dims: dict[str, int]) -> tuple[str, ...]:
        traced.append(dims)
        return trained_parameters(definition, dims)

    monkeypatch.setattr(plan_cache, "trained_parameters", trace)
    monkeypatch.setattr(plan_cache, "_TRAINED", OrderedDict())
    definition = engine.parse_graph(GRAPH)
    frozen = {name: replace(spec, frozen=name == "linear_0.bias") for name, spec in definition.parameters.items()}
    every = tuple(definition.parameters)
    for graph, batch, expected in (
        (definition, 8, every),
        (engine.parse_graph(GRAPH), 8, every),
        (definition, 9, every),
        (replace(definition, parameters=frozen), 8, tuple(name for name in every if name != "linear_0.bias")),
    ):
        assert plan_cache.cached_trained_parameters(graph, {"batch": batch}) == expected
    assert traced == [{"batch": 8}, {"batch": 9}, {"batch": 8}]
    for batch in range(plan_cache.PLANS):
        plan_cache.cached_trained_parameters(definition, {"batch": 10 + batch})
    assert len(plan_cache._TRAINED) == plan_cache.PLANS


def test_constants_are_bounded_in_bytes_but_the_latest_plan_is_kept() -> None:
    cache = PlanCache(constant_bytes=1000)
    for size in (400, 480, 560):
        cache.plan(make, size)
    assert len(cache) == 1
    large = cache.plan(make, 80_000)
    assert len(cache) == 1
    assert cache.plan(make, 80_000) is large


def test_threads_that_ask_for_one_plan_make_it_once() -> None:
    cache, started, created, calls = PlanCache(), threading.Barrier(8), [], []

    def slow(size: int) -> Plan:
        calls.append(size)
        return make(size)

    def ask() -> None:
        started.wait()
        created.append(cache.plan(slow, 8))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert len({id(plan) for plan in created}) == 1


def test_a_plan_that_cannot_be_made_is_not_kept_and_can_be_asked_for_again() -> None:
    cache, refused = PlanCache(), [True]

    def moody() -> Plan:
        if refused:
            raise EngineError("no")
        return make(8)

    with pytest.raises(EngineError):
        cache.plan(moody)
    assert len(cache) == 0
    refused.clear()
    assert cache.plan(moody) is cache.plan(moody)
    cache.clear()
    assert len(cache) == 0
