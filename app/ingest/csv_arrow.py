"""Blocks of CSV records as Arrow arrays (pyarrow, extra `parquet`), where the values are certain to be as we read them.

All cells of a block are one array of texts, and all its numbers are converted by one call: a file of thousands of
columns is read as fast as one of twenty. pyarrow takes more notations than this service does: what it would take and we
refuse, and all that needs an error message, is left to `csv_records` and `csv`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.ingest.classes import MISSING
from app.ingest.csv_split import Cells, split_cells
from app.ingest.values import CONSECUTIVE, LONG_NUMBER

_DIGIT, _POINT, _EXPONENT, _OTHER = range(4)
"""Kinds of characters; that of a cell is the highest one of its characters. Signs count as digits."""


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The columns of a block as numbers.

    Attributes:
        values: float64 [columns, rows], NaN where a cell is empty or missing, and in columns that are not `taken`.
        taken: the columns that hold numbers only, none of them infinite, or written as another one than the 0 it reads.
        whole: the columns of whole numbers, without missing ones.
        exact: the columns without a number so large that float64 may round it.
        negative: the columns that hold a number below 0.
    """

    values: NDArray[np.float64]
    taken: list[bool]
    whole: list[bool]
    exact: list[bool]
    negative: list[bool]

    def row_major(self, places: Sequence[int]) -> NDArray[np.float64]:
        """Return the numbers at some places of each record, row after row."""
        return self.values[places[0]] if len(places) == 1 else self.values[list(places)].T.reshape(-1)


class ArrowRecords:
    """Consecutive records, one on each line."""

    numeric = False
    """Whether all cells are certain to hold characters of numbers only, as in `Records`."""

    def __init__(self, reader: "ArrowRecordReader", cells: Cells, lines: range) -> None:
        self.lines = lines
        self._reader = reader
        self._arrow = reader.arrow
        self._cells = cells
        self._lengths = np.diff(cells.offsets).reshape(len(lines), -1)
        self._width = self._lengths.shape[1]
        self._missing = self._lengths == 0
        if reader.missing:
            words = self._are_among(self._strings(cells.texts, ~self._missing), reader.missing)
            self._missing |= words.reshape(self._missing.shape)
        self._texts = self._strings(cells.texts, ~self._missing)

    def columns(self, places: Sequence[int]) -> list[str]:
        """Return the cells at some places of each record, in row-major order."""
        columns = [[cell or "" for cell in self._column(place).to_pylist()] for place in places]
        return columns[0] if len(columns) == 1 else [cell for row in zip(*columns, strict=True) for cell in row]

    def texts(self, place: int) -> tuple[list[str], NDArray[np.int64]]:
        """Return the different texts of a column in order of appearance, and for each cell its place there or -1."""
        encoded = self._column(place).dictionary_encode()
        codes = encoded.indices.fill_null(-1) if encoded.null_count else encoded.indices
        return encoded.dictionary.to_pylist(), codes.to_numpy().astype(np.int64)

    def numbers(self, places: Sequence[int], whole: str, *, exact: bool) -> NDArray[Any] | None:
        """Return numbers in row-major order: of the dtype `whole` if all cells are such, else float64 with NaN.

        None if a cell may be anything else, or closer to 0 than any float64, or, with `exact`, if float64 may round it.
        """
        numbers = self._numbers
        if not all(numbers.taken[place] for place in places):
            return None
        if all(numbers.whole[place] for place in places):
            return self._whole_numbers(places, whole)
        if exact and not all(numbers.exact[place] for place in places):
            return None
        return numbers.row_major(places)

    def _whole_numbers(self, places: Sequence[int], dtype: str) -> NDArray[Any] | None:
        numbers = self._numbers
        if all(numbers.exact[place] for place in places):
            if dtype == "uint64" and any(numbers.negative[place] for place in places):
                return None
            return numbers.row_major(places).astype(dtype)
        try:
            columns = [self._column(place).cast(dtype).to_numpy() for place in places]
        except self._arrow.ArrowInvalid:
            return None
        return np.stack(columns, axis=1).reshape(-1)

    @cached_property
    def _numbers(self) -> _Numbers:
        missing = self._missing.copy()
        kinds = self._kinds(missing)
        missing |= self._missing_words(kinds == _OTHER)
        kinds[missing] = _DIGIT
        highest = kinds.max(axis=0)
        taken = highest < _OTHER
        values = self._parse(~missing, taken)
        sizes = np.abs(values)
        taken &= ~np.isinf(sizes).any(axis=0) & ~self._vanish((values == 0) & (kinds == _EXPONENT))
        whole = taken & (highest == _DIGIT) & ~missing.any(axis=0)
        return _Numbers(
            np.ascontiguousarray(values.T),
            taken.tolist(),
            whole.tolist(),
            np.logical_not(np.any(sizes >= CONSECUTIVE, axis=0)).tolist(),
            np.any(values < 0, axis=0).tolist(),
        )

    def _kinds(self, empty: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """Return the kind of each cell [rows, columns]; a very long number may be close to 0 without an exponent."""
        # The byte at the end is the one behind the last cell, for empty cells there.
        characters = np.frombuffer(self._cells.texts.translate(self._reader.kinds) + b"\0", np.uint8)
        kinds = np.maximum.reduceat(characters, self._cells.offsets[:-1]).reshape(empty.shape)
        kinds[empty] = _DIGIT
        kinds[(kinds == _POINT) & (self._lengths >= LONG_NUMBER)] = _EXPONENT
        return kinds

    def _missing_words(self, other: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which cells stand for missing numbers, in columns that hold other cells too."""
        mixed = other.any(axis=0) & ~(other | self._missing).all(axis=0)
        found = np.zeros_like(other)
        asked = np.flatnonzero(other & mixed)
        if asked.size:
            words = self._arrow.array(sorted(MISSING))
            found.reshape(-1)[asked] = self._are_among(self._texts.take(self._arrow.array(asked)), words)
        return found

    def _parse(self, given: NDArray[np.bool_], taken: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the numbers [rows, columns] of the columns that are `taken`; from which those that hold others go."""
        taken[list(self._reader.unreadable)] = False
        texts = self._cells.texts.translate(_POINTS) if self._reader.decimal_comma else self._cells.texts
        try:
            return self._cast(texts, given & taken)
        except self._arrow.ArrowInvalid:
            columns = self._gather(self._strings(texts, given), np.flatnonzero(taken).tolist())
            for place, column in columns.items():
                if not self._reads(column):
                    taken[place] = False
                    self._reader.unreadable.add(place)
            return self._cast(texts, given & taken)

    def _reads(self, column: Any) -> bool:
        try:
            column.cast("float64")
        except self._arrow.ArrowInvalid:
            return False
        return True

    def _cast(self, texts: bytes, given: NDArray[np.bool_]) -> NDArray[np.float64]:
        numbers: NDArray[np.float64] = self._strings(texts, given).cast("float64").to_numpy(zero_copy_only=False)
        return numbers.reshape(given.shape)

    def _vanish(self, zeros: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the columns in which some of the `zeros` is written as another number."""
        found = np.zeros_like(zeros)
        asked = np.flatnonzero(zeros)
        if asked.size:
            texts = self._texts.take(self._arrow.array(asked))
            matches = self._arrow.compute.match_substring_regex(texts, "^[^eE]*[1-9]")
            found.reshape(-1)[asked] = matches.to_numpy(zero_copy_only=False)
        columns: NDArray[np.bool_] = np.logical_or.reduce(found, axis=0)
        return columns

    def _column(self, place: int) -> Any:
        """Return the texts of a column."""
        others = self._others
        return others[place] if place in others else self._gather(self._texts, [place])[place]

    @cached_property
    def _others(self) -> dict[int, Any]:
        """The texts of each column that holds others than numbers."""
        return self._gather(self._texts, [place for place, taken in enumerate(self._numbers.taken) if not taken])

    def _gather(self, strings: Any, places: Sequence[int]) -> dict[int, Any]:
        """Return columns by place out of all cells, at the cost of one call for all of them."""
        rows = len(self.lines)
        cells = np.add.outer(np.array(places, np.int64), np.arange(rows) * self._width)
        gathered = strings.take(self._arrow.array(cells.reshape(-1)))
        return {place: gathered.slice(number * rows, rows) for number, place in enumerate(places)}

    def _strings(self, texts: bytes, given: NDArray[np.bool_]) -> Any:
        """Return all cells as an array of texts, of which those that are not `given` are null."""
        bits = np.packbits(given.reshape(-1), bitorder="little")
        buffers = [self._arrow.py_buffer(part) for part in (self._cells.offsets, texts, bits)]
        return self._arrow.StringArray.from_buffers(given.size, *buffers)

    def _are_among(self, strings: Any, words: Any) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self._arrow.compute.is_in(strings, words).to_numpy(zero_copy_only=False)
        return found


_POINTS = bytes(range(256)).replace(b",", b".")


class ArrowRecordReader:
    """Divides blocks of records of `width` cells, of which `missing` ones and empty ones become null."""

    def __init__(self, arrow: Any, width: int, delimiter: str, missing: Sequence[str], *, decimal_comma: bool) -> None:
        self.arrow = arrow
        self.missing = arrow.array(missing, arrow.string())
        self.decimal_comma = decimal_comma
        self.kinds = _kinds_by_character("," if decimal_comma else ".")
        self.unreadable: set[int] = set()
        """Columns that hold characters of numbers only, in an order that no number has: dates such as 2024-12-31."""
        self._width = width
        self._mark = ord(delimiter)

    def read(self, data: bytes, lines: range) -> ArrowRecords | None:
        """Read UTF-8 whose `lines` all end with a line feed, none of them blank; None if that needs more care."""
        cells = split_cells(data, self._mark, self._width, len(lines))
        return None if cells is None else ArrowRecords(self, cells, lines)


def _kinds_by_character(point: str) -> bytes:
    kinds = bytearray([_OTHER]) * 256
    for characters, kind in (("0123456789+-", _DIGIT), (point, _POINT), ("eE", _EXPONENT)):
        for character in characters:
            kinds[ord(character)] = kind
    return bytes(kinds)
