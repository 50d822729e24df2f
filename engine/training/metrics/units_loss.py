"""The loss of a graph in the units of the data, for fits whose target is normalised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from engine.core.dtypes import FLOAT64
from engine.core.errors import AttributeValueError
from engine.core.value import Value
from engine.graph.trace import Trace
from engine.ops.casting import cast
from engine.ops.creation import full
from engine.training.metrics.forms import NUMBERS, PredictionForm
from engine.training.metrics.joining import Statistics
from engine.training.metrics.metric import TAKEN, Goal, Metric
from engine.training.metrics.operands import Operands
from engine.training.metrics.target_units import Units, loss_in_units

LOSS, NORMALIZED_LOSS = TAKEN[0], TAKEN[1]
"""The row names of the loss in the units of the data, and of the one that is trained, in normalised units."""
OF_LOSS = (LOSS, f"{LOSS}_uncertainty")
"""What rows tell of the trained loss."""


@dataclass(frozen=True, kw_only=True)
class UnitsLoss(Metric):
    """The loss of the graph in the units of the data, for fits whose target is normalised; no metric of a request.

    Attributes:
        summed: whether the loss is a sum over rows, not their mean.
    """

    kind: ClassVar[str] = "loss_in_units"
    takes: ClassVar[tuple[PredictionForm, ...]] = NUMBERS
    parts: ClassVar[tuple[str, ...]] = ("loss", "rows")
    goal: ClassVar[Goal | None] = "min"

    summed: bool = False

    def of_graph(self, graph: Trace, units: Units) -> dict[str, Value]:
        """Return the loss, times the rows where it is their mean, and the rows of a batch."""
        total = loss_in_units(graph, units)
        rows = graph.inputs[next(iter(units))].shape[0]
        with graph.trace():
            counted = 1.0 if self.summed else float(rows)
            return {"loss": cast(total, dtype=FLOAT64) * counted, "rows": full(shape=(), value=float(rows))}

    def of_batch(self, operands: Operands) -> dict[str, Value]:
        """Refuse: one pair of predictions and targets does not tell the loss of a graph."""
        raise AttributeValueError(f"{self.kind} follows from the graph, not from predictions of {operands.form}")

    def value(self, joined: Statistics) -> dict[str, float]:
        """Return the loss over all rows."""
        divisor = 1.0 if self.summed else float(joined["rows"])
        return {self.row_name: float(joined["loss"]) / divisor}


def loss_in_units_first(values: Mapping[str, float]) -> dict[str, float]:
    """Return the numbers of a row with `loss` in the units of the data, and the trained one as `normalized_loss`.

    What else is told of the trained loss, its uncertainty, is named after that too. Rows of fits whose target is not
    normalised stay as they are.
    """
    if UnitsLoss.kind not in values:
        return dict(values)
    renamed = {name: name for name in values} | {name: NORMALIZED_LOSS + name.removeprefix(LOSS) for name in OF_LOSS}
    rest = {renamed[name]: value for name, value in values.items() if name != UnitsLoss.kind}
    return {LOSS: values[UnitsLoss.kind], **rest}
