"""CSV: numbers, missing numbers, truth values, and texts that become class codes; with or without a header row."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import BufferedReader
from math import isfinite, nan

import numpy as np
from numpy.typing import NDArray

from app.domain.column_labels import column_identifier
from app.ingest.arrow_columns import load_arrow
from app.ingest.classes import MISSING, OR_DECLARE, Locate, looks_like_number, reads_as_number
from app.ingest.columns import ColumnSet, pointer_to
from app.ingest.csv_arrow import ArrowRecords
from app.ingest.csv_dialect import SAMPLE_BYTES, detect_dialect, with_points
from app.ingest.csv_header import (
    CellGroup,
    default_names,
    group_by_name,
    group_by_position,
    has_header,
    parse_columns_spec,
    unclear_header,
)
from app.ingest.csv_records import RecordReader, Records
from app.ingest.limits import IngestError, IngestOptions
from app.ingest.values import CONSECUTIVE, Block, ColumnPlan, ValueColumn, is_rounded, is_vanished, precision_lost

ARROW_BYTES = 2 << 20
"""Files of fewer bytes are read before pyarrow is loaded."""
_BLANKS = " \t\u00a0"
_SEPARATOR = "\0"  # in no cell: NUL is refused where lines are decoded
# Over these characters `int` and `float` accept just the strict notation, so one scan checks a whole column.
_NUMERIC = re.compile(rf"[0-9+\-.eE{_SEPARATOR}]*+")
_TRUTH = {
    **dict.fromkeys(("true", "t", "yes", "y", "on", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "off", "0"), False),
}
"""Words of a column that is declared `bool`, in lower case."""


@dataclass(frozen=True, slots=True)
class ExpectedColumn:
    """What a column takes: the declared `dtype`, if any, and whether texts are refused (`number`)."""

    dtype: str | None
    number: bool
    pointer: str


def parse_cells(cells: list[str], expected: ExpectedColumn, locate: Locate, *, numeric: bool) -> Block:
    """Values of the cells of one column: whole numbers, numbers, or texts if no cell is a number.

    `numeric` promises that the cells hold no other characters than numbers do.
    """
    if numeric or _NUMERIC.fullmatch(_SEPARATOR.join(cells)):
        block = _parse_numbers(cells, expected, locate)
        if block is not None:
            return block
    if expected.dtype == "bool":
        return _parse_truth(cells, expected, locate)
    return _parse_mixed(cells, expected, locate)


def _parse_numbers(cells: list[str], expected: ExpectedColumn, locate: Locate) -> Block | None:
    """Numbers of strictly written cells, some of which may be empty; None if a cell is anything else ("1-2")."""
    whole = np.uint64 if expected.dtype == "uint64" else np.int64
    try:
        return np.fromiter(map(int, cells), whole, len(cells))
    except (ValueError, OverflowError):
        pass  # a cell has a point, is missing, or exceeds 64 bits
    try:
        numbers = np.fromiter(map(float, cells if all(cells) else [cell or "nan" for cell in cells]), np.float64)
    except ValueError:
        return None
    return None if np.isinf(numbers).any() else _kept(numbers, cells, expected, locate)


def _parse_truth(cells: list[str], expected: ExpectedColumn, locate: Locate) -> Block:
    """Truth values of words, in a column that is declared to hold them."""
    values = [_TRUTH.get(cell.lower()) for cell in cells]
    if None not in values:
        return np.array(values, np.bool_)
    odd = values.index(None)
    if cells[odd] in MISSING:
        raise IngestError("missing_value", expected.pointer, f"{locate(odd)}: a truth value is missing")
    detail = f"{locate(odd)}: no truth value; write true, yes, t, y, on, 1 or false, no, f, n, off, 0"
    raise IngestError("bad_value", expected.pointer, detail)


def _parse_mixed(cells: list[str], expected: ExpectedColumn, locate: Locate) -> Block:
    """Tell numbers, missing ones and texts apart, cell by cell."""
    distinct_numbers = {cell for cell in set(cells) if _is_number(cell)}
    taken = distinct_numbers | MISSING
    odd = [k for k, cell in enumerate(cells) if cell not in taken]
    if not odd:
        numbers = np.array([nan if cell in MISSING else float(cell) for cell in cells], np.float64)
        return _kept(numbers, cells, expected, locate)
    first = odd[0]
    if expected.number or looks_like_number(cells[first]):
        raise _bad_number(cells[first], expected, locate(first))
    if distinct_numbers:
        raise _mixed(first, expected.pointer, locate)
    return cells


def _kept(numbers: NDArray[np.float64], cells: Sequence[str], expected: ExpectedColumn, locate: Locate) -> Block:
    """Return `numbers`, if float64 represents the cells exactly."""
    for k in np.flatnonzero(numbers == 0).tolist():
        if is_vanished(cells[k], 0.0):
            detail = f"{locate(k)}: the number is closer to 0 than any of float64; write 0, or scale the column"
            raise IngestError("number_out_of_range", expected.pointer, detail)
    if expected.dtype is None:
        for k in np.flatnonzero(np.abs(numbers) >= CONSECUTIVE).tolist():
            if is_rounded(cells[k], numbers[k].item()):
                raise precision_lost(expected.pointer, locate(k))
    return numbers


def _is_number(cell: str) -> bool:
    return _NUMERIC.fullmatch(cell) is not None and reads_as_number(cell) and isfinite(float(cell))


def _mixed(odd: int, pointer: str, locate: Locate) -> IngestError:
    detail = f"{locate(odd)}: text in a column of numbers; correct it, say missing=TEXT if it stands for a missing one"
    return IngestError("mixed_types", pointer, f"{detail}, or declare the column as NAME:class")


def _bad_number(cell: str, expected: ExpectedColumn, where: str) -> IngestError:
    if _NUMERIC.fullmatch(cell) and reads_as_number(cell):
        return IngestError("number_out_of_range", expected.pointer, f"{where}: the number does not fit float64")
    detail = f"{where}: not a number; write 1234.5 or 1e3, digits 0 to 9, no spaces, no _, no separators of thousands"
    advice = OR_DECLARE if expected.dtype is None and not expected.number else ""
    advice = f"; if a comma begins the fraction, say decimal=comma{advice}" if "," in cell else advice
    return IngestError("bad_number", expected.pointer, f"{detail}, no unit; leave a missing one empty{advice}")


@dataclass(frozen=True, slots=True)
class _Reading:
    """A column that is being written, the cells of a record that are for it, and its name if that may be a value."""

    column: ValueColumn
    cells: tuple[int, ...]
    doubtful_name: str | None
    missing: frozenset[str] = frozenset()
    decimal_comma: bool = False


def read_csv(file: BufferedReader, size_bytes: int, columns: ColumnSet, options: IngestOptions) -> None:
    """Read the records; `options.columns_spec` selects, groups and types the columns by name, or by position if the
    file has no header (`options.header`).
    """
    dialect = detect_dialect(file.peek(SAMPLE_BYTES)[:SAMPLE_BYTES], options)
    records = RecordReader(file, columns.limits, dialect)
    first = records.first()
    if not first:
        raise IngestError("empty", "", "the file is empty, or its first line is; that line must name the columns")
    columns.check_count(len(first))
    selections = None if options.columns_spec is None else parse_columns_spec(options.columns_spec)
    named = has_header(first, selections, options.header)
    # A cell without a name (the index that pandas writes, a delimiter at the end of lines) is called by its place.
    names = default_names(len(first))
    names = [cell if named and cell.strip(_BLANKS) else own for cell, own in zip(first, names, strict=True)]
    if selections is None:
        groups = [CellGroup(ColumnPlan(name), (place,)) for place, name in enumerate(names)]
    elif named:
        groups = group_by_name(names, selections)
    else:
        groups = group_by_position(len(first), selections)
    doubtful = named and options.header == "auto" and selections is None
    where = "the columns option" if selections else "line 1"
    readings = _open(
        groups, columns, where, doubtful=doubtful, missing=frozenset(options.missing), decimal=dialect.decimal
    )
    if not named:
        records.rewind()
    arrow = load_arrow() if size_bytes >= ARROW_BYTES else None
    if arrow is not None:
        records.use_arrow(arrow, len(first), options.missing)
    _read_rows(records, len(first), readings)


def read_named_rows(
    file: BufferedReader, columns: ColumnSet, options: IngestOptions, taken: Sequence[str]
) -> list[str]:
    """Read a file with a header whose first column names its rows: return the names, and write the other columns.

    They follow the columns `taken`, as none of them may be called.
    """
    dialect = detect_dialect(file.peek(SAMPLE_BYTES)[:SAMPLE_BYTES], options)
    records = RecordReader(file, columns.limits, dialect)
    first = records.first()
    if len(first) < 2:
        raise IngestError("bad_labels", "", "the CSV file needs a header, a column of file names and a further column")
    columns.check_count(len(first))
    found = next((name for name in map(column_identifier, first[1:]) if name in taken), None)
    if found is not None:
        detail = f"a column of the CSV file is called {found!r}; rename it"
        raise IngestError("duplicate_name", pointer_to(found), detail)
    columns.reserve([*taken, *first[1:]])
    groups = [CellGroup(ColumnPlan(name), (place,)) for place, name in enumerate(first[1:], 1)]
    missing = frozenset(options.missing)
    readings = _open(groups, columns, "line 1", doubtful=False, missing=missing, decimal=dialect.decimal)
    names: list[str] = []
    _read_rows(records, len(first), readings, names)
    return names


def _open(
    groups: Sequence[CellGroup],
    columns: ColumnSet,
    where: str,
    *,
    doubtful: bool,
    missing: frozenset[str],
    decimal: str,
) -> list[_Reading]:
    readings: list[_Reading] = []
    decimal_comma = decimal == "comma"
    seen: set[str] = set()
    for number, group in enumerate(groups, 1):
        name = group.plan.name
        column = ValueColumn(group.plan, columns, f"column {number} of {where}")
        if column_identifier(name) in seen:
            advice = "rename one, or say header=false if line 1 is data" if doubtful else "rename one"
            detail = f"column {number} of {where}: {name!r} is taken; {advice}"
            raise IngestError("duplicate_name", pointer_to(name), detail)
        seen.add(column_identifier(name))
        readings.append(_Reading(column, group.cells, name if doubtful else None, missing, decimal_comma))
    return readings


def _read_rows(records: RecordReader, width: int, readings: Sequence[_Reading], names: list[str] | None = None) -> None:
    """Read all records; `names` gets the cells of the first column."""
    rows = 0
    for block in records.blocks(width):
        rows += len(block.lines)
        if names is not None:
            names += block.columns((0,))
        for reading in readings:
            _add(block, reading)
    if not rows:
        raise IngestError("no_rows", "", "the file has a header and no rows; a data set needs at least one")
    classes = [reading.column.finish() for reading in readings]
    if all(classes):  # a number or truth value below a text in line 1 shows that this is a name
        for reading, texts in zip(readings, classes, strict=True):
            if reading.doubtful_name in texts:
                raise unclear_header(reading.doubtful_name)


def _add(block: Records | ArrowRecords, reading: _Reading) -> None:
    column = reading.column
    width = len(reading.cells)

    def locate(index: int) -> str:
        return f"line {block.lines[index // width]}"

    if isinstance(block, ArrowRecords) and _add_arrays(block, reading, locate):
        return
    cells = block.columns(reading.cells)
    if reading.missing:
        cells = ["" if cell in reading.missing else cell for cell in cells]
    if reading.decimal_comma and not column.takes_text:
        cells = with_points(cells, block.lines[0], pointer_to(column.plan.name))
    if column.takes_text:
        column.add(cells, locate)
        return
    expected = ExpectedColumn(
        column.plan.dtype, number=column.takes_text is False, pointer=pointer_to(column.plan.name)
    )
    column.add(parse_cells(cells, expected, locate, numeric=block.numeric), locate)


def _add_arrays(block: ArrowRecords, reading: _Reading, locate: Locate) -> bool:
    """Add the cells of a column if they are texts of a column of texts, or numbers; else return False."""
    column = reading.column
    if column.takes_text:
        if len(reading.cells) > 1:
            return False
        column.add_dictionary(*block.texts(reading.cells[0]), locate)
        return True
    dtype = column.plan.dtype
    if dtype == "bool":
        return False
    whole = "uint64" if dtype == "uint64" else "int64"
    numbers = block.numbers(reading.cells, whole, exact=dtype is None)
    if numbers is not None:
        column.add(numbers, locate)
    return numbers is not None
