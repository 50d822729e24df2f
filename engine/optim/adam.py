"""Adam and its relatives: steps along a running mean of gradients, divided by their running size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from engine.core.attributes import NonNegative, Range, Rate
from engine.core.dtypes import FLOAT64
from engine.core.errors import AttributeValueError
from engine.core.value import Spec, Value
from engine.ops.elementwise.comparison import eq, gt, where
from engine.ops.elementwise.elementwise import abs, maximum, power, sqrt
from engine.ops.optimizer.updates import running_mean
from engine.optim.fusion import AdamLink, LazyAdamLink, decay_link
from engine.optim.optimizer import Transform
from engine.optim.transforms.adam import TwoMoments, longest_average, rectification
from engine.optim.transforms.link import COUNT, Advanced, Direction, Link, Slots, correct_bias, count_step

MOMENTUM_BASE = 0.96
"""Base of the growth of NAdam's momentum (Dozat 2016)."""

SHORTEST_RECTIFIED = 5.0
"""Length of the average from which RAdam divides; the paper has 4, its code and torch 5."""


@dataclass(frozen=True, kw_only=True)
class Moments(Transform):
    """An optimizer with running means of the gradient and of its square."""

    momentum_option: ClassVar[Literal["momentum", "betas"] | None] = "betas"
    betas: Annotated[tuple[float, float], Range(0, 1, below=True)] = (0.9, 0.999)
    eps: NonNegative = 1e-8
    weight_decay: NonNegative = 0.0


@dataclass(frozen=True, kw_only=True)
class Adam(Moments):
    """Adam (Kingma and Ba 2015), semantics of torch.optim.Adam: weight decay is added to the gradient.

    With `amsgrad` the largest second moment so far divides (Reddi et al. 2018). With `lazy`, for embedding tables, the
    rows (along the first axis) whose gradient is 0 in all elements keep their values and moments, and the others are
    stepped as by torch.optim.SparseAdam and TensorFlow's LazyAdam; `eps` is added before the bias is corrected. It
    takes neither `amsgrad` nor `weight_decay`, which concern all rows; so do noise on gradients and penalties in the
    loss, which give every row a gradient.
    """

    kind: ClassVar[str] = "adam"
    decoupled: ClassVar[bool] = False
    amsgrad: bool = False
    lazy: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lazy and (self.amsgrad or self.weight_decay):
            other = "amsgrad" if self.amsgrad else f"weight_decay {self.weight_decay:g}"
            detail = f"{self.kind} cannot be lazy with {other}, which changes rows without a gradient"
            raise AttributeValueError(f"{detail}; leave one of both out", "lazy")

    def links(self, momentum: float) -> tuple[Link, ...]:
        if self.lazy:
            return (LazyAdamLink(beta1=momentum, beta2=self.betas[1], eps=self.eps),)
        adam = AdamLink(beta1=momentum, beta2=self.betas[1], eps=self.eps, amsgrad=self.amsgrad)
        return decay_link(self.weight_decay, decoupled=self.decoupled), adam


@dataclass(frozen=True, kw_only=True)
class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019), semantics of torch.optim.AdamW."""

    kind: ClassVar[str] = "adamw"
    decoupled: ClassVar[bool] = True
    weight_decay: NonNegative = 0.01


@dataclass(frozen=True, kw_only=True)
class Adamax(Moments):
    """Adam by the largest gradient in place of the second moment (Kingma and Ba 2015, section 7.1), as torch's."""

    kind: ClassVar[str] = "adamax"
    lr: Rate = 2e-3

    def links(self, momentum: float) -> tuple[Link, ...]:
        adamax = AdamaxLink(beta1=momentum, beta2=self.betas[1], eps=self.eps)
        return decay_link(self.weight_decay, decoupled=False), adamax


@dataclass(frozen=True, kw_only=True)
class AdamaxLink(Link):
    """The first moment over the decaying maximum; the bias correction is a factor of the rate."""

    beta1: float
    beta2: float
    eps: float

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {"step": COUNT, "moment1": parameter, "largest": parameter}

    def advance(self, direction: Direction, slots: Slots) -> Advanced:
        step, count = count_step(slots)
        moment1 = running_mean(slots["moment1"], direction.update, self.beta1)
        largest = maximum(slots["largest"] * self.beta2, abs(direction.update) + self.eps)
        rate = direction.lr / (1.0 - power(self.beta1, count))
        changed = {"step": step, "moment1": moment1, "largest": largest}
        return direction._replace(update=moment1 / largest, rate=rate), changed


@dataclass(frozen=True, kw_only=True)
class NAdam(Moments):
    """Adam with Nesterov momentum (Dozat 2016), semantics of torch.optim.NAdam.

    The momentum of step t is beta1 * (1 - 0.96 ** (t * momentum_decay) / 2). Weight decay is added to the gradient, or
    with `decoupled` shrinks the parameter.
    """

    kind: ClassVar[str] = "nadam"
    lr: Rate = 2e-3
    momentum_decay: NonNegative = 4e-3
    decoupled: bool = False

    def links(self, momentum: float) -> tuple[Link, ...]:
        nadam = NAdamLink(b1=momentum, b2=self.betas[1], eps=self.eps, momentum_decay=self.momentum_decay)
        return decay_link(self.weight_decay, decoupled=self.decoupled), nadam


@dataclass(frozen=True, kw_only=True)
class NAdamLink(TwoMoments):
    """The gradient and the first moment as the next step will weight it, over the root of the second moment."""

    momentum_decay: float

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {**super().slots(parameter), "product": Spec((), FLOAT64)}

    def advance(self, direction: Direction, slots: Slots) -> Advanced:
        gradient = direction.update
        moments = self.moments(gradient, slots)
        now, following = (self._momentum_at(count) for count in (moments.steps, moments.steps + 1.0))
        product = where(eq(slots["step"], 0), 1.0, slots["product"]) * now
        root = sqrt(correct_bias(moments.second, self.b2, moments.steps)) + self.eps
        ahead = gradient * ((1.0 - now) / (1.0 - product))
        ahead = ahead + moments.first * (following / (1.0 - product * following))
        return direction._replace(update=ahead / root), {**moments.slots, "product": product}

    def _momentum_at(self, count: Value) -> Value:
        return (1.0 - power(MOMENTUM_BASE, count * self.momentum_decay) * 0.5) * self.b1


@dataclass(frozen=True, kw_only=True)
class RAdam(Moments):
    """Adam whose first steps do not divide, and later ones are rectified (Liu et al. 2020), as torch.optim.RAdam.

    Weight decay is added to the gradient, or with `decoupled` shrinks the parameter.
    """

    kind: ClassVar[str] = "radam"
    decoupled: bool = False

    def links(self, momentum: float) -> tuple[Link, ...]:
        radam = RAdamLink(b1=momentum, b2=self.betas[1], eps=self.eps)
        return decay_link(self.weight_decay, decoupled=self.decoupled), radam


@dataclass(frozen=True, kw_only=True)
class RAdamLink(TwoMoments):
    """The first moment, divided by the root of the second where that is an average of enough gradients."""

    def advance(self, direction: Direction, slots: Slots) -> Advanced:
        moments = self.moments(direction.update, slots)
        ahead = correct_bias(moments.first, self.b1, moments.steps)
        longest = longest_average(self.b2)
        if longest > SHORTEST_RECTIFIED:  # else the average never grows long enough
            length, factor, left = rectification(self.b2, moments.steps, longest)
            divided = ahead * (factor * sqrt(left) / (sqrt(moments.second) + self.eps))
            ahead = where(gt(length, SHORTEST_RECTIFIED), divided, ahead)
        return direction._replace(update=ahead), moments.slots
