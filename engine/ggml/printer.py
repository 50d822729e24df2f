"""Static graphs as text, as a DOT drawing and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.core.value import Value
from engine.ggml.context import graph_overhead
from engine.ggml.inspection import Inspection

SHOWN_ELEMENTS = 5
"""Leafs with at most this many elements are drawn with their data."""


def graph_listing(graph: Inspection) -> str:
    """Print nodes (index, first three extents in ggml's order, op, flag, name), then leafs (two extents, op, name)."""
    lines = [f"graph of size {graph.size}", f"{len(graph.nodes)} nodes"]
    for index, node in enumerate(graph.nodes):
        flag = "x" if graph.is_param(node) else "g" if graph.grad(node) is not None else " "
        lines.append(f"  {index:4d}: [{_extents(node, 3)}] {_op(node):>16} {flag} {graph.name_of(node)}")
    lines.append(f"{len(graph.leafs)} leafs")
    for index, leaf in enumerate(graph.leafs):
        lines.append(f"  {index:4d}: [{_extents(leaf, 2)}] {_op(leaf):>16}   {graph.name_of(leaf)}")
    return "\n".join(lines) + "\n"


def graph_drawing(graph: Inspection, forward: Inspection) -> str:
    """Draw `graph` in DOT; see `Graph.to_dot`."""
    drawing = _Drawing(graph, forward)
    return "\n".join(["digraph G {", "  newrank = true;", "  rankdir = TB;", *drawing.lines(), "}"]) + "\n"


class _Drawing:
    def __init__(self, graph: Inspection, forward: Inspection) -> None:
        self.graph = graph
        self.forward = {value.key for value in forward.nodes}
        self.parents: dict[object, Value] = {}  # by gradient, what it is the gradient of
        for value in graph.nodes:
            gradient = graph.grad(value)
            if gradient is not None:
                self.parents.setdefault(gradient.key, value)
        self.identifiers = {value.key: f"n{index}" for index, value in enumerate(graph.nodes)}
        self.identifiers.update({value.key: f"l{index}" for index, value in enumerate(graph.leafs)})

    def lines(self) -> Iterator[str]:
        for value in (*self.graph.nodes, *self.graph.leafs):
            if value.key not in self.parents:
                yield self.box(value)
        for value in self.graph.nodes:
            yield from self.edges(value)

    def box(self, value: Value) -> str:
        gradient = self.graph.grad(value)
        fields = [self.graph.name_of(value), str([*reversed(value.shape)]), f"<x> {_op(value)}"]
        if gradient is not None:
            fields.append(f"<g> {_op(gradient)}")
        elif value.data is not None and value.size <= SHOWN_ELEMENTS:
            fields[1] = ", ".join(f"{number:g}" for number in value.data.reshape(-1).tolist())
        label = " | ".join(_escape(field) for field in fields)
        style = f"style = filled, fillcolor = {self.colour(value)}, shape = record"
        return f'  {self.identifiers[value.key]} [{style}, label = "{label}"];'

    def colour(self, value: Value) -> str:
        if self.graph.is_param(value):
            return "yellow"
        if value.node is None:
            return "pink"
        if self.graph.grad(value) is None:
            return "white"
        return "green" if value.key in self.forward else "lightblue"

    def edges(self, value: Value) -> Iterator[str]:
        for index, source in enumerate(() if value.node is None else value.node.inputs):
            if source.key in self.identifiers:
                folded = value.key in self.parents or source.key in self.parents
                style = "arrowhead = empty, style = dashed" if folded else "arrowhead = vee, style = solid"
                yield f'  {self.end(source)} -> {self.end(value)} [{style}, label = "src {index}"];'

    def end(self, value: Value) -> str:
        parent = self.parents.get(value.key)
        return f"{self.identifiers[value.key]}:x" if parent is None else f"{self.identifiers[parent.key]}:g"


def _extents(value: Value, count: int) -> str:
    """Return the first `count` extents in ggml's order, the one that varies fastest first."""
    extents = [*reversed(value.shape), 1, 1, 1][:count]
    return ", ".join(f"{extent:5d}" for extent in extents)


def _op(value: Value) -> str:
    return "none" if value.node is None else value.node.op.name


def _escape(field: str) -> str:
    """Escape what has a meaning in a record, but for the port a field may begin with."""
    port, text = (field[:4], field[4:]) if field.startswith(("<x> ", "<g> ")) else ("", field)
    for character in '\\"{}|<>':
        text = text.replace(character, "\\" + character)
    return port + text


def describe_graph(graph: Inspection) -> dict[str, Any]:
    """Return counts, limits, losses and what else there is to know of a graph."""
    return {
        "size": graph.size,
        "grads": graph.has_grads,
        "order": graph.order,
        "view": graph.is_view,
        "n_nodes": graph.n_nodes,
        "n_leafs": graph.n_leafs,
        "outputs": [graph.name_of(value) for value in graph.outputs],
        "losses": [graph.name_of(value) for value in graph.losses],
        "implicit_loss": graph.implicit_loss,
        "nbytes": graph.nbytes,
        "overhead": graph_overhead(graph.size, grads=graph.has_grads),
        "topology": graph.topology(),
    }


def describe_tensor(graph: Inspection, value: Value) -> dict[str, Any]:
    """Return what a node or leaf of a graph is: position, op, extents in both orders, sources, gradient.

    `index` counts nodes or leafs, as `kind` says; `gradient` and `accumulator` are names, None where there is none.
    """
    place = graph.position(value)
    gradient, accumulator = graph.grad(value), graph.grad_leaf(value)
    return {
        "index": place if place >= 0 else -1 - place,
        "kind": "node" if place >= 0 else "leaf",
        "name": graph.name_of(value),
        "op": None if value.node is None else value.node.op.name,
        "dtype": value.dtype.name,
        "shape": list(value.shape),
        "ne": list(reversed(value.shape)),
        "nbytes": value.nbytes,
        "parameter": graph.is_param(value),
        "loss": any(value.key == loss.key for loss in graph.losses),
        "inputs": [] if value.node is None else [_name(graph, source) for source in value.node.inputs],
        "gradient": None if gradient is None else _name(graph, gradient),
        "accumulator": None if accumulator is None else _name(graph, accumulator),
    }


def _name(graph: Inspection, value: Value) -> str:
    return graph.name_of(value) if value in graph else value.name or "unnamed"
