"""A program: a graph as data with the arrays of its leaves, small enough to be changed, run again and printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import engine
from engine.core.value import Array
from engine.graph.definition import Definition, NodeSpec

DESCEND = ":descend"
"""The update of a parameter that takes a step against its gradient; any other update names a value."""


@dataclass(frozen=True)
class Program:
    """A graph and its data.

    Attributes:
        inputs: arrays that are fed; their first axis is the batch.
        parameters: floating arrays that a gradient is taken by.
        buffers: other arrays that are kept from run to run.
        nodes: op applications in order.
        outputs: references whose values are wanted.
        losses: references of scalars; gradients are those of their sum.
        twice: whether derivatives of the gradients are wanted as well.
        updates: by name of a parameter what it becomes: DESCEND, or the reference of a value of its shape and dtype.
    """

    inputs: Mapping[str, Array] = field(default_factory=dict)
    parameters: Mapping[str, Array] = field(default_factory=dict)
    buffers: Mapping[str, Array] = field(default_factory=dict)
    nodes: tuple[NodeSpec, ...] = ()
    outputs: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    updates: Mapping[str, str] = field(default_factory=dict)
    twice: bool = False

    @property
    def leaves(self) -> dict[str, Array]:
        """All arrays by name."""
        return {**self.inputs, **self.parameters, **self.buffers}

    def document(self) -> dict[str, Any]:
        """Return the graph as a client would write it."""
        return {
            **{table: _specs(getattr(self, table)) for table in ("inputs", "parameters", "buffers")},
            "nodes": [node.to_json() for node in self.nodes],
            "outputs": list(self.outputs),
            "losses": list(self.losses),
        }

    def definition(self) -> Definition:
        """Read the document as a client's is read."""
        return engine.parse_graph(self.document())

    def without_unused(self) -> Program:
        """Drop nodes and leaves on which no output, loss or update depends."""
        wanted = {_name(reference) for reference in (*self.outputs, *self.losses)}
        wanted |= {_name(reference) for reference in self.updates.values()} | self.updates.keys()
        kept: list[NodeSpec] = []
        for node in reversed(self.nodes):
            if node.name in wanted:
                kept.append(node)
                wanted |= {_name(operand) for operand in node.inputs if isinstance(operand, str)}
        tables = {t: {n: a for n, a in getattr(self, t).items() if n in wanted} for t in LEAVES}
        return replace(self, nodes=tuple(reversed(kept)), **tables)

    def text(self) -> str:
        """Print leaves, nodes and what is wanted, a line each."""
        lines = [
            f"{table[:-1]} {name}: {array.dtype.name}{list(array.shape)}"
            for table in LEAVES
            for name, array in getattr(self, table).items()
        ]
        for node in self.nodes:
            attrs = [f"{key}={value!r}" for key, value in node.attrs.items()]
            lines.append(f"{node.name} = {node.op}({', '.join([*map(str, node.inputs), *attrs])})")
        lines.append(f"outputs {list(self.outputs)} losses {list(self.losses)} updates {dict(self.updates)}")
        lines += ["and derivatives of the gradients"] if self.twice else []
        return "\n".join(lines)


LEAVES = ("inputs", "parameters", "buffers")


def _specs(arrays: Mapping[str, Array]) -> dict[str, Any]:
    return {name: {"shape": list(array.shape), "dtype": array.dtype.name} for name, array in arrays.items()}


def _name(reference: str) -> str:
    return reference.partition(":")[0]


def references(node: NodeSpec) -> Iterable[str]:
    """Return the references among the operands of a node; the others are numbers."""
    return (operand for operand in node.inputs if isinstance(operand, str))
