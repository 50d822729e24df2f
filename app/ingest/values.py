"""Which numbers a float type holds exactly.

A column whose dtype is not declared keeps every number as it was written: whole numbers as int64, others as float32 if
that holds each of them exactly and as float64 if not. A whole number that float64 would round is refused beside
fractions or missing values: ids that differ must not become equal.

Inferred dtypes: whole numbers int64; other numbers, or whole numbers with missing ones, float32 if that holds every one
of them exactly, else float64; truth values, and texts that are all `true` or `false`, bool; other texts are class codes
in int64. What is inferred does not depend on how the values are cut into blocks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.ingest.classes import MISSING_CODE, ClassCoder, Locate
from app.ingest.columns import ColumnSet, ColumnWriter, pointer_to
from app.ingest.limits import IngestError

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
CONSECUTIVE = 2**53
"""float64 holds all whole numbers up to this one."""
LONG_NUMBER = 300
"""Characters from which on a number without an exponent may be too close to 0 for float64."""
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
    if number != 0 or ("e" not in text and "E" not in text and len(text) < LONG_NUMBER):
        return False
    return not set(text.lower().partition("e")[0]).isdisjoint("123456789")


def precision_lost(pointer: str, where: str) -> IngestError:
    """Return the error of a whole number that float64 would round, in a column that float64 is needed for."""
    detail = f"{where}: a whole number beyond 2^53 in a column with fractions or missing values, which float64 rounds"
    detail = f"{detail}; declare float64 to have it rounded, class to keep ids apart, or leave no value missing"
    return IngestError("precision_lost", pointer, detail)


Block = NDArray[Any] | list[str]
"""Whole numbers (int64, or uint64 where that is declared), numbers (float64, NaN is missing), bools, or texts."""

CLASS = "class"
NUMERIC_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
)  # fmt: skip

_INFERRED: Mapping[str, np.dtype[Any]] = {"i": np.dtype(np.int64), "f": FLOAT32, "b": np.dtype(np.bool_)}
_WORDS = {"i": "whole numbers", "u": "whole numbers", "f": "numbers", "b": "truth values", "O": "text"}


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """What is known of a column before its values: `dtype` is a name of `NUMERIC_DTYPES`, `CLASS`, or None (infer)."""

    name: str
    dtype: str | None = None
    shape: tuple[int, ...] = ()


class ValueColumn:
    """Takes blocks of values of one column, and writes them through a `ColumnWriter`."""

    def __init__(self, plan: ColumnPlan, columns: ColumnSet, where: str = "column") -> None:
        self.plan = plan
        self._columns = columns
        self._where = where
        self._pointer = pointer_to(plan.name)
        self._writer: ColumnWriter | None = None
        self._coder: ClassCoder | None = None
        self._whole_in_float32 = True
        self._rounded_at: str | None = None
        columns.check_name(plan.name, where)

    @property
    def takes_text(self) -> bool | None:
        """Whether the column holds text; None while that is open."""
        if self._writer is None or (self._coder is None and self.plan.dtype is None and self._writer.holds_nothing):
            return None if self.plan.dtype is None else self.plan.dtype == CLASS
        return self._coder is not None

    def add(self, block: Block, locate: Locate) -> None:
        """Append `block`, whose values are row-major; `locate` returns where in the file the k-th value is."""
        if isinstance(block, list):
            self._add_texts(block, locate)
        elif self._coder is not None:
            raise self._mixed(block, "text", locate)
        else:
            if self.plan.dtype is None:
                self._infer(block, locate)
            writer = self._writer or self._open(np.dtype(self.plan.dtype))
            writer.append(self._cast(block, writer.dtype, locate))

    def add_dictionary(self, names: Sequence[str], codes: NDArray[np.int64], locate: Locate) -> None:
        """Append texts that are given by their places in `names`; -1 is a missing one."""
        # By code where it is first; of equal indices NumPy keeps the value assigned last. A missing text has the end.
        first = np.full(len(names) + 1, -1, np.int64)
        first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
        used = np.flatnonzero(first >= 0)
        places = np.empty(len(first), np.int64)
        places[used] = np.arange(len(used))
        # The texts of the block, each once, give it its provisional codes.
        texts = [names[code] if code < len(names) else "" for code in used.tolist()]
        self._add_texts(texts, lambda index: locate(int(first[used[index]])), places[codes])

    def finish(self) -> tuple[str, ...]:
        """Settle what the texts are: truth values, or classes in the order of their names, which are returned."""
        if self._coder is None or self._writer is None:
            return ()
        truth = self._coder.truth_values()
        if truth is not None:
            self._writer.holds_codes = False
            self._writer.convert(np.dtype(np.float32 if self._coder.missing else np.bool_), truth)
            return ()
        self._writer.classes = self._coder.names()
        if not self._writer.classes:
            detail = "every text of the column is missing; leave the column out"
            raise IngestError("missing_value", self._pointer, detail)
        self._writer.convert(np.dtype(np.int64), self._coder.sorted_codes())
        return self._writer.classes

    def _infer(self, block: NDArray[Any], locate: Locate) -> None:
        """Open the column, or widen it, so that it holds the numbers of `block` as they are."""
        kind = block.dtype.kind
        held = self._writer.dtype if self._writer else _INFERRED[kind]
        if kind == "i":
            self._note_whole(block, locate)
        if kind != held.kind and {kind, held.kind} == {"i", "f"}:
            if self._rounded_at is not None:
                raise precision_lost(self._pointer, self._rounded_at)
            held = held if held.kind == "f" else FLOAT32
        if held == FLOAT32 and (not self._whole_in_float32 or (kind == "f" and inexact(block, FLOAT32) is not None)):
            held = FLOAT64
        if self._writer is None:
            self._open(held)
        elif held != self._writer.dtype:
            self._writer.convert(held, lambda values: values.astype(held))

    def _note_whole(self, block: NDArray[Any], locate: Locate) -> None:
        """Note whether the float types hold whole numbers, should the column turn out to have others too."""
        if self._whole_in_float32 and inexact(block, FLOAT32) is not None:
            self._whole_in_float32 = False
        if self._rounded_at is None and (rounded := inexact(block, FLOAT64)) is not None:
            self._rounded_at = locate(int(rounded.argmax()))

    def _open(self, dtype: np.dtype[Any]) -> ColumnWriter:
        self._writer = self._columns.open(self.plan.name, dtype, self.plan.shape, self._where)
        return self._writer

    def _add_texts(self, texts: Sequence[str], locate: Locate, places: NDArray[np.int64] | None = None) -> None:
        if self._coder is None:
            missing = self._writer is not None and self._writer.holds_nothing and self._writer.dtype.kind == "f"
            if (self._writer is not None and not missing) or self.plan.dtype not in (None, CLASS):
                kind = self._writer.dtype.kind if self._writer else np.dtype(self.plan.dtype).kind
                raise self._mixed(None, _WORDS[kind], locate)
            if self.plan.shape:
                raise IngestError("bad_value", self._pointer, "text is taken one value a row only, not in tensors")
            self._coder = ClassCoder(self._pointer, self._columns.limits, strict=self.plan.dtype is None)
            if self._writer is None:
                self._open(np.dtype(np.int64)).holds_codes = True
            else:
                # What came before is missing, and not known to be of numbers.
                self._writer.holds_codes = True
                self._writer.convert(np.dtype(np.int64), lambda values: np.full(len(values), MISSING_CODE, np.int64))
        assert self._writer is not None
        codes = self._coder.encode(texts, locate)
        self._writer.append(codes if places is None else codes[places])

    def _cast(self, block: NDArray[Any], dtype: np.dtype[Any], locate: Locate) -> NDArray[Any]:
        """`block` in `dtype`, if no value changes its meaning; floats round to nearest."""
        if dtype.kind == "f" and block.dtype.kind != "b":
            return self._cast_to_float(block, dtype, locate)
        if block.dtype.kind == "f" and dtype.kind in "iu":
            raise self._not_whole(block, dtype, locate)
        if block.dtype == dtype:
            return block
        taken = "iu" if self.plan.dtype is None else "iub"
        if block.dtype.kind not in "iu" or dtype.kind not in taken:
            raise self._mixed(block, _WORDS[dtype.kind], locate)
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        outside = (block < low) | (block > high)
        if outside.any():
            raise self._out_of_range(outside, dtype, locate)
        return block.astype(dtype)

    def _cast_to_float(self, block: NDArray[Any], dtype: np.dtype[Any], locate: Locate) -> NDArray[Any]:
        if block.dtype == dtype:
            cast = block
        else:
            with np.errstate(over="ignore"):
                cast = block.astype(np.float64, copy=False).astype(dtype)
        outside = np.isinf(cast)
        if outside.any():
            raise self._out_of_range(outside, dtype, locate)
        return cast

    def _not_whole(self, block: NDArray[Any], dtype: np.dtype[Any], locate: Locate) -> IngestError:
        missing = np.isnan(block)
        if missing.any():
            detail = f"{locate(int(missing.argmax()))}: a value is missing, which only float columns can hold"
            return IngestError("missing_value", self._pointer, detail)
        bounds = np.iinfo(dtype)
        outside = (block < float(bounds.min)) | (block >= float(bounds.max) + 1)
        if outside.any():
            return self._out_of_range(outside, dtype, locate)
        where = locate(int((block != np.floor(block)).argmax()))
        return IngestError("bad_value", self._pointer, f"{where}: {dtype.name} takes whole numbers without a point")

    def _out_of_range(self, outside: NDArray[Any], dtype: np.dtype[Any], locate: Locate) -> IngestError:
        where = locate(int(outside.reshape(-1).argmax()))
        detail = f"{where}: the number does not fit {dtype.name}; declare a wider dtype"
        return IngestError("number_out_of_range", self._pointer, detail)

    def _mixed(self, block: NDArray[Any] | None, expected: str, locate: Locate) -> IngestError:
        found = "text" if block is None else _WORDS[block.dtype.kind]
        detail = f"from {locate(0)} on: {found} in a column of {expected}; a column holds one kind of value"
        return IngestError("mixed_types", self._pointer, detail)
