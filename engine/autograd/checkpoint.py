"""Gradient checkpointing: a function whose intermediate values are dropped and computed again in the backward pass.

The function is recorded as any other, so its nodes, hooks and the values it closes over are those of a plain call; only
the arrays go. The first rule that runs in a backward pass runs the function again, with the random keys as they stood,
and every node of the first run then differentiates with the numbers of its twin in the second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.autograd.backward import Unreadable, pull_node, reachable, readable
from engine.core.errors import GradientError
from engine.core.modes import MODES, differentiating, training_mode
from engine.core.registry import Op
from engine.core.value import Node, Value


def recompute(function: Callable[..., Any], *operands: Any) -> Any:
    """Call `function` without keeping its intermediate values: they are computed again in the backward pass.

    This is gradient checkpointing as PyTorch's with use_reentrant=False. Random keys are restored, so dropout drops the
    same elements; the gradients are bitwise those of a plain call, to any order. The function returns a Value or a
    tuple of Values and must do the same operations each time.

    Raises:
        GradientError: in the backward pass, when the second run differs from the first or an operand was written to.
    """
    if not MODES.recording or MODES.tracing:
        return function(*operands)
    region = _Region(function, operands)
    made = function(*operands)
    region.strip(made if isinstance(made, tuple) else (made,))
    return made


class _Region:
    """The nodes that one call of a function recorded, without their arrays, and how to make them again."""

    def __init__(self, function: Callable[..., Any], operands: tuple[Any, ...]) -> None:
        self.function = function
        self.operands = operands
        self.versions = _versions(operands)
        self.keys = MODES.keys.state()
        self.training = MODES.training
        self.mark = next(Node.numbers)
        self.nodes: list[Node] = []
        self.outside: list[tuple[Value, int]] = []
        self.twins: dict[Node, Node] = {}

    def strip(self, outputs: Sequence[Value]) -> None:
        """Take the arrays from every node made since; what the function closes over is kept, as the leaves are."""
        self.nodes = reachable(outputs, after=self.mark)
        for node in self.nodes:
            kept = [value.requires_grad and not self._made(value) for value in node.inputs]
            versions = node.versions or (0,) * len(kept)
            self.outside += [(v, n) for v, n, keep in zip(node.inputs, versions, kept, strict=True) if keep]
            node.versions = tuple(n if keep else 0 for n, keep in zip(versions, kept, strict=True))
            node.inputs = tuple(v if keep else _bare(v) for v, keep in zip(node.inputs, kept, strict=True))
            node.results = node.counters = None
            node.op = _Again(node.op, self)  # type: ignore[assignment]

    def twin(self, node: Node) -> Node:
        """Return the node of a second run; the ones after it are let go, for the walk has passed them."""
        if node not in self.twins:
            self._run_again()
        found = self.twins[node]
        while next(reversed(self.twins)) is not node:
            self.twins.popitem()
        del self.twins[node]
        return found

    def _run_again(self) -> None:
        written = any(value.version != version for value, version in self.outside)
        if written or _versions(self.operands) != self.versions:
            raise GradientError(
                "what a recomputed function reads was modified by an in-place operation after its first run, so the "
                "second would compute something else; copy() it before"
            )
        keys, mark = MODES.keys.state(), next(Node.numbers)
        MODES.keys.restore(self.keys)
        try:
            with differentiating(), training_mode(self.training):
                made = self.function(*self.operands)
        finally:
            MODES.keys.restore(keys)
        twins = reachable(made if isinstance(made, tuple) else (made,), after=mark)
        first, second = [_told(node) for node in self.nodes], [_told(node) for node in twins]
        if first != second:
            raise GradientError(f"a recomputed function did something else in its second run: {_change(first, second)}")
        self.twins = dict(zip(self.nodes, twins, strict=True))

    def _made(self, value: Value) -> bool:
        return value.node is not None and value.node.seq > self.mark


class _Again:
    """Plays the op of a node whose arrays were dropped: its rule runs with the numbers of the node's twin."""

    composition = None

    def __init__(self, op: Op[Any], region: _Region) -> None:
        self.region = region
        self.name = op.name
        self.differentiable = op.differentiable
        self.memory = op.memory

    def pull(
        self,
        node: Node,
        cotangents: tuple[Value | None, ...],
        inputs: Sequence[Value],
        outputs: Sequence[Value],  # noqa: ARG002 - the form of every op
    ) -> tuple[Any, ...]:
        """Run the rule of the twin on values that have the history of `node`."""
        if node.freed:
            return tuple(_refused(value) for value in inputs)
        twin = self.region.twin(node)
        numbers, results = readable(twin)
        return pull_node(
            twin,
            cotangents,
            [_joined(value, number) for value, number in zip(node.inputs, numbers, strict=True)],
            [_joined(node.output(index), number) for index, number in enumerate(results)],
        )


def _refused(value: Value) -> Callable[[], Value]:
    def read() -> Value:
        value.numpy()
        return value

    return read


def _joined(value: Value, numbers: Value) -> Value:
    """Return a value of the first run with the numbers of the second."""
    if isinstance(numbers, Unreadable):
        return Unreadable(value, numbers.reason)
    if value.data is not None:
        return value
    if value.node is None:
        return numbers
    return Value(
        value.shape, value.dtype, numbers.data, node=value.node, index=value.index, requires_grad=value.requires_grad
    )


def _bare(value: Value) -> Value:
    return Value(value.shape, value.dtype, None, node=value.node, index=value.index, requires_grad=value.requires_grad)


def _versions(operands: Sequence[Any]) -> list[int]:
    return [operand.version for operand in operands if isinstance(operand, Value)]


def _told(node: Node) -> str:
    return f"{node.op.name} -> {', '.join(f'{spec.dtype.name}{list(spec.shape)}' for spec in node.outputs)}"


def _change(first: Sequence[str], second: Sequence[str]) -> str:
    if len(first) != len(second):
        return f"{len(second)} operations in place of {len(first)}"
    return next(f"{b} in place of {a}" for a, b in zip(first, second, strict=True) if a != b)
