"""Sizes a graph may not exceed, checked in exact integers before anything is allocated."""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.errors import DocumentError, Finding
from engine.value import Shape


@dataclass(frozen=True, slots=True)
class GraphLimits:
    """The largest graph that is taken."""

    nodes: int = 10_000
    inputs_per_node: int = 1_000
    rank: int = 8
    elements: int = 2**31
    parameter_elements: int = 10**9
    name_bytes: int = 63
    program_characters: int = 200_000

    def check_shape(self, pointer: str, what: str, shape: Shape) -> None:
        """Refuse a shape of too many axes or elements."""
        if len(shape) > self.rank:
            self._refuse(pointer, f"{what} has {len(shape)} axes; the limit is {self.rank}")
        if math.prod(shape) > self.elements:
            self._refuse(pointer, f"{what} of shape {list(shape)} has more than {self.elements} elements")

    def check_count(self, pointer: str, what: str, count: int, limit: int) -> None:
        """Refuse more than `limit` of something."""
        if count > limit:
            self._refuse(pointer, f"{what}: {count} is more than the limit of {limit}")

    def _refuse(self, pointer: str, detail: str) -> None:
        raise DocumentError([Finding(pointer, "limit_exceeded", detail)])


LIMITS = GraphLimits()
