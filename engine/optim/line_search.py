"""Line search under the strong Wolfe conditions, by cubic interpolation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from engine.core.value import Array

DECREASE = 1e-4
"""Minimum decrease of a step, as a share of that of the initial slope (Armijo)."""

CURVATURE = 0.9
"""Maximum slope at the end of a step, as a share of the initial slope."""


MARGIN = 0.1
"""Minimum distance of a trial from the ends of a bracket, as a share of it, after one that came too near."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A point of the line: its position, loss and gradient, and the slope of the loss along the line.

    If loss or slope is not finite the loss counts as infinite, so that a search turns back.
    """

    t: float
    loss: float
    gradient: Array
    slope: float


Try = Callable[[float], Trial]


def strong_wolfe(attempt: Try, start: Trial, t: float, length: float, tolerance: float, most: int) -> Trial:
    """Search along a direction of descent.

    Args:
        attempt: evaluates a point of the line.
        start: the point at t 0.
        t: the first position to try.
        length: the largest absolute element of the direction.
        tolerance: a bracket that moves no element by more than this is narrow enough.
        most: maximum number of trials after the first.

    Returns:
        A point that satisfies both conditions, else the lower end of the last bracket, which may be the start.
    """
    search = _Search(attempt, start, length, tolerance, most)
    bracket = search.bracketed(t)
    return bracket[0] if len(bracket) == 1 else search.zoomed(*bracket)


class _Search:
    """One search: its constants, and the count of trials."""

    def __init__(self, attempt: Try, start: Trial, length: float, tolerance: float, most: int) -> None:
        self.attempt, self.start = attempt, start
        self.length, self.tolerance, self.most = length, tolerance, most
        self.trials = 0

    @property
    def spent(self) -> bool:
        """Whether no further trial is allowed."""
        return self.trials > self.most

    def bracketed(self, t: float) -> list[Trial]:
        """Extend the search until one point satisfies the conditions, or two enclose such a point."""
        before, trial = self.start, self.try_at(t)
        while not self.spent:
            if self.too_high(trial) or (self.trials > 2 and trial.loss >= before.loss):
                return [before, trial]
            if self.flat(trial):
                return [trial]
            if trial.slope >= 0:
                return [before, trial]
            bounds = trial.t + 0.01 * (trial.t - before.t), trial.t * 10
            before, trial = trial, self.try_at(_lowest(before, trial, bounds))
        return [self.start, trial]

    def zoomed(self, first: Trial, second: Trial) -> Trial:
        """Narrow a bracket until its lower end satisfies the conditions, it is narrow, or no trial is left."""
        bracket, low, near = [first, second], _lower(first, second), False
        while not self.spent and abs(bracket[1].t - bracket[0].t) * self.length >= self.tolerance:
            t, near = _kept_off(_lowest(bracket[0], bracket[1]), bracket[0].t, bracket[1].t, near)
            trial = self.try_at(t)
            if self.too_high(trial) or trial.loss >= bracket[low].loss:
                bracket[1 - low] = trial
                low = _lower(bracket[0], bracket[1])
                continue
            if self.flat(trial):
                return trial
            if trial.slope * (bracket[1 - low].t - bracket[low].t) >= 0:
                bracket[1 - low] = bracket[low]
            bracket[low] = trial
        return bracket[low]

    def try_at(self, t: float) -> Trial:
        """Evaluate a point and count it."""
        self.trials += 1
        return self.attempt(t)

    def too_high(self, trial: Trial) -> bool:
        """Return whether the loss has not decreased enough."""
        return trial.loss > self.start.loss + DECREASE * trial.t * self.start.slope

    def flat(self, trial: Trial) -> bool:
        """Return whether the slope is small enough."""
        return abs(trial.slope) <= -CURVATURE * self.start.slope


def _lower(first: Trial, second: Trial) -> int:
    return 0 if first.loss <= second.loss else 1


def _lowest(a: Trial, b: Trial, bounds: tuple[float, float] | None = None) -> float:
    """Return the minimum of the cubic through both points with their slopes; without a minimum, the middle.

    The result lies within `bounds`, by default between the points (equation 3.59 of Nocedal and Wright).
    """
    low, high = bounds or (min(a.t, b.t), max(a.t, b.t))
    if math.isinf(a.loss) or math.isinf(b.loss):
        return (low + high) / 2.0
    first, second = (a, b) if a.t <= b.t else (b, a)
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not 0 <= square < math.inf:
        return (low + high) / 2.0
    d2 = math.sqrt(square)
    below = second.slope - first.slope + 2 * d2
    if not below:
        return (low + high) / 2.0
    t = second.t - (second.t - first.t) * ((second.slope + d2 - d1) / below)
    return min(max(t, low), high)


def _kept_off(t: float, one: float, other: float, near: bool) -> tuple[float, bool]:
    """Move a trial away from the ends of a bracket if the trial before was near one too, or this one is at an end.

    Returns:
        The position, and whether it is near an end.
    """
    low, high = min(one, other), max(one, other)
    margin = MARGIN * (high - low)
    if min(high - t, t - low) >= margin:
        return t, False
    if near or t >= high or t <= low:
        return (high - margin if abs(t - high) < abs(t - low) else low + margin), False
    return t, True
