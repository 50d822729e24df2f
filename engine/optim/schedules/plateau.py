"""Reducing the rate when a metric no longer improves: the only schedule with a state."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

from engine.core.attributes import Range, Rate

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
    """The rate times factor when the metric has not improved for more than patience, as torch's ReduceLROnPlateau.

    An improvement exceeds the best value by `threshold`: relative to it ("rel") or absolutely ("abs"); NaN is none.
    After a reduction, the count starts again after `cooldown`. The rate never falls below min_lr, and reductions of eps
    or less are not applied. In a fit the metric is `monitor`: by default val_loss if there are validation rows, else
    the loss of the epoch; with per "step", the loss of the step.
    """
    return base


@dataclass(frozen=True, slots=True)
class Plateau:
    """The state of such a schedule: the reduced rate, the best metric, and two counts."""

    rate: float
    best: float
    bad: int = 0
    cooling: int = 0

    @classmethod
    def start(cls, base: float, options: Mapping[str, Any]) -> Self:
        """Return the state at the start, with the rate `base`."""
        return cls(base, math.inf if options["mode"] == "min" else -math.inf)

    def observe(self, metric: float, options: Mapping[str, Any]) -> Plateau:
        """Return the state after another value of the metric."""
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
        """Return plain data; floats are hexadecimal text, which is exact and has infinities."""
        return {"rate": self.rate.hex(), "best": self.best.hex(), "bad": self.bad, "cooling": self.cooling}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` returned.

        Raises:
            KeyError, TypeError, ValueError, OverflowError: the document is incomplete or damaged.
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
