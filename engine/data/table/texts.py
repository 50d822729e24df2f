"""Columns of text: numbers of characters, bytes or words, padded to one length."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from engine.core.attributes import Range
from engine.core.errors import DataError
from engine.core.value import Array
from engine.data.table.facts import ColumnFacts, Fault, State, only_single_values
from engine.data.table.raw import RawColumn, Rows

PADDING, UNKNOWN, FIRST = 0, 1, 2
_WORDS = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, kw_only=True)
class Text:
    """Texts as sequences of integers of one `length`, for an embedding: 0 is padding, 1 what is not known.

    `units` are characters, the bytes of UTF-8 (byte + 2) or words (and punctuation marks, in lower case). The
    vocabulary is given, or made of the `max_vocabulary` most frequent units of the training rows; the first one is 2.
    Longer texts are cut; a missing text is empty. `output` "lengths" gives the number of units instead, for masks.
    """

    units: Literal["characters", "bytes", "words"] = "characters"
    length: Annotated[int, Range(1, 65536)] = 64
    vocabulary: tuple[str, ...] | None = None
    max_vocabulary: Annotated[int, Range(1, 100_000)] = 254
    output: Literal["ids", "lengths"] = "ids"

    integer = True

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield what is wrong between the fields."""
        if self.vocabulary is not None and self.units == "bytes":
            yield "/vocabulary", "bytes have no vocabulary; leave this out"
        if self.vocabulary is not None and len(set(self.vocabulary)) < len(self.vocabulary):
            yield "/vocabulary", "names a unit twice"

    def misfits(self, facts: ColumnFacts) -> Iterator[Fault]:
        """Yield why the column cannot be taken."""
        yield from only_single_values(facts)
        if facts.classes is None:
            yield "type_mismatch", "holds numbers; this kind takes text"

    def width(self, facts: ColumnFacts) -> int:
        """Return the number of values that a row becomes."""
        return 1 if self.output == "lengths" else self.length

    def fit(self, column: RawColumn, rows: Rows) -> State:
        """Return the vocabulary."""
        if self.units == "bytes" or self.output == "lengths":
            return {"vocabulary": []}
        if self.vocabulary is not None:
            return {"vocabulary": list(self.vocabulary)}
        codes = column.codes(rows)
        counts: Counter[str] = Counter()
        times = np.bincount(codes[codes >= 0], minlength=len(column.names or ()))
        for text, count in zip(column.names or (), times.tolist(), strict=True):
            for unit in self._units(text) if count else ():
                counts[str(unit)] += count
        # By frequency, then by the unit itself: the order of rows must not matter.
        ranked = sorted(counts, key=lambda unit: (-counts[unit], unit))
        return {"vocabulary": ranked[: self.max_vocabulary]}

    def apply(self, state: State, column: RawColumn, rows: Rows) -> Array:
        """Return the integers of rows, int64 [rows, length], or their number, int64 [rows, 1]."""
        if column.names is None:
            numbers = column.numbers(rows)
            if not np.isnan(numbers).all():
                raise DataError(f"column {column.title} holds numbers, and the model takes texts there: send texts")
            return np.zeros((len(numbers), self.width(ColumnFacts((), len(numbers)))), np.int64)
        ids = {unit: number for number, unit in enumerate(state["vocabulary"], FIRST)}
        codes = column.codes(rows)
        used, places = np.unique(codes, return_inverse=True)
        table = np.zeros((len(used), 1 if self.output == "lengths" else self.length), np.int64)
        for place, code in enumerate(used.tolist()):
            if code >= 0:
                found = self._ids(column.names[code], ids)
                table[place, : len(found)] = found
        return np.asarray(table[places.reshape(-1)])

    def _ids(self, text: str, ids: dict[str, int]) -> Sequence[int]:
        units = self._units(text)[: self.length]
        if self.output == "lengths":
            return [len(units)]
        if isinstance(units, bytes):
            return [byte + FIRST for byte in units]
        return [ids.get(unit, UNKNOWN) for unit in units]

    def _units(self, text: str) -> Sequence[str] | bytes:
        if self.units == "bytes":
            return text.encode()
        return text if self.units == "characters" else _WORDS.findall(text.lower())
