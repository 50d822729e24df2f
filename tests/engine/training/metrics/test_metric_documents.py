"""Metrics as documents: what is read, what is refused and where, and the catalogue."""

from __future__ import annotations

import json

import pytest

from engine.core.errors import DocumentError
from engine.core.options import Reader
from engine.training.metrics.class_counts import ConfusionMatrix, Precision
from engine.training.metrics.scores import Accuracy, Auc, TopKAccuracy
from engine.training.metrics.table import METRICS, metric_catalogue
from engine.training.metrics.table import read_metrics as read
from tests.support.rows import each_row


def metrics(*documents: object):
    reader = Reader()
    created = read(reader, documents, "/metrics")
    reader.finish()
    return created


def findings(document: object) -> list[tuple[str, str, str]]:
    reader = Reader()
    read(reader, document, "/metrics")
    with pytest.raises(DocumentError) as caught:
        reader.finish()
    return [(finding.pointer, finding.code, finding.detail) for finding in caught.value.findings]


def test_a_name_alone_is_a_metric_with_its_defaults():
    assert metrics("accuracy", {"kind": "auc"}) == (Accuracy(), Auc())


@each_row("kind", METRICS)
def test_every_kind_can_be_read(kind):
    (metric,) = metrics(kind)
    assert type(metric) is METRICS[kind]
    assert metric.kind == kind


def test_options_are_read_and_name_the_rows():
    top, precision = metrics({"kind": "top_k_accuracy", "k": 3}, {"kind": "precision", "name": "p", "average": "micro"})
    assert (top, top.row_name) == (TopKAccuracy(k=3), "top_3_accuracy")
    assert (precision, precision.row_name) == (Precision(name="p", average="micro"), "p")


@each_row(
    ("document", "pointer", "code", "words"),
    [
        ("accuracy", "/metrics", "type_mismatch", "must be a list, not a string"),
        ([3], "/metrics/0", "type_mismatch", "must be an object, not a number"),
        ([{}], "/metrics/0", "missing_field", "'kind' is required"),
        ([{"name": "f1"}], "/metrics/0", "missing_field", "'kind' is required"),
        (["acuracy"], "/metrics/0/kind", "unknown_name", "did you mean 'accuracy'?"),
        (["f1", "zzz"], "/metrics/1/kind", "unknown_name", "accepted are accuracy, top_k_accuracy, precision,"),
        ([{"kind": ["f1"]}], "/metrics/0/kind", "unknown_name", "there is no metric called"),
        ([{"kind": "f1", "avarage": "macro"}], "/metrics/0/avarage", "unknown_field", "did you mean 'average'?"),
        ([{"kind": "f1", "average": "mean"}], "/metrics/0/average", "attribute_invalid", "one of 'binary', 'macro'"),
        ([{"kind": "top_k_accuracy", "k": 0}], "/metrics/0/k", "out_of_range", "k must be at least 1, not 0"),
        ([{"kind": "f1", "threshold": 1}], "/metrics/0/threshold", "out_of_range", "greater than 0 and less than 1"),
        ([{"kind": "mae", "form": "logits"}], "/metrics/0/form", "attribute_invalid", "'numbers'"),
        (["f1", {"kind": "f1", "average": "micro"}], "/metrics/1", "duplicate_name", "set its `name`"),
        ([{"kind": "f1", "name": "a/b"}], "/metrics/0/name", "attribute_invalid", "not 'a/b'"),
        ([{"kind": "f1", "name": "a:b"}], "/metrics/0/name", "attribute_invalid", "not 'a:b'"),
        ([{"kind": "f1", "name": "x" * 65}], "/metrics/0/name", "attribute_invalid", "up to 63"),
        ([{"kind": "f1", "name": ""}], "/metrics/0/name", "attribute_invalid", "not ''"),
        ([{"kind": "f1", "name": "loss"}], "/metrics/0/name", "attribute_invalid", "'loss' is taken"),
        ([{"kind": "f1", "name": "val_f1"}], "/metrics/0/name", "attribute_invalid", "val_"),
        (["f1"] * 65, "/metrics", "limit_exceeded", "the maximum is 64"),
    ],
)
def test_a_fault_is_reported_at_its_place(document, pointer, code, words):
    ((where, which, detail),) = findings(document)
    assert (where, which) == (pointer, code)
    assert words in detail


def test_every_fault_is_found():
    assert [where for where, *_ in findings(["x", {"kind": "f1", "name": 3, "k": 2}, "accuracy", "accuracy"])] == [
        "/metrics/0/kind",
        "/metrics/1/k",
        "/metrics/1/name",
        "/metrics/3",
    ]


def test_the_catalogue_shows_everything_of_every_metric():
    entries = metric_catalogue()
    assert [entry["kind"] for entry in entries] == list(METRICS)
    for entry in entries:
        assert json.loads(json.dumps(entry)) == entry
        assert entry["doc"]
        assert entry["predictions"]
        assert {"name", "predictions", "targets", "form"} <= {attribute["name"] for attribute in entry["attrs"]}
        for attribute in entry["attrs"][4:]:
            assert f"`{attribute['name']}`" in entry["doc"] or "those of precision" in entry["doc"], entry["kind"]


def test_metrics_that_cost_more_are_not_for_every_step():
    assert {kind for kind, metric in METRICS.items() if not metric.every_step} == {Auc.kind, ConfusionMatrix.kind}


def test_the_catalogue_shows_which_direction_is_better():
    goals = {entry["kind"]: entry["goal"] for entry in metric_catalogue()}
    assert [kind for kind, goal in goals.items() if goal == "min"] == ["perplexity", "mae", "rmse"]
    assert [kind for kind, goal in goals.items() if goal is None] == ["confusion_matrix"]
