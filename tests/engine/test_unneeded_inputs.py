"""An input that nothing wanted depends on need not be given; one that something depends on is asked for by name."""

import numpy as np
import pytest

import engine
from tests.support.rows import each_row

GRAPH = engine.parse_graph({
    "inputs": {"x": ["n", 4], "y": ["n"], "spare": ["m", 3], "u": ["n"]},
    "parameters": {"w": [4]},
    "program": "p = x @ w\ns = p * u\nloss = mean((p - y) ** 2)",
    "outputs": ["p", "s"],
    "losses": ["loss"],
})  # fmt: skip
RNG = np.random.default_rng(0)
ROWS = {
    "x": RNG.standard_normal((8, 4)).astype(np.float32),
    "y": RNG.standard_normal(8).astype(np.float32),
    "u": RNG.standard_normal(8).astype(np.float32),
    "spare": RNG.standard_normal((5, 3)).astype(np.float32),
}


def session():
    return engine.Session(GRAPH, "sgd")


def compute(inputs, **request):
    return engine.compute(GRAPH, {"inputs": inputs, **request})


def tensors(inputs):
    return {name: array.tolist() for name, array in inputs.items()}


CALLS = {
    "forward": (lambda given: session().forward(given).losses, "xyu"),
    "forward_backward": (lambda given: session().forward_backward(given).losses, "xy"),
    "in parts": (lambda given: session().forward_backward(given, micro_batch_size=3).losses, "xy"),
    "with outputs": (lambda given: session().forward_backward(given, outputs=True).losses, "xyu"),
    "losses by row": (lambda given: session().losses_by_row(given).tolist(), "xy"),
    "first nonfinite": (lambda given: session().first_nonfinite(given), "xy"),
    "profile": (lambda given: len(session().profile(given)) > 0, "xy"),
    "session predict": (lambda given: session().predict(given)["p"].tolist(), "xu"),
    "compute": (lambda given: compute(tensors(given))["losses"], "xyu"),
    "compute gradients": (lambda given: compute(tensors(given), want=["gradients"])["losses"], "xy"),
    "compute a derivative": (
        lambda given: compute(tensors(given), want=[{"jacobian": {"of": "s", "by": "w"}}])["losses"],
        "xyu",
    ),
    "row losses": (lambda given: engine.row_losses(GRAPH, {"inputs": tensors(given)}).losses.tolist(), "xy"),
    "gradient check": (lambda given: engine.check_gradients(GRAPH, {"inputs": tensors(given)})["ok"], "xy"),
    "trace": (lambda given: engine.trace_nonfinite(GRAPH, {"inputs": tensors(given)}), "xy"),
}


def given_by(names):
    return {name: ROWS[name] for name in ROWS if name in names}


@each_row(("call", "needed"), CALLS.values(), ids=CALLS)
def test_only_what_is_needed_is_asked_for(call, needed):
    assert call(given_by(list(needed))) == call({**ROWS})
    for name in needed:
        with pytest.raises(engine.DocumentError, match=f"the input '{name}' is required"):
            call(given_by(set(needed) - {name}))


@each_row("call", [CALLS[name][0] for name in CALLS], ids=CALLS)
def test_what_is_given_without_need_is_checked(call):
    with pytest.raises(engine.DocumentError, match="spare"):
        call({**ROWS, "spare": ROWS["spare"][:, :2]})


def points(rows, definition=GRAPH, **recipe):
    fit = engine.Fit(definition, engine.read_recipe({"steps": 3, "batch_size": 4, **recipe}), rows)
    return [point.values.get("loss") for point in fit], fit


@pytest.mark.parametrize(
    "validation",
    [{}, {"validation": {"split": 0.5}}, {"metrics": [{"kind": "mae", "predictions": "p", "targets": "y"}]}],
)
def test_a_fit_needs_no_column_for_what_neither_loss_nor_metrics_use(validation):
    whole = {name: ROWS[name] for name in "xyu"} | {"spare": np.zeros((8, 3), np.float32)}
    definition = engine.parse_graph({**GRAPH.to_json(), "inputs": {**GRAPH.to_json()["inputs"], "spare": ["n", 3]}})
    losses, fit = points(whole, definition, **validation)
    fewer, without = points({name: ROWS[name] for name in "xy"}, definition, **validation)
    assert fewer == losses
    assert without.snapshot().meta["graph"] == fit.snapshot().meta["graph"]
    checked = engine.check_fit(definition, without.recipe, columns("xy"))
    assert checked.total_steps == 3


def columns(names):
    return {
        name: engine.ColumnInfo("float32", array.shape[1:], len(array))
        for name, array in ROWS.items()
        if name in list(names)
    }


@each_row(
    ("missing", "recipe", "pointer"),
    [
        ("y", {}, "/dataset"),
        ("u", {"metrics": [{"kind": "mae", "predictions": "s", "targets": "y"}]}, "/dataset"),
        ("u", {"feeds": {"u": "weights"}}, "/feeds/u"),
        ("u", {"normalize": {"u": "standard"}}, "/dataset"),
    ],
)
def test_a_fit_asks_for_the_column_of_an_input_that_it_uses(missing, recipe, pointer):
    recipe = engine.read_recipe({"steps": 3, "batch_size": 4, **recipe})
    with pytest.raises(engine.DocumentError, match=f"input '{missing}' needs a column") as caught:
        engine.check_fit(GRAPH, recipe, columns(set("xyu") - {missing}))
    assert [finding.pointer for finding in caught.value.findings] == [pointer]


def test_running_statistics_count_as_used():
    document = {
        "inputs": {"x": ["n", 2], "z": ["n", 2]},
        "parameters": {"w": [2]},
        "buffers": {"mean": {"shape": [2], "init": "zeros"}, "var": {"shape": [2], "init": "ones"}},
        "constants": {"one": {"dtype": "float32", "shape": [2], "data": [1.0, 1.0]}},
        "program": "q = batch_norm(z, one, one, mean, var)\nloss = mean((x * w) ** 2)",
        "losses": ["loss"],
    }
    definition, rows = engine.parse_graph(document), {"x": ROWS["x"][:, :2]}
    assert engine.needed_inputs(definition, definition.losses) == ("x",)
    assert engine.needed_inputs(definition, definition.losses, training=True) == ("x", "z")
    with pytest.raises(engine.DocumentError, match="the input 'z' is required"):
        engine.Session(definition).forward_backward(rows)
    assert engine.Session(definition).losses_by_row(rows).shape == (8,)
