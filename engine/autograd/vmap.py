"""vmap: a function of one example made into a function of a batch, by tracing it once and batching every op."""

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
    It is traced once, without data, so it cannot look at numbers. Derivatives and further vmaps may be taken inside
    and outside of it.

    Args:
        function: of one example.
        in_axes: which axis of each argument counts the examples; None for an argument that is the same for all.
        out_axes: where the axis of the examples goes in the results: in all, or in each part of a tuple.
        randomness: whether random ops inside are refused, draw the same for all examples, or draw for each.

    Raises:
        ShapeError: when no argument has an axis of examples, or they count differently.
    """

    def batched(*args: Tree) -> Any:
        axes = _one_for_each(in_axes, args, "in_axes")
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
            batch.together[keys.example.key] = keys.for_each()
        for node in reachable(results, after=mark):
            batch.run(node)
        places = _one_for_each(out_axes, outputs if isinstance(outputs, tuple) else (outputs,), "out_axes")
        return with_leaves(outputs, iter(map(batch.result, results, places)))

    return batched


class _Batch:
    """The values of a traced function for all examples: `together` with a batch axis, `alone` when all are equal."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.together: dict[object, Value] = {}
        self.alone: dict[object, Value] = {}

    def example(self, value: Value, axis: int | None) -> Value:
        """Return what stands for one example of `value` in the trace."""
        if axis is None:
            return value
        front = movedim(value, source=axis, destination=0)
        one = Value(front.shape[1:], front.dtype, None, name=value.name)
        self.together[one.key] = front
        return one

    def run(self, node: Node) -> None:
        """Apply a traced node: to all examples at once, or once when it depends on none of them."""
        batched = tuple(value.key in self.together for value in node.inputs)
        inputs = tuple(self._known(value) for value in node.inputs)
        if any(batched):
            table = self.together
            made = apply_batched(Call(node.op, self.size, inputs, batched, node.attrs, node.outputs))
        else:
            table = self.alone
            applied = node.op(*inputs, **node.attrs)
            made = applied if isinstance(applied, tuple) else (applied,)
        for index, value in enumerate(made):
            table[(node, index)] = value

    def result(self, value: Value, place: int | None) -> Value:
        """Return a result of the function for all examples, their axis at `place`."""
        known = self._known(value)
        if value.key not in self.together:
            known = broadcast_to(known, shape=(self.size, *known.shape))
        if place is None:
            raise ShapeError("out_axes must say where the axis of the examples goes; None stands for nowhere")
        return movedim(known, source=0, destination=place)

    def _known(self, value: Value) -> Value:
        found = self.together.get(value.key)
        return self.alone.get(value.key, value) if found is None else found


class _Keys:
    """Where random ops inside a vmap get their keys from."""

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
        """Return one key for each example."""
        assert self.root is not None
        return stack(*(fold_in(self.root, number) for number in range(max(self.size, 1))))


def _one_for_each(axes: Axes, trees: Sequence[Tree], name: str) -> list[int | None]:
    """Return an axis for each leaf of the trees."""
    if axes is None or isinstance(axes, int):
        axes = [axes] * len(trees)
    if len(axes) != len(trees):
        raise ShapeError(f"vmap: {name} names {len(axes)} axes for {len(trees)} values")
    return [axis for axis, tree in zip(axes, trees, strict=True) for _ in leaves_of(tree)]


def _size(values: Sequence[Value], axes: Sequence[int | None]) -> int:
    """Return the number of examples."""
    sizes = {}
    for number, (value, axis) in enumerate(zip(values, axes, strict=True)):
        if axis is not None:
            if not value.ndim:
                raise ShapeError(f"vmap: argument {number} has no axis to take examples from; set its in_axes to None")
            sizes[number] = value.shape[normalize_axis(axis, value.ndim)]
    if not sizes:
        raise ShapeError("vmap needs at least one argument with an axis of examples; all in_axes are None")
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{size} in argument {number}" for number, size in sizes.items())
        raise ShapeError(f"vmap: the arguments have different numbers of examples: {shown}")
    return next(iter(sizes.values()))


def _check(results: Sequence[Any]) -> None:
    for result in results:
        if not isinstance(result, Value):
            raise GradientError(f"vmap: the function must return Values, not {type(result).__name__}")
