"""Where a graph compares rows with one another by broadcasting, which is seldom meant."""

from __future__ import annotations

from collections.abc import Iterator

from engine.core.errors import Finding
from engine.core.infer import broadcast, broadcast_bool
from engine.core.registry import lookup
from engine.graph.definition import Definition, NodeSpec
from engine.graph.probe import Probe
from engine.nn.layers.losses import LOSSES

ADVICE = "make the shapes equal, with squeeze, unsqueeze or reshape, or by declaring the input so"


def broadcast_findings(definition: Definition, probed: Probe) -> list[Finding]:
    """Return a warning for each node that broadcasts what belongs together row by row.

    These are losses whose operands have unequal shapes, and operations such as `pred - y` of [batch, 1] and [batch],
    operands of different rank whose result [batch, batch] has a named extent more often than either of them.
    """
    return [
        Finding(node.pointer or f"/nodes/{index}", "broadcast_operands", f"{node.place}{detail}; {ADVICE}", "warning")
        for index, node in enumerate(definition.nodes)
        for detail in _unequal(node, probed)
    ]


def _unequal(node: NodeSpec, probed: Probe) -> Iterator[str]:
    op = lookup(node.op)
    loss = LOSSES.get(op.name)
    shapes = [probed.shape(operand) if isinstance(operand, str) else None for operand in node.inputs]
    if loss is not None and shapes and shapes[0] is not None:
        for operand, shape in zip(loss.operands, shapes[1:], strict=False):
            if operand.name in loss.paired and shape is not None and shape != shapes[0]:
                yield (
                    f"{op.name} of predictions {shapes[0]} and {operand.name} {shape}: they broadcast, and each row "
                    "is compared with others"
                )
    elif op.shape_rule in (broadcast, broadcast_bool):
        given = [shape for shape in shapes if shape is not None]
        result = probed.shape(node.name)
        names = {extent for extent in result if isinstance(extent, str)}
        outer = any(result.count(name) > max(shape.count(name) for shape in given) for name in names)
        if len(given) > 1 and outer and len({len(shape) for shape in given}) > 1:
            shown = " and ".join(str(shape) for shape in given)
            yield f"{op.name} of {shown} is broadcast to {result}, which pairs each row with every other"
