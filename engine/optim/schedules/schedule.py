"""A schedule with its options: the learning rate of a run as a function of the count and, at most, a small state."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine.core.errors import AttributeValueError
from engine.optim.schedules.plateau import Plateau
from engine.optim.schedules.table import MOMENTA, SCHEDULES


@dataclass(frozen=True)
class Schedule:
    """A schedule with its options, counted in epochs or in steps."""

    kind: str
    options: Mapping[str, Any]
    per: Literal["epoch", "step"]

    def at(self, base: float, t: int) -> float:
        """Return the rate after `t` epochs or steps from the rate `base`; reductions on a plateau are not in it."""
        return SCHEDULES[self.kind](base, t, **self.options)

    def momentum_at(self, t: int) -> float | None:
        """Return the momentum after `t` epochs or steps, None when the schedule sets none."""
        return MOMENTA[self.kind](t, self.options) if self.kind in MOMENTA else None

    @property
    def cycles_momentum(self) -> bool:
        """Whether it sets the momentum of the optimizer; then it does so from the first step to the last."""
        return self.momentum_at(0) is not None

    @property
    def constant(self) -> bool:
        """Whether the rate stays what it is."""
        return self.kind == "constant"

    def rate(self, base: float, *, epoch: int, step: int, plateau: Plateau | None = None) -> float:
        """Return the learning rate of a step: `epoch` and `step` count what is complete; inf when it overflows.

        `plateau` is where a schedule stands that goes by a metric; its rate takes the place of `base`.
        """
        try:
            return self.at(base if plateau is None else plateau.rate, self._count(epoch, step))
        except OverflowError:
            return math.inf

    def momentum(self, *, epoch: int, step: int) -> float | None:
        """Return the momentum, or beta1, of a step, counted as for `rate`; None when the schedule sets none."""
        return self.momentum_at(self._count(epoch, step))

    def start(self, base: float) -> Plateau | None:
        """Return where a schedule that goes by a metric stands at first; None for every other."""
        watching = self._watching()
        return None if watching is None else Plateau.start(base, watching.options)

    def observe(self, plateau: Plateau, metrics: Mapping[str, float], *, epoch: int, step: int) -> Plateau:
        """Return where it stands after another value of its metric, when `epoch` and `step` are complete.

        `metrics` are those known by then: "loss", and "val_loss" after a validation. Without the metric that it goes by
        it stays where it is.
        """
        watching = self._watching()
        if watching is None or self._count(epoch, step) <= watching.delay:
            return plateau
        monitor = watching.options["monitor"] or ("val_loss" if "val_loss" in metrics else "loss")
        return plateau.observe(metrics[monitor], watching.options) if monitor in metrics else plateau

    def faults(self, *, steps: int, steps_per_epoch: int, validated: bool) -> Iterator[tuple[str, str]]:
        """Find what keeps it from serving a run of `steps`: pairs of a pointer below the schedule and a sentence."""
        watching = self._watching()
        if watching is not None and watching.options["monitor"] == "val_loss" and not validated:
            detail = "there are no rows to validate on; give 'validation', or monitor \"loss\""
            yield f"{watching.pointer}/monitor", detail
        try:
            self.rate(1.0, epoch=(steps - 1) // steps_per_epoch, step=steps - 1)
        except AttributeValueError as error:
            yield "", str(error)

    def _count(self, epoch: int, step: int) -> int:
        return epoch if self.per == "epoch" else step

    def _watching(self) -> _Watching | None:
        """Find the part that goes by a metric: the schedule itself, or what it warms up to."""
        part: Schedule = self
        delay, pointer = 0, ""
        while part.kind == "warm_up":
            delay, pointer = delay + part.options["total_iters"], pointer + "/schedule"
            part = part.options["schedule"]
        return _Watching(part.options, delay, pointer) if part.kind == "reduce_on_plateau" else None


@dataclass(frozen=True, slots=True)
class _Watching:
    """The options of a reduce_on_plateau, the length of the warm-up before it, and where in the schedule it stands."""

    options: Mapping[str, Any]
    delay: int
    pointer: str
