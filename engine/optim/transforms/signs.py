"""Signs of updates, and Lion's, which are those of a mixture with the past."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engine.core.value import Spec, Value
from engine.ops.elementwise import sign
from engine.optim.transforms.gradient_transform import Applied, Decay, GradientTransform, Slots
from engine.optim.transforms.moments import towards


@dataclass(frozen=True, kw_only=True)
class ScaleBySign(GradientTransform):
    """The sign of every element; optax's scale_by_sign."""

    kind: ClassVar[str] = "scale_by_sign"

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Keep the signs only."""
        return sign(update), {}


@dataclass(frozen=True, kw_only=True)
class ScaleByLion(GradientTransform):
    """Lion (Chen et al. 2023): the sign of b1 * m + (1 - b1) * update; optax's scale_by_lion.

    m is the mean of updates that b2 keeps.
    """

    kind: ClassVar[str] = "scale_by_lion"
    b1: Decay = 0.9
    b2: Decay = 0.99

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """The mean of updates."""
        return {"moment1": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Keep the signs of the mixture."""
        mixture = towards(slots["moment1"], update, self.b1)
        return sign(mixture), {"moment1": towards(slots["moment1"], update, self.b2)}
