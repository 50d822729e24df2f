"""Columns of dates and times: parts as numbers, and cycles as sine and cosine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Literal

import numpy as np

from engine.core.errors import DataError
from engine.core.value import Array
from engine.data.table.facts import ColumnFacts, Fault, State, only_single_values
from engine.data.table.raw import RawColumn, Rows

Part = Literal["year", "month", "day", "weekday", "yearday", "hour", "minute", "second", "timestamp"]
Cycle = Literal["month", "day", "weekday", "yearday", "hour", "minute"]
PERIODS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "month": (1, 12), "day": (1, 31), "weekday": (0, 7), "yearday": (1, 365.2425), "hour": (0, 24),
        "minute": (0, 60),
    }
)  # fmt: skip
"""The first value and the period of each cycle."""
DAY = 86400
_ORDERS = MappingProxyType({"ymd": "%Y-%m-%d", "dmy": "%d-%m-%Y", "mdy": "%m-%d-%Y"})
_NUMERIC_DATE = re.compile(r"(\d{1,4})[-./](\d{1,2})[-./](\d{1,4})(?:[T ]+(.*))?\Z", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Date:
    """Dates and times as parts and cycles, one value a part and two (sine and cosine) a cycle.

    Texts are ISO 8601 (2024-03-01, 2024-03-01T12:30:00+01:00); `order` "dmy" or "mdy" takes 1.3.2024, 01/03/2024 and
    similar. Numbers are seconds since 1970. Times without an offset are taken as UTC. Parts are standardised by the
    training rows; a missing date becomes their mean, and 0 in cycles; `indicator` adds 1 for a missing date.
    """

    parts: tuple[Part, ...] = ("year", "month", "day", "weekday")
    cycles: tuple[Cycle, ...] = ()
    order: Literal["ymd", "dmy", "mdy"] = "ymd"
    missing: Literal["mean", "error"] = "error"
    indicator: bool = False

    integer = False

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield what is wrong between the fields."""
        if not self.parts and not self.cycles:
            yield "/parts", "give at least one part or cycle"

    def misfits(self, facts: ColumnFacts) -> Iterator[Fault]:
        """Yield why the column cannot be taken."""
        yield from only_single_values(facts)
        if facts.missing and self.missing == "error":
            yield "missing_values", f"has {facts.missing} missing values; take missing 'mean'"

    def width(self, facts: ColumnFacts) -> int:
        """Return the number of values that a row becomes."""
        return len(self.parts) + 2 * len(self.cycles) + self.indicator

    def fit(self, column: RawColumn, rows: Rows) -> State:
        """Return mean and deviation of each part."""
        seconds = self._seconds(column, rows)
        seconds = seconds[~np.isnan(seconds)]
        if not len(seconds):
            raise DataError(f"column {column.title} has no date in the training rows: leave it out")
        parts = [_part(part, seconds) for part in self.parts]
        spread = [float(values.std()) for values in parts]
        return {
            "mean": [float(values.mean()) for values in parts],
            "scale": [each if each > 0 else 1.0 for each in spread],
        }

    def apply(self, state: State, column: RawColumn, rows: Rows) -> Array:
        """Return the values of rows, float64 [rows, width]."""
        seconds = self._seconds(column, rows)
        missing = np.isnan(seconds)
        if missing.any() and self.missing == "error":
            raise DataError(f"column {column.title} has a missing date in row {int(missing.argmax())}: send a date")
        known = np.where(missing, 0.0, seconds)
        values = []
        for part, mean, scale in zip(self.parts, state["mean"], state["scale"], strict=True):
            values.append(np.where(missing, 0.0, (_part(part, known) - mean) / scale))
        for cycle in self.cycles:
            first, period = PERIODS[cycle]
            angle = (_part(cycle, known) - first) * (2 * np.pi / period)
            values += [np.where(missing, 0.0, wave(angle)) for wave in (np.sin, np.cos)]
        return np.stack([*values, *([missing.astype(np.float64)] if self.indicator else ())], axis=1)

    def _seconds(self, column: RawColumn, rows: Rows) -> Array:
        """Return seconds since 1970 of each row; NaN is missing."""
        if column.names is None:
            return column.numbers(rows).reshape(-1)
        codes = column.codes(rows)
        used = np.unique(codes[codes >= 0]).tolist()
        table = np.full(len(column.names) + 1, np.nan)
        for code in used:
            seconds = read_seconds(column.names[code], self.order)
            if seconds is None:
                row = int((codes == code).argmax())
                advice = "write 2024-03-01 or 2024-03-01T12:30:00, or say order 'dmy' or 'mdy'"
                raise DataError(f"column {column.title} holds no date in row {row}: {advice}")
            table[code] = seconds
        return np.asarray(table[codes])


def read_seconds(text: str, order: str = "ymd") -> float | None:
    """Return the seconds since 1970 of a date or time, or None if it is none."""
    text = text.strip()
    match = _NUMERIC_DATE.match(text)
    try:
        if match is not None and (order != "ymd" or "-" not in text[:6]):
            date = datetime.strptime("-".join(match.groups()[:3]), _ORDERS[order])
            text = date.date().isoformat() + (f"T{match[4]}" if match[4] else "")
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def are_dates(texts: Sequence[str], order: str = "ymd") -> bool:
    """Return whether all of some texts are dates or times."""
    return bool(texts) and all(read_seconds(text, order) is not None for text in texts)


def _part(part: str, seconds: Array) -> Array:
    """Return a part of each moment, float64."""
    if part == "timestamp":
        return seconds
    of_day = np.mod(seconds, DAY)
    if part == "hour":
        return np.asarray(np.floor(of_day / 3600))
    if part == "minute":
        return np.asarray(np.floor(of_day / 60 % 60))
    if part == "second":
        return np.asarray(np.floor(of_day % 60))
    bounded = np.clip(np.floor(seconds / DAY), -719162, 2932896)  # the years 1 to 9999
    days = bounded.astype(np.int64).astype("datetime64[D]")
    if part == "weekday":
        return np.asarray(np.mod(bounded + 3, 7))  # 1970 began on a Thursday; Monday is 0
    years = days.astype("datetime64[Y]")
    if part == "year":
        return np.asarray(years.astype(np.int64) + 1970, np.float64)
    months = days.astype("datetime64[M]")
    whole, first = {"month": (months, years), "day": (days, months), "yearday": (days, years)}[part]
    return np.asarray((whole - first).astype(np.int64) + 1, np.float64)
