"""Running means of gradients as transforms: momentum, exponential averages, accumulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engine.core.attributes import Length
from engine.core.value import Spec, Value
from engine.ops.elementwise.comparison import eq, where
from engine.ops.optimizer.updates import running_mean
from engine.optim.transforms.link import (
    COUNT,
    Applied,
    Fraction,
    GradientTransform,
    Slots,
    correct_bias,
    count_step,
)


@dataclass(frozen=True, kw_only=True)
class Trace(GradientTransform):
    """Momentum: the sum of all updates, each weighted by decay ** age; optax's trace.

    With `nesterov` the update is the sum as the next step will weight it.
    """

    kind: ClassVar[str] = "trace"
    slot: ClassVar[str] = "trace"
    decay: Fraction
    nesterov: bool = False

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {self.slot: parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        trace = update + slots[self.slot] * self.decay
        return (update + trace * self.decay if self.nesterov else trace), {self.slot: trace}


@dataclass(frozen=True, kw_only=True)
class MomentumBuffer(Trace):
    """The same sum in named optimizers, whose slot has PyTorch's name."""

    slot: ClassVar[str] = "momentum"


@dataclass(frozen=True, kw_only=True)
class Ema(GradientTransform):
    """The exponential moving average of the updates, with `debias` corrected for its start at 0; optax's ema."""

    kind: ClassVar[str] = "ema"
    decay: Fraction
    debias: bool = True

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {"step": COUNT, "average": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        step, count = count_step(slots)
        average = running_mean(slots["average"], update, self.decay)
        return (correct_bias(average, self.decay, count) if self.debias else average), {
            "step": step,
            "average": average,
        }


@dataclass(frozen=True, kw_only=True)
class ApplyEvery(GradientTransform):
    """The sum of the updates of `k` steps, applied in the last of them; 0 in the others; optax's apply_every.

    Later transforms see the zeros, and earlier ones step every time.
    """

    kind: ClassVar[str] = "apply_every"
    k: Length = 1

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {"held": COUNT, "sum": parameter}

    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        held = slots["held"]
        full = eq(held, self.k - 1)
        total = where(eq(held, 0), 0.0, slots["sum"]) + update
        return where(full, total, 0.0), {"held": where(full, 0, held + 1), "sum": total}
