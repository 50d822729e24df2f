"""Adam and its relatives as transforms: the first moment, divided by the root of the second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

from engine.core.attributes import Range
from engine.core.value import Spec, Value
from engine.ops.elementwise.comparison import eq, ge, where
from engine.ops.elementwise.elementwise import abs, maximum, power, sign, sqrt, square
from engine.ops.optimizer.updates import running_mean
from engine.optim.transforms.link import (
    COUNT,
    Applied,
    Epsilon,
    Fraction,
    GradientTransform,
    Link,
    Slots,
    correct_bias,
    count_step,
    first_moment,
    slot_or_initial,
)


class Moments(NamedTuple):
    """Both moments with the update of a step added, and the number of steps: as the slot holds it and as a float64."""

    step: Value
    steps: Value
    first: Value
    second: Value

    @property
    def slots(self) -> dict[str, Value]:
        return {"step": self.step, "moment1": self.first, "moment2": self.second}


@dataclass(frozen=True, kw_only=True)
class TwoMoments(Link):
    """A link with running means of the update and of its square, and a count of steps."""

    b1: Fraction = 0.9
    b2: Fraction = 0.999
    eps: Epsilon = 1e-8
    eps_root: Epsilon = 0.0

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {"step": COUNT, "moment1": parameter, "moment2": parameter}

    def moments(self, update: Value, slots: Slots) -> Moments:
        """Return the moments with an update added (Kingma and Ba 2015)."""
        first = running_mean(slots["moment1"], update, self.b1)
        return Moments(*count_step(slots), first, self.second_moment(update, first, slots))

    def second_moment(self, update: Value, first: Value, slots: Slots) -> Value:
        return running_mean(slots["moment2"], square(update), self.b2)

    def divisor(self, moments: Moments) -> Value:
        """Return the root of the bias-corrected second moment."""
        return sqrt(_plus(correct_bias(moments.second, self.b2, moments.steps), self.eps_root)) + self.eps


def rectification(b2: float, count: Value, longest: float) -> tuple[Value, Value, Value]:
    """Return RAdam's length of the average of squares, its factor, and 1 - b2 ** count (Liu et al. 2020).

    Args:
        b2: the decay of the second moment.
        count: the number of steps.
        longest: the limit of the length: 2 / (1 - b2) - 1.
    """
    power_b2 = power(b2, count)
    left = 1.0 - power_b2
    length = longest - count * 2.0 * power_b2 / left
    rectified = maximum((length - 4.0) * (length - 2.0), 0.0) * longest / length
    return length, sqrt(rectified * (1.0 / ((longest - 4.0) * (longest - 2.0)))), left


def longest_average(b2: float) -> float:
    """Return the length that an average of squares with decay b2 approaches (Liu et al. 2020)."""
    return 2.0 / (1.0 - b2) - 1.0


def _plus(x: Value, number: float) -> Value:
    return x + number if number else x


@dataclass(frozen=True, kw_only=True)
class ScaleByAdam(TwoMoments, GradientTransform):
    """Adam (Kingma and Ba 2015); optax's scale_by_adam.

    The update becomes m / (sqrt(v + eps_root) + eps), where both moments m and v are corrected for their bias. With
    `nesterov` the first moment is the one that the next step will use (Dozat 2016).
    """

    kind: ClassVar[str] = "scale_by_adam"
    nesterov: bool = False

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        moments = self.moments(update, slots)
        ahead = first_moment(moments.first, update, self.b1, moments.steps, nesterov=self.nesterov)
        return ahead / self.divisor(moments), moments.slots


@dataclass(frozen=True, kw_only=True)
class ScaleByAmsgrad(TwoMoments, GradientTransform):
    """Adam by the largest second moment so far (Reddi et al. 2018); optax's scale_by_amsgrad.

    The maximum is taken over bias-corrected moments. The paper corrects neither moment: set `bias_correction_mu` and
    `bias_correction_nu` to false for that.
    """

    kind: ClassVar[str] = "scale_by_amsgrad"
    bias_correction_mu: bool = True
    bias_correction_nu: bool = True

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {**super().slots(parameter), "largest": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        moments = self.moments(update, slots)
        ahead = correct_bias(moments.first, self.b1, moments.steps) if self.bias_correction_mu else moments.first
        spread = correct_bias(moments.second, self.b2, moments.steps) if self.bias_correction_nu else moments.second
        largest = maximum(slots["largest"], spread)
        return ahead / (sqrt(_plus(largest, self.eps_root)) + self.eps), {**moments.slots, "largest": largest}


@dataclass(frozen=True, kw_only=True)
class ScaleByAdamax(GradientTransform):
    """Adam by the decaying maximum of updates (Kingma and Ba 2015, section 7.1); optax's scale_by_adamax."""

    kind: ClassVar[str] = "scale_by_adamax"
    b1: Fraction = 0.9
    b2: Fraction = 0.999
    eps: Epsilon = 1e-8

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {"step": COUNT, "moment1": parameter, "largest": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        step, count = count_step(slots)
        moment1 = running_mean(slots["moment1"], update, self.b1)
        largest = maximum(slots["largest"] * self.b2, abs(update) + self.eps)
        ahead = correct_bias(moment1, self.b1, count)
        return ahead / largest, {"step": step, "moment1": moment1, "largest": largest}


@dataclass(frozen=True, kw_only=True)
class ScaleByRadam(TwoMoments, GradientTransform):
    """Rectified Adam (Liu et al. 2020); optax's scale_by_radam.

    The first moment is divided by the root of the second only once the average of squares is worth `threshold`
    gradients or more.
    """

    kind: ClassVar[str] = "scale_by_radam"
    threshold: Annotated[float, Range(4)] = 5.0
    nesterov: bool = False

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        moments = self.moments(update, slots)
        ahead = first_moment(moments.first, update, self.b1, moments.steps, nesterov=self.nesterov)
        longest = longest_average(self.b2)
        if longest > self.threshold:  # else the average never grows long enough
            length, factor, _ = rectification(self.b2, moments.steps, longest)
            ahead = where(ge(length, self.threshold), ahead * factor / self.divisor(moments), ahead)
        return ahead, moments.slots


@dataclass(frozen=True, kw_only=True)
class ScaleByAdan(GradientTransform):
    """Adan: moments of updates and of their changes between steps (Xie et al. 2022); optax's scale_by_adan.

    The change in the first step is 0.
    """

    kind: ClassVar[str] = "scale_by_adan"
    b1: Fraction = 0.98
    b2: Fraction = 0.92
    b3: Fraction = 0.99
    eps: Epsilon = 1e-8
    eps_root: Epsilon = 0.0

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        kept = ("moment1", "changes", "moment2", "before")
        return {"step": COUNT, **dict.fromkeys(kept, parameter)}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        step, count = count_step(slots)
        change = where(eq(slots["step"], 0), 0.0, update - slots["before"])
        moment1 = running_mean(slots["moment1"], update, self.b1)
        changes = running_mean(slots["changes"], change, self.b2)
        moment2 = running_mean(slots["moment2"], square(update + change * (1.0 - self.b2)), self.b3)
        ahead = correct_bias(moment1, self.b1, count) + correct_bias(changes, self.b2, count) * (1.0 - self.b2)
        root = sqrt(_plus(correct_bias(moment2, self.b3, count), self.eps_root)) + self.eps
        changed = {"step": step, "moment1": moment1, "changes": changes, "moment2": moment2, "before": update}
        return ahead / root, changed


@dataclass(frozen=True, kw_only=True)
class ScaleByBelief(TwoMoments, GradientTransform):
    """AdaBelief: the second moment is that of update - first moment (Zhuang et al. 2020); optax's scale_by_belief.

    `eps_root` is added to the second moment in every step, and remains in it.
    """

    kind: ClassVar[str] = "scale_by_belief"
    eps: Epsilon = 1e-16
    eps_root: Epsilon = 1e-16
    nesterov: bool = False

    def second_moment(self, update: Value, first: Value, slots: Slots) -> Value:
        return running_mean(slots["moment2"], square(update - first), self.b2) + self.eps_root

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        moments = self.moments(update, slots)
        ahead = first_moment(moments.first, update, self.b1, moments.steps, nesterov=self.nesterov)
        return ahead / (sqrt(correct_bias(moments.second, self.b2, moments.steps)) + self.eps), moments.slots


@dataclass(frozen=True, kw_only=True)
class ScaleByYogi(TwoMoments, GradientTransform):
    """Yogi (Zaheer et al. 2018): the second moment moves up or down by a share of the square; optax's scale_by_yogi.

    Both moments start at `initial_accumulator_value`.
    """

    kind: ClassVar[str] = "scale_by_yogi"
    eps: Epsilon = 1e-3
    initial_accumulator_value: Epsilon = 1e-6

    def second_moment(self, update: Value, first: Value, slots: Slots) -> Value:
        before, squares = slots["moment2"], square(update)
        return before - sign(before - squares) * squares * (1.0 - self.b2)

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        names = ("moment1", "moment2")
        moments = self.moments(
            update, {**slots, **{name: slot_or_initial(slots, name, self.initial_accumulator_value) for name in names}}
        )
        return correct_bias(moments.first, self.b1, moments.steps) / self.divisor(moments), moments.slots
