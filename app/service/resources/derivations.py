"""Datasets that are made of stored ones: rows appended, chosen, sampled, split, joined. The sources stay."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.domain.column_labels import column_identifier, label_fault
from app.domain.documents import nearest
from app.domain.errors import Finding, NotFound, storage_faults
from app.domain.ids import is_id
from app.domain.records import Column, DatasetRecord
from app.ingest.derived import Condition, DerivedColumn, Part, Plan, Selection
from app.service.resources.blobs import BlobSweeper, Integrity
from app.service.resources.datasets import Ingestion, UploadOptions
from app.service.resources.engine_documents import invalid
from app.service.resources.idempotency import SaveResponse
from app.service.resources.model_images import dataset_image_options
from app.store.blobs.store import BlobWriter
from app.store.unit_of_work import Store, UnitOfWork

NEEDS_NO_VALUE = frozenset({"missing", "present"})
LISTED = frozenset({"in", "not_in"})
OF_TEXTS = frozenset({"==", "!=", *NEEDS_NO_VALUE, *LISTED})


@dataclass(frozen=True, slots=True)
class Split:
    """The two parts of a dataset."""

    train: DatasetRecord
    test: DatasetRecord


class Derivations:
    """The use cases that make datasets of others. The new one is stored with its columns, and outlives its sources."""

    def __init__(self, store: Store, integrity: Integrity, ingestion: Ingestion, sweeper: BlobSweeper) -> None:
        """Read the columns by `integrity`, and have `ingestion` write new ones."""
        self._store = store
        self._integrity = integrity
        self._ingestion = ingestion
        self._sweeper = sweeper

    def append(
        self, dataset_id: str, upload: BlobWriter, terms: UploadOptions, save_response: SaveResponse[DatasetRecord]
    ) -> DatasetRecord:
        """Store the next version of a dataset: its rows, then those that were uploaded, which have the same columns.

        NotFound if there is no such dataset; Invalid or TooLarge if the upload is not taken.
        """
        base = self._get(dataset_id)
        with self._sweeper.paused() as stored, ExitStack() as held:
            blob = upload.commit()
            stored.add(blob.digest)
            with storage_faults("the rows of this upload"):
                folder = Path(held.enter_context(tempfile.TemporaryDirectory(dir=self._ingestion.scratch)))
            reading = replace(terms, options=dataset_image_options(terms.options, base))
            rows, paths = self._ingestion.read_table(self._ingestion.path(blob), reading, folder)
            origin = {"kind": "append", "datasets": [dataset_id], "rows": rows.rows, "digest": blob.digest}
            made = self._join([base, rows], [self._paths(base), paths], stored)
            made = replace(made, name=terms.name or base.name, version=base.version + 1, origin=origin)
            stored.discard(blob.digest)  # the bytes are in the columns, and not kept themselves
            self._add([made], save_response, made)
        self._sweeper.discard({blob.digest})
        return made

    def join(
        self, dataset_ids: Sequence[str], name: str | None, save_response: SaveResponse[DatasetRecord]
    ) -> DatasetRecord:
        """Store the rows of datasets with the same columns, one after another."""
        with self._store.read() as work:
            sources = [_resolve(work, place, each) for place, each in enumerate(dataset_ids)]
        with self._sweeper.paused() as stored:
            made = self._join(sources, [self._paths(each) for each in sources], stored)
            origin = {"kind": "join", "datasets": [*dataset_ids]}
            made = replace(made, name=name or sources[0].name, origin=origin)
            self._add([made], save_response, made)
        return made

    def select(
        self, dataset_id: str, selection: Selection, name: str | None, save_response: SaveResponse[DatasetRecord]
    ) -> DatasetRecord:
        """Store the rows that are chosen; Invalid if a condition does not suit its column, or no row is left."""
        source = self._get(dataset_id)
        resolved = _resolve_selection(source, selection)
        with self._sweeper.paused() as stored:
            made = self._write(source, resolved, stored)
            origin = {"kind": "select", "datasets": [dataset_id], **_describe(selection)}
            made = replace(made, name=name or source.name, origin=origin)
            self._add([made], save_response, made)
        return made

    def split(
        self, dataset_id: str, selection: Selection, name: str | None, save_response: SaveResponse[Split]
    ) -> Split:
        """Store two parts of a dataset: every row is in one of them."""
        source = self._get(dataset_id)
        if source.rows < 2:
            raise invalid([Finding("", "out_of_range", "a dataset of one row cannot be split; upload more rows")])
        if selection.stratify is not None:
            selection = replace(selection, stratify=_scalar_column(source, selection.stratify, "/stratify").name)
        test_rows = selection.count
        if test_rows is None:
            test_rows = round((selection.fraction or 0.0) * source.rows)
        test_rows = min(max(1, test_rows), source.rows - 1)
        if selection.count is not None and selection.count >= source.rows:
            detail = f"the dataset has {source.rows} rows; leave at least one for training"
            raise invalid([Finding("/test", "out_of_range", detail)])
        chosen = replace(selection, fraction=None, count=test_rows)
        with self._sweeper.paused() as stored:
            parts = []
            for part in ("train", "test"):
                made = self._write(source, replace(chosen, part=part), stored)
                origin = {"kind": "split", "part": part, "datasets": [dataset_id], **_describe(selection)}
                parts.append(replace(made, name=f"{name or source.name} {part}"[:200], origin=origin))
            split = Split(*parts)
            self._add(parts, save_response, split)
        return split

    def _get(self, dataset_id: str) -> DatasetRecord:
        with self._store.read() as work:
            return work.datasets.get(dataset_id)

    def _paths(self, dataset: DatasetRecord) -> dict[str, str]:
        """Return the files of a dataset's columns; Corrupt if one is damaged."""
        return {column.name: str(self._integrity.column(dataset, column.name)) for column in dataset.columns}

    def _write(self, source: DatasetRecord, selection: Selection, stored: set[str]) -> DatasetRecord:
        plan = Plan(_planned(source.columns), (Part(self._paths(source)),), selection)
        return self._ingestion.derive(plan, source.columns, stored)

    def _join(
        self, sources: Sequence[DatasetRecord], paths: Sequence[Mapping[str, Any]], stored: set[str]
    ) -> DatasetRecord:
        columns = _joined_columns(sources)
        parts = tuple(
            Part({name: _one(named[name]) for name in (column.name for column in columns)}, _codes(columns, source))
            for source, named in zip(sources, paths, strict=True)
        )
        return self._ingestion.derive(Plan(_planned(columns), parts), columns, stored)

    def _add(self, made: Iterable[DatasetRecord], save_response: SaveResponse[Any], shown: Any) -> None:
        with self._store.begin() as work:
            for dataset in made:
                work.datasets.add(dataset)
            save_response(work, shown)


def _one(path: Any) -> str:
    return path if isinstance(path, str) else path[0]


def _planned(columns: Sequence[Column]) -> tuple[DerivedColumn, ...]:
    return tuple(
        DerivedColumn(column.name, column.dtype, column.shape, column.classes is not None) for column in columns
    )


def _resolve(work: UnitOfWork, place: int, dataset_id: str) -> DatasetRecord:
    try:
        if is_id("ds", dataset_id):
            return work.datasets.get(dataset_id)
        raise NotFound("an id of a dataset is ds_ and 26 characters")
    except NotFound as error:
        raise invalid([Finding(f"/datasets/{place}", "not_found", error.detail)]) from error


def _joined_columns(sources: Sequence[DatasetRecord]) -> tuple[Column, ...]:
    """Return the columns of the first dataset, with the texts of all; Invalid unless the others have the same ones."""
    first, faults = sources[0], []
    for place, other in enumerate(sources[1:], 1):
        theirs = {column.name: column for column in other.columns}
        for column in first.columns:
            found = theirs.pop(column.name, None)
            where = f"/datasets/{place}" if other.id.startswith("ds_") else f"/columns/{column.name}"
            if found is None:
                faults.append(Finding(where, "missing_column", f"the column {column.title} is missing in these rows"))
            elif not _same_kind(column, found):
                detail = (
                    f"column {column.title} is {_kind(column)} in {first.id}, and {_kind(found)} in these rows; "
                    "give them the same type, in a CSV file with columns="
                )
                faults.append(Finding(where, "type_mismatch", detail))
        for name in theirs:
            where = f"/datasets/{place}" if other.id.startswith("ds_") else f"/columns/{name}"
            detail = f"{first.id} has no column {name!r}{nearest(name, [each.name for each in first.columns])}"
            faults.append(Finding(where, "unknown_column", detail))
    if faults:
        raise invalid(faults[:32])
    return tuple(_with_all_classes(column, sources) for column in first.columns)


def _same_kind(one: Column, other: Column) -> bool:
    """Whether values of the other column can be in the first one; which of the numbers can, they show themselves."""
    return (_group(one), one.shape) == (_group(other), other.shape)


def _group(column: Column) -> str:
    return "text" if column.classes is not None else "boolean" if column.dtype == "bool" else "number"


def _kind(column: Column) -> str:
    return "text" if column.classes is not None else f"{column.dtype}{list(column.shape) if column.shape else ''}"


def _with_all_classes(column: Column, sources: Sequence[DatasetRecord]) -> Column:
    """Return a column of texts with the classes of all datasets: those of the first keep their numbers."""
    if column.classes is None:
        return column
    known = dict.fromkeys(column.classes)
    for source in sources[1:]:
        (theirs,) = (each for each in source.columns if each.name == column.name)
        known.update(dict.fromkeys(theirs.classes or ()))
    return replace(column, classes=tuple(known))


def _codes(columns: Sequence[Column], source: DatasetRecord) -> dict[str, list[int]]:
    """Return the new codes of the columns of texts whose texts are numbered otherwise in `source`."""
    theirs, found = {column.name: column for column in source.columns}, {}
    for column in columns:
        old = theirs[column.name].classes
        if column.classes is not None and old is not None and old != column.classes[: len(old)]:
            places = {text: code for code, text in enumerate(column.classes)}
            found[column.name] = [places[text] for text in old]
    return found


def _describe(selection: Selection) -> dict[str, Any]:
    """Return what was asked for, without what was left out."""
    asked: dict[str, Any] = {"seed": selection.seed}
    if selection.start or selection.stop is not None:
        asked["rows"] = {"start": selection.start, "stop": selection.stop}
    if selection.where:
        asked["where"] = [{"column": each.column, "op": each.op, "value": each.value} for each in selection.where]
    for name in ("count", "fraction", "stratify"):
        if getattr(selection, name) is not None:
            asked[name] = getattr(selection, name)
    return asked


def _scalar_column(dataset: DatasetRecord, name: str, pointer: str) -> Column:
    names = [column.name for column in dataset.columns]
    wanted = column_identifier(name) if label_fault(name) is None else name
    if wanted not in names:
        raise invalid([Finding(pointer, "unknown_column", f"there is no column {name[:64]!r}{nearest(name, names)}")])
    column = dataset.columns[names.index(wanted)]
    if column.shape:
        detail = f"column {column.title} holds tensors of shape {list(column.shape)}; choose a column of single values"
        raise invalid([Finding(pointer, "bad_shape", detail)])
    return column


def _resolve_selection(dataset: DatasetRecord, selection: Selection) -> Selection:
    """Return a selection with codes in place of texts; Invalid if it does not suit the dataset."""
    if selection.start >= dataset.rows:
        detail = f"the dataset has {dataset.rows} rows, so that none follows the first {selection.start}"
        raise invalid([Finding("/rows/start", "out_of_range", detail)])
    where = tuple(_resolve_condition(dataset, each, f"/where/{k}") for k, each in enumerate(selection.where))
    return replace(selection, where=where)


def _resolve_condition(dataset: DatasetRecord, condition: Condition, pointer: str) -> Condition:
    column, op, value = _scalar_column(dataset, condition.column, f"{pointer}/column"), condition.op, condition.value
    texts = column.classes is not None
    if texts and op not in OF_TEXTS:
        detail = f"column {column.title} holds texts, which have no order; use one of {', '.join(sorted(OF_TEXTS))}"
        raise invalid([Finding(f"{pointer}/op", "type_mismatch", detail)])
    if op in NEEDS_NO_VALUE:
        return replace(condition, column=column.name, value=None, texts=texts)
    if isinstance(value, list) != (op in LISTED):
        detail = f"{op!r} needs {'a list of values' if op in LISTED else 'a single value'}"
        raise invalid([Finding(f"{pointer}/value", "type_mismatch", detail)])
    read = [_read_value(column, each, f"{pointer}/value") for each in (value if isinstance(value, list) else [value])]
    return replace(condition, column=column.name, value=read if op in LISTED else read[0], texts=texts)


def _read_value(column: Column, value: Any, pointer: str) -> Any:
    """Return what a value is compared as: the code of a text, or a number."""
    if column.classes is not None:
        if not isinstance(value, str):
            raise invalid([Finding(pointer, "type_mismatch", f"column {column.title} holds texts; give a text")])
        if value not in column.classes:
            hint = nearest(value, column.classes[:1000])
            detail = f"column {column.title} has no text {value[:64]!r}{hint if len(hint) < 400 else ''}"
            raise invalid([Finding(pointer, "unknown_name", detail)])
        return column.classes.index(value)
    if value is None or isinstance(value, str):
        detail = f"column {column.title} holds {column.dtype}; give a number, or use the operator missing"
        raise invalid([Finding(pointer, "type_mismatch", detail)])
    return value
