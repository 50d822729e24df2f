"""The first line of a CSV file: whether it names the columns, and which of them make a column of the dataset.

With `header=auto` a line is a header if it names what the `columns` option asks for, or if no cell of it is a number;
in a file of texts only, none of the names may be a value of its column too.
It is data if it holds a number that is no name (a fraction, a sign, an exponent, the same number twice). A line of
different whole numbers could be either (years, the numbers that pandas gives to columns without names): it is data if
`columns` names the cells by position and they are not counted up from 0 or, as years are, from 1000 or more. Anything
else is refused, and the client says `header=true` or `header=false`.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from app.ingest.classes import MISSING, reads_as_number
from app.ingest.columns_spec import ColumnSelection, Source, bad_columns
from app.ingest.errors import IngestError
from app.ingest.text_lines import line_pointer
from app.ingest.values import ColumnPlan

_FIRST_YEAR = 1000
_SHOWN_CHARACTERS = 64


@dataclass(frozen=True, slots=True)
class CellGroup:
    """A column of the dataset, and the places of the cells of a record that make one value of it, row-major."""

    plan: ColumnPlan
    cells: tuple[int, ...]


def has_header(first: Sequence[str], selections: Sequence[ColumnSelection] | None, header: str) -> bool:
    """Decide whether the cells `first` of line 1 are names; `header` is auto, true or false.

    Raises:
        IngestError: `header_unclear`: with auto, line 1 could be names as well as data.
        IngestError: `bad_columns`: columns are selected by name in a file without a header.
    """
    by_name = any(selection.sources is not None for selection in selections or ())
    if header == "false" and by_name:
        raise bad_columns("it takes columns by their names (=), and header=false says that the file has no names")
    if header != "auto":
        return header == "true"
    if by_name or any(selection.plan.name in first for selection in selections or ()):
        return True
    numbers = [cell for cell in first if cell not in MISSING and reads_as_number(cell)]
    if not numbers:
        return True
    if len(set(numbers)) < len(numbers) or not all(number.isascii() and number.isdigit() for number in numbers):
        return False
    if selections is not None and not _counts_up(numbers):
        return False
    detail = (
        "line 1 holds whole numbers, which may be names of columns as well as data; say header=true or header=false"
    )
    raise IngestError("header_unclear", "/header", detail)


def _counts_up(numbers: Sequence[str]) -> bool:
    """Tell whether whole numbers are as those by which columns are called: 0, 1, 2 ... or years."""
    start = int(numbers[0])
    consecutive = all(int(number) == start + k for k, number in enumerate(numbers))
    return consecutive and (start == 0 or start >= _FIRST_YEAR)


def default_names(width: int) -> list[str]:
    """Return the names of the columns of a file that has none."""
    return [f"column_{number}" for number in range(1, width + 1)]


def group_by_name(names: Sequence[str], selections: Sequence[ColumnSelection]) -> list[CellGroup]:
    """Resolve the names that `selections` ask for in the header `names`.

    Raises:
        IngestError: `bad_columns`: a name is unknown (with the nearest one), stands twice in the header or in one
            column, or a column has more or fewer sources than its shape has elements.
    """
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        places[name] = -1 if name in places else place
    return [CellGroup(selection.plan, _cells(selection, names, places)) for selection in selections]


def _cells(selection: ColumnSelection, names: Sequence[str], places: dict[str, int]) -> tuple[int, ...]:
    plan = selection.plan
    wanted = prod(plan.shape)
    if selection.sources is None and wanted > 1:
        detail = f"{plan.name!r} takes {wanted} columns of the file; name them, as in {_format_plan(plan)}=FIRST..LAST"
        raise bad_columns(f"{detail}, or say header=false if line 1 is data")
    sources = (Source(plan.name),) if selection.sources is None else selection.sources
    cells = [cell for source in sources for cell in _places(source, names, places)]
    if len(cells) != wanted:
        raise bad_columns(f"{_format_plan(plan)} takes {wanted} columns of the file, and {len(cells)} are named")
    if len(set(cells)) < len(cells):
        raise bad_columns(f"{_format_plan(plan)} takes a column of the file twice")
    return tuple(cells)


def _places(source: Source, names: Sequence[str], places: dict[str, int]) -> range:
    first, last = source.text, source.last
    if last is None:
        before, points, after = first.partition("..")
        if first in places or not (before and points and after):
            place = _place(first, names, places)
            return range(place, place + 1)
        first, last = before, after
    start, end = _place(first, names, places), _place(last, names, places)
    if end < start:
        raise bad_columns(f"column {_shown(last)} stands before {_shown(first)} in the header; turn the range around")
    return range(start, end + 1)


def _place(name: str, names: Sequence[str], places: dict[str, int]) -> int:
    place = places.get(name)
    if place is None:
        near = [close for close in difflib.get_close_matches(name, names, 3) if close.isprintable()]
        hint = f"; did you mean {_shown(near[0])}?" if near else ""
        advice = "; if line 1 is data, say header=false"
        raise bad_columns(f"the header has no column {_shown(name)}{hint or advice}")
    if place < 0:
        raise bad_columns(f"the header has several columns {_shown(name)}; rename them")
    return place


def group_by_position(width: int, selections: Sequence[ColumnSelection]) -> list[CellGroup]:
    """Divide the `width` cells of a record among `selections`, in order.

    Raises:
        IngestError: `bad_columns`: they take more or fewer cells than there are.
    """
    covered = sum(prod(selection.plan.shape) for selection in selections)
    if covered != width:
        detail = f"the columns option speaks of {covered} columns and the file has {width}; make them equal"
        raise IngestError("bad_columns", "/columns", detail)
    groups = []
    start = 0
    for selection in selections:
        stop = start + prod(selection.plan.shape)
        groups.append(CellGroup(selection.plan, tuple(range(start, stop))))
        start = stop
    return groups


def check_delimiter(first: Sequence[str]) -> None:
    """Refuse a file whose first line holds no comma, and another character that separates cells in such files."""
    if len(first) == 1 and any(mark in first[0] for mark in ";\t|"):
        detail = "line 1 holds no comma, and a semicolon, tab or bar; save the file with commas between the cells"
        raise IngestError("bad_name", line_pointer(1), detail)


def unclear_header(name: str) -> IngestError:
    """Return the error of a line 1 that was taken for names, one of which is also a value of its column."""
    detail = (
        f"{name!r} in line 1 is also a value of its column; say header=true if line 1 names the columns, else false"
    )
    return IngestError("header_unclear", "/header", detail)


def _format_plan(plan: ColumnPlan) -> str:
    return f"{plan.name}:{plan.dtype}" + (f"[{','.join(map(str, plan.shape))}]" if plan.shape else "")


def _shown(name: str) -> str:
    return repr(name[:_SHOWN_CHARACTERS])
