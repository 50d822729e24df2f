"""Adam and its kin as transforms: the first moment, divided by the size that updates have had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from engine.core.ranges import Range
from engine.core.value import Spec, Value
from engine.ops.compare import eq, ge, where
from engine.ops.elementwise import abs, maximum, power, sqrt, square
from engine.optim.transform import COUNT, counted
from engine.optim.transforms.gradient_transform import Applied, Decay, Epsilon, GradientTransform, Slots
from engine.optim.transforms.moments import direction, towards, unbiased


@dataclass(frozen=True, kw_only=True)
class ScaleByAdam(GradientTransform):
    """Adam (Kingma and Ba 2015); optax's scale_by_adam.

    The update becomes m / (sqrt(v + eps_root) + eps), with both moments m and v freed of their bias; with `nesterov`
    the first moment looks ahead (Dozat 2016).
    """

    kind: ClassVar[str] = "scale_by_adam"
    b1: Decay = 0.9
    b2: Decay = 0.999
    eps: Epsilon = 1e-8
    eps_root: Epsilon = 0.0
    nesterov: bool = False

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """Both moments and the step count."""
        return {"step": COUNT, "moment1": parameter, "moment2": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Divide the first moment by the root of the second."""
        step, count = counted(slots)
        moment1 = towards(slots["moment1"], update, self.b1)
        moment2 = towards(slots["moment2"], square(update), self.b2)
        ahead = direction(moment1, update, self.b1, count, nesterov=self.nesterov)
        root = sqrt(unbiased(moment2, self.b2, count) + self.eps_root) + self.eps
        return ahead / root, {"step": step, "moment1": moment1, "moment2": moment2}


@dataclass(frozen=True, kw_only=True)
class ScaleByAmsgrad(GradientTransform):
    """Adam by the largest second moment so far (Reddi et al. 2018); optax's scale_by_amsgrad.

    The maximum is that of moments without bias; the paper corrects neither moment, as `bias_correction_mu` and
    `bias_correction_nu` say.
    """

    kind: ClassVar[str] = "scale_by_amsgrad"
    b1: Decay = 0.9
    b2: Decay = 0.999
    eps: Epsilon = 1e-8
    eps_root: Epsilon = 0.0
    bias_correction_mu: bool = True
    bias_correction_nu: bool = True

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """Both moments, the largest second one and the step count."""
        return {"step": COUNT, "moment1": parameter, "moment2": parameter, "largest": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Divide the first moment by the root of the largest second one."""
        step, count = counted(slots)
        moment1 = towards(slots["moment1"], update, self.b1)
        moment2 = towards(slots["moment2"], square(update), self.b2)
        ahead = unbiased(moment1, self.b1, count) if self.bias_correction_mu else moment1
        spread = unbiased(moment2, self.b2, count) if self.bias_correction_nu else moment2
        largest = maximum(slots["largest"], spread)
        changed = {"step": step, "moment1": moment1, "moment2": moment2, "largest": largest}
        return ahead / (sqrt(largest + self.eps_root) + self.eps), changed


@dataclass(frozen=True, kw_only=True)
class ScaleByAdamax(GradientTransform):
    """Adam by the decaying maximum of updates (Kingma and Ba 2015, section 7.1); optax's scale_by_adamax."""

    kind: ClassVar[str] = "scale_by_adamax"
    b1: Decay = 0.9
    b2: Decay = 0.999
    eps: Epsilon = 1e-8

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """The first moment, the maximum and the step count."""
        return {"step": COUNT, "moment1": parameter, "largest": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Divide the first moment by the maximum."""
        step, count = counted(slots)
        moment1 = towards(slots["moment1"], update, self.b1)
        largest = maximum(slots["largest"] * self.b2, abs(update) + self.eps)
        ahead = unbiased(moment1, self.b1, count)
        return ahead / largest, {"step": step, "moment1": moment1, "largest": largest}


@dataclass(frozen=True, kw_only=True)
class ScaleByRadam(GradientTransform):
    """Adam whose first steps do not divide, and later ones are rectified (Liu et al. 2020); optax's scale_by_radam.

    It divides from where the average of squares counts as `threshold` gradients at least.
    """

    kind: ClassVar[str] = "scale_by_radam"
    b1: Decay = 0.9
    b2: Decay = 0.999
    eps: Epsilon = 1e-8
    eps_root: Epsilon = 0.0
    threshold: Annotated[float, Range(4)] = 5.0
    nesterov: bool = False

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """Both moments and the step count."""
        return {"step": COUNT, "moment1": parameter, "moment2": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Let the first moment go on, divided by the root of the second once that is known well enough."""
        step, count = counted(slots)
        moment1 = towards(slots["moment1"], update, self.b1)
        moment2 = towards(slots["moment2"], square(update), self.b2)
        ahead = direction(moment1, update, self.b1, count, nesterov=self.nesterov)
        longest = 2.0 / (1.0 - self.b2) - 1.0
        if longest > self.threshold:  # else the average never grows long enough
            kept = power(self.b2, count)
            length = longest - count * 2.0 * kept / (1.0 - kept)
            rectified = maximum((length - 4.0) * (length - 2.0), 0.0) * longest / length
            factor = sqrt(rectified * (1.0 / ((longest - 4.0) * (longest - 2.0))))
            root = sqrt(unbiased(moment2, self.b2, count) + self.eps_root) + self.eps
            ahead = where(ge(length, self.threshold), ahead * factor / root, ahead)
        return ahead, {"step": step, "moment1": moment1, "moment2": moment2}


@dataclass(frozen=True, kw_only=True)
class ScaleByAdan(GradientTransform):
    """Adan: moments of updates and of their changes from step to step (Xie et al. 2022); optax's scale_by_adan.

    In the first step there is no change.
    """

    kind: ClassVar[str] = "scale_by_adan"
    b1: Decay = 0.98
    b2: Decay = 0.92
    b3: Decay = 0.99
    eps: Epsilon = 1e-8
    eps_root: Epsilon = 0.0

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """The moments of updates, changes and squares, the update before, and the step count."""
        kept = ("moment1", "changes", "moment2", "before")
        return {"step": COUNT, **dict.fromkeys(kept, parameter)}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Divide the moment that looks ahead along the changes by the root of its square's."""
        step, count = counted(slots)
        change = where(eq(slots["step"], 0), 0.0, update - slots["before"])
        moment1 = towards(slots["moment1"], update, self.b1)
        changes = towards(slots["changes"], change, self.b2)
        moment2 = towards(slots["moment2"], square(update + change * (1.0 - self.b2)), self.b3)
        ahead = unbiased(moment1, self.b1, count) + unbiased(changes, self.b2, count) * (1.0 - self.b2)
        root = sqrt(unbiased(moment2, self.b3, count) + self.eps_root) + self.eps
        changed = {"step": step, "moment1": moment1, "changes": changes, "moment2": moment2, "before": update}
        return ahead / root, changed
