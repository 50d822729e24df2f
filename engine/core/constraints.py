"""Constraints on numbers, written beside their types: `Annotated[float, Range(0, 1)]`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints


@dataclass(frozen=True, slots=True)
class Range:
    """Finite numbers from `low` to `high`; `above` and `below` leave out the end itself."""

    low: float
    high: float = math.inf
    above: bool = False
    below: bool = False

    def __str__(self) -> str:
        """Return the range in words, to follow "must be"."""
        low = f"greater than {self.low:g}" if self.above else f"at least {self.low:g}"
        high = f"less than {self.high:g}" if self.below else f"at most {self.high:g}"
        return low if math.isinf(self.high) else f"{low} and {high}"

    def holds(self, value: Any) -> bool:
        """Return whether a number, or every number of a list, is in the range; null always is."""
        if value is None:
            return True
        if isinstance(value, tuple):
            return all(self.holds(item) for item in value)
        low = value > self.low if self.above else value >= self.low
        high = value < self.high if self.below else value <= self.high
        return bool(low and high and math.isfinite(value))

    def outside(self, value: Any) -> Any:
        """Return the number out of range: `value`, or the first one of a list."""
        return next(item for item in value if not self.holds(item)) if isinstance(value, tuple) else value


Length = Annotated[int, Range(1)]
Rate = Annotated[float, Range(0)]
Factor = Annotated[float, Range(0)]
Share = Annotated[float, Range(0, 1)]


def constraints_of(function: Callable[..., Any]) -> dict[str, Range]:
    """Read the ranges of the parameters of a function off its annotations."""
    hints = get_type_hints(function, include_extras=True)
    return {
        name: mark
        for name, hint in hints.items()
        if get_origin(hint) is Annotated
        for mark in get_args(hint)[1:]
        if isinstance(mark, Range)
    }
