"""Columns of numbers: missing ones filled in, and scaled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from engine.core.attributes import Range
from engine.core.errors import DataError
from engine.core.value import Array
from engine.data.table.facts import ColumnFacts, Fault, State
from engine.data.table.raw import RawColumn, Rows

Scale = Literal["none", "standard", "minmax", "robust", "log", "quantile"]
Impute = Literal["mean", "median", "most_frequent", "constant"]
SHARES = np.linspace(0.0, 1.0, 101)
"""The probabilities whose quantiles "quantile" stores."""


@dataclass(frozen=True, kw_only=True)
class Number:
    """Numbers as numbers: one value for each element of a row, and one more with `indicator`.

    Missing numbers (NaN) are replaced by a statistic of the training rows, or by `value`; `indicator` adds 1 for a
    missing number and 0 for others. `scale` then takes the mean and the standard deviation ("standard"), the range
    ("minmax", to 0 and 1), median and quartile distance ("robust"), those of sign(x) log(1 + |x|) ("log", then
    standard), or the share of the training numbers below ("quantile", 0 to 1). A constant column is only shifted.
    """

    impute: Impute | None = None
    value: Annotated[float, Range(-1e300, 1e300)] = 0.0
    indicator: bool = False
    scale: Scale = "none"

    integer = False

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield what is wrong between the fields."""
        if self.value != 0.0 and self.impute != "constant":
            yield "/value", "a value to fill in goes with impute 'constant'"

    def misfits(self, facts: ColumnFacts) -> Iterator[Fault]:
        """Yield why the column cannot be taken."""
        if facts.classes is not None:
            yield "text_column", "holds text, which is no number; take kind 'category', 'date', 'boolean' or 'text'"
        elif facts.missing and self.impute is None:
            advice = "add impute: mean, median, most_frequent or constant"
            yield "missing_values", f"has {facts.missing} missing values in {facts.rows} rows; {advice}"

    def width(self, facts: ColumnFacts) -> int:
        """Return the number of values that a row becomes."""
        return facts.elements * (1 + self.indicator)

    def fit(self, column: RawColumn, rows: Rows) -> State:
        """Return the statistics of the training rows: fill, shift and scale of each element."""
        values = column.numbers(rows)
        fitted = [self._fit_element(column.name, values[:, place]) for place in range(values.shape[1])]
        return {"elements": fitted}

    def apply(self, state: State, column: RawColumn, rows: Rows) -> Array:
        """Return the values of rows, float64 [rows, width]."""
        values = column.numbers(rows)
        elements = state["elements"]
        if values.shape[1] != len(elements):
            raise DataError(
                f"column {column.title} has {values.shape[1]} numbers a row; the model takes {len(elements)}"
            )
        missing = np.isnan(values)
        if missing.any() and self.impute is None:
            row = int(missing.any(axis=1).argmax())
            advice = "the model fills none in (impute): send a number"
            raise DataError(f"column {column.title} has a missing value in row {row}, and {advice}")
        parts = [_scaled(np.where(missing[:, k], e.get("fill", 0.0), values[:, k]), e) for k, e in enumerate(elements)]
        return np.stack([*parts, *(missing.T.astype(np.float64) if self.indicator else ())], axis=1)

    def _fit_element(self, name: str, values: Array) -> dict[str, Any]:
        present = values[~np.isnan(values)]
        if not np.isfinite(present).all():
            raise DataError(f"column {name!r} holds an infinite number in the training rows: leave out or replace it")
        fitted: dict[str, Any] = {} if self.impute is None else {"fill": self._fill(name, present)}
        if len(present) < len(values):
            # Scales are those of the filled column: what is filled in is part of it.
            present = np.where(np.isnan(values), fitted.get("fill", 0.0), values)
        return fitted | _fit_scale(self.scale, present)

    def _fill(self, name: str, present: Array) -> float:
        if self.impute == "constant":
            return self.value
        if not len(present):
            detail = f"column {name!r} has no number in the training rows, so there is no {self.impute} to fill in"
            raise DataError(f"{detail}: leave the column out, or take impute 'constant'")
        if self.impute == "most_frequent":
            found, counts = np.unique(present, return_counts=True)
            return float(found[counts.argmax()])
        return float(present.mean() if self.impute == "mean" else np.median(present))


def _fit_scale(kind: Scale, values: Array) -> dict[str, Any]:
    """Return the statistics of one element; `values` has no NaN."""
    if kind == "none":
        return {}
    if kind == "quantile":
        return {"quantiles": np.quantile(values, SHARES).tolist()}
    log = kind == "log"
    values = _signed_log(values) if log else values
    low, high = float(values.min()), float(values.max())
    if kind == "minmax":
        shift, spread = low, high - low
    elif kind == "robust":
        first, shift, third = (float(q) for q in np.quantile(values, (0.25, 0.5, 0.75)))
        spread = third - first
    else:
        shift, spread = float(values.mean()), float(values.std())
    # A deviation of equal values may be positive by rounding.
    spread = spread if low < high and np.isfinite(spread) and spread > 0 else 1.0
    return {"log": log, "shift": shift if low < high else low, "scale": spread}


def _scaled(values: Array, fitted: Mapping[str, Any]) -> Array:
    if "quantiles" in fitted:
        grid = np.asarray(fitted["quantiles"])
        # The mean of both directions gives equal quantiles the middle of their shares.
        return (np.interp(values, grid, SHARES) + 1 - np.interp(-values, -grid[::-1], SHARES)) / 2
    if "scale" not in fitted:
        return values
    values = _signed_log(values) if fitted["log"] else values
    return np.asarray((values - fitted["shift"]) / fitted["scale"])


def _signed_log(values: Array) -> Array:
    return np.asarray(np.sign(values) * np.log1p(np.abs(values)))
