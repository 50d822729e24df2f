"""Metric rows, and the curves that are made of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from adjoint_client.frames import optional_module

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Split = Literal["train", "validation"]
SPLITS: tuple[Split, ...] = ("train", "validation")
Curve: TypeAlias = "NDArray[np.float64]"

_GRADIENT_NORM = "grad_norm"


@dataclass(frozen=True, slots=True)
class MetricRow:
    """What was measured at one step.

    `seq` counts the rows of a fit from 1 without gaps; `step` and `epoch` count from 1; `values` may hold NaN and
    infinities.
    """

    seq: int
    step: int
    epoch: int
    split: Split
    values: Mapping[str, float]

    @classmethod
    def from_wire(cls, document: Mapping[str, Any]) -> Self:
        """Read a row as the server writes it, where JSON's null stands for a number that it lacks."""
        values = {**document["values"], **{name: float(text) for name, text in document["nonfinite"].items()}}
        return cls(document["seq"], document["step"], document["epoch"], document["split"], values)


class MetricRows(list[MetricRow]):
    """Metric rows in order: a list that can also be a data frame or a chart."""

    def columns(self) -> dict[str, list[Any]]:
        """Return seq, step, epoch, split and each value as a list by name; NaN where a row lacks the value."""
        names = dict.fromkeys(name for row in self for name in row.values)
        found: dict[str, list[Any]] = {
            name: [getattr(row, name) for row in self] for name in ("seq", "step", "epoch", "split")
        }
        return found | {name: [row.values.get(name, math.nan) for row in self] for name in names}

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` with a line for each row.

        Raises:
            ImportError: pandas is not installed.
        """
        return optional_module("pandas", "to_pandas()").DataFrame(self.columns())

    def to_polars(self) -> Any:
        """Return a `polars.DataFrame` with a line for each row.

        Raises:
            ImportError: polars is not installed.
        """
        return optional_module("polars", "to_polars()").DataFrame(self.columns())

    def plot(self, *names: str, ax: Any = None) -> Any:
        """Draw values over steps, by default the loss, of both splits; return matplotlib's axes.

        Raises:
            ImportError: matplotlib is not installed.
            ValueError: no row has one of the values.
        """
        axes = ax if ax is not None else optional_module("matplotlib.pyplot", "plot()").subplots()[1]
        for name in names or ("loss",):
            curves = {split: self.series(name, split) for split in SPLITS}
            if not any(curves.values()):
                known = ", ".join(list(self.columns())[4:]) or "none yet"
                raise ValueError(f"no metric row has a value {name!r}; there are: {known}")
            for split, points in curves.items():
                if points:
                    axes.plot(*zip(*points, strict=True), label=name if split == "train" else f"val_{name}")
        axes.set_xlabel("step")
        axes.legend()
        return axes

    def series(self, name: str, split: Split) -> list[tuple[int, float]]:
        """Return steps and values of the rows of `split` that have the value."""
        return [(row.step, row.values[name]) for row in self if row.split == split and name in row.values]


def curve(rows: Iterable[MetricRow], name: str, split: Split) -> Curve:
    """The value called `name` of each row of `split` that has one, in order."""
    import numpy as np

    return np.array([row.values[name] for row in rows if row.split == split and name in row.values])


def gradient_norms(rows: Iterable[MetricRow]) -> dict[str, Curve]:
    """The norm of the gradient of each parameter at each recorded training step; the global norm is under ""."""
    import numpy as np

    curves: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.values.items():
            kind, _, parameter = name.partition("/")
            if kind == _GRADIENT_NORM:
                curves.setdefault(parameter, []).append(value)
    return {name: np.array(values) for name, values in curves.items()}
