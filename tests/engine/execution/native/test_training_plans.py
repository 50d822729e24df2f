"""Plans of common training programs run without Python between their steps."""

import numpy as np
import pytest

import engine
from engine.execution.native.executor import NativeExecutor
from engine.training.step.plans import plan_training
from tests.support.rows import each_row


def classifier(*layers, inputs=None):
    columns = {"x": inputs or ["batch", 12], "label": {"shape": ["batch"], "dtype": "int64"}}
    return {"inputs": columns, "layers": [*layers, {"layer": "linear", "units": 3}], "loss": "cross_entropy"}


def regression(loss):
    layers = [{"layer": "linear", "units": 8, "activation": "relu"}, {"layer": "linear", "units": 2}]
    return {"inputs": {"x": ["batch", 12], "label": ["batch", 2]}, "layers": layers, "loss": loss}


def recurrent(kind, **attrs):
    return classifier({"layer": kind, "units": 8, **attrs}, {"layer": "flatten"}, inputs=["batch", 5, 6])


LINEAR = {"layer": "linear", "units": 8}
TOKENS = {"shape": ["batch", 5], "dtype": "int64"}
GRAPHS = {
    "regression": regression("mse"),
    "absolute": regression("l1"),
    "huber": regression("huber"),
    "smooth": regression("smooth_l1_loss"),
    "logits": regression("bce_with_logits"),
    "dropout": classifier({**LINEAR, "activation": "relu"}, {"layer": "dropout", "p": 0.2}),
    "silu": classifier({**LINEAR, "activation": "silu"}),
    "lstm": recurrent("lstm"),
    "gru": recurrent("gru"),
    "rnn": recurrent("rnn"),
    "deep": recurrent("lstm", layers=2, bidirectional=True, dropout=0.1),
    "tokens": classifier({"layer": "embedding", "rows": 7, "units": 4}, {"layer": "flatten"}, inputs=TOKENS),
}


def planned(document, rows=8):
    rng = np.random.default_rng(0)
    columns = {}
    for name, spec in document["inputs"].items():
        shape = spec if isinstance(spec, list) else spec["shape"]
        extents = [2 * rows, *shape[1:]]
        floating = isinstance(spec, list)
        columns[name] = rng.random(extents, np.float32) if floating else rng.integers(0, 3, extents)
    recipe = engine.read_recipe({"steps": 4, "batch_size": rows, "optimizer": {"kind": "adam", "lr": 1e-3}})
    fit = engine.Fit(engine.parse_graph(document), recipe, columns, execution=engine.Execution("numpy"))
    return plan_training(fit.model, {"batch": rows}, fit.recipe), fit.model.arrays


@each_row("name", GRAPHS)
def test_no_step_needs_python(name):
    plan, state = planned(GRAPHS[name])
    executor = NativeExecutor(plan, {key: array.copy() for key, array in state.items()})
    assert executor.python_steps == []


@pytest.mark.parametrize("decoupled", [False, True])
def test_a_step_with_weight_decay_is_that_of_numpy(decoupled, run_both):
    gradient, parameter = np.random.default_rng(0).standard_normal((2, 70)).astype(np.float32)
    actual, expected = run_both("sgd_update", gradient, parameter, np.array(0.1), weight_decay=0.3, decoupled=decoupled)
    np.testing.assert_allclose(actual[0], expected[0], rtol=1e-6, atol=1e-6)
