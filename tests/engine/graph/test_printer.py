"""Graphs for people: text line by line, DOT that a drawing program takes, and the list of nodes."""

import json
import re

import engine
from tests.support.rows import each_row

QUADRATIC = {
    "name": "quadratic",
    "inputs": {"a": [], "b": []},
    "parameters": {"x": []},
    "program": "x2 = x * x\nf = a * x2 + b",
}
NETWORK = {
    "name": "network",
    "inputs": {"x": ["batch", 4], "label": {"shape": ["batch"], "dtype": "int64"}},
    "constants": {"scale": [1.0, 2.0, 0.5, 1.0]},
    "parameters": {"w": [4, 6], "v": [6, 3], "fixed": {"shape": [3], "frozen": True}},
    "buffers": {"mean": [6], "var": {"shape": [6], "init": "ones"}},
    "nodes": [
        {"name": "scaled", "op": "mul", "inputs": ["x", "scale"]},
        {"name": "h", "op": "matmul", "inputs": ["scaled", "w"]},
        {"name": "n", "op": "batch_norm", "inputs": ["h", 1.0, 0.0, "mean", "var"]},
        {"name": "d", "op": "dropout", "inputs": ["h"]},
        {"name": "parts", "op": "split", "inputs": ["d"], "attrs": {"sizes": [2, 4], "axis": 1}},
        {"name": "joined", "op": "concat", "inputs": ["parts:1", "parts:0"], "attrs": {"axis": 1}},
        {"name": "z", "op": "matmul", "inputs": ["joined", "v"]},
        {"name": "logits", "op": "add", "inputs": ["z", "fixed"]},
        {"name": "loss", "op": "cross_entropy", "inputs": ["logits", "label"]},
    ],
    "outputs": ["logits"],
    "losses": ["loss"],
}
del NETWORK["nodes"][2]  # its scale and shift must be vectors; the buffers stay unused
GRAPHS = {"quadratic": QUADRATIC, "network": NETWORK}
NODE = re.compile(r'  (n\d+) \[label = "([^"]*)", fillcolor = (\w+)\];\Z')
EDGE = re.compile(r'  (n\d+) -> (n\d+) \[label = "src (\d+)"\];\Z')


def test_the_text_of_a_small_graph_with_its_backward():
    assert engine.graph_text(engine.parse_graph(QUADRATIC), backward=True) == (
        "graph quadratic\n"
        "  input a: float32[]\n"
        "  input b: float32[]\n"
        "  parameter x: float32[]\n"
        "  x2: float32[] = mul(x, x)\n"
        "  mul.2: float32[] = mul(a, x2)\n"
        "  f: float32[] = add(mul.2, b)\n"
        "  %0: float32[] = mul(1, a)\n"
        "  %1: float32[] = mul(%0, x)\n"
        "  %2: float32[] = mul(%0, x)\n"
        "  grad for x: float32[] = add(%1, %2)\n"
        "  return f; loss f\n"
    )


@each_row("backward", [False, True])
@each_row("document", GRAPHS.values(), ids=GRAPHS)
def test_every_line_uses_only_what_stands_above_it(document, backward):
    nodes = engine.graph_nodes(engine.parse_graph(document), backward=backward)
    known = {*document["inputs"], *document["parameters"], *document.get("buffers", {}), *document.get("constants", {})}
    for node in nodes:
        for operand in node["inputs"]:
            assert operand in known or operand == "%key" or re.fullmatch(r"-?[\d.e+-]+|True|False", operand), node
        assert node["name"] not in known
        known.add(node["name"])
    assert json.loads(json.dumps(nodes, allow_nan=False)) == nodes
    assert {node["kind"] for node in nodes} == ({"forward", "backward"} if backward else {"forward"})


def test_a_node_names_its_part_of_the_definition_and_counts_its_work():
    nodes = engine.graph_nodes(engine.parse_graph(NETWORK), backward=True, batch=10)
    by_name = {node["name"]: node for node in nodes}
    assert (by_name["h"]["shape"], by_name["h"]["flops"], by_name["h"]["bytes"]) == (["batch", 6], 2 * 10 * 4 * 6, 240)
    assert by_name["grad for w"]["definition_node"] == "h"
    assert by_name["grad for v"]["definition_node"] == "z"
    parts = {(node["kind"], node["op"]): node["definition_node"] for node in nodes}
    assert parts["backward", "softmax_cross_entropy_backward"] == "loss"
    assert {node["definition_node"] for node in nodes if node["kind"] == "forward"} == {
        node["name"] for node in NETWORK["nodes"]
    }
    assert "flops" not in engine.graph_nodes(engine.parse_graph(NETWORK))[0]


def test_named_extents_are_printed_by_name():
    text = engine.graph_text(engine.parse_graph(NETWORK), backward=True)
    assert "  input x: float32[batch,4]\n" in text
    assert "  logits: float32[batch,3] = add(z, fixed)\n" in text
    assert "grad for fixed" not in text
    assert re.search(r"grad for w: float32\[4,6\] = ", text)


@each_row("backward", [False, True])
@each_row("document", GRAPHS.values(), ids=GRAPHS)
def test_the_drawing_has_one_node_a_value_and_edges_between_them(document, backward):
    definition = engine.parse_graph(document)
    lines = engine.graph_dot(definition, backward=backward).splitlines()
    assert lines[0] == "digraph graph_ {"
    assert lines[-1] == "}"
    drawn = [match.groups() for line in lines[3:-1] if (match := NODE.match(line))]
    edges = [match.groups() for line in lines[3:-1] if (match := EDGE.match(line))]
    assert len(drawn) + len(edges) == len(lines) - 4
    identifiers = {identifier for identifier, _, _ in drawn}
    labels = [label.partition(" | ")[0] for _, label, _ in drawn]
    assert len(identifiers) == len(set(labels)) == len(drawn)
    assert all(source in identifiers and target in identifiers for source, target, _ in edges)
    colours = {label.partition(" | ")[0]: colour for _, label, colour in drawn}
    assert all(colours[name] == "yellow" for name in document["parameters"])
    assert ("lightblue" in colours.values()) is backward
    nodes = engine.graph_nodes(definition, backward=backward)
    assert {node["name"] for node in nodes} <= set(labels)
    assert not any(character in label for _, label, _ in drawn for character in '"<>{}\\')


def test_an_input_called_key_is_not_the_random_key():
    document = {
        "inputs": {"key": ["n", 2]},
        "parameters": {"w": [2]},
        "program": "d = dropout(key * w)\nloss = sum(d)",
    }
    lines = engine.graph_dot(engine.parse_graph(document)).splitlines()
    assert sum(line.startswith("  n0 ->") for line in lines) == 1
