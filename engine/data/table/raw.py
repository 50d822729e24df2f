"""Raw columns: numbers with NaN where one is missing, or texts as codes of names with -1 where one is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.core.errors import DataError
from engine.core.value import Array, Shape
from engine.data.column import Column

MISSING = -1
"""The code of a missing text."""

Rows = Array | range


@dataclass(frozen=True, slots=True, eq=False)
class TextColumn:
    """A column of text: integer codes, in one array or several, index `names`; -1 stands for a missing text."""

    codes: Array | Sequence[Array]
    names: Sequence[str]


def column_title(name: str, label: str | None) -> str:
    """Return how messages name a column: quoted, with the name behind a label that is another."""
    return repr(name) if label is None or label == name else f"{label[:64]!r} ({name})"


class RawColumn:
    """A column as it came, in memory or memory-mapped; rows are read as numbers or as codes of texts.

    Attributes:
        name: the column's name.
        title: how errors name it: quoted, and by its label where it has one.
        names: the texts that codes index; None for a column of numbers.
    """

    __slots__ = ("_column", "name", "names", "title")

    def __init__(self, name: str, data: Array | Sequence[Array] | TextColumn, label: str | None = None) -> None:
        """Take numbers, in one array or several, or texts; `label` is what people call the column.

        Raises:
            DataError: the arrays do not fit together.
        """
        text = data if isinstance(data, TextColumn) else None
        self.name = name
        self.title = column_title(name, label)
        self.names = None if text is None else tuple(text.names)
        self._column = Column(name, data if text is None else text.codes)  # type: ignore[arg-type]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self._column.rows

    @property
    def shape(self) -> Shape:
        """The shape of a row."""
        return self._column.shape

    @property
    def whole_numbers(self) -> bool:
        """Whether it holds integers or booleans."""
        return self.names is None and self._column.dtype.kind in "iub"

    def numbers(self, rows: Rows) -> Array:
        """Return rows as float64 [rows, elements]; NaN is missing.

        Raises:
            DataError: the column holds texts.
        """
        if self.names is not None:
            raise DataError(f"column {self.title} holds texts, and the model takes numbers there: send numbers")
        into = np.empty((len(rows), *self.shape))
        self._column.take(rows, into)
        return into.reshape(len(rows), -1)

    def codes(self, rows: Rows) -> Array:
        """Return the codes of the texts of rows, int64 [rows]; -1 is missing."""
        into = np.empty((len(rows), *self.shape), np.int64)
        self._column.take(rows, into)
        return into.reshape(-1)

    def extremes(self) -> tuple[float, float]:
        """Return the smallest and the largest number of all rows; (0, 0) if all are missing."""
        low, high = np.inf, -np.inf
        for start in range(0, self.rows, CHUNK):
            part = self.numbers(range(start, min(start + CHUNK, self.rows)))
            part = part[np.isfinite(part)]
            low, high = min(low, part.min(initial=np.inf)), max(high, part.max(initial=-np.inf))
        return (float(low), float(high)) if low <= high else (0.0, 0.0)


CHUNK = 2**17
"""Rows that are read and transformed at a time."""


def raw_values(name: str, values: Any, label: str | None = None) -> RawColumn:
    """Make a column of the values of a request: numbers, booleans or texts, None or "" where one is missing.

    Raises:
        DataError: the values are of several kinds, or lists of different lengths.
    """
    title = column_title(name, label)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
        return RawColumn(name, values, label)
    items = values.tolist() if isinstance(values, np.ndarray) else values
    if not isinstance(items, list | tuple):
        raise DataError(f"column {title} needs a list with one value a row")
    kinds = {type(item) for item in items} - {type(None)}
    if str in kinds and kinds != {str}:
        raise DataError(f"column {title} holds texts beside other values: send all as texts, or all as numbers")
    if kinds == {str}:
        names = sorted({item for item in items if item})
        codes = {text: code for code, text in enumerate(names)} | {None: MISSING, "": MISSING}
        return RawColumn(name, TextColumn(np.array([codes[item] for item in items], np.int64), names), label)
    try:
        numbers: Array = np.array(items, np.bool_ if kinds == {bool} and None not in items else np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"column {title} needs numbers, booleans or texts, in rows of one shape") from error
    return RawColumn(name, numbers, label)
