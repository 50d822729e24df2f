"""The class names of a model: what a request leaves out, what was stored before they were recorded, and mapping."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from app.domain.errors import Invalid
from app.domain.ids import new_id
from app.domain.records import CheckpointRecord, Column, DatasetRecord, GraphRecord
from app.domain.session import SessionRecord, SessionState
from app.service.resources.model_classes import (
    column_encodings,
    complete_classes,
    fed_encodings,
    model_classes,
    recodings,
    with_recorded_classes,
)
from app.service.sessions.classes import add_checkpoint_classes, add_dataset_classes, session_classes
from app.store.unit_of_work import Store
from app.worker.columns import MappedColumns
from tests.support.attempts_harness import AttemptsHarness

NOW = datetime(2026, 2, 3, tzinfo=UTC)
INPUTS = ("x", "y")


def text(name: str, *classes: str) -> Column:
    return Column(name, "int64", (), "0" * 64, 0, len(classes) - 1, None, 0, classes)


def dataset(*columns: Column, id: str = "ds_1") -> DatasetRecord:
    x = Column("x", "float32", (2,), "1" * 64, 0.0, 1.0, 0.5, 0)
    return DatasetRecord(id, id, "0" * 64, 1, 4, (x, *columns), "json", NOW)


def names(request: dict[str, Any]) -> dict[str, list[str]]:
    return {name: each["names"] for name, each in request.get("classes", {}).items()}


AB, BC = dataset(text("y", "a", "b")), dataset(text("y", "b", "c"), id="ds_2")

COMPLETED: dict[str, tuple[dict[str, Any], tuple[DatasetRecord, ...], dict[str, list[str]]]] = {
    "numbers only": ({}, (dataset(),), {}),
    "of the dataset": ({}, (AB,), {"y": ["a", "b"]}),
    "of joined datasets": ({}, (BC, AB), {"y": ["a", "b", "c"]}),
    "given": ({"classes": {"y": ["b", "a"]}}, (AB,), {"y": ["b", "a"]}),
    "with a class for others": ({"classes": {"y": {"unknown": "?"}}}, (AB,), {"y": ["a", "b", "?"]}),
    "by another column": ({"feeds": {"y": "z"}}, (dataset(text("z", "u")),), {"y": ["u"]}),
    "anew": ({"classes": {"y": None}}, (AB,), {"y": ["a", "b"]}),
    "of an input that is gone": ({"classes": {"old": ["k"]}}, (AB,), {"y": ["a", "b"]}),
}


@pytest.mark.parametrize(("request_", "datasets", "expected"), COMPLETED.values(), ids=COMPLETED.keys())
def test_a_request_is_completed(
    request_: dict[str, Any], datasets: tuple[DatasetRecord, ...], expected: dict[str, list[str]]
) -> None:
    complete = complete_classes(request_, INPUTS, datasets)
    assert names(complete) == expected
    assert complete_classes(complete, INPUTS, datasets) == complete
    assert {name: list(each.names) for name, each in model_classes(complete, INPUTS, datasets).items()} == expected


def test_columns_are_recoded_only_where_numbers_differ() -> None:
    classes = model_classes({}, INPUTS, (BC, AB))
    encodings = column_encodings(classes, {}, INPUTS, (BC, AB))
    assert [recodings(each, encodings) for each in (AB, BC)] == [{}, {"y": [1, 2]}]
    with pytest.raises(Invalid, match="unknown class 'd'"):
        recodings(dataset(text("y", "d")), encodings)


def test_columns_that_feed_nothing_are_joined_and_not_looked_at_in_validation() -> None:
    parts = (dataset(text("kind", "k", "l")), dataset(text("kind", "l", "m")))
    encodings = column_encodings({}, {}, INPUTS, parts)
    assert encodings["kind"].names == ("k", "l", "m")
    assert fed_encodings(encodings, {}, INPUTS) == {}


def test_one_column_feeds_no_inputs_with_different_classes() -> None:
    request = {"feeds": {"x": "z", "y": "z"}, "classes": {"x": ["u", "v"], "y": ["v", "u"]}}
    source = dataset(text("z", "u", "v"))
    with pytest.raises(Invalid) as caught:
        column_encodings(model_classes(request, INPUTS, (source,)), request["feeds"], INPUTS, (source,))
    assert [each.pointer for each in caught.value.findings] == ["/classes/y"]


DEFINITION = {
    "inputs": {"x": ["batch", 2], "y": {"shape": ["batch"], "dtype": "int64"}},
    "parameters": {"w": [2, 3]},
    "program": "loss = cross_entropy(x @ w, y)",
}


@pytest.fixture
def stored(store: Store, harness: AttemptsHarness) -> AttemptsHarness:
    """Add a graph with a text target and datasets for it."""
    with store.begin() as work:
        work.graphs.add(GraphRecord("graph_2", "g", "2" * 64, DEFINITION, {}, NOW))
        for each in (dataset(text("y", "a", "b"), id="ds_ab"), dataset(text("y", "b"), id="ds_b")):
            columns = tuple(replace(column, blob=harness.column) for column in each.columns)
            work.datasets.add(replace(each, columns=columns))
    return harness


def test_a_fit_from_before_classes_were_recorded_has_those_of_its_training_data(stored: AttemptsHarness) -> None:
    stored.submit("fit_old", graph="graph_2", dataset="ds_ab", validation={"dataset": "ds_b"})
    with stored.store.begin() as work:
        fit = work.fits.get("fit_old")
        work.fits.update(replace(fit, graph_id="graph_2"))
    claim = stored.attempts.claim()
    assert claim is not None
    assignment = stored.attempts.assignment(claim)
    assert (assignment.recodings, assignment.validation_recodings) == ({}, {"y": [[1]]})
    checkpoint = CheckpointRecord(new_id("ckpt"), "fit_old", "graph_2", 1, 1, "0" * 64, 1, {}, NOW, False, False)
    old = engine.Checkpoint({"w": np.zeros((2, 3), np.float32)}, meta={"graph": "g"})
    with stored.store.begin() as work:
        loaded = with_recorded_classes(work, checkpoint, old, INPUTS)
    assert loaded.meta["classes"] == {"y": {"names": ["a", "b"], "unknown": None}}


def test_the_classes_of_a_session_are_those_of_its_first_dataset(stored: AttemptsHarness) -> None:
    request = {"dataset": None, "feeds": {}}
    session = SessionRecord("sess_1", "training", SessionState.ACTIVE, "graph_2", request, {}, 0, 60.0, NOW, NOW)
    checkpoint = CheckpointRecord(new_id("ckpt"), None, "graph_2", 1, 1, "0" * 64, 1, {}, NOW, False, False)
    other = engine.Checkpoint({}, meta=engine.meta_with_classes({}, {"y": engine.ClassEncoding(("b", "a"))}))
    with stored.store.begin() as work:
        work.sessions.add(session)
        for dataset_id in ("ds_ab", "ds_b"):
            add_dataset_classes(work, "sess_1", work.datasets.get(dataset_id))
            work.sessions.use("sess_1", dataset_id)
        assert session_classes(work, work.sessions.get("sess_1"))["y"]["names"] == ["a", "b"]
        with pytest.raises(Invalid, match="other classes of input 'y'"):
            add_checkpoint_classes(work, "sess_1", checkpoint, other, "/checkpoint")
        known = work.sessions.get("sess_1")
        work.sessions.update(replace(known, request=request))
        assert session_classes(work, work.sessions.get("sess_1"))["y"]["names"] == ["a", "b"]


def test_data_files_are_recoded_when_they_are_mapped(tmp_path: Path) -> None:
    path = tmp_path / "y.npy"
    np.save(path, np.array([0, 1, 1, 0]))
    columns = MappedColumns({"y": [str(path), str(path)]}, lambda _paths: None, {"y": [None, [2, 0]]})
    assert [part.tolist() for part in columns["y"]] == [[0, 1, 1, 0], [2, 0, 0, 2]]
