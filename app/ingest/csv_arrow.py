"""Blocks of CSV records as Arrow arrays, read by pyarrow (extra `parquet`) where it is certain to read what we read.

pyarrow divides records into cells and converts texts to numbers. It takes more notations than this service does: what
it would take and we refuse, and all that needs an error message, is left to `csv_records` and `csv`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.ingest.arrow_columns import load_arrow
from app.ingest.classes import MISSING
from app.ingest.sources import BOM
from app.ingest.values import CONSECUTIVE, LONG_NUMBER

_NUMBERS = b"0123456789+-.eE"
_NUMBERS_WITH_COMMA = b"0123456789+-,eE"
_FRACTION = (b".", b",", b"e", b"E")
_ROOM_BYTES = 100 << 20
_QUOTE, _LINE_END = ord('"'), ord("\n")


@cache
def load_csv_arrow() -> Any:
    """Load and return pyarrow with its reader of CSV; None if the extra is not installed."""
    arrow = load_arrow()
    if arrow is not None:
        import_module("pyarrow.csv")
    return arrow


@dataclass(frozen=True, slots=True)
class ArrowRecords:
    """Consecutive records, one on each line: an array of texts for each cell, null where it is empty or missing."""

    arrow: Any
    cells: Sequence[Any]
    lines: range

    @property
    def numeric(self) -> bool:
        """Whether all cells are certain to hold characters of numbers only, as in `Records`."""
        return False

    def columns(self, places: Sequence[int]) -> list[str]:
        """Return the cells at some places of each record, in row-major order."""
        columns = [[cell or "" for cell in self.cells[place].to_pylist()] for place in places]
        return columns[0] if len(columns) == 1 else [cell for row in zip(*columns, strict=True) for cell in row]

    def texts(self, place: int) -> tuple[list[str], NDArray[np.int64]]:
        """Return the different texts of a column in order of appearance, and for each cell its place there or -1."""
        encoded = self.cells[place].dictionary_encode()
        return encoded.dictionary.to_pylist(), encoded.indices.cast("int64").fill_null(-1).to_numpy()

    def numbers(self, places: Sequence[int], whole: str, *, exact: bool, decimal_comma: bool) -> NDArray[Any] | None:
        """Return numbers in row-major order: of the dtype `whole` if all cells are such, else float64 with NaN.

        None if a cell may be anything else, or closer to 0 than any float64, or, with `exact`, if float64 may round it.
        """
        arrays = [_written_as_numbers(self.arrow, self.cells[place], decimal_comma) for place in places]
        if any(array is None for array in arrays):
            return None
        columns = [self._parse(array, whole, exact=exact) for array in arrays]
        if len({column.dtype for column in columns if column is not None}) > 1:
            # Not by casting whole numbers: -0 has a sign as a float only.
            columns = [self._parse(array, None, exact=exact) for array in arrays]
        read = [column for column in columns if column is not None]
        if len(read) < len(places):
            return None
        return read[0] if len(read) == 1 else np.stack(read, axis=1).reshape(-1)

    def _parse(self, array: Any, whole: str | None, *, exact: bool) -> NDArray[Any] | None:
        """Return the numbers of a column, all whole or all of float64; without `whole` the latter."""
        written = _text_bytes(array)
        try:
            if whole and not array.null_count and not any(mark in written for mark in _FRACTION):
                return np.asarray(array.cast(whole).to_numpy())
            numbers: NDArray[np.float64] = array.cast("float64").to_numpy(zero_copy_only=False)
        except self.arrow.ArrowInvalid:
            return None
        if np.isinf(numbers).any() or (exact and not _is_exact(numbers)):
            return None
        return None if _may_vanish(self.arrow, array, written, numbers) else numbers


def _written_as_numbers(arrow: Any, array: Any, decimal_comma: bool) -> Any:
    """Return texts that have no characters but those of numbers, with a point before the fraction; None if they do."""
    allowed = _NUMBERS_WITH_COMMA if decimal_comma else _NUMBERS
    if _text_bytes(array).translate(None, allowed):
        missing = arrow.compute.is_in(array, arrow.array(sorted(MISSING), array.type))
        array = arrow.compute.replace_with_mask(array, missing, arrow.scalar(None, array.type))
        if _text_bytes(array).translate(None, allowed):
            return None
    return arrow.compute.replace_substring(array, ",", ".") if decimal_comma else array


def _text_bytes(array: Any) -> bytes:
    """Return the bytes of all texts of an array, one after the other."""
    _, offsets, data = array.buffers()
    places = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
    return b"" if data is None else bytes(memoryview(data)[places[0] : places[-1]])


def _is_exact(numbers: NDArray[np.float64]) -> bool:
    return not (np.abs(numbers) >= CONSECUTIVE).any()


def _may_vanish(arrow: Any, array: Any, written: bytes, numbers: NDArray[np.float64]) -> bool:
    """Return whether a number that is read as 0 is written as another one."""
    zeros = np.flatnonzero(numbers == 0)
    if not zeros.size or not (b"e" in written or b"E" in written or _longest(arrow, array) >= LONG_NUMBER):
        return False
    return bool(arrow.compute.any(arrow.compute.match_substring_regex(array.take(zeros), "^[^eE]*[1-9]")).as_py())


def _longest(arrow: Any, array: Any) -> int:
    return arrow.compute.max(arrow.compute.binary_length(array)).as_py() or 0


class ArrowRecordReader:
    """Divides blocks of records of `width` cells, `missing` ones of which become null."""

    def __init__(self, arrow: Any, width: int, delimiter: str, missing: Sequence[str]) -> None:
        self._arrow = arrow
        self._mark = ord(delimiter)
        self._names = [str(place) for place in range(width)]
        csv = arrow.csv
        self._plain = csv.ParseOptions(delimiter=delimiter, quote_char=False, ignore_empty_lines=False)
        self._quoted = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=False)
        self._convert = csv.ConvertOptions(
            column_types=dict.fromkeys(self._names, arrow.string()),
            check_utf8=False,
            null_values=["", *missing],
            strings_can_be_null=True,
        )

    def has_room(self, data: bytes) -> bool:
        """Return whether there is memory for a block: pyarrow reserves the bytes of all cells for each column."""
        return len(data) * len(self._names) <= _ROOM_BYTES

    def read(self, data: bytes, lines: range) -> ArrowRecords | None:
        """Read UTF-8 whose `lines` all end with a line feed, none of them blank; None if that needs more care."""
        quotes = b'"' in data
        if data.startswith(BOM) or (quotes and not _is_quoted_regularly(data, self._mark)):
            return None
        options = self._arrow.csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=self._names)
        try:
            table = self._arrow.csv.read_csv(
                self._arrow.BufferReader(data), options, self._quoted if quotes else self._plain, self._convert
            )
        except self._arrow.ArrowInvalid:
            return None
        if table.num_rows != len(lines):
            return None
        return ArrowRecords(self._arrow, [column.combine_chunks() for column in table.columns], lines)


def _is_quoted_regularly(data: bytes, mark: int) -> bool:
    """Return whether quotes stand around whole cells, and inside of them only twice (RFC 4180)."""
    characters = np.frombuffer(data, np.uint8)
    places = np.flatnonzero(characters == _QUOTE)
    if len(places) % 2:
        return False
    opened, closed = places[::2], places[1::2]
    before = np.where(opened == 0, _LINE_END, characters[opened - 1])
    # The block ends with a line feed, so that something follows each quote.
    return _are_borders(before, mark) and _are_borders(characters[closed + 1], mark)


def _are_borders(characters: NDArray[np.uint8], mark: int) -> bool:
    return bool(((characters == mark) | (characters == _LINE_END) | (characters == _QUOTE)).all())
