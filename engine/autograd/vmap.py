"""vmap: turn a function of one example into a function of a batch.

The function is traced once, on one example without data. Then every recorded op is applied to all examples by its
batching rule. Values that depend on no batched argument are computed once and shared.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Literal

from engine.autograd.backward import reachable
from engine.core.batching import Call, apply_batched
from engine.core.dtypes import INT64
from engine.core.errors import EngineError, GradientError, ShapeError
from engine.core.modes import MODES, tracing
from engine.core.shape_rules import normalize_axis
from engine.core.trees import Tree, leaves_of, with_leaves
from engine.core.value import Node, Value, as_value
from engine.ops.random.random import fold_in
from engine.ops.shape.arrangement import movedim
from engine.ops.shape.shape import broadcast_to, stack

Function = Callable[..., Any]
Axes = int | None | Sequence[int | None]
Randomness = Literal["error", "same", "different"]


def vmap(
    function: Function, in_axes: Axes = 0, out_axes: int | Sequence[int] = 0, *, randomness: Randomness = "error"
) -> Function:
    """Return a function that applies `function` to every example of a batch at once.

    `function` takes Values of one example (or dicts, tuples and lists of them) and returns a Value or a tree of them.
    It is traced once, without data, so it cannot read numbers. It may contain derivatives and vmaps, and be used in
    them.

    Args:
        function: of one example.
        in_axes: the batch axis of each argument; None for an argument that all examples share.
        out_axes: the batch axis of the result, or of each part of a tuple.
        randomness: random ops raise ("error"), draw once for all ("same"), or draw for each example ("different").

    Raises:
        ShapeError: no argument has a batch axis, or their sizes differ.
    """

    def batched(*args: Tree) -> Any:
        axes = _axes_of_leaves(in_axes, args, "in_axes")
        values = [as_value(leaf) for arg in args for leaf in leaves_of(arg)]
        size = _size(values, axes)
        keys = _Keys(size, randomness)
        batch = _Batch(size)
        examples = iter([batch.example(value, axis) for value, axis in zip(values, axes, strict=True)])
        mark = next(Node.numbers)
        with tracing(keys.next_key):
            outputs = function(*(with_leaves(arg, examples) for arg in args))
        results = leaves_of(outputs)
        _check(results)
        if keys.example is not None:
            batch.batched[keys.example.key] = keys.for_each()
        for node in reachable(results, after=mark):
            batch.run(node)
        places = _axes_of_leaves(out_axes, outputs if isinstance(outputs, tuple) else (outputs,), "out_axes")
        return with_leaves(outputs, iter(map(batch.result, results, places)))

    return batched


class _Batch:
    """The values of a traced function: `batched` have a leading batch axis, `shared` are equal for all examples."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.batched: dict[object, Value] = {}
        self.shared: dict[object, Value] = {}

    def example(self, value: Value, axis: int | None) -> Value:
        """Return the Value without data that represents one example of `value` in the trace."""
        if axis is None:
            return value
        front = movedim(value, source=axis, destination=0)
        one = Value(front.shape[1:], front.dtype, None, name=value.name)
        self.batched[one.key] = front
        return one

    def run(self, node: Node) -> None:
        """Apply a traced node: by its batching rule, or plainly if it reads no batched value."""
        batched = tuple(value.key in self.batched for value in node.inputs)
        inputs = tuple(self._lookup(value) for value in node.inputs)
        if any(batched):
            table = self.batched
            made = apply_batched(Call(node.op, self.size, inputs, batched, node.attrs, node.outputs))
        else:
            table = self.shared
            applied = node.op(*inputs, **node.attrs)
            made = applied if isinstance(applied, tuple) else (applied,)
        for index, value in enumerate(made):
            table[(node, index)] = value

    def result(self, value: Value, place: int | None) -> Value:
        """Return a result of the function for all examples, with the batch axis at `place`."""
        known = self._lookup(value)
        if value.key not in self.batched:
            known = broadcast_to(known, shape=(self.size, *known.shape))
        if place is None:
            raise ShapeError("out_axes must name the batch axis of every result; None is not an axis")
        return movedim(known, source=0, destination=place)

    def _lookup(self, value: Value) -> Value:
        found = self.batched.get(value.key)
        return self.shared.get(value.key, value) if found is None else found


class _Keys:
    """Source of random keys for the ops inside a vmap."""

    def __init__(self, size: int, randomness: Randomness) -> None:
        if randomness not in ("error", "same", "different"):
            raise EngineError(f"vmap: randomness must be 'error', 'same' or 'different', not {randomness!r}")
        self.size = size
        self.randomness = randomness
        self.source = MODES.next_key
        self.root: Value | None = None
        self.example: Value | None = None
        self.numbers = itertools.count()

    def next_key(self) -> Value:
        if self.randomness == "error":
            raise EngineError(
                "a random op inside vmap: pass randomness='different' to draw for each example, or 'same' for all alike"
            )
        if self.root is None:
            if self.source is None:
                raise EngineError("a random op inside vmap needs a random key, or a seed set by engine.seed()")
            self.root = self.source()
            self.example = Value((2,), INT64, None) if self.randomness == "different" else None
        return fold_in(self.root if self.example is None else self.example, next(self.numbers))

    def for_each(self) -> Value:
        assert self.root is not None
        return stack(*(fold_in(self.root, number) for number in range(max(self.size, 1))))


def _axes_of_leaves(axes: Axes, trees: Sequence[Tree], name: str) -> list[int | None]:
    """Return an axis for each leaf of the trees."""
    if axes is None or isinstance(axes, int):
        axes = [axes] * len(trees)
    if len(axes) != len(trees):
        raise ShapeError(f"vmap: {name} names {len(axes)} axes for {len(trees)} values")
    return [axis for axis, tree in zip(axes, trees, strict=True) for _ in leaves_of(tree)]


def _size(values: Sequence[Value], axes: Sequence[int | None]) -> int:
    """Return the number of examples, which all batch axes must share."""
    sizes = {}
    for number, (value, axis) in enumerate(zip(values, axes, strict=True)):
        if axis is not None:
            if not value.ndim:
                raise ShapeError(f"vmap: argument {number} has no batch axis; set its in_axes to None")
            sizes[number] = value.shape[normalize_axis(axis, value.ndim)]
    if not sizes:
        raise ShapeError("vmap needs at least one argument with a batch axis; all in_axes are None")
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{size} in argument {number}" for number, size in sizes.items())
        raise ShapeError(f"vmap: the arguments have different numbers of examples: {shown}")
    return next(iter(sizes.values()))


def _check(results: Sequence[Any]) -> None:
    for result in results:
        if not isinstance(result, Value):
            raise GradientError(f"vmap: the function must return Values, not {type(result).__name__}")
