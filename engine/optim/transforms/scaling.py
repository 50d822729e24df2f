"""Scaling and signs as transforms: constant factors, weight decay, limits, and running sizes of gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from engine.core.attributes import Range
from engine.core.value import Spec, Value
from engine.ops.elementwise.comparison import gt, where
from engine.ops.elementwise.elementwise import clamp, maximum, rsqrt, sign, sqrt, square
from engine.ops.optimizer.updates import running_mean
from engine.optim.transforms.clipping import Units, clip_adaptively
from engine.optim.transforms.link import (
    COUNT,
    Applied,
    Epsilon,
    Fraction,
    GradientTransform,
    Positive,
    Slots,
    WholeTransform,
    correct_bias,
    count_step,
    slot_or_initial,
)


@dataclass(frozen=True, kw_only=True)
class Scale(GradientTransform):
    """The update times `step_size`, which may be negative; optax's scale."""

    kind: ClassVar[str] = "scale"
    step_size: Annotated[float, Range(-1e30, 1e30)]

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        return update * self.step_size, {}


@dataclass(frozen=True, kw_only=True)
class AddDecayedWeights(GradientTransform):
    """The update plus weight_decay times the parameter; optax's add_decayed_weights.

    It decays parameters of `min_ndim` axes or more; 2 excludes biases and the scales of norms.
    """

    kind: ClassVar[str] = "add_decayed_weights"
    weight_decay: Annotated[float, Range(0)] = 0.0
    min_ndim: Annotated[int, Range(0)] = 0

    @property
    def elementwise(self) -> bool:
        return self.min_ndim == 0

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        if not self.weight_decay or parameter.ndim < self.min_ndim:
            return update, {}
        return update + parameter * self.weight_decay, {}


@dataclass(frozen=True, kw_only=True)
class Clip(GradientTransform):
    """Every element limited to -max_delta..max_delta; optax's clip."""

    kind: ClassVar[str] = "clip"
    max_delta: Epsilon

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        return clamp(update, min=-self.max_delta, max=self.max_delta), {}


@dataclass(frozen=True, kw_only=True)
class AdaptiveGradClip(WholeTransform):
    """Every unit's update limited to `clipping` times the unit's norm (Brock et al. 2021).

    Semantics of optax's adaptive_grad_clip. Units with a norm below `eps` count as `eps`. `units` is the axis that
    counts the units: "last" is optax's convention (matrices by columns, kernels HWIO), "first" that of weights [out,
        in, ...].
    """

    kind: ClassVar[str] = "adaptive_grad_clip"
    clipping: Positive
    eps: Positive = 1e-3
    units: Units = "last"

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        return clip_adaptively(update, parameter, self.clipping, self.eps, self.units), {}


@dataclass(frozen=True, kw_only=True)
class ScaleByRms(GradientTransform):
    """Updates divided by the root of their mean square (Hinton 2012); optax's scale_by_rms.

    The mean starts at `initial_scale`; `eps` is added below the root, or with `eps_in_sqrt` false to the root. With
    `bias_correction` the mean is divided by 1 - decay ** t.
    """

    kind: ClassVar[str] = "scale_by_rms"
    decay: Fraction = 0.9
    eps: Epsilon = 1e-8
    initial_scale: Epsilon = 0.0
    eps_in_sqrt: bool = True
    bias_correction: bool = False

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {"step": COUNT, "squares": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        step, count = count_step(slots)
        squares = running_mean(slot_or_initial(slots, "squares", self.initial_scale), square(update), self.decay)
        spread = correct_bias(squares, self.decay, count) if self.bias_correction else squares
        return update / self._root(spread), {"step": step, "squares": squares}

    def _root(self, spread: Value) -> Value:
        return sqrt(spread + self.eps) if self.eps_in_sqrt else sqrt(spread) + self.eps


@dataclass(frozen=True, kw_only=True)
class ScaleByStddev(ScaleByRms):
    """Updates divided by their running standard deviation (Graves 2013); optax's scale_by_stddev.

    The options are those of scale_by_rms; a variance that rounding makes negative counts as 0.
    """

    kind: ClassVar[str] = "scale_by_stddev"

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {**super().slots(parameter), "mean": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        step, count = count_step(slots)
        mean = running_mean(slots["mean"], update, self.decay)
        squares = running_mean(slot_or_initial(slots, "squares", self.initial_scale), square(update), self.decay)
        changed = {"step": step, "mean": mean, "squares": squares}
        if self.bias_correction:
            mean, squares = correct_bias(mean, self.decay, count), correct_bias(squares, self.decay, count)
        return update / self._root(maximum(squares - square(mean), 0.0)), changed


@dataclass(frozen=True, kw_only=True)
class ScaleByRss(GradientTransform):
    """Updates divided by the root of the sum of all squares (Duchi et al. 2011); optax's scale_by_rss.

    The sum starts at `initial_accumulator_value`; where it is 0, the update becomes 0.
    """

    kind: ClassVar[str] = "scale_by_rss"
    initial_accumulator_value: Epsilon = 0.1
    eps: Epsilon = 1e-7

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {"squares": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        squares = slots["squares"] + square(update)
        total = squares + self.initial_accumulator_value
        return update * where(gt(total, 0), rsqrt(total + self.eps), 0.0), {"squares": squares}


@dataclass(frozen=True, kw_only=True)
class ScaleBySign(GradientTransform):
    """The sign of every element; optax's scale_by_sign."""

    kind: ClassVar[str] = "scale_by_sign"

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        return sign(update), {}


@dataclass(frozen=True, kw_only=True)
class ScaleByLion(GradientTransform):
    """Lion (Chen et al. 2023): the sign of b1 * m + (1 - b1) * update; optax's scale_by_lion.

    m is the running mean of updates with decay b2.
    """

    kind: ClassVar[str] = "scale_by_lion"
    b1: Fraction = 0.9
    b2: Fraction = 0.99

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {"moment1": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        mixture = running_mean(slots["moment1"], update, self.b1)
        return sign(mixture), {"moment1": running_mean(slots["moment1"], update, self.b2)}
