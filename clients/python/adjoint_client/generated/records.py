"""What the server answers about its resources, with the fields as attributes."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Literal

from adjoint_client.record import Record


class Calibration(Record):
    """Predicted probability of the predicted class, compared with its accuracy."""

    _records: ClassVar[Mapping[str, str]] = {"bins": "CalibrationBin"}
    bins: "list[CalibrationBin]"
    expected_error: "float"
    maximum_error: "float"
    brier: "float | None"


class CalibrationBin(Record):
    """Rows whose predicted class has a probability from `lower` to `upper`; means are null where there are none."""

    lower: "float"
    upper: "float"
    rows: "int"
    confidence: "float | None"
    accuracy: "float | None"


class Checkpoint(Record):
    """A file with everything that a fit or a session needs to resume."""

    _records: ClassVar[Mapping[str, str]] = {"links": "CheckpointLinks"}
    _moments: ClassVar[frozenset[str]] = frozenset(["created_at"])
    id: "str"
    object: 'Literal["checkpoint"]'
    fit: "str | None"
    session: "str | None"
    session_seq: "int | None"
    graph: "str"
    step: "int"
    epoch: "int"
    is_best: "bool"
    pinned: "bool"
    corrupt: "bool"
    metrics: "dict[str, float | None]"
    nonfinite: "dict[str, str]"
    digest: "str"
    size_bytes: "int"
    created_at: "datetime"
    links: "CheckpointLinks"


class CheckpointLinks(Record):
    """Links of a checkpoint."""

    self: "str"
    content: "str"
    parameters: "str"


ClassNamesChoice = Mapping[str, Any]


class ClassScores(Record):
    """How well one class is predicted; a share is null where there are no rows."""

    name: "str"
    support: "int"
    predicted: "int"
    precision: "float | None"
    recall: "float | None"
    f1: "float | None"


class ClassificationReport(Record):
    """How well classes are predicted."""

    _records: ClassVar[Mapping[str, str]] = {
        "per_class": "ClassScores",
        "calibration": "Calibration",
        "roc": "RocCurve",
    }
    classes: "list[str]"
    rows: "int"
    accuracy: "float | None"
    confusion_matrix: "list[list[int]] | None"
    per_class: "list[ClassScores]"
    calibration: "Calibration | None"
    roc: "list[RocCurve] | None"


class ColumnCorrelation(Record):
    """How a column goes with the target."""

    measure: 'Literal["pearson", "correlation_ratio", "cramers_v"]'
    value: "float"


class ColumnProfile(Record):
    """The values of a column."""

    _records: ClassVar[Mapping[str, str]] = {
        "quantiles": "QuantileValue",
        "histogram": "ProfileHistogram",
        "top": "ValueCount",
        "correlation": "ColumnCorrelation",
    }
    name: "str"
    kind: 'Literal["number", "boolean", "text", "tensor"]'
    missing: "int"
    distinct: "int"
    constant: "bool"
    unique: "bool"
    mean: "float | None"
    deviation: "float | None"
    quantiles: "list[QuantileValue] | None"
    histogram: "ProfileHistogram | None"
    top: "list[ValueCount]"
    correlation: "ColumnCorrelation | None"


class CompiledKernels(Record):
    """How many kernels of how many are compiled."""

    count: "int"
    total: "int"


class Dataset(Record):
    """A stored dataset."""

    _records: ClassVar[Mapping[str, str]] = {"columns": "DatasetColumn", "proposed": "ProposedColumns"}
    _moments: ClassVar[frozenset[str]] = frozenset(["created_at"])
    id: "str"
    object: 'Literal["dataset"]'
    name: "str"
    format: "str"
    digest: "str"
    size_bytes: "int"
    rows: "int"
    version: "int"
    origin: "dict[str, Any] | None"
    corrupt: "bool"
    columns: "list[DatasetColumn]"
    proposed: "ProposedColumns"
    csv_columns: "str | None"
    created_at: "datetime"


class DatasetColumn(Record):
    """A column; shape does not include the rows."""

    _records: ClassVar[Mapping[str, str]] = {"images": "ImageFormat"}
    name: "str"
    label: "str"
    dtype: "str"
    shape: "list[int]"
    minimum: "int | float | None"
    maximum: "int | float | None"
    mean: "float | None"
    missing: "int"
    classes: "list[str] | None"
    images: "ImageFormat | None"


class DatasetFinding(Record):
    """Something that deserves a look before training."""

    code: "str"
    column: "str | None"
    detail: "str"


class DatasetProfile(Record):
    """What the rows of a dataset look like."""

    _records: ClassVar[Mapping[str, str]] = {
        "columns": "ColumnProfile",
        "target": "TargetProfile",
        "findings": "DatasetFinding",
    }
    object: 'Literal["dataset_profile"]'
    dataset: "str"
    rows: "int"
    rows_read: "int"
    duplicates: "int | None"
    columns: "list[ColumnProfile]"
    target: "TargetProfile | None"
    findings: "list[DatasetFinding]"


class ErrorQuantile(Record):
    """An error that a share of the errors do not exceed."""

    share: "float"
    error: "float | None"


class Evaluation(Record):
    """The loss, the metrics and a report of a model on rows, in evaluation mode."""

    _records: ClassVar[Mapping[str, str]] = {"classification": "ClassificationReport", "regression": "RegressionReport"}
    object: 'Literal["evaluation"]'
    checkpoint: "str"
    dataset: "str | list[str]"
    rows: "int"
    metrics: "dict[str, float | None]"
    nonfinite: "dict[str, str]"
    classification: "ClassificationReport | None"
    regression: "RegressionReport | None"


class Fit(Record):
    """A fit: its request, progress and result."""

    _records: ClassVar[Mapping[str, str]] = {
        "attempts": "FitAttempt",
        "error": "FitError",
        "runtime": "FitRuntime",
        "origin": "FitOrigin",
        "variant": "VariantInfo",
        "sweep": "SweepSummary",
        "replay": "FitReplay",
        "links": "FitLinks",
    }
    _moments: ClassVar[frozenset[str]] = frozenset(["deadline_at", "created_at", "started_at", "finished_at"])
    id: "str"
    object: 'Literal["fit"]'
    name: "str | None"
    state: "FitState"
    terminal: "bool"
    phase: "str"
    step: "int"
    total_steps: "int"
    epoch: "int"
    progress: "float"
    eta_seconds: "float | None"
    latest: "dict[str, float | None]"
    nonfinite: "dict[str, str]"
    best: "dict[str, Any] | None"
    attempt: "int"
    attempts_max: "int"
    attempts: "list[FitAttempt]"
    error: "FitError | None"
    runtime: "FitRuntime | None"
    record_every_steps: "int"
    stop_reason: "str | None"
    bit_exact: "bool"
    running_seconds: "float"
    deadline_at: "datetime | None"
    reopened_at: "int | None"
    created_at: "datetime"
    started_at: "datetime | None"
    finished_at: "datetime | None"
    graph: "str"
    dataset: "str"
    datasets: "list[str]"
    origin: "FitOrigin | None"
    parent: "str | None"
    variant: "VariantInfo | None"
    sweep: "SweepSummary | None"
    replay: "FitReplay | None"
    labels: "dict[str, str]"
    request: "dict[str, Any]"
    links: "FitLinks"


class FitAttempt(Record):
    """A process of the fit."""

    _moments: ClassVar[frozenset[str]] = frozenset(["started_at", "ended_at"])
    number: "int"
    started_at: "datetime"
    ended_at: "datetime | None"
    outcome: "str | None"


class FitError(Record):
    """Why a fit failed."""

    code: "str"
    detail: "str"


class FitLinks(Record):
    """Links of a fit."""

    self: "str"
    metrics: "str"
    events: "str"
    checkpoints: "str"
    gradients: "str"
    children: "str"
    origin: "str | None"
    variants: "str | None"
    parent: "str | None"
    graph: "str"
    dataset: "str"


class FitOrigin(Record):
    """The checkpoint that a fit was forked from."""

    checkpoint: "str"
    fit: "str | None"
    step: "int"
    digest: "str"
    restore: 'Literal["all", "parameters"]'
    copy: "str"


class FitReplay(Record):
    """The fit that this one replays."""

    _records: ClassVar[Mapping[str, str]] = {"verdict": "ReplayVerdict"}
    of: "str"
    same_numerics: "bool"
    numerics_differences: "list[str]"
    expected: "dict[str, Any]"
    verdict: "ReplayVerdict | None"


class FitRuntime(Record):
    """Runtime of the fit's last process."""

    executor: "str"
    threads: "int"
    threads_requested: "int | None"
    affinity: "list[int] | None"
    niceness: "int"
    fingerprint: "dict[str, Any]"


FitState = Literal[
    "queued",
    "starting",
    "running",
    "pausing",
    "paused",
    "cancelling",
    "cancelled",
    "interrupted",
    "succeeded",
    "failed",
]


class Graph(Record):
    """A stored graph."""

    _records: ClassVar[Mapping[str, str]] = {"findings": "GraphFinding"}
    _moments: ClassVar[frozenset[str]] = frozenset(["created_at"])
    name: "str"
    digest: "str"
    definition: "dict[str, Any]"
    parameter_count: "int"
    node_counts: "dict[str, int]"
    shapes: "dict[str, Any]"
    implicit_loss: "bool"
    memory: "dict[str, int]"
    findings: "list[GraphFinding]"
    id: "str"
    object: 'Literal["graph"]'
    created_at: "datetime"


class GraphFinding(Record):
    """A remark on a graph: something valid that is probably not intended."""

    pointer: "str"
    severity: 'Literal["warning", "info"]'
    code: "str"
    detail: "str"


class GraphSummary(Record):
    """A graph without its definition."""

    _moments: ClassVar[frozenset[str]] = frozenset(["created_at"])
    id: "str"
    object: 'Literal["graph"]'
    name: "str"
    digest: "str"
    parameter_count: "int"
    created_at: "datetime"


class ImageFormat(Record):
    """How files of images became arrays."""

    size: "str | None"
    mode: 'Literal["L", "RGB", "RGBA"]'
    dtype: 'Literal["uint8", "float32"]'


class ParameterSummary(Record):
    """A parameter without its numbers."""

    name: "str"
    dtype: "str"
    shape: "list[int]"


class ProfileHistogram(Record):
    """Counts of values between edges, one more than counts; the last bin has both."""

    edges: "list[float]"
    counts: "list[int]"


class ProposedColumns(Record):
    """Proposed preprocessing of each column; it can be used, changed or not, as `columns` of a fit."""

    columns: "dict[str, list[dict[str, Any]]]"
    left_out: "dict[str, str]"


class QuantileValue(Record):
    """A value that occurs, at or below which a share of all values lies."""

    share: "float"
    value: "int | float"


class RankedVariant(Record):
    """A variant of a sweep with its rank."""

    fit: "str"
    rank: "int"
    value: "float | None"
    nonfinite: "str | None"
    index: "int"
    parameters: "dict[str, Any]"
    state: "FitState"
    step: "int"
    total_steps: "int"


class RegressionReport(Record):
    """Errors (prediction - target) over all elements, in the units of the data; null where not finite."""

    _records: ClassVar[Mapping[str, str]] = {"error_quantiles": "ErrorQuantile"}
    elements: "int"
    mean_error: "float | None"
    mean_absolute_error: "float | None"
    root_mean_squared_error: "float | None"
    largest_error: "float | None"
    error_quantiles: "list[ErrorQuantile]"


class ReplayVerdict(Record):
    """Whether the results are equal bit for bit."""

    bit_exact: "bool"
    differences: "list[str]"
    first_row: "int | None"


class RocCurve(Record):
    """The ROC curve of a class against all others."""

    _records: ClassVar[Mapping[str, str]] = {"points": "RocPoint"}
    name: "str"
    auc: "float"
    exact: "bool"
    points: "list[RocPoint]"


class RocPoint(Record):
    """A point of a ROC curve; the first one has no threshold."""

    false_positive_rate: "float"
    true_positive_rate: "float"
    threshold: "float | None"


class Session(Record):
    """A training session: a model whose steps the client requests."""

    _records: ClassVar[Mapping[str, str]] = {
        "kernels": "CompiledKernels",
        "parameters": "ParameterSummary",
        "error": "SessionError",
        "links": "SessionLinks",
    }
    _moments: ClassVar[frozenset[str]] = frozenset(["created_at", "used_at", "expires_at", "finished_at"])
    id: "str"
    object: 'Literal["session"]'
    name: "str | None"
    kind: 'Literal["training", "static"]'
    state: "SessionState"
    process: "str | None"
    phase: 'Literal["compiling"] | None'
    kernels: "CompiledKernels | None"
    graph: "str"
    dataset: "str | None"
    optimizer: "dict[str, Any] | None"
    static: "dict[str, Any] | None"
    classes: "dict[str, ClassNamesChoice]"
    seed: "int"
    precision: "str"
    executor: "str | None"
    threads: "int | None"
    labels: "dict[str, str]"
    next_seq: "int | None"
    step: "int | None"
    parameters: "list[ParameterSummary]"
    attempt: "int"
    bit_exact: "bool"
    ttl_seconds: "float"
    created_at: "datetime"
    used_at: "datetime"
    expires_at: "datetime | None"
    finished_at: "datetime | None"
    error: "SessionError | None"
    checkpoint: "str | None"
    links: "SessionLinks"


class SessionError(Record):
    """Why a session failed."""

    code: "str"
    detail: "str"


class SessionLinks(Record):
    """Links of a session."""

    self: "str"
    parameters: "str"
    gradients: "str"
    buffers: "str"
    graph: "str"
    dataset: "str | None"
    checkpoint: "str | None"


SessionState = Literal["active", "paused", "closed", "expired", "failed"]


class SweepSummary(Record):
    """Progress of the variants of a fit."""

    _records: ClassVar[Mapping[str, str]] = {"ranking": "RankedVariant"}
    kind: 'Literal["grid", "random", "halving"]'
    monitor: "str"
    mode: 'Literal["min", "max"]'
    rungs: "list[int]"
    variants: "int"
    states: "dict[str, int]"
    ranking: "list[RankedVariant]"


class TargetProfile(Record):
    """The column that is to be predicted."""

    _records: ClassVar[Mapping[str, str]] = {"classes": "ValueCount"}
    column: "str"
    kind: 'Literal["class", "number"]'
    missing: "int"
    classes: "list[ValueCount]"


class ValueCount(Record):
    """A value and in how many rows it is."""

    value: "str"
    count: "int"


class VariantInfo(Record):
    """Which variant of a sweep a fit is."""

    index: "int"
    parameters: "dict[str, Any]"
