"""Successive halving: which variants of a sweep advance to the next rung, and their ranking."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from engine.training.recipe.options import mode_of
from engine.training.recipe.recipe import Recipe
from engine.training.sweep.options import SweepOptions


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """A variant that does not advance: its rank at the rung of `step` was `rank` (from 1) of `of`."""

    variant: int
    step: int
    rank: int
    of: int

    @property
    def reason(self) -> str:
        """Say why it ended."""
        return f"left behind at step {self.step}: rank {self.rank} of {self.of}"


def rungs(total_steps: int, variants: int, eta: int, min_steps: int | None = None) -> tuple[int, ...]:
    """Return the steps after which variants are compared, in order, all of them before `total_steps`.

    From `min_steps` on each is `eta` times the one before; by default the first is such that as many rungs follow as it
    takes to leave one variant (Jamieson & Talwalkar 2016, algorithm 1).
    """
    if min_steps is None:
        times = 0
        while eta ** (times + 1) <= variants:
            times += 1
        min_steps = max(1, total_steps // eta**times)
    steps, found = min_steps, []
    while steps < total_steps:
        found.append(steps)
        steps *= eta
    return tuple(found)


class SuccessiveHalving:
    """Successive halving over the rungs of a sweep. Without rungs every variant runs to its end.

    One in `eta` ** (k + 1) of all variants, and one at least, advances to rung k + 1: the best at rung k. They are
    selected once every variant that runs to rung k has reached it or has ended; an ended variant is not ranked.
    """

    def __init__(
        self,
        variants: int,
        steps: Sequence[int] = (),
        *,
        eta: int = 3,
        mode: Mode = "min",
        reached: Sequence[Sequence[float | None]] = (),
        ended: Iterable[int] = (),
    ) -> None:
        """Start or resume.

        Args:
            variants: the number of variants.
            steps: the step of each rung, ascending; see `rungs`.
            eta: one of this many variants advances.
            mode: whether smaller or larger values are better.
            reached: the values of each variant at the rungs that it has reached.
            ended: variants that have ended.
        """
        self.variants = variants
        self.steps = tuple(steps)
        self._eta = eta
        self._mode: Mode = mode
        self._values: list[list[float | None]] = [list(values) for values in reached] or [[] for _ in range(variants)]
        self._ended = set(ended)
        self._runners = list(range(variants))
        self._orders: list[list[int]] = []
        self._decide()

    @property
    def done(self) -> bool:
        """Whether every variant has ended."""
        return len(self._ended) == self.variants

    def goal(self, variant: int) -> int | None:
        """Return the step of the rung that a variant runs to next, None if it runs to its end."""
        rung = len(self._values[variant])
        return self.steps[rung] if rung < len(self.steps) else None

    def ready(self) -> list[int]:
        """Return the variants that can run now, in their order."""
        rung = len(self._orders)
        return [v for v in self._runners if v not in self._ended and len(self._values[v]) == rung]

    def reach(self, variant: int, value: float | None) -> None:
        """Record that a variant has reached its next rung, and the value of the metric there."""
        self._values[variant].append(value)
        self._decide()

    def end(self, variant: int) -> None:
        """Record that a variant has ended."""
        self._ended.add(variant)
        self._decide()

    def left_behind(self) -> list[LeftBehind]:
        """Return the variants that have not ended but do not advance; the caller ends them."""
        return [
            LeftBehind(variant, self.steps[rung], place + 1, len(order))
            for rung, order in enumerate(self._orders)
            for place, variant in enumerate(order)
            if place >= self._places(rung + 1) and variant not in self._ended
        ]

    def total_steps(self, steps: int) -> int:
        """Return the total of the steps of all variants, of which each would take `steps` to its end."""
        ends, starts = [*self.steps, steps], [0, *self.steps]
        return sum(self._places(rung) * (end - starts[rung]) for rung, end in enumerate(ends))

    def _places(self, rung: int) -> int:
        """Return how many variants run to a rung."""
        places: int = self.variants // self._eta**rung
        return max(1, places)

    def _decide(self) -> None:
        """Rank the variants at the next rung once all have reached it; a ranking is never revised."""
        while len(self._orders) < len(self.steps):
            rung = len(self._orders)
            present = [v for v in self._runners if len(self._values[v]) > rung]
            if any(v not in self._ended for v in self._runners if len(self._values[v]) <= rung):
                return
            order = [present[place] for place in rank_values([self._values[v][rung] for v in present], self._mode)]
            self._orders.append(order)
            self._runners = sorted(order[: self._places(rung + 1)])


Mode = Literal["min", "max"]


def rank_values(values: Sequence[float | None], mode: Mode) -> list[int]:
    """Return the places of `values` from the best to the worst.

    A value that is not finite, or None, ranks after all numbers; equal values rank in their order.
    """
    sign = 1.0 if mode == "min" else -1.0

    def rank(place: int) -> tuple[bool, float]:
        value = values[place]
        if value is None or not math.isfinite(value):
            return True, 0.0
        return False, sign * value

    return sorted(range(len(values)), key=rank)


def ranking_value(monitor: str, best: Mapping[str, Any] | None, latest: Mapping[str, float | None]) -> float | None:
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


def select_monitor(options: SweepOptions, recipe: Recipe, *, validated: bool) -> tuple[str, Mode]:
    """Return the metric that variants are ranked by, and which values of it are better.

    Where the sweep does not say, it is what early stopping goes by, or the loss: of the validation if there is one.
    """
    stopping = recipe.early_stopping
    default = "val_loss" if validated or recipe.validation.split > 0 else "loss"
    stated = (stopping and stopping.monitor) or default
    monitor = options.monitor or stated
    mode = stopping.mode if stopping is not None and monitor == stated else None
    return monitor, options.mode or mode or mode_of(monitor, recipe.higher_is_better)
