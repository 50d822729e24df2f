"""Metric rows, and the curves that are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Split = Literal["train", "validation"]
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
