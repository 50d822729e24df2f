"""Norms of gradients, as a plan puts out their squares."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from engine.core.value import Array
from engine.training.step.names import SQUARED_NORM


def norms_of(outputs: Mapping[str, Array]) -> Iterator[tuple[str, float]]:
    """Yield what each squared norm among the outputs of a plan is of, "" for all gradients together, and its root."""
    for name, output in outputs.items():
        if name.startswith(SQUARED_NORM):
            yield name.removeprefix(SQUARED_NORM), root(output.item())


def root(squared: float) -> float:
    """Return the root of a sum of squares; NaN stays what it is."""
    return math.sqrt(squared) if squared >= 0 else squared
