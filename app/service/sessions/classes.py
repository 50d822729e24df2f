"""The class names of a session's model: those it was created with, and those that its datasets add."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import engine
from app.domain.errors import Finding
from app.domain.records import CheckpointRecord, DatasetRecord
from app.domain.session import SessionRecord
from app.service.resources.engine_documents import invalid
from app.service.resources.model_classes import (
    CLASSES,
    Encodings,
    checkpoint_classes,
    class_faults,
    column_encodings,
    complete_classes,
)
from app.store.unit_of_work import UnitOfWork

Documents = dict[str, dict[str, Any]]


def beginning_classes(
    request: Mapping[str, Any], inputs: Iterable[str], of_checkpoint: Encodings, dataset: DatasetRecord | None
) -> Documents:
    """Return the class names of a new session by input: as requested, of its checkpoint, or of its dataset.

    Invalid if the names are malformed, or the dataset holds a text that is no class.
    """
    inputs, given, feeds = tuple(inputs), request.get(CLASSES) or {}, request.get("feeds") or {}
    unknown = [name for name in given if name not in inputs]
    if unknown:
        detail = f"the graph has no input of this name; it has {', '.join(inputs)}"
        raise invalid(Finding(f"/{CLASSES}/{name[:64]}", "unknown_name", detail) for name in unknown)
    known = {**{name: each.to_json() for name, each in of_checkpoint.items()}, **given}
    datasets = () if dataset is None else (dataset,)
    classes = _classes({"feeds": feeds, CLASSES: known}, inputs, datasets)
    encodings = column_encodings(engine.read_class_encodings(classes), feeds, inputs, datasets)
    faults = [*class_faults(datasets, encodings, "/dataset")]
    if faults:
        raise invalid(faults)
    return classes


def session_classes(work: UnitOfWork, session: SessionRecord) -> Documents:
    """Return the class names of a session's model by input.

    A session from before they were recorded has those of its own dataset, and then of the others that it has used.
    """
    known: Documents | None = session.request.get(CLASSES)
    if known is not None:
        return known
    own = session.request["dataset"]
    used = sorted(work.sessions.datasets(session.id), key=lambda dataset_id: (dataset_id != own, dataset_id))
    classes: Documents = {}
    for dataset_id in used:
        classes = _added(work, session, classes, work.datasets.get(dataset_id))
    return classes


def add_dataset_classes(work: UnitOfWork, session_id: str, dataset: DatasetRecord) -> None:
    """Record the class names of a dataset that a session uses, for inputs whose classes are not known yet."""
    session = work.sessions.get(session_id)
    known = session_classes(work, session)
    _record(work, session, _added(work, session, known, dataset))


def add_checkpoint_classes(
    work: UnitOfWork, session_id: str, checkpoint: CheckpointRecord, loaded: engine.Checkpoint, pointer: str
) -> None:
    """Record the class names of a checkpoint that a session loads, for inputs whose classes are not known yet.

    Invalid if the checkpoint numbers the classes of an input otherwise than the session does.
    """
    session = work.sessions.get(session_id)
    known, inputs = session_classes(work, session), _inputs(work, session)
    found = checkpoint_classes(work, checkpoint, loaded, inputs)
    differing = [name for name, each in found.items() if name in known and list(each.names) != known[name]["names"]]
    if differing:
        detail = f"checkpoint {checkpoint.id} has other classes of input {differing[0][:64]!r} than the session"
        raise invalid([Finding(pointer, "conflict", f"{detail}; begin a session with this checkpoint")])
    _record(work, session, {**{name: found[name].to_json() for name in found if name in inputs}, **known})


def _added(work: UnitOfWork, session: SessionRecord, known: Documents, dataset: DatasetRecord) -> Documents:
    feeds = session.request.get("feeds") or {}
    return _classes({"feeds": feeds, CLASSES: known}, _inputs(work, session), (dataset,))


def _classes(request: Mapping[str, Any], inputs: Iterable[str], datasets: Sequence[DatasetRecord]) -> Documents:
    found: Documents = complete_classes(request, inputs, datasets).get(CLASSES) or {}
    return found


def _inputs(work: UnitOfWork, session: SessionRecord) -> tuple[str, ...]:
    return tuple(work.graphs.get(session.graph_id).definition["inputs"])


def _record(work: UnitOfWork, session: SessionRecord, classes: Documents) -> None:
    if classes != session.request.get(CLASSES):
        work.sessions.update(replace(session, request={**session.request, CLASSES: classes}))
