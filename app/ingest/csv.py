"""CSV with a header row: numbers, missing numbers, and texts that become class codes."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BufferedReader
from math import prod

from app.ingest.columns import ColumnSet, pointer_to
from app.ingest.columns_spec import parse_columns_spec
from app.ingest.csv_cells import Expected, parse_cells
from app.ingest.csv_records import RecordReader, Records
from app.ingest.errors import IngestError
from app.ingest.options import IngestOptions
from app.ingest.values import ColumnPlan, ValueColumn


@dataclass(frozen=True, slots=True)
class _Group:
    """Consecutive cells of a record that make one value of a column."""

    column: ValueColumn
    start: int
    stop: int


def read_csv(file: BufferedReader, _size_bytes: int, columns: ColumnSet, options: IngestOptions) -> None:
    """Read header and records; `options.columns_spec` names, groups and types the columns instead of the header."""
    records = RecordReader(file, columns.limits)
    names = records.header()
    if not names:
        raise IngestError("empty", "", "the file is empty, or its first line is; that line must name the columns")
    columns.check_count(len(names))
    groups = _groups(names, options.columns_spec, columns)
    rows = 0
    for block in records.blocks(len(names)):
        rows += len(block.lines)
        for group in groups:
            _add(block, group)
    if not rows:
        raise IngestError("no_rows", "", "the file has a header and no rows; a data set needs at least one")
    for group in groups:
        group.column.finish()


def _groups(names: Sequence[str], spec: str | None, columns: ColumnSet) -> list[_Group]:
    plans = [ColumnPlan(name) for name in names] if spec is None else parse_columns_spec(spec)
    covered = sum(prod(plan.shape) for plan in plans)
    if covered != len(names):
        detail = f"the columns option speaks of {covered} columns and the file has {len(names)}; make them equal"
        raise IngestError("bad_columns", "/columns", detail)
    groups: list[_Group] = []
    seen: set[str] = set()
    start = 0
    for number, plan in enumerate(plans, 1):
        where = f"column {number}" + (" of the header" if spec is None else " of the columns option")
        column = ValueColumn(plan, columns, where)
        if plan.name in seen:
            detail = f"{where}: {plan.name!r} is taken; rename one"
            raise IngestError("duplicate_name", pointer_to(plan.name), detail)
        seen.add(plan.name)
        stop = start + prod(plan.shape)
        groups.append(_Group(column, start, stop))
        start = stop
    return groups


def _add(block: Records, group: _Group) -> None:
    column = group.column
    cells = block.columns(group.start, group.stop)
    width = group.stop - group.start

    def locate(index: int) -> str:
        return f"line {block.lines[index // width]}"

    if column.takes_text:
        column.add(cells, locate)
        return
    expected = Expected(column.plan.dtype, number=column.takes_text is False, pointer=pointer_to(column.plan.name))
    column.add(parse_cells(cells, expected, locate, numeric=block.numeric), locate)
