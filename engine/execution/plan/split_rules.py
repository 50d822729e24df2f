"""What becomes of an op's results when a batch is cut into shards: rules by op, or by the kind of op.

Each says, for a step some of whose inputs are split or partial, which part of every input a shard needs and what it
makes of them; or that it makes nothing of them without the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.core.infer import broadcast, broadcast_bool, normalize_axes, same, same_bool, same_number
from engine.core.registry import Op
from engine.core.value import Shape
from engine.graph.simplify import Instruction

PARTIAL, WHOLE = -1, -2
State = int | None
"""The axis a value is split along; PARTIAL, when each shard has a summand of it; or None for a whole one.

As what a shard sees of an input that is split, WHOLE means the parts of all. It may also see a part along another axis:
then, too, the other shards must have done theirs.
"""

APART = 2**15
"""A step on whole values is worth being done in parts by the shards from so many elements on."""

BROADCASTING = (broadcast, broadcast_bool, same, same_bool, same_number)
BY_NAME = ("cast", "where", "gelu_backward")
"""Ops whose elements are functions of those at the same place, though their shape rules are their own."""
ALONG_AXIS = {
    "standardize", "standardize_backward", "softmax", "log_softmax", "softmax_backward", "log_softmax_backward",
    "slice_scatter", "concat", "flip",
}  # fmt: skip
"""Ops that mix elements along the axes of their attribute `axis` only; inputs and outputs have the same axes."""
LINEAR = {"add", "sub", "neg", "pack", "slice_scatter", "concat"}
"""Ops that make summands of summands."""
ROLES: Mapping[str, tuple[str, str]] = {
    "softmax_cross_entropy": ("00", "00"),
    "softmax_cross_entropy_backward": ("000", "0"),
    "convolution": ("0-", "0"),
    "convolution_input": ("0-", "0"),
    "convolution_weight": ("00", "+"),
    "max_pool": ("0", "00"),
    "max_unpool": ("00", "0"),
    "avg_pool": ("0", "0"),
    "embedding": ("-0", "0"),
    "add_rows": ("00", "+"),
    "batch_norm": ("10000", "100"),
    "lstm_steps": ("1-000", "111"),
    "lstm_steps_backward": ("1111-00", "100"),
    "gru_steps": ("1--00", "111"),
    "gru_steps_backward": ("1111-00", "110"),
    "rnn_steps": ("1-00", "1"),
    "rnn_steps_backward": ("11-0", "10"),
}
"""Of each input and output of an op: the axis of the batch, - whole, + partial."""
MATRICES: Mapping[str, tuple[str, str]] = {"attention": ("2222", "21"), "attention_backward": ("21212222", "222")}
"""Of each input and output: how many of its last axes are those of a matrix or of its rows; others are broadcast."""


@dataclass(frozen=True, slots=True)
class Case:
    """A step: attributes, shapes and states of inputs, shapes of results.

    With `by_columns` it is not the batch that is cut but what is made of it: products by their columns or rows.
    """

    op: Op[Any]
    attrs: Mapping[str, Any]
    shapes: Sequence[Shape]
    states: Sequence[State]
    made: Sequence[Shape]
    by_columns: bool = False

    @property
    def first(self) -> int:
        """The place of the first input that is not whole."""
        return next(place for place, state in enumerate(self.states) if state is not None)

    @property
    def axis(self) -> int:
        """The axis along which that input is split."""
        axis = self.states[self.first]
        assert axis is not None
        return axis


@dataclass(frozen=True, slots=True)
class Cut:
    """What shards do: the axes along which they see parts of the inputs, None for the whole; and what they make."""

    windows: tuple[State, ...]
    states: tuple[State, ...]


Rule = Callable[[Case], Cut | None]


def cut(case: Case, count: int) -> Cut | None:
    """Return what `count` shards do in a step, or None where they can do nothing without one another."""
    whole = all(state is None for state in case.states)
    rule = _apart if whole else _rule(case.op)
    if case.op.name == "matrix_product":
        rule = _columns_of_product if case.by_columns or whole else _product_by_rows
    found = None if rule is None else rule(case)
    if found is None:
        return None
    # What a rule wants whole is seen whole, also of a value of which each shard has made a part.
    windows = tuple(
        WHOLE if window is None and own not in (None, PARTIAL) else window
        for own, window in zip(case.states, found.windows, strict=True)
    )
    for shape, own, window in zip(case.shapes, case.states, windows, strict=True):
        if (own == PARTIAL and window != PARTIAL) or not _divides(shape, window, count):
            return None
    fits = all(_divides(shape, state, count) for shape, state in zip(case.made, found.states, strict=True))
    return Cut(windows, found.states) if fits else None


def _divides(shape: Shape, axis: State, count: int) -> bool:
    """Tell whether a shape can be cut along an axis."""
    if axis is None or axis in (PARTIAL, WHOLE):
        return True
    return axis < len(shape) and shape[axis] > 0 and shape[axis] % count == 0


def _apart(case: Case) -> Cut | None:
    """Return how a step on whole values is done in parts along the first axis, if there is enough to do."""
    sizes = [math.prod(shape) for shape in case.shapes]
    rule = _rule(case.op)
    if case.op.view or rule in (None, _pack) or max(sizes, default=0) < APART:
        return None
    longest = sizes.index(max(sizes))
    axis = 0
    if rule is _roles:
        role = (ROLES[case.op.name][0] + ROLES[case.op.name][0][-1] * len(sizes))[longest]
        if not role.isdigit():
            return None
        axis = int(role)
    return rule(replace(case, states=tuple(axis if place == longest else None for place in range(len(sizes)))))


def _columns_of_product(case: Case) -> Cut | None:
    """Cut the longer of the result's last two axes; the other operand is seen whole."""
    ranks, rank = [len(shape) for shape in case.shapes], len(case.made[0])
    if min(ranks) < 2 or math.prod(case.made[0]) < APART // 8:
        return None
    outer = (-1 if case.attrs["transpose_a"] else -2), (-2 if case.attrs["transpose_b"] else -1)
    sides = [(case.shapes[place][ranks[place] + outer[place]], place) for place in (0, 1)]
    place = max(sides)[1]
    axis = ranks[place] + outer[place]
    windows: list[State] = [None if state is None else WHOLE for state in case.states]
    windows[place] = axis
    return Cut(tuple(windows), (rank - 2 + place,))


def _rule(op: Op[Any]) -> Rule | None:
    if op.view:
        return _view
    if op.name in ROLES:
        return _roles
    if op.name in MATRICES:
        return _matrices
    if op.name in ALONG_AXIS:
        return _along_axis
    if op.name in RULES:
        return RULES[op.name]
    elementwise = op.infer in BROADCASTING or op.name in BY_NAME or op.overlays
    return _elementwise if elementwise else None


def _elementwise(case: Case) -> Cut:
    """The result is split as the inputs are; whole inputs are seen in parts, or repeated."""
    behind = case.axis - len(case.shapes[case.first])  # the axis counted from the end
    axis = behind + len(case.made[0])
    windows: list[State] = []
    for shape in case.shapes:
        own = behind + len(shape)
        windows.append(own if own >= 0 and shape[own] == case.made[0][axis] and shape[own] > 1 else None)
    return Cut(tuple(windows), (axis,) * len(case.made))


def _roles(case: Case) -> Cut | None:
    inputs, outputs = ROLES[case.op.name]
    if len(case.shapes) > len(inputs):
        return None
    windows = (int(role) if role.isdigit() else None for role in inputs[: len(case.shapes)])
    states = (int(role) if role.isdigit() else PARTIAL for role in outputs[: len(case.made)])
    return Cut(tuple(windows), tuple(states))


def _matrices(case: Case) -> Cut | None:
    """Cut an axis in front of the matrices; what has one matrix for all of it is seen whole, and made in summands."""
    inputs, outputs = MATRICES[case.op.name]
    leads = [len(shape) - int(own) for shape, own in zip(case.shapes, inputs, strict=False)]
    behind = case.axis - leads[case.first]  # counted from the end of the axes in front
    if behind >= 0:
        return None

    def place(shape: Shape, lead: int) -> int | None:
        own = lead + behind
        return own if own >= 0 and shape[own] > 1 else None

    made = [len(shape) - int(own) for shape, own in zip(case.made, outputs, strict=True)]
    windows = tuple(place(shape, lead) for shape, lead in zip(case.shapes, leads, strict=True))
    states = (place(shape, lead) for shape, lead in zip(case.made, made, strict=True))
    return Cut(windows, tuple(PARTIAL if state is None else state for state in states))


def _along_axis(case: Case) -> Cut | None:
    """Any other axis will do: the one that is split already, or the longest."""
    rank, shape = len(case.made[0]), case.made[0]
    if any(len(shape) != rank for shape in (*case.shapes, *case.made)):
        return None
    mixed = normalize_axes(case.attrs["axis"], rank)
    others = [axis for axis in range(rank) if axis not in mixed and shape[axis] > 1]
    if not others:
        return None
    axis = case.axis if case.axis in others else max(others, key=shape.__getitem__)
    return Cut((axis,) * len(case.shapes), (axis,) * len(case.made))


def _sum(case: Case) -> Cut:
    axes = normalize_axes(case.attrs["axis"], len(case.shapes[0]))
    if case.axis in axes:
        return Cut((case.axis,), (PARTIAL,))
    kept = case.axis if case.attrs["keepdims"] else case.axis - sum(axis < case.axis for axis in axes)
    return Cut((case.axis,), (kept,))


def _sum_to(case: Case) -> Cut:
    own = case.axis - (len(case.shapes[0]) - len(case.made[0]))
    kept = own >= 0 and case.made[0][own] == case.shapes[0][case.axis]
    return Cut((case.axis,), (own if kept else PARTIAL,))


def _sum_all(case: Case) -> Cut:
    return Cut((case.axis,), (PARTIAL,))


def _product_by_rows(case: Case) -> Cut | None:
    """Cut what is cut already; where operands are cut across one another, by columns."""
    found = _matrix_product(case)
    if found is None or any(own not in (None, seen) for own, seen in zip(case.states, found.windows, strict=True)):
        return _columns_of_product(case)
    return found


def _matrix_product(case: Case) -> Cut | None:
    ranks = len(case.shapes[0]), len(case.shapes[1])
    if min(ranks) < 2:
        return None
    # Axes counted from the end: of the contraction, and of the rows or columns of the result.
    transposed = case.attrs["transpose_a"], case.attrs["transpose_b"]
    inner = (-2 if transposed[0] else -1), (-1 if transposed[1] else -2)
    outer = (-1 if transposed[0] else -2), (-2 if transposed[1] else -1)
    place, rank = case.first, len(case.made[0])
    other, behind = 1 - place, case.axis - ranks[place]
    windows: list[State] = [None, None]
    windows[place] = case.axis
    if behind == inner[place]:
        windows[other] = ranks[other] + inner[other]
        return Cut(tuple(windows), (PARTIAL,))
    if behind == outer[place]:
        return Cut(tuple(windows), (rank + (-2 if place == 0 else -1),))
    if ranks[other] + behind >= 0 and case.shapes[other][behind] > 1:
        windows[other] = ranks[other] + behind
    return Cut(tuple(windows), (rank + behind,))


def _pack(case: Case) -> Cut | None:
    """A vector of summands is a summand; of what is whole, the first shard's has all."""
    if any(state not in (None, PARTIAL) for state in case.states):
        return None
    return Cut(tuple(case.states), (PARTIAL,))


RULES: Mapping[str, Rule] = {
    "sum": _sum,
    "sum_to": _sum_to,
    "sum_of_squares": _sum_all,
    "pack": _pack,
}


def _view(case: Case) -> Cut | None:
    if any(state is not None for state in case.states[1:]):
        return None
    find = _reshaped_axis if case.op.name == "reshape" else _moved_axis
    axis = find(case)
    return None if axis is None else Cut((case.axis, *[None] * (len(case.states) - 1)), (axis,))


def _reshaped_axis(case: Case) -> int | None:
    """Return the axis of the result whose equal parts are those of the input's: as much lies before both."""
    before = int(np.prod(case.shapes[0][: case.axis], dtype=np.int64))
    product = 1
    for place, extent in enumerate(case.made[0]):
        if product == before and extent > 1:
            return place
        product *= extent
    return None


def _moved_axis(case: Case) -> int | None:
    """Return where an axis goes in a view: the one axis that still has its extent and its step in memory."""
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


def keeps_partial(instruction: Instruction, free: bool, states: Sequence[State]) -> bool:
    """Tell whether summands may go in as they are, and summands come out."""
    if instruction.op.name == "pack":
        return all(state in (None, PARTIAL) for state in states)
    return free or (instruction.op.name in LINEAR and all(state == PARTIAL for state in states))


def part_attrs(attrs: Mapping[str, Any], made: Shape, part: Shape) -> Mapping[str, Any]:
    """Return attributes that give the shape of a result for a shard's part of it."""
    if made != part and tuple(attrs.get("shape", ())) == made:
        return {**attrs, "shape": part}
    return attrs
