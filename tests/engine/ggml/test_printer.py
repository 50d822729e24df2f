"""Static graphs as text and as DOT."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from engine import Graph, declare, ops

Build = Callable[..., Any]

FORWARD = """\
graph of size 2048
4 nodes
     0: [    1,     1,     1]             none x x
     1: [    1,     1,     1]              mul   node_1
     2: [    1,     1,     1]              mul   node_2
     3: [    1,     1,     1]              add   node_3
2 leafs
     0: [    1,     1]             none   a
     1: [    1,     1]             none   b
"""

BOTH = """\
graph of size 2048
9 nodes
     0: [    1,     1,     1]             none x x
     1: [    1,     1,     1]              mul g node_1
     2: [    1,     1,     1]              mul g node_2
     3: [    1,     1,     1]              add g node_3
     4: [    1,     1,     1]              mul   grad for node_1
     5: [    1,     1,     1]              mul   node_5
     6: [    1,     1,     1]              mul   node_6
     7: [    1,     1,     1]              add   node_7
     8: [    1,     1,     1]              add   grad for x
4 leafs
     0: [    1,     1]             none   a
     1: [    1,     1]             none   b
     2: [    1,     1]             none   grad acc for x
     3: [    1,     1]             none   grad acc for node_3
"""


def test_a_graph_prints_its_nodes_and_leafs(parabola: Build) -> None:
    model = parabola()
    assert model.graph.to_text() == FORWARD
    model.graph.build_backward()
    assert model.graph.to_text() == BOTH


def test_extents_are_printed_in_the_order_of_ggml() -> None:
    graph = Graph()
    graph.expand(ops.exp(declare([4, 3, 2], name="t")))
    assert "[    2,     3,     4]              exp" in graph.to_text()


ATTRIBUTES = r'\[((?:[a-z]+ = (?:[a-z]+|"(?:[^"\\]|\\.)*"))(?:, [a-z]+ = (?:[a-z]+|"(?:[^"\\]|\\.)*"))*)\]'
STATEMENTS = {
    "setting": re.compile(r"[a-z]+ = [a-zA-Z]+;"),
    "node": re.compile(rf"([nl]\d+) {ATTRIBUTES};"),
    "edge": re.compile(rf"([nl]\d+):([xg]) -> ([nl]\d+):([xg]) {ATTRIBUTES};"),
}
FIELD = re.compile(r"\s*(?:<[xg]> )?(?:[^{}|<>\"\\]|\\.)*\s*")


def parsed(dot: str) -> tuple[dict[str, dict[str, str]], list[tuple[str, ...]]]:
    """Read a drawing by the grammar of DOT, as far as it is used here: nodes with attributes, and edges."""
    lines = dot.splitlines()
    assert (lines[0], lines[-1]) == ("digraph G {", "}")
    nodes, edges = {}, []
    for line in lines[1:-1]:
        kind, match = next((k, m) for k, p in STATEMENTS.items() if (m := p.fullmatch(line.strip())))
        if kind == "node":
            assert match[1] not in nodes
            nodes[match[1]] = dict(part.split(" = ", 1) for part in re.split(r", (?=[a-z]+ = )", match[2]))
        elif kind == "edge":
            edges.append(match.groups())
    return nodes, edges


def test_a_drawing_is_dot(differentiated: Build) -> None:
    nodes, edges = parsed(differentiated().graph.to_dot())
    for attributes in nodes.values():
        fields = re.split(r"(?<!\\)\|", attributes["label"].strip('"'))
        assert len(fields) >= 3
        assert all(FIELD.fullmatch(field) for field in fields)
    assert all(source in nodes and target in nodes for source, _, target, _, _ in edges)


def test_every_forward_tensor_is_one_node_and_gradients_are_part_of_it(differentiated: Build) -> None:
    model = differentiated()
    nodes, edges = parsed(model.graph.to_dot())
    forward = {f"n{index}" for index in range(4)}
    assert forward <= set(nodes)
    labels = {name: attributes["label"] for name, attributes in nodes.items()}
    assert all("<g>" in labels[name] for name in forward)
    names = [model.graph.name_of(node) for node in model.graph.nodes]
    folded = {f"n{index}" for index, name in enumerate(names) if name.startswith("grad for")}
    assert len(folded) == 2
    assert not folded & set(nodes)
    assert {source for source, port, *_ in edges if port == "g"} <= forward
    assert all(("dashed" in rest) == ("g" in (port, other)) for _, port, _, other, rest in edges)


def test_colours_show_parameters_gradients_and_leafs(differentiated: Build) -> None:
    model = differentiated()
    colours = {name: a["fillcolor"] for name, a in parsed(model.graph.to_dot())[0].items()}
    assert colours == {
        "n0": "yellow", "n1": "green", "n2": "green", "n3": "green", "n5": "white", "n6": "white", "n7": "white",
        "l0": "pink", "l1": "pink", "l2": "pink",
    }  # fmt: skip


def test_what_has_a_gradient_and_is_not_in_the_forward_graph_is_light_blue(parabola: Build) -> None:
    forward, both = parabola(), parabola()
    both.graph.build_backward()
    colours = {name: a["fillcolor"] for name, a in parsed(both.graph.to_dot(forward.graph))[0].items()}
    assert colours["n1"] == colours["n3"] == "lightblue"


def test_edges_show_which_source_they_are(parabola: Build) -> None:
    _, edges = parsed(parabola().graph.to_dot())
    assert [(a, b, re.search(r'label = "(.*)"', rest)[1]) for a, _, b, _, rest in edges] == [
        ("n0", "n1", "src 0"),
        ("n0", "n1", "src 1"),
        ("l0", "n2", "src 0"),
        ("n1", "n2", "src 1"),
        ("n2", "n3", "src 0"),
        ("l1", "n3", "src 1"),
    ]


def test_constants_show_their_numbers_and_names_are_escaped() -> None:
    graph = Graph()
    graph.expand(declare([1], name='a|b{"c"}<d>') * 2.5)
    dot = graph.to_dot()
    assert r"a\|b\{\"c\"\}\<d\>" in dot
    assert "| 2.5 |" in dot
    parsed(dot)


@pytest.mark.parametrize("backward", [False, True])
def test_a_view_is_drawn_too(differentiated: Build, backward: bool) -> None:
    view = differentiated().graph.view(0, 9 if backward else 4)
    assert len(parsed(view.to_dot())[0]) == view.n_nodes
