"""The reduction of a loss over its rows, which allows to compute a batch in parts."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from engine.core.dtypes import FLOAT64, is_float
from engine.core.registry import find_op
from engine.core.value import Value
from engine.graph.definition import Definition, NodeSpec
from engine.graph.trace import Trace
from engine.ops.elementwise.casting import cast
from engine.ops.loss.classification import target_weights
from engine.ops.reduce.reduce import sum
from engine.training.metrics.regression import UnitsLoss
from engine.training.recipe.recipe import Recipe

Reduction = Literal["mean", "sum", "weighted"]
"""mean over rows; sum over rows; mean over the weights of the classes, of those targets that are not ignored."""


def weighted_loss(definition: Definition) -> NodeSpec | None:
    """Return the loss if it is the only one and a mean over class targets, which divides by their weights."""
    node = only_loss(definition)
    if node is None or not divides_by_class_weights(node) or node.attrs.get("reduction", "mean") != "mean":
        return None
    return node


def divides_by_class_weights(node: NodeSpec) -> bool:
    """Return whether a node is a loss whose mean divides by the weights of the classes."""
    op = find_op(node.op)
    return op is not None and op.loss is not None and op.loss.weighted_mean


def weight_of_targets(graph: Trace) -> Value | None:
    """Return the divisor of a "weighted" loss, a float64 scalar; None if its targets are probabilities."""
    node = only_loss(graph.definition)
    assert node is not None
    operands = [graph.value(r) for r in node.inputs if isinstance(r, str)]
    if is_float(operands[1].dtype):
        return None
    with graph.trace():
        weights = target_weights(
            operands[0], operands[1], *operands[2:], ignore_index=node.attrs.get("ignore_index", -100)
        )
        return sum(cast(weights, dtype=FLOAT64))


def summing(definition: Definition) -> Definition:
    """Return the graph with the sum of a "weighted" loss instead of its mean, which is 0 / 0 without targets."""
    loss = only_loss(definition)
    assert loss is not None
    summed = replace(loss, attrs={**loss.attrs, "reduction": "sum"})
    return replace(definition, nodes=tuple(summed if node is loss else node for node in definition.nodes))


def only_loss(definition: Definition) -> NodeSpec | None:
    """Return the node of the loss of a graph, if there is only one loss."""
    if len(definition.losses) != 1:
        return None
    name = definition.losses[0].partition(":")[0]
    return next((node for node in definition.nodes if node.name == name), None)


def named_reduction(definition: Definition) -> Reduction:
    """Return the reduction by the name or the attribute of the loss's op; by default a mean."""
    node = only_loss(definition)
    if node is None:
        return "mean"
    op = find_op(node.op)
    summed = (op is not None and op.algebra.total) or node.attrs.get("reduction") == "sum"
    return "sum" if summed else "mean"


def with_units_loss(recipe: Recipe, definition: Definition) -> Recipe:
    """Return the recipe with a metric for the loss in the units of the data."""
    loss = UnitsLoss(summed=named_reduction(definition) == "sum")
    return replace(recipe, metrics=(*recipe.metrics, loss))
