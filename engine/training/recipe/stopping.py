"""When a fit ends before its last step, or goes on from an earlier one: early stopping, budgets, divergence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from engine.core.constraints import Range


@dataclass(frozen=True, kw_only=True)
class EarlyStopping:
    """The end of a fit whose metric no longer improves.

    After `patience` evaluations in a row that do not beat the best by more than `min_delta`, the fit ends; with
    `restore_best` on the parameters and running statistics of the best evaluation. `monitor` is "loss" (the mean over
    the epoch), "val_loss" (the default where there are rows to validate on), or a metric, as "val_accuracy". Whether
    less or more is better (`mode`) goes by the metric. Evaluations before `first_epoch` are not counted.
    """

    monitor: str | None = None
    mode: Literal["min", "max"] | None = None
    patience: Annotated[int, Range(0, 10**6)] = 5
    min_delta: Annotated[float, Range(0)] = 0.0
    restore_best: bool = True
    first_epoch: Annotated[int, Range(1)] = 1


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What a fit may take: it ends, with success, after the step that exceeds one of them.

    Seconds are those of training, over all processes that worked on the fit.
    """

    seconds: Annotated[float | None, Range(0, above=True)] = None
    steps: Annotated[int | None, Range(1, 10**9)] = None


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """What happens when a loss or a gradient is not finite.

    "stop", the default, ends the fit as failed, with `numerics_nonfinite`, the step and the first node that made such a
    number; "continue" goes on and shows it in the metric rows; "skip" leaves the step out; "roll_back" goes back to the
    state at the end of the last good epoch (at first the initial one) and on at `factor` times the learning rate. After
    more than `limit` steps in a row that were skipped, or returns without an epoch between, the fit fails. A gradient
    whose norm overflows counts as not finite. A fit also fails with "stop" when the loss over its validation rows is
    not finite, and with all but "continue" when that or a parameter is not finite at its end.
    """

    action: Literal["continue", "stop", "skip", "roll_back"] = "stop"
    factor: Annotated[float, Range(0, 1, above=True, below=True)] = 0.5
    limit: Annotated[int, Range(1, 10**6)] = 10


def mode_of(monitor: str, higher_is_better: Mapping[str, bool]) -> Literal["min", "max"]:
    """Return whether less or more of a metric is better."""
    return "max" if higher_is_better.get(monitor.removeprefix("val_"), False) else "min"


def improves(value: float, best: float | None, mode: Literal["min", "max"], min_delta: float = 0.0) -> bool:
    """Tell whether a value beats the best one so far by more than `min_delta`; what is not finite never does."""
    if not math.isfinite(value):
        return False
    if best is None:
        return True
    return value < best - min_delta if mode == "min" else value > best + min_delta
