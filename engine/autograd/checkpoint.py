"""Gradient checkpointing: the intermediate values of a function are dropped and recomputed in the backward pass.

The function is recorded like any other: its nodes, hooks and captured values are those of a plain call, only the arrays
are dropped. The first rule that runs in a backward pass calls the function again, with the random keys of the first
call. Each node of the first call is then differentiated with the data of its twin: the node recorded in the same place
by the second call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.autograd.backward import StaleValue, check_saved, pull_node, reachable
from engine.core.errors import GradientError
from engine.core.modes import MODES, differentiating, training_mode
from engine.core.registry import Op
from engine.core.value import Cotangents, Node, Value


def recompute(function: Callable[..., Any], *operands: Any) -> Any:
    """Call `function` without keeping its intermediate values: they are recomputed in the backward pass.

    This is PyTorch's gradient checkpointing with use_reentrant=False. Random keys are restored, so dropout drops the
    same elements; gradients of any order are bitwise those of a plain call. The function returns a Value or a tuple of
    Values and must do the same operations in each call.

    Raises:
        GradientError: in the backward pass, if the second call differs from the first or an operand was modified.
    """
    if not MODES.recording or MODES.tracing:
        return function(*operands)
    region = _RecomputedRegion(function, operands)
    made = function(*operands)
    region.strip(made if isinstance(made, tuple) else (made,))
    return made


class _RecomputedRegion:
    """The nodes recorded by one call of a function, without their arrays, and what is needed to repeat the call."""

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
        """Drop the arrays of every node recorded since; keep leaves and captured values that require a gradient."""
        self.nodes = reachable(outputs, after=self.mark)
        for node in self.nodes:
            kept = [value.requires_grad and not self._is_internal(value) for value in node.inputs]
            versions = node.versions or (0,) * len(kept)
            self.outside += [(v, n) for v, n, keep in zip(node.inputs, versions, kept, strict=True) if keep]
            node.versions = tuple(n if keep else 0 for n, keep in zip(versions, kept, strict=True))
            node.inputs = tuple(v if keep else _without_data(v) for v, keep in zip(node.inputs, kept, strict=True))
            node.results = node.counters = None
            node.op = _RecomputedOp(node.op, self)  # type: ignore[assignment]

    def twin(self, node: Node) -> Node:
        """Return the twin of `node`, and free the later ones: the backward pass has visited them already."""
        if node not in self.twins:
            self._rerun()
        found = self.twins[node]
        while next(reversed(self.twins)) is not node:
            self.twins.popitem()
        del self.twins[node]
        return found

    def _rerun(self) -> None:
        written = any(value.version != version for value, version in self.outside)
        if written or _versions(self.operands) != self.versions:
            raise GradientError(
                "a value that a recomputed function reads was modified by an in-place operation after its first run, "
                "so the second would compute something else; copy() it before"
            )
        keys, mark = MODES.keys.state(), next(Node.numbers)
        MODES.keys.restore(self.keys)
        try:
            with differentiating(), training_mode(self.training):
                made = self.function(*self.operands)
        finally:
            MODES.keys.restore(keys)
        twins = reachable(made if isinstance(made, tuple) else (made,), after=mark)
        first, second = [_describe(node) for node in self.nodes], [_describe(node) for node in twins]
        if first != second:
            raise GradientError(
                f"a recomputed function did something else in its second run: {_difference(first, second)}"
            )
        self.twins = dict(zip(self.nodes, twins, strict=True))

    def _is_internal(self, value: Value) -> bool:
        return value.node is not None and value.node.seq > self.mark


class _RecomputedOp:
    """The op of a node whose arrays were dropped: its rule runs with the data of the node's twin."""

    composition = None

    def __init__(self, op: Op[Any], region: _RecomputedRegion) -> None:
        self.region = region
        self.name = op.name
        self.differentiable = op.differentiable

    def pull(
        self,
        node: Node,
        cotangents: Cotangents,
        inputs: Sequence[Value],
        outputs: Sequence[Value],  # noqa: ARG002 - the signature of Op.pull
    ) -> tuple[Any, ...]:
        """Run the rule of the twin on values that have the history of `node` and the data of the twin."""
        if node.freed:
            return tuple(_raise_on_read(value) for value in inputs)
        twin = self.region.twin(node)
        numbers, results = check_saved(twin)
        return pull_node(
            twin,
            cotangents,
            [_with_data(value, number) for value, number in zip(node.inputs, numbers, strict=True)],
            [_with_data(node.output(index), number) for index, number in enumerate(results)],
        )


def _raise_on_read(value: Value) -> Callable[[], Value]:
    def read() -> Value:
        value.numpy()
        return value

    return read


def _with_data(value: Value, numbers: Value) -> Value:
    """Return a value of the first call with the data of the second."""
    if isinstance(numbers, StaleValue):
        return StaleValue(value, numbers.reason)
    if value.data is not None:
        return value
    if value.node is None:
        return numbers
    return Value(
        value.shape, value.dtype, numbers.data, node=value.node, index=value.index, requires_grad=value.requires_grad
    )


def _without_data(value: Value) -> Value:
    return Value(value.shape, value.dtype, None, node=value.node, index=value.index, requires_grad=value.requires_grad)


def _versions(operands: Sequence[Any]) -> list[int]:
    return [operand.version for operand in operands if isinstance(operand, Value)]


def _describe(node: Node) -> str:
    return f"{node.op.name} -> {', '.join(f'{spec.dtype.name}{list(spec.shape)}' for spec in node.outputs)}"


def _difference(first: Sequence[str], second: Sequence[str]) -> str:
    if len(first) != len(second):
        return f"{len(second)} operations in place of {len(first)}"
    return next(f"{b} in place of {a}" for a, b in zip(first, second, strict=True) if a != b)
