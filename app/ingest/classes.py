"""Text columns: every distinct text is a class, and a class is a number."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.ingest.limits import IngestError, IngestLimits

Locate = Callable[[int], str]

MISSING = frozenset({"", "nan", "NaN", "NAN", "NA", "N/A", "n/a", "#N/A", "null", "NULL"})
"""Cells that stand for a missing number; a missing text is an empty cell, or one of the words of `missing=`."""
MISSING_CODE = -1
"""The code of a missing text."""
TRUE, FALSE = frozenset({"true", "True", "TRUE"}), frozenset({"false", "False", "FALSE"})
"""Texts that make a column of truth values if all its texts are among them."""

OR_DECLARE = ", or declare a column of a CSV file as NAME:class"
"""Advice for a column that is not declared."""
_SIGN = "[-+\u2212]?"
_UNIT = "[$%\u20ac\u00a3\u00a5]?"
_DIGITS = r"\d[\d\s.,;|'_\u2019]*+"
_MAGNITUDE = rf"{_DIGITS}(?:[eEdD]{_SIGN}\d+)?|0[xX][0-9a-fA-F]+"
_NUMBER_LIKE = re.compile(rf"\s*+\(?{_SIGN}\s*+{_UNIT}{_SIGN}(?:{_MAGNITUDE})\s*+{_UNIT}\)?\s*+")
_DATE = re.compile(r"\s*(?:\d{1,2}\.\d{1,2}\.(?:\d{4}|\d\d)|\d{4}\.\d{1,2}\.\d{1,2})(?:[T\s].*)?", re.ASCII)
"""Days with points, as in 31.12.2024, which no number is written as."""
_LONGEST_NUMBER = 64


def reads_as_number(text: str) -> bool:
    """Tell whether a lax reader would take `text` for a number: `1_000`, ` 5 `, `inf`, Arabic digits."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def looks_like_number(text: str) -> bool:
    """Tell whether a person would take `text` for a number, or several: `1,234`, `2,5`, `$5`, `5 %`, `0x1f`, `1;2`."""
    if reads_as_number(text):
        return True
    return len(text) <= _LONGEST_NUMBER and _NUMBER_LIKE.fullmatch(text) is not None and not _DATE.fullmatch(text)


class ClassCoder:
    """Codes texts in order of appearance; `sorted_codes` then renumbers the classes in order of their names.

    With `strict`, for a column that is not declared to be of classes, a text is refused that stands for something else:
    a number in another notation, a missing value, or a class with spaces around its name.
    """

    def __init__(self, pointer: str, limits: IngestLimits, *, strict: bool) -> None:
        self._codes: dict[str, int] = {}
        self.missing = False
        self._pointer = pointer
        self._limits = limits
        self._strict = strict

    def encode(self, texts: Sequence[str], locate: Locate) -> NDArray[np.int64]:
        """Provisional codes of `texts`, -1 for an empty one; `locate` gives the place of the k-th one in the file."""
        distinct = set(texts)
        self.missing = self.missing or "" in distinct
        fresh = distinct - self._codes.keys() - {""}
        if fresh:
            for position, text in enumerate(texts):
                if text in fresh:
                    self._add(text, locate(position))
                    fresh.remove(text)
        if "" in distinct:
            codes = {**self._codes, "": MISSING_CODE}
            return np.fromiter(map(codes.__getitem__, texts), np.int64, len(texts))
        return np.fromiter(map(self._codes.__getitem__, texts), np.int64, len(texts))

    def _add(self, text: str, where: str) -> None:
        if len(text) > self._limits.max_class_characters:
            most = self._limits.max_class_characters
            raise IngestError("bad_value", self._pointer, f"{where}: a class name is longer than {most} characters")
        if not text.isprintable():
            raise IngestError("bad_value", self._pointer, f"{where}: the name of a class holds control characters")
        if self._strict:
            self._check_text(text, where)
        if len(self._codes) == self._limits.max_classes:
            most = self._limits.max_classes
            detail = (
                f"more than {most} different texts in a column, by {where}: if they are free text or ids, leave "
                "the column out (in a CSV file by columns=); write dates and numbers as such (Parquet and Arrow have "
                "types for them); put rare texts together as one; or have ADJOINT_MAX_CLASSES raised"
            )
            raise IngestError("too_many_classes", self._pointer, detail, limit=most)
        self._codes[text] = len(self._codes)

    def _check_text(self, text: str, where: str) -> None:
        """Refuse a text that is not certain to name a class."""
        if text in MISSING:
            detail = f"{where}: this may be a missing text or a name; leave missing texts empty, or say missing={text}"
            detail = f"{detail} (several: missing={text},?){OR_DECLARE}"
            raise IngestError("missing_value", self._pointer, detail)
        if looks_like_number(text):
            detail = f"{where}: write numbers as 1234.5 or 1e3, finite, digits 0 to 9, no _, no spaces, no separators"
            raise IngestError("bad_number", self._pointer, f"{detail} of thousands, no unit{OR_DECLARE}")
        if text != text.strip():
            detail = f"{where}: a text begins or ends with a space; remove it{OR_DECLARE}"
            raise IngestError("bad_value", self._pointer, detail)

    def names(self) -> tuple[str, ...]:
        """Return the classes by their final codes."""
        return tuple(sorted(self._codes))

    def truth_values(self) -> Callable[[NDArray[Any]], NDArray[Any]] | None:
        """Return the function from provisional codes to truth values, or None unless all texts are such words.

        They are booleans or, with missing ones, 1, 0 and NaN in float32.
        """
        if not self._strict or not self._codes or not self._codes.keys() <= TRUE | FALSE:
            return None
        if self.missing:
            values = np.array([*(float(name in TRUE) for name in self._codes), np.nan], np.float32)
            return lambda provisional: values[provisional]
        table = np.array([name in TRUE for name in self._codes], np.bool_)
        return lambda provisional: table[provisional]

    def sorted_codes(self) -> Callable[[NDArray[Any]], NDArray[Any]]:
        """Return the function from provisional to final codes."""
        final = {name: code for code, name in enumerate(self.names())}
        table = np.array([*(final[name] for name in self._codes), MISSING_CODE], np.int64)
        return lambda provisional: table[provisional]
