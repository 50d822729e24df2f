"""CSV cells to values, by a strict spelling of numbers.

A missing number is an empty cell or `nan`. Refused are `1_000`, ` 5 `, `inf`, `1e400` and digits of other scripts,
which Python's own `int` and `float` accept.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np

from app.ingest.classes import Locate, reads_as_number
from app.ingest.errors import IngestError
from app.ingest.values import Block

_SEPARATOR = "\0"  # in no cell: NUL is refused where lines are decoded
# Over these characters `int` and `float` accept just the strict spellings, so one scan checks a whole column.
_NUMERIC = re.compile(rf"[0-9+\-.eE{_SEPARATOR}]*+")
_MISSING = frozenset({"", "nan", "NaN", "NAN"})


@dataclass(frozen=True, slots=True)
class Expected:
    """What a column takes: the declared `dtype`, if any, and whether texts are refused (`number`)."""

    dtype: str | None
    number: bool
    pointer: str


def parse_cells(cells: list[str], expected: Expected, locate: Locate, *, numeric: bool) -> Block:
    """Values of the cells of one column: whole numbers, numbers, or texts if no cell is a number.

    `numeric` promises that the cells hold no other characters than numbers do.
    """
    if numeric or _NUMERIC.fullmatch(_SEPARATOR.join(cells)):
        block = _parse_numbers(cells, expected.dtype)
        if block is not None:
            return block
    return _parse_mixed(cells, expected, locate)


def _parse_numbers(cells: list[str], dtype: str | None) -> Block | None:
    """Numbers of strictly spelled cells, some of which may be empty; None if a cell is anything else ("1-2")."""
    whole = np.uint64 if dtype == "uint64" else np.int64
    try:
        return np.fromiter(map(int, cells), whole, len(cells))
    except (ValueError, OverflowError):
        pass  # a cell has a point, is missing, or exceeds 64 bits
    try:
        numbers = np.fromiter(map(float, cells if all(cells) else [cell or "nan" for cell in cells]), np.float64)
    except ValueError:
        return None
    return None if np.isinf(numbers).any() else numbers


def _parse_mixed(cells: list[str], expected: Expected, locate: Locate) -> Block:
    """Tell numbers, missing ones and texts apart, cell by cell."""
    odd = [k for k, cell in enumerate(cells) if cell not in _MISSING and not _is_number(cell)]
    if not odd:
        return np.array([nan if cell in _MISSING else float(cell) for cell in cells], np.float64)
    first = odd[0]
    if expected.number or reads_as_number(cells[first]):
        raise _bad_number(cells[first], expected.pointer, locate(first))
    if len(odd) < len(cells):
        raise _mixed(cells, first, expected.pointer, locate)
    return cells


def _is_number(cell: str) -> bool:
    return _NUMERIC.fullmatch(cell) is not None and reads_as_number(cell) and isfinite(float(cell))


def _mixed(cells: Sequence[str], odd: int, pointer: str, locate: Locate) -> IngestError:
    if any(_is_number(cell) for cell in cells):
        detail = f"{locate(odd)}: text in a column of numbers; correct it, or declare the column as NAME:class"
        return IngestError("mixed_types", pointer, detail)
    missing = next(k for k, cell in enumerate(cells) if cell in _MISSING)
    return IngestError("missing_value", pointer, f"{locate(missing)}: text is missing; write a name for this class")


def _bad_number(cell: str, pointer: str, where: str) -> IngestError:
    if _NUMERIC.fullmatch(cell) and reads_as_number(cell):
        return IngestError("number_out_of_range", pointer, f"{where}: the number does not fit float64")
    detail = f"{where}: not a number; write 1000 or 1e3, digits 0 to 9, no _, no spaces; leave a missing one empty"
    return IngestError("bad_number", pointer, detail)
