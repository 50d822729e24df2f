"""Transforms by the norm of a parameter, of its update or of its units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engine.core.value import Spec, Value
from engine.ops.elementwise.comparison import eq, gt, where
from engine.ops.elementwise.elementwise import maximum, minimum, sqrt, square
from engine.ops.optimizer.updates import running_mean
from engine.ops.reduce.reduce import mean, sum
from engine.optim.transforms.link import (
    COUNT,
    Applied,
    Epsilon,
    Fraction,
    Positive,
    Slots,
    WholeTransform,
    count_step,
    l2_norm,
    root_mean_square,
)


@dataclass(frozen=True, kw_only=True)
class ScaleByTrustRatio(WholeTransform):
    """The update times trust_coefficient * |parameter| / (|update| + eps); optax's scale_by_trust_ratio.

    Norms below `min_norm` count as `min_norm`; if one of them is 0, the ratio is 1. LARS (You, Gitman and Ginsburg
    2017) and LAMB (You et al. 2020) have it in common.
    """

    kind: ClassVar[str] = "scale_by_trust_ratio"
    min_norm: Epsilon = 0.0
    trust_coefficient: Positive = 1.0
    eps: Epsilon = 0.0

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        size, length = (maximum(l2_norm(x), self.min_norm) for x in (parameter, update))
        known = gt(minimum(size, length), 0)
        ratio = size * self.trust_coefficient / (where(known, length, 1.0) + self.eps)
        return update * where(known, ratio, 1.0), {}


@dataclass(frozen=True, kw_only=True)
class ScaleByParamBlockNorm(WholeTransform):
    """The update times |parameter|, at least `min_scale`; optax's scale_by_param_block_norm."""

    kind: ClassVar[str] = "scale_by_param_block_norm"
    min_scale: Epsilon = 1e-3

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        return update * maximum(l2_norm(parameter), self.min_scale), {}


@dataclass(frozen=True, kw_only=True)
class ScaleByParamBlockRms(WholeTransform):
    """The update times the root mean square of the parameter, at least `min_scale`.

    optax's scale_by_param_block_rms.
    """

    kind: ClassVar[str] = "scale_by_param_block_rms"
    min_scale: Epsilon = 1e-3

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        return update * maximum(root_mean_square(parameter), self.min_scale), {}


@dataclass(frozen=True, kw_only=True)
class NormalizeByUpdateNorm(WholeTransform):
    """The update times scale_factor / (|update| + eps), for each parameter separately.

    optax's normalize_by_update_norm uses the norm of all parameters' updates together.
    """

    kind: ClassVar[str] = "normalize_by_update_norm"
    scale_factor: Positive = 1.0
    eps: Positive = 1e-6

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        return update * (self.scale_factor / (l2_norm(update) + self.eps)), {}


@dataclass(frozen=True, kw_only=True)
class ClipByBlockRms(WholeTransform):
    """The update, scaled down to a root mean square of at most `threshold`; optax's clip_by_block_rms."""

    kind: ClassVar[str] = "clip_by_block_rms"
    threshold: Positive

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        return update / maximum(root_mean_square(update) * (1.0 / self.threshold), 1.0), {}


@dataclass(frozen=True, kw_only=True)
class Centralize(WholeTransform):
    """The update less its mean over all axes but the first (Yong et al. 2020); optax's centralize.

    Parameters of fewer than two axes are not changed.
    """

    kind: ClassVar[str] = "centralize"

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        rest = tuple(range(1, update.ndim))
        return (update - mean(update, axis=rest, keepdims=True) if rest else update), {}


@dataclass(frozen=True, kw_only=True)
class ScaleByNovograd(WholeTransform):
    """NovoGrad: momentum of updates over their running norm (Ginsburg et al. 2019); optax's scale_by_novograd.

    A parameter has one second moment, that of the norm, which starts at the first norm. weight_decay times the
    parameter is added before momentum.
    """

    kind: ClassVar[str] = "scale_by_novograd"
    b1: Fraction = 0.9
    b2: Fraction = 0.25
    eps: Epsilon = 1e-8
    eps_root: Epsilon = 0.0
    weight_decay: Epsilon = 0.0

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {"step": COUNT, "momentum": parameter, "squares": Spec((), parameter.dtype)}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        step, _ = count_step(slots)
        total = sum(square(update))
        squares = where(eq(slots["step"], 0), total, running_mean(slots["squares"], total, self.b2))
        fresh = update / (sqrt(squares + self.eps_root) + self.eps) + parameter * self.weight_decay
        momentum = slots["momentum"] * self.b1 + fresh
        return momentum, {"step": step, "momentum": momentum, "squares": squares}
