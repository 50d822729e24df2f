"""Activations that wait in a half type: what the backward pass reads of the forward pass is half as large in between.

A value is cast after the last operation that reads it in the forward pass (see engine.graph.early_casts), and back
before a rule reads it. The forward pass computes as ever; gradients agree as far as a half type tells numbers apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.core.dtypes import FLOAT32, DType
from engine.core.value import Node, Value
from engine.ops.casting import barrier, cast

SMALL = 64
"""Values that are so many times smaller than the largest wait as they are: they cost little, as statistics do."""


class Waiting:
    """What is read of a forward pass whose values wait in a half type. Use it while tracing."""

    def __init__(self, nodes: Sequence[Node], dtype: DType) -> None:
        """Take the nodes of the forward pass, and the half type."""
        self._nodes = frozenset(nodes)
        self._dtype = dtype
        self._halves: dict[object, Value] = {}
        sizes = [node.output(index).size for node in nodes for index in range(len(node.outputs))]
        self._least = max(sizes, default=0) // SMALL

    def read(self, value: Value, cotangent: Value, held: Value) -> Value:
        """Return a value of the forward pass as it comes back from waiting, once `cotangent` has been computed.

        In the place of what does not wait so, `held`: leaves and windows on them, what is small, what is not float32.
        """
        if value.dtype != FLOAT32 or value.data is not None:
            return held
        windows: list[Node] = []
        base = value
        while base.node is not None and base.node.op.view:
            windows.append(base.node)
            base = base.node.inputs[0]
        if base.node not in self._nodes or base.dtype != FLOAT32 or base.size <= self._least:
            return held
        half = self._halves.get(base.key)
        if half is None:
            half = self._halves[base.key] = cast(base, dtype=self._dtype)
        for window in reversed(windows):
            half = window.op(half, *window.inputs[1:], **window.attrs)
        return cast(barrier(half, cotangent), dtype=FLOAT32)
