"""What a look into a step shows, on the wire: arrays in a few numbers, timings, losses by row, what is not finite."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

import engine
from app.api.schemas.shapes import ResourceShape, finite_part

Phase = Literal["forward", "backward", "update"]


class Histogram(ResourceShape):
    """How many finite elements lie between one edge and the next; the last bin includes its upper edge."""

    edges: list[float]
    counts: list[int]


class ArrayStatistics(ResourceShape):
    """An array in a few numbers, computed in float64."""

    dtype: str
    shape: list[int]
    elements: int
    norm: float | None = Field(description="The root of the sum of squares of all elements.")
    mean: float | None = Field(description="Of all elements.")
    min: float | None = Field(description="The smallest element that is not NaN.")
    max: float | None = Field(description="The largest element that is not NaN.")
    abs_max: float | None
    nonfinite: dict[str, str] = Field(description="Those of the numbers above that are nan, inf or -inf.")
    zeros: int
    nan: int
    inf: int
    histogram: Histogram


def statistics_fields(dtype: str, shape: Sequence[int], statistics: engine.ArrayStatistics) -> dict[str, Any]:
    """Return the fields of an `ArrayStatistics`."""
    named = {name: getattr(statistics, name) for name in ("norm", "mean", "min", "max", "abs_max")}
    finite, nonfinite = finite_part(named)
    return {
        "dtype": dtype,
        "shape": list(shape),
        "elements": statistics.elements,
        **finite,
        "nonfinite": nonfinite,
        "zeros": statistics.zeros,
        "nan": statistics.nan,
        "inf": statistics.inf,
        "histogram": Histogram(edges=statistics.edges, counts=statistics.counts),
    }


class ProfiledNode(ResourceShape):
    """A node of a step, run by its NumPy kernel."""

    name: str = Field(description="As in the list of the graph's nodes; steps of an update are numbered.")
    op: str
    phase: Phase
    shape: list[int] = Field(description="Of its first output.")
    dtype: str
    seconds: float = Field(description="The median of all repeats.")
    bytes: int = Field(description="Of its outputs.")
    bytes_read: int = Field(description="Of its inputs.")
    live_bytes: int = Field(description="Held while it runs; an update holds all of its memory throughout.")
    flops: int = Field(description="Estimated arithmetic operations.")


class Profile(ResourceShape):
    """A training step node by node, in the order of execution. A fit takes less: it fuses nodes and reuses memory."""

    object: Literal["list"] = "list"
    data: list[ProfiledNode]
    seconds: float = Field(description="Of all nodes.")
    phase_seconds: dict[Phase, float]
    peak_bytes: int = Field(description="The most that is held at a time.")
    flops: int


class RowLoss(ResourceShape):
    """The loss of a row; one that is not finite is null and named."""

    row: int
    loss: float | None
    nonfinite: str | None


class RowLosses(ResourceShape):
    """The loss of each row of a batch by itself, in evaluation mode."""

    losses: list[float | None] = Field(description="By row; null for one that is not finite.")
    nonfinite: dict[str, str] = Field(description="Row: nan, inf or -inf, for every null in losses.")
    top: list[RowLoss] = Field(description="The rows that spike: those that are not finite, then the largest losses.")


class NodeInput(ResourceShape):
    """What a node was given."""

    name: str
    shape: list[int]
    dtype: str
    min: float | None = Field(description="The smallest element that is not NaN.")
    max: float | None = Field(description="The largest element that is not NaN.")
    nonfinite: dict[str, str] = Field(description="Those of the numbers above that are inf or -inf.")
    nan: int
    inf: int


class NonfiniteArray(ResourceShape):
    """A leaf or node that holds NaN or infinity."""

    name: str = Field(description="As in the list of the graph's nodes.")
    kind: Literal["input", "parameter", "buffer", "node"]
    phase: Literal["forward", "backward"] | None = Field(description="Of a node.")
    op: str | None = Field(description="Of a node.")
    shape: list[int]
    dtype: str
    nan: int = Field(description="Elements that are NaN.")
    inf: int = Field(description="Elements that are infinite.")
    index: list[int] = Field(description="Where the first of these elements is, in row-major order.")
    value: str = Field(description="This element: nan, inf or -inf.")
    inputs: list[NodeInput] = Field(description="What a node was given.")


class NonfiniteTrace(ResourceShape):
    """Where the first number of a step that is not finite comes from."""

    finite: bool = Field(description="Whether all inputs, parameters, buffers and nodes are finite throughout.")
    first: NonfiniteArray | None = Field(description="The first of them that is not; an infinite mask counts too.")
