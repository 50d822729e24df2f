"""Gradients that a fit captures: which, at which steps, that they are right, and that nothing else changes for them."""

import math
import threading

import numpy as np
import pytest

import engine
from engine.training.distributed.collective import in_memory
from tests.extent import paired
from tests.support.rows import each_row

pytestmark = pytest.mark.law

RANDOM = np.random.default_rng(8)
X = RANDOM.standard_normal((26, 4)).astype(np.float32)
LABELS = (X[:, 0] > 0).astype(np.int64) + (X[:, 1] > 0.5)
COLUMNS = {"x": X, "label": LABELS}
GRAPH = {
    "inputs": {"x": ["n", 4], "label": {"shape": ["n"], "dtype": "int64"}},
    "layers": [
        {"layer": "linear", "units": 6, "activation": "tanh"},
        "batch_norm",
        {"layer": "dropout", "p": 0.3},
        {"layer": "linear", "units": 3},
    ],
    "loss": "cross_entropy",
}
PLAIN = {**GRAPH, "layers": [GRAPH["layers"][0], GRAPH["layers"][3]]}
ALL = {"steps": [], "every_steps": 1}


def start(graph=GRAPH, executor="numpy", collective=None, gradients=ALL, **recipe):
    """Start a fit of four epochs of five steps or six, the last on one row."""
    document = {"epochs": 4, "batch_size": 5, "seed": 3, "optimizer": {"kind": "adam", "lr": 0.02}, **recipe}
    document["record"] = {**document.get("record", {}), "gradients": gradients}
    definition = engine.parse_graph(graph)
    return engine.Fit(
        definition,
        engine.read_recipe(document),
        COLUMNS,
        execution=engine.Execution(executor, collective=collective or engine.Alone()),
    )


def arrays_of(fit):
    """Every array of a fit, as bytes."""
    snapshot = fit.snapshot()
    tables = {**snapshot.parameters, **snapshot.buffers, **snapshot.optimizer, **snapshot.state}
    return {name: array.tobytes() for name, array in tables.items()}


def run(fit, steps=1):
    """Run to the end, so many steps a call; return the rows and what was captured."""
    rows, captured = [], []
    while not fit.done:
        rows += [point.to_json() for point in fit.advance(steps)]
        captured += fit.captured
    return rows, captured


def places(captured):
    """Return which gradients were captured."""
    return [(one.step, one.name) for one in captured]


FEATURES = {
    "plain": {"graph": PLAIN},
    "dropout and batch norm": {"drop_last": True},
    "rows apart": {"graph": PLAIN, "record": {"every_steps": 7, "gradient_norms": False}},
    "limits, noise and an average": {
        "drop_last": True, "clip": {"norm": 0.1, "value": 0.05}, "noise": {"eta": 0.1}, "average": "ema",
    },
    "half precision": {"drop_last": True, "precision": "mixed_float16", "loss_scaling": {"initial": 1000.0}},
    "parts": {"graph": PLAIN, "micro_batch_size": 2, "class_weights": [1.0, 2.0, 0.5]},
    "parts of half precision": {"graph": PLAIN, "micro_batch_size": 2, "precision": "mixed_float16"},
    "its own loss": {"graph": PLAIN, "optimizer": {"kind": "lbfgs", "lr": 0.1, "max_iter": 3}},
    "prefetching": {"graph": PLAIN, "prefetch": 2},
    "freezing": {"graph": PLAIN, "freeze": [{"match": "linear_0.*", "first_epoch": 2, "last_epoch": 3}]},
}  # fmt: skip


@pytest.mark.parametrize(("name", "executor"), paired([*FEATURES], [*engine.executors()]))
def test_a_fit_is_the_same_to_the_bit_whether_gradients_are_captured_or_not(name, executor):
    recipe = {"executor": executor, **FEATURES[name]}
    without, some = start(**recipe, gradients=None), start(**recipe, gradients={"steps": [0, 3, 4, 11]})
    rows, none = run(without, 9)
    assert not none
    assert run(some, 9)[0] == rows
    assert arrays_of(some) == arrays_of(without)


@pytest.mark.parametrize(("name", "executor"), paired([*FEATURES], [*engine.executors()][::-1]))
def test_the_lengths_of_captured_gradients_are_the_norms_of_the_rows(name, executor):
    recipe = {"executor": executor, **FEATURES[name], "record": {}}
    fit, seen = start(**recipe), 0
    while not fit.done:
        (row,) = fit.advance()
        norms = {key: value for key, value in row.values.items() if key.startswith("grad_norm/")}
        found = {f"grad_norm/{one.name}": np.linalg.norm(one.array.astype(np.float64)) for one in fit.captured}
        assert found == pytest.approx(norms, rel=1e-5, nan_ok=True)
        assert {one.step for one in fit.captured} == {fit.step - 1}
        seen += len(found)
    assert seen >= 15 * 2


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5]])
@pytest.mark.parametrize("parts", [None, 2])
@pytest.mark.parametrize("executor", engine.executors())
def test_a_captured_gradient_is_that_of_the_tape_at_the_same_parameters(executor, parts, weights):
    fit = start(PLAIN, executor, micro_batch_size=parts, class_weights=weights, clip={"norm": 1e-3}, shuffle=False)
    for step in range(5):
        before = {name: array.copy() for name, array in fit.model.parameters.items()}
        fit.advance()
        rows = slice(5 * step, 5 * step + 5)
        leaves = {name: engine.tensor(array, requires_grad=True) for name, array in before.items()}
        hidden = engine.ops.tanh(X[rows] @ leaves["linear_0.weight"].T + leaves["linear_0.bias"])
        scores = hidden @ leaves["linear_1.weight"].T + leaves["linear_1.bias"]
        given = [] if weights is None else [engine.tensor(np.array(weights, np.float32))]
        loss = engine.ops.cross_entropy(scores, LABELS[rows], *given)
        wanted = dict(zip(leaves, engine.tape.grad(loss, list(leaves.values())), strict=True))
        assert places(fit.captured) == [(step, name) for name in before]
        for one in fit.captured:
            assert one.array.dtype == np.float32
            np.testing.assert_allclose(one.array, wanted[one.name].numpy(), rtol=2e-5, atol=1e-6)


def test_gradients_are_captured_at_the_listed_steps_and_every_so_many_of_the_wanted_parameters():
    fit = start(PLAIN, gradients={"steps": [7, 0, 3, 500], "every_steps": 10, "parameters": ["*_0.bias", "*.weight"]})
    names = ["linear_0.weight", "linear_0.bias", "linear_1.weight"]
    _, captured = run(fit)
    assert places(captured) == [(step, name) for step in (0, 3, 7, 10, 20) for name in names]


@pytest.mark.parametrize("executor", engine.executors())
def test_steps_of_one_call_are_interrupted_for_what_is_captured(executor):
    recipe = {"graph": PLAIN, "executor": executor, "drop_last": True, "record": {"every_steps": 1000}, "epochs": 40}
    alone, together = (start(**recipe, gradients={"steps": [2, 77, 78, 140]}) for _ in range(2))
    single, many = run(alone)[1], run(together, 50)[1]
    assert (
        places(many) == places(single) == [(step, one) for step in (2, 77, 78, 140) for one in alone.model.parameters]
    )
    assert [one.array.tobytes() for one in many] == [one.array.tobytes() for one in single]
    assert arrays_of(together) == arrays_of(alone)


def test_what_was_captured_is_of_the_last_call_alone():
    fit = start(PLAIN, gradients={"steps": [0]})
    fit.advance_chunk()
    first = fit.captured
    fit.advance_chunk()
    assert places(first) == [(0, name) for name in fit.model.parameters]
    assert fit.captured == []


def test_a_frozen_parameter_has_no_gradient():
    groups = {"kind": "sgd", "groups": [{"match": "linear_1.bias", "frozen": True}]}
    freeze = [{"match": "linear_0.weight", "first_epoch": 2}]
    _, captured = run(start(PLAIN, optimizer=groups, freeze=freeze, gradients={"steps": [0, 6]}))
    assert places(captured) == [
        (0, "linear_0.weight"), (0, "linear_0.bias"), (0, "linear_1.weight"),
        (6, "linear_0.bias"), (6, "linear_1.weight"),
    ]  # fmt: skip


def test_a_gradient_that_is_not_finite_is_captured_as_such():
    columns = {"x": np.full((4, 4), np.inf, np.float32), "label": np.zeros(4, np.int64)}
    recipe = engine.read_recipe({"steps": 1, "batch_size": 4, "record": {"gradients": {"steps": [0]}}})
    fit = engine.Fit(engine.parse_graph(PLAIN), recipe, columns)
    fit.advance()
    assert not all(np.isfinite(one.array).all() for one in fit.captured)


def test_the_first_of_several_ranks_captures_gradients_of_the_whole_batch():
    found = {}

    def work(rank, collective):
        found[rank] = run(start(PLAIN, collective=collective, drop_last=True))[1]

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(in_memory(2))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _, alone = run(start(PLAIN, drop_last=True))
    assert found[1] == []
    assert places(found[0]) == places(alone)
    for one, other in zip(found[0], alone, strict=True):
        np.testing.assert_allclose(one.array, other.array, rtol=1e-3, atol=1e-5)


def test_a_resumed_fit_captures_the_same_bits(tmp_path):
    whole, path = start(drop_last=True), tmp_path / "c.safetensors"
    _, captured = run(whole)
    fit, resumed = start(drop_last=True), start(drop_last=True)
    fit.advance(8)
    fit.snapshot().save(path)
    resumed.restore(engine.Checkpoint.load(path))
    _, rest = run(resumed)
    wanted = [(one.step, one.name, one.array.tobytes()) for one in captured if one.step >= 8]
    assert [(one.step, one.name, one.array.tobytes()) for one in rest] == wanted


FAULTS = {
    "nothing": ({}, "/record/gradients"),
    "no patterns": ({"steps": [0], "parameters": []}, "/record/gradients/parameters"),
    "one pattern": ({"steps": [0], "parameters": "*"}, "/record/gradients/parameters"),
    "negative": ({"steps": [3, -1]}, "/record/gradients/steps"),
    "a fraction": ({"steps": [0.5]}, "/record/gradients/steps"),
    "a truth": ({"steps": [True]}, "/record/gradients/steps"),
    "too late": ({"steps": [10**9 + 1]}, "/record/gradients/steps"),
    "too many": ({"steps": list(range(10_001))}, "/record/gradients/steps"),
    "none of every": ({"every_steps": 0}, "/record/gradients/every_steps"),
    "unknown": ({"steps": [0], "step": 1}, "/record/gradients/step"),
    "a list": ([0], "/record/gradients"),
}


@each_row("name", FAULTS)
def test_a_record_of_gradients_is_read_strictly(name):
    document, pointer = FAULTS[name]
    with pytest.raises(engine.DocumentError) as caught:
        engine.read_recipe({"epochs": 1, "record": {"gradients": document}})
    assert [finding.pointer for finding in caught.value.findings] == [pointer]


INFO = {
    "x": engine.ColumnInfo("float32", (4,), 26, -9.0, 9.0),
    "label": engine.ColumnInfo("int64", (), 26, 0, 2),
}


def checked(gradients, replicas=1, **recipe):
    """Check a fit that captures gradients."""
    document = {"batch_size": 8, "steps": 5, **recipe, "record": {"gradients": gradients}}
    return engine.check_fit(engine.parse_graph(PLAIN), engine.read_recipe(document), INFO, replicas=replicas)


@pytest.mark.parametrize(
    ("gradients", "steps", "pointer"),
    [
        ({"steps": [0], "parameters": ["linear_0.*", "lin"]}, 5, "/record/gradients/parameters/1"),
        ({"every_steps": 3}, 30_001, "/record/gradients"),
        ({"every_steps": 3, "steps": [1]}, 30_000, "/record/gradients"),
    ],
)
def test_what_cannot_be_captured_is_found_before_the_fit(gradients, steps, pointer):
    with pytest.raises(engine.DocumentError) as caught:
        checked(gradients, steps=steps)
    assert [finding.pointer for finding in caught.value.findings] == [pointer]


def test_as_many_captures_as_are_allowed_are_taken():
    assert checked({"every_steps": 3, "steps": [3, 90_000]}, steps=30_000).total_steps == 30_000


@pytest.mark.parametrize("replicas", [1, 2])
def test_the_estimate_counts_what_capturing_takes(replicas):
    without, some = checked(None, replicas), checked({"steps": [0], "parameters": ["*.weight"]}, replicas)
    assert some.memory["captured_bytes"] == 4 * (4 * 6 + 6 * 3)
    grown = some.memory["other_plans_bytes"] - without.memory["other_plans_bytes"]
    assert grown > 0 if replicas == 1 else grown == 0
    assert math.isclose(some.memory["plan_bytes"], without.memory["plan_bytes"])
