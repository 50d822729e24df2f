"""Adam and its kin: steps along a running mean of gradients, divided by their running size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from engine.core.dtypes import FLOAT64
from engine.core.value import Spec, Value
from engine.ops.compare import eq, gt, where
from engine.ops.elementwise import abs, maximum, power, sqrt, square
from engine.ops.optimizer_updates import adam_rates, adam_update
from engine.optim.momentum import Momentum, MomentumTransform, as_number
from engine.optim.transform import COUNT, Slots, Stepped, counted, decayed, fraction, nonnegative, shrunk

MOMENTUM_BASE = 0.96
"""What the momentum of NAdam grows by, from Dozat 2016."""

SHORTEST_RECTIFIED = 5.0
"""Length of the average from which RAdam divides; the paper has 4, its code and torch 5."""


@dataclass(frozen=True, kw_only=True)
class Moments(MomentumTransform):
    """An optimizer with running means of the gradient and of its square."""

    momentum_option: ClassVar[Literal["momentum", "betas"]] = "betas"
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        """Check the domains of the options."""
        nonnegative({"lr": self.lr, "eps": self.eps, "weight_decay": self.weight_decay})
        fraction({"betas[0]": self.betas[0], "betas[1]": self.betas[1]})

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """First and second moments, and the step count."""
        return {"step": COUNT, "moment1": parameter, "moment2": parameter}

    def moments(self, gradient: Value, slots: Slots, beta1: Momentum) -> tuple[Value, Value]:
        """Return both moments with a gradient added."""
        beta2 = self.betas[1]
        return (
            slots["moment1"] * beta1 + gradient * (1.0 - beta1),
            slots["moment2"] * beta2 + square(gradient) * (1.0 - beta2),
        )


@dataclass(frozen=True, kw_only=True)
class Adam(Moments):
    """Adam (Kingma and Ba 2015), semantics of torch.optim.Adam: weight decay is added to the gradient.

    With `amsgrad` the largest second moment so far divides (Reddi et al. 2018).
    """

    kind: ClassVar[str] = "adam"
    decoupled: ClassVar[bool] = False
    amsgrad: bool = False

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """First and second moments, the step count, and with `amsgrad` the largest second moment."""
        return {**super().slots(parameter), **({"largest": parameter} if self.amsgrad else {})}

    def step_by(self, momentum: Momentum, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Step by the bias-corrected ratio of the moments."""
        if not self.amsgrad:
            return self._step_at_once(momentum, gradient, parameter, slots, lr)
        if self.decoupled:
            parameter = shrunk(parameter, lr, self.weight_decay)
        else:
            gradient = decayed(gradient, parameter, self.weight_decay)
        beta1, beta2 = momentum, self.betas[1]
        step, count = counted(slots)
        moment1, moment2 = self.moments(gradient, slots, beta1)
        changed = {"step": step, "moment1": moment1, "moment2": moment2}
        largest = changed["largest"] = maximum(slots["largest"], moment2)
        root = sqrt(largest) * (1.0 / sqrt(1.0 - power(beta2, count))) + self.eps
        return parameter - (moment1 / root) * (lr / (1.0 - power(beta1, count))), changed

    def _step_at_once(self, momentum: Momentum, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Step in one pass over the vectors."""
        beta1, beta2 = as_number(momentum), self.betas[1]
        step = slots["step"] + 1
        rate, scale = adam_rates(step, lr, beta1, beta2=beta2)
        parameter, moment1, moment2 = adam_update(
            gradient,
            parameter,
            slots["moment1"],
            slots["moment2"],
            beta1,
            lr,
            rate,
            scale,
            beta2=beta2,
            eps=self.eps,
            weight_decay=self.weight_decay,
            decoupled=self.decoupled,
        )
        return parameter, {"step": step, "moment1": moment1, "moment2": moment2}


@dataclass(frozen=True, kw_only=True)
class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019), semantics of torch.optim.AdamW."""

    kind: ClassVar[str] = "adamw"
    decoupled: ClassVar[bool] = True
    weight_decay: float = 0.01


@dataclass(frozen=True, kw_only=True)
class Adamax(Moments):
    """Adam by the largest gradient in place of the second moment (Kingma and Ba 2015, section 7.1), as torch's."""

    kind: ClassVar[str] = "adamax"
    lr: float = 2e-3

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """The first moment, the decaying maximum and the step count."""
        return {"step": COUNT, "moment1": parameter, "largest": parameter}

    def step_by(self, momentum: Momentum, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Step by the ratio of the first moment to the maximum."""
        gradient = decayed(gradient, parameter, self.weight_decay)
        beta1, beta2 = momentum, self.betas[1]
        step, count = counted(slots)
        moment1 = slots["moment1"] * beta1 + gradient * (1.0 - beta1)
        largest = maximum(slots["largest"] * beta2, abs(gradient) + self.eps)
        parameter = parameter - (moment1 / largest) * (lr / (1.0 - power(beta1, count)))
        return parameter, {"step": step, "moment1": moment1, "largest": largest}


@dataclass(frozen=True, kw_only=True)
class NAdam(Moments):
    """Adam with Nesterov momentum (Dozat 2016), semantics of torch.optim.NAdam.

    The momentum of step t is beta1 * (1 - 0.96 ** (t * momentum_decay) / 2). Weight decay is added to the gradient, or
    with `decoupled` shrinks the parameter.
    """

    kind: ClassVar[str] = "nadam"
    lr: float = 2e-3
    momentum_decay: float = 4e-3
    decoupled: bool = False

    def __post_init__(self) -> None:
        """Check the domains of the options."""
        super().__post_init__()
        nonnegative({"momentum_decay": self.momentum_decay})

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """Both moments, the step count, and the product of the momenta so far."""
        return {**super().slots(parameter), "product": Spec((), FLOAT64)}

    def step_by(self, momentum: Momentum, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Step by the gradient and by the first moment as it will be weighted in the next step."""
        if self.decoupled:
            parameter = shrunk(parameter, lr, self.weight_decay)
        else:
            gradient = decayed(gradient, parameter, self.weight_decay)
        step, count = counted(slots)
        present, following = (self._warmed(at) * momentum for at in (count, count + 1.0))
        product = where(eq(slots["step"], 0), 1.0, slots["product"]) * present
        moment1, moment2 = self.moments(gradient, slots, momentum)
        root = sqrt(moment2 / (1.0 - power(self.betas[1], count))) + self.eps
        ahead = gradient * ((1.0 - present) / (1.0 - product)) + moment1 * (following / (1.0 - product * following))
        return parameter - (ahead / root) * lr, {
            "step": step, "moment1": moment1, "moment2": moment2, "product": product,
        }  # fmt: skip

    def _warmed(self, count: Value) -> Value:
        """Return what share of the momentum counts in a step."""
        return 1.0 - power(MOMENTUM_BASE, count * self.momentum_decay) * 0.5


@dataclass(frozen=True, kw_only=True)
class RAdam(Moments):
    """Adam whose first steps do not divide, and later ones are rectified (Liu et al. 2020), as torch.optim.RAdam.

    Weight decay is added to the gradient, or with `decoupled` shrinks the parameter.
    """

    kind: ClassVar[str] = "radam"
    decoupled: bool = False

    def step_by(self, momentum: Momentum, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Step by the first moment, divided by the root of the second once that is an average of enough gradients."""
        if self.decoupled:
            parameter = shrunk(parameter, lr, self.weight_decay)
        else:
            gradient = decayed(gradient, parameter, self.weight_decay)
        beta1, beta2 = momentum, self.betas[1]
        step, count = counted(slots)
        moment1, moment2 = self.moments(gradient, slots, beta1)
        direction = moment1 / (1.0 - power(beta1, count))
        longest = 2.0 / (1.0 - beta2) - 1.0
        if longest > SHORTEST_RECTIFIED:  # else the average never grows long enough
            left = 1.0 - power(beta2, count)
            length = longest - count * 2.0 * power(beta2, count) / left
            rectified = maximum((length - 4.0) * (length - 2.0), 0.0) * longest / length
            factor = sqrt(rectified * (1.0 / ((longest - 4.0) * (longest - 2.0)))) * sqrt(left)
            divided = direction * (factor / (sqrt(moment2) + self.eps))
            direction = where(gt(length, SHORTEST_RECTIFIED), divided, direction)
        return parameter - direction * lr, {"step": step, "moment1": moment1, "moment2": moment2}
