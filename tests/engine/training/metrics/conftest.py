"""Metrics of predictions in batches: through a plan, as a fit computes them, and on the tape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from engine.core.options import Reader
from engine.core.value import Array, tensor
from engine.execution.plan import NumpyExecutor, make_plan
from engine.graph.codec import parse_graph
from engine.graph.trace import build
from engine.ops import OPS
from engine.ops.loss.softmax_cross_entropy import IGNORE
from engine.training.metrics.metric import Metric
from engine.training.metrics.operands import Operands
from engine.training.metrics.table import read_metrics
from engine.training.metrics.tally import Tally, metric_statistics

Measure = Callable[..., dict[str, float]]


def create(documents: Sequence[Any]) -> tuple[Metric, ...]:
    """Read metrics that have no faults."""
    reader = Reader()
    metrics = read_metrics(reader, documents, "/metrics")
    reader.finish()
    return metrics


def through_plans(
    documents: Sequence[Any], loss: str, predictions: Array, targets: Array, batches: Sequence[int], **attrs: Any
) -> dict[str, float]:
    """Compute metrics of the graph that is a loss alone, with a plan for each size of batch."""
    metrics = create(documents)
    node = {"name": "loss", "op": loss, "inputs": ["x", "y"], "attrs": attrs}
    inputs = {
        name: {"shape": ["rows", *array.shape[1:]], "dtype": array.dtype.name}
        for name, array in (("x", predictions), ("y", targets))
    }
    definition = parse_graph({"inputs": inputs, "nodes": [node], "outputs": ["loss"], "losses": ["loss"]})
    tally = Tally(metrics)
    executors: dict[int, NumpyExecutor] = {}
    for rows in parts(len(predictions), batches):
        if len(rows) not in executors:
            graph = build(definition, {"rows": len(rows)}, training=False)
            outputs = {"loss": graph.total_loss(), **metric_statistics(metrics, graph)}
            executors[len(rows)] = NumpyExecutor(make_plan(graph.inputs, {}, outputs, {}), {})
        executor = executors[len(rows)]
        executor.inputs["x"][...], executor.inputs["y"][...] = predictions[rows], targets[rows]
        executor.run()
        tally.add(executor.outputs)
        executor.inputs["x"][...] = 0  # the tally must not read the buffers of the plan
        executor.run()
    return tally.result()


def on_the_tape(
    documents: Sequence[Any], loss: str, predictions: Array, targets: Array, batches: Sequence[int], **attrs: Any
) -> dict[str, float]:
    """Compute the same metrics at once, as operations on the tape."""
    compared = OPS[loss].loss
    assert compared is not None
    ignored = attrs.get("ignore_index", IGNORE if loss in ("cross_entropy", "nll_loss") else None)
    values: dict[str, float] = {}
    for metric in create(documents):
        joined = metric.joining()
        for rows in parts(len(predictions), batches):
            operands = Operands(
                tensor(predictions[rows]), tensor(targets[rows]), compared.form, compared.class_axis, ignored
            )
            joined.add({part: value.numpy() for part, value in metric.statistics(operands).items()})
        values.update(metric.value(joined.arrays()))
    return values


def parts(rows: int, batches: Sequence[int]) -> list[Array]:
    """Cut the rows into batches of these sizes; the last one takes what is left."""
    ends = np.cumsum(batches)
    return [part for part in np.split(np.arange(rows), ends[ends < rows]) if len(part)]


@pytest.fixture(params=[through_plans, on_the_tape], ids=["plan", "tape"])
def measure(request: pytest.FixtureRequest) -> Measure:
    """Give a function that computes metrics: measure(documents, loss, predictions, targets, batches, **attrs)."""
    return request.param
