"""The client's plan for a CSV file: `x:float32[4],y:int64` makes a tensor of the first four columns."""

import re
from math import prod

from app.ingest.errors import IngestError
from app.ingest.values import CLASS, NUMERIC_DTYPES, ColumnPlan

_MAX_CHARACTERS = 64 << 10
_ITEM = re.compile(r"([^:,\[\]]{1,100}):([a-z0-9]{1,10})(?:\[(\d{1,6}(?:,\d{1,6}){0,15})\])?(?:,(?!\Z)|\Z)", re.ASCII)


def parse_columns_spec(spec: str) -> tuple[ColumnPlan, ...]:
    """Plans in the order of the file's columns; a column may be of any numeric dtype, or `class` (text to codes)."""
    if len(spec) > _MAX_CHARACTERS:
        raise _bad(f"it is longer than {_MAX_CHARACTERS} characters")
    plans: list[ColumnPlan] = []
    position = 0
    while position < len(spec) or not plans:
        match = _ITEM.match(spec, position)
        if match is None:
            raise _bad(f"from character {position + 1} on it is not NAME:DTYPE or NAME:DTYPE[SIZE,...]")
        plans.append(_plan(match[1], match[2], match[3]))
        position = match.end()
    return tuple(plans)


def _plan(name: str, dtype: str, sizes: str | None) -> ColumnPlan:
    if dtype != CLASS and dtype not in NUMERIC_DTYPES:
        raise _bad(f"a dtype is not one of {', '.join((*NUMERIC_DTYPES, CLASS))}")
    shape = tuple(int(size) for size in sizes.split(",")) if sizes else ()
    if prod(shape) == 0 or (shape and dtype == CLASS):
        raise _bad("a size is 0, or a class has sizes")
    return ColumnPlan(name, dtype, shape)


def _bad(why: str) -> IngestError:
    return IngestError("bad_columns", "/columns", f"the columns option cannot be used: {why}")
