"""Rows of datasets as inputs, read from memory-mapped files."""

from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

import engine
from app.domain.column_labels import with_identifiers
from app.domain.errors import DatasetCorrupt, Finding, Invalid
from app.service.resources.engine_documents import engine_faults
from app.worker.columns import MappedColumns, check_file, recode

Array = NDArray[Any]

MAX_COLUMNS = 1024
"""Columns that stay mapped."""


class Column:
    """One column: the rows of its files, one after the other."""

    def __init__(self, files: Sequence[Array]) -> None:
        """Join the arrays of its files."""
        # Indexing rows of a memory-mapped array is slower than of a plain view of it.
        self._files = [np.asarray(file) for file in files]
        self._ends = list(accumulate(len(file) for file in files))

    def __len__(self) -> int:
        return self._ends[-1]

    def span(self, start: int, stop: int) -> Array:
        """Return consecutive rows; a view of the file if they lie in one."""
        first, last = bisect_right(self._ends, start), bisect_right(self._ends, stop - 1)
        before = self._ends[first] - len(self._files[first])
        if first == last:
            return self._files[first][start - before : stop - before]
        parts = []
        for file, end in zip(self._files[first : last + 1], self._ends[first : last + 1], strict=True):
            begin = end - len(file)
            parts.append(file[max(start - begin, 0) : stop - begin])
        return np.concatenate(parts)

    def take(self, indices: Array) -> Array:
        """Return rows in any order."""
        if len(self._files) == 1:
            return self._files[0].take(indices, axis=0)
        found = np.empty((len(indices), *self._files[0].shape[1:]), self._files[0].dtype)
        owners = np.searchsorted(self._ends, indices, side="right")
        for number in np.unique(owners):
            own = owners == number
            before = self._ends[number] - len(self._files[number])
            found[own] = self._files[number][indices[own] - before]
        return found


@dataclass(frozen=True, slots=True)
class Preprocess:
    """How inputs are made of raw columns: the columns of each, and what computes rows of an input."""

    columns: Mapping[str, Sequence[str]]
    make: Callable[[str, Mapping[str, engine.RawColumn], Array | range], Array]


class DatasetRows:
    """The datasets that steps may read rows of."""

    def __init__(self, dataset: str | None, feeds: Mapping[str, str], classes: Mapping[str, Any] | None = None) -> None:
        """Take rows of `dataset`, and of `feeds` the column for each input, unless a step says otherwise.

        `classes` are the class names of the model by input, as in a request: text columns are mapped to them by name.
        """
        self._default = dataset
        self._feeds = feeds
        self._datasets: dict[str, MappedColumns] = {}
        self._names: dict[str, Mapping[str, list[str]]] = {}
        self._columns: dict[tuple[str, str, str], Column] = {}
        self._raw: dict[tuple[str, str], engine.RawColumn] = {}
        self.classes = engine.read_class_encodings(classes or {})

    def attach(
        self,
        dataset: str,
        columns: Mapping[str, list[str]],
        names: Mapping[str, list[str]] | None = None,
        classes: Mapping[str, Any] | None = None,
    ) -> None:
        """Add the files of a dataset, the class `names` of its text columns, and the current `classes` of the
        model.
        """
        self._datasets[dataset] = MappedColumns(columns, partial(_check, dataset))
        self._names[dataset] = names or {}
        if classes is not None:
            self.classes = engine.read_class_encodings(classes)

    def inputs(
        self,
        choice: Mapping[str, Any],
        feeds: Mapping[str, str] | None,
        names: Iterable[str],
        optional: Container[str] = (),
        preprocess: Preprocess | None = None,
    ) -> dict[str, Array]:
        """Return rows for the inputs `names`, and for those of them that are `optional` where there is a column.

        Args:
            choice: `dataset`, and either `indices` or `start` and `stop`.
            feeds: column of each input; by default the session's, then that of its name.
            names: the inputs of the graph that are fed.
            optional: inputs that nothing needs: they are left out if there is no column of their name, and none is
                named for them.
            preprocess: makes inputs of raw columns where no column is named for them.

        Raises:
            Invalid: no such dataset, column or row, with its pointer.
            DatasetCorrupt: the file of a column is damaged.
        """
        dataset = choice.get("dataset") or self._default
        if dataset is None:
            raise _invalid("/rows/dataset", "missing_field", "the session has no dataset; name one here")
        if dataset not in self._datasets:
            raise _invalid("/rows/dataset", "unknown_name", f"the session has no dataset {dataset[:64]!r}")
        asked = {**self._feeds, **with_identifiers({"feeds": feeds or {}})["feeds"]}
        names = [*names]
        made = (
            {} if preprocess is None else {n: c for n, c in preprocess.columns.items() if n in names and n not in asked}
        )
        fed = [n for n in names if n not in optional or n in asked or n in self._datasets[dataset]]
        columns = {name: self._column(dataset, name, asked) for name in fed if name not in made}
        raw = self._raw_columns(dataset, made, optional)
        rows = min((*map(len, columns.values()), *(column.rows for column in raw.values())), default=0)
        chosen: Array | range
        if choice.get("indices") is not None:
            chosen = _read_indices(choice["indices"], rows)
            found = {name: column.take(chosen) for name, column in columns.items()}
        else:
            start, stop = _read_span(choice, rows)
            chosen = range(start, stop)
            found = {name: column.span(start, stop) for name, column in columns.items()}
        for name, needed in made.items():
            if preprocess is not None and all(column in raw for column in needed):
                with engine_faults("/rows"):
                    found[name] = preprocess.make(name, raw, chosen)
        return found

    def _raw_columns(
        self, dataset: str, made: Mapping[str, Sequence[str]], optional: Container[str]
    ) -> dict[str, engine.RawColumn]:
        """Return the raw columns of inputs; those of optional inputs where they are there."""
        columns, found = self._datasets[dataset], {}
        for input, needed in made.items():
            missing = [name for name in needed if name not in columns]
            if missing and input not in optional:
                known = ", ".join(list(columns)[:20])
                detail = f"dataset {dataset} has no column {missing[0][:64]!r}, of which input {input!r} is made"
                raise _invalid("/rows/dataset", "unknown_column", f"{detail}; it has {known}")
            for name in needed if not missing else ():
                if (dataset, name) not in self._raw:
                    if len(self._raw) >= MAX_COLUMNS:
                        self._raw.pop(next(iter(self._raw)))
                    files, texts = columns.files(name), self._names[dataset].get(name)
                    data = files if texts is None else engine.TextColumn(files, texts)
                    self._raw[dataset, name] = engine.RawColumn(name, data)
                found[name] = self._raw[dataset, name]
        return found

    def _column(self, dataset: str, input: str, feeds: Mapping[str, str]) -> Column:
        name = feeds.get(input, input)
        found = self._columns.get((dataset, name, input))
        if found is None:
            columns = self._datasets[dataset]
            if name not in columns:
                known = ", ".join(list(columns)[:20])
                detail = f"dataset {dataset} has no column {name[:64]!r} for input {input!r}; it has {known}"
                raise _invalid("/feeds", "unknown_name", detail)
            if len(self._columns) >= MAX_COLUMNS:
                self._columns.pop(next(iter(self._columns)))
            table = self._table(dataset, name, input)
            files = columns.files(name)
            files = files if table is None else [recode(file, table) for file in files]
            found = self._columns[dataset, name, input] = Column(files)
        return found

    def _table(self, dataset: str, name: str, input: str) -> list[int] | None:
        """Return the model's class number for each class of a text column; None if they are equal, or it holds
        numbers.
        """
        names, encoding = self._names[dataset].get(name), self.classes.get(input)
        where = f"column {name[:64]!r} of {dataset}"
        if names is None:
            if encoding is not None:
                detail = f"{where} holds numbers, and input {input!r} takes class names; upload the names as text"
                raise _invalid("/rows/dataset", "class_names_missing", detail)
            return None
        if encoding is None:
            detail = f"{where} holds text, and the session has no classes of input {input!r}: give them when it begins"
            raise _invalid("/feeds", "class_names_missing", detail)
        unknown = encoding.unknown_names(names)
        if unknown:
            raise _invalid("/rows/dataset", "unknown_class", f"{where} has {encoding.describe_unknown(unknown)}")
        table = encoding.table(names)
        return None if table is None else table.tolist()


def _check(dataset: str, paths: Sequence[str]) -> None:
    """Raise DatasetCorrupt unless the files of a column have the stored digests."""
    for path in paths:
        try:
            check_file(path)
        except DatasetCorrupt as error:
            detail = f"dataset {dataset} is damaged: {error.detail}"
            findings = [Finding("/rows/dataset", error.code, detail)]
            raise DatasetCorrupt(detail, blob=error.blob, problem=error.problem, findings=findings) from error


def _read_indices(given: Any, rows: int) -> Array:
    try:
        indices = np.asarray(given)
    except (ValueError, OverflowError):
        indices = np.empty(0, object)
    if indices.ndim != 1 or indices.dtype.kind not in "iu" or not indices.size:
        detail = "indices are a list of whole numbers, at least one"
        raise _invalid("/rows/indices", "no_rows" if given == [] else "type_mismatch", detail)
    if indices.min() < 0 or indices.max() >= rows:
        wrong = int(np.flatnonzero((indices < 0) | (indices >= rows))[0])
        detail = f"index {indices[wrong]} is no row of {rows}: they are numbered from 0 on"
        raise _invalid(f"/rows/indices/{wrong}", "out_of_range", detail)
    return indices.astype(np.intp, copy=False)


def _read_span(choice: Mapping[str, Any], rows: int) -> tuple[int, int]:
    start, stop = choice["start"], choice["stop"]
    if not 0 <= start < stop:
        raise _invalid("/rows", "no_rows", f"from {start} to {stop} there is no row; stop is behind the last one")
    if stop > rows:
        raise _invalid("/rows/stop", "out_of_range", f"there are {rows} rows, so stop is {rows} at most, not {stop}")
    return start, stop


def _invalid(pointer: str, code: str, detail: str) -> Invalid:
    return Invalid(detail, code=code, findings=[Finding(pointer, code, detail)])
