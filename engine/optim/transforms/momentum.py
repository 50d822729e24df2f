"""Momentum: sums and running means of updates, and updates that are held back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engine.core.ranges import Length
from engine.core.value import Spec, Value
from engine.ops.compare import eq, where
from engine.optim.transform import COUNT, counted
from engine.optim.transforms.gradient_transform import Applied, Decay, GradientTransform, Slots
from engine.optim.transforms.moments import towards, unbiased


@dataclass(frozen=True, kw_only=True)
class Trace(GradientTransform):
    """Momentum: the sum of all updates, each weighted by decay ** age; optax's trace.

    With `nesterov` the update goes on as it will stand in the next step.
    """

    kind: ClassVar[str] = "trace"
    decay: Decay
    nesterov: bool = False

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """The sum."""
        return {"trace": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Add the update to the sum, which goes on in its place."""
        trace = update + slots["trace"] * self.decay
        return (update + trace * self.decay if self.nesterov else trace), {"trace": trace}


@dataclass(frozen=True, kw_only=True)
class Ema(GradientTransform):
    """The exponential moving average of the updates, with `debias` as if it had not started at 0; optax's ema."""

    kind: ClassVar[str] = "ema"
    decay: Decay
    debias: bool = True

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """The average and the step count."""
        return {"step": COUNT, "average": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Take the update into the average, which goes on in its place."""
        step, count = counted(slots)
        average = towards(slots["average"], update, self.decay)
        return (unbiased(average, self.decay, count) if self.debias else average), {"step": step, "average": average}


@dataclass(frozen=True, kw_only=True)
class ApplyEvery(GradientTransform):
    """Updates of `k` steps added up: their sum goes on in the last of them, 0 in the others; optax's apply_every.

    The transforms after it see those zeros, and those before it step every time.
    """

    kind: ClassVar[str] = "apply_every"
    k: Length = 1

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """The sum, and how many updates are in it."""
        return {"held": COUNT, "sum": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Add up, and let the sum go on when it is full."""
        held = slots["held"]
        full = eq(held, self.k - 1)
        total = where(eq(held, 0), 0.0, slots["sum"]) + update
        return where(full, total, 0.0), {"held": where(full, 0, held + 1), "sum": total}
