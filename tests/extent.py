"""How far tests go that walk combinations: each option is in one beside the other tests, `make chaos` has them all."""

import os
from collections.abc import Sequence
from typing import TypeVar

FULL = os.environ.get("CHAOS") == "full"

A = TypeVar("A")
B = TypeVar("B")


def paired(first: Sequence[A], second: Sequence[B]) -> list[tuple[A, B]]:
    """Return combinations in which everything in both occurs; all there are where tests go as far as they can."""
    if FULL:
        return [(a, b) for a in first for b in second]
    count = max(len(first), len(second)) if first and second else 0
    return [(first[i % len(first)], second[i % len(second)]) for i in range(count)]
