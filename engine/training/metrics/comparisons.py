"""The predictions and targets that a graph compares: from its losses, or named by a metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.core.errors import EngineError, UnknownName, nearest
from engine.core.losses import PredictionForm
from engine.core.registry import OPS, lookup
from engine.core.value import Value
from engine.graph.definition import Definition, NodeSpec, needed_names
from engine.graph.trace import Trace, output_index
from engine.training.metrics.operands import NUMBERS, Operands, derive, misfit


@dataclass(frozen=True, slots=True)
class Comparison:
    """The predictions and targets that a loss compares: their references, form, op and node.

    `operand` is the operand of the node, if that is the target in another shape or dtype.
    """

    predictions: str
    targets: str
    form: PredictionForm
    axis: int
    ignore_index: int | None
    op: str = ""
    node: str = ""
    operand: str = ""


def comparisons(definition: Definition) -> Iterator[Comparison]:
    """Yield the comparisons of a graph: those of its declared losses first, then of the other nodes in order."""
    by_name = {node.name: node for node in definition.nodes}
    declared = [by_name[name] for loss in definition.losses if (name := loss.partition(":")[0]) in by_name]
    for node in (*declared, *(node for node in definition.nodes if node not in declared)):
        if (comparison := _comparison(node)) is not None:
            yield comparison


def find_comparison(definition: Definition) -> Comparison | None:
    """Return the first comparison of a graph; None if it has no such loss."""
    return next(comparisons(definition), None)


def numeric_comparisons(definition: Definition) -> Iterator[Comparison]:
    """Yield comparisons of predicted numbers with an input in the losses: loss ops of numbers, and subtractions.

    A subtraction, as in `mean((prediction - y) ** 2)`, counts if one operand is an input, a declared loss depends on
    it, and the other operand predicts that input: it is a declared output, or computed from other inputs alone.
    """
    nodes = {node.name: node for node in definition.nodes}
    for comparison in comparisons(definition):
        source = _unshaped(nodes, comparison.targets)
        if comparison.form in NUMBERS and source in definition.inputs:
            yield replace(comparison, targets=source, operand=comparison.targets)
    for node in _nodes_of_losses(definition, nodes):
        if not lookup(node.op).algebra.difference or len(node.inputs) != 2:
            continue
        for operand, predictions in (node.inputs, node.inputs[::-1]):
            if not isinstance(predictions, str) or not isinstance(operand, str):
                continue
            targets = _unshaped(nodes, operand)
            if targets in definition.inputs and _predicts(definition, nodes, predictions, targets):
                yield Comparison(predictions, targets, "numbers", 1, None, lookup(node.op).name, node.name, operand)


def _unshaped(nodes: Mapping[str, NodeSpec], reference: str) -> str:
    """Return the value that a reference reshapes or casts."""
    while reference in nodes and lookup(nodes[reference].op).algebra.keeps_elements:
        source = nodes[reference].inputs[0]
        if not isinstance(source, str):
            break
        reference = source
    return reference


def _predicts(definition: Definition, nodes: Mapping[str, NodeSpec], predictions: str, targets: str) -> bool:
    """Return whether a computed value predicts the input with which it is compared."""
    if predictions.partition(":")[0] not in nodes:
        return False
    read = needed_names(nodes, [predictions]) & definition.inputs.keys()
    return predictions in definition.outputs or (bool(read) and targets not in read)


def _nodes_of_losses(definition: Definition, nodes: Mapping[str, NodeSpec]) -> list[NodeSpec]:
    """Return the nodes that a declared loss depends on, in order."""
    found = needed_names(nodes, definition.losses)
    return [node for node in definition.nodes if node.name in found]


def find_operands(
    graph: Trace, *, predictions: str | None = None, targets: str | None = None, form: PredictionForm | None = None
) -> Operands:
    """Return the predictions and targets of a traced graph.

    Args:
        graph: a traced definition.
        predictions: reference of a value of the graph; by default that which a loss compares with the targets.
        targets: likewise.
        form: the form of the predictions; by default that of the loss, or derived from dtypes and shapes.

    Raises:
        UnknownName: nothing in the graph has that name, or no loss determines the operands.
        ShapeError: the two cannot be compared.
    """
    known = list(comparisons(graph.definition))
    predictions, targets = _references(known, predictions, targets)
    x, y = _value(graph, predictions), _value(graph, targets)
    form, axis = _form(known, predictions, targets, form, x, y)
    ignored = [c.ignore_index for c in known if c.targets == targets and c.ignore_index is not None]
    return Operands(x, y, form, axis, ignored[0] if ignored else None)


def _comparison(node: NodeSpec) -> Comparison | None:
    op = lookup(node.op)
    if op.loss is None or op.loss.form is None or len(node.inputs) < 2:
        return None
    predictions, targets = node.inputs[:2]
    if not isinstance(predictions, str) or not isinstance(targets, str):
        return None
    ignored: Any = op.attributes["ignore_index"].default if "ignore_index" in op.attributes else None
    ignored = node.attrs.get("ignore_index", ignored)
    return Comparison(predictions, targets, op.loss.form, op.loss.class_axis, ignored, op.name, node.name)


def _references(known: list[Comparison], predictions: str | None, targets: str | None) -> tuple[str, str]:
    """Complete missing references: by the loss that has the other one, else by the first loss."""
    related = [c for c in known if predictions == c.predictions or targets == c.targets]
    if predictions is not None and targets is not None:
        return predictions, targets
    if not known:
        losses = ", ".join(op.name for op in OPS.values() if op.loss and op.loss.form)
        raise UnknownName(
            f"the graph has none of the losses that determine what is compared ({losses}): "
            "name the values to compare in `predictions` and `targets`"
        )
    comparison = (related or known)[0]
    return predictions or comparison.predictions, targets or comparison.targets


def _form(
    known: list[Comparison], predictions: str, targets: str, given: PredictionForm | None, x: Value, y: Value
) -> tuple[PredictionForm, int]:
    """Return the form and the axis of classes: as given, by a loss of this pair or of these predictions, or derived."""
    pairs = [c for c in known if (c.predictions, c.targets) == (predictions, targets)]
    takers = [c for c in known if c.predictions == predictions]
    if given is not None:
        axes = [*(c.axis for c in takers if c.form == given), 1, -1]
        return given, next((axis for axis in axes if misfit(given, axis, x, y) is None), 1)
    if pairs:
        return pairs[0].form, pairs[0].axis
    fitting = [(c.form, c.axis) for c in takers if misfit(c.form, c.axis, x, y) is None]
    return fitting[0] if fitting else derive(x, y)


def _value(graph: Trace, reference: str) -> Value:
    """Return the value that a reference stands for."""
    name, colon, output = reference.partition(":")
    leaves = (graph.inputs, graph.parameters, graph.buffers, graph.constants)
    made = next(((table[name],) for table in leaves if name in table), graph.values.get(name))
    if made is None:
        known = [name for table in (*leaves, graph.values) for name in table]
        raise UnknownName(f"nothing in the graph is called {name[:64]!r}{nearest(name, known)}")
    position = output_index(output) if colon else 0
    if not 0 <= position < len(made):
        raise EngineError(f"{reference[:80]!r}: {name[:64]!r} has outputs 0 to {len(made) - 1}")
    return made[position]
