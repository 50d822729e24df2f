"""Responses to the steps of a session. The session's process encodes them; these models describe them."""

from typing import Annotated, Any, Literal

from pydantic import Field

from app.api.schemas.laboratory import Histogram, NonfiniteTrace, Profile, RowLosses
from app.api.schemas.shapes import ResourceShape
from app.api.schemas.tensors import Tensor
from app.http.problems import ProblemError

Nonfinite = Annotated[
    dict[str, str],
    Field(description="Numbers that are null because they are not finite, by their path: nan, inf or -inf."),
]
PlaceTaken = Annotated[int | None, Field(description="The place that the step took; null for one that only reads.")]
Norms = Annotated[dict[str, float | None], Field(description="Norm of each gradient that there is, before clipping.")]


class StepAnswer(ResourceShape):
    """A step was carried out."""

    seq: PlaceTaken


class ForwardAnswer(StepAnswer):
    """What a forward pass gave."""

    outputs: dict[str, Tensor]
    losses: dict[str, float | None]
    nonfinite: Nonfinite
    tape_id: str | None = Field(description="For :backward, where a tape was asked for.")


class GradientNorms(StepAnswer):
    """The gradients that there are now."""

    grad_norm: float | None = Field(description="Of all gradients together, before clipping.")
    grad_norms: Norms
    nonfinite: Nonfinite


class ForwardBackwardAnswer(GradientNorms):
    """What a forward and a backward pass gave."""

    loss: float | None = Field(description="The sum of the losses.")
    losses: dict[str, float | None]
    outputs: dict[str, Tensor] | None = None


class OptimStepAnswer(GradientNorms):
    """What a step of the optimizer did."""

    step: int = Field(description="Steps that the optimizer has taken.")
    clipped: bool
    taken: bool = Field(description="False: gradients were not finite, and the parameters are as they were.")


class SessionPrediction(StepAnswer):
    """The outputs by name."""

    outputs: dict[str, Tensor]


class SessionRowLosses(StepAnswer, RowLosses):
    """The loss of each row of a batch by itself, in evaluation mode."""


class SessionNonfiniteTrace(StepAnswer, NonfiniteTrace):
    """Where the first number of a step that is not finite comes from."""


class SessionProfile(StepAnswer, Profile):
    """A training step node by node, in the order of execution."""


class LoadAnswer(StepAnswer):
    """A checkpoint was loaded."""

    step: int = Field(description="Steps that the optimizer has taken.")


class StepProblem(ResourceShape):
    """Why a step was not carried out."""

    status: int
    code: str
    title: str | None = None
    detail: str
    expected_seq: int | None = Field(default=None, description="The place of the session's next step.")
    errors: list[ProblemError]


class BatchedAnswer(ResourceShape):
    """What came of one step of a batch: an answer, or an error."""

    seq: PlaceTaken
    status: int
    answer: dict[str, Any] | None = None
    error: StepProblem | None = None


class BatchAnswer(ResourceShape):
    """What came of each step of a batch, in their order."""

    data: list[BatchedAnswer]


class Operation(ResourceShape):
    """A step that was accepted, and what came of it."""

    id: str | None = Field(default=None, description="Of the request, in the answer to it.")
    seq: int
    done: bool
    answer: dict[str, Any] | None = None
    error: StepProblem | None = None


class TensorSummary(ResourceShape):
    """An array of a session without its numbers."""

    name: str
    shape: list[int]
    dtype: str
    norm: float | None = Field(description="The root of the sum of squares; null: there is no such gradient.")
    nonfinite: Nonfinite = Field(default_factory=dict)


class TensorStatistics(TensorSummary):
    """An array of a session in a few numbers, computed in float64; null where there is no such gradient."""

    mean: float | None
    min: float | None = Field(description="The smallest element that is not NaN.")
    max: float | None = Field(description="The largest element that is not NaN.")
    nan_count: int | None
    inf_count: int | None
    histogram: Histogram | None


class TensorList(ResourceShape):
    """The arrays of a session, in the order of the graph."""

    object: Literal["list"] = "list"
    data: list[TensorStatistics | TensorSummary]
