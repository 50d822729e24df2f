"""The rewrite of chains into the ops that compute a whole step, which read and write every vector once.

The links define the arithmetic; a fused op gives the same numbers, up to the rounding of its scalar factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.core.value import Spec, Value, tensor
from engine.ops.elementwise.comparison import eq, where
from engine.ops.elementwise.elementwise import maximum, square
from engine.ops.optimizer.lazy import lazy_adam_update, lazy_direction, touched
from engine.ops.optimizer.updates import (
    Number,
    adam_direction,
    adam_rates,
    adam_update,
    bias_correction,
    momentum_update,
    running_mean,
    sgd_update,
)
from engine.optim.transforms.link import COUNT, Advanced, Direction, Link, ShrinkParameter, Slots, count_step
from engine.optim.transforms.scaling import AddDecayedWeights

PassResult = tuple[Value, dict[str, Value]]


def decay_link(weight_decay: float, *, decoupled: bool) -> Link:
    """Return the link of weight decay: decoupled, it shrinks the parameter, else it is added to the gradient."""
    return ShrinkParameter(weight_decay=weight_decay) if decoupled else AddDecayedWeights(weight_decay=weight_decay)


@dataclass(frozen=True, kw_only=True)
class AdamLink(Link):
    """Adam (Kingma and Ba 2015) as PyTorch rounds it: the bias corrections are factors of the rate and of the root.

    With `amsgrad` the largest second moment so far divides (Reddi et al. 2018).
    """

    beta1: float
    beta2: float
    eps: float
    amsgrad: bool = False

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        largest = {"largest": parameter} if self.amsgrad else {}
        return {"step": COUNT, "moment1": parameter, "moment2": parameter, **largest}

    def advance(self, direction: Direction, slots: Slots) -> Advanced:
        step, count = count_step(slots)
        moment1 = running_mean(slots["moment1"], direction.update, self.beta1)
        moment2 = running_mean(slots["moment2"], square(direction.update), self.beta2)
        changed = {"step": step, "moment1": moment1, "moment2": moment2}
        if self.amsgrad:
            moment2 = changed["largest"] = maximum(slots["largest"], moment2)
        rate, scale = bias_correction(count, direction.lr, self.beta1, self.beta2)
        return direction._replace(update=adam_direction(moment1, moment2, scale, self.eps), rate=rate), changed


@dataclass(frozen=True, kw_only=True)
class LazyAdamLink(AdamLink):
    """Adam on the rows that have a gradient, as torch.optim.SparseAdam: the others keep parameter and moments."""

    @property
    def elementwise(self) -> bool:
        return False

    @property
    def by_rows(self) -> bool:
        return True

    def advance(self, direction: Direction, slots: Slots) -> Advanced:
        step, count = count_step(slots)
        found = touched(direction.update, direction.layout)
        moment1 = where(found, running_mean(slots["moment1"], direction.update, self.beta1), slots["moment1"])
        moment2 = where(found, running_mean(slots["moment2"], square(direction.update), self.beta2), slots["moment2"])
        update = where(found, lazy_direction(moment1, moment2, self.eps), 0.0)
        rate, scale = bias_correction(count, direction.lr, self.beta1, self.beta2)
        changed = {"step": step, "moment1": moment1, "moment2": moment2}
        return direction._replace(update=update, rate=rate / scale), changed


@dataclass(frozen=True, kw_only=True)
class MomentumLink(Link):
    """Momentum (Polyak 1964) as PyTorch has it: all gradients but the first enter the buffer times 1 - dampening."""

    momentum: float
    dampening: float = 0.0
    nesterov: bool = False

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {"step": COUNT, "momentum": parameter}

    def share(self, step: Value) -> Value:
        """Return the share of the gradient that enters the buffer."""
        share = _number(1.0)
        return where(eq(step, 0), share, _number(1.0 - self.dampening)) if self.dampening else share

    def advance(self, direction: Direction, slots: Slots) -> Advanced:
        gradient = direction.update
        buffer = slots["momentum"] * self.momentum + gradient * self.share(slots["step"])
        update = gradient + buffer * self.momentum if self.nesterov else buffer
        return direction._replace(update=update), {"step": slots["step"] + 1, "momentum": buffer}


def fused_step(links: tuple[Link, ...], direction: Direction, slots: Slots) -> PassResult | None:
    """Return the parameter and the slots after a step by one op, or None if no op computes these links."""
    match links:
        case (ShrinkParameter() | AddDecayedWeights(min_ndim=0) as decay,):
            return sgd_update(direction.update, direction.parameter, direction.lr, **_decay(decay)), {}
        case (ShrinkParameter() | AddDecayedWeights(min_ndim=0) as decay, MomentumLink() as link):
            return _fused_momentum(link, direction, slots, _decay(decay))
        case (ShrinkParameter() | AddDecayedWeights(min_ndim=0) as decay, AdamLink(amsgrad=False) as link):
            return _fused_adam(link, direction, slots, _decay(decay))
        case (LazyAdamLink() as link,):
            return _fused_lazy_adam(link, direction, slots)
        case _:
            return None


def _decay(link: ShrinkParameter | AddDecayedWeights) -> dict[str, Any]:
    return {"weight_decay": link.weight_decay, "decoupled": isinstance(link, ShrinkParameter)}


def _fused_momentum(link: MomentumLink, direction: Direction, slots: Slots, decay: dict[str, Any]) -> PassResult:
    step, lr = slots["step"], direction.lr
    parameter, buffer = momentum_update(
        direction.update,
        direction.parameter,
        slots["momentum"],
        _number(link.momentum),
        link.share(step),
        lr,
        nesterov=link.nesterov,
        **decay,
    )
    return parameter, {"step": step + 1, "momentum": buffer}


def _fused_adam(link: AdamLink, direction: Direction, slots: Slots, decay: dict[str, Any]) -> PassResult:
    step, beta1, lr = slots["step"] + 1, _number(link.beta1), direction.lr
    rate, scale = adam_rates(step, lr, beta1, beta2=link.beta2)
    parameter, moment1, moment2 = adam_update(
        direction.update,
        direction.parameter,
        slots["moment1"],
        slots["moment2"],
        beta1,
        lr,
        rate,
        scale,
        beta2=link.beta2,
        eps=link.eps,
        **decay,
    )
    return parameter, {"step": step, "moment1": moment1, "moment2": moment2}


def _fused_lazy_adam(link: LazyAdamLink, direction: Direction, slots: Slots) -> PassResult:
    step, beta1 = slots["step"] + 1, _number(link.beta1)
    rate, scale = adam_rates(step, direction.lr, beta1, beta2=link.beta2)
    parameter, moment1, moment2 = lazy_adam_update(
        direction.update,
        direction.parameter,
        slots["moment1"],
        slots["moment2"],
        beta1,
        rate,
        scale,
        beta2=link.beta2,
        eps=link.eps,
        **direction.layout._asdict(),
    )
    return parameter, {"step": step, "moment1": moment1, "moment2": moment2}


def _number(number: Number) -> Value:
    """Return a number of the optimizer's own as a float64 without axes, as one that is fed is."""
    return number if isinstance(number, Value) else tensor(np.array(float(number)))
