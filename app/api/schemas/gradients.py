"""Captured gradients on the wire."""

from typing import Literal
from urllib.parse import quote

from pydantic import Field

from app.api.schemas.shapes import ResourceShape, finite_part
from app.domain.gradient import GradientRecord
from app.store.pages import Page
from engine import ArrayStatistics


class GradientLinks(ResourceShape):
    """Where the numbers are."""

    self: str
    stats: str


class Gradient(ResourceShape):
    """The gradient of the loss by a parameter, without its numbers."""

    object: Literal["gradient"] = "gradient"
    fit: str
    step: int = Field(description="The steps that were done: 0 is the gradient at the first values.")
    parameter: str
    dtype: str
    shape: list[int]
    size_bytes: int = Field(description="Of the .npy file.")
    digest: str = Field(description="SHA-256 of the .npy file.")
    links: GradientLinks

    @classmethod
    def of(cls, gradient: GradientRecord) -> "Gradient":
        """Show a record."""
        here = gradient_path(gradient)
        return cls(
            fit=gradient.fit_id,
            step=gradient.step,
            parameter=gradient.parameter,
            dtype=gradient.dtype,
            shape=gradient.shape,
            size_bytes=gradient.size_bytes,
            digest=gradient.digest,
            links=GradientLinks(self=here, stats=f"{here}&stats=true"),
        )


class GradientList(ResourceShape):
    """A page of captured gradients."""

    object: Literal["list"] = "list"
    data: list[Gradient]
    has_more: bool
    next_cursor: str | None

    @classmethod
    def of(cls, page: Page[GradientRecord]) -> "GradientList":
        """Show a page of records."""
        return cls(
            data=[Gradient.of(gradient) for gradient in page.items],
            has_more=page.next_cursor is not None,
            next_cursor=page.next_cursor,
        )


class Histogram(ResourceShape):
    """How many finite elements lie between one edge and the next; the last bin includes its upper edge."""

    edges: list[float]
    counts: list[int]


class GradientStatistics(ResourceShape):
    """A captured gradient in a few numbers, computed in float64."""

    object: Literal["gradient_statistics"] = "gradient_statistics"
    step: int
    parameter: str
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

    @classmethod
    def of(cls, gradient: GradientRecord, statistics: ArrayStatistics) -> "GradientStatistics":
        """Show what a gradient's numbers look like."""
        named = {name: getattr(statistics, name) for name in ("norm", "mean", "min", "max", "abs_max")}
        finite, nonfinite = finite_part(named)
        return cls(
            step=gradient.step,
            parameter=gradient.parameter,
            dtype=gradient.dtype,
            shape=gradient.shape,
            elements=statistics.elements,
            **finite,
            nonfinite=nonfinite,
            zeros=statistics.zeros,
            nan=statistics.nan,
            inf=statistics.inf,
            histogram=Histogram(edges=statistics.edges, counts=statistics.counts),
        )


def gradient_path(gradient: GradientRecord) -> str:
    """Return the path and query at which the gradient's numbers are."""
    return f"/v1/fits/{gradient.fit_id}/gradients/{quote(gradient.parameter, safe='')}?step={gradient.step}"
