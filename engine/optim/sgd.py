"""Stochastic gradient descent, with momentum or averaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from engine.core.attributes import NonNegative, Rate
from engine.core.dtypes import FLOAT64
from engine.core.errors import AttributeValueError
from engine.core.value import Spec, Value
from engine.ops.elementwise.comparison import eq, where
from engine.ops.elementwise.elementwise import maximum, power
from engine.optim.fusion import MomentumLink, decay_link
from engine.optim.optimizer import PassResult, Transform
from engine.optim.transforms.link import COUNT, Advanced, Direction, Link, Slots, count_step


@dataclass(frozen=True, kw_only=True)
class SGD(Transform):
    """Stochastic gradient descent with momentum (Polyak 1964), semantics of torch.optim.SGD.

    The first step takes the gradient itself as momentum. Weight decay is added to the gradient, or with `decoupled`
    shrinks the parameter by 1 - lr * weight_decay before the step (Loshchilov and Hutter 2019).
    """

    kind: ClassVar[str] = "sgd"
    momentum_option: ClassVar[Literal["momentum", "betas"] | None] = "momentum"
    momentum: NonNegative = 0.0
    dampening: float = 0.0
    weight_decay: NonNegative = 0.0
    decoupled: bool = False
    nesterov: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nesterov and (self.momentum <= 0 or self.dampening != 0):
            raise AttributeValueError("nesterov needs momentum > 0 and dampening 0")

    def links(self, momentum: float) -> tuple[Link, ...]:
        decay = decay_link(self.weight_decay, decoupled=self.decoupled)
        if not self.momentum:
            return (decay,)
        return decay, MomentumLink(momentum=momentum, dampening=self.dampening, nesterov=self.nesterov)


@dataclass(frozen=True, kw_only=True)
class ASGD(Transform):
    """Averaged stochastic gradient descent (Polyak and Juditsky 1992), semantics of torch.optim.ASGD.

    The step size falls as lr / (1 + lambd * lr * t) ** alpha. The slot `average` holds the parameter, and from step t0
    on the mean of its values since then.
    """

    kind: ClassVar[str] = "asgd"
    lr: Rate = 1e-2
    lambd: NonNegative = 1e-4
    alpha: NonNegative = 0.75
    t0: NonNegative = 1e6
    weight_decay: NonNegative = 0.0

    def links(self, momentum: float) -> tuple[Link, ...]:
        return decay_link(self.weight_decay, decoupled=False), FallingRate(lambd=self.lambd, alpha=self.alpha)

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {**super().slots(parameter), "average": parameter}

    def compose(self, links: tuple[Link, ...], direction: Direction, slots: Slots) -> PassResult:
        """Step by the links, then average the parameter."""
        parameter, changed = super().compose(links, direction, slots)
        _, count = count_step(slots)
        weight = 1.0 / maximum(count - (1.0 + self.t0), 1.0)
        average = slots["average"] + (parameter - slots["average"]) * weight
        return parameter, {**changed, "average": average}


@dataclass(frozen=True, kw_only=True)
class FallingRate(Link):
    """A rate that falls as lr / (1 + lambd * lr * t) ** alpha; the parameter shrinks by 1 - rate * lambd."""

    lambd: float
    alpha: float

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {"step": COUNT, "size": Spec((), FLOAT64)}

    def advance(self, direction: Direction, slots: Slots) -> Advanced:
        step, count = count_step(slots)
        lr = direction.lr
        size: Value = where(eq(slots["step"], 0), lr, slots["size"])
        following = lr / power(1.0 + lr * count * self.lambd, self.alpha)
        shrunk = direction.parameter * (1.0 - size * self.lambd)
        return direction._replace(parameter=shrunk, rate=size), {"step": step, "size": following}
