"""Which values a gradient reaches, without a gradient of them all: rules run once for all nodes that are alike."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from engine.autograd.backward import check_saved, cotangent_path, pull_parts, reachable
from engine.core.value import Node, Value

Given = tuple[bool, ...]
"""For each output of a node whether it has a cotangent."""


def reached(end: Value, wrt: Sequence[Value]) -> list[bool]:
    """Return for each value in `wrt` whether `pull_back` from `end` gives it a cotangent. Use it while tracing."""
    path = cotangent_path(reachable([end]), {value.key for value in wrt})
    found: set[object] = {end.key}
    known: dict[Hashable, Sequence[int]] = {}
    for node, needed in reversed(path):
        given = tuple([(node, index) in found for index in range(len(node.outputs))])
        if True not in given:
            continue
        kind = _kind(node, needed, given)
        places = known.get(kind)
        if places is None:
            places = known[kind] = _reached_inputs(node, needed, given)
        found.update([node.inputs[place].key for place in places])
    return [value.key in found for value in wrt]


def _kind(node: Node, needed: Sequence[int], given: Given) -> Hashable:
    """Return what is equal for nodes whose rules reach the same inputs; the node itself if that cannot be told."""
    inputs = tuple([(v.shape, v.dtype, v.tracked, v.weak, _content(v)) for v in node.inputs])
    kind = (node.op.name, needed, given, inputs, tuple(node.attrs.items()))
    try:
        hash(kind)
    except TypeError:
        return node
    return kind


def _content(value: Value) -> object:
    if value.data is None:
        return None
    return value.data.item() if value.shape == () else value.key


def _reached_inputs(node: Node, needed: Sequence[int], given: Given) -> Sequence[int]:
    """Run the rule of a node, and return the places of the inputs to which it gives a cotangent."""
    pairs = zip(node.outputs, given, strict=True)
    cotangents = [Value(shape, dtype, None) if has else None for (shape, dtype), has in pairs]
    return [place for place, _ in pull_parts(node, needed, cotangents, *check_saved(node))]
