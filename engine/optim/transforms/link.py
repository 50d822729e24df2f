"""The links of an optimizer's chain, and the arithmetic that they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

from engine.core.attributes import Range
from engine.core.dtypes import FLOAT64, INT64
from engine.core.value import Spec, Value
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.comparison import eq, gt, where
from engine.ops.elementwise.elementwise import power, sqrt, square
from engine.ops.optimizer.lazy import RowLayout
from engine.ops.optimizer.updates import running_mean
from engine.ops.reduce.reduce import mean, sum

Slots = Mapping[str, Value]
Applied = tuple[Value, dict[str, Value]]

Fraction = Annotated[float, Range(0, 1, below=True)]
"""The share of a running mean or sum that remains after a step."""

Epsilon = Annotated[float, Range(0)]
"""A number that is added to a denominator or below a root."""

Positive = Annotated[float, Range(0, above=True)]

COUNT = Spec((), INT64)
"""The slot `step` of optimizers that count their steps."""


class Direction(NamedTuple):
    """The step that a chain is computing: the parameter becomes parameter - update * rate.

    Attributes:
        update: starts as the gradient.
        parameter: starts as the parameter before the step; decoupled weight decay shrinks it.
        rate: starts as the learning rate. Scalar factors multiply it, which costs one operation for a whole vector.
            None when a link has multiplied the update by it.
        lr: the learning rate of the step, a float64 number.
        layout: the parameters that the vector `parameter` consists of; empty where it is one parameter of its shape.
    """

    update: Value
    parameter: Value
    rate: Value | None
    lr: Value
    layout: RowLayout = RowLayout()

    def stepped(self) -> Value:
        """Return the parameter after the step."""
        return self.parameter - (self.update if self.rate is None else self.update * self.rate)


Advanced = tuple[Direction, dict[str, Value]]


class Link(ABC):
    """One link of an optimizer's chain: slots beside a parameter, and a rule that changes the direction of the step."""

    @property
    def elementwise(self) -> bool:
        """Whether elements are independent of each other, so that parameters may be stepped as one vector."""
        return True

    @property
    def by_rows(self) -> bool:
        """Whether rows are independent of each other, so that a vector may be stepped whose layout is given."""
        return self.elementwise

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """Return shape and dtype of every slot for a parameter; all start at 0."""
        return {}

    @abstractmethod
    def advance(self, direction: Direction, slots: Slots) -> Advanced:
        """Return the direction after this link, and its slots after the step."""


class GradientTransform(Link):
    """A link that clients may put into a chain; it computes a new update from an update.

    Subclasses are dataclasses; their fields are the options, with the ranges they must lie in.
    """

    kind: ClassVar[str]

    def advance(self, direction: Direction, slots: Slots) -> Advanced:
        update, changed = self.apply(direction.update, direction.parameter, slots)
        return direction._replace(update=update), changed

    @abstractmethod
    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Return the transformed update, and the slots after the step.

        Args:
            update: of the parameter's shape: the result of the transforms before, at first the gradient.
            parameter: before the step.
            slots: what `slots` describes.
        """


class WholeTransform(GradientTransform):
    """A transform that depends on the shape of a parameter, or on all its elements together."""

    @property
    def elementwise(self) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class ShrinkParameter(Link):
    """Decoupled weight decay: the parameter times 1 - lr * weight_decay (Loshchilov and Hutter 2019)."""

    weight_decay: float = 0.0

    def advance(self, direction: Direction, slots: Slots) -> Advanced:
        if not self.weight_decay:
            return direction, {}
        return direction._replace(parameter=direction.parameter * (1.0 - direction.lr * self.weight_decay)), {}


def advance(links: tuple[Link, ...], direction: Direction, slots: tuple[Slots, ...]) -> tuple[Direction, list[Slots]]:
    """Run a direction through all links; also return the slots of each after the step."""
    changed: list[Slots] = []
    for link, own in zip(links, slots, strict=True):
        direction, fresh = link.advance(direction, own)
        changed.append(fresh)
    return direction, changed


def cast_like(value: Value, like: Value) -> Value:
    """Return a value in the dtype of `like`: arithmetic with a float64 rate widens parameters without axes."""
    return value if value.dtype == like.dtype else cast(value, dtype=like.dtype)


def count_step(slots: Slots) -> tuple[Value, Value]:
    """Return the number of steps including this one, as the slot holds it and as a float64 number."""
    step = slots["step"] + 1
    return step, cast(step, dtype=FLOAT64)


def slot_or_initial(slots: Slots, name: str, initial: float) -> Value:
    """Return a slot whose initial value is not 0: `initial` in the first step, which the slot `step` identifies."""
    return where(eq(slots["step"], 0), initial, slots[name]) if initial else slots[name]


def correct_bias(moment: Value, decay: float, count: Value) -> Value:
    """Return a running mean that started at 0, corrected for its bias (Kingma and Ba 2015, section 3)."""
    return moment / (1.0 - power(decay, count))


def first_moment(moment: Value, update: Value, decay: float, count: Value, *, nesterov: bool) -> Value:
    """Return the bias-corrected first moment; with `nesterov` as the next step will weight it (Dozat 2016)."""
    if not nesterov:
        return correct_bias(moment, decay, count)
    return running_mean(correct_bias(moment, decay, count + 1.0), correct_bias(update, decay, count), decay)


def l2_norm(x: Value) -> Value:
    """Return the Euclidean norm of all elements."""
    return sqrt(sum(square(x)))


def root_mean_square(x: Value) -> Value:
    """Return the root mean square of all elements."""
    return sqrt(mean(square(x)))


def ratio_or_one(numerator: Value, denominator: Value, smaller: Value) -> Value:
    """Return numerator / denominator, or 1 where `smaller` is not positive."""
    known = gt(smaller, 0)
    return where(known, numerator / where(known, denominator, 1.0), 1.0)
