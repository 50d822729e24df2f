"""From documents to canonical definitions."""

import json
from dataclasses import replace

import numpy as np
import pytest

import engine
from engine.core.errors import DocumentError
from tests.support.rows import each_row

NODES = {
    "name": "line",
    "inputs": {"x": {"shape": ["batch", 3], "dtype": "float32"}, "y": {"shape": ["batch"]}},
    "parameters": {"w": {"shape": [3], "init": {"kind": "ones"}}, "b": []},
    "nodes": [
        {"name": "h", "op": "matmul", "inputs": ["x", "w"]},
        {"name": "pred", "op": "add", "inputs": ["h", "b"]},
        {"name": "loss", "op": "mse_loss", "inputs": ["pred", "y"]},
    ],
    "outputs": ["pred"],
    "losses": ["loss"],
}
PROGRAM = {
    "name": "line",
    "inputs": {"x": ["batch", 3], "y": ["batch"]},
    "parameters": {"w": {"shape": [3], "init": "ones"}, "b": []},
    "program": "h = x @ w\npred = h + b\nloss = mse_loss(pred, y)",
    "outputs": ["pred"],
}
LAYERS = {
    "name": "stack",
    "inputs": {"x": ["batch", 4], "label": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [
        {"layer": "linear", "units": 8, "activation": "relu"},
        {"layer": "batch_norm", "name": "norm"},
        {"layer": "dropout", "p": 0.25},
        {"layer": "linear", "units": 3, "bias": False},
    ],
    "loss": {"kind": "cross_entropy", "target": "label", "reduction": "sum"},
}
IMAGES = {
    "inputs": {"x": ["batch", 1, 8, 8]},
    "layers": [
        {"layer": "conv2d", "channels": 2, "kernel": [3, 3], "padding": [1, 1]},
        {"layer": "max_pool2d", "kernel": 2},
        "global_avg_pool",
        {"layer": "linear", "units": 1},
    ],
}
CONSTANTS = {
    "inputs": {"x": [2]},
    "constants": {"c": [1.5, -2.0], "k": {"dtype": "int64", "shape": [2, 1], "data": [3, 4]}, "flag": True},
    "buffers": {"seen": {"shape": [], "dtype": "int64"}},
    "program": "y = where(flag, x * c, 0.0) + k.squeeze(axis=1)\nz = y.sum()",
}
SEVERAL = {
    "inputs": {"x": [6]},
    "parameters": {"w": [6]},
    "nodes": [
        {"name": "parts", "op": "split", "inputs": ["x"], "attrs": {"sizes": [2, 4]}},
        {"name": "first", "op": "sum", "inputs": ["parts:0"]},
        {"name": "second", "op": "mean", "inputs": ["parts:1"]},
        {"name": "penalty", "op": "dot", "inputs": ["w", "w"]},
    ],
    "outputs": ["parts:1", "first"],
    "losses": ["second", "penalty"],
}
DOCUMENTS = {
    "nodes": NODES,
    "program": PROGRAM,
    "layers": LAYERS,
    "images": IMAGES,
    "constants": CONSTANTS,
    "several": SEVERAL,
}


@each_row("document", DOCUMENTS.values(), ids=DOCUMENTS)
@each_row("read", [engine.parse_graph, engine.read_checked_graph])
def test_the_canonical_form_parses_to_an_equal_definition(document, read):
    definition = engine.parse_graph(document)
    again = read(json.loads(json.dumps(definition.to_json(), allow_nan=False)))
    assert again == definition
    assert hash(again) == hash(definition)
    assert again.digest == definition.digest
    assert again.implicit_loss is definition.implicit_loss
    assert again.to_json() == definition.to_json()
    assert engine.graph_report(again) == engine.graph_report(definition)


def test_a_checked_graph_is_refused_in_another_form():
    for document in (PROGRAM, LAYERS, {**NODES, "outputs": ["loss"], "losses": ["loss"], "other": 1}):
        with pytest.raises(DocumentError):
            engine.read_checked_graph(document)


@each_row("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_the_digest_ignores_the_name_and_nothing_else(document):
    definition = engine.parse_graph(document)
    assert replace(definition, outputs=(), losses=()).digest != definition.digest
    assert engine.parse_graph({**document, "name": "other"}).digest == definition.digest
    assert engine.parse_graph({**document, "name": "other"}) != definition
    name, spec = next(iter(document["inputs"].items()))
    spec = spec if isinstance(spec, dict) else {"shape": spec}
    wider = engine.parse_graph({**document, "inputs": {**document["inputs"], name: {**spec, "dtype": "float64"}}})
    assert wider.digest != definition.digest


def test_nodes_and_program_spell_the_same_graph():
    from_nodes, from_program = engine.parse_graph(NODES), engine.parse_graph(PROGRAM)
    assert from_nodes == from_program
    assert from_nodes.digest == from_program.digest


def test_the_canonical_form_of_nodes_spells_out_every_default():
    assert engine.parse_graph(NODES).to_json() == {
        "name": "line",
        "inputs": {
            "x": {"shape": ["batch", 3], "dtype": "float32"},
            "y": {"shape": ["batch"], "dtype": "float32"},
        },
        "parameters": {
            "w": {"shape": [3], "dtype": "float32", "init": {"kind": "ones"}},
            "b": {"shape": [], "dtype": "float32", "init": {"kind": "zeros"}},
        },
        "nodes": NODES["nodes"],
        "outputs": ["pred"],
        "losses": ["loss"],
    }


def test_layers_expand_to_named_nodes_parameters_and_buffers():
    definition = engine.parse_graph(LAYERS)
    assert {name: (spec.shape, spec.init["kind"]) for name, spec in definition.parameters.items()} == {
        "linear_0.weight": ((8, 4), "kaiming_uniform"),
        "linear_0.bias": ((8,), "uniform"),
        "norm.weight": ((8,), "ones"),
        "norm.bias": ((8,), "zeros"),
        "linear_1.weight": ((3, 8), "kaiming_uniform"),
    }
    assert {name: spec.init["kind"] for name, spec in definition.buffers.items()} == {
        "norm.running_mean": "zeros",
        "norm.running_var": "ones",
        "norm.num_batches_tracked": "zeros",
    }
    assert [(node.name, node.op, node.inputs, node.attrs) for node in definition.nodes] == [
        ("linear_0", "linear", ("x", "linear_0.weight", "linear_0.bias"), {}),
        ("linear_0.relu", "relu", ("linear_0",), {}),
        (
            "norm",
            "tracked_batch_norm",
            (
                "linear_0.relu",
                "norm.weight",
                "norm.bias",
                "norm.running_mean",
                "norm.running_var",
                "norm.num_batches_tracked",
            ),
            {},
        ),
        ("dropout_0", "dropout", ("norm",), {"p": 0.25}),
        ("linear_1", "linear", ("dropout_0", "linear_1.weight"), {}),
        ("loss", "cross_entropy", ("linear_1", "label"), {"reduction": "sum"}),
    ]
    assert (definition.outputs, definition.losses) == (("linear_1",), ("loss",))


@each_row(
    ("program", "losses", "outputs", "implicit"),
    [
        ("loss = x.sum()", ("loss",), ("loss",), False),
        ("loss = x.sum()\nextra = x * 2", ("loss",), ("loss", "extra"), False),
        ("total = x.sum()", ("total",), ("total",), True),
        ("a = x.sum()\nb = x.mean()", (), ("a", "b"), False),
        ("a = x * 2", (), ("a",), False),
        ("a = x * 2\nb = a.sum()\nc = a + 1", ("b",), ("b", "c"), True),
        ("n = argmax(x)", (), ("n",), False),
    ],
)
def test_a_loss_is_named_or_the_only_scalar_output(program, losses, outputs, implicit):
    definition = engine.parse_graph({"inputs": {"x": [3]}, "program": program})
    assert (definition.losses, definition.outputs, definition.implicit_loss) == (losses, outputs, implicit)


def test_numbers_stand_for_values_and_keep_their_kind():
    document = {
        "inputs": {"x": {"shape": [2], "dtype": "int64"}},
        "nodes": [
            {"name": "a", "op": "add", "inputs": ["x", 2]},
            {"name": "b", "op": "mul", "inputs": ["x", 2.5]},
            {"name": "c", "op": "where", "inputs": [True, "a", "x"]},
        ],
    }
    definition = engine.parse_graph(document)
    shapes = engine.graph_report(definition)["shapes"]
    assert {name: shape["dtype"] for name, shape in shapes.items()} == {"a": "int64", "b": "float32", "c": "int64"}


def test_a_value_without_an_index_is_the_first_output_of_its_node():
    document = {**SEVERAL, "outputs": ["parts", "parts:0"], "losses": ["second"]}
    result = engine.compute(engine.parse_graph(document), {"inputs": {"x": [1, 2, 3, 4, 5, 6]}, "want": ["outputs"]})
    np.testing.assert_array_equal(result["outputs"]["parts"], result["outputs"]["parts:0"])


def test_several_losses_add_up():
    definition = engine.parse_graph(SEVERAL)
    request = {"inputs": {"x": [0, 0, 1, 2, 3, 6]}, "parameters": {"w": [1, 0, 0, 0, 0, 2]}}
    result = engine.compute(definition, request)
    assert result["losses"] == {"second": 3.0, "penalty": 5.0}
    np.testing.assert_array_equal(result["gradients"]["w"], [2, 0, 0, 0, 0, 4])


def test_a_frozen_parameter_gets_no_gradient_and_stays_frozen_in_the_canonical_form():
    document = {**NODES, "parameters": {**NODES["parameters"], "w": {"shape": [3], "frozen": True}}}
    definition = engine.parse_graph(document)
    assert definition.to_json()["parameters"]["w"]["frozen"] is True
    request = {"inputs": {"x": [[1, 2, 3]], "y": [4]}, "want": ["gradients"]}
    gradients = engine.compute(definition, request)["gradients"]
    assert gradients["w"] is None
    assert gradients["b"] is not None


def test_equal_dimension_names_are_one_extent():
    definition = engine.parse_graph({"inputs": {"x": ["n", "m"], "y": ["m", "n"]}, "program": "z = x @ y"})
    assert definition.dimension_names == ("n", "m")
    assert engine.graph_report(definition)["shapes"]["z"]["shape"] == ["n", "n"]
    with pytest.raises(engine.DocumentError) as caught:
        engine.compute(definition, {"inputs": {"x": [[1, 2]], "y": [[1, 2], [3, 4]]}, "want": ["outputs"]})
    assert [(f.pointer, f.code) for f in caught.value.findings] == [("/inputs/y", "shape_mismatch")]


def test_two_random_ops_never_share_a_key() -> None:
    document = {
        "inputs": {"x": ["batch", 64]},
        "parameters": {"w": [64]},
        "program": "a = dropout(x * w)\nb = dropout(x * w)\nloss = sum(a) + sum(b)",
        "outputs": ["a", "b"],
    }
    definition = engine.parse_graph(document)
    request = {"inputs": {"x": [[1.0] * 64]}, "parameters": {"w": [1.0] * 64}, "training": True}
    outputs = engine.compute(definition, request)["outputs"]
    assert outputs["a"].tolist() != outputs["b"].tolist()
