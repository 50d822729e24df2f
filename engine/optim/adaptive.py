"""Adagrad, RMSprop, Adadelta, Rprop and Lion: steps whose size does not follow that of the gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from engine.core.attributes import Fraction, NonNegative, Range, Rate
from engine.core.errors import AttributeValueError
from engine.core.value import Spec, Value
from engine.ops.elementwise.comparison import eq, gt, lt, where
from engine.ops.elementwise.elementwise import clamp, maximum, sign, sqrt, square
from engine.ops.optimizer.updates import running_mean
from engine.optim.fusion import decay_link
from engine.optim.optimizer import Transform
from engine.optim.transforms.link import COUNT, Advanced, Direction, Link, Slots, count_step
from engine.optim.transforms.momentum import MomentumBuffer
from engine.optim.transforms.scaling import ScaleByLion


@dataclass(frozen=True, kw_only=True)
class Adagrad(Transform):
    """Steps divided by the root of the sum of all squares (Duchi et al. 2011), semantics of torch.optim.Adagrad.

    The rate of step t is lr / (1 + (t - 1) * lr_decay); `initial_accumulator_value` is added to the sums.
    """

    kind: ClassVar[str] = "adagrad"
    lr: Rate = 1e-2
    lr_decay: Rate = 0.0
    weight_decay: NonNegative = 0.0
    initial_accumulator_value: NonNegative = 0.0
    eps: NonNegative = 1e-10

    def links(self, momentum: float) -> tuple[Link, ...]:
        return decay_link(self.weight_decay, decoupled=False), AdagradLink(options=self)


@dataclass(frozen=True, kw_only=True)
class AdagradLink(Link):
    """The gradient over the root of the sum of squares, at a rate that falls."""

    options: Adagrad

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {"step": COUNT, "squares": parameter}

    def advance(self, direction: Direction, slots: Slots) -> Advanced:
        step, count = count_step(slots)
        squares = slots["squares"] + square(direction.update)
        root = sqrt(squares + self.options.initial_accumulator_value) + self.options.eps
        rate = direction.lr / (1.0 + (count - 1.0) * self.options.lr_decay)
        return direction._replace(update=direction.update / root, rate=rate), {"step": step, "squares": squares}


@dataclass(frozen=True, kw_only=True)
class RMSprop(Transform):
    """Steps divided by the root of the running mean of squares (Hinton 2012), semantics of torch.optim.RMSprop.

    With `centered` the variance of the gradient divides (Graves 2013); `momentum` adds steps up.
    """

    kind: ClassVar[str] = "rmsprop"
    momentum_option: ClassVar[Literal["momentum", "betas"] | None] = "momentum"
    lr: Rate = 1e-2
    alpha: Fraction = 0.99
    eps: NonNegative = 1e-8
    weight_decay: NonNegative = 0.0
    momentum: NonNegative = 0.0
    centered: bool = False

    def links(self, momentum: float) -> tuple[Link, ...]:
        decay, rmsprop = decay_link(self.weight_decay, decoupled=False), RMSpropLink(options=self)
        return (decay, rmsprop, MomentumBuffer(decay=momentum)) if self.momentum else (decay, rmsprop)


@dataclass(frozen=True, kw_only=True)
class RMSpropLink(Link):
    """The gradient over the root of the running mean of squares, or of the running variance."""

    options: RMSprop

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {"squares": parameter, **({"mean": parameter} if self.options.centered else {})}

    def advance(self, direction: Direction, slots: Slots) -> Advanced:
        squares = running_mean(slots["squares"], square(direction.update), self.options.alpha)
        changed, spread = {"squares": squares}, squares
        if self.options.centered:
            changed["mean"] = running_mean(slots["mean"], direction.update, self.options.alpha)
            spread = maximum(squares - square(changed["mean"]), 0.0)  # rounding can make a variance of 0 negative
        return direction._replace(update=direction.update / (sqrt(spread) + self.options.eps)), changed


@dataclass(frozen=True, kw_only=True)
class Adadelta(Transform):
    """Steps as long as recent steps were, against gradients as long as theirs (Zeiler 2012), as torch's Adadelta."""

    kind: ClassVar[str] = "adadelta"
    lr: Rate = 1.0
    rho: Fraction = 0.9
    eps: NonNegative = 1e-6
    weight_decay: NonNegative = 0.0

    def links(self, momentum: float) -> tuple[Link, ...]:
        return decay_link(self.weight_decay, decoupled=False), AdadeltaLink(options=self)


@dataclass(frozen=True, kw_only=True)
class AdadeltaLink(Link):
    """The gradient times the root of the mean square of steps, over that of gradients."""

    options: Adadelta

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {"squares": parameter, "steps": parameter}

    def advance(self, direction: Direction, slots: Slots) -> Advanced:
        rho, eps = self.options.rho, self.options.eps
        squares = running_mean(slots["squares"], square(direction.update), rho)
        update = sqrt(slots["steps"] + eps) / sqrt(squares + eps) * direction.update
        steps = running_mean(slots["steps"], square(update), rho)
        return direction._replace(update=update), {"squares": squares, "steps": steps}


@dataclass(frozen=True, kw_only=True)
class Rprop(Transform):
    """Resilient backpropagation (Riedmiller and Braun 1993), semantics of torch.optim.Rprop; for whole-batch gradients.

    Each element has a step size, at first lr: it grows by etas[1] while the sign of the gradient stays, and shrinks by
    etas[0] where it changed, without a step then. `step_sizes` bounds it.
    """

    kind: ClassVar[str] = "rprop"
    lr: Rate = 1e-2
    etas: Annotated[tuple[float, float], Range(0, above=True)] = (0.5, 1.2)
    step_sizes: Annotated[tuple[float, float], Range(0)] = (1e-6, 50.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        (shrink, grow), (low, high) = self.etas, self.step_sizes
        if not shrink < 1 < grow:
            raise AttributeValueError(f"etas must be 0 < etas[0] < 1 < etas[1], not {shrink} and {grow}")
        if low > high:
            raise AttributeValueError(f"step_sizes must be 0 <= step_sizes[0] <= step_sizes[1], not {low} and {high}")

    def links(self, momentum: float) -> tuple[Link, ...]:
        return (RpropLink(etas=self.etas, step_sizes=self.step_sizes),)


@dataclass(frozen=True, kw_only=True)
class RpropLink(Link):
    """The sign of each gradient times the step size of its element."""

    etas: tuple[float, float]
    step_sizes: tuple[float, float]

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {"step": COUNT, "before": parameter, "size": parameter}

    def advance(self, direction: Direction, slots: Slots) -> Advanced:
        agreement = direction.update * slots["before"]
        turned = lt(agreement, 0)
        size: Value = where(eq(slots["step"], 0), direction.lr, slots["size"])
        size = where(gt(agreement, 0), size * self.etas[1], where(turned, size * self.etas[0], size))
        size = clamp(size, min=self.step_sizes[0], max=self.step_sizes[1])
        gradient = where(turned, 0.0, direction.update)
        changed = {"step": slots["step"] + 1, "before": gradient, "size": size}
        return direction._replace(update=sign(gradient) * size, rate=None), changed


@dataclass(frozen=True, kw_only=True)
class Lion(Transform):
    """Evolved sign momentum (Chen et al. 2023), with decoupled weight decay.

    The step is the sign of betas[0] * m + (1 - betas[0]) * g, where m is the running mean of gradients g with decay
    betas[1].
    """

    kind: ClassVar[str] = "lion"
    momentum_option: ClassVar[Literal["momentum", "betas"] | None] = "betas"
    lr: Rate = 1e-4
    betas: Annotated[tuple[float, float], Range(0, 1, below=True)] = (0.9, 0.99)
    weight_decay: NonNegative = 0.0

    def links(self, momentum: float) -> tuple[Link, ...]:
        return ScaleByLion(b1=momentum, b2=self.betas[1]), decay_link(self.weight_decay, decoupled=True)
