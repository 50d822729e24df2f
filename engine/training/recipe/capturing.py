"""Which gradients of a fit are captured: after which steps, and of which parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

from engine.core.constraints import Range
from engine.optim.groups import matches

CAPTURES = 10_000
"""At so many steps of a fit gradients may be captured."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GradientRecord:
    """Captures the gradient of the loss, as it is before clipping, noise and scaling, at some steps of a fit.

    `steps` counts those that are done: 0 is the gradient at the first values, 100 that by which step 101 goes. With
    `every_steps` it is captured after 0, n, 2 n, ... steps too. `parameters` are patterns of names, * for anything and
    ? for one character; by default all. What a step does not train has no gradient there.
    """

    steps: Annotated[tuple[int, ...], Range(0, 10**9)] = ()
    every_steps: Annotated[int | None, Range(1, 10**9)] = None
    parameters: tuple[str, ...] = ("*",)

    def faults(self) -> Iterator[tuple[str, str]]:
        """Find a record of nothing, and one of too many steps."""
        if not self.steps and self.every_steps is None:
            yield "", "say by 'steps' or 'every_steps' when gradients are captured, or leave this out"
        if len(self.steps) > CAPTURES:
            yield "/steps", f"gradients are captured at {CAPTURES} steps at most, not {len(self.steps)}"
        if not self.parameters:
            yield "/parameters", "give at least one pattern of names, or leave this out for all parameters"

    def names(self, trained: Iterable[str]) -> tuple[str, ...]:
        """Return those of the trained parameters whose gradients are wanted."""
        return tuple(name for name in trained if matches(name, self.parameters))

    def count(self, total_steps: int) -> int:
        """Count the steps of a fit of `total_steps` at which gradients are captured."""
        every = self.every_steps
        apart = {step for step in self.steps if step < total_steps and (every is None or step % every)}
        return len(apart) + (0 if every is None else -(-total_steps // every))
