"""Source: the examples of a fit, by the names of the graph's inputs, in the dtypes of those inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from engine.core.dtypes import FLOAT64, DType, is_float
from engine.core.errors import DataError, nearest
from engine.core.value import Array, Spec
from engine.data.column import Column
from engine.data.scaling import Scales
from engine.data.table.raw import TextColumn
from engine.data.windows import Span, Windows

MAPPED_BYTES = 256 * 2**20
"""Bytes from which reading a mapped source may wait for the disk; smaller ones stay in the page cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Numbered examples, gathered into the arrays of a plan; opened by `open_source`.

    Attributes:
        inputs: the column of each input.
        columns: every column, including those of no input.
        rows: the number of rows of the columns.
        windows: the windows of which examples consist; None if an example is a row.
        starts: the row at which each example starts; None if that is its own number.
        scales: the normalisation of inputs.
    """

    inputs: Mapping[str, Column]
    columns: Mapping[str, Array | Sequence[Array] | TextColumn]
    rows: int
    windows: Windows | None
    starts: Array | None
    scales: Scales

    @property
    def count(self) -> int:
        """Number of examples."""
        return self.rows if self.starts is None else len(self.starts)

    @property
    def nbytes(self) -> int:
        """Bytes of the columns of inputs."""
        return sum(column.nbytes for column in {id(column): column for column in self.inputs.values()}.values())

    @property
    def waits_for_disk(self) -> bool:
        """Whether prefetching pays: mapped columns of 256 MiB or more together."""
        mapped = {id(column): column.nbytes for column in self.inputs.values() if column.mapped}
        return sum(mapped.values()) >= MAPPED_BYTES

    def spec(self, name: str) -> Spec:
        """Return shape and dtype of an example of the input `name` (float64 if it is scaled)."""
        column = self.inputs[name]
        shape = column.shape if self.windows is None else self.windows.example_shape(name, column.shape)
        return Spec(shape, FLOAT64 if name in self.scales else column.dtype)

    def scaled(self, scales: Scales) -> Source:
        """Return the same examples with these inputs scaled as they are gathered."""
        return replace(self, scales=scales)

    def gather(self, examples: Array, into: Mapping[str, Array]) -> None:
        """Copy examples (int64) into the array of each input in `into`, in its dtype.

        Scaled inputs are computed in float64 and rounded once. Arrays of other names are ignored.

        Raises:
            DataError: there is no such example, or an array of another shape.
        """
        examples = np.asarray(examples, np.int64)
        self._check(examples)
        starts = _as_range(examples) if self.starts is None else self.starts[examples]
        for name, column in self.inputs.items():
            if name in self.scales:
                exact = np.empty((len(examples), *self.spec(name).shape))
                self._take(name, column, starts, exact)
                into[name][...] = self.scales.apply(name, exact, exact)
            else:
                self._take(name, column, starts, into[name])

    def blocks(self, name: str) -> tuple[Array, int, int] | None:
        """Return where the examples of an input lie in memory: an array of rows, the first row and the count.

        An example is `count` rows from its start (`row_of`) plus the first. None if examples are in several arrays, or
        computed.
        """
        whole = self.inputs[name].whole
        if name in self.scales or whole is None:
            return None
        if self.windows is None:
            return whole, 0, 1
        span = self.windows.spans.get(name, 0)
        first, end = (span, span + 1) if isinstance(span, int) else span
        return whole, first, end - first

    def row_of(self, examples: Array) -> Array:
        """Return the row at which each example starts, int64."""
        return examples if self.starts is None else self.starts[examples]

    def read(self, examples: Array) -> dict[str, Array]:
        """Return copies of examples, by input, in the dtypes of `spec`."""
        specs = {name: self.spec(name) for name in self.inputs}
        into = {name: np.empty((len(examples), *spec.shape), spec.dtype) for name, spec in specs.items()}
        self.gather(examples, into)
        return into

    def values(self, column: str, examples: Array | None = None) -> Array:
        """Return one value of a column for each example, or for some: that of the row at which it starts.

        Raises:
            DataError: there is no such column, or its rows are not single values.
        """
        found = _column(self.columns, column)
        if found.shape:
            shape = list(found.shape)
            raise DataError(f"column {column!r} must have one value a row, but its rows have shape {shape}")
        if found.rows != self.rows:
            raise DataError(f"column {column!r} has {found.rows} rows, the others have {self.rows}: make them agree")
        examples = np.arange(self.count) if examples is None else examples
        return found.read(examples if self.starts is None else self.starts[examples])

    def span_of(self, name: str) -> Span:
        """Return the rows of the input relative to the start of an example; inputs of equal spans have equal rows."""
        return 0 if self.windows is None else self.windows.spans.get(name, 0)

    def rows_of(self, name: str, examples: Array) -> Array:
        """Return the rows of the input's column that the examples contain, each once, in ascending order."""
        if self.windows is None or self.starts is None:
            contained = np.zeros(self.rows, bool)
            contained[examples] = True
            return np.flatnonzero(contained)
        span = self.windows.spans.get(name, 0)
        first, end = (span, span + 1) if isinstance(span, int) else span
        starts = self.starts[examples]
        opened = np.bincount(starts + first, minlength=self.rows + 1)
        closed = np.bincount(starts + end, minlength=self.rows + 1)
        return np.flatnonzero(np.cumsum(opened - closed) > 0)

    def _check(self, examples: Array) -> None:
        # As unsigned numbers, negative ones exceed every count: one maximum checks both bounds.
        if len(examples) and not 0 <= int(examples[examples.view(np.uint64).argmax()]) < self.count:
            wrong = examples[(examples < 0) | (examples >= self.count)][0]
            raise DataError(f"there is no example {wrong}: they are 0 to {self.count - 1}")

    def _take(self, name: str, column: Column, starts: Array | range, into: Array) -> None:
        if self.windows is None:
            column.take(starts, into)
            return
        starts = np.asarray(starts)
        shape = (len(starts), *self.windows.example_shape(name, column.shape))
        if into.shape != shape:
            raise DataError(f"input {name!r} gives an array of shape {list(shape)}, not {list(into.shape)}")
        rows = self.windows.rows(name, starts)
        flat = (len(rows), *column.shape)
        if into.flags.c_contiguous:
            column.take(rows, into.reshape(flat))
        else:
            into[...] = column.read(rows).reshape(shape)


def open_source(
    columns: Mapping[str, Array | Sequence[Array] | TextColumn],
    inputs: Mapping[str, str],
    windows: Windows | None = None,
) -> Source:
    """Open columns as examples, without reading them (except the column that separates series).

    Args:
        columns: arrays by name, in memory or mapped, or lists of arrays that are joined along their rows.
        inputs: the column of each input.
        windows: the windows of which examples consist, or None.

    Raises:
        DataError: a column is missing, empty or of another length, or no window fits.
    """
    made: dict[str, Column] = {}
    for column in inputs.values():
        if column not in made:
            made[column] = _column(columns, column)
    rows = _row_count(made)
    starts = None
    if windows is not None:
        for _, detail in windows.problems(inputs, columns, rows):
            raise DataError(detail)
        series = None if windows.within is None else _column(columns, windows.within)
        if series is not None and series.rows != rows:
            raise DataError(f"column {series.name!r} has {series.rows} rows, the others have {rows}: make them agree")
        starts = windows.starts(rows, series)
    return Source({name: made[column] for name, column in inputs.items()}, columns, rows, windows, starts, Scales())


def _as_range(examples: Array) -> Array | range:
    """Return consecutive examples as a range, whose rows are one slice."""
    count = len(examples)
    if not count or int(examples[-1]) - int(examples[0]) != count - 1:
        return examples
    first = int(examples[0])
    return range(first, first + count) if (examples[1:] - examples[:-1] == 1).all() else examples


def _column(columns: Mapping[str, Array | Sequence[Array] | TextColumn], name: str) -> Column:
    if name not in columns:
        hint = nearest(name, columns) or f"; they are {', '.join(columns)}"
        raise DataError(f"there is no column called {name[:64]!r}{hint}")
    found = columns[name]
    return Column(name, found.codes if isinstance(found, TextColumn) else found)


def _row_count(columns: Mapping[str, Column]) -> int:
    if not columns:
        raise DataError("a source needs at least one input with a column")
    first = next(iter(columns.values()))
    for column in columns.values():
        if column.rows != first.rows:
            detail = f"column {column.name!r} has {column.rows} rows, column {first.name!r} has {first.rows}"
            raise DataError(f"{detail}: make them agree")
    if not first.rows:
        raise DataError(f"column {first.name!r} has no rows")
    return first.rows


CAST_BYTES = 2**26
"""Maximum bytes of columns that are cast once; larger columns are cast batch by batch."""
COMPARED_NUMBERS = 2**20
"""Maximum count of numbers of an input that are compared, in the first examples."""


class RoundedInput(NamedTuple):
    """An input whose dtype merges distinct values of its column.

    Attributes:
        name: of the input.
        column: of the input.
        dtype: of the input.
        lost: number of distinct values that become equal to another one, summed over the elements of an example.
        distinct: number of distinct values.
        examples: number of examples compared, from the first one on.
    """

    name: str
    column: str
    dtype: str
    lost: int
    distinct: int
    examples: int

    def __str__(self) -> str:
        """Return a sentence that advises what to do."""
        what = f"input {self.name!r} takes column {self.column!r} as {self.dtype}"
        lost = f"{self.lost} of {self.distinct} distinct values become equal to another one"
        advice = "fit with precision float64, or subtract an offset from the column before it is uploaded"
        return f"{what}: {lost} in the first {self.examples} examples; {advice}"


def rounded_inputs(source: Source, dtypes: Mapping[str, DType]) -> list[RoundedInput]:
    """Return the inputs that merge distinct values when `source` gathers (and scales) them as `dtypes`.

    Only numbers that a float type may round are compared, the first `COMPARED_NUMBERS` of an input.
    """
    found = []
    for name, column in source.inputs.items():
        if not _may_round(column.dtype, dtypes[name], scaled=name in source.scales):
            continue
        shape = source.spec(name).shape
        examples = np.arange(min(source.count, max(2, COMPARED_NUMBERS // max(1, int(np.prod(shape))))))
        whole, cast = (np.empty((len(examples), *shape), dtype) for dtype in (column.dtype, dtypes[name]))
        alone = replace(source, inputs={name: column})
        alone.scaled(Scales()).gather(examples, {name: whole})
        alone.gather(examples, {name: cast})
        distinct = _count_distinct(whole)
        lost = distinct - _count_distinct(cast)
        if lost > 0:
            found.append(RoundedInput(name, column.name, dtypes[name].name, lost, distinct, len(examples)))
    return found


def _may_round(stored: DType, wanted: DType, *, scaled: bool) -> bool:
    """Return whether a cast may change numbers: floats, and integers of more digits."""
    return is_float(wanted) and stored.kind in "iuf" and (scaled or not np.can_cast(stored, wanted))


def _count_distinct(examples: Array) -> int:
    """Return the number of distinct values for each element of an example, summed over the elements."""
    ordered = np.sort(examples.reshape(len(examples), -1), axis=0)
    changes = int(np.count_nonzero(ordered[1:] != ordered[:-1]))
    return changes + int(ordered.shape[1])


def cast_inputs(source: Source, dtypes: Mapping[str, DType]) -> Source:
    """Return the same examples, with columns copied in the dtype of their input where it differs.

    Batches are then gathered without a cast, which lets many steps run in one native call. Columns of several arrays,
    scaled inputs, and copies beyond `CAST_BYTES` in all are not cast.
    """
    made: dict[tuple[int, DType], Column] = {}
    inputs = dict(source.inputs)
    left = CAST_BYTES
    for name, column in source.inputs.items():
        wanted, whole = dtypes[name], column.whole
        if name in source.scales or whole is None or column.dtype == wanted:
            continue
        key = (id(column), wanted)
        size = whole.size * wanted.itemsize
        if key not in made and size <= left:
            left -= size
            made[key] = Column(column.name, whole.astype(wanted))
        inputs[name] = made.get(key, column)
    return replace(source, inputs=inputs)
