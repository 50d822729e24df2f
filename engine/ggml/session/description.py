"""What a static graph and its tensors are, as plain data."""

from __future__ import annotations

from typing import Any

from engine.core.value import Value
from engine.ggml.graph import Graph
from engine.ggml.overhead import graph_overhead


def describe_graph(graph: Graph) -> dict[str, Any]:
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


def describe_tensor(graph: Graph, value: Value) -> dict[str, Any]:
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


def _name(graph: Graph, value: Value) -> str:
    return graph.name_of(value) if value in graph else value.name or "unnamed"
