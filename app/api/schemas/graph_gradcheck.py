"""Checks of a graph's gradients on the wire."""

from pydantic import Field

from app.api.schemas.graph_point import PointRequest
from app.api.schemas.shapes import ResourceShape


class GradcheckRequest(PointRequest):
    """What the gradient is checked at; parameters left out are initialised from the seed."""

    training: bool | None = None
    of: str | None = Field(default=None, description="An output, loss or node; by default the sum of the losses.")
    by: list[str] | None = Field(
        default=None, description="Parameters and floating inputs; by default every parameter that is not frozen."
    )
    eps: float | None = Field(default=None, description="Step, relative to elements above 1; by default 1e-6.")
    atol: float | None = Field(default=None, description="Absolute tolerance; by default 1e-5.")
    rtol: float | None = Field(default=None, description="Tolerance relative to the slope; by default 1e-3.")
    elements: int | None = Field(
        default=None, description="Most elements to check by each name; by default 100. Of more, a sample is drawn."
    )


class WorstElement(ResourceShape):
    """The element at which gradient and slope differ most."""

    index: list[int]
    gradient: float | None
    difference: float | None = Field(description="Central difference.")
    nonfinite: dict[str, str]


class CheckedGradient(ResourceShape):
    """The gradient by one parameter or input against central differences; a number that is not finite is null."""

    ok: bool
    shape: list[int]
    checked: int = Field(description="Number of elements looked at.")
    elements: list[int] | None = Field(description="Their row-major positions; null for all.")
    largest_absolute_error: float | None
    largest_relative_error: float | None = Field(description="Gradients and slopes below atol are left out.")
    worst: WorstElement | None
    nonfinite: dict[str, str]


class GradcheckResult(ResourceShape):
    """Whether the gradients are right: each element within atol + rtol * |slope|."""

    ok: bool
    value: float | None = Field(description="What is differentiated, at the point itself.")
    nonfinite: dict[str, str]
    of: list[str]
    eps: float
    atol: float
    rtol: float
    gradients: dict[str, CheckedGradient]
