"""The table of metrics by kind, their description for clients, and their reading from a document."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from engine.core.errors import accepted_names
from engine.core.options import Reader, describe_options, read_options, summary
from engine.training.metrics.class_counts import F1, ConfusionMatrix, Precision, Recall
from engine.training.metrics.metric import Metric
from engine.training.metrics.operands import FORMS
from engine.training.metrics.regression import R2, Mae, Rmse
from engine.training.metrics.scores import Accuracy, Auc, Perplexity, TopKAccuracy

METRICS: Mapping[str, type[Metric]] = MappingProxyType(
    {
        metric.kind: metric
        for metric in (Accuracy, TopKAccuracy, Precision, Recall, F1, Auc, ConfusionMatrix, Perplexity, R2, Mae, Rmse)
    }
)
"""Every metric by its kind."""

MAX_METRICS = 64
"""Maximum number of metrics of a fit."""


def metric_catalogue() -> list[dict[str, Any]]:
    """Describe every metric for a client: kind, documentation, predictions, goal, whether each step, options."""
    return [
        {
            "kind": kind,
            "doc": summary(metric),
            "predictions": {form: FORMS[form] for form in metric.takes},
            "goal": metric.goal,
            "every_step": metric.every_step,
            "attrs": describe_options(metric),
        }
        for kind, metric in METRICS.items()
    ]


def read_metrics(reader: Reader, value: Any, pointer: str) -> tuple[Metric, ...]:
    """Read a list of kinds, or of objects {"kind": ..., options}; every fault is reported."""
    items = reader.sequence(value, pointer)
    if len(items) > MAX_METRICS:
        reader.fault(pointer, "limit_exceeded", f"{len(items)} metrics are too many; the maximum is {MAX_METRICS}")
        return ()
    metrics: dict[str, Metric] = {}
    for index, item in enumerate(items):
        place = f"{pointer}/{index}"
        metric = _read_metric(reader, item, place)
        if metric is not None and metric.row_name in metrics:
            detail = f"there is another metric called {metric.row_name!r}: leave one out, or set its `name`"
            reader.fault(place, "duplicate_name", detail)
        elif metric is not None:
            metrics[metric.row_name] = metric
    return tuple(metrics.values())


def _read_metric(reader: Reader, document: Any, pointer: str) -> Metric | None:
    document = {"kind": document} if isinstance(document, str) else document
    if not isinstance(document, Mapping):
        reader.mapping(document, pointer)
        return None
    if "kind" not in document:
        reader.fault(pointer, "missing_field", "the field 'kind' is required")
        return None
    kind = document["kind"]
    if not isinstance(kind, str) or kind not in METRICS:
        shown = str(kind)[:64]
        hint = accepted_names(shown, METRICS, "GET /v1/metrics")
        reader.fault(f"{pointer}/kind", "unknown_name", f"there is no metric called {shown!r}{hint}")
        return None
    options = {name: option for name, option in document.items() if name != "kind"}
    return read_options(reader, options, pointer, METRICS[kind])
