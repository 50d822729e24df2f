"""Optimizers with momentum: it may be fed each step, as the learning rate is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np

from engine.core.errors import AttributeValueError
from engine.core.value import Value, tensor
from engine.optim.transform import Slots, Stepped, Transform

Momentum = float | Value
"""A momentum of the optimizer's own, or one that is fed: a float64 without axes."""


def as_number(number: Momentum) -> Value:
    """Return a number of the optimizer's own as a float64 without axes, as one that is fed is."""
    return number if isinstance(number, Value) else tensor(np.array(float(number)))


@dataclass(frozen=True, kw_only=True)
class MomentumTransform(Transform):
    """An optimizer with momentum: its option `momentum`, or the first of its `betas`."""

    momentum_option: ClassVar[Literal["momentum", "betas"]] = "momentum"

    @property
    def own_momentum(self) -> float:
        """The momentum, or beta1, by which it steps when none is fed."""
        option = getattr(self, self.momentum_option)
        return float(option[0] if isinstance(option, tuple) else option)

    @property
    def momentum_options(self) -> dict[str, Any]:
        """The option that holds the momentum, by its name."""
        return {self.momentum_option: getattr(self, self.momentum_option)}

    def with_momentum(self, momentum: float) -> Self:
        """Return it with another momentum of its own, and the slots that this needs."""
        option = getattr(self, self.momentum_option)
        changed: Any = (momentum, *option[1:]) if isinstance(option, tuple) else momentum
        return replace(self, **{self.momentum_option: changed})

    def step(self, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Step by its own momentum."""
        return self.step_by(self.own_momentum, gradient, parameter, slots, lr)

    def stepper(self, momentum: Value) -> Callable[[Value, Value, Slots, Value], Stepped]:
        """Return the `step` that goes by a momentum that is fed.

        Raises:
            AttributeValueError: the optimizer's own is 0, so that it may have no slots for it.
        """
        if not self.own_momentum:
            detail = f"{self.kind} has momentum 0 and may have no slots for one that is fed"
            raise AttributeValueError(f"{detail}; use with_momentum(what it starts from)")
        return partial(self.step_by, momentum)

    @abstractmethod
    def step_by(self, momentum: Momentum, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Return the parameter and the slots after one step by a momentum, which is its own or one that is fed."""
