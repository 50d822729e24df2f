"""Losses never compare rows with one another without a word: layers refuse it, programs and nodes are warned of it."""

import pytest

import engine
from engine.core.errors import DocumentError
from engine.nn.layers import loss_declarations
from tests.support.rows import each_row

SHAPES = (["n"], ["n", 1], ["n", 3], [1], ["n", 1, 1])
PAIRED = [(kind, name) for kind, loss in loss_declarations().items() for name in loss.paired]


def inputs_of(kind, paired, predictions, given):
    """Return the inputs of a graph in which one operand of a loss has the shape `given`."""
    shapes = {"x": predictions}
    for operand in loss_declarations()[kind].operands:
        if operand.required:
            rows = kind == "cosine_embedding_loss" and operand.name == "target"
            shapes[operand.name] = given if operand.name == paired else predictions[:1] if rows else predictions
    integer = kind == "multilabel_margin_loss"
    return {
        name: {"shape": shape, "dtype": "int64" if integer and name == "target" else "float32"}
        for name, shape in shapes.items()
    }


def documents(kind, paired, predictions, given):
    """Yield the graph in the three spellings, by their names."""
    inputs = inputs_of(kind, paired, predictions, given)
    names = [name for name in inputs if name != "x"]
    loss = {"kind": kind, **{name: name for name in names}}
    yield "layers", {"inputs": inputs, "layers": ["sigmoid"], "loss": loss}
    call = f"loss = {kind}({', '.join(['sigmoid(x)', *names])})"
    yield "program", {"inputs": inputs, "program": call}
    nodes = [{"name": "p", "op": "sigmoid", "inputs": ["x"]}, {"name": "l", "op": kind, "inputs": ["p", *names]}]
    yield "nodes", {"inputs": inputs, "nodes": nodes, "losses": ["l"]}


def outcome(document):
    """Return "refused", "warned" or "accepted"."""
    try:
        report = engine.graph_report(engine.parse_graph(document))
    except DocumentError as error:
        if not all(finding.pointer for finding in error.findings):
            raise
        return "refused"
    found = [finding for finding in report["findings"] if finding["code"] == "broadcast_operands"]
    assert all(finding["severity"] == "warning" for finding in found)
    return "warned" if found else "accepted"


@pytest.mark.parametrize(("kind", "paired"), PAIRED)
def test_operands_of_unequal_shape_are_refused_in_layers_and_warned_of_elsewhere(kind, paired):
    accepted = 0
    for predictions in SHAPES[:3]:
        for given in SHAPES:
            for spelling, document in documents(kind, paired, predictions, given):
                found = outcome(document)
                if given == predictions:
                    assert found in ("accepted", "refused"), (spelling, given)  # refused: of a rank it does not take
                    accepted += found == "accepted"
                else:
                    assert found in (("refused",) if spelling == "layers" else ("refused", "warned")), (spelling, given)
    assert accepted >= 3


def test_the_refusal_says_what_to_declare():
    graph = {"inputs": {"x": ["batch", 4], "y": ["batch"]}, "layers": [{"layer": "linear", "units": 1}]}
    with pytest.raises(DocumentError) as caught:
        engine.parse_graph({**graph, "loss": {"kind": "mse", "target": "y"}})
    (finding,) = caught.value.findings
    assert (finding.pointer, finding.code) == ("/loss/target", "shape_mismatch")
    assert "the target has shape ['batch'] and the predictions have ['batch', 1]" in finding.detail
    assert "float32[1]" in finding.detail
    assert "squeeze" in finding.detail
    squeezed = {**graph, "layers": [*graph["layers"], "squeeze"], "loss": "mse"}
    assert engine.graph_report(engine.parse_graph(squeezed))["findings"] == []
    declared = {**graph, "inputs": {"x": ["batch", 4], "y": ["batch", 1]}, "loss": "mse"}
    assert engine.graph_report(engine.parse_graph(declared))["findings"] == []


@each_row(
    ("program", "warned"),
    [
        ("loss = mean((x @ w - y) ** 2)", True),
        ("loss = mean((y - x @ w) ** 2)", True),
        ("loss = mean(maximum(x @ w, y))", True),
        ("loss = mean((squeeze(x @ w, axis=1) - y) ** 2)", False),
        ("loss = mean((x @ w - unsqueeze(y, axis=1)) ** 2)", False),
        ("loss = mean(abs(unsqueeze(y, axis=0) - x @ w))", False),
        ("loss = mean(x @ w + b)", False),
    ],
)
def test_arithmetic_that_pairs_rows_is_warned_of_where_the_ranks_differ(program, warned):
    inputs, parameters = {"x": ["batch", 4], "y": ["batch"]}, {"w": [4, 1], "b": [1]}
    report = engine.graph_report(engine.parse_graph({"inputs": inputs, "parameters": parameters, "program": program}))
    found = [finding for finding in report["findings"] if finding["code"] == "broadcast_operands"]
    assert [finding["pointer"] for finding in found] == ["/program"] * warned
