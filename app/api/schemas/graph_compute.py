"""Evaluations of a graph on the wire: what is wanted, and what came of it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from app.api.schemas.graph_point import PointRequest
from app.api.schemas.shapes import ResourceShape
from app.api.schemas.tensors import Tensor, TensorDocument


class GradientWant(BaseModel):
    """A vector-Jacobian product: cotangents of values pulled back to parameters and inputs."""

    model_config = ConfigDict(extra="forbid")

    gradient_of: list[str] = Field(description="Outputs, losses or nodes.")
    cotangents: dict[str, TensorDocument] | None = Field(default=None, description="Left out for a single element: 1.")
    by: list[str] | None = Field(
        default=None, description="Parameters and floating inputs; by default every parameter that is not frozen."
    )


class JacobianSpec(BaseModel):
    """Of which value by which parameter or input."""

    model_config = ConfigDict(extra="forbid")

    of: str
    by: str
    mode: Literal["reverse", "forward"] | None = Field(default=None, description="By default the cheaper one.")


class JacobianWant(BaseModel):
    """All first derivatives, of the shape [of..., by...]."""

    model_config = ConfigDict(extra="forbid")

    jacobian: JacobianSpec


class HessianSpec(BaseModel):
    """Of which scalar by which parameter or input."""

    model_config = ConfigDict(extra="forbid")

    of: str | None = Field(default=None, description="A value of one element; by default the sum of the losses.")
    by: str


class HessianWant(BaseModel):
    """All second derivatives, of the shape [by..., by...]."""

    model_config = ConfigDict(extra="forbid")

    hessian: HessianSpec


class DerivativeSpec(BaseModel):
    """Of which value, by one parameter or input after the other."""

    model_config = ConfigDict(extra="forbid")

    of: str | None = Field(default=None, description="By default the sum of the losses.")
    by: list[str] = Field(
        min_length=1, max_length=6, description="[x, x, y] is differentiated by x, by x again, and then by y."
    )


class OrderWant(BaseModel):
    """All derivatives of an order, of the shape [of..., by..., by..., ...]."""

    model_config = ConfigDict(extra="forbid")

    derivative: DerivativeSpec


class HessianProductSpec(BaseModel):
    """Of which scalar, and the direction by parameter or input."""

    model_config = ConfigDict(extra="forbid")

    of: str | None = Field(default=None, description="A value of one element; by default the sum of the losses.")
    by: dict[str, TensorDocument]


class HvpWant(BaseModel):
    """The Hessian times a vector, without forming it."""

    model_config = ConfigDict(extra="forbid")

    hvp: HessianProductSpec


class VhpWant(BaseModel):
    """A vector times the Hessian, without forming it."""

    model_config = ConfigDict(extra="forbid")

    vhp: HessianProductSpec


class JvpSpec(BaseModel):
    """Of which values, and the tangent by parameter or input."""

    model_config = ConfigDict(extra="forbid")

    of: list[str] | None = Field(default=None, description="By default the floating outputs and losses.")
    tangents: dict[str, TensorDocument]


class JvpWant(BaseModel):
    """A Jacobian-vector product: the derivative in the direction of the tangents."""

    model_config = ConfigDict(extra="forbid")

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
    training: bool | None = None


class ComputeResult(ResourceShape):
    """What an evaluation gave; a loss that is not finite is null, and named under nonfinite."""

    outputs: dict[str, Tensor] | None = None
    losses: dict[str, float | None]
    nonfinite: dict[str, str]
    gradients: dict[str, Tensor | None] | None = None
    derivatives: list[Derivative] | None = Field(default=None, description="In the order of the objects in want.")
