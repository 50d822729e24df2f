"""The records of a CSV file by RFC 4180: commas, double quotes, LF or CRLF."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader
from itertools import chain
from typing import Any

from app.ingest.csv_arrow import ArrowRecordReader, ArrowRecords
from app.ingest.csv_dialect import Dialect
from app.ingest.limits import IngestError, IngestLimits, too_large
from app.ingest.sources import BOM, decode, line_pointer

_BLOCK_BYTES, _BLOCK_BYTES_MAX = 1 << 20, 4 << 20
_COLUMN_BYTES = 16 << 10
"""About as many bytes of each column are in a block, within the bounds above: a column costs time in every one."""
_NUMBERS = b"0123456789+-.eE\n"


@dataclass(frozen=True, slots=True)
class Records:
    """Consecutive records of `width` cells, row after row in `cells`, and the line on which each one starts.

    `numeric` promises that no cell holds a character that numbers do not have.
    """

    cells: list[str]
    width: int
    lines: Sequence[int]
    numeric: bool

    def columns(self, places: Sequence[int]) -> list[str]:
        """Return the cells at some places of each record, in row-major order."""
        start, count = places[0], len(places)
        if count == 1:
            return self.cells[start :: self.width]
        if tuple(places) != tuple(range(start, start + count)):
            return list(chain.from_iterable(zip(*(self.cells[place :: self.width] for place in places), strict=True)))
        if count == self.width:
            return self.cells
        rows = range(start, len(self.cells), self.width)
        return list(chain.from_iterable(self.cells[first : first + count] for first in rows))


class RecordReader:
    """Reads the first record, then the others block by block."""

    def __init__(self, file: BufferedReader, limits: IngestLimits, dialect: Dialect | None = None) -> None:
        self._file = file
        self._limits = limits
        dialect = dialect or Dialect()
        self._encoding = dialect.encoding
        self._delimiter = dialect.delimiter
        self._decimal_comma = dialect.decimal == "comma"
        mark = dialect.delimiter.encode()
        self._not_separators = bytes(set(range(256)) - set(mark + b"\n"))
        self._numbers_and_separators = _NUMBERS + mark
        escaped = re.escape(dialect.delimiter)
        self._quoted = re.compile(rf'"([^"]*+(?:""[^"]*+)*+)"(?={escaped}|\Z)')
        self._plain = re.compile(rf'[^"{escaped}]*+(?={escaped}|\Z)')
        self._arrow: ArrowRecordReader | None = None
        self._line = 1
        self._blank = 0
        self._start = len(BOM) if file.read(len(BOM)) == BOM else 0
        self._file.seek(self._start)

    def first(self) -> list[str]:
        """Return the cells of the first record; none if the file, or its first line, is empty."""
        first = list(self._records(self._whole_records(0)))
        return first[0][1] if first else []

    def rewind(self) -> None:
        """Go back to the first record, so that it is read as the others are."""
        self._file.seek(self._start)
        self._line, self._blank = 1, 0

    def use_arrow(self, arrow: Any, width: int, missing: Sequence[str]) -> None:
        """Have further blocks read by pyarrow where that is certain to read the same."""
        self._arrow = ArrowRecordReader(arrow, width, self._delimiter, missing, decimal_comma=self._decimal_comma)

    def blocks(self, width: int) -> Iterator[Records | ArrowRecords]:
        """Yield all further records, each of which must have `width` cells."""
        row_separators = self._delimiter.encode() * (width - 1) + b"\n"
        size = max(_BLOCK_BYTES, min(width * _COLUMN_BYTES, _BLOCK_BYTES_MAX))
        while data := self._whole_records(min(size, self._limits.max_record_bytes)):
            block = self._regular_block(data, width, row_separators) or self._careful_block(data, width)
            if block.lines:
                yield block

    def _whole_records(self, size: int) -> bytes:
        """About `size` bytes that end with a record, which is where the quotes so far are balanced."""
        most = self._limits.max_record_bytes
        parts = [self._file.read(size)]
        quotes = parts[0].count(b'"')
        more = 0
        while line := self._file.readline(most + 1 - more):
            parts.append(line)
            more += len(line)
            if more > most:
                raise too_large("record_too_long", line_pointer(self._line), "bytes in one record", most)
            quotes += line.count(b'"')
            if quotes % 2 == 0:
                break
        return b"".join(parts)

    def _regular_block(self, data: bytes, width: int, row_separators: bytes) -> Records | ArrowRecords | None:
        """The usual case, at speed: no blank lines, every record on a line of its own."""
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        if not data.endswith(b"\n"):
            data += b"\n"
        if self._blank or b"\r" in data or b"\n\n" in data or data.startswith(b"\n"):
            return None
        lines = range(self._line, self._line + data.count(b"\n"))
        block = self._arrow_block(data, lines) or self._plain_block(data, width, row_separators, lines)
        if block is not None:
            self._line = lines.stop
        return block

    def _arrow_block(self, data: bytes, lines: range) -> ArrowRecords | None:
        if self._arrow is None:
            return None
        text = decode(data, lines.start, self._encoding)
        return self._arrow.read(data if self._encoding == "utf-8" else text.encode(), lines)

    def _plain_block(self, data: bytes, width: int, row_separators: bytes, lines: range) -> Records | None:
        """Read records of the right width without quotes."""
        if b'"' in data or data.translate(None, self._not_separators) != row_separators * len(lines):
            return None
        numeric = not data.translate(None, self._numbers_and_separators)
        cells = decode(data, lines.start, self._encoding)[:-1].replace("\n", self._delimiter).split(self._delimiter)
        return Records(cells, width, lines, numeric)

    def _careful_block(self, data: bytes, width: int) -> Records:
        cells: list[str] = []
        lines: list[int] = []
        for number, record in self._records(data):
            if len(record) != width:
                detail = f"line {number} has {len(record)} cells and line 1 has {width}; make them equal"
                raise IngestError("ragged", line_pointer(number), detail)
            cells += record
            lines.append(number)
        return Records(cells, width, lines, numeric=False)

    def _records(self, data: bytes) -> Iterator[tuple[int, list[str]]]:
        """Line number and cells of every record in `data`; blank lines are taken at the end of the file only."""
        lines = iter(decode(data, self._line, self._encoding).removesuffix("\n").split("\n"))
        for line in lines:
            number = self._line
            record = self._joined(line, lines) if line.count('"') % 2 else line
            self._line += 1
            if not record.removesuffix("\r"):
                self._blank = self._blank or number
            elif self._blank:
                detail = f'line {self._blank} is blank; remove it, or write "" for a missing value'
                raise IngestError("ragged", line_pointer(self._blank), detail)
            else:
                yield number, self._cells(record.removesuffix("\r"), number)

    def _joined(self, first: str, lines: Iterator[str]) -> str:
        """The record that starts with the line `first`, in which a quote is open, and goes on in `lines`."""
        parts = [first]
        number = self._line
        for line in lines:
            self._line += 1
            parts.append(line)
            if line.count('"') % 2:
                return "\n".join(parts)
        raise _bad_quoting("a quote is opened and never closed", number)

    def _cells(self, record: str, number: int) -> list[str]:
        if '"' not in record:
            if "\r" in record:
                raise _bad_quoting("a carriage return within the line; end lines with LF or CRLF", number)
            return record.split(self._delimiter)
        cells: list[str] = []
        position = 0
        while position <= len(record):
            quoted = record.startswith('"', position)
            match = (self._quoted if quoted else self._plain).match(record, position)
            if match is None:
                raise _bad_quoting(
                    'a quote within a cell; quote the whole cell and double the quote: "say ""hi"""', number
                )
            cells.append(match[1].replace('""', '"') if quoted else match[0])
            position = match.end() + 1
        return cells


def _bad_quoting(why: str, number: int) -> IngestError:
    return IngestError("bad_quoting", line_pointer(number), f"line {number}: {why}")
