"""x"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from engine.core.dtypes import FLOAT32, DType, is_float
from engine.core.value import Node, Value
from engine.ops.elementwise.casting import barrier, cast

SMALL = 64
"""Values that are so many times smaller than the largest wait as they are: they cost little, as statistics do."""


class ActivationCompressor:
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


@dataclass
class _Run:
    """One segment in its second run: its nodes again, and what its values and those that it reads are there."""

    cotangent: Value
    kept: Callable[[Value, Value], Value]
    twins: dict[Node, Node] = field(default_factory=dict)
    values: dict[object, Value] = field(default_factory=dict)

    def value(self, value: Value) -> Value:
        """Return what stands for a value of the first run; constants stand for themselves."""
        if value.data is not None:
            return value
        found = self.values.get(value.key)
        if found is None:
            found = self.values[value.key] = self.kept(value, self.cotangent)
        return found


class Rematerializer:
    """What the rules of one backward pass read: `reading` is for `pull_back`. Use it while tracing.

    A node of a segment reads the values of its twin, one of the same nodes applied a second time. Casts from a half
    type to float32 are done again wherever a rule reads what they gave, so that only the half is kept. Where values
    wait in a half type, what is read of the first run has been that in between.
    """

    def __init__(
        self, nodes: Sequence[Node], segment_of: Callable[[Node], int | None], waiting: DType | None = None
    ) -> None:
        """Take the nodes of the forward pass, in order, and which segment each of them is in (None for no segment).

        `waiting` is the half type that values wait in between the passes, if they do.
        """
        self._waiting = None if waiting is None else ActivationCompressor(nodes, waiting)
        self._segments = {node: segment for node in nodes if (segment := segment_of(node)) is not None}
        self._runs: dict[int, _Run] = {}
        self._members: dict[int, list[Node]] = {}
        for node, segment in self._segments.items():
            self._members.setdefault(segment, []).append(node)
        self._kept = {
            value.key
            for node in nodes
            for value in node.inputs
            if value.node is not None and self._segments.get(value.node) != self._segments.get(node)
        }

    def reading(self, node: Node, cotangent: Value) -> tuple[Sequence[Value], Sequence[Value]]:
        """Return inputs and outputs for the rule of a node, whose first cotangent is given."""
        outputs: Sequence[Value] = [node.output(index) for index in range(len(node.outputs))]
        inputs: Sequence[Value] = node.inputs
        segment = self._segments.get(node)
        if segment is not None:
            if segment not in self._runs:
                self._runs[segment] = self._run(segment, cotangent)
            run = self._runs[segment]
            inputs, outputs = run.twins[node].inputs, [run.value(output) for output in outputs]
        if self._waiting is not None:
            inputs, outputs = (
                [self._waiting.read(value, cotangent, value) for value in values] for values in (inputs, outputs)
            )
        return [_widened_again(value, cotangent) for value in inputs], outputs

    def _entering(self, value: Value, cotangent: Value) -> Value:
        """Return what a second run reads of the first."""
        held = barrier(value, cotangent)
        return held if self._waiting is None else self._waiting.read(value, cotangent, held)

    def _run(self, segment: int, cotangent: Value) -> _Run:
        """Apply the nodes of a segment a second time: same attributes, same random keys. Values that are kept are not
        made again; what no rule reads is dropped from the plan as everything that nobody reads.
        """
        run = _Run(cotangent, self._entering)
        for node in self._members[segment]:
            inputs = tuple(run.value(value) for value in node.inputs)
            twin = Node(node.op, inputs, node.attrs, node.outputs, None, node.needs_grad)
            run.twins[node] = twin
            for index in range(len(node.outputs)):
                if (node, index) not in self._kept:
                    run.values[(node, index)] = twin.output(index)
        return run


def _widened_again(value: Value, cotangent: Value) -> Value:
    node = value.node
    if node is None or node.op is not cast or value.dtype != FLOAT32:
        return value
    (half,) = node.inputs
    if not is_float(half.dtype) or half.dtype.itemsize != 2:
        return value
    return cast(barrier(half, cotangent), dtype=FLOAT32)
