"""Plain arithmetic on updates: a factor, weight decay, limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from engine.core.ranges import Range
from engine.core.value import Value
from engine.ops.elementwise import clamp
from engine.optim.gradient_clipping import Units, clipped_adaptively
from engine.optim.transforms.gradient_transform import (
    Applied,
    Epsilon,
    GradientTransform,
    Positive,
    Slots,
    WholeTransform,
)


@dataclass(frozen=True, kw_only=True)
class Scale(GradientTransform):
    """The update times `step_size`, which may be negative; optax's scale."""

    kind: ClassVar[str] = "scale"
    step_size: Annotated[float, Range(-1e30, 1e30)]

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Multiply."""
        return update * self.step_size, {}


@dataclass(frozen=True, kw_only=True)
class AddDecayedWeights(GradientTransform):
    """The update plus weight_decay times the parameter; optax's add_decayed_weights.

    It decays parameters of `min_ndim` axes or more, so that with 2 biases and the scales of norms are left alone.
    """

    kind: ClassVar[str] = "add_decayed_weights"
    weight_decay: Annotated[float, Range(0)] = 0.0
    min_ndim: Annotated[int, Range(0)] = 0

    @property
    def elementwise(self) -> bool:
        """Whether it looks at no shapes."""
        return self.min_ndim == 0

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Add the share of the parameter."""
        if not self.weight_decay or parameter.ndim < self.min_ndim:
            return update, {}
        return update + parameter * self.weight_decay, {}


@dataclass(frozen=True, kw_only=True)
class Clip(GradientTransform):
    """Every element limited to -max_delta..max_delta; optax's clip."""

    kind: ClassVar[str] = "clip"
    max_delta: Epsilon

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Limit each element."""
        return clamp(update, min=-self.max_delta, max=self.max_delta), {}


@dataclass(frozen=True, kw_only=True)
class AdaptiveGradClip(WholeTransform):
    """Every unit's update limited to `clipping` times the unit's length (Brock et al. 2021).

    Semantics of optax's adaptive_grad_clip. Units shorter than `eps` count as that. `units` says which axis counts the
    units: "last" is optax's convention (matrices by columns, kernels HWIO), "first" that of weights [out, in, ...].
    """

    kind: ClassVar[str] = "adaptive_grad_clip"
    clipping: Positive
    eps: Positive = 1e-3
    units: Units = "last"

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Scale down the units that exceed their limit."""
        return clipped_adaptively(update, parameter, self.clipping, self.eps, self.units), {}
