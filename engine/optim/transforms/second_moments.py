"""AdaBelief and Yogi: Adam by how far updates stray, and Adam whose second moment moves slowly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engine.core.value import Spec, Value
from engine.ops.elementwise import sign, sqrt, square
from engine.optim.transform import COUNT, counted
from engine.optim.transforms.gradient_transform import Applied, Decay, Epsilon, GradientTransform, Slots, started
from engine.optim.transforms.moments import direction, towards, unbiased


@dataclass(frozen=True, kw_only=True)
class ScaleByBelief(GradientTransform):
    """AdaBelief: the second moment is that of update - first moment (Zhuang et al. 2020); optax's scale_by_belief.

    `eps_root` is added to the second moment in every step, and stays in it.
    """

    kind: ClassVar[str] = "scale_by_belief"
    b1: Decay = 0.9
    b2: Decay = 0.999
    eps: Epsilon = 1e-16
    eps_root: Epsilon = 1e-16
    nesterov: bool = False

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """Both moments and the step count."""
        return {"step": COUNT, "moment1": parameter, "moment2": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Divide the first moment by the root of the second."""
        step, count = counted(slots)
        moment1 = towards(slots["moment1"], update, self.b1)
        moment2 = towards(slots["moment2"], square(update - moment1), self.b2) + self.eps_root
        ahead = direction(moment1, update, self.b1, count, nesterov=self.nesterov)
        root = sqrt(unbiased(moment2, self.b2, count)) + self.eps
        return ahead / root, {"step": step, "moment1": moment1, "moment2": moment2}


@dataclass(frozen=True, kw_only=True)
class ScaleByYogi(GradientTransform):
    """Yogi (Zaheer et al. 2018): the second moment moves up or down by a share of the square; optax's scale_by_yogi.

    Both moments start at `initial_accumulator_value`.
    """

    kind: ClassVar[str] = "scale_by_yogi"
    b1: Decay = 0.9
    b2: Decay = 0.999
    eps: Epsilon = 1e-3
    eps_root: Epsilon = 0.0
    initial_accumulator_value: Epsilon = 1e-6

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """Both moments and the step count."""
        return {"step": COUNT, "moment1": parameter, "moment2": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Divide the first moment by the root of the second."""
        step, count = counted(slots)
        first, second = (started(slots, name, self.initial_accumulator_value) for name in ("moment1", "moment2"))
        squares = square(update)
        moment1 = towards(first, update, self.b1)
        moment2 = second - sign(second - squares) * squares * (1.0 - self.b2)
        root = sqrt(unbiased(moment2, self.b2, count) + self.eps_root) + self.eps
        changed = {"step": step, "moment1": moment1, "moment2": moment2}
        return unbiased(moment1, self.b1, count) / root, changed
