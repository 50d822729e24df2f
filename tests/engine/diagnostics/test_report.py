"""What a client learns of a graph before it runs."""

import json

import pytest

import engine
from engine.diagnostics.report import plan_step
from engine.execution.plan.printer import plan_json
from tests.support.rows import each_row

GRAPH = {
    "inputs": {"x": ["batch", 3, "width"], "y": ["batch"], "idle": [2]},
    "parameters": {"w": [3], "unused": [2], "cut": [3], "fixed": {"shape": [], "frozen": True}},
    "buffers": {"never": [1]},
    "constants": {"c": [1.0]},
    "program": (
        "h = sum(x, axis=2) @ w\n"
        "k = sum(x, axis=2) @ stop_gradient(cut)\n"
        "aside = relu(h)\n"
        "loss = mse_loss(h + k + fixed, y)\n"
        "flat = flatten(x, start=1)\n"
        "twice = concat(x, x, axis=0)\n"
        "pairs = h.unsqueeze(axis=0) * h.unsqueeze(axis=1)\n"
        "joined = flatten(x)\n"
        "padded = pad(h, widths=[[1, 2]])"
    ),
    "outputs": ["loss", "flat", "twice", "pairs", "padded", "joined"],
}


def test_shapes_are_given_in_the_names_of_extents():
    report = engine.graph_report(engine.parse_graph(GRAPH))
    shapes = {name: entry["shape"] for name, entry in report["shapes"].items()}
    assert shapes["h"] == ["batch"]
    assert shapes["loss"] == []
    assert shapes["flat"] == ["batch", "3*width"]
    assert shapes["twice"] == ["2*batch", 3, "width"]
    assert shapes["pairs"] == ["batch", "batch"]
    assert shapes["padded"] == ["batch+3"]
    assert report["shapes"]["h"]["dtype"] == "float32"


def test_what_is_probably_not_meant_is_found():
    report = engine.graph_report(engine.parse_graph(GRAPH))
    found = {(finding["pointer"], finding["code"]) for finding in report["findings"]}
    assert found == {
        ("/inputs/idle", "unused_input"),
        ("/parameters/unused", "unused_parameter"),
        ("/parameters/cut", "untrained_parameter"),
        ("/buffers/never", "unused_buffer"),
        ("/constants/c", "unused_constant"),
        ("/nodes", "unused_node"),
    }
    assert json.loads(json.dumps(report, allow_nan=False)) == report


@pytest.mark.parametrize(
    ("program", "code"),
    [("a = x * w", "no_loss"), ("loss = sum(x) + 0 * sum(stop_gradient(w))", "nothing_to_train")],
)
def test_a_graph_that_cannot_be_fitted_is_reported_so(program, code):
    definition = engine.parse_graph({"inputs": {"x": [3]}, "parameters": {"w": [3]}, "program": program})
    assert code in {finding["code"] for finding in engine.graph_report(definition)["findings"]}


def test_parameters_and_nodes_are_counted():
    report = engine.graph_report(engine.parse_graph(GRAPH))
    assert report["parameter_count"] == 3 + 2 + 3 + 1
    assert report["node_counts"]["flatten"] == 2
    assert report["memory"]["parameter_bytes"] == 4 * 9
    assert report["memory"]["buffer_bytes"] == 4
    assert report["memory"]["activation_bytes"] > 0
    assert report["implicit_loss"] is False


def test_a_plan_is_reported_for_a_batch_with_and_without_an_optimizer():
    definition = engine.parse_graph(
        {"inputs": {"x": ["n", 2]}, "parameters": {"w": [2]}, "program": "loss = mean((x @ w) ** 2)"}
    )
    _, evaluation = engine.plan_report(definition, 5)
    _, training = engine.plan_report(definition, 5, {"kind": "adam"})
    assert (evaluation["batch"], evaluation["training"], training["training"]) == (5, False, True)
    assert training["flops"] > evaluation["flops"] > 0
    assert {b["name"]: b["shape"] for b in evaluation["buffers"] if b["kind"] == "input" and b["name"] == "x"} == {
        "x": [5, 2]
    }


@pytest.mark.parametrize("shards", [1, 2])
def test_the_steps_of_a_plan_have_the_layer_and_the_pass_that_they_come_from(shards):
    layers = [{"layer": "linear", "units": 64, "activation": "tanh"}, {"layer": "linear", "units": 3}]
    definition = engine.parse_graph(
        {
            "inputs": {"x": ["batch", 256], "label": {"shape": ["batch"], "dtype": "int64"}},
            "layers": layers,
            "loss": "cross_entropy",
        }
    )
    plan = plan_step(definition, 4096, {"kind": "adam"}, shards)[1]
    assert plan.shards == shards
    origins = {(step["op"], step["definition_node"], step["kind"]) for step in plan_json(plan)["steps"]}
    assert {
        ("matrix_product", "linear_0", "forward"),
        ("matrix_product", "linear_1", "forward"),
        ("tanh", "linear_0.tanh", "forward"),
        ("softmax_cross_entropy", "loss", "forward"),
        ("softmax_cross_entropy_backward", "loss", "backward"),
        ("tanh_backward", "linear_0.tanh", "backward"),
        ("matrix_product", "linear_0", "backward"),
        ("matrix_product", "linear_1", "backward"),
        ("adam_update", None, "update"),
    } <= origins
    assert {kind for _, node, kind in origins if node is None} == {"update"}
    assert (("all_reduce", "loss", "forward") in origins) == (shards > 1)


@each_row(
    ("program", "optimizer", "error"),
    [
        ("a = x * w", {"kind": "adam"}, engine.DocumentError),
        ("loss = sum(x)", {"kind": "adam"}, engine.DocumentError),
        ("loss = sum(x * w)", {"kind": "adan"}, engine.UnknownName),
        ("loss = sum(x * w)", {"kind": "adam", "lr": -1}, engine.AttributeValueError),
    ],
)
def test_a_plan_that_cannot_be_made_is_refused(program, optimizer, error):
    definition = engine.parse_graph({"inputs": {"x": ["n"]}, "parameters": {"w": []}, "program": program})
    with pytest.raises(error):
        engine.plan_report(definition, 4, optimizer)


def test_a_plan_of_a_huge_model_takes_no_memory():
    definition = engine.parse_graph(
        {"inputs": {"x": ["n", 30_000]}, "parameters": {"w": [30_000, 30_000]}, "program": "loss = mean(x @ w)"}
    )
    _, report = engine.plan_report(definition, 2, {"kind": "sgd"})
    assert report["peak_bytes"] > 4 * 30_000**2
