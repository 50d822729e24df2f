"""Checkpoints on the wire."""

from typing import Any, Literal, Self

from pydantic import Field

from app.api.schemas.values import Moment, PageShape, RequestShape, ResourceShape, finite_part
from app.domain.records import CheckpointRecord


class CheckpointLinks(ResourceShape):
    """Links of a checkpoint."""

    self: str
    content: str
    parameters: str


class Checkpoint(ResourceShape):
    """A file with everything that a fit or a session needs to resume."""

    id: str
    object: Literal["checkpoint"] = "checkpoint"
    fit: str | None = Field(description="Id of the fit that wrote it; null for one of a session, or an uploaded one.")
    session: str | None = Field(description="Id of the session that saved it; null if none did.")
    session_seq: int | None = Field(description="The step of the session that saved it.")
    graph: str
    step: int
    epoch: int
    is_best: bool
    pinned: bool = Field(description="Whether it is kept when newer checkpoints are written.")
    corrupt: bool = Field(description="Its file is missing or damaged, until the same bytes are uploaded again.")
    metrics: dict[str, float | None]
    nonfinite: dict[str, str]
    digest: str = Field(description="SHA-256 of the content.")
    size_bytes: int
    created_at: Moment
    links: CheckpointLinks

    @classmethod
    def show(cls, checkpoint: CheckpointRecord) -> Self:
        """Build from a record."""
        metrics, nonfinite = finite_part(checkpoint.metrics)
        here = f"/v1/checkpoints/{checkpoint.id}"
        return cls.from_record(
            checkpoint,
            fit=checkpoint.fit_id,
            session=checkpoint.session_id,
            graph=checkpoint.graph_id,
            metrics=metrics,
            nonfinite=nonfinite,
            links=CheckpointLinks(self=here, content=f"{here}/content", parameters=f"{here}/parameters"),
        )


class CheckpointList(PageShape[Checkpoint]):
    """A page of checkpoints."""


class CheckpointChanges(RequestShape):
    """Changes to a checkpoint."""

    pinned: bool = Field(description="Whether it is kept when newer checkpoints are written.")


class ParameterSummary(ResourceShape):
    """A parameter without its numbers."""

    name: str
    dtype: str
    shape: list[int]


class ParameterList(ResourceShape):
    """The parameters of a checkpoint."""

    object: Literal["list"] = "list"
    data: list[ParameterSummary]


def parameter_list(parameters: dict[str, Any]) -> ParameterList:
    """Show arrays by name, without their numbers."""
    return ParameterList(
        data=[
            ParameterSummary(name=name, dtype=array.dtype.name, shape=list(array.shape))
            for name, array in parameters.items()
        ]
    )
