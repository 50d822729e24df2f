"""What a computation takes, known from its plans before anything is allocated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

STEP_OPERATIONS = 5_000
"""What the start of one step of a plan counts for, in arithmetic operations."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one computation takes beside what is in memory already.

    Attributes:
        terms: bytes, by what they are for: "plan_bytes" are inputs, parameters, buffers and values between them,
            "initial_bytes" what drawing first values takes beside them, "output_bytes" copies of what is asked for.
        operations: estimated arithmetic operations of all runs of its plans.
    """

    terms: Mapping[str, int]
    operations: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of all terms."""
        return sum(self.terms.values())


class Admit(Protocol):
    """Is called when a cost is known and nothing of it is taken yet; raises what is to end the computation instead."""

    def __call__(self, cost: Cost, /) -> object:
        """Look at a cost before anything is taken."""


def admit_any(_cost: Cost) -> None:
    """Let everything be computed."""
