"""The class names of a model's inputs, and how text columns are mapped to them.

A dataset numbers the texts of a column by itself. The model's numbers are those of the fit or session: the field
`classes` of its request, by input. Columns of other datasets are mapped to them by name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import engine
from app.domain.documents import escape
from app.domain.errors import Finding, NotFound
from app.domain.records import CheckpointRecord, Column, DatasetRecord
from app.service.resources.engine_documents import engine_faults, invalid
from app.store.unit_of_work import UnitOfWork

Encodings = Mapping[str, engine.ClassEncoding]
CLASSES = "classes"


def complete_classes(
    request: Mapping[str, Any],
    inputs: Iterable[str],
    datasets: Sequence[DatasetRecord],
    asked: Iterable[str] = (),
) -> dict[str, Any]:
    """Return the request with the class names of every input that is fed from a text column.

    Names that the request does not give are those of the datasets, sorted; a class `unknown` that is none of them
    follows behind. `asked` are the inputs whose classes the client itself has given: these must exist and be text.

    Invalid if given classes are malformed, or an input with classes asked for does not take text.
    """
    inputs, feeds = plain_inputs(request, inputs), request.get("feeds") or {}
    given: Mapping[str, Any] = request.get(CLASSES) or {}
    faults = [*_asked_faults(given, inputs, feeds, datasets, frozenset(asked))]
    if faults:
        raise invalid(faults)
    complete = {}
    for name in inputs:
        found = _joined_names(datasets, feeds.get(name, name))
        document = _with_names(given.get(name), found)
        if document is not None:
            complete[name] = document
    rest = {name: value for name, value in request.items() if name != CLASSES}
    with engine_faults():
        read = engine.read_class_encodings(complete, f"/{CLASSES}")
    return {**rest, CLASSES: {name: each.to_json() for name, each in read.items()}} if read else rest


def plain_inputs(request: Mapping[str, Any], inputs: Iterable[str]) -> tuple[str, ...]:
    """Return the inputs that take a column as it is: those that `columns` does not make."""
    made = request.get("columns") or {}
    return tuple(name for name in inputs if name not in made)


def raw_columns(request: Mapping[str, Any]) -> frozenset[str]:
    """Return the raw columns that `columns` takes; none of a malformed section, whose faults the engine finds."""
    found: set[str] = set()
    section = request.get("columns")
    for given in section.values() if isinstance(section, Mapping) else ():
        for item in given if isinstance(given, list) else [given]:
            document = {"column": item} if isinstance(item, str) else item
            if isinstance(document, Mapping):
                several = document.get("columns")
                names = [document.get("column"), *(several if isinstance(several, list) else ())]
                found.update(name for name in names if isinstance(name, str))
    return frozenset(found)


def text_names(
    request: Mapping[str, Any], datasets: Sequence[DatasetRecord], encodings: Encodings
) -> dict[str, list[str]]:
    """Return the texts that the codes of raw columns stand for, as `encodings` number them."""
    texts = {column.name for dataset in datasets for column in dataset.columns if column.classes is not None}
    return {name: list(encodings[name].names) for name in sorted(raw_columns(request) & texts)}


def validation_encodings(
    request: Mapping[str, Any], encodings: Encodings, inputs: Iterable[str], validation: Sequence[DatasetRecord]
) -> dict[str, engine.ClassEncoding]:
    """Return the encodings of the text columns to validate on: the model's, or for raw columns the texts themselves."""
    known = fed_encodings(encodings, request.get("feeds") or {}, plain_inputs(request, inputs))
    for name in raw_columns(request) - known.keys():
        names = _joined_names(validation, name)
        if names:
            known[name] = engine.ClassEncoding(names)
    return known


def model_classes(request: Mapping[str, Any], inputs: Iterable[str], datasets: Sequence[DatasetRecord]) -> Encodings:
    """Return the class encodings of a fit by input.

    The request of a fit from before classes were recorded has none: they are those of its training datasets.
    """
    complete = request if request.get(CLASSES) else complete_classes(request, inputs, datasets)
    return engine.read_class_encodings(complete.get(CLASSES) or {}, f"/{CLASSES}")


def column_encodings(
    classes: Encodings, feeds: Mapping[str, str], inputs: Iterable[str], datasets: Sequence[DatasetRecord]
) -> dict[str, engine.ClassEncoding]:
    """Return the class encoding of each text column: that of the input it feeds, else the names of all datasets.

    Invalid if two inputs with different classes are fed from one column.
    """
    encodings: dict[str, engine.ClassEncoding] = {}
    for name in inputs:
        column = feeds.get(name, name)
        if name in classes and encodings.setdefault(column, classes[name]) != classes[name]:
            detail = f"column {column[:64]!r} feeds inputs with different classes; give them the same"
            raise invalid([Finding(f"/{CLASSES}/{escape(name)}", "conflict", detail)])
    for column in {column.name for dataset in datasets for column in dataset.columns if column.classes is not None}:
        if column not in encodings:
            encodings[column] = engine.ClassEncoding(_joined_names(datasets, column))
    return encodings


def fed_encodings(
    encodings: Encodings, feeds: Mapping[str, str], inputs: Iterable[str]
) -> dict[str, engine.ClassEncoding]:
    """Return the encodings of the columns that feed inputs: nothing else is read of rows to validate on."""
    fed = {feeds.get(name, name) for name in inputs}
    return {name: encoding for name, encoding in encodings.items() if name in fed}


def class_faults(datasets: Sequence[DatasetRecord], encodings: Encodings, pointer: str) -> Iterator[Finding]:
    """Yield the columns whose texts the model has no class for, or which hold numbers where it takes texts."""
    for place, dataset in enumerate(datasets):
        at = f"{pointer}/{place}" if len(datasets) > 1 else pointer
        for column in dataset.columns:
            if column.name in encodings:
                yield from _column_faults(column, encodings[column.name], dataset, at)


def recodings(dataset: DatasetRecord, encodings: Encodings) -> dict[str, list[int]]:
    """Return, for each text column whose numbers are not the model's, the model's number of each of its classes.

    Invalid if the model has no class for one of them.
    """
    tables: dict[str, list[int]] = {}
    for column in dataset.columns:
        if column.name in encodings and column.classes is not None:
            with engine_faults("/dataset"):
                table = encodings[column.name].table(column.classes)
            if table is not None:
                tables[column.name] = table.tolist()
    return tables


def recoding_tables(datasets: Sequence[DatasetRecord], encodings: Encodings) -> dict[str, list[list[int] | None]]:
    """Return, for text columns that some dataset numbers otherwise than the model, a table for each dataset."""
    tables = [recodings(dataset, encodings) for dataset in datasets]
    names = {name for table in tables for name in table}
    return {name: [table.get(name) for table in tables] for name in sorted(names)}


def _column_faults(
    column: Column, encoding: engine.ClassEncoding, dataset: DatasetRecord, pointer: str
) -> Iterator[Finding]:
    where = f"column {column.name[:64]!r} of {dataset.id}"
    if column.classes is None:
        detail = f"{where} holds numbers, and the model takes class names there; upload the names as text"
        yield Finding(pointer, "class_names_missing", detail)
        return
    unknown = encoding.unknown_names(column.classes)
    if unknown:
        detail = f"{where} has {encoding.describe_unknown(unknown)}"
        advice = "leave these rows out, or declare a class for unknown texts in `classes`"
        yield Finding(pointer, "unknown_class", f"{detail}: {advice}")


def _asked_faults(
    given: Mapping[str, Any],
    inputs: Sequence[str],
    feeds: Mapping[str, str],
    datasets: Sequence[DatasetRecord],
    asked: frozenset[str],
) -> Iterator[Finding]:
    for name in given:
        pointer = f"/{CLASSES}/{escape(name)}"
        if name not in asked or given[name] is None:
            continue
        if name not in inputs:
            yield Finding(pointer, "unknown_name", f"the graph has no input of this name; it has {', '.join(inputs)}")
        elif not _joined_names(datasets, feeds.get(name, name)):
            detail = f"input {name[:64]!r} takes no text column, so it has no classes; leave this out"
            yield Finding(pointer, "conflict", detail)


def _with_names(given: Any, found: tuple[str, ...]) -> Any:
    """Return given classes with the names filled in; None if there are none."""
    if given is None:
        return {"names": list(found)} if found else None
    if not isinstance(given, Mapping) or given.get("names") is not None:
        return given
    unknown = given.get("unknown")
    added = [unknown] if isinstance(unknown, str) and unknown not in found else []
    return {**given, "names": [*found, *added]}


def _joined_names(datasets: Sequence[DatasetRecord], name: str) -> tuple[str, ...]:
    """Return the texts of a column in all datasets, sorted as in a dataset that holds the rows of all of them."""
    columns = (column for dataset in datasets for column in dataset.columns if column.name == name)
    lists = [column.classes for column in columns if column.classes is not None]
    return lists[0] if len(lists) == 1 else tuple(sorted({text for names in lists for text in names}))


def checkpoint_classes(
    work: UnitOfWork, checkpoint: CheckpointRecord, loaded: engine.Checkpoint, inputs: Iterable[str]
) -> Encodings:
    """Return the class encodings of the model in a checkpoint, by input.

    A file from before classes were kept has those of its fit: as recorded, or of its training datasets as far as these
    are still there. Invalid if the entry in the file is malformed.
    """
    with engine_faults():
        found = engine.classes_of_checkpoint(loaded.meta)
    if found is not None or checkpoint.fit_id is None:
        return found or {}
    try:
        fit = work.fits.get(checkpoint.fit_id)
        datasets = [work.datasets.get(dataset_id) for dataset_id in fit.dataset_ids]
    except NotFound:
        return {}
    return model_classes(fit.request, inputs, datasets)


def with_recorded_classes(
    work: UnitOfWork, checkpoint: CheckpointRecord, loaded: engine.Checkpoint, inputs: Iterable[str]
) -> engine.Checkpoint:
    """Return a checkpoint whose meta holds the class encodings of its model."""
    classes = checkpoint_classes(work, checkpoint, loaded, inputs)
    return replace(loaded, meta=engine.meta_with_classes(loaded.meta, classes))
