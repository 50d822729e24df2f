"""Sets of options of a fit on the wire. Types only: the engine, which the names come from, checks them in full.

Null, where a description does not give it a meaning, stands for the default.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, Tag
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from app.api.schemas.values import DescribedBy, OneOf, RequestShape

LONGEST_PATTERN = 256
PATTERNS_MAX = 64
GROUPS_MAX = 64
SHARDS_MAX = 256
INPUTS_MAX = 1024
CLASSES_MAX = 100_000

Pattern = Annotated[str, Field(max_length=LONGEST_PATTERN)]
Patterns = Annotated[
    str | list[str],
    OneOf(
        Pattern | Annotated[list[Pattern], Field(max_length=PATTERNS_MAX)],
        f"a pattern, or a list of up to {PATTERNS_MAX}, each of at most {LONGEST_PATTERN} characters",
    ),
]
"""Patterns of names: * for anything, ? for one character."""

Axes = Annotated[
    int | list[int], OneOf(int | Annotated[list[int], Field(max_length=PATTERNS_MAX)], "a number or a list")
]

Order = Annotated[float | str, OneOf(float | Literal["inf"], 'a number, or "inf"')]

DatasetIds = Annotated[list[str], Field(min_length=1, max_length=SHARDS_MAX)]
ID = OneOf(str, "an id")
IDS = OneOf(str | DatasetIds, f"an id, a list of 1 to {SHARDS_MAX} ids")


class ClassNamesChoice(RequestShape):
    """The classes of an input that takes a text column; a class is fed to the graph as its index in `names`."""

    names: Annotated[list[str], Field(min_length=1, max_length=CLASSES_MAX)] | None = Field(
        default=None, description="The class names in the order of their numbers; by default the sorted texts."
    )
    unknown: str | None = Field(
        default=None, description="The class of texts that are no class; null (the default): such a text is an error."
    )


ClassNames = Annotated[
    list[str] | dict[str, Any],
    DescribedBy(
        ClassNamesChoice,
        also=OneOf(Annotated[list[str], Field(min_length=1, max_length=CLASSES_MAX)], "a list of class names"),
    ),
]


class GroupChoice(RequestShape):
    """Parameters that share optimizer options; options that differ from the common ones are further fields.

    A parameter belongs to the first group that takes it.
    """

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    match: Patterns = Field(
        default="*", description='Patterns of parameter names, * for anything, ? for one character; default "*".'
    )
    ndim: Axes | None = Field(
        default=None,
        description="Numbers of axes that the parameters may have, each at least 0, a number or a list; default any.",
    )
    frozen: bool = Field(default=False, description="Whether the parameters are frozen; default false.")


class OptimizerChoice(RequestShape):
    """An optimizer by its kind, with its options beside it; see /v1/optimizers."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    kind: str
    groups: list[GroupChoice] | None = Field(
        default=None,
        max_length=GROUPS_MAX,
        description=(
            "Parameters with a kind or options of their own; the others are stepped by the common ones. Default none."
        ),
    )


def _with_kind(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


KIND_ALONE = "A kind, with the default options."


class KindAlone:
    """Marks an object with a kind for which the kind alone may stand: "adam" is {"kind": "adam"}."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(_with_kind, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string", "description": KIND_ALONE}, handler(schema)]}


class ScheduleChoice(RequestShape):
    """A schedule of the learning rate by its kind, with its options beside it; see /v1/schedules.

    It counts what `per` says: "epoch" (the default) or "step". Options may be schedules in their turn.
    """

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    kind: str


class MetricChoice(RequestShape):
    """A metric by its kind, with its options beside it; see /v1/metrics."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    kind: str
    name: str | None = Field(default=None, description="Name of the metric in metric rows; by default its kind.")


class ShuffleChoice(RequestShape):
    """The order of the examples of an epoch: random, random in groups, random within a window, or that of the data."""

    kind: Literal["rows", "shards", "window", "none"] | None = Field(
        default=None,
        description=(
            'Default "rows": a uniformly random order; "shards": groups of `size` examples, in order inside; '
            '"window": no example moves by `size` places or more; "none": the order of the data.'
        ),
    )
    size: int | None = Field(
        default=None,
        description=(
            "Examples of a shard, by default those of a batch; or of a window, where it is required. At least 1."
        ),
    )


class SamplingChoice(RequestShape):
    """Examples drawn for each epoch in proportion to weights."""

    weights: str = Field(description='A column of numbers from 0 on, or "balanced": every class of `of` equally often.')
    of: str | None = Field(
        default=None,
        description='The column of classes that are balanced; required with weights "balanced", by default none.',
    )
    replacement: bool | None = Field(
        default=None, description="Whether examples are drawn with replacement; default true."
    )
    examples: int | None = Field(
        default=None,
        description="Number of examples per epoch, at least 1; by default the number of training examples.",
    )


class WindowsChoice(RequestShape):
    """Examples that are windows over rows in order: for time series and text."""

    spans: dict[str, Axes] | None = Field(
        default=None,
        description=(
            "By input, the rows that it takes, counted from a window's start: [start, end], the end left out, or "
            "one row's number; an input that is not named takes the row at the start, which is the default for "
            "all."
        ),
    )
    stride: int | None = Field(default=None, description="Rows between starts of windows, at least 1; default 1.")
    within: str | None = Field(
        default=None,
        description="A column; no window crosses a change of its value. Default none: windows may start at any row.",
    )


class NormalizeChoice(RequestShape):
    """How an input is shifted and scaled, by statistics of its training rows; predictions do the same."""

    kind: Literal["standard", "minmax", "robust"]
    center: bool | None = Field(default=None, description="standard: whether the mean becomes 0; default true.")
    scale: bool | None = Field(default=None, description="standard: whether the deviation becomes 1; default true.")
    low: float | None = Field(
        default=None, description="minmax: result for the smallest value, -1e6 to 1e6; default 0.0."
    )
    high: float | None = Field(
        default=None, description="minmax: result for the largest value, -1e6 to 1e6; default 1.0."
    )
    lower: float | None = Field(default=None, description="robust: the lower percentile, 0 to 100; default 25.0.")
    upper: float | None = Field(default=None, description="robust: the upper percentile, 0 to 100; default 75.0.")


class LossScalingChoice(RequestShape):
    """The scale of the loss under mixed_float16; a step whose gradients overflow is skipped."""

    initial: float | None = Field(default=None, description="The first scale, greater than 0; default 65536.0.")
    growth_factor: float | None = Field(
        default=None,
        description="Factor of the scale after `growth_interval` finite steps, greater than 1; default 2.0.",
    )
    backoff_factor: float | None = Field(
        default=None, description="Factor of the scale after an overflow, greater than 0 and less than 1; default 0.5."
    )
    growth_interval: int | None = Field(
        default=None, description="Good steps in a row before it grows, at least 1; default 2000."
    )


class AdaptiveClipChoice(RequestShape):
    """Limits the norm of each unit's gradient relative to the norm of its weights (Brock et al. 2021)."""

    clipping: float | None = Field(
        default=None, description="Limit of the ratio of the norms, greater than 0; default 0.01."
    )
    eps: float | None = Field(
        default=None, description="Lower bound of the norm of a unit's weights, greater than 0; default 0.001."
    )
    units: Literal["last", "first"] | None = Field(
        default=None, description='The axis that counts units; "first" for weights [out, in, ...]; default "last".'
    )


class ClipChoice(RequestShape):
    """Limits on gradients, applied in this order: adaptive, per_parameter, norm, value."""

    norm: float | None = Field(
        default=None, description="Limit of the norm of all gradients together, greater than 0; default none."
    )
    p: Order | None = Field(default=None, description='The order of norms, greater than 0, or "inf"; default 2.0.')
    per_parameter: float | None = Field(
        default=None, description="Limit of the norm of each parameter's gradient, greater than 0; default none."
    )
    value: float | None = Field(
        default=None,
        description="Limit of the absolute value of each element of a gradient, greater than 0; default none.",
    )
    adaptive: AdaptiveClipChoice | None = Field(
        default=None,
        description=(
            "Limit of each unit's gradient relative to its weights (adaptive gradient clipping); default none."
        ),
    )
    nonfinite: Literal["apply", "error", "skip"] | None = Field(
        default=None, description='Action for a step whose gradients are not finite; default "apply".'
    )


class NoiseChoice(RequestShape):
    """Normal noise of variance eta / (1 + t) ** gamma on the gradients of step t (Neelakantan et al. 2015)."""

    eta: float | None = Field(default=None, description="Initial variance, greater than 0; default 0.01.")
    gamma: float | None = Field(default=None, description="Decay exponent, at least 0; default 0.55.")


class RecomputeChoice(RequestShape):
    """Pieces of the graph that are computed again in the backward pass, to save memory: segments or match."""

    segments: int | None = Field(
        default=None,
        description="Number of pieces that the graph is divided into, 2 to 10000; required unless match is given.",
    )
    match: Annotated[list[Pattern], Field(max_length=PATTERNS_MAX)] | None = Field(
        default=None,
        description="Patterns of node names; the nodes of each are a piece. Required unless segments is given.",
    )


class AverageChoice(RequestShape):
    """An average of the weights over the steps, which validation and predictions use."""

    kind: Literal["ema", "swa"] | None = Field(
        default=None, description='"ema" decays, "swa" is the plain mean; default "ema".'
    )
    decay: float | None = Field(default=None, description="ema: the decay, 0 to 1; default 0.999.")
    warm_up: bool | None = Field(default=None, description="ema: whether the decay starts low; default false.")
    every_steps: int | None = Field(
        default=None,
        description="Steps between updates of the average, at least 1; default 1 for ema. Not with every_epochs.",
    )
    every_epochs: int | None = Field(
        default=None,
        description="Epochs between updates of the average, at least 1; default 1 for swa. Not with every_steps.",
    )
    first_epoch: int | None = Field(default=None, description="First epoch included, at least 1; default 1.")


class FreezeChoice(RequestShape):
    """Parameters that are frozen from one epoch to another, both inclusive."""

    match: Patterns = Field(description="Patterns of parameter names, * for anything, ? for one character.")
    first_epoch: int | None = Field(
        default=None, description="First epoch in which they are frozen, at least 1; default 1."
    )
    last_epoch: int | None = Field(
        default=None,
        description="Last epoch in which they are frozen, at least first_epoch; by default the last of the fit.",
    )


class ValidationChoice(RequestShape):
    """Rows to validate on: a share of the dataset, or another dataset."""

    split: float | None = Field(
        default=None, description="Share of the rows that is held out, at least 0 and less than 1; default 0.0."
    )
    stratify: str | None = Field(
        default=None, description="Column of classes whose proportions are preserved in both parts; default none."
    )
    group: str | None = Field(default=None, description="A column whose equal values stay on one side; default none.")
    order: Literal["random", "last"] | None = Field(
        default=None, description='"last" holds out the end of the data, as for time series; default "random".'
    )
    dataset: Annotated[str | list[str] | None, OneOf(str | DatasetIds | None, IDS.wanted)] = Field(
        default=None,
        description="Id of a dataset; or a list of ids, whose rows are joined in their order. Default none.",
    )
    every_steps: int | None = Field(
        default=None, description="Steps between validations, at least 1; default none by step."
    )
    every_epochs: int | None = Field(
        default=None,
        description="Epochs between validations, at least 1; default 1; null: none by epoch.",
    )


class EarlyStoppingChoice(RequestShape):
    """Ends a fit whose metric no longer improves."""

    monitor: str | None = Field(
        default=None,
        description=(
            "loss, val_loss, or a metric as val_accuracy; default val_loss where there is a validation, else loss."
        ),
    )
    mode: Literal["min", "max"] | None = Field(default=None, description="Which is better; by default as the metric.")
    patience: int | None = Field(
        default=None, description="Evaluations in a row without improvement that end the fit, at least 0; default 5."
    )
    min_delta: float | None = Field(
        default=None, description="Minimum change that counts as an improvement, at least 0; default 0.0."
    )
    restore_best: bool | None = Field(
        default=None, description="Whether the best parameters are restored at the end; default true."
    )
    first_epoch: int | None = Field(
        default=None, description="First epoch whose evaluations are compared, at least 1; default 1."
    )


class DivergenceChoice(RequestShape):
    """Action when a loss or a gradient is not finite."""

    action: Literal["continue", "stop", "skip", "roll_back"] | None = Field(
        default=None,
        description=(
            'Default "stop": the fit fails with numerics_nonfinite, the step and the first node that was not finite; '
            '"continue": go on; "skip": the step is left out; "roll_back": back to the last good epoch, and on at a '
            "lower rate."
        ),
    )
    factor: float | None = Field(
        default=None,
        description="Factor of the learning rate after a rollback, greater than 0 and less than 1; default 0.5.",
    )
    limit: int | None = Field(
        default=None, description="Number of consecutive occurrences after which the fit fails, at least 1; default 10."
    )


class BudgetChoice(RequestShape):
    """Limits of a fit: it succeeds after the step that exceeds one of them."""

    seconds: float | None = Field(
        default=None, description="Seconds of training over all attempts, greater than 0; default unlimited."
    )
    steps: int | None = Field(default=None, description="Training steps, at least 1; default unlimited.")


class CheckpointChoice(RequestShape):
    """When to write checkpoints besides the last one, and how many to keep."""

    every_steps: int | None = Field(
        default=None, description="Steps between checkpoints, at least 1; default none by step."
    )
    every_epochs: int | None = Field(
        default=None,
        description=(
            "Epochs between checkpoints, at least 1; default 1; null: none by epoch. Where it is left out, a fit that "
            "has spent a second on them writes at most one in a second."
        ),
    )
    keep_last: int | None = Field(
        default=None, description="Number of newest checkpoints to keep, at least 1; default 3."
    )
    keep_best: bool | None = Field(default=None, description="Whether the best checkpoint is kept too; default true.")


class GradientsChoice(RequestShape):
    """Which gradients of the loss are captured: as they are before clipping, noise and scaling."""

    steps: list[int] | None = Field(
        default=None,
        description=(
            "The steps, each at least 0, after which gradients are captured: 0 is the gradient at the first "
            "parameters. A fit captures them at 10000 steps at most, those of every_steps included. Default "
            "none."
        ),
    )
    every_steps: int | None = Field(
        default=None,
        description=(
            "At step 0 and at every multiple of this number of steps, at least 1; default none. Give this, "
            "steps, or both."
        ),
    )
    parameters: list[str] | None = Field(
        default=None, description='Patterns of names of trained parameters, such as "conv*"; default ["*"].'
    )


class RecordChoice(RequestShape):
    """Steps that are recorded as metric rows, and their values."""

    every_steps: int | None = Field(
        default=None,
        description="Steps between rows, at least 1; the default gives at most about 10000 rows per fit.",
    )
    gradient_norms: bool | None = Field(
        default=None, description="Whether rows include the gradient norm of each trained parameter; default true."
    )
    weight_norms: bool | None = Field(
        default=None,
        description="Whether rows include the norm of each trained parameter after the step; default false.",
    )
    epochs: bool | None = Field(
        default=None,
        description="Whether each epoch is recorded too, with metrics over its rows and uncertainties; default false.",
    )
    gradients: GradientsChoice | None = Field(
        default=None, description="Steps and parameters whose gradients are captured; default none."
    )


class ForkChoice(RequestShape):
    """A checkpoint to fork a fit from, and what is restored."""

    checkpoint: str = Field(description="Id of a checkpoint.")
    restore: Literal["all", "parameters"] | None = Field(
        default=None,
        description=(
            '"all": the fit goes on where the checkpoint was made, on the same graph and rows, with optimizer state '
            'and data order, to a later end; "parameters": it starts again with the values of parameters and buffers. '
            'Default "all", for an uploaded checkpoint "parameters".'
        ),
    )


def _kind_of_fork(value: Any) -> Literal["choice", "id"]:
    return "choice" if isinstance(value, (dict, ForkChoice)) else "id"


FromCheckpoint = Annotated[
    Annotated[str, Tag("id")] | Annotated[ForkChoice, Tag("choice")], Discriminator(_kind_of_fork)
]
