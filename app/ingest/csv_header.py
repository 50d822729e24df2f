"""The header of a CSV file, and the columns that a client asks for.

SPEC   = COLUMN ("," COLUMN)*
    COLUMN = NAME ":" DTYPE ["[" SIZE ("," SIZE)* "]"] ["=" SOURCE ("," SOURCE)*]
    SOURCE = TEXT | TEXT ".." TEXT

`x:float32[4]=sepal_length..petal_width,species:class` makes a tensor of four columns and takes a fifth one under its
own name. A source is a name of the header or the identifier of one, a range the names from one to another in the order
of the header. A name (NAME or TEXT) that holds a comma, a colon, an equals sign, a bracket or a double quote is put in
double quotes, which are doubled inside.

With `header=auto` a line is a header if it names what the `columns` option asks for, or if no cell of it is a number;
in a file of texts only, none of the names may be a value of its column too.
It is data if it holds a number that is no name (a fraction, a sign, an exponent, the same number twice). A line of
different whole numbers could be either (years, the numbers that pandas gives to columns without names): it is data if
`columns` names the cells by position and they are not counted up from 0 or, as years are, from 1000 or more. Anything
else is refused, and the client says `header=true` or `header=false`.
"""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from app.domain.column_labels import column_identifier
from app.ingest.classes import MISSING, reads_as_number
from app.ingest.limits import IngestError
from app.ingest.values import CLASS, NUMERIC_DTYPES, ColumnPlan

_MAX_CHARACTERS = 64 << 10
_TEXT = r'[^,:=\[\]"]{1,100}'
_QUOTED = r'"(?:[^"]|""){1,200}"'
_COLUMN = re.compile(
    rf"({_QUOTED}|{_TEXT}):([a-z0-9]{{1,10}})(?:\[(\d{{1,6}}(?:,\d{{1,6}}){{0,15}})\])?(?==|,|\Z)", re.ASCII
)
_SOURCE = re.compile(rf"(?:({_QUOTED})(?:\.\.({_QUOTED}|{_TEXT}))?|({_TEXT}))(?=,|\Z)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Source:
    """Names of the header: `text`, or those from `text` to `last`.

    An unquoted `a..b` is kept as the text, since a name may contain two points: the header decides.
    """

    text: str
    last: str | None = None


@dataclass(frozen=True, slots=True)
class ColumnSelection:
    """A column of the dataset, and the columns of the file that it is made of; None: not given."""

    plan: ColumnPlan
    sources: tuple[Source, ...] | None = None


def parse_columns_spec(spec: str) -> tuple[ColumnSelection, ...]:
    """Parse the option; a column may be of any numeric dtype, or `class` (text to codes).

    Raises:
        IngestError: `bad_columns`, with the position at which the option stops to be well-formed.
    """
    if len(spec) > _MAX_CHARACTERS:
        raise bad_columns(f"it is longer than {_MAX_CHARACTERS} characters")
    selections: list[ColumnSelection] = []
    position = 0
    while position < len(spec) or not selections:
        match = _COLUMN.match(spec, position)
        if match is None:
            wanted = "NAME:DTYPE, NAME:DTYPE[SIZE,...] or NAME:DTYPE[SIZE,...]=SOURCE,..."
            raise bad_columns(f"from character {position + 1} on it is not {wanted}")
        plan = _plan(_unquoted(match[1]), match[2], match[3])
        sources, position = _sources(spec, match.end())
        selections.append(ColumnSelection(plan, sources))
    return tuple(selections)


def bad_columns(why: str) -> IngestError:
    """Return the error of an option that cannot be used."""
    return IngestError("bad_columns", "/columns", f"the columns option cannot be used: {why}")


def _plan(name: str, dtype: str, sizes: str | None) -> ColumnPlan:
    if dtype != CLASS and dtype not in NUMERIC_DTYPES:
        raise bad_columns(f"a dtype is not one of {', '.join((*NUMERIC_DTYPES, CLASS))}")
    shape = tuple(int(size) for size in sizes.split(",")) if sizes else ()
    if prod(shape) == 0 or (shape and dtype == CLASS):
        raise bad_columns("a size is 0, or a class has sizes")
    return ColumnPlan(name, dtype, shape)


def _sources(spec: str, position: int) -> tuple[tuple[Source, ...] | None, int]:
    """Return the sources of the column that is parsed up to `position`, and where the next column begins."""
    sources: list[Source] = []
    given = spec.startswith("=", position)
    while given:
        match = _SOURCE.match(spec, position + 1)
        if match is None:
            raise bad_columns(f"from character {position + 2} on it is no name of a column; quote an unusual one")
        sources.append(_source(*match.groups()))
        position = match.end()
        if position == len(spec) or _COLUMN.match(spec, position + 1):
            break
    if position == len(spec) - 1:
        raise bad_columns("it ends with a comma")
    return (tuple(sources) if given else None), position + 1


def _source(quoted: str | None, last: str | None, text: str | None) -> Source:
    first = text if quoted is None else _unquoted(quoted)
    assert first is not None, "one of the two forms has matched"
    return Source(first, None if last is None else _unquoted(last))


def _unquoted(text: str) -> str:
    return text[1:-1].replace('""', '"') if text.startswith('"') else text


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
    for place, name in enumerate(names):
        places.setdefault(column_identifier(name), place)
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
