"""Successive halving as a state machine: which variants run up to which step, and which are left behind.

No clock, no thread, no chance: what it decides depends on the values at the rungs alone. So a sweep that lost its
process makes the same decisions again, given the values that were written down.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.training.sweep.ranking import Mode, ranked


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """A variant that does not go on: it was `rank`-th (from 1) of `of` at the rung of `step`."""

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


class Ladder:
    """The rungs of a sweep, and who stands where. Without rungs every variant runs to its end.

    To rung k + 1 goes one in `eta` ** (k + 1) of all variants, and one at least: those that are the best at rung k,
    as soon as every variant that runs there has come, or has ended before; the latter take no place.
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
        """Begin, or go on.

        Args:
            variants: how many there are.
            steps: of each rung, ascending; see `rungs`.
            eta: of how many variants one goes on.
            mode: which values are better.
            reached: the values of each variant at the rungs that it has reached.
            ended: variants that do not run any more.
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
        """Return the variants that are to run now, in their order."""
        rung = len(self._orders)
        return [v for v in self._runners if v not in self._ended and len(self._values[v]) == rung]

    def reach(self, variant: int, value: float | None) -> None:
        """Note that a variant has come to its next rung, and what the metric is there."""
        self._values[variant].append(value)
        self._decide()

    def end(self, variant: int) -> None:
        """Note that a variant does not run any more, for whatever reason."""
        self._ended.add(variant)
        self._decide()

    def left_behind(self) -> list[LeftBehind]:
        """Return the variants that have not ended, but do not go on: they are to be ended."""
        return [
            LeftBehind(variant, self.steps[rung], place + 1, len(order))
            for rung, order in enumerate(self._orders)
            for place, variant in enumerate(order)
            if place >= self._places(rung + 1) and variant not in self._ended
        ]

    def total_steps(self, steps: int) -> int:
        """Return the steps of all variants together, each of which would take `steps` to its end."""
        ends, starts = [*self.steps, steps], [0, *self.steps]
        return sum(self._places(rung) * (end - starts[rung]) for rung, end in enumerate(ends))

    def _places(self, rung: int) -> int:
        """Return how many variants run to a rung."""
        places: int = self.variants // self._eta**rung
        return max(1, places)

    def _decide(self) -> None:
        """Rank those who have come to the next rung, if there is nobody left to wait for; a decision stands."""
        while len(self._orders) < len(self.steps):
            rung = len(self._orders)
            present = [v for v in self._runners if len(self._values[v]) > rung]
            if any(v not in self._ended for v in self._runners if len(self._values[v]) <= rung):
                return
            order = [present[place] for place in ranked([self._values[v][rung] for v in present], self._mode)]
            self._orders.append(order)
            self._runners = sorted(order[: self._places(rung + 1)])
