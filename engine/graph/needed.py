"""Which inputs of a graph something depends on, and the graph without inputs that nothing wanted depends on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from engine.core.registry import lookup
from engine.graph.definition import Definition, NodeSpec


def names_needed(nodes: Mapping[str, NodeSpec], references: Iterable[str]) -> set[str]:
    """Return the names of all nodes and leaves that values are computed from, themselves included."""
    found: set[str] = set()
    waiting = [_name(reference) for reference in references]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _operands(nodes[name]) if name in nodes else ()
    return found


def needed_inputs(definition: Definition, references: Iterable[str], *, training: bool = False) -> tuple[str, ...]:
    """Return the inputs that values depend on, in the order of the graph.

    Args:
        definition: the graph.
        references: names of outputs, losses, nodes or inputs.
        training: whether what a forward pass in training changes is wanted too: running statistics, limited rows.
    """
    nodes = {node.name: node for node in definition.nodes}
    found = names_needed(nodes, (*references, *(_updating(definition) if training else ())))
    return tuple(name for name in definition.inputs if name in found)


def without_inputs(definition: Definition, absent: Collection[str]) -> Definition:
    """Return the graph without some inputs, and without the nodes, outputs and losses that depend on them."""
    if not absent:
        return definition
    gone, nodes = set(absent), []
    for node in definition.nodes:
        if gone.isdisjoint(_operands(node)):
            nodes.append(node)
        else:
            gone.add(node.name)
    return replace(
        definition,
        inputs={name: spec for name, spec in definition.inputs.items() if name not in gone},
        nodes=tuple(nodes),
        outputs=tuple(output for output in definition.outputs if _name(output) not in gone),
        losses=tuple(loss for loss in definition.losses if _name(loss) not in gone),
    )


def _updating(definition: Definition) -> Iterator[str]:
    """Yield the nodes that change a buffer or a parameter when they are run in training."""
    states = {*definition.buffers, *definition.parameters}
    for node in definition.nodes:
        updates = lookup(node.op).memory.state_updates
        if any(place < len(node.inputs) and node.inputs[place] in states for place in updates):
            yield node.name


def _operands(node: NodeSpec) -> list[str]:
    return [_name(operand) for operand in node.inputs if isinstance(operand, str)]


def _name(reference: str) -> str:
    return reference.partition(":")[0]
