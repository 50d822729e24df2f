"""Many steps in one call: the same bits, rows and stops as step by step."""

import numpy as np
import pytest

import engine
from tests.extent import paired

pytestmark = pytest.mark.law

GRAPH = {
    "inputs": {"x": ["batch", 4], "y": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [{"layer": "linear", "units": 8, "activation": "relu"}, {"layer": "linear", "units": 3}],
    "loss": "cross_entropy",
}
BASE = {"steps": 60, "batch_size": 5, "optimizer": {"kind": "adam", "lr": 0.02}, "metrics": ["accuracy"]}
RECIPES = {
    "plain": {},
    "rows apart": {"record": {"every_steps": 7}},
    "short batches": {"batch_size": 8},
    "step schedule": {"schedule": {"kind": "cosine", "t_max": 60, "per": "step"}, "record": {"every_steps": 9}},
    "cycled momentum": {"schedule": {"kind": "one_cycle", "total_steps": 60, "per": "step"}},
    "validation": {"validation": {"split": 0.2, "every_steps": 11}, "record": {"every_steps": 20}},
    "checkpoints": {"checkpoint": {"every_steps": 4}, "record": {"every_steps": 30}},
    "epochs": {"record": {"epochs": True}},
    "average": {"average": {"kind": "ema"}, "record": {"every_steps": 10}},
    "plateau": {"schedule": {"kind": "reduce_on_plateau", "monitor": "loss", "per": "step", "patience": 2}},
    "clipped": {"clip": {"norm": 0.1}, "divergence": {"action": "skip"}, "record": {"every_steps": 10}},
    "augmented": {"normalize": {"x": {"kind": "standard"}}, "record": {"every_steps": 10}},
    "budget": {"budget": {"steps": 33}, "record": {"every_steps": 10}},
}


def fit_of(recipe, executor, rows=50, bad=None):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((rows, 4)).astype(np.float32)
    if bad is not None:
        x[bad] = np.nan
    columns = {"x": x, "y": rng.integers(0, 3, rows)}
    return engine.Fit(
        engine.parse_graph(GRAPH),
        engine.read_recipe({**BASE, **recipe}),
        columns,
        execution=engine.Execution(executor),
    )


def state_of(fit):
    snapshot = fit.snapshot()
    snapshot.cursor.pop("seconds")
    arrays = {**snapshot.parameters, **snapshot.optimizer, **snapshot.state}
    return snapshot.cursor, {name: array.tobytes() for name, array in arrays.items()}


def rows_of(points):
    return [(p.seq, p.step, p.split, {name: float(value).hex() for name, value in p.values.items()}) for p in points]


@pytest.mark.parametrize(("name", "executor"), paired([*RECIPES], [*engine.executors()]))
def test_many_steps_in_one_call_are_the_same_steps(name, executor):
    alone, together = fit_of(RECIPES[name], executor), fit_of(RECIPES[name], executor)
    single, many = [], []
    while not alone.done:
        single += alone.advance()
    while not together.done:
        many += together.advance(17)
    assert rows_of(many) == rows_of(single)
    assert state_of(together) == state_of(alone)


ROWS = {
    "losses and norms": {},
    "no norms": {"record": {"every_steps": 12, "gradient_norms": False}},
    "step schedule": {"schedule": {"kind": "one_cycle", "total_steps": 60, "per": "step"}},
    "checkpoints": {"checkpoint": {"every_steps": 25}},
    "not finite": {"shuffle": False},
}


@pytest.mark.parametrize("name", ROWS)
def test_a_call_yields_the_rows_of_several_steps(name, monkeypatch):
    monkeypatch.setattr("engine.training.fit.fit.ROWS_PER_CALL", 3)
    recipe = {"metrics": [], "record": {"every_steps": 10}, **ROWS[name]}
    alone, together = (fit_of(recipe, "native", rows=300, bad=237 if name == "not finite" else None) for _ in range(2))
    single, calls = [], []
    while not alone.done:
        single += alone.advance()
    together.advance()  # how long a step takes is known from here on
    together._pace = 60
    while not together.done:
        calls.append(together.advance_chunk())
        together._pace = 60
    assert rows_of(point for points in calls for point in points) == rows_of(single)
    assert state_of(together) == state_of(alone)
    assert max(map(len, calls)) in (2, 3)


def test_nothing_is_passed_by_that_somebody_waits_for():
    fit = fit_of({"checkpoint": {"every_steps": 4, "every_epochs": None}, "record": {"every_steps": 30}}, "native")
    fit.advance(2)  # how long a step takes is known from here on
    stops = []
    while not fit.done:
        fit.advance_chunk()
        stops.append(fit.step)
    due = {*range(4, 61, 4), *range(10, 61, 10), 30}
    assert due <= set(stops)
    assert len(stops) < 40


@pytest.mark.parametrize("executor", engine.executors())
def test_a_fit_ends_at_the_step_that_is_not_finite(executor):
    recipe = {"divergence": {"action": "stop"}, "record": {"every_steps": 50}, "shuffle": False}
    alone = fit_of(recipe, executor, bad=37)
    while not alone.done:
        alone.advance()
    assert alone.failure is not None
    for steps in range(1, 9):  # of the first call; later ones have as many as their time allows
        fit = fit_of(recipe, executor, bad=37)
        points = [*fit.advance(steps), *fit.advance(60 - steps)]
        assert fit.failure is not None
        assert fit.step == points[-1].step == 8  # rows 35 to 39
        assert state_of(fit) == state_of(alone)


def test_rows_of_another_type_are_gathered_by_python():
    rng = np.random.default_rng(1)
    columns = {"x": rng.standard_normal((50, 4)), "y": rng.integers(0, 3, 50).astype(np.int32)}
    recipe = engine.read_recipe({**BASE, "record": {"every_steps": 10}})
    fits = [
        engine.Fit(engine.parse_graph(GRAPH), recipe, columns, execution=engine.Execution("native")) for _ in range(2)
    ]
    fits[0].advance(40)
    for _ in range(40):
        fits[1].advance()
    assert state_of(fits[0]) == state_of(fits[1])
