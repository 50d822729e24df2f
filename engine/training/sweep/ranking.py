"""Which variant of a sweep is better than which."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from engine.training.recipe import Recipe
from engine.training.recipe.stopping import mode_of
from engine.training.sweep.options import SweepOptions

Mode = Literal["min", "max"]


def ranked(values: Sequence[float | None], mode: Mode) -> list[int]:
    """Return the places of `values` from the best to the worst.

    What is not finite, or not known, is worse than any number; of equal ones the first is the better.
    """
    sign = 1.0 if mode == "min" else -1.0

    def rank(place: int) -> tuple[bool, float]:
        value = values[place]
        if value is None or not math.isfinite(value):
            return True, 0.0
        return False, sign * value

    return sorted(range(len(values)), key=rank)


def standing(monitor: str, best: Mapping[str, Any] | None, latest: Mapping[str, float | None]) -> float | None:
    """Return what a fit is ranked by: the best value of the metric if the fit keeps it, else the latest, if any.

    Args:
        monitor: the metric, by its name in `Fit.latest`.
        best: the best value that the fit has kept (`Fit.best`), of this metric or of another.
        latest: the latest value of each metric (`Fit.latest`).
    """
    if best is not None and best["metric"] == monitor:
        kept: float = best["value"]
        return kept
    return latest.get(monitor)


def chosen_monitor(options: SweepOptions, recipe: Recipe, *, validated: bool) -> tuple[str, Mode]:
    """Return the metric that variants are ranked by, and which values of it are better.

    Where the sweep does not say, it is what early stopping goes by, or the loss: of the validation if there is one.
    """
    stopping = recipe.early_stopping
    default = "val_loss" if validated or recipe.validation.split > 0 else "loss"
    stated = (stopping and stopping.monitor) or default
    monitor = options.monitor or stated
    mode = stopping.mode if stopping is not None and monitor == stated else None
    return monitor, options.mode or mode or mode_of(monitor, recipe.higher_is_better)
