"""Columns of categories: levels that are frequent enough in the training rows, as an index or one-hot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from engine.core.attributes import Range
from engine.core.errors import DataError
from engine.core.value import Array
from engine.data.table.facts import ColumnFacts, Fault, State, only_single_values
from engine.data.table.raw import RawColumn, Rows

UNKNOWN = -2
MISSING = -1
LEVELS = 10_000
"""Greatest number of levels of a column."""


@dataclass(frozen=True, kw_only=True)
class Category:
    """Texts or whole numbers as categories: an index for an embedding, or one-hot.

    The levels are the values that occur in at least `min_frequency` training rows, at most `max_levels` of them (the
    most frequent ones), in ascending order. Before them stand a level for missing values and one for all others,
    unless `missing` or `unknown` is "error": the index of a missing value is 0, that of an unknown one 1, the first
    level is 2. `missing` "most_frequent" fills in the most frequent level. The number of levels that there can be
    (`max_levels`, or the different values of the dataset if these are fewer) sets the width of one-hot, so that it
    does not depend on the rows that are held out.
    """

    encode: Literal["one_hot", "index"] = "one_hot"
    min_frequency: Annotated[int, Range(1, 2**31)] = 1
    max_levels: Annotated[int, Range(1, LEVELS)] = LEVELS
    unknown: Literal["level", "error"] = "level"
    missing: Literal["level", "most_frequent", "error"] = "level"

    @property
    def integer(self) -> bool:
        """Whether the values are indices."""
        return self.encode == "index"

    @property
    def reserved(self) -> int:
        """Indices before the first level."""
        return (self.missing == "level") + (self.unknown == "level")

    def misfits(self, facts: ColumnFacts) -> Iterator[Fault]:
        """Yield why the column cannot be taken."""
        yield from only_single_values(facts)
        if facts.classes is None and not facts.whole:
            yield "type_mismatch", "holds fractions or missing numbers, which are no categories; take kind 'number'"
        elif facts.classes is None and (facts.maximum or 0) - (facts.minimum or 0) >= LEVELS:
            spread = f"{facts.minimum:g} to {facts.maximum:g}"
            yield "out_of_range", f"holds whole numbers from {spread}, too many levels; take kind 'number'"
        if facts.missing and self.missing == "error":
            yield "missing_values", f"has {facts.missing} missing values; take missing 'level' or 'most_frequent'"

    def capacity(self, facts: ColumnFacts) -> int:
        """Return the number of levels that there can be."""
        if facts.classes is not None:
            return max(min(facts.classes, self.max_levels), 1)
        low, high = facts.minimum or 0.0, facts.maximum or 0.0
        return max(min(int(high - low) + 1, self.max_levels), 1)

    def indices(self, facts: ColumnFacts) -> int:
        """Return the number of indices: the rows that an embedding needs."""
        return self.reserved + self.capacity(facts)

    def width(self, facts: ColumnFacts) -> int:
        """Return the number of values that a row becomes."""
        return 1 if self.integer else self.indices(facts)

    def fit(self, column: RawColumn, rows: Rows) -> State:
        """Return the levels, and the number of indices."""
        values, counts = _count(column, rows)
        frequent = np.flatnonzero(counts >= self.min_frequency)
        if len(frequent) > self.max_levels:
            # Of equally frequent values the first ones are kept.
            frequent = np.sort(frequent[np.argsort(-counts[frequent], kind="stable")[: self.max_levels]])
        levels = [values[place] for place in frequent.tolist()]
        if not levels and self.unknown == "error":
            raise DataError(f"column {column.title} has no level in the training rows: lower min_frequency")
        most = values[int(counts.argmax())] if len(values) else None
        low, high = (0.0, 0.0) if column.names is not None else column.extremes()
        classes = None if column.names is None else len(column.names)
        facts = ColumnFacts((), column.rows, classes=classes, minimum=low, maximum=high)
        return {"levels": levels, "most_frequent": most, "indices": self.indices(facts)}

    def apply(self, state: State, column: RawColumn, rows: Rows) -> Array:
        """Return the index of each row, int64 [rows, 1], or one-hot rows, float64 [rows, width]."""
        found = _find(column, state["levels"], rows)
        missing, unknown = found == MISSING, found == UNKNOWN
        if missing.any():
            found = self._fill(state, column, found, missing)
        if self.unknown == "error" and unknown.any():
            row = int(unknown.argmax())
            known = ", ".join(map(repr, state["levels"][:3]))
            more = f" and {len(state['levels']) - 3} more" if len(state["levels"]) > 3 else ""
            raise DataError(f"column {column.title} has an unknown value in row {row}; known are {known}{more}")
        index = np.where(found >= 0, found + self.reserved, np.where(found == MISSING, 0, self.reserved - 1))
        if self.integer:
            return index[:, None]
        hot = np.zeros((len(index), state["indices"]))
        hot[np.arange(len(index)), index] = 1.0
        return hot

    def _fill(self, state: State, column: RawColumn, found: Array, missing: Array) -> Array:
        if self.missing == "error":
            advice = "the model has no level for that: send a value"
            raise DataError(f"column {column.title} has a missing value in row {int(missing.argmax())}, and {advice}")
        if self.missing == "level":
            return found
        levels = state["levels"]
        filled = levels.index(state["most_frequent"]) if state["most_frequent"] in levels else UNKNOWN
        return np.where(missing, filled, found)


def _count(column: RawColumn, rows: Rows) -> tuple[Sequence[str] | Sequence[int], Array]:
    """Return the different values in ascending order, and their counts in the rows."""
    if column.names is None:
        values, counts = np.unique(column.numbers(rows), return_counts=True)
        whole = np.isfinite(values)
        return [int(value) for value in values[whole].tolist()], counts[whole]
    order = sorted(range(len(column.names)), key=column.names.__getitem__)
    codes = column.codes(rows)
    counts = np.bincount(codes[codes >= 0], minlength=len(order))[order]
    seen = np.flatnonzero(counts)
    return [column.names[order[place]] for place in seen.tolist()], counts[seen]


def _find(column: RawColumn, levels: Sequence[str | int], rows: Rows) -> Array:
    """Return the place of each row's value among the levels, MISSING or UNKNOWN."""
    if column.names is not None:
        places = {str(level): place for place, level in enumerate(levels)}
        table = np.array([*(places.get(name, UNKNOWN) for name in column.names), MISSING], np.int64)
        return np.asarray(table[column.codes(rows)])
    numbers = column.numbers(rows).reshape(-1)
    if levels and isinstance(levels[0], str):
        if not np.isnan(numbers).all():
            raise DataError(f"column {column.title} holds numbers, and the model takes texts there: send texts")
        return np.full(len(numbers), MISSING)
    known = np.array(levels, np.float64)
    if not len(known):
        return np.where(np.isnan(numbers), MISSING, UNKNOWN)
    place = np.searchsorted(known, numbers).clip(0, len(known) - 1)
    return np.where(np.isnan(numbers), MISSING, np.where(known[place] == numbers, place, UNKNOWN))
