"""Steps of sessions: models of requests, and of the responses that the process of a session encodes."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.diagnostics import Histogram, NonfiniteTrace, Profile, RowLosses
from app.api.schemas.values import RequestShape, ResourceShape, Tensor, TensorDocument, bounded
from app.http.problems import ProblemError

SEQ_MAX = 2**53
ROW_MAX = 2**53
FEEDS_MAX = 1024
GROUPS_MAX = 64
OPTIONS_MAX = 64
STEPS_MAX = 1024
CHUNK_MAX = 2**20

Seq = Annotated[int, Field(ge=1, le=SEQ_MAX)]
Row = Annotated[int, Field(ge=0, le=ROW_MAX)]
Tensors = dict[str, TensorDocument]


class VerbRequest(RequestShape):
    """The arguments of a verb."""

    carried: ClassVar[str | None] = None
    """The field that a body of bytes holds in the place of JSON: arrays by name."""


class StepRequest(VerbRequest):
    """What every step may say."""

    seq: Seq | None = Field(
        default=None,
        description="Position of the step in the order of steps, from 1; by default the next one.",
    )


class RowsChoice(RequestShape):
    """Rows of a dataset: those of `indices`, or from `start` on to `stop`, which is left out."""

    dataset: str | None = Field(default=None, description="Id of a dataset; by default the session's.")
    indices: list[Row] | None = Field(
        default=None, description="Indices of the rows, each from 0. Required unless start and stop are given."
    )
    start: Row | None = Field(
        default=None, description="Index of the first row, from 0. Required unless indices is given."
    )
    stop: Row | None = Field(
        default=None, description="Index after the last row, from 0. Required unless indices is given."
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        spans = self.start is not None or self.stop is not None
        if spans == (self.indices is not None):
            raise PydanticCustomError("conflict", "give either indices, or start and stop")
        if spans and (self.start is None or self.stop is None):
            raise PydanticCustomError("missing_field", "start and stop belong together; give both")
        return self


class BatchStep(StepRequest):
    """A step that computes with inputs: given as tensors, or taken of a dataset."""

    carried: ClassVar[str | None] = "inputs"

    inputs: Tensors | None = Field(
        default=None, description="A tensor for each input. Required unless `rows` is given."
    )
    rows: RowsChoice | None = Field(
        default=None, description="Rows of a dataset, instead of `inputs`. Required unless `inputs` is given."
    )
    feeds: Annotated[dict[str, str], Field(max_length=FEEDS_MAX)] | None = Field(
        default=None,
        description="With `rows`, the column for each input; by default the session's, or that of the same name.",
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.inputs is None) == (self.rows is None):
            raise PydanticCustomError("conflict", "give either inputs or rows")
        if self.feeds is not None and self.rows is None:
            raise PydanticCustomError("conflict", "feeds name columns of rows, and there are no rows")
        return self


class ForwardRequest(BatchStep):
    """Computes losses and outputs. With `keep`, stores a tape for `:backward`."""

    training: bool = Field(default=True, description="Whether dropout is active and running statistics are updated.")
    keep: bool = Field(default=False, description="Whether to keep a tape, for :backward.")


class BackwardRequest(StepRequest):
    """Adds the vector-Jacobian product of a stored tape with the given cotangents to the gradients."""

    carried: ClassVar[str | None] = "cotangents"

    tape_id: Annotated[str, Field(max_length=64)] = Field(description="Id of the tape, from `:forward` with `keep`.")
    cotangents: Tensors = Field(description="Cotangents by output or loss, each of the shape of its value.")


class ForwardBackwardRequest(BatchStep):
    """Computes the losses and adds the gradients to those that are accumulated."""

    reduction: Literal["sum", "mean"] | None = Field(
        default=None,
        description="How the losses of rows are combined; by default as in the loss of the graph.",
    )
    micro_batch_size: Annotated[int, Field(ge=1, le=ROW_MAX)] | None = Field(
        default=None, description="Rows that are computed at a time; by default all."
    )
    outputs: bool = Field(default=False, description="Whether the response holds the outputs.")


class OptimStepRequest(StepRequest):
    """Updates the parameters that have gradients, and clears the gradients."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    groups: Annotated[list[dict[str, Any]], Field(max_length=GROUPS_MAX)] | None = Field(
        default=None,
        description="Options for individual parameter groups, in order; by default those of the session.",
    )

    @model_validator(mode="before")
    @classmethod
    def _bounded(cls, document: Any) -> Any:
        if isinstance(document, dict) and len(document) > OPTIONS_MAX:
            raise PydanticCustomError("too_long", "has more than {limit} fields", {"limit": OPTIONS_MAX})
        return bounded(document)


class ZeroGradRequest(StepRequest):
    """Sets the accumulated gradients to zero, or to none with `set_to_none`."""

    set_to_none: bool = Field(default=False, description="Whether gradients are removed instead of set to zero.")


class ResetRequest(StepRequest):
    """Sets the gradients to zero, reinitialises the optimizer state, or both."""

    gradients: bool = Field(default=True, description="Whether the gradients are set to 0.")
    momenta: bool = Field(default=False, description="Whether the optimizer state is reset.")


class SessionPredictRequest(BatchStep):
    """Computes the outputs in evaluation mode. The state of the session does not change."""

    chunk: Annotated[int, Field(ge=1, le=CHUNK_MAX)] | None = Field(
        default=None, description="Rows that are computed at a time; default 256."
    )


class SessionRowLossesRequest(BatchStep):
    """Computes the loss of every row individually in evaluation mode, and names the outliers."""

    top: Annotated[int, Field(ge=0, le=FEEDS_MAX)] | None = Field(
        default=None, description="Number of the rows with the largest losses to return; default 10."
    )


class SessionTraceRequest(BatchStep):
    """Runs one training step without changing the session, and names the first value that holds NaN or infinity."""


class SessionProfileRequest(BatchStep):
    """Measures one training step node by node without changing the session."""


class SaveRequest(StepRequest):
    """Stores parameters, buffers, optimizer state and gradients as a checkpoint."""


class LoadRequest(StepRequest):
    """Replaces parameters and buffers by those of a checkpoint, with or without its optimizer state."""

    checkpoint: Annotated[str, Field(max_length=64)] = Field(description="Id of a checkpoint.")
    optimizer: bool = Field(
        default=True, description="Whether the optimizer state is restored too, or reset; default true."
    )


class SetRequest(StepRequest):
    """Replaces the values of the named parameters: all of them, or none if one is invalid."""

    carried: ClassVar[str | None] = "parameters"

    parameters: Tensors = Field(description="By parameter, a tensor of its shape.")


class BatchedStep(RequestShape):
    """A step in a batch: its verb, and the fields of the request of that verb."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    verb: str = Field(description="Verb of the step, such as forward_backward.")
    seq: Seq | None = Field(
        default=None, description="Position of the step in the order of steps, from 1; by default the next one."
    )


class BatchQuery(VerbRequest):
    """What of a batch stands beside its steps."""

    stop_on_error: bool = Field(default=True, description="Whether the steps after a failed one are skipped.")


class BatchRequest(BatchQuery):
    """Runs several steps in order in one request."""

    steps: list[dict[str, Any]]

    @field_validator("steps", mode="plain", json_schema_input_type=list[BatchedStep])
    @classmethod
    def _objects(cls, steps: Any) -> Any:
        # Each is checked by the shape of its verb.
        if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
            raise PydanticCustomError("type_mismatch", "must be a list of objects")
        if not 1 <= len(steps) <= STEPS_MAX:
            raise PydanticCustomError("out_of_range", "must hold 1 to {limit} steps", {"limit": STEPS_MAX})
        return steps


Nonfinite = Annotated[
    dict[str, str],
    Field(
        description="`nan`, `inf` or `-inf` for each value that is null because JSON cannot represent it, by its path."
    ),
]
PlaceTaken = Annotated[int | None, Field(description="Position that the step took; null for one that only reads.")]
Norms = Annotated[dict[str, float | None], Field(description="Norm of each gradient, before clipping.")]


class StepAnswer(ResourceShape):
    """A step was executed."""

    seq: PlaceTaken


class ForwardAnswer(StepAnswer):
    """The result of a forward pass."""

    outputs: dict[str, Tensor]
    losses: dict[str, float | None]
    nonfinite: Nonfinite
    tape_id: str | None = Field(description="Id of the tape for `:backward`, if `keep` was set.")


class GradientNorms(StepAnswer):
    """The accumulated gradients."""

    grad_norm: float | None = Field(description="Global norm of the gradients, before clipping.")
    grad_norms: Norms
    nonfinite: Nonfinite


class ForwardBackwardAnswer(GradientNorms):
    """The result of a forward and a backward pass."""

    loss: float | None = Field(description="The sum of the losses.")
    losses: dict[str, float | None]
    outputs: dict[str, Tensor] | None = None


class OptimStepAnswer(GradientNorms):
    """The result of an optimizer step."""

    step: int = Field(description="Number of optimizer steps.")
    clipped: bool
    taken: bool = Field(description="Whether the parameters were updated; false if gradients were not finite.")


class SessionPrediction(StepAnswer):
    """The outputs by name."""

    outputs: dict[str, Tensor]


class SessionRowLosses(StepAnswer, RowLosses):
    """The loss of each row of a batch by itself, in evaluation mode."""


class SessionNonfiniteTrace(StepAnswer, NonfiniteTrace):
    """Origin of the first non-finite value of a step."""


class SessionProfile(StepAnswer, Profile):
    """A training step node by node, in the order of execution."""


class LoadAnswer(StepAnswer):
    """A checkpoint was loaded."""

    step: int = Field(description="Number of optimizer steps.")


class StepProblem(ResourceShape):
    """Why a step was not executed."""

    status: int
    code: str
    title: str | None = None
    detail: str
    expected_seq: int | None = Field(default=None, description="Sequence number of the session's next step.")
    errors: list[ProblemError]


class BatchedAnswer(ResourceShape):
    """The result of one step of a batch: an answer or an error."""

    seq: PlaceTaken
    status: int
    answer: dict[str, Any] | None = None
    error: StepProblem | None = None


class BatchAnswer(ResourceShape):
    """The results of the steps of a batch, in order."""

    data: list[BatchedAnswer]


class Operation(ResourceShape):
    """An accepted step and its result."""

    id: str | None = Field(default=None, description="Id of the request, in the response to it.")
    seq: int
    done: bool
    answer: dict[str, Any] | None = None
    error: StepProblem | None = None


class TensorSummary(ResourceShape):
    """An array of a session without its numbers."""

    name: str
    shape: list[int]
    dtype: str
    norm: float | None = Field(description="Euclidean norm; null: there is no such gradient.")
    nonfinite: Nonfinite = Field(default_factory=dict)


class TensorStatistics(TensorSummary):
    """Statistics of an array of a session, computed in float64; null where there is no such gradient."""

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
