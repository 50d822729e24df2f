"""The only chain rule: walk the nodes in reverse, fold broadcasts, accumulate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.dtypes import is_float
from engine.errors import GradientError, ShapeError
from engine.modes import enable_grad, no_grad
from engine.ops.casting import cast
from engine.ops.elementwise import add
from engine.ops.reduce import sum_to
from engine.value import Node, Operand, Value, as_value

Key = object


def pull_back(outputs: Sequence[Value], cotangents: Sequence[Value], wrt: Sequence[Value]) -> list[Value | None]:
    """Return the cotangent of each value in `wrt`, or None where no path leads from it to an output.

    The rules are run under the modes in force: the results are Values of the same kind as the inputs, with a history
    when operations are recorded. A missing cotangent stays None; no zeros are made up.
    """
    totals: dict[Key, Value] = {}
    for output, cotangent in zip(outputs, cotangents, strict=True):
        _accumulate(totals, output, cotangent)
    targets = {value.key for value in wrt}
    for node, needed in reversed(_path(outputs, targets)):
        _pull_node(node, needed, totals, targets)
    return [totals.get(value.key) for value in wrt]


def _path(outputs: Sequence[Value], targets: set[Key]) -> list[tuple[Node, list[bool]]]:
    """Return the nodes that lie between `targets` and `outputs` in order of creation, with the inputs that matter."""
    nodes = _reachable(outputs)
    nodes.sort(key=lambda node: node.seq)
    active: set[Key] = set(targets)
    path = []
    for node in nodes:
        assert node.inputs is not None
        needed = [value.key in active and is_float(value.dtype) for value in node.inputs]
        if node.op.differentiable and any(needed):
            path.append((node, needed))
            active.update((node, index) for index in range(len(node.outputs)))
    return path


def _reachable(outputs: Sequence[Value]) -> list[Node]:
    found: set[Node] = set()
    waiting = [output.node for output in outputs if output.node is not None]
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        found.add(node)
        if node.inputs is None:
            raise GradientError(
                f"trying to backward through the graph a second time: {node.op.name} was freed by the first backward; "
                "call backward(retain_graph=True) there"
            )
        waiting.extend(value.node for value in node.inputs if value.node is not None and value.node not in found)
    return list(found)


def _pull_node(node: Node, needed: list[bool], totals: dict[Key, Value], targets: set[Key]) -> None:
    keys = [(node, index) for index in range(len(node.outputs))]
    cotangents = tuple(totals.get(key) for key in keys)
    for key in keys:
        if key not in targets:
            totals.pop(key, None)
    if all(cotangent is None for cotangent in cotangents):
        return
    outputs = tuple(node.output(index) for index in range(len(node.outputs)))
    assert node.inputs is not None
    pulled = node.op.pull(node, cotangents, outputs)
    if len(pulled) != len(node.inputs):
        raise GradientError(
            f"the rule of {node.op.name} returned {len(pulled)} cotangents for {len(node.inputs)} inputs"
        )
    for value, wanted, cotangent in zip(node.inputs, needed, pulled, strict=True):
        if wanted and cotangent is not None:
            _accumulate(totals, value, cotangent() if callable(cotangent) else cotangent)


def _accumulate(totals: dict[Key, Value], value: Value, cotangent: Value | None) -> None:
    if cotangent is None:
        return
    if cotangent.shape != value.shape:
        cotangent = sum_to(cotangent, shape=value.shape)
    if cotangent.dtype != value.dtype:
        cotangent = cast(cotangent, dtype=value.dtype)
    known = totals.get(value.key)
    totals[value.key] = cotangent if known is None else add(known, cotangent)


def seed_of(output: Value, gradient: Operand | None) -> Value:
    """Return the cotangent to start from: `gradient`, or 1 for an output of one element."""
    if gradient is None:
        if output.size != 1:
            raise GradientError(
                f"a gradient can be created implicitly only for scalar outputs; this one has shape "
                f"{list(output.shape)}: pass gradient="
            )
        return Value(output.shape, output.dtype, np.ones(output.shape, output.dtype))
    seed = as_value(gradient)
    if seed.shape != output.shape:
        raise ShapeError(
            f"the gradient has shape {list(seed.shape)}, the output {list(output.shape)}: they must be equal"
        )
    return seed


def backward(
    output: Value, gradient: Operand | None = None, *, retain_graph: bool | None = None, create_graph: bool = False
) -> None:
    """Add the gradient of `output` to the `.grad` of every leaf that requires one.

    Args:
        output: the value to differentiate; a scalar unless `gradient` is given.
        gradient: cotangent of `output`, of exactly its shape.
        retain_graph: keep the tape for another pass; by default as `create_graph`.
        create_graph: record the backward pass, so that the gradients can be differentiated again.
    """
    if not output.requires_grad:
        raise GradientError("this value does not require a gradient and has no history: nothing to differentiate")
    nodes = _reachable([output])
    leaves = {v.key: v for node in nodes for v in node.inputs or () if v.node is None and v.requires_grad}
    if output.node is None:
        leaves[output.key] = output
    with enable_grad() if create_graph else no_grad():
        gradients = pull_back([output], [seed_of(output, gradient)], list(leaves.values()))
        for leaf, found in zip(leaves.values(), gradients, strict=True):
            if found is not None:
                leaf.grad = found if leaf.grad is None else add(leaf.grad, found)
    if not (create_graph if retain_graph is None else retain_graph):
        for node in nodes:
            node.release()


setattr(Value, "backward", backward)  # noqa: B010 - a method in fact, declared below this module's layer
