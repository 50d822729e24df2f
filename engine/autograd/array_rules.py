"""Backward rules as sequences of kernels on arrays.

A rule is written on values, so that what it computes can be recorded and differentiated. A pass that records nothing
needs only the arrays: the rule is traced once for each signature of its op, and the kernels of the trace are run in the
order in which the rule called them, on the arrays it would have called them on. The results have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from engine.core.dtypes import computing_dtype
from engine.core.errors import EngineError
from engine.core.modes import tracing
from engine.core.value import Array, Node, Signature, Value
from engine.ops.elementwise.casting import cast
from engine.ops.reduce.reduce import sum_to

RULES_MAX = 8
"""Maximum number of rules of a signature, one for each choice of inputs; the next one clears them."""
CONSTANT_BYTES_MAX = 1 << 16
"""Bytes of the constants that a rule may keep; one that makes larger tables makes them anew in each pass."""
_UNKNOWN = object()


_Step = tuple[Callable[..., Any], Callable[[list[Any]], tuple[Any, ...]], bool, tuple[int, ...]]
"""One kernel, what takes its arguments from their places, whether it makes a view, the places not read afterwards."""


class ArrayRule:
    """The backward rule of one signature, for some of the inputs.

    Arrays are kept by place: the cotangent of the output, the output, the inputs, the constants, the result of each
    step.

    Attributes:
        results: position of an input, and the place of its cotangent, which has the shape and dtype of that input.
    """

    __slots__ = ("_constants", "_steps", "results")

    def __init__(self, steps: Sequence[_Step], constants: Sequence[Array], results: Sequence[tuple[int, int]]) -> None:
        self._steps = tuple(steps)
        self._constants = tuple(constants)
        self.results = tuple(results)

    def run(self, cotangent: Array, node: Node) -> list[Any]:
        """Return the arrays by place; those of `results` are valid. To be called in `MODES.kernels`."""
        assert node.results is not None
        places: list[Any] = [cotangent, node.results[0]]
        if not self._steps:
            return places
        for value in node.inputs:
            places.append(value.data)  # noqa: PERF401 - a comprehension is a call, which takes longer
        places += self._constants
        for kernel, arguments, is_view, done in self._steps:
            made = kernel(*arguments(places))
            if made.__class__ is not np.ndarray:
                made = np.asarray(made)
            elif not is_view and not made.flags.c_contiguous:
                made = np.asarray(made, order="C")
            places.append(made)
            for place in done:
                places[place] = None
        return places


def rule_of(signature: Signature, needed: tuple[int, ...]) -> ArrayRule | None:
    """Return the rule that gives the cotangents of the inputs at `needed`; None if it must run on values."""
    known = signature.rules.get(needed, _UNKNOWN)
    if known is _UNKNOWN:
        if len(signature.rules) >= RULES_MAX:
            signature.rules.clear()
        known = signature.rules[needed] = _trace(signature, needed)
    return known  # type: ignore[no-any-return]


def _trace(signature: Signature, needed: tuple[int, ...]) -> ArrayRule | None:
    op = signature.op
    if op.rule is None or op.composition is not None:
        return None
    cotangent, output = (Value(signature.shape, signature.dtype, None) for _ in range(2))
    inputs = tuple(Value(spec.shape, spec.dtype, None) for spec in signature.inputs)
    node = Node(op, inputs, signature.attrs, signature.outputs, None, needs_grad=False)
    try:
        with tracing(_draw_nothing):
            pulled = op.pull(node, (cotangent,), inputs, (output,))
            if len(pulled) != len(inputs):
                return None
            parts = [(index, _part_of(pulled[index], inputs[index])) for index in needed]
    except EngineError:  # the rule reads data, or draws: on values it works, or reports the error
        return None
    return _assemble((cotangent, output, *inputs), [(index, part) for index, part in parts if part is not None])


def _draw_nothing() -> Value:
    raise EngineError("a backward rule draws no random numbers")


def _part_of(part: Any, value: Value) -> Value | None:
    """Return the cotangent of an input, summed over the axes along which the input was broadcast, in its dtype."""
    if part is not None and not isinstance(part, Value):
        part = part()
    if part is None:
        return None
    return fit_cotangent(part, value)


def fit_cotangent(cotangent: Value, value: Value) -> Value:
    """Return a cotangent with the shape and dtype of `value`, which was broadcast or promoted."""
    if cotangent.shape != value.shape:
        cotangent = sum_to(cotangent, shape=value.shape)
    if cotangent.dtype is not value.dtype and cotangent.dtype != value.dtype:
        cotangent = cast(cotangent, dtype=value.dtype)
    return cotangent


def _assemble(given: Sequence[Value], parts: Sequence[tuple[int, Value]]) -> ArrayRule | None:
    """Return the traced rule as steps.

    None if it uses half types or large tables, and if a result lies in the memory of an input.
    """
    nodes = _nodes_of([part for _, part in parts])
    constants = _constants_of(nodes, given)
    if sum(value.nbytes for value in constants) > CONSTANT_BYTES_MAX:
        return None
    places: dict[object, int] = {value.key: place for place, value in enumerate((*given, *constants))}
    owners = list(range(len(places)))  # the place in whose memory that of a view lies
    reads = []
    for node in nodes:
        if any(computing_dtype(value.dtype) != value.dtype for value in (*node.inputs, node.output(0))):
            return None
        if len(node.outputs) > 1:
            return None
        read = tuple(places[value.key] for value in node.inputs)
        places[node, 0] = len(owners)
        owners.append(owners[read[0]] if node.op.view else len(owners))
        reads.append(read)
    first = len(given) + len(constants)
    results = [(index, places[part.key]) for index, part in parts if part.key in places]
    if len(results) < len(parts) or any(0 < owners[place] < first for _, place in results):
        return None
    steps = _steps(nodes, reads, first, {place for _, place in results})
    return ArrayRule(steps, [value.numpy() for value in constants], results)


def _nodes_of(parts: Sequence[Value]) -> list[Node]:
    """Return the nodes that the parts depend on, in the order in which they were traced."""
    found: set[Node] = set()
    waiting = [part.node for part in parts if part.node is not None]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [value.node for value in node.inputs if value.node is not None]
    return sorted(found, key=lambda node: node.seq)


def _constants_of(nodes: Sequence[Node], given: Sequence[Value]) -> list[Value]:
    """Return the values that a rule makes of numbers, each once."""
    known = {value.key for value in given}
    leaves = {value.key: value for node in nodes for value in node.inputs if value.node is None}
    return [value for key, value in leaves.items() if key not in known]


def _steps(nodes: Sequence[Node], reads: Sequence[tuple[int, ...]], first: int, kept: set[int]) -> list[_Step]:
    last = {place: number for number, read in enumerate(reads) for place in read}
    done: list[list[int]] = [[] for _ in nodes]
    for place, number in last.items():
        if place not in kept and (place == 0 or place >= first):
            done[number].append(place)
    return [
        (_bind(node), _take(read), bool(node.op.view), tuple(places))
        for node, read, places in zip(nodes, reads, done, strict=True)
    ]


def _take(places: tuple[int, ...]) -> Callable[[list[Any]], tuple[Any, ...]]:
    """Return a function that takes the items at `places` of a list, as a tuple."""
    if not places:
        return lambda _: ()
    if len(places) == 1:
        only = slice(places[0], places[0] + 1)
        return itemgetter(only)
    return itemgetter(*places)


def _bind(node: Node) -> Callable[..., Any]:
    return partial(node.op.body, **node.attrs) if node.attrs else node.op.body
