"""Sharding rules: how an op applies to parts of its inputs when a batch is cut into shards.

A rule gets a `Case`: one application of an op, some inputs of which are split along an axis or partial. It returns the
`Cut`: which part of every input a shard needs, and what its results are; or None if a shard can do nothing without the
others. Rules are declared beside the op, `sharding=`, mostly from the strategies below. Elementwise ops and views need
none; any other op without a rule runs on whole values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.core.declarations import Sharding
from engine.core.registry import Op
from engine.core.shape_rules import normalize_axes
from engine.core.value import Shape

PARTIAL, WHOLE = -1, -2
State = int | None
"""The axis a value is split along; PARTIAL, when each shard has a summand of it; or None for a whole one.

As the part of a split input that a shard reads, WHOLE means the parts of all. A shard may also read a part along
another axis than that of the split: then, too, the other shards must have computed theirs.
"""

LEAST_ELEMENTS = 2**15
"""From this many elements on, a step on whole values is split among shards; for fewer, synchronization costs more."""


@dataclass(frozen=True, slots=True)
class Case:
    """One application of an op: attributes, shapes and states of inputs, shapes of outputs.

    With `by_columns` the batch stays whole, and products are split by columns or rows of their results.
    """

    op: Op[Any]
    attrs: Mapping[str, Any]
    shapes: Sequence[Shape]
    states: Sequence[State]
    outputs: Sequence[Shape]
    by_columns: bool = False

    @property
    def first(self) -> int:
        """The index of the first input that is not whole."""
        return next(index for index, state in enumerate(self.states) if state is not None)

    @property
    def axis(self) -> int:
        """The axis along which that input is split."""
        axis = self.states[self.first]
        assert axis is not None
        return axis


@dataclass(frozen=True, slots=True)
class Cut:
    """What shards do: the axes along which they see parts of the inputs, None for the whole; and what they compute."""

    windows: tuple[State, ...]
    states: tuple[State, ...]


Rule = Callable[[Case], Cut | None]


def cut(case: Case, count: int) -> Cut | None:
    """Return what `count` shards do in a step, or None where they can do nothing without one another."""
    rules = rules_of(case.op)
    if rules is None:
        return None
    rule = rules.split_whole if all(state is None for state in case.states) else rules.split
    found = None if rule is None else rule(case)
    if found is None:
        return None
    # A window of None means the whole value, so a value of which each shard has computed a part is gathered first.
    windows = tuple(
        WHOLE if window is None and own not in (None, PARTIAL) else window
        for own, window in zip(case.states, found.windows, strict=True)
    )
    for shape, own, window in zip(case.shapes, case.states, windows, strict=True):
        if (own == PARTIAL and window != PARTIAL) or not _divides(shape, window, count):
            return None
    fits = all(_divides(shape, state, count) for shape, state in zip(case.outputs, found.states, strict=True))
    return Cut(windows, found.states) if fits else None


def rules_of(op: Op[Any]) -> Sharding | None:
    """Return the sharding rules of an op: its own, those of views and of elementwise ops, or None."""
    if op.sharding is not None:
        return op.sharding
    if op.view:
        return RESHAPE if op.view == "reshape" else VIEW
    return ELEMENTWISE if op.elementwise else None


def _divides(shape: Shape, axis: State, count: int) -> bool:
    """Return whether a shape can be cut along an axis."""
    if axis is None or axis in (PARTIAL, WHOLE):
        return True
    return axis < len(shape) and shape[axis] > 0 and shape[axis] % count == 0


def _longest(case: Case) -> int | None:
    """Return the index of the largest input, None if it has too few elements to be worth splitting."""
    sizes = [math.prod(shape) for shape in case.shapes]
    return None if max(sizes, default=0) < LEAST_ELEMENTS else sizes.index(max(sizes))


def _split_input(case: Case, index: int, axis: int) -> Case:
    return replace(case, states=tuple(axis if place == index else None for place in range(len(case.shapes))))


def along_first_axis(rule: Rule) -> Sharding:
    """For rules that take any axis: whole inputs are split along the first axis of the largest one."""

    def split_whole(case: Case) -> Cut | None:
        longest = _longest(case)
        return None if longest is None else rule(_split_input(case, longest, 0))

    return Sharding(rule, split_whole)


def batch_axes(inputs: str, outputs: str) -> Sharding:
    """For ops with a batch axis: a character for each input and output, its axis, - for whole, + for partial."""

    def split(case: Case) -> Cut | None:
        if len(case.shapes) > len(inputs):
            return None
        windows = (int(role) if role.isdigit() else None for role in inputs[: len(case.shapes)])
        states = (int(role) if role.isdigit() else PARTIAL for role in outputs[: len(case.outputs)])
        return Cut(tuple(windows), tuple(states))

    def split_whole(case: Case) -> Cut | None:
        longest = _longest(case)
        if longest is None or not (role := (inputs + inputs[-1] * len(case.shapes))[longest]).isdigit():
            return None
        return split(_split_input(case, longest, int(role)))

    return Sharding(split, split_whole)


def image_axes(inputs: str, outputs: str, channels: tuple[str, str]) -> Sharding:
    """For ops on batches of images, the roles as of `batch_axes`, and those of a split by channels of the results.

    By these a batch that stays whole is split, unless channels are in groups.
    """
    by_batch, by_channels = batch_axes(inputs, outputs), batch_axes(*channels)

    def split(case: Case) -> Any:
        if not case.by_columns:
            return by_batch.split(case)
        return by_channels.split(case) if case.attrs.get("groups", 1) == 1 else None

    def split_whole(case: Case) -> Any:
        if case.by_columns:
            return None if _longest(case) is None else split(case)
        return by_batch.split_whole and by_batch.split_whole(case)

    return Sharding(split, split_whole, of_images=True)


def matrix_axes(inputs: str, outputs: str) -> Sharding:
    """For ops on batches of matrices: how many last axes of each input and output are those of a matrix or its rows.

    The axes in front broadcast, and only those are split. An operand that has one matrix for all of the batch is seen
    whole; an output that has one is computed in summands.
    """

    def split(case: Case) -> Cut | None:
        leads = [len(shape) - int(own) for shape, own in zip(case.shapes, inputs, strict=False)]
        behind = case.axis - leads[case.first]  # counted from the end of the axes in front
        if behind >= 0:
            return None

        def place(shape: Shape, lead: int) -> int | None:
            own = lead + behind
            return own if own >= 0 and shape[own] > 1 else None

        ends = [len(shape) - int(own) for shape, own in zip(case.outputs, outputs, strict=True)]
        windows = tuple(place(shape, lead) for shape, lead in zip(case.shapes, leads, strict=True))
        states = (place(shape, lead) for shape, lead in zip(case.outputs, ends, strict=True))
        return Cut(windows, tuple(PARTIAL if state is None else state for state in states))

    return along_first_axis(split)


def _elementwise(case: Case) -> Cut:
    behind = case.axis - len(case.shapes[case.first])  # counted from the end, as broadcasting aligns axes
    axis = behind + len(case.outputs[0])
    windows: list[State] = []
    for shape in case.shapes:
        own = behind + len(shape)
        windows.append(own if own >= 0 and shape[own] == case.outputs[0][axis] and shape[own] > 1 else None)
    return Cut(tuple(windows), (axis,) * len(case.outputs))


def _along_axis(case: Case) -> Cut | None:
    """Split any axis that the op does not mix: the one that is split already, or the longest."""
    shape = case.shapes[0]
    mixed = normalize_axes(case.attrs["axis"], len(shape))
    others = [axis for axis in range(len(shape)) if axis not in mixed and shape[axis] > 1]
    if not others:
        return None
    axis = case.axis if case.axis in others else max(others, key=shape.__getitem__)
    # A result lacks the axes that it reduces, or has them all.
    removed = sum(place < axis for place in mixed)
    states = tuple(axis if len(made) == len(shape) else axis - removed for made in case.outputs)
    if any(len(read) != len(shape) or read[axis] != shape[axis] for read in case.shapes):
        return None
    if any(place >= len(made) or made[place] != shape[axis] for made, place in zip(case.outputs, states, strict=True)):
        return None
    return Cut((axis,) * len(case.shapes), states)


def _view(find: Callable[[Case], int | None]) -> Sharding:
    def split(case: Case) -> Cut | None:
        if case.op.algebra.barrier:  # what it waits for is not read
            return Cut(tuple(case.states), (case.states[0],))
        if any(state is not None for state in case.states[1:]):
            return None
        axis = find(case)
        return None if axis is None else Cut((case.axis, *[None] * (len(case.states) - 1)), (axis,))

    return Sharding(split)


def _reshaped_axis(case: Case) -> int | None:
    """Return the axis of the result whose equal parts are those of the input's: as many elements lie before both."""
    before = int(np.prod(case.shapes[0][: case.axis], dtype=np.int64))
    product = 1
    for place, extent in enumerate(case.outputs[0]):
        if product == before and extent > 1:
            return place
        product *= extent
    return None


def _moved_axis(case: Case) -> int | None:
    """Return where an axis goes in a view: the one axis that still has its extent and its step in memory."""
    # The kernel runs on an array without memory whose axes all have different strides, so an axis is known by its own.
    shape = case.shapes[0]
    steps = [1] * len(shape)
    for place in reversed(range(len(shape) - 1)):
        steps[place] = steps[place + 1] * (shape[place + 1] + 1)
    probe = np.lib.stride_tricks.as_strided(np.empty(1, np.int8), shape, steps)
    view = case.op.body(probe, **case.attrs)
    if not isinstance(view, np.ndarray):
        return None
    step, extent = steps[case.axis], shape[case.axis]
    places = [p for p in range(view.ndim) if view.strides[p] == step and view.shape[p] == extent]
    return places[0] if len(places) == 1 else None


def part_attrs(attrs: Mapping[str, Any], whole: Shape, part: Shape) -> Mapping[str, Any]:
    """Return attributes that give the shape of a result for a shard's part of it."""
    if whole != part and tuple(attrs.get("shape", ())) == whole:
        return {**attrs, "shape": part}
    return attrs


ELEMENTWISE = along_first_axis(_elementwise)
"""The result is split as the inputs are; whole inputs are seen in parts, or repeated."""
ALONG_AXIS = along_first_axis(_along_axis)
"""Of ops that mix elements along the axes of their attribute `axis` only; inputs have the same axes, and outputs too or
all but those.
"""
VIEW = _view(_moved_axis)
RESHAPE = _view(_reshaped_axis)
