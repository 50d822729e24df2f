"""What every optimizer is: slots beside a parameter, and an update written in ops, which any graph can hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from engine.dtypes import FLOAT64, INT64
from engine.errors import AttributeValueError
from engine.ops.casting import cast
from engine.value import Spec, Value

Slots = Mapping[str, Value]
Stepped = tuple[Value, dict[str, Value]]

COUNT = Spec((), INT64)
"""The slot `step` of optimizers that count."""


@dataclass(frozen=True, kw_only=True)
class Optimizer(ABC):
    """What turns gradients into steps: `update` gives the new parameter and slots, all of which start at 0.

    `lr` is the learning rate the run starts from; a schedule may feed another one each step. With `maximize` the step
    goes up the gradient.
    """

    kind: ClassVar[str]
    elementwise: ClassVar[bool] = True
    """Whether each element is stepped by itself, so that parameters may be put one behind another."""

    lr: float = 1e-3
    maximize: bool = False

    def __post_init__(self) -> None:
        """Check the domains of the options."""
        nonnegative({"lr": self.lr})

    @abstractmethod
    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """Return shape and dtype of every slot for a parameter."""

    @abstractmethod
    def step(self, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Return the parameter and the slots after one step down the gradient."""

    def update(self, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Return the parameter and the slots after one step, in the dtypes that they had.

        Args:
            gradient: of the parameter's shape and dtype.
            parameter: where to step from.
            slots: what `slots` describes.
            lr: the learning rate, a float64 number.
        """
        stepped, changed = self.step(-gradient if self.maximize else gradient, parameter, slots, lr)
        return _typed(stepped, parameter), {name: _typed(value, slots[name]) for name, value in changed.items()}


def _typed(value: Value, like: Value) -> Value:
    """A parameter without axes counts no more than the rate, which would make it float64."""
    return value if value.dtype == like.dtype else cast(value, dtype=like.dtype)


def counted(slots: Slots) -> tuple[Value, Value]:
    """Return the count of steps, this one included, as the slot keeps it and as a float64 number."""
    step = slots["step"] + 1
    return step, cast(step, dtype=FLOAT64)


def decayed(gradient: Value, parameter: Value, weight_decay: float) -> Value:
    """Return the gradient of the loss with weight_decay / 2 times the square of the parameter added to it."""
    return gradient + parameter * weight_decay if weight_decay else gradient


def shrunk(parameter: Value, lr: Value, weight_decay: float) -> Value:
    """Return the parameter after decoupled weight decay."""
    return parameter * (1.0 - lr * weight_decay) if weight_decay else parameter


def nonnegative(options: Mapping[str, float]) -> None:
    """Refuse negative numbers."""
    for name, value in options.items():
        if not value >= 0:
            raise AttributeValueError(f"{name} must be at least 0, not {value}")


def fraction(options: Mapping[str, float]) -> None:
    """Refuse numbers outside 0 <= x < 1."""
    for name, value in options.items():
        if not 0 <= value < 1:
            raise AttributeValueError(f"{name} must lie in 0 <= {name} < 1, not {value}")
