"""Stochastic gradient descent, with momentum or averaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from engine.core.dtypes import FLOAT64
from engine.core.errors import AttributeValueError
from engine.core.value import Spec, Value
from engine.ops.compare import eq, where
from engine.ops.elementwise import maximum, power
from engine.ops.optimizer_updates import momentum_update, sgd_update
from engine.optim.momentum import Momentum, MomentumTransform, as_number
from engine.optim.transform import COUNT, Slots, Stepped, Transform, counted, decayed, nonnegative


@dataclass(frozen=True, kw_only=True)
class SGD(MomentumTransform):
    """Stochastic gradient descent with momentum (Polyak 1964), semantics of torch.optim.SGD.

    The first step takes the gradient itself as momentum. Weight decay is added to the gradient, or with `decoupled`
    shrinks the parameter by 1 - lr * weight_decay before the step (Loshchilov and Hutter 2019).
    """

    kind: ClassVar[str] = "sgd"
    momentum: float = 0.0
    dampening: float = 0.0
    weight_decay: float = 0.0
    decoupled: bool = False
    nesterov: bool = False

    def __post_init__(self) -> None:
        """Check the domains of the options."""
        nonnegative({"lr": self.lr, "momentum": self.momentum, "weight_decay": self.weight_decay})
        if self.nesterov and (self.momentum <= 0 or self.dampening != 0):
            raise AttributeValueError("nesterov needs momentum > 0 and dampening 0")

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """The momentum buffer and the step count, when there is momentum."""
        return {"step": COUNT, "momentum": parameter} if self.momentum else {}

    def step_by(self, momentum: Momentum, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Step against the gradient or the momentum."""
        decay: dict[str, Any] = {"weight_decay": self.weight_decay, "decoupled": self.decoupled}
        if not self.momentum:
            return sgd_update(gradient, parameter, lr, **decay), {}
        step, share = slots["step"], as_number(1.0)
        if self.dampening:
            share = where(eq(step, 0), share, as_number(1.0 - self.dampening))
        parameter, kept = momentum_update(
            gradient,
            parameter,
            slots["momentum"],
            as_number(momentum),
            share,
            lr,
            nesterov=self.nesterov,
            **decay,
        )
        return parameter, {"step": step + 1, "momentum": kept}


@dataclass(frozen=True, kw_only=True)
class ASGD(Transform):
    """Averaged stochastic gradient descent (Polyak and Juditsky 1992), semantics of torch.optim.ASGD.

    The step size falls as lr / (1 + lambd * lr * t) ** alpha. The slot `average` holds the parameter, and from step t0
    on the mean of its values since then.
    """

    kind: ClassVar[str] = "asgd"
    lr: float = 1e-2
    lambd: float = 1e-4
    alpha: float = 0.75
    t0: float = 1e6
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        """Check the domains of the options."""
        nonnegative(
            {"lr": self.lr, "lambd": self.lambd, "alpha": self.alpha, "t0": self.t0, "weight_decay": self.weight_decay}
        )

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """The step count, the size of the next step, and the average."""
        return {"step": COUNT, "size": Spec((), FLOAT64), "average": parameter}

    def step(self, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Decay, step against the gradient, and average."""
        gradient = decayed(gradient, parameter, self.weight_decay)
        step, count = counted(slots)
        size = where(eq(slots["step"], 0), lr, slots["size"])
        parameter = parameter * (1.0 - size * self.lambd) - gradient * size
        weight = 1.0 / maximum(count - (1.0 + self.t0), 1.0)
        average = slots["average"] + (parameter - slots["average"]) * weight
        following = lr / power(1.0 + lr * count * self.lambd, self.alpha)
        return parameter, {"step": step, "size": following, "average": average}
