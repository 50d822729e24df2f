"""RMSprop and Adagrad as transforms: updates divided by the size that they have had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engine.core.value import Spec, Value
from engine.ops.compare import gt, where
from engine.ops.elementwise import maximum, rsqrt, sqrt, square
from engine.optim.transform import COUNT, counted
from engine.optim.transforms.gradient_transform import Applied, Decay, Epsilon, GradientTransform, Slots, started
from engine.optim.transforms.moments import towards, unbiased


@dataclass(frozen=True, kw_only=True)
class ScaleByRms(GradientTransform):
    """Updates divided by the root of their mean square (Hinton 2012); optax's scale_by_rms.

    The mean starts at `initial_scale`; `eps` is added below the root, or with `eps_in_sqrt` false beside it. With
    `bias_correction` the mean is divided by 1 - decay ** t.
    """

    kind: ClassVar[str] = "scale_by_rms"
    decay: Decay = 0.9
    eps: Epsilon = 1e-8
    initial_scale: Epsilon = 0.0
    eps_in_sqrt: bool = True
    bias_correction: bool = False

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """The mean of squares and the step count."""
        return {"step": COUNT, "squares": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Divide by the root of the mean."""
        step, count = counted(slots)
        squares = towards(started(slots, "squares", self.initial_scale), square(update), self.decay)
        spread = unbiased(squares, self.decay, count) if self.bias_correction else squares
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
        """The means of updates and of squares, and the step count."""
        return {**super().slots(parameter), "mean": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Divide by the root of the variance."""
        step, count = counted(slots)
        mean = towards(slots["mean"], update, self.decay)
        squares = towards(started(slots, "squares", self.initial_scale), square(update), self.decay)
        changed = {"step": step, "mean": mean, "squares": squares}
        if self.bias_correction:
            mean, squares = unbiased(mean, self.decay, count), unbiased(squares, self.decay, count)
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
        """The sum of squares, less what it starts from."""
        return {"squares": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Divide by the root of the sum."""
        squares = slots["squares"] + square(update)
        total = squares + self.initial_accumulator_value
        return update * where(gt(total, 0), rsqrt(total + self.eps), 0.0), {"squares": squares}
