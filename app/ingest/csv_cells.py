"""CSV cells to values, by a strict notation of numbers.

A missing number is an empty cell, `nan`, `NA` or `null`. Refused are `1_000`, ` 5 `, `inf`, `1e400` and digits of other
scripts, which Python's own `int` and `float` accept, and numbers other than 0 that float64 reads as 0.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np
from numpy.typing import NDArray

from app.ingest.classes import MISSING, OR_DECLARE, Locate, looks_like_number, reads_as_number
from app.ingest.limits import IngestError
from app.ingest.values import CONSECUTIVE, Block, is_rounded, is_vanished, precision_lost

_SEPARATOR = "\0"  # in no cell: NUL is refused where lines are decoded
# Over these characters `int` and `float` accept just the strict notation, so one scan checks a whole column.
_NUMERIC = re.compile(rf"[0-9+\-.eE{_SEPARATOR}]*+")
_TRUTH = {
    **dict.fromkeys(("true", "t", "yes", "y", "on", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "off", "0"), False),
}
"""Words of a column that is declared `bool`, in lower case."""


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
        block = _parse_numbers(cells, expected, locate)
        if block is not None:
            return block
    if expected.dtype == "bool":
        return _parse_truth(cells, expected, locate)
    return _parse_mixed(cells, expected, locate)


def _parse_numbers(cells: list[str], expected: Expected, locate: Locate) -> Block | None:
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


def _parse_truth(cells: list[str], expected: Expected, locate: Locate) -> Block:
    """Truth values of words, in a column that is declared to hold them."""
    values = [_TRUTH.get(cell.lower()) for cell in cells]
    if None not in values:
        return np.array(values, np.bool_)
    odd = values.index(None)
    if cells[odd] in MISSING:
        raise IngestError("missing_value", expected.pointer, f"{locate(odd)}: a truth value is missing")
    detail = f"{locate(odd)}: no truth value; write true, yes, t, y, on, 1 or false, no, f, n, off, 0"
    raise IngestError("bad_value", expected.pointer, detail)


def _parse_mixed(cells: list[str], expected: Expected, locate: Locate) -> Block:
    """Tell numbers, missing ones and texts apart, cell by cell."""
    odd = [k for k, cell in enumerate(cells) if cell not in MISSING and not _is_number(cell)]
    if not odd:
        numbers = np.array([nan if cell in MISSING else float(cell) for cell in cells], np.float64)
        return _kept(numbers, cells, expected, locate)
    first = odd[0]
    if expected.number or looks_like_number(cells[first]):
        raise _bad_number(cells[first], expected, locate(first))
    if len(odd) < len(cells):
        raise _mixed(cells, first, expected.pointer, locate)
    return cells


def _kept(numbers: NDArray[np.float64], cells: Sequence[str], expected: Expected, locate: Locate) -> Block:
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


def _mixed(cells: Sequence[str], odd: int, pointer: str, locate: Locate) -> IngestError:
    if any(_is_number(cell) for cell in cells):
        detail = f"{locate(odd)}: text in a column of numbers; correct it, or declare the column as NAME:class"
        return IngestError("mixed_types", pointer, detail)
    missing = next(k for k, cell in enumerate(cells) if cell in MISSING)
    return IngestError("missing_value", pointer, f"{locate(missing)}: text is missing; write a name for this class")


def _bad_number(cell: str, expected: Expected, where: str) -> IngestError:
    if _NUMERIC.fullmatch(cell) and reads_as_number(cell):
        return IngestError("number_out_of_range", expected.pointer, f"{where}: the number does not fit float64")
    detail = f"{where}: not a number; write 1234.5 or 1e3, digits 0 to 9, no spaces, no _, no separators of thousands"
    advice = OR_DECLARE if expected.dtype is None and not expected.number else ""
    return IngestError("bad_number", expected.pointer, f"{detail}, no unit; leave a missing one empty{advice}")
