"""Rematerialization: activations that are recomputed, or stored in a half type, until the backward pass reads them.

Whatever the backward pass reads of the forward pass goes through a `barrier` with the cotangent that needs it. The
barrier has two effects. Merging of equal operations cannot join the recomputed values with those of the forward pass,
which would keep them alive. And the planner cannot start the recomputation before that cotangent exists, so the memory
is needed only then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from engine.core.dtypes import FLOAT32, DType, is_float
from engine.core.value import Node, Value
from engine.ops.elementwise.casting import barrier, cast

SMALL = 64
"""Activations this many times smaller than the largest are not compressed: statistics, for example, save little."""


class ActivationCompressor:
    """Stores float32 activations in a half type between forward and backward pass. Use it while tracing."""

    def __init__(self, nodes: Sequence[Node], dtype: DType) -> None:
        """Compress the outputs of `nodes`, the forward pass, to the half type `dtype`."""
        self._nodes = frozenset(nodes)
        self._dtype = dtype
        self._halves: dict[object, Value] = {}
        sizes = [node.output(index).size for node in nodes for index in range(len(node.outputs))]
        self._least = max(sizes, default=0) // SMALL

    def read(self, value: Value, cotangent: Value, uncompressed: Value) -> Value:
        """Return the decompressed `value`, available once `cotangent` is computed.

        Leaves, views of leaves, small values and values that are not float32 are not compressed: for these it returns
        `uncompressed`.
        """
        if value.dtype != FLOAT32 or value.data is not None:
            return uncompressed
        # Views are compressed at their base: several views of one activation share its half, and none is copied.
        views: list[Node] = []
        base = value
        while base.node is not None and base.node.op.view:
            views.append(base.node)
            base = base.node.inputs[0]
        if base.node not in self._nodes or base.dtype != FLOAT32 or base.size <= self._least:
            return uncompressed
        half = self._halves.get(base.key)
        if half is None:
            half = self._halves[base.key] = cast(base, dtype=self._dtype)
        for view in reversed(views):
            half = view.op(half, *view.inputs[1:], **view.attrs)
        return cast(barrier(half, cotangent), dtype=FLOAT32)


@dataclass
class _Recomputation:
    """One recomputed segment.

    Attributes:
        cotangent: what the recomputation waits for.
        read_saved: returns a value that the forward pass keeps, given the value and the cotangent.
        twins: by node of the forward pass, the recomputed node.
        values: by key in the forward pass, the value read in its place.
    """

    cotangent: Value
    read_saved: Callable[[Value, Value], Value]
    twins: dict[Node, Node] = field(default_factory=dict)
    values: dict[object, Value] = field(default_factory=dict)

    def value(self, value: Value) -> Value:
        """Return the value to read in place of one of the forward pass; constants are read as they are."""
        if value.data is not None:
            return value
        found = self.values.get(value.key)
        if found is None:
            found = self.values[value.key] = self.read_saved(value, self.cotangent)
        return found


class Rematerializer:
    """Selects what backward rules read: `saved_values` is for `pull_back`. Use it while tracing.

    The rule of a node in a segment reads its recomputed twin. Casts from a half type to float32 are repeated wherever a
    rule reads their result, so that only the half is kept. With `activations`, what remains of the forward pass is
    stored in that half type.
    """

    def __init__(
        self, nodes: Sequence[Node], segment_of: Callable[[Node], int | None], activations: DType | None = None
    ) -> None:
        """Take the forward pass.

        Args:
            nodes: its nodes, in order.
            segment_of: returns the segment of a node, None for a node whose values are kept.
            activations: the half type in which activations are stored; None keeps them as they are.
        """
        self._compressor = None if activations is None else ActivationCompressor(nodes, activations)
        self._segments = {node: segment for node in nodes if (segment := segment_of(node)) is not None}
        self._recomputed: dict[int, _Recomputation] = {}
        self._members: dict[int, list[Node]] = {}
        for node, segment in self._segments.items():
            self._members.setdefault(segment, []).append(node)
        # Values that cross the border of a segment are the only ones kept of it.
        self._kept = {
            value.key
            for node in nodes
            for value in node.inputs
            if value.node is not None and self._segments.get(value.node) != self._segments.get(node)
        }

    def saved_values(self, node: Node, cotangent: Value) -> tuple[Sequence[Value], Sequence[Value]]:
        """Return the inputs and outputs that the rule of `node` reads, given the first of its cotangents."""
        outputs: Sequence[Value] = [node.output(index) for index in range(len(node.outputs))]
        inputs: Sequence[Value] = node.inputs
        segment = self._segments.get(node)
        if segment is not None:
            if segment not in self._recomputed:
                self._recomputed[segment] = self._recompute(segment, cotangent)
            run = self._recomputed[segment]
            inputs, outputs = run.twins[node].inputs, [run.value(output) for output in outputs]
        if self._compressor is not None:
            inputs, outputs = (
                [self._compressor.read(value, cotangent, value) for value in values] for values in (inputs, outputs)
            )
        return [_repeat_widening(value, cotangent) for value in inputs], outputs

    def _read_saved(self, value: Value, cotangent: Value) -> Value:
        """Return a kept value of the forward pass for a recomputation to read."""
        held = barrier(value, cotangent)
        return held if self._compressor is None else self._compressor.read(value, cotangent, held)

    def _recompute(self, segment: int, cotangent: Value) -> _Recomputation:
        """Apply the nodes of a segment again, with the same attributes and random keys.

        Kept values are not recomputed. A whole segment is traced even if rules read little of it: values that nothing
        reads are dropped when the plan is made.
        """
        run = _Recomputation(cotangent, self._read_saved)
        for node in self._members[segment]:
            inputs = tuple(run.value(value) for value in node.inputs)
            twin = Node(node.op, inputs, node.attrs, node.outputs, None, node.needs_grad)
            run.twins[node] = twin
            for index in range(len(node.outputs)):
                if (node, index) not in self._kept:
                    run.values[(node, index)] = twin.output(index)
        return run


def _repeat_widening(value: Value, cotangent: Value) -> Value:
    """Return the result of a cast from a half type to float32, cast once more behind a barrier; others as they are."""
    node = value.node
    if node is None or node.op is not cast or value.dtype != FLOAT32:
        return value
    (half,) = node.inputs
    if not is_float(half.dtype) or half.dtype.itemsize != 2:
        return value
    return cast(barrier(half, cotangent), dtype=FLOAT32)
