"""Metrics: options, statistics of a batch, their accumulation, and the value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Protocol

import numpy as np

from engine.core.attributes import Range
from engine.core.dtypes import FLOAT64, INT64, is_float
from engine.core.errors import AttributeValueError
from engine.core.losses import PredictionForm
from engine.core.options import NAME
from engine.core.value import Array, Value
from engine.graph.trace import Trace
from engine.training.metrics.comparisons import find_operands
from engine.training.metrics.operands import BINARY, BY_CLASS, FORMS, Operands
from engine.training.metrics.target_units import Units, operands_in_units

Statistics = Mapping[str, Array]


class StatisticsMerger(Protocol):
    """The accumulated statistics of batches, in the order in which they are added."""

    def add(self, batch: Statistics) -> None:
        """Add a batch; its arrays may be overwritten afterwards."""

    def arrays(self) -> dict[str, Array]:
        """Return the statistics of all rows so far; nothing before the first batch."""


class Sums:
    """Sums: integers in int64, numbers in float64."""

    def __init__(self) -> None:
        """Start without batches."""
        self._totals: dict[str, Array] = {}

    def add(self, batch: Statistics) -> None:
        for name, array in batch.items():
            total = array.astype(FLOAT64 if is_float(array.dtype) else INT64)
            self._totals[name] = self._totals[name] + total if name in self._totals else total

    def arrays(self) -> dict[str, Array]:
        return dict(self._totals)


class Collection:
    """All rows, for metrics that need them: memory grows with the rows."""

    def __init__(self) -> None:
        """Start without batches."""
        self._parts: dict[str, list[Array]] = {}

    def add(self, batch: Statistics) -> None:
        for name, array in batch.items():
            self._parts.setdefault(name, []).append(array.copy())

    def arrays(self) -> dict[str, Array]:
        return {name: np.concatenate(parts) for name, parts in self._parts.items()}


class Moments:
    """Sums, and the squared deviations of targets from their running mean.

    `rows`, `mean` and `spread` (the sum of squared deviations from the mean) are merged by the formula of Chan, Golub
    and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979), which is accurate
    for targets far from 0; other statistics are summed.
    """

    def __init__(self) -> None:
        """Start without batches."""
        self._merged: dict[str, Array] = {}

    def add(self, batch: Statistics) -> None:
        if not self._merged or not self._merged["rows"]:
            self._merged = {name: array.copy() for name, array in batch.items()}
        elif batch["rows"]:
            self._merged = _merged(self._merged, batch)

    def arrays(self) -> dict[str, Array]:
        return dict(self._merged)


def _merged(a: Statistics, b: Statistics) -> dict[str, Array]:
    share = b["rows"] / (a["rows"] + b["rows"])
    shift = b["mean"] - a["mean"]
    merged = {name: a[name] + b[name] for name in a}
    merged["mean"] = a["mean"] + shift * share
    merged["spread"] = merged["spread"] + shift**2 * (a["rows"] * share)
    return merged


TAKEN = ("loss", "normalized_loss", "lr", "momentum", "grad_norm")
"""Names of other values of a metric row."""

MAX_CLASSES = 64
"""Maximum number of classes for metrics with a value for each class."""

LONGEST_NAME = 64

Goal = Literal["max", "min"]
Threshold = Annotated[float, Range(0, 1, above=True, below=True)]


@dataclass(frozen=True, kw_only=True)
class Metric(ABC):
    """The base of all metrics.

    Options: `name` is its name in rows, by default its kind. `predictions` and `targets` are references of values or
    inputs of the graph; by default those that its loss compares. `form` is the form of the predictions if no loss
    determines it.

    Attributes:
        kind: its name in documents.
        takes: the forms of predictions that it accepts.
        parts: the names of its statistics.
        joining: how the statistics of batches are accumulated.
        goal: whether larger ("max") or smaller ("min") values are better; None if neither.
        every_step: whether it is cheap enough for each training step; else it is for validation or a whole epoch.
    """

    kind: ClassVar[str]
    takes: ClassVar[tuple[PredictionForm, ...]]
    parts: ClassVar[tuple[str, ...]]
    joining: ClassVar[type[StatisticsMerger]] = Sums
    goal: ClassVar[Goal | None] = "max"
    every_step: ClassVar[bool] = True

    name: str | None = None
    predictions: str | None = None
    targets: str | None = None
    form: PredictionForm | None = None

    @property
    def row_name(self) -> str:
        """Its name in metric rows; details of a metric with several values follow after a slash."""
        return self.name or self.default_name

    @property
    def default_name(self) -> str:
        """Its name if no name is given."""
        return self.kind

    def of_graph(self, graph: Trace, units: Units) -> dict[str, Value]:
        """Return the statistics of one batch of a traced graph, those of numbers in the units of the data.

        Raises:
            EngineError: the graph has no such predictions and targets, or they do not suit the metric.
        """
        with graph.trace():
            operands = find_operands(graph, predictions=self.predictions, targets=self.targets, form=self.form)
            return self.statistics(operands_in_units(operands, graph, units))

    def statistics(self, operands: Operands) -> dict[str, Value]:
        """Return the statistics of one batch, written in ops.

        Raises:
            AttributeValueError: the metric does not accept such predictions.
        """
        if operands.form not in self.takes:
            taken = "; or ".join(FORMS[form] for form in self.takes)
            raise AttributeValueError(
                f"{self.row_name} takes {taken}, but these predictions are {FORMS[operands.form]}: choose another "
                "metric, or name other `predictions` and `targets` (and their `form`, where no loss takes them)"
            )
        return self.of_batch(operands)

    @abstractmethod
    def of_batch(self, operands: Operands) -> dict[str, Value]:
        """Return the statistics of one batch whose predictions have an accepted form."""

    @abstractmethod
    def value(self, joined: Statistics) -> dict[str, float]:
        """Return the values for a metric row from the statistics of all rows; NaN where undefined."""

    def faults(self) -> Iterator[tuple[str, str]]:
        """Find what is wrong between the options: pairs of a pointer below the metric and a sentence."""
        name = self.name
        if name is None:
            return
        if not NAME.match(name) or "/" in name or len(name) > LONGEST_NAME:
            yield ("/name", f"a name is a letter or _, then up to 63 letters, digits and _ . -, not {name[:64]!r}")
        elif name in TAKEN or name.startswith("val_"):
            yield "/name", f"{name!r} is taken: {', '.join(TAKEN)} and what begins with val_ are other values of a row"


@dataclass(frozen=True, kw_only=True)
class ClassMetric(Metric):
    """A metric of classes. Targets equal to `ignore_index` are ignored, by default those that the loss ignores."""

    takes: ClassVar[tuple[PredictionForm, ...]] = (*BY_CLASS, *BINARY)

    ignore_index: int | None = None

    def statistics(self, operands: Operands) -> dict[str, Value]:
        if self.ignore_index is not None:
            operands = Operands(operands.predictions, operands.targets, operands.form, operands.axis, self.ignore_index)
        return super().statistics(operands)


@dataclass(frozen=True, kw_only=True)
class ThresholdMetric(ClassMetric):
    """A metric of predicted classes: a binary prediction is 1 when its probability is greater than `threshold`."""

    threshold: Threshold = 0.5

    def statistics(self, operands: Operands) -> dict[str, Value]:
        if operands.by_class and self.threshold != 0.5:
            raise AttributeValueError(
                f"{self.row_name}: threshold is for binary predictions; with an axis of classes the highest one is "
                "predicted: leave threshold out"
            )
        return super().statistics(operands)


def check_class_count(metric: Metric, what: str, classes: int) -> None:
    """Raise an error if there are too many classes for one number each."""
    if classes > MAX_CLASSES:
        raise AttributeValueError(
            f"{metric.row_name}: {what} for {classes} classes is too large; the maximum is {MAX_CLASSES}"
        )
