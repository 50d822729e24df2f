"""Inspection of a static graph: nodes, names, gradients and bytes; as text, as a DOT drawing and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.core.errors import UnknownName
from engine.core.value import Value
from engine.ggml.context import check_name, graph_overhead
from engine.ggml.execution import Execution
from engine.ggml.gradients import BackwardNodes
from engine.ggml.storage import DataAccess
from engine.ggml.tensor_table import EvaluationOrder, TensorTable


class Inspection(DataAccess):
    """Read access to a graph, or to the part of a graph in a view."""

    _table: TensorTable
    _gradients: BackwardNodes | None
    _execution: Execution
    _window: range | None
    _ends: tuple[tuple[int, int, int], tuple[int, int, int]] | None
    size: int
    has_grads: bool
    order: EvaluationOrder

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @property
    def n_leafs(self) -> int:
        """Number of leafs."""
        return len(self.leafs)

    @property
    def nodes(self) -> tuple[Value, ...]:
        """Op results and parameters in the order of execution."""
        nodes = self._table.nodes
        return tuple(nodes if self._window is None else nodes[self._window.start : self._window.stop])

    @property
    def leafs(self) -> tuple[Value, ...]:
        """All other leaves; empty for a view."""
        return () if self._window is not None else tuple(self._table.leafs)

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The values given to `expand`, in order, without gradients."""
        wanted = self._table.wanted
        return tuple(wanted if self._ends is None else (*wanted[: self._ends[0][2]], *wanted[self._ends[1][2] :]))

    @property
    def is_view(self) -> bool:
        """Whether it is a view of another graph."""
        return self._window is not None

    @property
    def losses(self) -> tuple[Value, ...]:
        """The losses; empty before `build_backward`."""
        return () if self._gradients is None else self._gradients.losses

    @property
    def implicit_loss(self) -> bool:
        """Whether the loss is the only scalar output, since none was marked."""
        return self._gradients is not None and self._gradients.implicit_loss

    @property
    def nbytes(self) -> int:
        """Bytes of leaves and results together, known before anything is computed."""
        planned = self._execution.static_plan()
        return planned.work_size + sum(planned.values[number].nbytes for number in planned.leaves)

    def __contains__(self, value: Value) -> bool:
        """Return whether a value is a node or a leaf of the graph."""
        return value in self._table

    def topology(self) -> str:
        """Return a digest of ops, attributes, shapes and connections; names and data play no part."""
        return self._table.topology()

    def node(self, index: int) -> Value:
        """Return a node by position, from the end when negative; UnknownName when there is none."""
        nodes = self.nodes
        if not -len(nodes) <= index < len(nodes):
            raise UnknownName(f"node {index} is not in a graph of {len(nodes)} nodes")
        return nodes[index]

    def position(self, value: Value) -> int:
        """Return the position among the nodes, or -1 - the position among the leafs; UnknownName if in neither."""
        self._check_member(value)
        place = self._table.place(value)
        return place - self._window.start if self._window is not None and place >= 0 else place

    def find(self, name: str) -> Value | None:
        """Return the first leaf, node or gradient called `name`, or None; unnamed ones are `leaf_0`, `node_3`."""
        found = self._table.find(name)
        return found if found is not None or self._gradients is None else self._gradients.names.get(name)

    def name_of(self, value: Value) -> str:
        """Return the name of a value of the graph."""
        self._check_member(value)
        return self._table.name_of(value)

    def set_name(self, value: Value, name: str) -> None:
        """Rename a value of the graph; a name has at most 63 bytes."""
        self._check_member(value)
        self._table.names[value.key] = check_name(name)

    def is_param(self, value: Value) -> bool:
        """Return whether a value is a parameter of the graph."""
        return value in self._table and value.node is None and self._table.place(value) >= 0

    def grad(self, value: Value) -> Value | None:
        """Return the gradient of the losses by a value of the graph; None when there is none (ggml_graph_get_grad)."""
        return None if self._gradients is None else self._gradients.found.get(value.key)

    def grad_acc(self, value: Value) -> Value | None:
        """Return the sum of gradients since `reset`; for a loss its seed; None where nothing accumulates."""
        return None if self._gradients is None else self._gradients.accumulators.get(value.key)

    def grad_leaf(self, value: Value) -> Value | None:
        """Return the leaf in whose memory the gradients of a value add up, or the seed of a loss is; None likewise."""
        total = self.grad_acc(value)
        if total is None or self._gradients is None:
            return None
        return next((leaf for found, leaf in self._gradients.sums if found.key == total.key), total)

    @property
    def sums(self) -> tuple[Value, ...]:
        """The leaves in whose memory gradients add up."""
        return () if self._gradients is None else tuple(leaf for _, leaf in self._gradients.sums)

    @property
    def leaves(self) -> tuple[Value, ...]:
        """Every leaf that is read or written when the graph is computed or reset."""
        seeds = [] if self._gradients is None else self._gradients.seeds
        parameters = [value for value in self._table.nodes if value.node is None]
        found = {leaf.key: leaf for leaf in (*self._table.leafs, *parameters, *self.sums, *seeds)}
        return tuple(found.values())

    def _check_member(self, value: Value) -> None:
        if value not in self._table:
            raise UnknownName(f"the value {value.name or value!r} is not in the graph; expand() it")


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
