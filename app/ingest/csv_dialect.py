"""Dialects of CSV files: the character between cells, the decimal point and the encoding."""

import re
from dataclasses import dataclass
from typing import Literal

from app.ingest.limits import IngestError, IngestOptions
from app.ingest.sources import line_pointer

Decimal = Literal["point", "comma"]
Encoding = Literal["utf-8", "latin-1", "windows-1252"]

DELIMITERS: dict[str, str] = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
SAMPLE_BYTES = 1 << 16
SAMPLE_LINES = 50
_QUOTED = re.compile(rb'"[^"]*"')
_DECIMAL = re.compile(r"[+-]?(?:\d+(?:,\d*)?|,\d+)(?:[eE][+-]?\d+)?\Z", re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:[.\s'\u2019\u00a0\u202f]\d{3})+(?:,\d*)?\Z", re.ASCII)
ZIP, OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
"""How the files of Excel begin: .xlsx is a zip file, .xls a compound file."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a file is written; `delimiter` is one ASCII character, as are line ends and quotes in every encoding."""

    delimiter: str = ","
    decimal: Decimal = "point"
    encoding: Encoding = "utf-8"


def detect_dialect(head: bytes, options: IngestOptions) -> Dialect:
    """Return the dialect of a file that begins with `head`: as the options say, else by the first lines.

    A comma is taken if it stands equally often in all of them, else the one other character that does.

    Raises:
        IngestError: a workbook of Excel, several characters that may separate cells, or options that conflict.
    """
    if head.startswith((ZIP, OLE)):
        detail = "this is a workbook (Excel) or a zip file; export the sheet as CSV UTF-8, or save it as Parquet"
        raise IngestError("bad_format", "", detail)
    delimiter = _delimiter(head, options)
    if delimiter == "," and options.decimal == "comma":
        detail = "a comma cannot separate cells and begin fractions; say what separates cells: delimiter=semicolon"
        raise IngestError("conflict", "/decimal", detail)
    return Dialect(delimiter, options.decimal, options.encoding)


def _delimiter(head: bytes, options: IngestOptions) -> str:
    if options.delimiter == "auto":
        return _detect_delimiter(head, options.decimal)
    return DELIMITERS.get(options.delimiter, options.delimiter)


def _detect_delimiter(head: bytes, decimal: str) -> str:
    lines = _QUOTED.sub(b"", head).split(b"\n")
    # The last line of the sample may be cut.
    lines = [line for line in (lines[:-1] or lines)[:SAMPLE_LINES] if line.strip()]
    marks = {name: mark.encode() for name, mark in DELIMITERS.items() if not (mark == "," and decimal == "comma")}
    counts = {name: {line.count(mark) for line in lines} for name, mark in marks.items()}
    regular = [name for name, found in counts.items() if len(found) == 1 and found != {0}]
    if len(regular) > 1:
        detail = f"several characters may separate the cells; say one: delimiter={' or delimiter='.join(regular)}"
        raise IngestError("delimiter_unclear", "/delimiter", detail)
    if regular:
        return DELIMITERS[regular[0]]
    first = lines[0] if lines else b""
    if first.count(b",") or decimal == "comma":
        return "," if decimal == "point" else ";"
    return next((mark for mark in (";", "\t", "|") if mark.encode() in first), ",")


def with_points(cells: list[str], line: int, pointer: str) -> list[str]:
    """Return cells with decimal commas in numbers replaced by points; texts remain.

    Raises:
        IngestError: a number with separators of thousands.
    """
    made = []
    for cell in cells:
        if "," in cell and _DECIMAL.match(cell):
            made.append(cell.replace(",", "."))
        elif _GROUPED.match(cell):
            detail = f"from line {line} on: separators of thousands; write 1234,5 without them, or declare NAME:class"
            raise IngestError("bad_number", pointer or line_pointer(line), detail)
        else:
            made.append(cell)
    return made
