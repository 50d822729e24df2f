"""The order of a static graph: what a value depends on comes before it."""

from __future__ import annotations

from collections.abc import Container
from typing import Literal

from engine.core.value import Value

EvaluationOrder = Literal["left_to_right", "right_to_left"]
"""Which input of a node is visited first (GGML_CGRAPH_EVAL_ORDER_*)."""


def post_order(output: Value, known: Container[object], order: EvaluationOrder = "left_to_right") -> list[Value]:
    """Return what `output` depends on and `known` does not hold, itself last, depth first.

    All outputs of an op that has several stand side by side, at the place of the first that is met.
    """
    found: dict[object, Value] = {}
    waiting = [(output, False)]
    while waiting:
        value, inputs_done = waiting.pop()
        if value.key in found or value.key in known:
            continue
        if inputs_done or value.node is None:
            for sibling in _siblings(value):
                found[sibling.key] = sibling
            continue
        waiting.append((value, True))
        inputs = value.node.inputs
        waiting.extend((each, False) for each in (inputs if order == "right_to_left" else inputs[::-1]))
    return list(found.values())


def _siblings(value: Value) -> list[Value]:
    if value.node is None or len(value.node.outputs) == 1:
        return [value]
    return [value if k == value.index else value.node.output(k) for k in range(len(value.node.outputs))]
