"""Backward passes on arrays: what a pass computes that records nothing.

Cotangents are arrays, and rules are kernels on arrays (`engine.autograd.array_rules`). Values are made only for hooks,
for rules that have no form on arrays, where saved values were overwritten, and for the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from weakref import ref

import numpy as np

from engine.autograd.array_rules import rule_of
from engine.core.errors import EngineError
from engine.core.modes import MODES
from engine.core.value import Array, Node, Value

Key = object
Parts = Iterable[tuple[int, Value]]
Path = Sequence[tuple[Node, tuple[int, ...]]]
"""Nodes in order of creation, each with the positions of the inputs that get a cotangent."""
PullOnValues = Callable[[Node, Sequence[int], Sequence[Value | None]], Parts]
"""Runs the rule of a node on values: returns positions of inputs, and cotangents of their shapes and dtypes."""
RunHooks = Callable[[Node, int, Value], Value]


def place_of(value: Value) -> Key:
    """Return the key of a value's cotangent: as `Value.key`, without a tuple for the first output of a node."""
    node = value.node
    if node is None:
        return id(value)
    return (node, value.index) if value.index else node


class ArrayPass:
    """The cotangents of one pass, and the values that stand for them outside of it.

    Attributes:
        totals: by the place of a value, the sum of the cotangents that have reached it.
    """

    def __init__(self, targets: set[Key], pull_on_values: PullOnValues, run_hooks: RunHooks) -> None:
        """Keep the cotangents of the values at `targets`; the others are dropped when they have been used."""
        self.totals: dict[Key, Array] = {}
        self._targets = targets
        self._pull_on_values = pull_on_values
        self._run_hooks = run_hooks
        self._values: dict[int, ref[Value]] = {}  # by the id of their arrays
        self._seeds: list[Value] = []

    def run(self, seeds: Iterable[tuple[Value, Value]], path: Path) -> None:
        """Pass the cotangents of outputs on along a path, from its last node to its first."""
        for output, cotangent in seeds:
            self._seeds.append(cotangent)
            self._accumulate(output, cotangent)
        left = len(path)
        while left:
            left, on_values = MODES.kernels.run(_visit, path, left, self.totals, self._targets)
            if not left:
                return
            node, needed = path[left - 1]
            if on_values or node.signature is None or rule_of(node.signature, needed) is None:
                self._visit_on_values(node, needed)
                left -= 1

    def results(self, wrt: Sequence[Value]) -> dict[object, Value]:
        """Return the cotangents of the targets by key; those that share memory share a counter of writes to it."""
        owners = {id(_owner(value.numpy())): value for value in self._seeds}
        found: dict[object, Value] = {}
        for value in wrt:
            array = self.totals.get(place_of(value))
            if array is None or value.key in found:
                continue
            made = found[value.key] = self._as_value(array)
            owner = owners.setdefault(id(_owner(array)), made)
            if owner is not made and made.counter is None:
                made.counter = owner.shared_counter()
                made.counter.viewed = True
        return found

    def _visit_on_values(self, node: Node, needed: Sequence[int]) -> None:
        cotangents = [self._take(node, index) for index in range(len(node.outputs))]
        if any(cotangent is not None for cotangent in cotangents):
            for index, part in self._pull_on_values(node, needed, cotangents):
                self._accumulate(node.inputs[index], part)

    def _take(self, node: Node, index: int) -> Value | None:
        """Return the complete cotangent of an output, after its hooks; keep it only if it is a target."""
        place: Key = (node, index) if index else node
        array = self.totals.pop(place, None)
        if array is None:
            return None
        cotangent = self._as_value(array)
        if node.hooks and index in node.hooks:
            cotangent = self._run_hooks(node, index, cotangent)
        if place in self._targets:
            self.totals[place] = self._array_of(cotangent)
        return cotangent

    def _accumulate(self, value: Value, cotangent: Value) -> None:
        place, part = place_of(value), self._array_of(cotangent)
        known = self.totals.get(place)
        self.totals[place] = part if known is None else MODES.kernels.run(_add, known, part)

    def _as_value(self, array: Array) -> Value:
        """Return the value of an array: the same as long as somebody has it."""
        known = self._values.get(id(array))
        value = None if known is None else known()
        if value is None or value.data is not array:
            value = Value(array.shape, array.dtype, array)
            self._values[id(array)] = ref(value)
        return value

    def _array_of(self, value: Value) -> Array:
        array = value.numpy()
        self._values[id(array)] = ref(value)
        return array


def _visit(path: Path, left: int, totals: dict[Key, Array], targets: set[Key]) -> tuple[int, bool]:
    """Visit the first `left` nodes of a path from the last on, as far as that is possible on arrays.

    To be called in `MODES.kernels`, which is entered once and not for every node.

    Returns:
        How many nodes are left, 0 if all were visited; and whether the last of them is to be visited on values. If not,
        its rule is not known yet.
    """
    while left:
        node, needed = path[left - 1]
        signature = node.signature
        if signature is None or signature.op is not node.op or node.hooks or not _is_intact(node):
            return left, True
        cotangent = totals.get(node)
        if cotangent is not None:
            rule = signature.rules.get(needed)
            if rule is None:
                return left, needed in signature.rules
            inputs = node.inputs
            try:
                places = rule.run(cotangent, node)
            except EngineError:  # on values the error names the op
                return left, True
            if node not in targets:
                del totals[node]
            for index, number in rule.results:
                value = inputs[index]
                origin = value.node
                place: Key = id(value) if origin is None else (origin, value.index) if value.index else origin
                known = totals.get(place)
                totals[place] = places[number] if known is None else _add(known, places[number])
        left -= 1
    return 0, False


def _is_intact(node: Node) -> bool:
    """Return whether no saved value of a node was freed or overwritten."""
    if node.freed:
        return False
    for value in node.inputs:
        if value.counter is not None:
            versions = node.versions or (0,) * len(node.inputs)
            if any(value.version != version for value, version in zip(node.inputs, versions, strict=True)):
                return False
            break
    return node.counters is None or all(counter.version == version for counter, version in node.counters.values())


def _add(a: Array, b: Array) -> Array:
    total = np.add(a, b)
    if total.__class__ is not np.ndarray or not total.flags.c_contiguous:
        return np.asarray(total, order="C")
    return total


def _owner(array: Array) -> Array:
    """Return the array in whose memory another lies."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
