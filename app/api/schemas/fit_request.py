"""Requests that create, change and extend a fit."""

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    ValidationInfo,
    WithJsonSchema,
    create_model,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from app.api.schemas.datasets import InlineDataset
from app.api.schemas.fit_options import (
    ID,
    IDS,
    INPUTS_MAX,
    AverageChoice,
    BudgetChoice,
    CheckpointChoice,
    ClassNames,
    ClipChoice,
    DivergenceChoice,
    EarlyStoppingChoice,
    FreezeChoice,
    FromCheckpoint,
    KindAlone,
    LossScalingChoice,
    MetricChoice,
    NoiseChoice,
    NormalizeChoice,
    OptimizerChoice,
    RecomputeChoice,
    RecordChoice,
    SamplingChoice,
    ScheduleChoice,
    ShuffleChoice,
    ValidationChoice,
    WindowsChoice,
)
from app.api.schemas.graphs import GraphDefinition
from app.api.schemas.sweeps import SweepChoice
from app.api.schemas.values import DescribedBy, LabelKey, Labels, LabelValue, OneOf, RequestShape, ResourceName, bounded
from app.domain.clock import read_rfc3339
from app.service.fits.revision import Extension

THREADS_MAX = 64
CPUS_MAX = 1024
TIMEOUT_MAX = 10**9


def _moment(text: str) -> str:
    try:
        read_rfc3339(text)
    except ValueError as error:
        raise PydanticCustomError("malformed", "{why}", {"why": str(error)}) from error
    return text


Deadline = Annotated[
    str, AfterValidator(_moment), WithJsonSchema({"type": "string", "format": "date-time"}), Field(max_length=64)
]
TimeoutSeconds = Annotated[float, Field(gt=0, le=TIMEOUT_MAX)]
TIMEOUT = "Seconds that it may run, over all attempts; then it fails with the code timeout, after a checkpoint."
DEADLINE = "When it fails with the code deadline_exceeded unless it has ended: RFC 3339, with the offset from UTC."


class ResourcesChoice(RequestShape):
    """Resources of the machine that the fit uses."""

    priority: Literal["low", "normal", "high"] = Field(
        default="normal",
        description="Whose turn is earlier, and who gets more of the cores where they are scarce.",
    )
    executor: Literal["auto", "numpy", "native"] | None = Field(
        default=None,
        description=(
            'What computes; default "auto": native, compiled code, where the server has it, else numpy. A fit keeps '
            "the one that it was begun with."
        ),
    )
    threads: Annotated[int, Field(ge=1, le=THREADS_MAX)] | None = Field(
        default=None,
        description=(
            f"Threads that work inside a step, 1 to {THREADS_MAX}, cut to the cores that there are; by default the "
            "cores divided by the workers of the server and the replicas."
        ),
    )
    affinity: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1, max_length=CPUS_MAX)] | None = Field(
        default=None, description="CPUs, by number, that its processes are bound to; by default those of the server."
    )
    replicas: Annotated[int, Field(ge=1, le=16)] | None = Field(
        default=None, description="Processes that share each batch, 1 to 16; default 1."
    )
    placement: Literal["node", "pack", "spread"] | None = Field(
        default=None,
        description=(
            'Where the replicas run on a cluster: together on one "node", the default; "pack", on as few nodes as '
            'possible; "spread", on as many as possible. Numbers do not depend on it. Without a cluster all are on '
            "the server's machine."
        ),
    )
    timeout_seconds: TimeoutSeconds | None = Field(default=None, description=f"{TIMEOUT} By default unlimited.")
    deadline: Deadline | None = Field(default=None, description=f"{DEADLINE} By default never.")


METRICS_MAX = 64
FREEZE_MAX = 64
CLASSES_MAX = 2**18
FIELDS_MAX = 256
BOUNDED_ELSEWHERE = frozenset({"graph", "dataset", "class_weights", "classes"})

Shuffle = Annotated[bool | dict[str, Any], DescribedBy(ShuffleChoice, also=OneOf(bool, "true, false"))]
Normalize = Annotated[str | dict[str, Any], DescribedBy(NormalizeChoice, also=OneOf(str, "a kind"))]
Average = Annotated[str | dict[str, Any], DescribedBy(AverageChoice, also=OneOf(str, "a kind"))]
Metric = Annotated[str | dict[str, Any], DescribedBy(MetricChoice, also=OneOf(str, "a kind"))]
ClassWeights = Annotated[
    str | list[float],
    OneOf(
        Literal["balanced"] | Annotated[list[float], Field(max_length=CLASSES_MAX)],
        f'"balanced" or a list of up to {CLASSES_MAX} numbers',
    ),
]


class FitRequest(RequestShape):
    """A fit: a graph, rows, and a training recipe. Needs graph, dataset, and one of epochs and steps.

    Null stands for the default, unless a description says otherwise. With from_checkpoint every field that is left out
    is taken from the request of the checkpoint's fit, but for name, labels, start_paused and a deadline.
    """

    graph: Annotated[str | dict[str, Any] | None, DescribedBy(GraphDefinition, also=ID)] = Field(
        default=None, description="Id of a graph, or a graph. Required unless target or from_checkpoint is given."
    )
    dataset: Annotated[str | list[str] | dict[str, Any] | None, DescribedBy(InlineDataset, also=IDS)] = Field(
        default=None,
        description=(
            "Id of a dataset; a list of ids, whose rows are joined in their order; or a dataset. Required unless "
            "from_checkpoint is given."
        ),
    )
    feeds: dict[str, str] | None = Field(default=None, description="Input: column; by default of equal names.")
    target: Annotated[str, Field(min_length=1, max_length=512)] | None = Field(
        default=None,
        description=(
            "In place of a graph: the column to predict by all others. Graph (a tabular layer), columns, loss, "
            "metrics and options of training are proposed from the dataset, and shown in the request of the fit. "
            "Default none."
        ),
    )
    task: Literal["classification", "regression"] | None = Field(
        default=None, description="Task of the model; by default inferred from the target column."
    )
    columns: dict[str, str | dict[str, Any] | list[str | dict[str, Any]]] | None = Field(
        default=None,
        description=(
            "Input: the raw columns that it is made of, with their transforms: a column, an object with column "
            "(or columns), kind (number, category, date, boolean, text) and options, or a list of those, side by "
            "side. Statistics come from the training rows and are part of the model: predictions take raw "
            "values. Default none."
        ),
    )
    classes: Annotated[dict[str, ClassNames | None], Field(max_length=INPUTS_MAX)] | None = Field(
        default=None,
        description="Input: the class names of its text column in the order of their numbers, or an object that also "
        "names the class of unknown texts; by default the sorted texts of the training data. Other data are mapped by "
        "name. With from_checkpoint, null numbers the texts of an input by this fit's own data.",
    )
    preset: Literal["ggml_opt_fit"] | None = Field(
        default=None,
        description="Source of the defaults; `ggml_opt_fit` has the semantics of that function. Default none.",
    )
    validation: ValidationChoice | None = Field(
        default=None, description="Validation data, or the part of the rows that is held out; default none."
    )
    optimizer: Annotated[OptimizerChoice, KindAlone()] | None = Field(default=None, description="By default adam.")
    schedule: Annotated[ScheduleChoice, KindAlone()] | None = Field(default=None, description="By default constant.")
    clip: ClipChoice | None = Field(default=None, description="Limits on gradients; default none.")
    noise: NoiseChoice | None = Field(default=None, description="Noise on gradients; by default none.")
    epochs: int | None = Field(
        default=None, description="Passes over the training rows, 1 to 1000000; default none. Give this or steps."
    )
    steps: int | None = Field(
        default=None, description="Number of training steps, 1 to 1000000000; default none. Give this or epochs."
    )
    batch_size: int | None = Field(default=None, description="Rows of a step, at least 1; default 32.")
    micro_batch_size: int | None = Field(
        default=None,
        description=(
            "Rows that are computed at a time, at least 1 and at most batch_size; their gradients are added up. "
            "Default batch_size."
        ),
    )
    shuffle: Shuffle | None = Field(default=None, description="Order of rows, drawn for each epoch; default true.")
    sampling: SamplingChoice | None = Field(
        default=None, description="Rows drawn with weights; by default each row once per epoch."
    )
    windows: WindowsChoice | None = Field(default=None, description="Examples of several rows; by default a row.")
    normalize: dict[str, Normalize] | None = Field(
        default=None,
        description=(
            "By input, how it is scaled: standard, minmax, robust, or an object with options. A target is "
            "predicted and scored in the units of the data; the loss in normalised units is normalized_loss. "
            "Default none."
        ),
    )
    class_weights: ClassWeights | None = Field(
        default=None, description='A factor from 0 on for each class in the loss, or "balanced"; by default none.'
    )
    drop_last: bool | None = Field(
        default=None, description="Whether the last batch of an epoch is dropped if it is incomplete; default false."
    )
    prefetch: int | None = Field(
        default=None, description="Batches gathered ahead, 0 to 64; by default two of data that waits for the disk."
    )
    seed: int | None = Field(
        default=None, description="Seed of splits, orders, initial values and random draws, at least 0; default 0."
    )
    precision: Literal["float32", "float64", "mixed_float16", "mixed_bfloat16"] | None = Field(
        default=None, description='Number formats; "mixed_..." computes products in the lower one; default "float32".'
    )
    loss_scaling: LossScalingChoice | None = Field(
        default=None,
        description="Scaling of the loss with precision mixed_float16; by default its options have their defaults.",
    )
    recompute: RecomputeChoice | None = Field(
        default=None, description="Activations to recompute in the backward pass; by default none."
    )
    memory_budget: int | None = Field(
        default=None,
        description=(
            "Memory limit of a step, in bytes, at least 1; activations are recomputed until it is met. Default "
            "unlimited."
        ),
    )
    activations: Literal["float16", "bfloat16"] | None = Field(
        default=None,
        description="Half type in which float32 values are stored for the backward pass; by default none.",
    )
    average: Average | None = Field(default=None, description="ema, swa, or an object with options; by default none.")
    freeze: list[FreezeChoice] | None = Field(
        default=None, max_length=FREEZE_MAX, description="Parameters that are frozen in some epochs; default none."
    )
    metrics: list[Metric] | None = Field(
        default=None,
        max_length=METRICS_MAX,
        description="Kinds of metrics, or objects with their options; default none, with target those of its task.",
    )
    early_stopping: EarlyStoppingChoice | None = Field(default=None, description="By default the fit runs to its end.")
    divergence: DivergenceChoice | None = Field(
        default=None, description="Action when a loss or a gradient is not finite; by default the fit fails (stop)."
    )
    budget: BudgetChoice | None = Field(
        default=None, description="Limits of seconds and steps after which the fit succeeds; default unlimited."
    )
    checkpoint: CheckpointChoice | None = Field(
        default=None,
        description=(
            "When checkpoints are written, and how many are kept; by default after each epoch, the newest 3 and "
            "the best."
        ),
    )
    record: RecordChoice | None = Field(
        default=None,
        description="Steps that become metric rows, and their values; by default about 10000 rows at most.",
    )
    resources: ResourcesChoice | None = Field(
        default=None, description="Threads, replicas, priority and time limits; by default those of the server."
    )
    sweep: SweepChoice | None = Field(default=None, description="Variants of this fit; by default it is a single one.")
    name: ResourceName | None = Field(
        default=None, description="A name for lists, 1 to 200 characters, which need not be unique; default none."
    )
    labels: Labels | None = Field(
        default=None, description="Labels, up to 64 keys with values, for filtering lists; default none."
    )
    start_paused: bool | None = Field(default=None, description="Whether it starts paused; default false.")
    from_checkpoint: FromCheckpoint | None = Field(
        default=None, description="A checkpoint of another fit to begin at: its id, or an object; by default none."
    )

    @model_validator(mode="before")
    @classmethod
    def _of_few_fields(cls, document: Any) -> Any:
        if isinstance(document, dict) and len(document) > FIELDS_MAX:
            raise PydanticCustomError("too_long", "has more than {limit} fields", {"limit": FIELDS_MAX})
        return document

    @field_validator("*", mode="before")
    @classmethod
    def _bounded(cls, value: Any, info: ValidationInfo) -> Any:
        return value if info.field_name in BOUNDED_ELSEWHERE else bounded(value)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        needed = ("dataset",) if self.target is not None else ("graph", "dataset")
        missing = [repr(name) for name in needed if name not in self.model_fields_set]
        if missing and self.from_checkpoint is None:
            names = {"names": " and ".join(missing)}
            raise PydanticCustomError("missing_field", "{names} must be given, or else from_checkpoint", names)
        return self

    def document(self) -> dict[str, Any]:
        """Return the fields that were given, and null where it was: what that means depends on the field."""
        return self.model_dump(exclude_unset=True)


NOT_OF_RECIPE = frozenset(
    {"target", "task", "graph", "dataset", "resources", "sweep", "name", "labels", "start_paused", "from_checkpoint"}
)
MORE_MAX = 10**9

More = Annotated[int, Field(ge=1, le=MORE_MAX)]


UNCHANGED = "Left out, it does not change; null sets the default."


class ResourceChanges(RequestShape):
    """Changes to the resources of a fit; null sets the default."""

    priority: Literal["low", "normal", "high"] | None = Field(
        default=None, description=f"Whose turn is earlier. {UNCHANGED}"
    )
    threads: Annotated[int, Field(ge=1, le=THREADS_MAX)] | None = Field(
        default=None,
        description=f"Threads that work inside a step, from its next process on; only while it is paused. {UNCHANGED}",
    )
    timeout_seconds: TimeoutSeconds | None = Field(default=None, description=f"{TIMEOUT} {UNCHANGED}")
    deadline: Deadline | None = Field(default=None, description=f"{DEADLINE} {UNCHANGED}")


# The engine reads these, merged into the rest of the recipe: a part of one need not make sense alone.
_FIELDS: Any = {
    name: (Any, Field(default=None, description=f"{field.description} {UNCHANGED}"))
    for name, field in FitRequest.model_fields.items()
    if name not in NOT_OF_RECIPE
}
_RecipeChanges = create_model("_RecipeChanges", __base__=RequestShape, **_FIELDS)


class FitChanges(_RecipeChanges):  # type: ignore[valid-type, misc]  # its fields follow from those of requests
    """Changes to a fit, merged into its request field by field, as RFC 7396 has it: null takes back to the default.

    Name, labels, priority, timeout_seconds and deadline may change whenever; the other fields before the first process,
    and those that training can go on with (the optimizer's options, schedule, clip, noise, epochs, steps and others)
    also while the fit is paused.
    """

    name: ResourceName | None = Field(
        default=None, description="Name shown in lists; null removes it. Left out, it does not change."
    )
    labels: dict[LabelKey, LabelValue | None] | None = Field(
        default=None,
        description="Labels to set, and null for those to remove. Labels that are left out do not change.",
    )
    resources: ResourceChanges | None = Field(
        default=None,
        description="Threads, priority and time limits to change. Those that are left out do not change.",
    )

    @field_validator("*", mode="before")
    @classmethod
    def _bounded(cls, value: Any, info: ValidationInfo) -> Any:
        return value if info.field_name in BOUNDED_ELSEWHERE else bounded(value)

    def document(self) -> dict[str, Any]:
        """Return the fields that were given."""
        given: dict[str, Any] = self.model_dump(exclude_unset=True)
        return given


class FitExtension(RequestShape):
    """How far to extend a fit: either epochs or steps."""

    epochs: More | None = Field(
        default=None,
        description="Epochs in addition to those that were completed or started. Required unless steps is given.",
    )
    steps: More | None = Field(
        default=None, description="Steps in addition to those that were completed. Required unless epochs is given."
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.epochs is None) == (self.steps is None):
            raise PydanticCustomError("malformed", "give one of epochs and steps")
        return self

    def wanted(self) -> Extension:
        """Return it in the words of the service."""
        return Extension("steps", self.steps) if self.steps is not None else Extension("epochs", self.epochs or 0)
