"""Units of normalised targets: predictions, metrics and losses in the units of the data.

A target that `normalize` names is fed to the graph in normalised units: the graph predicts and compares there. The
inverse map, x * scale + shift by element of a row, brings predictions and targets back before they are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from engine.core.dtypes import FLOAT64
from engine.core.registry import lookup
from engine.core.value import Value
from engine.graph.definition import Definition, NodeSpec
from engine.graph.trace import Trace, apply_node
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.elementwise import square
from engine.ops.shape.shape import reshape
from engine.training.metrics.comparisons import Comparison, numeric_comparisons
from engine.training.metrics.operands import NUMBERS, Operands

"""The loss whose third operand is a variance, in squared units."""


@dataclass(frozen=True, slots=True)
class Unit:
    """The inverse of the normalisation of a target: float64 leaves, each of the shape of a row."""

    scale: Value
    shift: Value

    def invert(self, value: Value) -> Value:
        """Return values, rows in any shape that keeps their order, in the units of the data (float64)."""
        return self._by_row(value, lambda rows: rows * self.scale + self.shift)

    def invert_variance(self, value: Value) -> Value:
        """Return variances, likewise, in the squared units of the data."""
        return self._by_row(value, lambda rows: rows * square(self.scale))

    def _by_row(self, value: Value, change: Callable[[Value], Value]) -> Value:
        row, wide = self.scale.shape, cast(value, dtype=FLOAT64)
        if value.shape[value.ndim - len(row) :] == row:
            return change(wide)
        return reshape(change(reshape(wide, shape=(-1, *row))), shape=value.shape)


Units = Mapping[str, Unit]
"""By the name of the target."""


def normalized_comparisons(definition: Definition, normalized: Collection[str]) -> list[Comparison]:
    """Return the comparisons of predictions with a normalised target in the losses."""
    return [each for each in numeric_comparisons(definition) if each.targets in normalized]


def targets_in_units(definition: Definition, normalized: Collection[str]) -> tuple[str, ...]:
    """Return the normalised inputs that the losses compare with predictions, each once."""
    return tuple(dict.fromkeys(each.targets for each in normalized_comparisons(definition, normalized)))


def predicted_targets(definition: Definition, normalized: Collection[str]) -> Iterator[tuple[str, str, int]]:
    """Yield each node output that predicts a normalised target, with the target and the power of its units.

    The power is 1 for predictions and 2 for a predicted variance. Outputs that only differ in shape or dtype from what
    a loss compares count too.
    """
    nodes = {node.name: node for node in definition.nodes}
    for comparison in normalized_comparisons(definition, normalized):
        for reference in _reshaped(definition, comparison.predictions):
            yield reference, comparison.targets, 1
        variance = nodes[comparison.node].inputs[2:3] if _has_variance(comparison) else ()
        for operand in variance:
            if isinstance(operand, str):
                yield from ((each, comparison.targets, 2) for each in _reshaped(definition, operand))


def operands_in_units(operands: Operands, graph: Trace, units: Units) -> Operands:
    """Return predictions and targets of numbers in the units of the data, if the target is normalised."""
    known = {id(graph.inputs[name]): unit for name, unit in units.items()}
    for each in normalized_comparisons(graph.definition, units):
        known.setdefault(id(graph.value(each.operand)), units[each.targets])
    unit = known.get(id(operands.targets))
    if operands.form not in NUMBERS or unit is None:
        return operands
    own = known.get(id(operands.predictions), unit)
    return replace(operands, predictions=own.invert(operands.predictions), targets=unit.invert(operands.targets))


def loss_in_units(graph: Trace, units: Units) -> Value:
    """Return the total loss of a traced graph with every normalised target and its predictions in the units of the
    data.

    The losses are computed a second time from these comparisons; their other operands are the same.
    """
    compared = {each.node: each for each in normalized_comparisons(graph.definition, units)}
    second = replace(graph, values=dict(graph.values), autocast=None, buffer_updates={}, parameter_updates={})
    changed: set[str] = set()
    with second.trace():
        for given in graph.definition.nodes:
            node = given
            if given.name in compared:
                node = _in_units(second, given, compared[given.name], units)
            elif changed.isdisjoint(each.partition(":")[0] for each in node.inputs if isinstance(each, str)):
                continue
            second.values[node.name] = apply_node(second, node)
            changed.add(node.name)
    return second.total_loss()


def _in_units(graph: Trace, node: NodeSpec, comparison: Comparison, units: Units) -> NodeSpec:
    """Add the operands of a comparison in units of the data to a trace; return the node that compares them."""
    unit, inputs = units[comparison.targets], list(node.inputs)
    # Names in documents begin with a letter, so that these are free.
    names = {comparison.predictions: f"=predictions.{node.name}", comparison.operand: f"=targets.{node.name}"}
    for reference, name in names.items():
        graph.values[name] = (unit.invert(graph.value(reference)),)
    if _has_variance(comparison) and isinstance(inputs[2], str):
        names[inputs[2]] = f"=variance.{node.name}"
        graph.values[names[inputs[2]]] = (unit.invert_variance(graph.value(inputs[2])),)
    return replace(node, inputs=tuple(names.get(each, each) if isinstance(each, str) else each for each in inputs))


def _reshaped(definition: Definition, reference: str) -> set[str]:
    """Return the references that differ from one in shape or dtype only."""
    found, size = {reference}, 0
    while len(found) > size:
        size = len(found)
        for node in definition.nodes:
            if lookup(node.op).algebra.keeps_elements and node.inputs and isinstance(node.inputs[0], str):
                pair = {node.name, node.inputs[0]}
                found |= pair if pair & found and node.inputs[0] not in definition.inputs else set()
    return found


def _has_variance(comparison: Comparison) -> bool:
    """Return whether the third operand is a predicted variance."""
    loss = lookup(comparison.op).loss
    return loss is not None and loss.has_variance
