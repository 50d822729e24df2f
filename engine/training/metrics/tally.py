"""Statistics of metrics as outputs of a plan, and their accumulation over batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from engine.core.errors import DocumentError, EngineError, Finding
from engine.core.value import Array, Value
from engine.graph.trace import Trace
from engine.training.metrics.metric import Metric
from engine.training.metrics.target_units import Units

NO_UNITS: Units = MappingProxyType({})


def metric_statistics(
    metrics: Sequence[Metric], graph: Trace, pointer: str = "/metrics", *, units: Units = NO_UNITS
) -> dict[str, Value]:
    """Append the statistics of the metrics to a traced graph, under the names that `Tally` reads.

    `units` are those of normalised targets: metrics of numbers are computed in the units of the data.

    Raises:
        DocumentError: a finding for each metric that does not suit the graph, at `pointer`/index.
    """
    values: dict[str, Value] = {}
    findings = []
    for index, metric in enumerate(metrics):
        try:
            made = metric.of_graph(graph, units)
        except EngineError as error:
            findings.append(Finding(f"{pointer}/{index}", "metric_unavailable", str(error)))
            continue
        values.update({_output(metric, part): made[part] for part in metric.parts})
    if findings:
        raise DocumentError(findings)
    return values


class Tally:
    """Accumulates the statistics of batches; its result is the metrics over all rows."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        """Start without batches; the metrics' row names differ."""
        self._metrics = tuple(metrics)
        self.clear()

    def clear(self) -> None:
        """Drop all batches."""
        self._joined = {metric: metric.joining() for metric in self._metrics}

    def add(self, outputs: Mapping[str, Array]) -> None:
        """Add the outputs of one batch; other outputs are ignored."""
        for metric, joined in self._joined.items():
            joined.add({part: outputs[_output(metric, part)] for part in metric.parts})

    def result(self) -> dict[str, float]:
        """Return the values for a metric row, in the order of the metrics; none before the first batch."""
        values: dict[str, float] = {}
        for metric, joined in self._joined.items():
            if arrays := joined.arrays():
                values.update(metric.value(arrays))
        return values

    def state(self) -> dict[str, Array]:
        """Return the accumulated statistics, which an empty tally can add to continue."""
        return {
            _output(metric, part): array
            for metric, joined in self._joined.items()
            for part, array in joined.arrays().items()
        }


def _output(metric: Metric, part: str) -> str:
    """Return the name of a statistic among a plan's outputs; names of the graph never contain a colon."""
    return f"metric:{metric.row_name}:{part}"
