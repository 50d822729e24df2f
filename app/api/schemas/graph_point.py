"""Where a graph is looked at, on the wire: requests of the laboratory begin with these fields."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from app.api.schemas.tensors import TensorDocument


class PointRequest(BaseModel):
    """The point; parameters and buffers left out are initialised from the seed."""

    model_config = ConfigDict(extra="forbid")

    inputs: dict[str, TensorDocument] | None = None
    parameters: dict[str, TensorDocument] | None = None
    buffers: dict[str, TensorDocument] | None = None
    seed: int | None = None


class ProfileRequest(PointRequest):
    """A training step to be measured."""

    optimizer: str | dict[str, Any] | None = Field(
        default=None, description="As in a fit. Left out, the update is not measured."
    )
    repeats: int | None = Field(default=None, description="1 to 100, by default 3, of which the median counts.")


class RowLossesRequest(PointRequest):
    """A batch whose rows are looked at one by one."""

    top: int | None = Field(default=None, description="How many of the rows that spike to name; by default 10.")


class TraceNonfiniteRequest(PointRequest):
    """A step that is gone through in search of what is not finite."""

    training: bool | None = Field(default=None, description="The mode; by default that of training.")
