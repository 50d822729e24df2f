"""Limits of the size of a graph, checked in exact integers before anything is allocated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.core.errors import DocumentError, Finding
from engine.core.value import Shape


def reach(shape: Shape) -> int:
    """Return the number of elements, taking an extent of 0 for 1: NumPy refuses the others' product even then."""
    return math.prod(shape) or math.prod(extent or 1 for extent in shape)


@dataclass(frozen=True, slots=True)
class GraphLimits:
    """The largest graph that is taken."""

    nodes: int = 10_000
    leaves: int = 10_000
    inputs_per_node: int = 1_000
    node_inputs: int = 100_000
    attribute_items: int = 1_000
    attribute_characters: int = 1_000
    operations: int = 100_000
    node_operations: int = 4_000
    table_bytes: int = 64 * 2**20
    rank: int = 8
    elements: int = 2**31
    parameter_elements: int = 10**9
    compute_bytes: int = 2**30
    name_bytes: int = 63
    program_characters: int = 200_000
    program_tokens: int = 100_000

    def check_shape(self, pointer: str, what: str, shape: Shape) -> None:
        """Refuse a shape of too many axes or elements."""
        if len(shape) > self.rank:
            self._refuse(pointer, f"{what} has {len(shape)} axes; the limit is {self.rank}")
        if min(shape, default=0) < 0:
            self._refuse(pointer, f"{what} would have the shape {list(shape)}; no extent can be negative")
        if reach(shape) > self.elements:
            self._refuse(pointer, f"{what} of shape {list(shape)} has more than {self.elements} elements")

    def check_states(self, pointer: str, shapes: Iterable[Shape]) -> None:
        """Refuse parameters and buffers that are too many elements together."""
        total = sum(reach(shape) for shape in shapes)
        if total > self.parameter_elements:
            self._refuse(pointer, f"parameters and buffers of {total} elements are more than {self.parameter_elements}")

    def check_attributes(self, pointer: str, attrs: Mapping[str, Any]) -> None:
        """Refuse attributes that hold too many values, however they are nested, or too long a text."""
        items = 0
        waiting: list[Mapping[str, Any] | Sequence[Any]] = [attrs]
        while waiting:
            value = waiting.pop()
            inner = value.values() if isinstance(value, Mapping) else value
            items += len(inner)
            self.check_count(pointer, "values in attributes", items, self.attribute_items)
            for item in inner:
                if isinstance(item, str):
                    self.check_count(pointer, "characters of an attribute", len(item), self.attribute_characters)
                elif isinstance(item, Mapping | list | tuple):
                    waiting.append(item)

    def check_count(self, pointer: str, what: str, count: int, limit: int) -> None:
        """Refuse more than `limit` of something."""
        if count > limit:
            self._refuse(pointer, f"{what}: {count} is more than the limit of {limit}")

    def _refuse(self, pointer: str, detail: str) -> None:
        raise DocumentError([Finding(pointer, "limit_exceeded", detail)])


LIMITS = GraphLimits()
