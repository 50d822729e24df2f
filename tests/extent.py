"""How far tests go that walk combinations: each option is in one beside the other tests, `make chaos` has them all."""

import os
from collections.abc import Iterator, Sequence
from typing import TypeVar

FULL = os.environ.get("CHAOS") == "full"

A = TypeVar("A")
B = TypeVar("B")


def paired(first: Sequence[A], second: Sequence[B]) -> Iterator[tuple[A, B]]:
    """Yield combinations in which everything in both occurs; all there are where tests are to go as far as they can."""
    if FULL:
        yield from ((a, b) for a in first for b in second)
    elif first and second:
        yield from ((first[i % len(first)], second[i % len(second)]) for i in range(max(len(first), len(second))))
