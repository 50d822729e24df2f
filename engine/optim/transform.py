"""What every optimizer is: slots beside a parameter; and most have an update in ops, which any graph can hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from engine.core.dtypes import FLOAT64, INT64
from engine.core.errors import AttributeValueError
from engine.core.value import Spec, Value
from engine.ops.casting import cast

Slots = Mapping[str, Value]
Stepped = tuple[Value, dict[str, Value]]

COUNT = Spec((), INT64)
"""The slot `step` of optimizers that count."""


@dataclass(frozen=True, kw_only=True)
class Optimizer(ABC):
    """What moves parameters: options, and slots beside each parameter, all of which start at 0.

    `lr` is the learning rate the run starts from; a schedule may feed another one each step.
    """

    kind: ClassVar[str]
    lr: float = 1e-3

    def __post_init__(self) -> None:
        """Check the domains of the options."""
        nonnegative({"lr": self.lr})

    @property
    def elementwise(self) -> bool:
        """Whether parameters may be put one behind another and stepped as one vector."""
        return True

    @property
    def own_momentum(self) -> float | None:
        """The momentum, or beta1, by which it steps when none is fed; None for an optimizer without."""
        return None

    @property
    def has_momentum(self) -> bool:
        """Whether a schedule may change its momentum."""
        return self.own_momentum is not None

    @property
    def momentum_options(self) -> dict[str, Any]:
        """The option that holds the momentum, if there is one, by its name."""
        return {}

    def with_momentum(self, momentum: float) -> Self:
        """Return it with another momentum of its own, and the slots that this needs.

        Raises:
            AttributeValueError: the optimizer has none.
        """
        detail = f"{self.kind} has no momentum that could be {momentum:g}"
        raise AttributeValueError(f"{detail}; give a schedule that cycles momentum cycle_momentum false")

    @abstractmethod
    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """Return shape and dtype of every slot for a parameter."""


@dataclass(frozen=True, kw_only=True)
class Transform(Optimizer):
    """What turns a given gradient into a step: `update` gives the new parameter and slots, written in ops.

    With `maximize` the step goes up the gradient.
    """

    maximize: bool = False

    @abstractmethod
    def step(self, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Return the parameter and the slots after one step down the gradient."""

    def update(
        self, gradient: Value, parameter: Value, slots: Slots, lr: Value, momentum: Value | None = None
    ) -> Stepped:
        """Return the parameter and the slots after one step, in the dtypes that they had.

        Args:
            gradient: of the parameter's shape and dtype.
            parameter: where to step from.
            slots: what `slots` describes.
            lr: the learning rate, a float64 number.
            momentum: what takes the place of the optimizer's own momentum, a float64 number greater than 0.

        Raises:
            AttributeValueError: a momentum is fed to an optimizer without, or whose own is 0 and has no slots.
        """
        step = self.step if momentum is None else self.stepper(momentum)
        stepped, changed = step(-gradient if self.maximize else gradient, parameter, slots, lr)
        return typed(stepped, parameter), {name: typed(value, slots[name]) for name, value in changed.items()}

    def stepper(self, momentum: Value) -> Callable[[Value, Value, Slots, Value], Stepped]:
        """Return the `step` that goes by a momentum that is fed.

        Raises:
            AttributeValueError: the optimizer has none.
        """
        raise AttributeValueError(f"{self.kind} has no momentum, so none of {momentum.dtype.name} can be fed to it")


def typed(value: Value, like: Value) -> Value:
    """Return a value in the dtype of `like`: one without axes counts no more than the rate, a float64."""
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
            raise AttributeValueError(f"{name} must be at least 0, not {value}", _option(name))


def fraction(options: Mapping[str, float]) -> None:
    """Refuse numbers outside 0 <= x < 1."""
    for name, value in options.items():
        if not 0 <= value < 1:
            raise AttributeValueError(f"{name} must lie in 0 <= {name} < 1, not {value}", _option(name))


def _option(name: str) -> str:
    """Return the option that a name as `betas[0]` is part of."""
    return name.partition("[")[0]
