"""What is known of a raw column without reading it, and what its transforms have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

from engine.core.value import Array, Shape
from engine.data.table.raw import RawColumn, Rows

State = dict[str, Any]
"""The fitted statistics of a transform: plain data, whose floats JSON keeps exactly."""

Fault = tuple[str, str]
"""A code, and the rest of a sentence that starts with the column."""


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """Facts about a raw column.

    Attributes:
        shape: of one row.
        rows: the number of rows.
        missing: the number of missing values.
        classes: the number of different texts; None for a column of numbers.
        whole: whether all numbers are whole by their type.
        minimum: smallest number, or None if unknown.
        maximum: largest number, or None if unknown.
    """

    shape: Shape
    rows: int
    missing: int = 0
    classes: int | None = None
    whole: bool = False
    minimum: float | None = None
    maximum: float | None = None

    @property
    def elements(self) -> int:
        """Numbers in one row."""
        return prod(self.shape)


class Transform(Protocol):
    """What is done to one column. Statistics come from the training rows; `apply` needs nothing else."""

    @property
    def integer(self) -> bool:
        """Whether the values are integers, as embeddings take them."""
        ...

    def misfits(self, facts: ColumnFacts) -> Iterator[Fault]:
        """Yield why a column cannot be taken."""
        ...

    def width(self, facts: ColumnFacts) -> int:
        """Return the number of values that a row becomes."""
        ...

    def fit(self, column: RawColumn, rows: Rows) -> State:
        """Return the statistics of the training rows."""
        ...

    def apply(self, state: State, column: RawColumn, rows: Rows) -> Array:
        """Return the values of rows, float64 or int64 [rows, width]; DataError names the row that cannot be taken."""
        ...


def only_single_values(facts: ColumnFacts) -> Iterator[Fault]:
    """Yield the fault of a column whose rows are not single values."""
    if facts.shape:
        yield "shape_mismatch", f"has rows of shape {list(facts.shape)}; this kind takes one value a row"
