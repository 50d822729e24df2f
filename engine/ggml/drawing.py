"""Static graphs for people: a line for each node, and a drawing in DOT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from engine.core.value import Value

SHOWN_ELEMENTS = 5
"""Leafs of so many elements show them in a drawing."""


class DrawableGraph(Protocol):
    """What is printed of a static graph."""

    @property
    def size(self) -> int:
        """Capacity in nodes."""

    @property
    def nodes(self) -> Sequence[Value]:
        """Nodes in the order of execution."""

    @property
    def leafs(self) -> Sequence[Value]:
        """Values that no node computes."""

    def grad(self, value: Value, /) -> Value | None:
        """Return the gradient of a node, None if it has none."""

    def is_param(self, value: Value, /) -> bool:
        """Whether a value is marked as a parameter."""

    def name_of(self, value: Value, /) -> str:
        """Return the name of a node or leaf."""


def graph_listing(graph: DrawableGraph) -> str:
    """Print nodes (index, first three extents in ggml's order, op, flag, name), then leafs (two extents, op, name)."""
    lines = [f"graph of size {graph.size}", f"{len(graph.nodes)} nodes"]
    for index, node in enumerate(graph.nodes):
        flag = "x" if graph.is_param(node) else "g" if graph.grad(node) is not None else " "
        lines.append(f"  {index:4d}: [{_extents(node, 3)}] {_op(node):>16} {flag} {graph.name_of(node)}")
    lines.append(f"{len(graph.leafs)} leafs")
    for index, leaf in enumerate(graph.leafs):
        lines.append(f"  {index:4d}: [{_extents(leaf, 2)}] {_op(leaf):>16}   {graph.name_of(leaf)}")
    return "\n".join(lines) + "\n"


def graph_drawing(graph: DrawableGraph, forward: DrawableGraph) -> str:
    """Draw `graph` in DOT; see `Graph.to_dot`."""
    drawing = _Drawing(graph, forward)
    return "\n".join(["digraph G {", "  newrank = true;", "  rankdir = TB;", *drawing.lines(), "}"]) + "\n"


class _Drawing:
    def __init__(self, graph: DrawableGraph, forward: DrawableGraph) -> None:
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
        label = " | ".join(_escaped(field) for field in fields)
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


def _escaped(field: str) -> str:
    """Escape what has a meaning in a record, but for the port a field may begin with."""
    port, text = (field[:4], field[4:]) if field.startswith(("<x> ", "<g> ")) else ("", field)
    for character in '\\"{}|<>':
        text = text.replace(character, "\\" + character)
    return port + text
