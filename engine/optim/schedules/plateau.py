"""Reducing the rate when a metric no longer improves: the one schedule that needs more than the count to go by."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

from engine.core.constraints import Range, Rate

Count = Annotated[int, Range(0)]


def reduce_on_plateau(
    base: float,
    t: int,
    *,
    monitor: Literal["val_loss", "loss"] | None = None,
    mode: Literal["min", "max"] = "min",
    factor: Annotated[float, Range(0, 1, below=True)] = 0.1,
    patience: Count = 10,
    threshold: Annotated[float, Range(0)] = 1e-4,
    threshold_mode: Literal["rel", "abs"] = "rel",
    cooldown: Count = 0,
    min_lr: Rate = 0.0,
    eps: Annotated[float, Range(0)] = 1e-8,
) -> float:
    """The rate times factor each time the metric has not improved for more than patience, as torch's ReduceLROnPlateau.

    To improve is to beat the best by `threshold`: relative to it ("rel") or in itself ("abs"); NaN is no improvement.
    After a reduction, `cooldown` passes before the count starts anew. The rate goes no lower than min_lr, and no
    reduction is made that is not greater than eps. In a fit the metric is `monitor`: by default val_loss where there
    are rows to validate on, else the loss of the epoch; per step, the loss of the step.
    """
    return base


@dataclass(frozen=True, slots=True)
class Plateau:
    """Where a reducing schedule stands: the rate as reduced so far, the best metric, and its two counts."""

    rate: float
    best: float
    bad: int = 0
    cooling: int = 0

    @classmethod
    def start(cls, base: float, options: Mapping[str, Any]) -> Self:
        """Stand at the start, at the rate `base`."""
        return cls(base, math.inf if options["mode"] == "min" else -math.inf)

    def observe(self, metric: float, options: Mapping[str, Any]) -> Plateau:
        """Return where it stands after one more value of the metric."""
        better = _improves(metric, self.best, options)
        best, bad = (metric, 0) if better else (self.best, self.bad + 1)
        cooling = self.cooling
        if cooling:
            cooling, bad = cooling - 1, 0
        if bad <= options["patience"]:
            return replace(self, best=best, bad=bad, cooling=cooling)
        reduced = max(self.rate * options["factor"], options["min_lr"])
        rate = reduced if self.rate - reduced > options["eps"] else self.rate
        return Plateau(rate, best, 0, options["cooldown"])

    def to_json(self) -> dict[str, Any]:
        """Write it as plain data; floats as hexadecimal text, which is exact and has infinities."""
        return {"rate": self.rate.hex(), "best": self.best.hex(), "bad": self.bad, "cooling": self.cooling}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError, OverflowError: it is incomplete or damaged.
        """
        counts = document["bad"], document["cooling"]
        if not all(type(count) is int and count >= 0 for count in counts):
            raise ValueError(f"the counts of a plateau are {str(counts)[:40]}")
        return cls(float.fromhex(document["rate"]), float.fromhex(document["best"]), *counts)


def _improves(metric: float, best: float, options: Mapping[str, Any]) -> bool:
    threshold, relative = options["threshold"], options["threshold_mode"] == "rel"
    if options["mode"] == "min":
        return bool(metric < (best * (1.0 - threshold) if relative else best - threshold))
    return bool(metric > (best * (1.0 + threshold) if relative else best + threshold))
