"""Printing of graphs: text, DOT and a list of nodes, with or without the backward graph."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.autograd.backward import reachable
from engine.core.value import Value
from engine.graph.definition import Definition
from engine.graph.limits import LIMITS
from engine.graph.shape_inference import dims_at, infer_shapes
from engine.graph.trace import Trace, build

COLOURS = {
    "input": "white",
    "parameter": "yellow",
    "buffer": "pink",
    "constant": "pink",
    "forward": "white",
    "backward": "lightblue",
}


@dataclass(frozen=True)
class NodeLine:
    """One value as it is printed."""

    name: str
    op: str
    inputs: tuple[str, ...]
    attrs: Mapping[str, Any]
    shape: tuple[int | str, ...]
    dtype: str
    kind: str
    needs_grad: bool
    part_of: str = ""
    flops: int = 0
    nbytes: int = 0

    def to_json(self, *, measured: bool = False) -> dict[str, Any]:
        """Write it for a client, with operations and bytes where it is `measured`."""
        document = {
            "name": self.name, "op": self.op, "inputs": list(self.inputs),
            "attrs": {key: _plain(value) for key, value in self.attrs.items()},
            "shape": list(self.shape), "dtype": self.dtype, "kind": self.kind, "requires_grad": self.needs_grad,
            "definition_node": self.part_of,
        }  # fmt: skip
        return {**document, "flops": self.flops, "bytes": self.nbytes} if measured else document


def graph_nodes(definition: Definition, *, backward: bool = False, batch: int | None = None) -> list[dict[str, Any]]:
    """List the primitive nodes in the order of execution: forward, then (on request) backward.

    With `batch`, each has the floating-point operations and the bytes of its output; those of a node
    with several outputs are counted at the first.

    Raises:
        DocumentError: the graph does not accept this batch size.
    """
    lines = [line for line in _lines(definition, backward=backward) if line.op]
    if batch is None:
        return [line.to_json() for line in lines]
    bound = build(definition, dims_at(definition, batch), training=True, limits=LIMITS)
    sized = [line for line in _traced_lines(bound, backward=backward) if line.op]
    if [line.op for line in sized] != [line.op for line in lines]:
        lines = sized  # the nodes depend on the number of rows
    return [
        replace(line, flops=at.flops, nbytes=at.nbytes).to_json(measured=True)
        for line, at in zip(lines, sized, strict=True)
    ]


def graph_text(definition: Definition, *, backward: bool = False) -> str:
    """Print one line a value: `name: dtype[shape] = op(inputs, attrs)`."""
    lines = [f"graph {definition.name}"]
    for line in _lines(definition, backward=backward):
        target = f"{line.name}: {line.dtype}[{','.join(map(str, line.shape))}]"
        if not line.op:
            lines.append(f"  {line.kind} {target}")
            continue
        attrs = "".join(f", {key}={_plain(value)}" for key, value in line.attrs.items())
        lines.append(f"  {target} = {line.op}({', '.join(line.inputs)}{attrs})")
    lines.append(
        f"  return {', '.join(definition.outputs)}"
        + (f"; loss {' + '.join(definition.losses)}" if definition.losses else "")
    )
    return "\n".join(lines) + "\n"


def graph_dot(definition: Definition, *, backward: bool = False) -> str:
    """Draw the graph in DOT: parameters yellow, forward values that carry a gradient green, backward values blue."""
    lines = ["digraph graph_ {", "  rankdir = TB;", '  node [shape = record, style = filled, fontname = "monospace"];']
    identifiers: dict[str, str] = {}
    for number, line in enumerate(_lines(definition, backward=backward)):
        identifiers[line.name] = f"n{number}"
        colour = "green" if line.kind == "forward" and line.needs_grad else COLOURS[line.kind]
        label = f"{line.name} | {line.op or line.kind} | {line.dtype}[{','.join(map(str, line.shape))}]"
        lines.append(f'  n{number} [label = "{label}", fillcolor = {colour}];')
        for index, operand in enumerate(line.inputs):
            if operand in identifiers:
                lines.append(f'  {identifiers[operand]} -> n{number} [label = "src {index}"];')
    return "\n".join([*lines, "}"]) + "\n"


def _lines(definition: Definition, *, backward: bool) -> list[NodeLine]:
    """List leaves, forward and backward values, each after what it depends on; named extents keep their names."""
    probed = infer_shapes(definition, shapes_only=False)
    lines = list(_traced_lines(probed.graph, backward=backward))
    if probed.second is None:
        return lines
    others = list(_traced_lines(probed.second, backward=backward))
    if [line.op for line in lines] != [line.op for line in others]:
        return lines
    return [
        replace(
            line,
            shape=tuple(probed.symbolic(line.shape, other.shape)),
            attrs={key: probed.symbolic(value, other.attrs[key]) for key, value in line.attrs.items()},
        )
        for line, other in zip(lines, others, strict=True)
    ]


def _traced_lines(graph: Trace, *, backward: bool) -> Iterator[NodeLine]:
    names = Names(graph)
    for kind in ("input", "parameter", "buffer", "constant"):
        for name, value in getattr(graph, kind + "s").items():
            yield NodeLine(name, "", (), {}, value.shape, value.dtype.name, kind, value.requires_grad)
    forward = [value for outputs in graph.values.values() for value in outputs]
    shown: set[object] = set()
    yield from _result_lines(graph, forward, "forward", names, shown)
    if backward and graph.definition.losses:
        found = graph.gradients(graph.total_loss(), graph.parameters)
        gradients = {name: value for name, value in found.items() if value is not None}
        for name, value in gradients.items():
            names.known.setdefault(value.key, f"grad for {name}")
        yield from _result_lines(graph, list(gradients.values()), "backward", names, shown)


def _result_lines(graph: Trace, values: list[Value], kind: str, names: Names, shown: set[object]) -> Iterator[NodeLine]:
    for node in reachable(values):
        if node in shown:
            continue
        shown.add(node)
        inputs = tuple(names.of(value) for value in node.inputs)
        flops = node.op.count_flops(node.attrs, [v.shape for v in node.inputs], [spec.shape for spec in node.outputs])
        for index, spec in enumerate(node.outputs):
            value = node.output(index)
            yield NodeLine(
                names.of(value), node.op.name, inputs, node.attrs, spec.shape, spec.dtype.name, kind, node.needs_grad,
                graph.origin_of(node).node, 0 if index else flops, value.nbytes,
            )  # fmt: skip


class Names:
    """Names for values: those of the definition, numbers as they read, and %0, %1, ... for the rest."""

    def __init__(self, graph: Trace) -> None:
        self.known: dict[object, str] = {graph.key.key: "%key"}
        self.keep: list[Value] = [graph.key]
        self.count = 0
        for table in (graph.inputs, graph.parameters, graph.buffers, graph.constants):
            for name, value in table.items():
                self.known[value.key] = name
        for name, outputs in graph.values.items():
            for index, value in enumerate(outputs):
                self.known.setdefault(value.key, name if len(outputs) == 1 else f"{name}:{index}")

    def of(self, value: Value) -> str:
        if value.key not in self.known:
            self.keep.append(value)  # a key is valid while its value lives
            if value.node is None and value.data is not None and value.size == 1:
                self.known[value.key] = f"{value.data.item():g}"
            else:
                self.known[value.key] = f"%{self.count}"
                self.count += 1
        return self.known[value.key]


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, int | float | str | bool | None) else str(value)
