"""Default initialisers take fan-in and fan-out from how a parameter is used, not from the order of its axes."""

import numpy as np
import pytest

import engine
from engine.graph.fans import parameter_fans
from engine.graph.limits import LIMITS
from engine.graph.shape_inference import infer_shapes
from tests.support.rows import each_row

X = {"x": ["batch", 6]}
USES = {
    "right of a product": ([6, 3], "y = x @ w", (6, 3)),
    "left of a product": ([3, 6], "y = w @ permute(x, axes=(1, 0))", (6, 3)),
    "transposed": ([3, 6], "y = x @ permute(w, axes=(1, 0))", (6, 3)),
    "linear": ([3, 6], "y = linear(x, w)", (6, 3)),
    "einsum": ([6, 3], "y = einsum(x, w, equation='bi,io->bo')", (6, 3)),
    "einsum, the other way": ([3, 6], "y = einsum(x, w, equation='bi,oi->bo')", (6, 3)),
    "reshaped": ([3, 2, 3], "y = x @ reshape(w, shape=(6, 3))", (6, 3)),
    "scaled": ([6, 3], "y = x @ (w * 0.5)", (6, 3)),
    "an output of one": ([6, 1], "y = x @ w", (6, 1)),
    "heads": ([2, 6, 3], "y = matmul(unsqueeze(x, axis=0), w)", (6, 3)),
}


def parsed(shape, program, inputs=X):
    document = {"inputs": inputs, "parameters": {"w": shape}, "program": f"{program}\nloss = mean(y)"}
    return engine.parse_graph(document)


@each_row("use", USES)
def test_the_default_goes_by_the_product_that_a_parameter_enters(use):
    shape, program, (fan_in, fan_out) = USES[use]
    graph = parsed(shape, program)
    assert parameter_fans(infer_shapes(graph, LIMITS).graph)["w"] == [(fan_in, fan_out)]
    init = graph.parameters["w"].init
    conventional = (shape[1] * int(np.prod(shape[2:])), shape[0] * int(np.prod(shape[2:]))) == (fan_in, fan_out)
    assert init == ({"kind": "kaiming_uniform"} | ({} if conventional else {"fan_in": fan_in, "fan_out": fan_out}))
    assert engine.graph_report(graph)["findings"] == []
    assert engine.parse_graph(graph.to_json()) == graph


@pytest.mark.parametrize(
    ("op", "shape", "fan_in"), [("conv2d", [4, 3, 5, 5], 75), ("conv_transpose2d", [3, 4, 5, 5], 75)]
)
def test_convolutions_count_channels_in_times_the_window(op, shape, fan_in):
    graph = parsed(shape, f"y = {op}(x, w)", {"x": ["batch", 3, 9, 9]})
    assert parameter_fans(infer_shapes(graph, LIMITS).graph)["w"][0][0] == fan_in
    assert graph.parameters["w"].init.get("fan_in", 75) == fan_in


def test_the_numbers_spread_by_the_fan_in():
    definition = parsed([6, 600], "y = x @ w")
    recipe = engine.read_recipe({"steps": 1})
    weights = engine.Fit(definition, recipe, {"x": np.zeros((4, 6), np.float32)}).model.parameters["w"]
    assert np.abs(weights).max() == pytest.approx(np.sqrt(6 / 6), rel=0.01)


def test_an_initialiser_that_is_given_stays_as_it_is():
    for init in ({"kind": "kaiming_uniform"}, {"kind": "xavier_normal"}, {"kind": "zeros"}):
        graph = parsed({"shape": [6, 3], "init": init}, "y = x @ w")
        assert graph.parameters["w"].init == init
    given = parsed({"shape": [6, 3], "init": {"kind": "kaiming_normal", "fan_in": 6}}, "y = x @ w")
    assert given.parameters["w"].init["fan_in"] == 6


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("y = (x @ w) @ w", None),
        ("y = (x @ v) @ permute(v, axes=(1, 0))", "different fan-in (6, 3)"),
        ("y = sum(unsqueeze(x, axis=2) * v, axis=1)", "enters no matrix product"),
    ],
)
def test_a_report_says_where_the_fan_in_is_unclear(program, words):
    document = {"inputs": X, "parameters": {"w": [6, 6], "v": [6, 3]}, "program": f"{program}\nloss = mean(y)"}
    report = engine.graph_report(engine.parse_graph(document))
    found = [finding for finding in report["findings"] if finding["code"] == "fan_unclear"]
    assert len(found) == (words is not None and 1)
    assert words is None or (found[0]["pointer"] == "/parameters/v/init" and words in found[0]["detail"])
