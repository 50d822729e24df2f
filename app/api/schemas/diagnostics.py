"""Requests and responses of diagnostics: computation, gradient check, profile, row losses, non-finite values."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

import engine
from app.api.schemas.values import ResourceShape, Tensor, TensorDocument, finite_part


class ClosedShape(BaseModel):
    """A part of a request that the engine validates."""

    model_config = ConfigDict(extra="forbid")


class PointRequest(ClosedShape):
    """The point; parameters and buffers left out are initialised from the seed."""

    inputs: dict[str, TensorDocument] | None = Field(
        default=None,
        description=(
            "Inputs by name, each a tensor of its shape; those that no requested value depends on may be left out."
        ),
    )
    parameters: dict[str, TensorDocument] | None = Field(
        default=None,
        description="Parameters by name, each a tensor of its shape; those left out are initialised from the seed.",
    )
    buffers: dict[str, TensorDocument] | None = Field(
        default=None, description="Buffers by name, each a tensor of its shape; those left out are initialised."
    )
    seed: int | None = Field(
        default=None, description="Seed of initial values and random draws, -2**63 to 2**63 - 1; default 0."
    )


class ProfileRequest(PointRequest):
    """A training step to be measured."""

    optimizer: str | dict[str, Any] | None = Field(
        default=None, description="As in a fit. Left out, the update is not measured."
    )
    repeats: int | None = Field(
        default=None, description="Number of measurements of each node, 1 to 100, whose median counts; default 3."
    )


class RowLossesRequest(PointRequest):
    """A batch whose rows are looked at one by one."""

    top: int | None = Field(
        default=None, description="Number of the rows with the largest losses to name, at least 0; default 10."
    )


class TraceNonfiniteRequest(PointRequest):
    """A training step that is searched for non-finite values."""

    training: bool | None = Field(
        default=None, description="Whether the graph is evaluated in training mode; default true."
    )


class GradientWant(ClosedShape):
    """A vector-Jacobian product: cotangents of values pulled back to parameters and inputs."""

    gradient_of: list[str] = Field(description="Outputs, losses or nodes.")
    cotangents: dict[str, TensorDocument] | None = Field(
        default=None, description="Cotangents by value; by default 1 for a value with a single element."
    )
    by: list[str] | None = Field(
        default=None, description="Parameters and floating inputs; by default every parameter that is not frozen."
    )


class JacobianSpec(ClosedShape):
    """Of which value by which parameter or input."""

    of: str
    by: str
    mode: Literal["reverse", "forward"] | None = Field(default=None, description="By default the cheaper one.")


class JacobianWant(ClosedShape):
    """All first derivatives, of the shape [of..., by...]."""

    jacobian: JacobianSpec


class HessianSpec(ClosedShape):
    """Of which scalar by which parameter or input."""

    of: str | None = Field(default=None, description="A value of one element; by default the sum of the losses.")
    by: str


class HessianWant(ClosedShape):
    """All second derivatives, of the shape [by..., by...]."""

    hessian: HessianSpec


class DerivativeSpec(ClosedShape):
    """Of which value, by one parameter or input after the other."""

    of: str | None = Field(default=None, description="By default the sum of the losses.")
    by: list[str] = Field(
        min_length=1, max_length=6, description="[x, x, y] is differentiated by x, by x again, and then by y."
    )


class OrderWant(ClosedShape):
    """All derivatives of an order, of the shape [of..., by..., by..., ...]."""

    derivative: DerivativeSpec


class HessianProductSpec(ClosedShape):
    """Of which scalar, and the direction by parameter or input."""

    of: str | None = Field(default=None, description="A value of one element; by default the sum of the losses.")
    by: dict[str, TensorDocument]


class HvpWant(ClosedShape):
    """The Hessian times a vector, without forming it."""

    hvp: HessianProductSpec


class VhpWant(ClosedShape):
    """A vector times the Hessian, without forming it."""

    vhp: HessianProductSpec


class JvpSpec(ClosedShape):
    """Of which values, and the tangent by parameter or input."""

    of: list[str] | None = Field(default=None, description="By default the floating outputs and losses.")
    tangents: dict[str, TensorDocument]


class JvpWant(ClosedShape):
    """A Jacobian-vector product: the derivative in the direction of the tangents."""

    jvp: JvpSpec


DerivativeWant = GradientWant | JacobianWant | HessianWant | OrderWant | HvpWant | VhpWant | JvpWant


class Derivative(ResourceShape):
    """One derivative: tensors by parameter or input, those of a jvp by value, a derivative under all names of by."""

    want: int = Field(description="Position in want.")
    kind: Literal["gradient_of", "jacobian", "hessian", "derivative", "hvp", "vhp", "jvp"]
    of: list[str]
    by: list[str]
    tensors: dict[str, Tensor]


class ComputeRequest(PointRequest):
    """One evaluation: tensors for the inputs; parameters left out are initialised from the seed."""

    want: list[Literal["outputs", "gradients"] | DerivativeWant] | None = Field(
        default=None, description="outputs, gradients, by default both; and derivatives, each an object."
    )
    training: bool | None = Field(
        default=None, description="Whether the graph is evaluated in training mode; default false."
    )


class ComputeResult(ResourceShape):
    """The result of an evaluation; a loss that is not finite is null, and named in `nonfinite`."""

    outputs: dict[str, Tensor] | None = None
    losses: dict[str, float | None]
    nonfinite: dict[str, str]
    gradients: dict[str, Tensor | None] | None = None
    derivatives: list[Derivative] | None = Field(
        default=None, description="Results in the order of the objects in `want`."
    )


class GradcheckRequest(PointRequest):
    """The point at which the gradient is checked; parameters left out are initialised from the seed."""

    training: bool | None = Field(
        default=None, description="Whether the graph is evaluated in training mode; default false."
    )
    of: str | None = Field(default=None, description="An output, loss or node; by default the sum of the losses.")
    by: list[str] | None = Field(
        default=None, description="Parameters and floating inputs; by default every parameter that is not frozen."
    )
    eps: float | None = Field(
        default=None,
        description="Step of the central differences, relative to elements above 1; 1e-12 to 1, default 1e-6.",
    )
    atol: float | None = Field(
        default=None, description="Absolute tolerance, in the units of the gradient, at least 0; default 1e-5."
    )
    rtol: float | None = Field(default=None, description="Tolerance relative to the slope, at least 0; default 1e-3.")
    elements: int | None = Field(
        default=None,
        description="Maximum number of elements to check of each array, 1 to 10000, sampled at random; default 100.",
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
    checked: int = Field(description="Number of elements that were checked.")
    elements: list[int] | None = Field(description="Their row-major positions; null for all.")
    largest_absolute_error: float | None
    largest_relative_error: float | None = Field(description="Gradients and differences below atol are ignored.")
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


Phase = Literal["forward", "backward", "update"]


class Histogram(ResourceShape):
    """Number of finite elements between consecutive edges; the last bin includes its upper edge."""

    edges: list[float]
    counts: list[int]


class ArrayStatistics(ResourceShape):
    """Statistics of an array, computed in float64."""

    dtype: str
    shape: list[int]
    elements: int
    norm: float | None = Field(description="Euclidean norm of all elements.")
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
    live_bytes: int = Field(
        description="Bytes allocated while it runs; an update allocates all of its memory throughout."
    )
    flops: int = Field(description="Estimated arithmetic operations.")


class Profile(ResourceShape):
    """A training step node by node, in the order of execution. A fit takes less: it fuses nodes and reuses memory."""

    object: Literal["list"] = "list"
    data: list[ProfiledNode]
    seconds: float = Field(description="Of all nodes.")
    phase_seconds: dict[Phase, float]
    peak_bytes: int = Field(description="Largest number of bytes in use at a time.")
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
    """The inputs of a node."""

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
    inputs: list[NodeInput] = Field(description="The inputs of a node.")


class NonfiniteTrace(ResourceShape):
    """Origin of the first non-finite value of a step."""

    finite: bool = Field(description="Whether all inputs, parameters, buffers and nodes are finite throughout.")
    first: NonfiniteArray | None = Field(description="The first of them that is not; an infinite mask counts too.")
