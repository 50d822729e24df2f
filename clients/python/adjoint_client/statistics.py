"""Arrays in a few numbers, as the server has worked them out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class ArrayInfo:
    """An array of a session without its numbers; `norm` is None for a gradient that there is not."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    norm: float | None

    @classmethod
    def from_wire(cls, document: Mapping[str, Any]) -> Self:
        """Read an entry of a list."""
        norm = (document.get("nonfinite") or {}).get("norm", document.get("norm"))
        return cls(document["name"], tuple(document["shape"]), document["dtype"], None if norm is None else float(norm))


@dataclass(frozen=True, slots=True)
class Statistics:
    """What the numbers of an array look like.

    Attributes:
        norm: the root of the sum of squares.
        mean: of all elements, so that one that is not finite shows in it; None if there are none.
        min: the smallest element that is not NaN, None if there is none.
        max: the largest, likewise.
        nan_count: elements that are NaN.
        inf_count: elements that are infinite.
        edges: of the bins of a histogram of the finite elements, one more than there are counts.
        counts: how many elements lie in each bin.
    """

    norm: float
    mean: float | None
    min: float | None
    max: float | None
    nan_count: int
    inf_count: int
    edges: list[float]
    counts: list[int]

    @classmethod
    def from_wire(cls, document: Mapping[str, Any]) -> Self:
        """Read the answer of the server."""
        restored = {name: float(text) for name, text in (document.get("nonfinite") or {}).items()}
        found = {**document, **restored}
        histogram = document["histogram"]
        return cls(
            norm=found["norm"],
            mean=found["mean"],
            min=found["min"],
            max=found["max"],
            nan_count=document["nan_count"],
            inf_count=document["inf_count"],
            edges=histogram["edges"],
            counts=histogram["counts"],
        )
