"""Rprop and Lion: steps along the sign of a direction, whatever its length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from engine.core.errors import AttributeValueError
from engine.core.value import Spec, Value
from engine.ops.compare import eq, gt, lt, where
from engine.ops.elementwise import clamp, sign
from engine.optim.momentum import Momentum, MomentumTransform
from engine.optim.transform import COUNT, Slots, Stepped, Transform, fraction, nonnegative, shrunk


@dataclass(frozen=True, kw_only=True)
class Rprop(Transform):
    """Resilient backpropagation (Riedmiller and Braun 1993), semantics of torch.optim.Rprop; for whole-batch gradients.

    Each element has a step size, at first lr: it grows by etas[1] while the sign of the gradient stays, and shrinks by
    etas[0] where it changed, without a step then. `step_sizes` bounds it.
    """

    kind: ClassVar[str] = "rprop"
    lr: float = 1e-2
    etas: tuple[float, float] = (0.5, 1.2)
    step_sizes: tuple[float, float] = (1e-6, 50.0)

    def __post_init__(self) -> None:
        """Check the domains of the options."""
        nonnegative({"lr": self.lr})
        (shrink, grow), (low, high) = self.etas, self.step_sizes
        if not 0 < shrink < 1 < grow:
            raise AttributeValueError(f"etas must be 0 < etas[0] < 1 < etas[1], not {shrink} and {grow}")
        if not 0 <= low <= high:
            raise AttributeValueError(f"step_sizes must be 0 <= step_sizes[0] <= step_sizes[1], not {low} and {high}")

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """The gradient before, the step size of each element, and the step count."""
        return {"step": COUNT, "before": parameter, "size": parameter}

    def step(self, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Adapt the step sizes, and step where the sign of the gradient did not change."""
        agreement = gradient * slots["before"]
        turned = lt(agreement, 0)
        size = where(eq(slots["step"], 0), lr, slots["size"])
        size = where(gt(agreement, 0), size * self.etas[1], where(turned, size * self.etas[0], size))
        size = clamp(size, min=self.step_sizes[0], max=self.step_sizes[1])
        gradient = where(turned, 0.0, gradient)
        return parameter - sign(gradient) * size, {"step": slots["step"] + 1, "before": gradient, "size": size}


@dataclass(frozen=True, kw_only=True)
class Lion(MomentumTransform):
    """Evolved sign momentum (Chen et al. 2023), with decoupled weight decay.

    The step is the sign of betas[0] * m + (1 - betas[0]) * g, where m is the mean of gradients g that betas[1] keeps.
    """

    kind: ClassVar[str] = "lion"
    momentum_option: ClassVar[Literal["momentum", "betas"]] = "betas"
    lr: float = 1e-4
    betas: tuple[float, float] = (0.9, 0.99)
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        """Check the domains of the options."""
        nonnegative({"lr": self.lr, "weight_decay": self.weight_decay})
        fraction({"betas[0]": self.betas[0], "betas[1]": self.betas[1]})

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """The mean of gradients."""
        return {"moment1": parameter}

    def step_by(self, momentum: Momentum, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Step by the sign of the mixture."""
        ahead, kept = momentum, self.betas[1]
        moment1 = slots["moment1"]
        direction = sign(moment1 * ahead + gradient * (1.0 - ahead))
        return shrunk(parameter, lr, self.weight_decay) - direction * lr, {
            "moment1": moment1 * kept + gradient * (1.0 - kept)
        }
