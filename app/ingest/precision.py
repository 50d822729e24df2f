"""Which numbers a float type holds exactly.

A column whose dtype is not declared keeps every number as it was written: whole numbers as int64, others as float32 if
that holds each of them exactly and as float64 if not. A whole number that float64 would round is refused beside
fractions or missing values: ids that differ must not become equal.
"""

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.ingest.errors import IngestError

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
CONSECUTIVE = 2**53
"""float64 holds all whole numbers up to this one."""
_LONG = 300
_CONSECUTIVE = {FLOAT32: 2**24, FLOAT64: CONSECUTIVE}


def inexact(block: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[np.bool_] | None:
    """Return which numbers of `block` (int64 or float64) change when cast to a float `dtype`; None if none does."""
    if not block.size:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        if block.dtype.kind == "f":
            changed = (block.astype(dtype) != block) & ~np.isnan(block)
        elif max(-int(block.min()), int(block.max())) <= _CONSECUTIVE[dtype]:
            return None
        else:
            cast = block.astype(dtype).astype(FLOAT64)
            below = cast < 2.0**63  # casting 2^63 back would overflow
            changed = ~below | (np.where(below, cast, 0).astype(np.int64) != block)
    return changed if changed.any() else None


def is_rounded(text: str, number: float) -> bool:
    """Return whether the text of a number, without an exponent, has a whole part that float64 rounds."""
    return abs(number) >= CONSECUTIVE and "e" not in text.lower() and Decimal(text) != Decimal(number)


def is_vanished(text: str, number: float) -> bool:
    """Return whether the text of another number, with an exponent or hundreds of digits, is read as 0."""
    if number != 0 or ("e" not in text and "E" not in text and len(text) < _LONG):
        return False
    return not set(text.lower().partition("e")[0]).isdisjoint("123456789")


def precision_lost(pointer: str, where: str) -> IngestError:
    """Return the error of a whole number that float64 would round, in a column that float64 is needed for."""
    detail = f"{where}: a whole number beyond 2^53 in a column with fractions or missing values, which float64 rounds"
    detail = f"{detail}; declare float64 to have it rounded, class to keep ids apart, or leave no value missing"
    return IngestError("precision_lost", pointer, detail)
