"""Adagrad, RMSprop and Adadelta: steps divided by the size that gradients have had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engine.core.value import Spec, Value
from engine.ops.elementwise import maximum, sqrt, square
from engine.optim.momentum import Momentum, MomentumTransform
from engine.optim.transform import COUNT, Slots, Stepped, Transform, counted, decayed, fraction, nonnegative


@dataclass(frozen=True, kw_only=True)
class Adagrad(Transform):
    """Steps divided by the root of the sum of all squares (Duchi et al. 2011), semantics of torch.optim.Adagrad.

    The rate of step t is lr / (1 + (t - 1) * lr_decay); `initial_accumulator_value` is added to the sums.
    """

    kind: ClassVar[str] = "adagrad"
    lr: float = 1e-2
    lr_decay: float = 0.0
    weight_decay: float = 0.0
    initial_accumulator_value: float = 0.0
    eps: float = 1e-10

    def __post_init__(self) -> None:
        """Check the domains of the options."""
        nonnegative({"lr": self.lr, "lr_decay": self.lr_decay, "weight_decay": self.weight_decay, "eps": self.eps})
        nonnegative({"initial_accumulator_value": self.initial_accumulator_value})

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """The sum of squares, less what it starts from, and the step count."""
        return {"step": COUNT, "squares": parameter}

    def step(self, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Step by the gradient divided by the root of the sum."""
        gradient = decayed(gradient, parameter, self.weight_decay)
        step, count = counted(slots)
        squares = slots["squares"] + square(gradient)
        root = sqrt(squares + self.initial_accumulator_value) + self.eps
        rate = lr / (1.0 + (count - 1.0) * self.lr_decay)
        return parameter - (gradient / root) * rate, {"step": step, "squares": squares}


@dataclass(frozen=True, kw_only=True)
class RMSprop(MomentumTransform):
    """Steps divided by the root of the running mean of squares (Hinton 2012), semantics of torch.optim.RMSprop.

    With `centered` the variance of the gradient divides (Graves 2013); `momentum` adds steps up.
    """

    kind: ClassVar[str] = "rmsprop"
    lr: float = 1e-2
    alpha: float = 0.99
    eps: float = 1e-8
    weight_decay: float = 0.0
    momentum: float = 0.0
    centered: bool = False

    def __post_init__(self) -> None:
        """Check the domains of the options."""
        nonnegative({"lr": self.lr, "eps": self.eps, "weight_decay": self.weight_decay, "momentum": self.momentum})
        fraction({"alpha": self.alpha})

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """The mean of squares, with `centered` that of gradients, and with momentum its buffer."""
        slots = {"squares": parameter}
        if self.centered:
            slots["mean"] = parameter
        if self.momentum:
            slots["momentum"] = parameter
        return slots

    def step_by(self, momentum: Momentum, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Step by the gradient divided by its running size, or by the momentum of that."""
        gradient = decayed(gradient, parameter, self.weight_decay)
        squares = slots["squares"] * self.alpha + square(gradient) * (1.0 - self.alpha)
        changed, spread = {"squares": squares}, squares
        if self.centered:
            changed["mean"] = slots["mean"] * self.alpha + gradient * (1.0 - self.alpha)
            spread = maximum(squares - square(changed["mean"]), 0.0)  # rounding can make a variance of 0 negative
        direction = gradient / (sqrt(spread) + self.eps)
        if self.momentum:
            direction = changed["momentum"] = slots["momentum"] * momentum + direction
        return parameter - direction * lr, changed


@dataclass(frozen=True, kw_only=True)
class Adadelta(Transform):
    """Steps as long as recent steps were, against gradients as long as theirs (Zeiler 2012), as torch's Adadelta."""

    kind: ClassVar[str] = "adadelta"
    lr: float = 1.0
    rho: float = 0.9
    eps: float = 1e-6
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        """Check the domains of the options."""
        nonnegative({"lr": self.lr, "eps": self.eps, "weight_decay": self.weight_decay})
        fraction({"rho": self.rho})

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """Running means of the squares of gradients and of steps."""
        return {"squares": parameter, "steps": parameter}

    def step(self, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Step by the gradient times the ratio of both means' roots."""
        gradient = decayed(gradient, parameter, self.weight_decay)
        squares = slots["squares"] * self.rho + square(gradient) * (1.0 - self.rho)
        direction = sqrt(slots["steps"] + self.eps) / sqrt(squares + self.eps) * gradient
        steps = slots["steps"] * self.rho + square(direction) * (1.0 - self.rho)
        return parameter - direction * lr, {"squares": squares, "steps": steps}
