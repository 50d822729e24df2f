"""Which steps of a plan have no compiled kernel."""

import numpy as np

import engine
from engine.execution.native.coverage import numpy_steps
from engine.execution.native.executor import NativeExecutor
from engine.training.step.plans import plan_training


def report(program, executor):
    document = {"inputs": {"x": ["batch", 6]}, "parameters": {"w": [6]}, "program": program}
    return engine.plan_report(engine.parse_graph(document), 4, {"kind": "adam"}, executor)


def test_what_has_no_kernel_is_named():
    plan, reported = report("loss = mean(bessel_i(x * w, order=4) ** 2 + median(x * w))", "native")
    state = {name: engine.zeros(shape=plan.buffers[n].spec.shape).numpy() for name, n in plan.state.items()}
    for name, number in plan.state.items():
        state[name] = state[name].astype(plan.buffers[number].spec.dtype)
    executor = NativeExecutor(plan, state)
    assert "bessel_i" in reported["numpy_steps"]
    assert set(reported["numpy_steps"]) == set(executor.python_steps)


def test_a_common_plan_has_a_kernel_for_every_step():
    _, reported = report("loss = mean((x @ w - 1) ** 2)", "auto")
    assert reported["executor"] == "native"
    assert reported["numpy_steps"] == []


def test_a_plan_for_numpy_says_nothing_of_kernels():
    plan, reported = report("loss = mean((x @ w - 1) ** 2)", "numpy")
    assert reported["executor"] == "numpy"
    assert "numpy_steps" not in reported
    assert plan.shards == 1


def test_shards_that_write_parts_of_a_whole_value_are_looked_at_as_they_run():
    document = {
        "inputs": {"x": ["batch", 4, 32, 16], "y": ["batch", 4, 32, 32]},
        "parameters": {"w": [4, 32, 16]},
        "program": "scores = (x * w) @ (x * w).permute(axes=[0, 1, 3, 2])\nloss = mean((soft_max(scores) - y) ** 2)",
    }
    _, reported = engine.plan_report(engine.parse_graph(document), 64, {"kind": "adam"}, "native")
    assert reported["numpy_steps"] == []


def test_a_norm_without_a_scale_has_kernels_in_float64():
    norm = {"layer": "batch_norm", "affine": False}
    inputs = {"x": ["batch", 6], "y": {"shape": ["batch"], "dtype": "int64"}}
    document = {"inputs": inputs, "layers": [{"layer": "linear", "units": 4}, norm], "loss": "cross_entropy"}
    recipe = engine.read_recipe({"steps": 1, "batch_size": 4, "precision": "float64"})
    columns = {"x": np.zeros((8, 6)), "y": np.zeros(8, np.int64)}
    fit = engine.Fit(engine.parse_graph(document), recipe, columns)
    assert numpy_steps(plan_training(fit.model, {"batch": 4}, recipe, most_shards=1)) == ()
