"""The only chain rule: walk the nodes in reverse, fold broadcasts, accumulate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.dtypes import is_float
from engine.errors import GradientError, ShapeError
from engine.modes import MODES, enable_grad, quiet
from engine.ops.casting import cast
from engine.ops.elementwise import add
from engine.ops.reduce import sum_to
from engine.ops.shape import reshape
from engine.value import Array, Hook, Node, Operand, Value, as_value

Key = object


class _Unreadable(Value):
    """Stands in a backward rule for a value whose data must not be used any more: reading it tells why."""

    __slots__ = ("reason", "source")

    def __init__(self, source: Value, reason: str) -> None:
        self.source = source
        self.reason = reason
        super().__init__(
            source.shape, source.dtype, None, node=source.node, index=source.index, requires_grad=source.requires_grad
        )

    @property
    def key(self) -> object:
        """The key of what it stands for."""
        return self.source.key

    @property
    def data(self) -> Array | None:
        """Refuse."""
        raise GradientError(self.reason)

    @data.setter
    def data(self, data: Array | None) -> None:
        """There is nothing to set."""


def pull_back(outputs: Sequence[Value], cotangents: Sequence[Value], wrt: Sequence[Value]) -> list[Value | None]:
    """Return the cotangent of each value in `wrt`, or None where no path leads from it to an output.

    The rules are run under the modes in force: the results are Values of the same kind as the inputs, with a history
    when operations are recorded. A missing cotangent stays None; no zeros are made up.
    """
    totals: dict[Key, Value] = {}
    targets = {value.key for value in wrt}
    with quiet():
        for output, cotangent in zip(outputs, cotangents, strict=True):
            _accumulate(totals, output, cotangent)
        for node, needed in reversed(_path(outputs, targets)):
            _pull_node(node, needed, totals, targets)
        for value in wrt:
            if value.hooks and value.key in totals:
                totals[value.key] = _hooked(value.hooks, totals[value.key])
    return [totals.get(value.key) for value in wrt]


def reachable(outputs: Sequence[Value]) -> list[Node]:
    """Return the nodes that `outputs` depend on, in order of creation."""
    found: set[Node] = set()
    waiting = [output.node for output in outputs if output.node is not None]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(value.node for value in node.inputs if value.node is not None and value.node not in found)
    return sorted(found, key=lambda node: node.seq)


def seed_of(output: Value, gradient: Operand | None) -> Value:
    """Return the cotangent to start from: `gradient`, or 1 for an output of one element."""
    if gradient is None:
        if output.size != 1:
            raise GradientError(
                "a gradient can be created implicitly only for scalar outputs; this one has shape "
                f"{list(output.shape)}: pass gradient="
            )
        return Value(output.shape, output.dtype, np.ones(output.shape, output.dtype))
    seed = as_value(gradient)
    if seed.shape != output.shape:
        raise ShapeError(
            f"the gradient has shape {list(seed.shape)}, the output {list(output.shape)}: they must be equal"
        )
    return seed


def _path(outputs: Sequence[Value], targets: set[Key]) -> list[tuple[Node, list[bool]]]:
    """Return the nodes that lie between `targets` and `outputs` in order of creation, with the inputs that matter."""
    active: set[Key] = set(targets)
    path = []
    for node in reachable(outputs):
        needed = [value.key in active and is_float(value.dtype) for value in node.inputs]
        if node.op.differentiable and any(needed):
            path.append((node, needed))
            active.update((node, index) for index in range(len(node.outputs)))
    return path


def _pull_node(node: Node, needed: list[bool], totals: dict[Key, Value], targets: set[Key]) -> None:
    cotangents: list[Value | None] = []
    for index in range(len(node.outputs)):
        key = (node, index)
        cotangent = totals.get(key)
        if cotangent is not None and node.hooks and index in node.hooks:
            cotangent = totals[key] = _hooked(node.hooks[index], cotangent)
        if key not in targets:
            totals.pop(key, None)
        cotangents.append(cotangent)
    if all(cotangent is None for cotangent in cotangents):
        return
    inputs, outputs = _readable(node)
    if node.op.composition is None:
        pulled = node.op.pull(node, tuple(cotangents), inputs, outputs)
    else:
        pulled = _pull_through(node, cotangents, inputs)
    if len(pulled) != len(node.inputs):
        raise GradientError(
            f"the rule of {node.op.name} returned {len(pulled)} cotangents for {len(node.inputs)} inputs"
        )
    for index, (value, wanted) in enumerate(zip(node.inputs, needed, strict=True)):
        part = pulled[index]
        if wanted and part is not None:
            part = part() if callable(part) else part
            if MODES.anomaly and part is not None:
                _check_finite(node, index, part)
            _accumulate(totals, value, part)


def _pull_through(node: Node, cotangents: Sequence[Value | None], inputs: Sequence[Value]) -> tuple[Value | None, ...]:
    """Pull back through the composition of an op that has no rule of its own.

    The composition gets stand-ins, between which there are no paths: how one input comes of another is not its concern.
    """
    assert node.op.composition is not None
    with enable_grad():
        ends = [reshape(value, shape=value.shape) if is_float(value.dtype) else value for value in inputs]
        made = node.op.composition(*ends, **node.attrs)
    outputs = made if isinstance(made, tuple) else (made,)
    pairs = [(y, g) for y, g in zip(outputs, cotangents, strict=True) if g is not None]
    return tuple(pull_back([y for y, _ in pairs], [g for _, g in pairs], ends))


def _readable(node: Node) -> tuple[list[Value], list[Value]]:
    """Return inputs and outputs of a node, with a stand-in for each whose data was freed or overwritten."""
    inputs = list(node.inputs)
    outputs = [node.output(index) for index in range(len(node.outputs))]
    if node.freed:
        reason = (
            f"trying to backward through the graph a second time: what {node.op.name} saved was freed by the first "
            "backward; call backward(retain_graph=True) there"
        )
        return [_Unreadable(value, reason) for value in inputs], [_Unreadable(value, reason) for value in outputs]
    for index, value in enumerate(inputs):
        expected = node.versions[index] if node.versions else 0
        if value.version != expected:
            inputs[index] = _Unreadable(value, _overwritten(node, f"input {index}", value.version, expected))
    for index, (counter, expected) in (node.counters or {}).items():
        if counter.version != expected:
            reason = _overwritten(node, f"output {index}", counter.version, expected)
            outputs[index] = _Unreadable(outputs[index], reason)
    return inputs, outputs


def _overwritten(node: Node, what: str, version: int, expected: int) -> str:
    return (
        f"{what} of {node.op.name}, which its gradient needs, was modified by an in-place operation: it is at version "
        f"{version}; expected version {expected}"
    )


def _hooked(hooks: Sequence[Hook], cotangent: Value) -> Value:
    for hook in tuple(hooks):
        replaced = hook(cotangent)
        cotangent = cotangent if replaced is None else replaced
    return cotangent


def _check_finite(node: Node, index: int, part: Value) -> None:
    if part.data is not None and np.isnan(part.data).any():
        where = f"; it was recorded at:\n{node.origin}" if node.origin else ""
        raise GradientError(f"the backward rule of {node.op.name} returned nan values for its input {index}{where}")


def _accumulate(totals: dict[Key, Value], value: Value, cotangent: Value | None) -> None:
    if cotangent is None:
        return
    if cotangent.shape != value.shape:
        cotangent = sum_to(cotangent, shape=value.shape)
    if cotangent.dtype != value.dtype:
        cotangent = cast(cotangent, dtype=value.dtype)
    known = totals.get(value.key)
    totals[value.key] = cotangent if known is None else add(known, cotangent)
