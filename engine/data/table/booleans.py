"""Columns of truth values, in their usual spellings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from engine.core.errors import DataError
from engine.core.value import Array
from engine.data.table.facts import ColumnFacts, Fault, State, only_single_values
from engine.data.table.raw import RawColumn, Rows

TRUE = ("true", "t", "yes", "y", "on", "1")
FALSE = ("false", "f", "no", "n", "off", "0")


@dataclass(frozen=True, kw_only=True)
class Boolean:
    """Truth values as 1 and 0: booleans, the numbers 1 and 0, or words in any case.

    `true` and `false` are the words, by default true, t, yes, y, on, 1 and false, f, no, n, off, 0. A missing one
    becomes the most frequent value of the training rows with `missing` "most_frequent", 0.5 with "half"; `indicator`
    adds 1 for a missing one.
    """

    true: tuple[str, ...] = TRUE
    false: tuple[str, ...] = FALSE
    missing: Literal["error", "most_frequent", "half"] = "error"
    indicator: bool = False

    integer = False

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield what is wrong between the fields."""
        both = {word.lower() for word in self.true} & {word.lower() for word in self.false}
        if both:
            yield "/false", f"{min(both)!r} stands for true as well"

    def misfits(self, facts: ColumnFacts) -> Iterator[Fault]:
        """Yield why the column cannot be taken."""
        yield from only_single_values(facts)
        if facts.classes is None and not 0 <= (facts.minimum or 0) <= (facts.maximum or 0) <= 1:
            yield "out_of_range", f"holds numbers from {facts.minimum:g} to {facts.maximum:g}; truth values are 0 and 1"
        if facts.missing and self.missing == "error":
            yield "missing_values", f"has {facts.missing} missing values; take missing 'most_frequent' or 'half'"

    def width(self, facts: ColumnFacts) -> int:
        """Return the number of values that a row becomes."""
        return 1 + self.indicator

    def fit(self, column: RawColumn, rows: Rows) -> State:
        """Return the value of missing ones."""
        values = self._values(column, rows)
        present = values[~np.isnan(values)]
        half = self.missing != "most_frequent" or not len(present)
        return {"fill": 0.5 if half else float(present.mean() > 0.5)}

    def apply(self, state: State, column: RawColumn, rows: Rows) -> Array:
        """Return the values of rows, float64 [rows, width]."""
        values = self._values(column, rows)
        missing = np.isnan(values)
        if missing.any() and self.missing == "error":
            row = int(missing.argmax())
            raise DataError(f"column {column.title} has a missing truth value in row {row}: send true or false")
        parts = [np.where(missing, state["fill"], values)]
        return np.stack([*parts, *([missing.astype(np.float64)] if self.indicator else ())], axis=1)

    def _values(self, column: RawColumn, rows: Rows) -> Array:
        """Return 1, 0 or NaN for each row."""
        if column.names is None:
            values = column.numbers(rows).reshape(-1)
            wrong = ~((values == 0) | (values == 1) | np.isnan(values))
        else:
            words = {word.lower(): 1.0 for word in self.true} | {word.lower(): 0.0 for word in self.false}
            table = np.array([*(words.get(name.strip().lower(), 2.0) for name in column.names), np.nan])
            values = table[column.codes(rows)]
            wrong = values == 2.0
        if wrong.any():
            row, known = int(wrong.argmax()), ", ".join((*self.true, *self.false))
            raise DataError(f"column {column.title} holds no truth value in row {row}; known are {known}")
        return np.asarray(values)
