"""Examples that are windows over rows in order: for time series, text and other sequences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from engine.core.attributes import Range
from engine.core.errors import DataError, escape, nearest
from engine.core.options import Reader, Reads
from engine.core.value import Array, Shape
from engine.data.column import Column

Span = int | tuple[int, int]
FURTHEST = 2**31
CHUNK = 2**20
"""Rows compared at a time to separate series."""


def read_spans(reader: Reader, value: Any, pointer: str) -> Mapping[str, Span]:
    """Read a row number, or [start, end) of rows, for each input; faults are reported."""
    spans = {}
    for name, span in reader.mapping(value, pointer).items():
        at = f"{pointer}/{escape(name)}"
        rows = reader.typed(span, int | tuple[int, int], at, "a span", 0)
        start, end = (rows, rows + 1) if isinstance(rows, int) else rows
        if not 0 <= start < end <= FURTHEST:
            detail = f"must be a row from 0 on, or [start, end] with 0 <= start < end <= {FURTHEST}, not {span}"
            reader.fault(at, "out_of_range", detail)
        spans[name] = rows
    return spans


@dataclass(frozen=True, kw_only=True)
class Windows:
    """Examples that are windows over ordered rows.

    Windows start `stride` rows apart. `spans` gives the rows of an input, relative to that start: [start, end) gives it
    a leading axis of time, a single number one row without it; an input that is not named gets the row at the start.
    With `within`, which names a column, no window crosses a change of its value, and the stride restarts there.
    """

    spans: Annotated[Mapping[str, Span], Reads(read_spans, "an object of row numbers or [start, end] by input")] = (
        field(default_factory=dict)
    )
    stride: Annotated[int, Range(1, FURTHEST)] = 1
    within: str | None = None

    @property
    def length(self) -> int:
        """Rows from the start of a window to the end of all inputs."""
        return max((_end(span) for span in self.spans.values()), default=1)

    def count(self, rows: int) -> int:
        """Return the number of windows over a number of rows, without `within`, which depends on the data."""
        return max((rows - self.length) // self.stride + 1, 0)

    def example_shape(self, name: str, shape: Shape) -> Shape:
        """Return the shape of an example of the input `name`, whose column has rows of `shape`."""
        span = self.spans.get(name, 0)
        return shape if isinstance(span, int) else (span[1] - span[0], *shape)

    def problems(self, inputs: Mapping[str, str], columns: Mapping[str, Any], rows: int) -> Iterator[tuple[str, str]]:
        """Yield what does not fit inputs, columns or rows: a pointer below the windows, and a sentence."""
        for name in self.spans:
            if name not in inputs:
                hint = nearest(name, inputs) or f"; they are {', '.join(inputs)}"
                yield f"/spans/{escape(name)}", f"there is no input called {name[:64]!r}{hint}"
        if self.within is not None and self.within not in columns:
            hint = nearest(self.within, columns) or f"; they are {', '.join(columns)}"
            yield "/within", f"there is no column called {self.within[:64]!r}{hint}"
        if not self.count(rows):
            yield "/spans", f"a window takes {self.length} rows in order, but there are {rows}: make it shorter"

    def starts(self, rows: int, series: Column | None) -> Array:
        """Return the row (int64, ascending) at which each window starts; `series` is the column `within`.

        Raises:
            DataError: no window fits.
        """
        if series is None:
            return np.arange(self.count(rows)) * self.stride
        edges = np.concatenate([[0], _changes(series), [rows]])
        lengths = np.diff(edges)
        counts = np.maximum((lengths - self.length) // self.stride + 1, 0)
        total = int(counts.sum())
        if not total:
            longest = f"the longest run of one value has {lengths.max(initial=0)}"
            raise DataError(f"no window of {self.length} rows fits within column {self.within!r}, where {longest}")
        before = np.cumsum(counts) - counts
        # Numbers of windows since the first of their series, counted on from it in strides.
        number = np.arange(total) - np.repeat(before, counts)
        return np.asarray(np.repeat(edges[:-1], counts) + number * self.stride)

    def rows(self, name: str, starts: Array) -> Array:
        """Return the rows of the input `name`, one example after the other."""
        span = self.spans.get(name, 0)
        if isinstance(span, int):
            return starts + span
        return (starts[:, None] + np.arange(*span)).reshape(-1)


def _end(span: Span) -> int:
    return span + 1 if isinstance(span, int) else span[1]


def _changes(series: Column) -> Array:
    """Return the rows whose value differs from that of the row before."""
    if series.shape:
        raise DataError(f"column {series.name!r} has rows of shape {list(series.shape)}: series need one value a row")
    found = []
    for start in range(0, series.rows, CHUNK):
        values = series.read(range(max(start - 1, 0), min(start + CHUNK, series.rows)))
        if values.dtype.kind == "f" and np.isnan(values).any():
            raise DataError(f"column {series.name!r} holds NaN, which cannot separate series: fill it first")
        found.append(np.flatnonzero(values[1:] != values[:-1]) + max(start, 1))
    return np.concatenate(found) if found else np.arange(0)
