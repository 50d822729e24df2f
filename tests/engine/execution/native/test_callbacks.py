"""Steps without a kernel inside tables of kernel calls: they run in their place, and what they raise comes out."""

import threading

import numpy as np
import pytest

import engine
from engine.core.errors import EngineError
from engine.execution.native.call_interpreter import BARRIER, call_interpreter
from engine.execution.native.callbacks import PythonCalls
from engine.execution.native.executor import NativeExecutor
from engine.execution.native.lowering import LOWERINGS, address_of
from engine.training.step.plans import plan_training

FACTOR = {
    "inputs": {"x": ["batch", 3, 3]},
    "parameters": {"w": {"shape": [], "init": {"kind": "ones"}}},
    "program": "loss = mean(inv(x * w) ** 2)",
}


@pytest.fixture
def inverses_of_numpy(monkeypatch):
    """Leave `inv` without a kernel."""
    monkeypatch.delitem(LOWERINGS, "inv")


def matrices(rows=8):
    return np.broadcast_to(np.eye(3) * 4, (rows, 3, 3)).copy()


def test_a_failure_on_one_thread_stops_no_other_and_the_rest_is_skipped():
    halt, team, seen = np.zeros(8, np.int64), np.zeros(24, np.int64), []
    calls = PythonCalls(halt)

    def fail():
        raise EngineError("not this")

    wait = (BARRIER, 0)
    tables = [
        np.array(rows, np.int64)
        for rows in (
            [calls.added(fail), wait, calls.added(lambda: seen.append("after")), wait],
            [wait, calls.added(lambda: seen.append("other")), wait],
        )
    ]

    def run(worker):
        table = tables[worker]
        call_interpreter()(address_of(table), len(table), 3, address_of(halt), address_of(team), 2, worker)

    helper = threading.Thread(target=run, args=(1,))
    helper.start()
    run(0)
    helper.join()
    assert seen == []
    with pytest.raises(EngineError, match="not this"):
        calls.raise_failure()
    calls.raise_failure()  # it is raised once


@pytest.mark.usefixtures("inverses_of_numpy")
def test_steps_of_numpy_run_in_the_loop_of_many_steps_and_between_the_calls_of_each_shard(monkeypatch):
    monkeypatch.setattr("engine.execution.plan.planner.worthwhile_shards", lambda *_: 2)
    recipe = engine.read_recipe({"steps": 24, "batch_size": 8, "precision": "float64", "record": {"every_steps": 12}})
    losses = {}
    for executor in ("numpy", "native"):
        fit = engine.Fit(engine.parse_graph(FACTOR), recipe, {"x": matrices(16)}, execution=engine.Execution(executor))
        calls = 0
        while not fit.done:
            fit.advance_chunk()
            calls += 1
        losses[executor] = fit.model.parameters["w"].copy()
    assert calls < 24  # some steps ran together
    np.testing.assert_allclose(losses["native"], losses["numpy"], rtol=1e-9)


@pytest.mark.usefixtures("inverses_of_numpy")
def test_what_a_step_raises_leaves_the_parameters_as_they_were():
    recipe = engine.read_recipe({"steps": 2, "batch_size": 8, "precision": "float64"})
    fit = engine.Fit(engine.parse_graph(FACTOR), recipe, {"x": matrices()}, execution=engine.Execution("numpy"))
    plan = plan_training(fit.model, {"batch": 8}, fit.recipe)
    state = {name: array.copy() for name, array in fit.model.arrays.items()}
    executor = NativeExecutor(plan, state)
    assert "inv" in executor.python_steps
    executor.inputs["x"][...] = 0
    executor.inputs[":lr:0"][...] = 0.1
    with pytest.raises(EngineError, match="singular"):
        executor.run()
    for name, array in fit.model.arrays.items():
        np.testing.assert_array_equal(state[name], array, err_msg=name)
    executor.inputs["x"][...] = matrices()
    executor.run()
    assert any((state[name] != array).any() for name, array in fit.model.arrays.items())
