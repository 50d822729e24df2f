"""Evaluations of a graph on the wire: what is wanted, and what came of it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

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


DerivativeWant = GradientWant | JacobianWant | HessianWant | HvpWant | VhpWant | JvpWant


class Derivative(ResourceShape):
    """One derivative: tensors by parameter or input, those of a jvp by value."""

    want: int = Field(description="Position in want.")
    kind: Literal["gradient_of", "jacobian", "hessian", "hvp", "vhp", "jvp"]
    of: list[str]
    by: list[str]
    tensors: dict[str, Tensor]


class ComputeRequest(BaseModel):
    """One evaluation: tensors for the inputs; parameters left out are initialised from the seed."""

    model_config = ConfigDict(extra="forbid")

    inputs: dict[str, TensorDocument] | None = None
    parameters: dict[str, TensorDocument] | None = None
    buffers: dict[str, TensorDocument] | None = None
    want: list[Literal["outputs", "gradients"] | DerivativeWant] | None = Field(
        default=None, description="outputs, gradients, by default both; and derivatives, each an object."
    )
    seed: int | None = None
    training: bool | None = None


class ComputeResult(ResourceShape):
    """What an evaluation gave; a loss that is not finite is null, and named under nonfinite."""

    outputs: dict[str, Tensor] | None = None
    losses: dict[str, float | None]
    nonfinite: dict[str, str]
    gradients: dict[str, Tensor | None] | None = None
    derivatives: list[Derivative] | None = Field(default=None, description="In the order of the objects in want.")
