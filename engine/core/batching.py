"""Batching rules: how an op applies to a whole batch of examples at once. `vmap` runs them.

A rule gets a `Call`: one application of an op in which some inputs carry a batch axis in front. It returns the outputs
with the batch axis in front. Rules are declared with the op, as its `batching` or by `@op.batch`, mostly from the
strategies below; an elementwise op needs none, and `each`, which works for every op, applies it example by example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.core.dtypes import INT64
from engine.core.registry import OPS, Op
from engine.core.shape_rules import normalize_axis
from engine.core.value import Shape, Spec, Value

Outputs = Value | tuple[Value, ...]
Rule = Callable[["Call"], Outputs]


@dataclass(frozen=True, slots=True)
class Call:
    """One application of an op to a batch.

    Attributes:
        op: the op.
        size: the number of examples.
        inputs: the inputs; those that are `batched` have an axis of extent `size` in front.
        batched: which inputs differ from example to example; at least one does.
        attrs: the attributes of the application to one example.
        outputs: shape and dtype of the outputs for one example.
    """

    op: Op[Any]
    size: int
    inputs: tuple[Value, ...]
    batched: tuple[bool, ...]
    attrs: Mapping[str, Any]
    outputs: tuple[Spec, ...]

    def shape(self, index: int) -> Shape:
        """Return the shape of input `index` for one example."""
        shape = self.inputs[index].shape
        return shape[1:] if self.batched[index] else shape

    def rank(self, index: int) -> int:
        """Return the number of axes of input `index` for one example."""
        return len(self.shape(index))

    def aligned(self, index: int, rank: int) -> Value:
        """Return input `index`; when batched with axes of extent 1 behind the batch axis, to have `rank` others."""
        value = self.inputs[index]
        missing = rank - self.rank(index)
        if not self.batched[index] or missing == 0:
            return value
        return _reshape(value, (self.size, *(1,) * missing, *value.shape[1:]))

    def spread(self, index: int, rank: int | None = None) -> Value:
        """Return input `index` with the batch axis, repeated (without a copy) when it is the same for all examples.

        With `rank`, axes of extent 1 behind the batch axis fill up to `rank` axes for one example.
        """
        value, shape = self.inputs[index], self.shape(index)
        if rank is not None and rank > len(shape):
            shape = (1,) * (rank - len(shape)) + shape
            value = _reshape(value, (self.size, *shape) if self.batched[index] else shape)
        return value if self.batched[index] else _broadcast_to(value, (self.size, *shape))

    def several(self, outputs: Iterable[Value]) -> Outputs:
        """Return the outputs as the op does: one Value, or a tuple."""
        made = tuple(outputs)
        return made if self.op.multi_output else made[0]

    def join(self, index: int) -> Value:
        """Return input `index` with the batch axis and its own first axis made one."""
        value = self.spread(index)
        return _reshape(value, (value.shape[0] * value.shape[1], *value.shape[2:]))

    def split(self, value: Value) -> Value:
        """Undo `join` for a result."""
        return _reshape(value, (self.size, value.shape[0] // self.size, *value.shape[1:]))

    def numbers(self, rank: int) -> Value:
        """Return the numbers of the examples [size, 1, ...], to be used beside batched indices of `rank` axes."""
        return Value((self.size, *(1,) * rank), INT64, np.arange(self.size).reshape(self.size, *(1,) * rank))

    def reshaped(self, *made: Value) -> Outputs:
        """Return what the op made with the elements of its outputs in order, in the shapes that outputs have here."""
        return self.several(
            _reshape(one, (self.size, *spec.shape)) for one, spec in zip(made, self.outputs, strict=True)
        )

    def again(self, *inputs: Value, **changes: Any) -> Outputs:
        """Apply the op to other inputs with some attributes changed."""
        return self.op(*inputs, **{**self.attrs, **changes})  # type: ignore[no-any-return]

    def made(self, *inputs: Value, **changes: Any) -> tuple[Value, ...]:
        """Apply the op as `again` does; its outputs are a tuple in any case."""
        return _tuple(self.again(*inputs, **changes))

    def example(self, index: int, number: int) -> Value:
        """Return input `index` of example `number`."""
        value = self.inputs[index]
        if not self.batched[index]:
            return value
        one = OPS["slice"](value, axis=0, start=number, stop=number + 1)
        return _reshape(one, value.shape[1:])


def apply_batched(call: Call) -> tuple[Value, ...]:
    """Return the outputs of a call for all examples, by the rule of its op."""
    if call.size == 0:
        made: Outputs = tuple(_zeros(spec) for spec in call.outputs)
    else:
        made = rule_of(call.op)(call)
    return made if isinstance(made, tuple) else (made,)


def rule_of(op: Op[Any]) -> Rule:
    """Return the batching rule of a primitive op: its own, that of elementwise ops, or `each`."""
    if op.batching is not None:
        return op.batching
    return by_itself if op.elementwise else each


def by_itself(call: Call) -> Outputs:
    """For ops that broadcast their inputs, or take any axes in front: equal ranks are all that they need."""
    rank = max(call.rank(index) for index in range(len(call.inputs)))
    return call.again(*(call.aligned(index, rank) for index in range(len(call.inputs))))


def spread(call: Call) -> Outputs:
    """For ops that take any axes in front of all their inputs, and give results with the axes of certain inputs."""
    rank = max(call.rank(index) for index in range(len(call.inputs)))
    return call.reshaped(*call.made(*(call.spread(index, rank) for index in range(len(call.inputs)))))


def each(call: Call) -> Outputs:
    """For any op: apply it to one example after the other, and stack the results."""
    numbers = range(len(call.inputs))
    made = [call.made(*(call.example(index, number) for index in numbers)) for number in range(call.size)]
    return call.several(OPS["stack"](*parts) for parts in zip(*made, strict=True))


def along(*names: str) -> Rule:
    """For ops that work along the axes named by these attributes, of inputs that all have the same number of axes."""

    def rule(call: Call) -> Outputs:
        rank = call.rank(0)
        if rank == 0:
            return each(call)
        changes = {name: shifted(call.attrs[name], rank) for name in names}
        return call.again(*(call.spread(index) for index in range(len(call.inputs))), **changes)

    return rule


def folded(*numbers: int, shape: str | None = None) -> Rule:
    """For ops whose inputs `numbers`, and all outputs, list examples along the first axis: a batch is a longer list.

    Other inputs may not differ from example to example, else the rule is `each`. `shape` names an attribute that gives
    the shape of the result.
    """

    def rule(call: Call) -> Outputs:
        if any(batched and index not in numbers for index, batched in enumerate(call.batched)):
            return each(call)
        inputs = [call.join(i) if i in numbers else v for i, v in enumerate(call.inputs)]
        changes = {shape: (call.size * call.attrs[shape][0], *call.attrs[shape][1:])} if shape else {}
        return call.reshaped(*call.made(*inputs, **changes))

    return rule


def shifted(axis: Any, rank: int) -> Any:
    """Return an axis, several or all (None) of an example with `rank` axes as axes of the batch."""
    if axis is None:
        return tuple(range(1, rank + 1))
    if isinstance(axis, tuple):
        return tuple(normalize_axis(one, rank) + 1 for one in axis)
    return normalize_axis(axis, rank) + 1


def join_channels(value: Value) -> Value:
    """Turn [batch, rows, channels, ...] into [rows, batch * channels, ...]."""
    size, rows, channels, *rest = value.shape
    return _reshape(_swap(value), (rows, size * channels, *rest))


def part_channels(size: int, value: Value) -> Value:
    """Turn [rows, batch * channels, ...] into [batch, rows, channels, ...], for a batch of `size`."""
    rows, channels, *rest = value.shape
    return _swap(_reshape(value, (rows, size, channels // size, *rest)))


def _swap(value: Value) -> Value:
    return OPS["permute"](value, axes=(1, 0, *range(2, value.ndim)))  # type: ignore[no-any-return]


def _tuple(made: Outputs) -> tuple[Value, ...]:
    return made if isinstance(made, tuple) else (made,)


def _reshape(value: Value, shape: Shape) -> Value:
    return OPS["reshape"](value, shape=shape)  # type: ignore[no-any-return]


def _broadcast_to(value: Value, shape: Shape) -> Value:
    return OPS["broadcast_to"](value, shape=shape)  # type: ignore[no-any-return]


def _zeros(spec: Spec) -> Value:
    shape = (0, *spec.shape)
    return Value(shape, spec.dtype, np.zeros(shape, spec.dtype))
