"""Fan-in and fan-out of parameters as a graph uses them: products summed in one output, and fed by one element.

A weight [in, out] in `x @ w` has fan-in `in`; in `w @ x` or `linear(x, w)` the same shape has fan-in `out`. What counts
is the shape with which the parameter enters the product, after transposes, reshapes and other such ops.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from engine.autograd.backward import reachable
from engine.core.errors import Finding, escape
from engine.core.value import Node, Value
from engine.graph.definition import Definition, StateSpec
from engine.graph.trace import Trace
from engine.nn.initializers import FAN_KINDS, fans

Fans = tuple[int, int]


def parameter_fans(graph: Trace) -> dict[str, list[Fans]]:
    """Return for each parameter (fan-in, fan-out) of every product that it enters, in order, each once."""
    owners = {value.key: name for name, value in graph.parameters.items()}
    found: dict[str, list[Fans]] = {name: [] for name in graph.parameters}
    for node in reachable([value for outputs in graph.values.values() for value in outputs]):
        for place, operand in enumerate(node.inputs):
            name = owners.get(operand.key)
            if name is None:
                continue
            use = node.op.fans(node.attrs, place, operand.shape) if node.op.fans else None
            if use is not None and use not in found[name]:
                found[name].append(use)
            if _follows(node, place, operand):
                owners[node.output(0).key] = name
    return found


def _follows(node: Node, place: int, operand: Value) -> bool:
    if node.op.view:
        return place == 0
    return node.op.algebra.affine and math.prod(node.output(0).shape) == operand.size


def with_fans(
    parameters: Mapping[str, StateSpec], uses: Mapping[str, Sequence[Fans]], without_init: frozenset[str]
) -> dict[str, StateSpec]:
    """Return parameters whose default initialiser has the fan-in that the graph gives them.

    Those whose shape [out, in, window...] gives the same fans are unchanged. Of several products the one with the
    greatest fan-in counts, whose numbers are the smallest.

    Args:
        parameters: by name.
        uses: their `parameter_fans`.
        without_init: the names of those without an initialiser.
    """
    found = dict(parameters)
    for name in without_init:
        spec = parameters[name]
        if len(spec.shape) < 2 or not uses[name]:
            continue
        fan_in, fan_out = max(uses[name])
        if (fan_in, fan_out) != fans(spec.shape):
            found[name] = replace(spec, init={**spec.init, "fan_in": fan_in, "fan_out": fan_out})
    return found


def fan_findings(definition: Definition, uses: Mapping[str, Sequence[Fans]]) -> list[Finding]:
    """Return what the reader of a report should know of initialisers that go by the fan-in or fan-out.

    `uses` are the `parameter_fans` of the definition.
    """
    findings = []
    used = {operand for node in definition.nodes for operand in node.inputs if isinstance(operand, str)}
    for name, spec in definition.parameters.items():
        if (
            name in used
            and spec.init.get("kind") in FAN_KINDS
            and len(spec.shape) >= 2
            and (detail := _doubt(name, spec, uses[name]))
        ):
            findings.append(Finding(f"/parameters/{escape(name)}/init", "fan_unclear", detail, "info"))
    return findings


def _doubt(name: str, spec: StateSpec, uses: Sequence[Fans]) -> str | None:
    """Return why the fan-in of a parameter may differ from that of its initialiser; None if it is clear."""
    given = "fan_in" in spec.init
    taken = spec.init["fan_in"] if given else fans(spec.shape)[0]
    if not uses and not given:
        return (
            f"{name!r} enters no matrix product or convolution, so that {spec.init['kind']} takes fan-in {taken} from "
            f"its shape {list(spec.shape)} as [out, in, ...]; give init with fan_in and fan_out, or another kind"
        )
    if len({fan_in for fan_in, _ in uses}) > 1:
        shown = ", ".join(str(fan_in) for fan_in, _ in uses)
        return f"{name!r} enters products with different fan-in ({shown}); {spec.init['kind']} takes {taken}"
    return None
