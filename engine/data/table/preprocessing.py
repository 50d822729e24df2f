"""Fitted preprocessing: the section of a recipe with its statistics, stored with the model and applied to raw columns.

Statistics are fitted once, on the training rows, before the first step. Checkpoints hold them as JSON, which keeps
float64 exactly; a resumed fit reads them and never computes them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.core.dtypes import DType
from engine.core.errors import CheckpointError, DataError, DocumentError, Finding, escape, nearest
from engine.core.options import Reader
from engine.core.value import Array
from engine.data.table.categories import Category
from engine.data.table.facts import ColumnFacts, State, Transform
from engine.data.table.raw import CHUNK, RawColumn, Rows, TextColumn, column_title, raw_values
from engine.data.table.section import Item, Section, read_section, section_document, transform_document

COLUMNS = "columns"
"""The entry of a checkpoint's meta that holds the preprocessing of its model."""

CHUNK_VALUES = 2**22
"""Values of float64 that are computed at a time: a wide one-hot column takes fewer rows."""

RawColumns = Mapping[str, Array | Sequence[Array] | TextColumn]


@dataclass(frozen=True, slots=True)
class FittedItem:
    """A column's transform, its fitted statistics, and how many values a row becomes."""

    column: str
    transform: Transform
    state: State
    width: int
    label: str | None = None


@dataclass(frozen=True, slots=True)
class FittedInput:
    """The columns of one input, side by side."""

    items: tuple[FittedItem, ...]
    single: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """The raw columns, each once."""
        return tuple(dict.fromkeys(item.column for item in self.items))

    @property
    def width(self) -> int:
        """The number of values of a row."""
        return sum(item.width for item in self.items)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a row."""
        return () if self.single and self.width == 1 else (self.width,)


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """What turns raw columns into inputs of a graph.

    Attributes:
        section: the section as its recipe gives it, as plain data.
        inputs: the fitted columns of each input.
    """

    section: Mapping[str, Any]
    inputs: Mapping[str, FittedInput]

    @property
    def columns(self) -> tuple[str, ...]:
        """The raw columns that are needed, each once."""
        return tuple(dict.fromkeys(item.column for each in self.inputs.values() for item in each.items))

    @property
    def labels(self) -> dict[str, str]:
        """What people call raw columns, by their names, where that is something else."""
        items = (item for each in self.inputs.values() for item in each.items)
        return {item.column: item.label for item in items if item.label is not None}

    @property
    def classes(self) -> dict[str, tuple[str, ...]]:
        """The levels, by input, of a single column of categories without levels for missing and unknown values."""
        found = {}
        for name, each in self.inputs.items():
            transform = each.items[0].transform
            if each.single and isinstance(transform, Category) and transform.integer and not transform.reserved:
                state = each.items[0].state
                names = [str(level) for level in state["levels"]]
                # Numbers between the levels that no training row holds.
                found[name] = (*names, *(f"unused {place}" for place in range(len(names), state["indices"])))
        return found

    def transform(self, name: str, columns: Mapping[str, RawColumn], rows: Rows, dtype: DType) -> Array:
        """Return rows of an input, [rows, width] or [rows] in `dtype`; values are computed in float64 and rounded once.

        Raises:
            DataError: a value that the model does not take; the message names column and row.
        """
        fitted = self.inputs[name]
        into = np.empty((len(rows), fitted.width), dtype)
        step = max(1, min(CHUNK, CHUNK_VALUES // max(fitted.width, 1)))
        for start in range(0, len(rows), step):
            part, place = rows[start : start + step], 0
            for item in fitted.items:
                values = item.transform.apply(item.state, columns[item.column], part)
                with np.errstate(over="ignore"):
                    into[start : start + len(part), place : place + item.width] = values
                place += item.width
        return into.reshape(len(rows), *fitted.shape)

    def encode(
        self, given: Mapping[str, Any], dtypes: Mapping[str, DType], needed: Sequence[str], pointer: str = "/inputs"
    ) -> dict[str, Any]:
        """Return the inputs of a call with raw columns replaced by the inputs that are made of them.

        `given` may hold an input itself, as the graph takes it; a name that is a raw column and an input is raw. Raw
        columns may be called by their labels.

        Raises:
            DocumentError: a raw column is missing, or holds a value that the model does not take.
        """
        raw, unresolved = self.columns, given
        given = self._by_name(given, pointer)
        rest = {name: value for name, value in given.items() if name not in raw}
        if not any(name in given for name in raw):
            return rest if any(name in rest for name in self.inputs) else self._refuse_missing(given, needed, pointer)
        made: dict[str, Any] = {}
        findings: list[Finding] = []
        read: dict[str, RawColumn] = {}
        for name, fitted in self.inputs.items():
            if name in rest or name not in needed:
                continue
            findings += self._read(fitted, given, read, pointer)
        if findings:
            raise DocumentError(findings)
        counts = {name: column.rows for name, column in read.items()}
        if len(set(counts.values())) > 1:
            first, other = next(iter(counts)), next(n for n in counts if counts[n] != next(iter(counts.values())))
            detail = f"column {other!r} has {counts[other]} rows, column {first!r} has {counts[first]}: make them equal"
            raise DocumentError([Finding(f"{pointer}/{escape(other)}", "shape_mismatch", detail)])
        for name, fitted in self.inputs.items():
            if name in needed and name not in rest:
                rows = range(read[fitted.items[0].column].rows)
                try:
                    made[name] = self.transform(name, read, rows, dtypes[name])
                except DataError as error:
                    place = next((c for c in fitted.columns if f"column {read[c].title}" in str(error)), "")
                    place = place if place in unresolved else self.labels.get(place, place)
                    at = f"{pointer}/{escape(place)}" if place else pointer
                    raise DocumentError([Finding(at, "value_invalid", str(error))]) from error
        return {**rest, **made}

    def _by_name(self, given: Mapping[str, Any], pointer: str) -> Mapping[str, Any]:
        """Return the inputs of a call with the names of raw columns in place of their labels."""
        names = {label: name for name, label in self.labels.items() if label in given}
        twice = [label for label, name in names.items() if name in given]
        if twice:
            detail = (
                f"column {column_title(names[twice[0]], twice[0])} is given by its label and by its name: leave one out"
            )
            raise DocumentError([Finding(f"{pointer}/{escape(twice[0])}", "conflict", detail)])
        return {names.get(name, name): value for name, value in given.items()} if names else given

    def _read(
        self, fitted: FittedInput, given: Mapping[str, Any], read: dict[str, RawColumn], pointer: str
    ) -> Iterator[Finding]:
        labels = self.labels
        for column in fitted.columns:
            if column in read:
                continue
            label = labels.get(column)
            if column not in given:
                hint = nearest(label or column, [name for name in given if name not in self.columns])
                detail = f"the column {column_title(column, label)} is missing{hint}"
                yield Finding(f"{pointer}/{escape(label or column)}", "missing_field", detail)
                continue
            value = given[column]
            try:
                read[column] = raw_values(column, value["data"] if isinstance(value, Mapping) else value, label)
            except (DataError, KeyError) as error:
                detail = str(error) if isinstance(error, DataError) else "a tensor needs 'data'"
                yield Finding(f"{pointer}/{escape(column)}", "type_mismatch", detail)

    def _refuse_missing(self, given: Mapping[str, Any], needed: Sequence[str], pointer: str) -> dict[str, Any]:
        """Name the raw columns that are missing, if an input that is needed is made of them."""
        findings: list[Finding] = []
        for name in needed:
            if name in self.inputs:
                findings += self._read(self.inputs[name], given, {}, pointer)
        if findings:
            raise DocumentError(findings[:100])
        return dict(given)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "section": dict(self.section),
            "inputs": {
                name: {
                    "single": each.single,
                    "items": [
                        {
                            **transform_document(item.column, item.transform, item.label),
                            "state": item.state,
                            "width": item.width,
                        }
                        for item in each.items
                    ],
                }
                for name, each in self.inputs.items()
            },
        }


def open_columns(section: Section, columns: RawColumns) -> dict[str, RawColumn]:
    """Open the raw columns of a section, without reading them.

    Raises:
        DataError: one is missing.
    """
    labels = {item.column: item.label for each in section.values() for item in each.items}
    for name in labels:
        if name not in columns:
            hint = nearest(name, columns) or f"; they are {', '.join(columns)}"[:500]
            raise DataError(f"there is no column called {name[:64]!r}{hint}")
    return {name: RawColumn(name, columns[name], label) for name, label in labels.items()}


def fit_preprocessing(section: Section, columns: Mapping[str, RawColumn], rows: Mapping[str, Rows]) -> Preprocessing:
    """Fit the transforms of a section on the training rows of each input.

    Raises:
        DataError: a column does not fit its transform, with its name.
    """
    fitted: dict[tuple[str, Any], tuple[State, int]] = {}
    inputs = {}
    for name, each in section.items():
        items = []
        for item in each.items:
            column = columns[item.column]
            transform = item.resolved(_facts(column))
            key = (item.column, repr(transform))
            if key not in fitted:
                fitted[key] = _fit(transform, item, column, rows[name])
            items.append(FittedItem(item.column, transform, *fitted[key], item.label))
        inputs[name] = FittedInput(tuple(items), each.single)
    return Preprocessing(section_document(section), inputs)


def _fit(transform: Transform, item: Item, column: RawColumn, rows: Rows) -> tuple[State, int]:
    for _, detail in transform.misfits(_facts(column)):
        raise DataError(f"column {item.title} {detail}")
    state = transform.fit(column, rows)
    return state, transform.apply(state, column, rows[:1]).shape[1]


def _facts(column: RawColumn) -> ColumnFacts:
    classes = None if column.names is None else len(column.names)
    return ColumnFacts(column.shape, column.rows, classes=classes, whole=column.whole_numbers)


def meta_with_preprocessing(meta: Mapping[str, Any], preprocessing: Preprocessing | None) -> dict[str, Any]:
    """Return a checkpoint's meta with the preprocessing of its model, if there is any."""
    return dict(meta) if preprocessing is None else {**meta, COLUMNS: preprocessing.to_json()}


def preprocessing_of_checkpoint(meta: Mapping[str, Any]) -> Preprocessing | None:
    """Return the preprocessing in a checkpoint's meta, or None.

    Raises:
        CheckpointError: the entry is malformed.
    """
    if COLUMNS not in meta:
        return None
    document = meta[COLUMNS]
    try:
        reader = Reader()
        bare = {name: _bare(each) for name, each in document["inputs"].items()}
        section = read_section(reader, bare, f"/{COLUMNS}")
        reader.finish()
        inputs = {name: _fitted(section[name].items, each) for name, each in document["inputs"].items()}
        return Preprocessing(dict(document["section"]), inputs)
    except DocumentError as error:
        fault = error.findings[0]
        raise CheckpointError(
            f"the checkpoint's meta holds malformed columns at {fault.pointer}: {fault.detail}"
        ) from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(f"the checkpoint's meta holds malformed columns ({type(error).__name__})") from error


def _bare(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{k: v for k, v in item.items() if k not in ("state", "width")} for item in document["items"]]


def _fitted(items: Sequence[Item], document: Mapping[str, Any]) -> FittedInput:
    found = []
    for item, stored in zip(items, document["items"], strict=True):
        if item.transform is None or not isinstance(stored["state"], dict) or type(stored["width"]) is not int:
            raise TypeError(item.column)
        found.append(FittedItem(item.column, item.transform, stored["state"], stored["width"], item.label))
    return FittedInput(tuple(found), bool(document["single"]))
