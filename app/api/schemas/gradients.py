"""Captured gradients on the wire."""

from typing import Literal
from urllib.parse import quote

from pydantic import Field

import engine
from app.api.schemas.laboratory import ArrayStatistics, statistics_fields
from app.api.schemas.shapes import ResourceShape
from app.domain.records import GradientRecord
from app.store.pages import Page


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
    corrupt: bool = Field(description="Its file is missing or damaged.")
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
            corrupt=gradient.corrupt,
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


class GradientStatistics(ArrayStatistics):
    """A captured gradient in a few numbers, computed in float64."""

    object: Literal["gradient_statistics"] = "gradient_statistics"
    step: int
    parameter: str

    @classmethod
    def of(cls, gradient: GradientRecord, statistics: engine.ArrayStatistics) -> "GradientStatistics":
        """Show what a gradient's numbers look like."""
        found = statistics_fields(gradient.dtype, gradient.shape, statistics)
        return cls(step=gradient.step, parameter=gradient.parameter, **found)


def gradient_path(gradient: GradientRecord) -> str:
    """Return the path and query at which the gradient's numbers are."""
    return f"/v1/fits/{gradient.fit_id}/gradients/{quote(gradient.parameter, safe='')}?step={gradient.step}"
