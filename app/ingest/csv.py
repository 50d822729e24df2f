"""CSV: numbers, missing numbers, truth values, and texts that become class codes; with or without a header row."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BufferedReader

from app.ingest.columns import ColumnSet, pointer_to
from app.ingest.csv_cells import Expected, parse_cells
from app.ingest.csv_header import (
    CellGroup,
    check_delimiter,
    default_names,
    group_by_name,
    group_by_position,
    has_header,
    parse_columns_spec,
    unclear_header,
)
from app.ingest.csv_records import RecordReader, Records
from app.ingest.limits import IngestError, IngestOptions
from app.ingest.values import ColumnPlan, ValueColumn


@dataclass(frozen=True, slots=True)
class _Reading:
    """A column that is being written, the cells of a record that are for it, and its name if that may be a value."""

    column: ValueColumn
    cells: tuple[int, ...]
    doubtful_name: str | None


def read_csv(file: BufferedReader, _size_bytes: int, columns: ColumnSet, options: IngestOptions) -> None:
    """Read the records; `options.columns_spec` selects, groups and types the columns by name, or by position if the
    file has no header (`options.header`).
    """
    records = RecordReader(file, columns.limits)
    first = records.first()
    if not first:
        raise IngestError("empty", "", "the file is empty, or its first line is; that line must name the columns")
    columns.check_count(len(first))
    selections = None if options.columns_spec is None else parse_columns_spec(options.columns_spec)
    named = has_header(first, selections, options.header)
    if selections is None:
        check_delimiter(first)
        names = first if named else default_names(len(first))
        groups = [CellGroup(ColumnPlan(name), (place,)) for place, name in enumerate(names)]
    elif named:
        groups = group_by_name(first, selections)
    else:
        groups = group_by_position(len(first), selections)
    doubtful = named and options.header == "auto" and selections is None
    where = "the columns option" if selections else "line 1"
    readings = _open(groups, columns, where, doubtful=doubtful)
    if not named:
        records.rewind()
    _read_rows(records, len(first), readings)


def _open(groups: Sequence[CellGroup], columns: ColumnSet, where: str, *, doubtful: bool) -> list[_Reading]:
    readings: list[_Reading] = []
    seen: set[str] = set()
    for number, group in enumerate(groups, 1):
        name = group.plan.name
        column = ValueColumn(group.plan, columns, f"column {number} of {where}")
        if name in seen:
            advice = "rename one, or say header=false if line 1 is data" if doubtful else "rename one"
            detail = f"column {number} of {where}: {name!r} is taken; {advice}"
            raise IngestError("duplicate_name", pointer_to(name), detail)
        seen.add(name)
        readings.append(_Reading(column, group.cells, name if doubtful else None))
    return readings


def _read_rows(records: RecordReader, width: int, readings: Sequence[_Reading]) -> None:
    rows = 0
    for block in records.blocks(width):
        rows += len(block.lines)
        for reading in readings:
            _add(block, reading)
    if not rows:
        raise IngestError("no_rows", "", "the file has a header and no rows; a data set needs at least one")
    classes = [reading.column.finish() for reading in readings]
    if all(classes):  # a number or truth value below a text in line 1 shows that this is a name
        for reading, names in zip(readings, classes, strict=True):
            if reading.doubtful_name in names:
                raise unclear_header(reading.doubtful_name)


def _add(block: Records, reading: _Reading) -> None:
    column = reading.column
    cells = block.columns(reading.cells)
    width = len(reading.cells)

    def locate(index: int) -> str:
        return f"line {block.lines[index // width]}"

    if column.takes_text:
        column.add(cells, locate)
        return
    expected = Expected(column.plan.dtype, number=column.takes_text is False, pointer=pointer_to(column.plan.name))
    column.add(parse_cells(cells, expected, locate, numeric=block.numeric), locate)
