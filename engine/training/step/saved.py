"""What a backward pass reads of its forward pass, so that one can be run after the other, as plans of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.autograd.backward import reachable
from engine.core.value import Node, Value


class Saved:
    """Stand-ins for values of a forward pass: `reading` is for `pull_back`. Use it while tracing.

    Values are numbered in the order of the forward pass, the same for every trace of a graph. Leaves that are held
    until the backward pass, and constants, stand for themselves; of a view what it is a view of is saved.

    Attributes:
        stand_ins: leaves in the place of values, by the numbers of these.
        sources: the values, by the same numbers.
    """

    def __init__(self, nodes: Sequence[Node], held: Iterable[Value]) -> None:
        """Take the nodes of the forward pass in order, and the leaves that keep what they hold."""
        self.stand_ins: dict[str, Value] = {}
        self.sources: dict[str, Value] = {}
        self._found: dict[object, Value] = {leaf.key: leaf for leaf in held}
        self._numbers: dict[object, str] = {}
        for node in nodes:
            for value in (*node.inputs, *(node.output(index) for index in range(len(node.outputs)))):
                self._numbers.setdefault(value.key, str(len(self._numbers)))

    def reading(self, node: Node, _: Value) -> tuple[Sequence[Value], Sequence[Value]]:
        """Return inputs and outputs for the rule of a node."""
        outputs = [node.output(index) for index in range(len(node.outputs))]
        return [self._read(value) for value in node.inputs], [self._read(value) for value in outputs]

    def keep_what_is_read(self, results: Sequence[Value]) -> None:
        """Forget the stand-ins that nothing reads on the way to `results`."""
        read = {value.key for node in reachable(results) for value in node.inputs} | {value.key for value in results}
        self.stand_ins = {number: leaf for number, leaf in self.stand_ins.items() if leaf.key in read}
        self.sources = {number: self.sources[number] for number in self.stand_ins}

    def _read(self, value: Value) -> Value:
        views: list[Node] = []
        while value.key not in self._found and value.data is None and value.node is not None and value.node.op.view:
            views.append(value.node)
            value = value.node.inputs[0]
        read = value if value.data is not None else self._found.get(value.key)
        if read is None:
            number = self._numbers[value.key]
            read = self._found[value.key] = Value(value.shape, value.dtype, None, name=f"saved {number}")
            self.stand_ins[number], self.sources[number] = read, value
        for node in reversed(views):
            read = Node(node.op, (read,), node.attrs, node.outputs, None, node.needs_grad).output(0)
            self._found[node.output(0).key] = read
        return read
