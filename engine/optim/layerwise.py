"""LARS and LAMB: each parameter's step is as long as the parameter itself is large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engine.core.value import Spec, Value
from engine.ops.compare import gt, where
from engine.ops.elementwise import minimum, power, sqrt, square
from engine.ops.reduce import sum
from engine.optim.adam import Moments
from engine.optim.momentum import Momentum, MomentumTransform
from engine.optim.transform import Slots, Stepped, counted, decayed, nonnegative


@dataclass(frozen=True, kw_only=True)
class LARS(MomentumTransform):
    """Momentum with a rate for each parameter (You, Gitman and Ginsburg 2017), for large batches.

    The rate is lr * trust_coefficient * |p| / (|g| + weight_decay * |p|) for a parameter p with gradient g, and lr
    where one of both is 0; weight decay is added to the gradient, and the rate is part of the momentum.
    """

    kind: ClassVar[str] = "lars"
    elementwise: ClassVar[bool] = False
    momentum: float = 0.9
    weight_decay: float = 1e-4
    trust_coefficient: float = 1e-3

    def __post_init__(self) -> None:
        """Check the domains of the options."""
        nonnegative({"lr": self.lr, "momentum": self.momentum, "weight_decay": self.weight_decay})
        nonnegative({"trust_coefficient": self.trust_coefficient})

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """The momentum buffer, when there is momentum."""
        return {"momentum": parameter} if self.momentum else {}

    def step_by(self, momentum: Momentum, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Step by the momentum of gradients times rates."""
        size, slope = _length(parameter), _length(gradient)
        rate = lr * _ratio(size * self.trust_coefficient, slope + size * self.weight_decay, minimum(size, slope))
        direction = decayed(gradient, parameter, self.weight_decay) * rate
        if not self.momentum:
            return parameter - direction, {}
        kept = slots["momentum"] * momentum + direction
        return parameter - kept, {"momentum": kept}


@dataclass(frozen=True, kw_only=True)
class LAMB(Moments):
    """Adam with a rate for each parameter (You et al. 2020), for large batches.

    With the bias-corrected direction u of Adam, to which weight_decay * p is added, the rate is lr * |p| / |u|, and lr
    where one of both is 0.
    """

    kind: ClassVar[str] = "lamb"
    elementwise: ClassVar[bool] = False
    eps: float = 1e-6

    def step_by(self, momentum: Momentum, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Step by Adam's direction at the length of the parameter."""
        beta1, beta2 = momentum, self.betas[1]
        step, count = counted(slots)
        moment1, moment2 = self.moments(gradient, slots, beta1)
        root = sqrt(moment2 / (1.0 - power(beta2, count))) + self.eps
        direction = decayed(moment1 / (1.0 - power(beta1, count)) / root, parameter, self.weight_decay)
        size, length = _length(parameter), _length(direction)
        rate = lr * _ratio(size, length, minimum(size, length))
        return parameter - direction * rate, {"step": step, "moment1": moment1, "moment2": moment2}


def _length(x: Value) -> Value:
    return sqrt(sum(square(x)))


def _ratio(a: Value, b: Value, smaller: Value) -> Value:
    """Return a / b, or 1 where `smaller` is 0."""
    known = gt(smaller, 0)
    return where(known, a / where(known, b, 1.0), 1.0)
