"""The `columns` option of a CSV upload: which cells of a record make which column of the dataset.

    SPEC   = COLUMN ("," COLUMN)*
    COLUMN = NAME ":" DTYPE ["[" SIZE ("," SIZE)* "]"] ["=" SOURCE ("," SOURCE)*]
    SOURCE = TEXT | TEXT ".." TEXT

`x:float32[4]=sepal_length..petal_width,species:class` makes a tensor of four columns and takes a fifth one under its
own name. A source is a name of the header, a range the names from one to another in the order of the header. A name
that holds a comma, a colon, an equals sign, a bracket or a double quote is put in double quotes, which are doubled
inside.
"""

import re
from dataclasses import dataclass
from math import prod

from app.ingest.errors import IngestError
from app.ingest.values import CLASS, NUMERIC_DTYPES, ColumnPlan

_MAX_CHARACTERS = 64 << 10
_TEXT = r'[^,:=\[\]"]{1,100}'
_QUOTED = r'"(?:[^"]|""){1,200}"'
_COLUMN = re.compile(rf"({_TEXT}):([a-z0-9]{{1,10}})(?:\[(\d{{1,6}}(?:,\d{{1,6}}){{0,15}})\])?(?==|,|\Z)", re.ASCII)
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
    """A column of the dataset, and the columns of the file that it is made of; None: not said."""

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
        plan = _plan(match[1], match[2], match[3])
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
