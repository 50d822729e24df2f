"""The JSON objects of the contract as typed dictionaries."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict, Union


class AccuracyMetric(TypedDict):
    """Share of rows whose predicted class is the target class; of equal scores the first class is predicted."""

    kind: 'Literal["accuracy"]'
    name: NotRequired["str | None"]
    predictions: NotRequired["str | None"]
    targets: NotRequired["str | None"]
    form: NotRequired[
        'Literal["class_logits", "class_log_probabilities", "class_probabilities", "class_scores", "binary_logits", "binary_probabilities", "numbers"] | None'
    ]
    ignore_index: NotRequired["int | None"]
    threshold: NotRequired["float"]


class AdadeltaOptimizer(TypedDict):
    """Steps as long as recent steps were, against gradients as long as theirs (Zeiler 2012), as torch's Adadelta."""

    kind: 'Literal["adadelta"]'
    groups: NotRequired["Sequence[GroupChoice] | None"]
    lr: NotRequired["float"]
    maximize: NotRequired["bool"]
    rho: NotRequired["float"]
    eps: NotRequired["float"]
    weight_decay: NotRequired["float"]


class AdafactorOptimizer(TypedDict):
    """Adaptive steps in sublinear memory (Shazeer and Stern 2018), semantics of torch.optim.Adafactor."""

    kind: 'Literal["adafactor"]'
    groups: NotRequired["Sequence[GroupChoice] | None"]
    lr: NotRequired["float"]
    maximize: NotRequired["bool"]
    beta2_decay: NotRequired["float"]
    eps: NotRequired["Sequence[float | None]"]
    d: NotRequired["float"]
    weight_decay: NotRequired["float"]


class AdagradOptimizer(TypedDict):
    """Steps divided by the root of the sum of all squares (Duchi et al. 2011), semantics of torch.optim.Adagrad."""

    kind: 'Literal["adagrad"]'
    groups: NotRequired["Sequence[GroupChoice] | None"]
    lr: NotRequired["float"]
    maximize: NotRequired["bool"]
    lr_decay: NotRequired["float"]
    weight_decay: NotRequired["float"]
    initial_accumulator_value: NotRequired["float"]
    eps: NotRequired["float"]


class AdamOptimizer(TypedDict):
    """Adam (Kingma and Ba 2015), semantics of torch.optim.Adam: weight decay is added to the gradient."""

    kind: 'Literal["adam"]'
    groups: NotRequired["Sequence[GroupChoice] | None"]
    lr: NotRequired["float"]
    maximize: NotRequired["bool"]
    betas: NotRequired["Sequence[float]"]
    eps: NotRequired["float"]
    weight_decay: NotRequired["float"]
    amsgrad: NotRequired["bool"]
    lazy: NotRequired["bool"]


class AdamaxOptimizer(TypedDict):
    """Adam by the largest gradient in place of the second moment (Kingma and Ba 2015, section 7.1), as torch's."""

    kind: 'Literal["adamax"]'
    groups: NotRequired["Sequence[GroupChoice] | None"]
    lr: NotRequired["float"]
    maximize: NotRequired["bool"]
    betas: NotRequired["Sequence[float]"]
    eps: NotRequired["float"]
    weight_decay: NotRequired["float"]


class AdamwOptimizer(TypedDict):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019), semantics of torch.optim.AdamW."""

    kind: 'Literal["adamw"]'
    groups: NotRequired["Sequence[GroupChoice] | None"]
    lr: NotRequired["float"]
    maximize: NotRequired["bool"]
    betas: NotRequired["Sequence[float]"]
    eps: NotRequired["float"]
    weight_decay: NotRequired["float"]
    amsgrad: NotRequired["bool"]
    lazy: NotRequired["bool"]


class AdaptiveAvgPool1dLayer(TypedDict):
    """Means of bins of x [N, C, L] chosen so that the result has the extent `output_size`, as PyTorch's."""

    layer: 'Literal["adaptive_avg_pool1d"]'
    name: NotRequired["str"]
    output_size: "int | Sequence[int]"


class AdaptiveAvgPool2dLayer(TypedDict):
    """Means of bins of x [N, C, H, W] chosen so that the result has the extents `output_size`, as PyTorch's."""

    layer: 'Literal["adaptive_avg_pool2d"]'
    name: NotRequired["str"]
    output_size: "int | Sequence[int]"


class AdaptiveAvgPool3dLayer(TypedDict):
    """Means of bins of x [N, C, D, H, W] chosen so that the result has the extents `output_size`, as PyTorch's."""

    layer: 'Literal["adaptive_avg_pool3d"]'
    name: NotRequired["str"]
    output_size: "int | Sequence[int]"


class AdaptiveClipChoice(TypedDict):
    """Limits the norm of each unit's gradient relative to the norm of its weights (Brock et al. 2021)."""

    clipping: NotRequired["float | None"]
    eps: NotRequired["float | None"]
    units: NotRequired['Literal["last", "first"] | None']


class AdaptiveMaxPool1dLayer(TypedDict):
    """Largest elements of bins of x [N, C, L] chosen so that the result has the extent `output_size`, as PyTorch's."""

    layer: 'Literal["adaptive_max_pool1d"]'
    name: NotRequired["str"]
    output_size: "int | Sequence[int]"
    return_indices: NotRequired["bool"]


class AdaptiveMaxPool2dLayer(TypedDict):
    """Largest elements of bins of x [N, C, H, W] chosen so that the result has the extents `output_size`, as PyTorch's."""

    layer: 'Literal["adaptive_max_pool2d"]'
    name: NotRequired["str"]
    output_size: "int | Sequence[int]"
    return_indices: NotRequired["bool"]


class AdaptiveMaxPool3dLayer(TypedDict):
    """Largest elements of bins of x [N, C, D, H, W] chosen so that the result has the extents `output_size`."""

    layer: 'Literal["adaptive_max_pool3d"]'
    name: NotRequired["str"]
    output_size: "int | Sequence[int]"
    return_indices: NotRequired["bool"]


class AlphaDropoutLayer(TypedDict):
    """x with a share p of its elements set to the limit of selu, scaled and shifted to keep mean 0 and variance 1."""

    layer: 'Literal["alpha_dropout"]'
    name: NotRequired["str"]
    p: NotRequired["float"]


class ApiKey(TypedDict):
    """An API key without its secret, which is not stored."""

    id: "str"
    object: 'Literal["key"]'
    tenant: "str"
    name: "str"
    scopes: 'list[Literal["read", "train", "admin"]]'
    created_at: "str"
    expires_at: "str | None"
    revoked_at: "str | None"
    used_at: "str | None"


class ApiKeyList(TypedDict):
    """A page of keys."""

    object: 'Literal["list"]'
    data: "list[ApiKey]"
    has_more: "bool"
    next_cursor: "str | None"


class AsgdOptimizer(TypedDict):
    """Averaged stochastic gradient descent (Polyak and Juditsky 1992), semantics of torch.optim.ASGD."""

    kind: 'Literal["asgd"]'
    groups: NotRequired["Sequence[GroupChoice] | None"]
    lr: NotRequired["float"]
    maximize: NotRequired["bool"]
    lambd: NotRequired["float"]
    alpha: NotRequired["float"]
    t0: NotRequired["float"]
    weight_decay: NotRequired["float"]


class AucMetric(TypedDict):
    """Area under the ROC curve: the probability that a row of the class has a higher score than another row, ties as"""

    kind: 'Literal["auc"]'
    name: NotRequired["str | None"]
    predictions: NotRequired["str | None"]
    targets: NotRequired["str | None"]
    form: NotRequired[
        'Literal["class_logits", "class_log_probabilities", "class_probabilities", "class_scores", "binary_logits", "binary_probabilities", "numbers"] | None'
    ]
    ignore_index: NotRequired["int | None"]
    average: NotRequired['Literal["macro", "weighted"]']


class AuditEntry(TypedDict):
    """A requested change and its outcome."""

    seq: "int"
    at: "str"
    key_id: "str | None"
    action: "str"
    object: "str"
    result: "str"
    request_id: "str"
    address: "str"
    previous: "str"
    hash: "str"


class AuditList(TypedDict):
    """A page of the trail."""

    object: 'Literal["list"]'
    data: "list[AuditEntry]"
    has_more: "bool"
    next_cursor: "str | None"


class AverageChoice(TypedDict):
    """An average of the weights over the steps, which validation and predictions use."""

    kind: NotRequired['Literal["ema", "swa"] | None']
    decay: NotRequired["float | None"]
    warm_up: NotRequired["bool | None"]
    every_steps: NotRequired["int | None"]
    every_epochs: NotRequired["int | None"]
    first_epoch: NotRequired["int | None"]


class AvgPool1dLayer(TypedDict):
    """Mean of each window of x [N, C, L], as in PyTorch; the stride is the kernel unless given."""

    layer: 'Literal["avg_pool1d"]'
    name: NotRequired["str"]
    kernel: "int | Sequence[int]"
    stride: NotRequired["int | Sequence[int] | None"]
    padding: NotRequired["int | Sequence[int]"]
    ceil_mode: NotRequired["bool"]
    count_include_pad: NotRequired["bool"]


class AvgPool2dLayer(TypedDict):
    """Mean of each window of x [N, C, H, W], as in PyTorch; the stride is the kernel unless given."""

    layer: 'Literal["avg_pool2d"]'
    name: NotRequired["str"]
    kernel: "int | Sequence[int]"
    stride: NotRequired["int | Sequence[int] | None"]
    padding: NotRequired["int | Sequence[int]"]
    ceil_mode: NotRequired["bool"]
    count_include_pad: NotRequired["bool"]
    divisor: NotRequired["int | None"]


class AvgPool3dLayer(TypedDict):
    """Mean of each window of x [N, C, D, H, W], as in PyTorch; the stride is the kernel unless given."""

    layer: 'Literal["avg_pool3d"]'
    name: NotRequired["str"]
    kernel: "int | Sequence[int]"
    stride: NotRequired["int | Sequence[int] | None"]
    padding: NotRequired["int | Sequence[int]"]
    ceil_mode: NotRequired["bool"]
    count_include_pad: NotRequired["bool"]
    divisor: NotRequired["int | None"]


class BackwardExpandAnswer(TypedDict):
    """The differentiated losses and parameters."""

    seq: "int | None"
    graph: "str"
    n_nodes: "int"
    n_leafs: "int"
    losses: "list[str]"
    implicit_loss: "bool"


class BackwardRequest(TypedDict):
    """Adds the vector-Jacobian product of a stored tape with the given cotangents to the gradients."""

    seq: NotRequired["int | None"]
    tape_id: "str"
    cotangents: "Mapping[str, Any]"


class BatchAnswer(TypedDict):
    """The results of the steps of a batch, in order."""

    data: "list[BatchedAnswer]"


class BatchNormLayer(TypedDict):
    """Normalise each channel (axis 1) over the batch, then scale and shift; keeps running statistics for evaluation."""

    layer: 'Literal["batch_norm"]'
    name: NotRequired["str"]
    eps: NotRequired["float"]
    momentum: NotRequired["float | None"]
    affine: NotRequired["bool"]
    track_running_stats: NotRequired["bool"]


class BatchRequest(TypedDict):
    """Runs several steps in order in one request."""

    stop_on_error: NotRequired["bool"]
    steps: "Sequence[BatchedStep]"


class BatchedAnswer(TypedDict):
    """The result of one step of a batch: an answer or an error."""

    seq: "int | None"
    status: "int"
    answer: NotRequired["dict[str, Any] | None"]
    error: NotRequired["StepProblem | None"]


class BatchedStep(TypedDict):
    """A step in a batch: its verb, and the fields of the request of that verb."""

    verb: "str"
    seq: NotRequired["int | None"]


class BceLossLoss(TypedDict):
    """Binary cross entropy of probabilities p against targets 0..1; the logarithms are limited to at least -100."""

    kind: 'Literal["bce_loss", "bce"]'
    target: NotRequired["Any"]
    weight: NotRequired["Any"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class BceWithLogitsLossLoss(TypedDict):
    """Binary cross entropy of sigmoid(logits) against targets 0..1, finite for any finite logits."""

    kind: 'Literal["bce_with_logits_loss", "bce_with_logits", "binary_cross_entropy_with_logits"]'
    target: NotRequired["Any"]
    pos_weight: NotRequired["Any"]
    weight: NotRequired["Any"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class BilinearLayer(TypedDict):
    """x weight[k] other + bias[k] for each of the `units` k, with weight [units, in, in of other]."""

    layer: 'Literal["bilinear"]'
    name: NotRequired["str"]
    units: "int"
    other: NotRequired["str | None"]
    bias: NotRequired["bool"]


class Blas(TypedDict):
    """The linear algebra library that NumPy uses."""

    library: "str"
    core_type: "str"
    threads: "str"


class BooleanTransform(TypedDict):
    """Truth values as 1 and 0: booleans, the numbers 1 and 0, or words in any case."""

    kind: 'Literal["boolean"]'
    column: NotRequired["str"]
    columns: NotRequired["Sequence[str]"]
    label: NotRequired["str"]
    labels: NotRequired["Sequence[str]"]
    true: NotRequired["Sequence[str]"]
    false: NotRequired["Sequence[str]"]
    missing: NotRequired['Literal["error", "most_frequent", "half"]']
    indicator: NotRequired["bool"]


class BudgetChoice(TypedDict):
    """Limits of a fit: it succeeds after the step that exceeds one of them."""

    seconds: NotRequired["float | None"]
    steps: NotRequired["int | None"]


class BuildBackwardExpandRequest(TypedDict):
    """Appends the gradients of the losses (ggml_build_backward_expand)."""

    seq: NotRequired["int | None"]
    graph: NotRequired["str"]
    accumulators: NotRequired["Mapping[str, Any] | Sequence[Any] | None"]
    accumulate: NotRequired["bool"]


class BuildForwardExpandRequest(TypedDict):
    """Appends values and everything that they depend on (ggml_build_forward_expand)."""

    seq: NotRequired["int | None"]
    graph: NotRequired["str"]
    outputs: "Sequence[str]"
    order: NotRequired['Literal["left_to_right", "right_to_left"] | None']
    compute: NotRequired["bool"]


class BuildForwardSelectRequest(TypedDict):
    """Appends several branches of which one is computed (ggml_build_forward_select)."""

    seq: NotRequired["int | None"]
    graph: NotRequired["str"]
    branches: "Sequence[str]"
    index: "int"


class Bundle(TypedDict):
    """Everything that determines the result of a fit, and digests of that result."""

    object: 'Literal["bundle"]'
    format: 'Literal["adjoint-bundle/1"]'
    fit: "BundleFit"
    server: "BundleServer"
    graph: "BundleGraph"
    datasets: "Sequence[BundleDataset]"
    validation_datasets: "Sequence[BundleDataset]"
    request: "FitRequest"
    seed: "int"
    runtime: "BundleRuntime | None"
    bit_exact: "bool"
    reopened_at: "int | None"
    origin: "BundleOrigin | None"
    attempts: "Sequence[BundleAttempt]"
    result: "BundleResult"


class BundleAttempt(TypedDict):
    """A process of the fit, and how it ended."""

    number: "int"
    outcome: "str | None"


class BundleCheckpoint(TypedDict):
    """The last checkpoint; its file may differ in fields that are not compared, such as times."""

    id: "str"
    digest: "str"


class BundleColumn(TypedDict):
    """A column of a dataset; shape does not include the rows, digest is that of its .npy file."""

    name: "str"
    dtype: "str"
    shape: "Sequence[int]"
    digest: "str"
    classes: NotRequired["Sequence[str] | None"]


class BundleDataset(TypedDict):
    """A dataset by its digests; the rows are not in the bundle."""

    id: "str"
    name: "str"
    digest: "str"
    rows: "int"
    columns: "Sequence[BundleColumn]"


class BundleFit(TypedDict):
    """The fit that the bundle describes."""

    id: "str"
    labels: "Mapping[str, str]"
    created_at: "str"
    started_at: "str | None"
    finished_at: "str | None"


class BundleGraph(TypedDict):
    """The graph with its definition."""

    id: "str"
    name: "str"
    digest: "str"
    definition: "GraphDefinition"


class BundleMetrics(TypedDict):
    """The number of metric rows, and the digest of the rows as lines of JSON."""

    rows: "int"
    digest: "str"


class BundleOrigin(TypedDict):
    """The checkpoint that the fit was forked from."""

    checkpoint: "str"
    fit: "str | None"
    step: "int"
    digest: "str"
    restore: 'Literal["all", "parameters"]'
    state: "BundleState | None"


class BundleResult(TypedDict):
    """The result of the fit; its digests are those of its last checkpoint."""

    parameters: "str"
    buffers: "str"
    optimizer: "str"
    state: 'Literal["succeeded"]'
    stop_reason: "str | None"
    total_steps: "int"
    epoch: "int"
    steps: "int"
    metrics: "BundleMetrics"
    checkpoint: "BundleCheckpoint"


class BundleRuntime(TypedDict):
    """Executor, threads and numerics of the fit."""

    executor: "str"
    threads: "int"
    fingerprint: "Mapping[str, str]"


class BundleServer(TypedDict):
    """The server that wrote the bundle."""

    version: "str"
    python: "str"
    numpy: "str"


class BundleState(TypedDict):
    """The content of a checkpoint, a digest each over names, types, shapes and bytes."""

    parameters: "str"
    buffers: "str"
    optimizer: "str"


class Calibration(TypedDict):
    """Predicted probability of the predicted class, compared with its accuracy."""

    bins: "list[CalibrationBin]"
    expected_error: "float"
    maximum_error: "float"
    brier: "float | None"


class CalibrationBin(TypedDict):
    """Rows whose predicted class has a probability from `lower` to `upper`; means are null where there are none."""

    lower: "float"
    upper: "float"
    rows: "int"
    confidence: "float | None"
    accuracy: "float | None"


class CatalogueAttribute(TypedDict):
    """An option of an entry."""

    name: "str"
    type: "str"
    required: "bool"
    default: NotRequired["Any"]
    range: NotRequired["str | None"]
    attrs: NotRequired["list[CatalogueAttribute] | None"]
    kinds: NotRequired["list[CatalogueEntry] | None"]


class CatalogueEntry(TypedDict):
    """An optimizer, schedule, loss, layer, initializer or metric."""

    kind: "str"
    doc: "str"
    attrs: "list[CatalogueAttribute]"


class CatalogueList(TypedDict):
    """Every entry of a kind."""

    object: 'Literal["list"]'
    data: "list[CatalogueEntry]"
    has_more: "bool"
    next_cursor: NotRequired["None"]


class CategoricalCrossEntropyLoss(TypedDict):
    """-sum(target log p) over the classes, axis 1 (or the only axis), p being clipped to eps..1-eps, as in Keras."""

    kind: 'Literal["categorical_cross_entropy", "categorical_crossentropy"]'
    target: NotRequired["Any"]
    eps: NotRequired["float"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class CategoryTransform(TypedDict):
    """Texts or whole numbers as categories: an index for an embedding, or one-hot."""

    kind: 'Literal["category"]'
    column: NotRequired["str"]
    columns: NotRequired["Sequence[str]"]
    label: NotRequired["str"]
    labels: NotRequired["Sequence[str]"]
    encode: NotRequired['Literal["one_hot", "index"]']
    min_frequency: NotRequired["int"]
    max_levels: NotRequired["int"]
    unknown: NotRequired['Literal["level", "error"]']
    missing: NotRequired['Literal["level", "most_frequent", "error"]']


class CeluLayer(TypedDict):
    """x where x > 0, else alpha (exp(x / alpha) - 1), whose gradient is continuous (Barron 2017)."""

    layer: 'Literal["celu"]'
    name: NotRequired["str"]
    alpha: NotRequired["float"]


class ChainOptimizer(TypedDict):
    """Transforms one after another, semantics of optax.chain."""

    kind: 'Literal["chain"]'
    groups: NotRequired["Sequence[GroupChoice] | None"]
    lr: NotRequired["float"]
    maximize: NotRequired["bool"]
    transforms: NotRequired["Sequence[Mapping[str, Any]]"]


class ChainedSchedule(TypedDict):
    """All schedules applied in turn, as torch's ChainedScheduler: the base of each is the rate of the one before."""

    kind: 'Literal["chained"]'
    per: NotRequired['Literal["epoch", "step"]']
    schedules: "Sequence[ScheduleChoice]"


class ChannelShuffleLayer(TypedDict):
    """x [N, C, *spatial] with the channels of `groups` groups interleaved (Zhang et al. 2018)."""

    layer: 'Literal["channel_shuffle"]'
    name: NotRequired["str"]
    groups: "int"


class CheckedGradient(TypedDict):
    """The gradient by one parameter or input against central differences; a number that is not finite is null."""

    ok: "bool"
    shape: "list[int]"
    checked: "int"
    elements: "list[int] | None"
    largest_absolute_error: "float | None"
    largest_relative_error: "float | None"
    worst: "WorstElement | None"
    nonfinite: "dict[str, str]"


class Checkpoint(TypedDict):
    """A file with everything that a fit or a session needs to resume."""

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
    created_at: "str"
    links: "CheckpointLinks"


class CheckpointChanges(TypedDict):
    """Changes to a checkpoint."""

    pinned: "bool"


class CheckpointChoice(TypedDict):
    """When to write checkpoints besides the last one, and how many to keep."""

    every_steps: NotRequired["int | None"]
    every_epochs: NotRequired["int | None"]
    keep_last: NotRequired["int | None"]
    keep_best: NotRequired["bool | None"]


class CheckpointLinks(TypedDict):
    """Links of a checkpoint."""

    self: "str"
    content: "str"
    parameters: "str"


class CheckpointList(TypedDict):
    """A page of checkpoints."""

    object: 'Literal["list"]'
    data: "list[Checkpoint]"
    has_more: "bool"
    next_cursor: "str | None"


class CircularPad1dLayer(TypedDict):
    """Surround the 1 spatial axis of [batch, channels, ...] with its own elements from the other end."""

    layer: 'Literal["circular_pad1d"]'
    name: NotRequired["str"]
    padding: "int | Sequence[int]"


class CircularPad2dLayer(TypedDict):
    """Surround the 2 spatial axes of [batch, channels, ...] with its own elements from the other end."""

    layer: 'Literal["circular_pad2d"]'
    name: NotRequired["str"]
    padding: "int | Sequence[int]"


class CircularPad3dLayer(TypedDict):
    """Surround the 3 spatial axes of [batch, channels, ...] with its own elements from the other end."""

    layer: 'Literal["circular_pad3d"]'
    name: NotRequired["str"]
    padding: "int | Sequence[int]"


class ClassNamesChoice(TypedDict):
    """The classes of an input that takes a text column; a class is fed to the graph as its index in `names`."""

    names: NotRequired["Sequence[str] | None"]
    unknown: NotRequired["str | None"]


class ClassScores(TypedDict):
    """How well one class is predicted; a share is null where there are no rows."""

    name: "str"
    support: "int"
    predicted: "int"
    precision: "float | None"
    recall: "float | None"
    f1: "float | None"


class ClassificationReport(TypedDict):
    """How well classes are predicted."""

    classes: "list[str]"
    rows: "int"
    accuracy: "float | None"
    confusion_matrix: "list[list[int]] | None"
    per_class: "list[ClassScores]"
    calibration: "Calibration | None"
    roc: "list[RocCurve] | None"


class ClipChoice(TypedDict):
    """Limits on gradients, applied in this order: adaptive, per_parameter, norm, value."""

    norm: NotRequired["float | None"]
    p: NotRequired['float | Literal["inf"] | None']
    per_parameter: NotRequired["float | None"]
    value: NotRequired["float | None"]
    adaptive: NotRequired["AdaptiveClipChoice | None"]
    nonfinite: NotRequired['Literal["apply", "error", "skip"] | None']


class ColumnCorrelation(TypedDict):
    """How a column goes with the target."""

    measure: 'Literal["pearson", "correlation_ratio", "cramers_v"]'
    value: "float"


class ColumnProfile(TypedDict):
    """The values of a column."""

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


class ColumnsChoice(TypedDict):
    """Columns of the dataset without a kind: options of a transform decide it; without any, numbers are taken as they are and texts one-hot."""

    column: NotRequired["str"]
    columns: NotRequired["Sequence[str]"]
    label: NotRequired["str"]
    labels: NotRequired["Sequence[str]"]
    impute: NotRequired['Literal["mean", "median", "most_frequent", "constant"] | None']
    value: NotRequired["float"]
    indicator: NotRequired["bool"]
    scale: NotRequired['Literal["none", "standard", "minmax", "robust", "log", "quantile"]']
    encode: NotRequired['Literal["one_hot", "index"]']
    min_frequency: NotRequired["int"]
    max_levels: NotRequired["int"]
    unknown: NotRequired['Literal["level", "error"]']
    missing: NotRequired[
        'Literal["level", "most_frequent", "error"] | Literal["mean", "error"] | Literal["error", "most_frequent", "half"]'
    ]
    parts: NotRequired[
        'Sequence[Literal["year", "month", "day", "weekday", "yearday", "hour", "minute", "second", "timestamp"]]'
    ]
    cycles: NotRequired['Sequence[Literal["month", "day", "weekday", "yearday", "hour", "minute"]]']
    order: NotRequired['Literal["ymd", "dmy", "mdy"]']
    true: NotRequired["Sequence[str]"]
    false: NotRequired["Sequence[str]"]
    units: NotRequired['Literal["characters", "bytes", "words"]']
    length: NotRequired["int"]
    vocabulary: NotRequired["Sequence[str] | None"]
    max_vocabulary: NotRequired["int"]
    output: NotRequired['Literal["ids", "lengths"]']


class CompiledKernels(TypedDict):
    """How many kernels of how many are compiled."""

    count: "int"
    total: "int"


class ComputePlanAnswer(TypedDict):
    """How a graph would be computed (ggml_cplan)."""

    seq: "int | None"
    work_size: "int"
    n_threads: "int"
    threadpool: "bool"
    abort_callback: "bool"
    use_ref: "bool"
    nbytes: "int"
    warnings: "list[str]"


class ComputeRequest(TypedDict):
    """One evaluation: tensors for the inputs; parameters left out are initialised from the seed."""

    inputs: NotRequired["Mapping[str, Any] | None"]
    parameters: NotRequired["Mapping[str, Any] | None"]
    buffers: NotRequired["Mapping[str, Any] | None"]
    seed: NotRequired["int | None"]
    want: NotRequired[
        'Sequence[Literal["outputs", "gradients"] | GradientWant | JacobianWant | HessianWant | OrderWant | HvpWant | VhpWant | JvpWant] | None'
    ]
    training: NotRequired["bool | None"]


class ComputeResult(TypedDict):
    """The result of an evaluation; a loss that is not finite is null, and named in `nonfinite`."""

    outputs: NotRequired["dict[str, Tensor] | None"]
    losses: "dict[str, float | None]"
    nonfinite: "dict[str, str]"
    gradients: NotRequired["dict[str, Tensor | None] | None"]
    derivatives: NotRequired["list[Derivative] | None"]


class ConditionChoice(TypedDict):
    """What a column has to be. A missing value meets `missing` alone."""

    column: "str"
    op: 'Literal["==", "!=", "<", "<=", ">", ">=", "in", "not_in", "missing", "present"]'
    value: NotRequired["bool | int | float | str | Sequence[bool | int | float | str] | None"]


class ConfusionMatrixMetric(TypedDict):
    """Number of rows of class i that are predicted as class j, as confusion_matrix/i/j; at most 64 classes."""

    kind: 'Literal["confusion_matrix"]'
    name: NotRequired["str | None"]
    predictions: NotRequired["str | None"]
    targets: NotRequired["str | None"]
    form: NotRequired[
        'Literal["class_logits", "class_log_probabilities", "class_probabilities", "class_scores", "binary_logits", "binary_probabilities", "numbers"] | None'
    ]
    ignore_index: NotRequired["int | None"]
    threshold: NotRequired["float"]
    normalize: NotRequired['Literal["targets", "predictions", "all"] | None']


class ConstantFactorSchedule(TypedDict):
    """base * factor before total_iters, base afterwards, as torch's ConstantLR."""

    kind: 'Literal["constant_factor"]'
    per: NotRequired['Literal["epoch", "step"]']
    factor: NotRequired["float"]
    total_iters: NotRequired["int"]


class ConstantInitializer(TypedDict):
    """All `value`."""

    kind: 'Literal["constant"]'
    value: "float"


class ConstantPad1dLayer(TypedDict):
    """Surround the 1 spatial axis of [batch, channels, ...] with `value`."""

    layer: 'Literal["constant_pad1d"]'
    name: NotRequired["str"]
    padding: "int | Sequence[int]"
    value: "float"


class ConstantPad2dLayer(TypedDict):
    """Surround the 2 spatial axes of [batch, channels, ...] with `value`."""

    layer: 'Literal["constant_pad2d"]'
    name: NotRequired["str"]
    padding: "int | Sequence[int]"
    value: "float"


class ConstantPad3dLayer(TypedDict):
    """Surround the 3 spatial axes of [batch, channels, ...] with `value`."""

    layer: 'Literal["constant_pad3d"]'
    name: NotRequired["str"]
    padding: "int | Sequence[int]"
    value: "float"


class ConstantSchedule(TypedDict):
    """The initial rate throughout."""

    kind: 'Literal["constant"]'
    per: NotRequired['Literal["epoch", "step"]']


class Conv1dLayer(TypedDict):
    """Convolution over 1 spatial axis of [batch, channels, ...], with weight [channels, in / groups, kernel...]; starts as torch.nn.Conv1d."""

    layer: 'Literal["conv1d"]'
    name: NotRequired["str"]
    channels: "int"
    kernel: "int | Sequence[int]"
    stride: NotRequired["int | Sequence[int]"]
    padding: NotRequired['int | Sequence[int] | Literal["same", "valid"]']
    dilation: NotRequired["int | Sequence[int]"]
    groups: NotRequired["int"]
    bias: NotRequired["bool"]
    padding_mode: NotRequired['Literal["zeros", "reflect", "replicate", "circular"]']
    activation: NotRequired[
        'Literal["relu", "sigmoid", "tanh", "gelu", "silu", "softplus", "softmax", "log_softmax", "leaky_relu", "elu", "relu6", "celu", "selu", "mish", "softmin", "softsign", "logsigmoid", "hardsigmoid", "hardswish", "hardtanh", "hardshrink", "softshrink", "tanhshrink", "rrelu", "none"]'
    ]


class Conv2dLayer(TypedDict):
    """Convolution over 2 spatial axes of [batch, channels, ...], with weight [channels, in / groups, kernel...]; starts as torch.nn.Conv2d."""

    layer: 'Literal["conv2d"]'
    name: NotRequired["str"]
    channels: "int"
    kernel: "int | Sequence[int]"
    stride: NotRequired["int | Sequence[int]"]
    padding: NotRequired['int | Sequence[int] | Literal["same", "valid"]']
    dilation: NotRequired["int | Sequence[int]"]
    groups: NotRequired["int"]
    bias: NotRequired["bool"]
    padding_mode: NotRequired['Literal["zeros", "reflect", "replicate", "circular"]']
    activation: NotRequired[
        'Literal["relu", "sigmoid", "tanh", "gelu", "silu", "softplus", "softmax", "log_softmax", "leaky_relu", "elu", "relu6", "celu", "selu", "mish", "softmin", "softsign", "logsigmoid", "hardsigmoid", "hardswish", "hardtanh", "hardshrink", "softshrink", "tanhshrink", "rrelu", "none"]'
    ]


class Conv3dLayer(TypedDict):
    """Convolution over 3 spatial axes of [batch, channels, ...], with weight [channels, in / groups, kernel...]; starts as torch.nn.Conv3d."""

    layer: 'Literal["conv3d"]'
    name: NotRequired["str"]
    channels: "int"
    kernel: "int | Sequence[int]"
    stride: NotRequired["int | Sequence[int]"]
    padding: NotRequired['int | Sequence[int] | Literal["same", "valid"]']
    dilation: NotRequired["int | Sequence[int]"]
    groups: NotRequired["int"]
    bias: NotRequired["bool"]
    padding_mode: NotRequired['Literal["zeros", "reflect", "replicate", "circular"]']
    activation: NotRequired[
        'Literal["relu", "sigmoid", "tanh", "gelu", "silu", "softplus", "softmax", "log_softmax", "leaky_relu", "elu", "relu6", "celu", "selu", "mish", "softmin", "softsign", "logsigmoid", "hardsigmoid", "hardswish", "hardtanh", "hardshrink", "softshrink", "tanhshrink", "rrelu", "none"]'
    ]


class ConvTranspose1dLayer(TypedDict):
    """Transposed convolution over 1 spatial axis of [batch, channels, ...], with weight [in, channels / groups, kernel...]; starts as torch.nn.ConvTranspose1d."""

    layer: 'Literal["conv_transpose1d"]'
    name: NotRequired["str"]
    channels: "int"
    kernel: "int | Sequence[int]"
    stride: NotRequired["int | Sequence[int]"]
    padding: NotRequired["int | Sequence[int]"]
    output_padding: NotRequired["int | Sequence[int]"]
    dilation: NotRequired["int | Sequence[int]"]
    groups: NotRequired["int"]
    bias: NotRequired["bool"]
    activation: NotRequired[
        'Literal["relu", "sigmoid", "tanh", "gelu", "silu", "softplus", "softmax", "log_softmax", "leaky_relu", "elu", "relu6", "celu", "selu", "mish", "softmin", "softsign", "logsigmoid", "hardsigmoid", "hardswish", "hardtanh", "hardshrink", "softshrink", "tanhshrink", "rrelu", "none"]'
    ]


class ConvTranspose2dLayer(TypedDict):
    """Transposed convolution over 2 spatial axes of [batch, channels, ...], with weight [in, channels / groups, kernel...]; starts as torch.nn.ConvTranspose2d."""

    layer: 'Literal["conv_transpose2d"]'
    name: NotRequired["str"]
    channels: "int"
    kernel: "int | Sequence[int]"
    stride: NotRequired["int | Sequence[int]"]
    padding: NotRequired["int | Sequence[int]"]
    output_padding: NotRequired["int | Sequence[int]"]
    dilation: NotRequired["int | Sequence[int]"]
    groups: NotRequired["int"]
    bias: NotRequired["bool"]
    activation: NotRequired[
        'Literal["relu", "sigmoid", "tanh", "gelu", "silu", "softplus", "softmax", "log_softmax", "leaky_relu", "elu", "relu6", "celu", "selu", "mish", "softmin", "softsign", "logsigmoid", "hardsigmoid", "hardswish", "hardtanh", "hardshrink", "softshrink", "tanhshrink", "rrelu", "none"]'
    ]


class ConvTranspose3dLayer(TypedDict):
    """Transposed convolution over 3 spatial axes of [batch, channels, ...], with weight [in, channels / groups, kernel...]; starts as torch.nn.ConvTranspose3d."""

    layer: 'Literal["conv_transpose3d"]'
    name: NotRequired["str"]
    channels: "int"
    kernel: "int | Sequence[int]"
    stride: NotRequired["int | Sequence[int]"]
    padding: NotRequired["int | Sequence[int]"]
    output_padding: NotRequired["int | Sequence[int]"]
    dilation: NotRequired["int | Sequence[int]"]
    groups: NotRequired["int"]
    bias: NotRequired["bool"]
    activation: NotRequired[
        'Literal["relu", "sigmoid", "tanh", "gelu", "silu", "softplus", "softmax", "log_softmax", "leaky_relu", "elu", "relu6", "celu", "selu", "mish", "softmin", "softsign", "logsigmoid", "hardsigmoid", "hardswish", "hardtanh", "hardshrink", "softshrink", "tanhshrink", "rrelu", "none"]'
    ]


class Cores(TypedDict):
    """The cores that fits can work on."""

    usable: "int"
    cpus: "list[int]"
    quota: "float | None"
    threads_per_fit: "int"


class CosineEmbeddingLossLoss(TypedDict):
    """1 - cos(a, b) where the target is 1 and max(0, cos(a, b) - margin) where it is -1; the vectors are rows."""

    kind: 'Literal["cosine_embedding_loss"]'
    other: NotRequired["Any"]
    target: NotRequired["Any"]
    margin: NotRequired["float"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    split: NotRequired["int | None"]
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class CosineSchedule(TypedDict):
    """eta_min + (base - eta_min) * (1 + cos(pi * t / t_max)) / 2, as torch's CosineAnnealingLR (SGDR 2017)."""

    kind: 'Literal["cosine"]'
    per: NotRequired['Literal["epoch", "step"]']
    t_max: "int"
    eta_min: NotRequired["float"]
    restart: NotRequired["bool"]
    compat: NotRequired['Literal["torch", "ggmlR"]']


class CosineWarmRestartsSchedule(TypedDict):
    """A cosine from base to eta_min with restarts, as torch's CosineAnnealingWarmRestarts (SGDR 2017)."""

    kind: 'Literal["cosine_warm_restarts"]'
    per: NotRequired['Literal["epoch", "step"]']
    t_0: "int"
    t_mult: NotRequired["int"]
    eta_min: NotRequired["float"]


class CrossEntropyLoss(TypedDict):
    """Cross entropy of softmax(logits) against classes (integers) or probabilities (floats of the logits' shape)."""

    kind: 'Literal["cross_entropy"]'
    target: NotRequired["Any"]
    weight: NotRequired["Any"]
    ignore_index: NotRequired["int"]
    label_smoothing: NotRequired["float"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class CtcLossLoss(TypedDict):
    """-log of the likelihood of labels, summed over all alignments, for log_probs [steps, rows, classes]."""

    kind: 'Literal["ctc_loss", "ctc"]'
    target: NotRequired["Any"]
    input_lengths: NotRequired["Any"]
    target_lengths: NotRequired["Any"]
    blank: NotRequired["int"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    zero_infinity: NotRequired["bool"]
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class CyclicSchedule(TypedDict):
    """Linearly up from base_lr to max_lr and down again, repeatedly, as torch's CyclicLR (Smith 2017)."""

    kind: 'Literal["cyclic"]'
    per: NotRequired['Literal["epoch", "step"]']
    max_lr: "float"
    base_lr: NotRequired["float | None"]
    step_size_up: NotRequired["int"]
    step_size_down: NotRequired["int | None"]
    mode: NotRequired['Literal["triangular", "triangular2", "exp_range"]']
    gamma: NotRequired["float"]
    cycle_momentum: NotRequired["bool"]
    base_momentum: NotRequired["float"]
    max_momentum: NotRequired["float"]


class Dataset(TypedDict):
    """A stored dataset."""

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
    created_at: "str"


class DatasetColumn(TypedDict):
    """A column; shape does not include the rows."""

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


class DatasetFinding(TypedDict):
    """Something that deserves a look before training."""

    code: "str"
    column: "str | None"
    detail: "str"


class DatasetList(TypedDict):
    """A page of datasets."""

    object: 'Literal["list"]'
    data: "list[Dataset]"
    has_more: "bool"
    next_cursor: "str | None"
    findings: "list[ProblemError]"


class DatasetProfile(TypedDict):
    """What the rows of a dataset look like."""

    object: 'Literal["dataset_profile"]'
    dataset: "str"
    rows: "int"
    rows_read: "int"
    duplicates: "int | None"
    columns: "list[ColumnProfile]"
    target: "TargetProfile | None"
    findings: "list[DatasetFinding]"


class DatasetRows(TypedDict):
    """Rows of a dataset, each an object of its columns."""

    object: 'Literal["list"]'
    data: "list[dict[str, Any]]"
    has_more: "bool"
    offset: "int"
    total: "int"


class DatasetSplit(TypedDict):
    """The two parts of a dataset."""

    object: 'Literal["dataset_split"]'
    id: "str"
    train: "Dataset"
    test: "Dataset"


class DateTransform(TypedDict):
    """Dates and times as parts and cycles, one value a part and two (sine and cosine) a cycle."""

    kind: 'Literal["date"]'
    column: NotRequired["str"]
    columns: NotRequired["Sequence[str]"]
    label: NotRequired["str"]
    labels: NotRequired["Sequence[str]"]
    parts: NotRequired[
        'Sequence[Literal["year", "month", "day", "weekday", "yearday", "hour", "minute", "second", "timestamp"]]'
    ]
    cycles: NotRequired['Sequence[Literal["month", "day", "weekday", "yearday", "hour", "minute"]]']
    order: NotRequired['Literal["ymd", "dmy", "mdy"]']
    missing: NotRequired['Literal["mean", "error"]']
    indicator: NotRequired["bool"]


class Derivative(TypedDict):
    """One derivative: tensors by parameter or input, those of a jvp by value, a derivative under all names of by."""

    want: "int"
    kind: 'Literal["gradient_of", "jacobian", "hessian", "derivative", "hvp", "vhp", "jvp"]'
    of: "list[str]"
    by: "list[str]"
    tensors: "dict[str, Tensor]"


class DerivativeSpec(TypedDict):
    """Of which value, by one parameter or input after the other."""

    of: NotRequired["str | None"]
    by: "Sequence[str]"


class DiracInitializer(TypedDict):
    """The weight [out, in, window...] of an identity convolution: 1 at the centre of window (k, k), else 0."""

    kind: 'Literal["dirac"]'
    groups: NotRequired["int"]


class DivergenceChoice(TypedDict):
    """Action when a loss or a gradient is not finite."""

    action: NotRequired['Literal["continue", "stop", "skip", "roll_back"] | None']
    factor: NotRequired["float | None"]
    limit: NotRequired["int | None"]


class Dropout1dLayer(TypedDict):
    """x [rows, channels, length] (or without rows) with a share p of its channels set to 0, the others over 1 - p."""

    layer: 'Literal["dropout1d"]'
    name: NotRequired["str"]
    p: NotRequired["float"]


class Dropout2dLayer(TypedDict):
    """x [rows, channels, height, width] (or without rows) with a share p of its channels 0, the others over 1 - p."""

    layer: 'Literal["dropout2d"]'
    name: NotRequired["str"]
    p: NotRequired["float"]


class Dropout3dLayer(TypedDict):
    """x [rows, channels, depth, height, width] (or without rows) with a share p of its channels 0."""

    layer: 'Literal["dropout3d"]'
    name: NotRequired["str"]
    p: NotRequired["float"]


class DropoutLayer(TypedDict):
    """Zero elements with probability p in training and scale the others by 1 / (1 - p); the identity in evaluation."""

    layer: 'Literal["dropout"]'
    name: NotRequired["str"]
    p: NotRequired["float"]


class EarlyStoppingChoice(TypedDict):
    """Ends a fit whose metric no longer improves."""

    monitor: NotRequired["str | None"]
    mode: NotRequired['Literal["min", "max"] | None']
    patience: NotRequired["int | None"]
    min_delta: NotRequired["float | None"]
    restore_best: NotRequired["bool | None"]
    first_epoch: NotRequired["int | None"]


class ElementAnswer(TypedDict):
    """One element of a tensor."""

    seq: "int | None"
    name: "str"
    index: "int | list[int]"
    value: "float | int | bool | None"


class ElementChoice(TypedDict):
    """One element of a tensor."""

    tensor: "str"
    index: "int | Sequence[int]"
    value: "float"


class EluLayer(TypedDict):
    """x where x > 0, else alpha (exp(x) - 1); the gradient at 0 is alpha."""

    layer: 'Literal["elu"]'
    name: NotRequired["str"]
    alpha: NotRequired["float"]


class EmbeddingBagLayer(TypedDict):
    """Sum, mean or largest elements of the rows of a table [rows, units] looked up by integers [batch, n]: [batch,"""

    layer: 'Literal["embedding_bag"]'
    name: NotRequired["str"]
    rows: "int"
    units: "int"
    mode: NotRequired['Literal["sum", "mean", "max"]']
    padding_idx: NotRequired["int | None"]
    max_norm: NotRequired["float | None"]
    norm_type: NotRequired["float"]
    weights: NotRequired["str | None"]


class EmbeddingLayer(TypedDict):
    """Rows of a table [rows, units] looked up by integer inputs; initialised standard normal."""

    layer: 'Literal["embedding"]'
    name: NotRequired["str"]
    rows: "int"
    units: "int"
    padding_idx: NotRequired["int | None"]
    max_norm: NotRequired["float | None"]
    norm_type: NotRequired["float"]
    scale_grad_by_freq: NotRequired["bool"]


class ErrorQuantile(TypedDict):
    """An error that a share of the errors do not exceed."""

    share: "float"
    error: "float | None"


class EvaluateRequest(TypedDict):
    """Rows to evaluate a checkpoint on, and options of the report."""

    start: NotRequired["int | None"]
    stop: NotRequired["int | None"]
    threshold: NotRequired["float | None"]
    batch_size: NotRequired["int | None"]
    bins: NotRequired["int | None"]
    points: NotRequired["int | None"]
    dataset: "str | Sequence[str] | InlineDataset"
    feeds: NotRequired["Mapping[str, str] | None"]
    metrics: NotRequired["Sequence[MetricKind | MetricChoice] | None"]


class Evaluation(TypedDict):
    """The loss, the metrics and a report of a model on rows, in evaluation mode."""

    object: 'Literal["evaluation"]'
    checkpoint: "str"
    dataset: "str | list[str]"
    rows: "int"
    metrics: "dict[str, float | None]"
    nonfinite: "dict[str, str]"
    classification: "ClassificationReport | None"
    regression: "RegressionReport | None"


class ExponentialSchedule(TypedDict):
    """base * gamma ** t, as torch's ExponentialLR."""

    kind: 'Literal["exponential"]'
    per: NotRequired['Literal["epoch", "step"]']
    gamma: "float"


class EyeInitializer(TypedDict):
    """The identity matrix."""

    kind: 'Literal["eye"]'


class F1Metric(TypedDict):
    """Harmonic mean of precision and recall, 0 where a class is neither predicted nor the target."""

    kind: 'Literal["f1"]'
    name: NotRequired["str | None"]
    predictions: NotRequired["str | None"]
    targets: NotRequired["str | None"]
    form: NotRequired[
        'Literal["class_logits", "class_log_probabilities", "class_probabilities", "class_scores", "binary_logits", "binary_probabilities", "numbers"] | None'
    ]
    ignore_index: NotRequired["int | None"]
    threshold: NotRequired["float"]
    average: NotRequired['Literal["binary", "macro", "micro", "weighted"] | None']
    per_class: NotRequired["bool"]


class FeatureAlphaDropoutLayer(TypedDict):
    """x [rows, channels, ...] with a share p of its channels set to the limit of selu, scaled and shifted."""

    layer: 'Literal["feature_alpha_dropout"]'
    name: NotRequired["str"]
    p: NotRequired["float"]


class FeatureDropoutLayer(TypedDict):
    """x [rows, channels, ...] with a share p of its channels set to 0 and the others divided by 1 - p."""

    layer: 'Literal["feature_dropout"]'
    name: NotRequired["str"]
    p: NotRequired["float"]


class Fit(TypedDict):
    """A fit: its request, progress and result."""

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
    deadline_at: "str | None"
    reopened_at: "int | None"
    created_at: "str"
    started_at: "str | None"
    finished_at: "str | None"
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


class FitAttempt(TypedDict):
    """A process of the fit."""

    number: "int"
    started_at: "str"
    ended_at: "str | None"
    outcome: "str | None"


class FitChanges(TypedDict):
    """Changes to a fit, merged into its request field by field, as RFC 7396 has it: null takes back to the default."""

    feeds: NotRequired["Any"]
    columns: NotRequired["Any"]
    classes: NotRequired["Any"]
    preset: NotRequired["Any"]
    validation: NotRequired["Any"]
    optimizer: NotRequired["Any"]
    schedule: NotRequired["Any"]
    clip: NotRequired["Any"]
    noise: NotRequired["Any"]
    epochs: NotRequired["Any"]
    steps: NotRequired["Any"]
    batch_size: NotRequired["Any"]
    micro_batch_size: NotRequired["Any"]
    shuffle: NotRequired["Any"]
    sampling: NotRequired["Any"]
    windows: NotRequired["Any"]
    normalize: NotRequired["Any"]
    class_weights: NotRequired["Any"]
    drop_last: NotRequired["Any"]
    prefetch: NotRequired["Any"]
    seed: NotRequired["Any"]
    precision: NotRequired["Any"]
    loss_scaling: NotRequired["Any"]
    recompute: NotRequired["Any"]
    memory_budget: NotRequired["Any"]
    activations: NotRequired["Any"]
    average: NotRequired["Any"]
    freeze: NotRequired["Any"]
    metrics: NotRequired["Any"]
    early_stopping: NotRequired["Any"]
    divergence: NotRequired["Any"]
    budget: NotRequired["Any"]
    checkpoint: NotRequired["Any"]
    record: NotRequired["Any"]
    name: NotRequired["str | None"]
    labels: NotRequired["Mapping[str, str | None] | None"]
    resources: NotRequired["ResourceChanges | None"]


class FitError(TypedDict):
    """Why a fit failed."""

    code: "str"
    detail: "str"


class FitExtension(TypedDict):
    """How far to extend a fit: either epochs or steps."""

    epochs: NotRequired["int | None"]
    steps: NotRequired["int | None"]


class FitLinks(TypedDict):
    """Links of a fit."""

    self: "str"
    metrics: "str"
    events: "str"
    checkpoints: "str"
    gradients: "str"
    children: "str"
    origin: NotRequired["str | None"]
    variants: NotRequired["str | None"]
    parent: NotRequired["str | None"]
    graph: "str"
    dataset: "str"


class FitList(TypedDict):
    """A page of fits."""

    object: 'Literal["list"]'
    data: "list[Fit]"
    has_more: "bool"
    next_cursor: "str | None"
    findings: "list[ProblemError]"


class FitOrigin(TypedDict):
    """The checkpoint that a fit was forked from."""

    checkpoint: "str"
    fit: "str | None"
    step: "int"
    digest: "str"
    restore: 'Literal["all", "parameters"]'
    copy: "str"


class FitReplay(TypedDict):
    """The fit that this one replays."""

    of: "str"
    same_numerics: "bool"
    numerics_differences: "list[str]"
    expected: "dict[str, Any]"
    verdict: "ReplayVerdict | None"


class FitRequest(TypedDict):
    """A fit: a graph, rows, and a training recipe. Needs graph, dataset, and one of epochs and steps."""

    graph: NotRequired["str | GraphDefinition"]
    dataset: NotRequired["str | Sequence[str] | InlineDataset"]
    feeds: NotRequired["Mapping[str, str] | None"]
    target: NotRequired["str | None"]
    task: NotRequired['Literal["classification", "regression"] | None']
    columns: NotRequired[
        "Mapping[str, str | TransformChoice | ColumnsChoice | Sequence[str | TransformChoice | ColumnsChoice]] | None"
    ]
    classes: NotRequired["Mapping[str, Sequence[str] | ClassNamesChoice | None] | None"]
    preset: NotRequired['Literal["ggml_opt_fit"] | None']
    validation: NotRequired["ValidationChoice | None"]
    optimizer: NotRequired["OptimizerKind | OptimizerChoice | None"]
    schedule: NotRequired["ScheduleKind | ScheduleChoice | None"]
    clip: NotRequired["ClipChoice | None"]
    noise: NotRequired["NoiseChoice | None"]
    epochs: NotRequired["int | None"]
    steps: NotRequired["int | None"]
    batch_size: NotRequired["int | None"]
    micro_batch_size: NotRequired["int | None"]
    shuffle: NotRequired["bool | ShuffleChoice | None"]
    sampling: NotRequired["SamplingChoice | None"]
    windows: NotRequired["WindowsChoice | None"]
    normalize: NotRequired["Mapping[str, str | NormalizeChoice] | None"]
    class_weights: NotRequired['Literal["balanced"] | Sequence[float] | None']
    drop_last: NotRequired["bool | None"]
    prefetch: NotRequired["int | None"]
    seed: NotRequired["int | None"]
    precision: NotRequired['Literal["float32", "float64", "mixed_float16", "mixed_bfloat16"] | None']
    loss_scaling: NotRequired["LossScalingChoice | None"]
    recompute: NotRequired["RecomputeChoice | None"]
    memory_budget: NotRequired["int | None"]
    activations: NotRequired['Literal["float16", "bfloat16"] | None']
    average: NotRequired["str | AverageChoice | None"]
    freeze: NotRequired["Sequence[FreezeChoice] | None"]
    metrics: NotRequired["Sequence[MetricKind | MetricChoice] | None"]
    early_stopping: NotRequired["EarlyStoppingChoice | None"]
    divergence: NotRequired["DivergenceChoice | None"]
    budget: NotRequired["BudgetChoice | None"]
    checkpoint: NotRequired["CheckpointChoice | None"]
    record: NotRequired["RecordChoice | None"]
    resources: NotRequired["ResourcesChoice | None"]
    sweep: NotRequired["SweepChoice | None"]
    name: NotRequired["str | None"]
    labels: NotRequired["Mapping[str, str] | None"]
    start_paused: NotRequired["bool | None"]
    from_checkpoint: NotRequired["str | ForkChoice | None"]


class FitRuntime(TypedDict):
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


class FlattenLayer(TypedDict):
    """Join the axes from `start` to `end` into one."""

    layer: 'Literal["flatten"]'
    name: NotRequired["str"]
    start: NotRequired["int"]
    end: NotRequired["int"]


class FocalLossLoss(TypedDict):
    """Binary cross entropy times (1 - p)^gamma, p the predicted probability of the target 0 or 1 (Lin et al. 2017)."""

    kind: 'Literal["focal_loss", "sigmoid_focal_loss"]'
    target: NotRequired["Any"]
    alpha: NotRequired["float"]
    gamma: NotRequired["float"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class ForkChoice(TypedDict):
    """A checkpoint to fork a fit from, and what is restored."""

    checkpoint: "str"
    restore: NotRequired['Literal["all", "parameters"] | None']


class ForwardAnswer(TypedDict):
    """The result of a forward pass."""

    seq: "int | None"
    outputs: "dict[str, Tensor]"
    losses: "dict[str, float | None]"
    nonfinite: "dict[str, str]"
    tape_id: "str | None"


class ForwardBackwardAnswer(TypedDict):
    """The result of a forward and a backward pass."""

    seq: "int | None"
    grad_norm: "float | None"
    grad_norms: "dict[str, float | None]"
    nonfinite: "dict[str, str]"
    loss: "float | None"
    losses: "dict[str, float | None]"
    outputs: NotRequired["dict[str, Tensor] | None"]


class ForwardBackwardRequest(TypedDict):
    """Computes the losses and adds the gradients to those that are accumulated."""

    seq: NotRequired["int | None"]
    inputs: NotRequired["Mapping[str, Any] | None"]
    rows: NotRequired["RowsChoice | None"]
    feeds: NotRequired["Mapping[str, str] | None"]
    reduction: NotRequired['Literal["sum", "mean"] | None']
    micro_batch_size: NotRequired["int | None"]
    outputs: NotRequired["bool"]


class ForwardRequest(TypedDict):
    """Computes losses and outputs. With `keep`, stores a tape for `:backward`."""

    seq: NotRequired["int | None"]
    inputs: NotRequired["Mapping[str, Any] | None"]
    rows: NotRequired["RowsChoice | None"]
    feeds: NotRequired["Mapping[str, str] | None"]
    training: NotRequired["bool"]
    keep: NotRequired["bool"]


class FreezeChoice(TypedDict):
    """Parameters that are frozen from one epoch to another, both inclusive."""

    match: "str | Sequence[str]"
    first_epoch: NotRequired["int | None"]
    last_epoch: NotRequired["int | None"]


class GaussianNllLossLoss(TypedDict):
    """(log var + (x - target)² / var) / 2, x and var being mean and variance of a normal distribution."""

    kind: 'Literal["gaussian_nll_loss"]'
    target: NotRequired["Any"]
    var: NotRequired["Any"]
    full: NotRequired["bool"]
    eps: NotRequired["float"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    split: NotRequired["int | None"]
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class GaussianNoiseLayer(TypedDict):
    """x with normal noise of mean 0 and deviation `std` added to each element in training."""

    layer: 'Literal["gaussian_noise"]'
    name: NotRequired["str"]
    std: NotRequired["float"]


class GegluLayer(TypedDict):
    """gelu(gate) x; packed, the gate is the first half along `axis`, or the second one when `swapped` (as in ggml)."""

    layer: 'Literal["geglu"]'
    name: NotRequired["str"]
    axis: NotRequired["int"]
    swapped: NotRequired["bool"]
    approximate: NotRequired['Literal["none", "tanh", "quick"]']


class GeluLayer(TypedDict):
    """x times the normal distribution function of x (Hendrycks & Gimpel 2016)."""

    layer: 'Literal["gelu"]'
    name: NotRequired["str"]
    approximate: NotRequired['Literal["none", "tanh", "quick"]']


class GgmlCrossEntropyLoss(TypedDict):
    """-sum(labels log_softmax(logits)) over the last axis, averaged over the rows, as ggml's cross_entropy_loss."""

    kind: 'Literal["ggml_cross_entropy", "ggml_cross_entropy_loss"]'
    target: NotRequired["Any"]


class GlobalAvgPoolLayer(TypedDict):
    """Mean over every axis after the channels."""

    layer: 'Literal["global_avg_pool"]'
    name: NotRequired["str"]


class GluLayer(TypedDict):
    """x sigmoid(gate); packed, the second half of x along `axis` is the gate (as in PyTorch)."""

    layer: 'Literal["glu"]'
    name: NotRequired["str"]
    axis: NotRequired["int"]


class GradcheckRequest(TypedDict):
    """The point at which the gradient is checked; parameters left out are initialised from the seed."""

    inputs: NotRequired["Mapping[str, Any] | None"]
    parameters: NotRequired["Mapping[str, Any] | None"]
    buffers: NotRequired["Mapping[str, Any] | None"]
    seed: NotRequired["int | None"]
    training: NotRequired["bool | None"]
    of: NotRequired["str | None"]
    by: NotRequired["Sequence[str] | None"]
    eps: NotRequired["float | None"]
    atol: NotRequired["float | None"]
    rtol: NotRequired["float | None"]
    elements: NotRequired["int | None"]


class GradcheckResult(TypedDict):
    """Whether the gradients are right: each element within atol + rtol * |slope|."""

    ok: "bool"
    value: "float | None"
    nonfinite: "dict[str, str]"
    of: "list[str]"
    eps: "float"
    atol: "float"
    rtol: "float"
    gradients: "dict[str, CheckedGradient]"


class Gradient(TypedDict):
    """The gradient of the loss with respect to a parameter, without its values."""

    object: 'Literal["gradient"]'
    fit: "str"
    step: "int"
    parameter: "str"
    dtype: "str"
    shape: "list[int]"
    size_bytes: "int"
    digest: "str"
    corrupt: "bool"
    links: "GradientLinks"


class GradientLinks(TypedDict):
    """Links of a gradient."""

    self: "str"
    stats: "str"


class GradientList(TypedDict):
    """A page of captured gradients."""

    object: 'Literal["list"]'
    data: "list[Gradient]"
    has_more: "bool"
    next_cursor: "str | None"


class GradientNorms(TypedDict):
    """The accumulated gradients."""

    seq: "int | None"
    grad_norm: "float | None"
    grad_norms: "dict[str, float | None]"
    nonfinite: "dict[str, str]"


class GradientStatistics(TypedDict):
    """Statistics of a captured gradient, computed in float64."""

    dtype: "str"
    shape: "list[int]"
    elements: "int"
    norm: "float | None"
    mean: "float | None"
    min: "float | None"
    max: "float | None"
    abs_max: "float | None"
    nonfinite: "dict[str, str]"
    zeros: "int"
    nan: "int"
    inf: "int"
    histogram: "Histogram"
    object: 'Literal["gradient_statistics"]'
    step: "int"
    parameter: "str"


class GradientWant(TypedDict):
    """A vector-Jacobian product: cotangents of values pulled back to parameters and inputs."""

    gradient_of: "Sequence[str]"
    cotangents: NotRequired["Mapping[str, Any] | None"]
    by: NotRequired["Sequence[str] | None"]


class GradientsChoice(TypedDict):
    """Which gradients of the loss are captured: as they are before clipping, noise and scaling."""

    steps: NotRequired["Sequence[int] | None"]
    every_steps: NotRequired["int | None"]
    parameters: NotRequired["Sequence[str] | None"]


class Graph(TypedDict):
    """A stored graph."""

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
    created_at: "str"


class GraphAnswer(TypedDict):
    """The size of a graph after the step."""

    seq: "int | None"
    graph: "str"
    n_nodes: "int"
    n_leafs: "int"


class GraphClearRequest(TypedDict):
    """Removes all nodes and leafs from a graph; the tensors keep their data (ggml_graph_clear)."""

    seq: NotRequired["int | None"]
    graph: NotRequired["str"]


class GraphComputeAnswer(TypedDict):
    """How a computation ended."""

    seq: "int | None"
    status: 'Literal["SUCCESS", "ABORTED"]'
    status_code: "int"
    computed: "int"
    losses: "dict[str, float | None]"
    tensors: "dict[str, Tensor | None]"
    gradients: "dict[str, Tensor | None]"
    warnings: "list[str]"
    nonfinite: "dict[str, str]"


class GraphComputeRequest(TypedDict):
    """Sets inputs and computes the nodes of a graph in order, all of them or up to one (ggml_graph_compute)."""

    seq: NotRequired["int | None"]
    graph: NotRequired["str"]
    inputs: NotRequired["Mapping[str, Any] | None"]
    rows: NotRequired["RowsChoice | None"]
    feeds: NotRequired["Mapping[str, str] | None"]
    n_threads: NotRequired["int | None"]
    abort_after: NotRequired["int | str | None"]
    auto_resume: NotRequired["bool"]
    with_ctx: NotRequired["bool"]
    work_size: NotRequired["int | None"]
    use_ref: NotRequired["bool"]
    fetch: NotRequired["Sequence[str] | None"]
    gradients: NotRequired["Sequence[str] | None"]


class GraphCpyRequest(TypedDict):
    """Copies the nodes and leafs of a graph into another graph (ggml_graph_cpy)."""

    seq: NotRequired["int | None"]
    graph: NotRequired["str"]
    name: "str"


class GraphDefinition(TypedDict):
    """A graph in one of three forms: nodes, layers, or a program. The answer always holds the nodes."""

    name: NotRequired["str | None"]
    inputs: "Mapping[str, Any]"
    parameters: NotRequired["Mapping[str, Sequence[int | str] | Mapping[str, Any]] | None"]
    buffers: NotRequired["Mapping[str, Any] | None"]
    constants: NotRequired["Mapping[str, Any] | None"]
    nodes: NotRequired["Sequence[Mapping[str, Any]] | None"]
    layers: NotRequired["Sequence[LayerKind | LayerChoice] | None"]
    loss: NotRequired["LossKind | LossChoice | None"]
    program: NotRequired["str | None"]
    outputs: NotRequired["Sequence[str] | None"]
    losses: NotRequired["Sequence[str] | None"]


class GraphDescription(TypedDict):
    """A graph."""

    seq: "int | None"
    graph: "str"
    size: "int"
    grads: "bool"
    order: "str"
    view: "bool"
    n_nodes: "int"
    n_leafs: "int"
    outputs: "list[str]"
    losses: "list[str]"
    implicit_loss: "bool"
    nbytes: "int"
    overhead: "int"
    topology: "str"
    graphs: "list[str]"


class GraphDupRequest(TypedDict):
    """Creates a copy of a graph over the same tensors (ggml_graph_dup)."""

    seq: NotRequired["int | None"]
    graph: NotRequired["str"]
    name: "str"
    force_grads: NotRequired["bool"]


class GraphFinding(TypedDict):
    """A remark on a graph: something valid that is probably not intended."""

    pointer: "str"
    severity: 'Literal["warning", "info"]'
    code: "str"
    detail: "str"


class GraphFreeRequest(TypedDict):
    """Deletes a graph of the session; the tensors keep their data."""

    seq: NotRequired["int | None"]
    graph: NotRequired["str"]


class GraphGradient(TypedDict):
    """A gradient."""

    seq: "int | None"
    name: "str"
    accumulator: "bool"
    gradient: "Tensor | None"


class GraphList(TypedDict):
    """A page of graphs."""

    object: 'Literal["list"]'
    data: "list[GraphSummary]"
    has_more: "bool"
    next_cursor: "str | None"
    findings: "list[ProblemError]"


class GraphNode(TypedDict):
    """A node or leaf of a graph."""

    seq: "int | None"
    index: "int"
    kind: 'Literal["node", "leaf"]'
    name: "str"
    op: "str | None"
    dtype: "str"
    shape: "list[int]"
    ne: "list[int]"
    nbytes: "int"
    parameter: "bool"
    loss: "bool"
    inputs: "list[str]"
    gradient: "str | None"
    accumulator: "str | None"


class GraphNodeList(TypedDict):
    """Nodes in the order of execution, then leafs."""

    seq: "int | None"
    object: 'Literal["list"]'
    data: "list[GraphNode]"
    n_nodes: "int"
    n_leafs: "int"


class GraphNodes(TypedDict):
    """The nodes of a graph in the order of execution."""

    object: 'Literal["list"]'
    data: "list[dict[str, Any]]"


class GraphPlan(TypedDict):
    """A plan: steps in order, the buffers they work on, bytes and estimated floating-point operations."""

    batch: "int"
    training: "bool"
    executor: "str"
    steps: "list[dict[str, Any]]"
    buffers: "list[dict[str, Any]]"
    fused_groups: "list[list[int]]"
    shards: "int"
    phases: "list[dict[str, Any]]"
    peak_bytes: "int"
    flops: "int"
    numpy_steps: NotRequired["list[str] | None"]


class GraphReport(TypedDict):
    """The report of the engine on a definition."""

    name: "str"
    digest: "str"
    definition: "dict[str, Any]"
    parameter_count: "int"
    node_counts: "dict[str, int]"
    shapes: "dict[str, Any]"
    implicit_loss: "bool"
    memory: "dict[str, int]"
    findings: "list[GraphFinding]"


class GraphResetRequest(TypedDict):
    """Starts a new accumulation: gradient accumulators become 0 and the seeds of losses 1 (ggml_graph_reset)."""

    seq: NotRequired["int | None"]
    graph: NotRequired["str"]
    grads: NotRequired["bool"]
    momenta: NotRequired["bool"]


class GraphSummary(TypedDict):
    """A graph without its definition."""

    id: "str"
    object: 'Literal["graph"]'
    name: "str"
    digest: "str"
    parameter_count: "int"
    created_at: "str"


class GraphViewRequest(TypedDict):
    """Creates a graph of a range of the nodes of another (ggml_graph_view)."""

    seq: NotRequired["int | None"]
    graph: NotRequired["str"]
    name: "str"
    start: "int"
    stop: "int"


class GroupChoice(TypedDict):
    """Parameters that share optimizer options; options that differ from the common ones are further fields."""

    match: NotRequired["str | Sequence[str]"]
    ndim: NotRequired["int | Sequence[int] | None"]
    frozen: NotRequired["bool"]
    kind: NotRequired[
        'Literal["sgd", "adam", "adamw", "adagrad", "rmsprop", "adadelta", "adamax", "nadam", "radam", "rprop", "asgd", "lion", "lars", "lamb", "adafactor", "muon", "chain", "lbfgs"]'
    ]
    lr: NotRequired["float"]
    maximize: NotRequired["bool"]
    momentum: NotRequired["float"]
    dampening: NotRequired["float"]
    weight_decay: NotRequired["float"]
    decoupled: NotRequired["bool"]
    nesterov: NotRequired["bool"]
    betas: NotRequired["Sequence[float]"]
    eps: NotRequired["float | Sequence[float | None]"]
    amsgrad: NotRequired["bool"]
    lazy: NotRequired["bool"]
    lr_decay: NotRequired["float"]
    initial_accumulator_value: NotRequired["float"]
    alpha: NotRequired["float"]
    centered: NotRequired["bool"]
    rho: NotRequired["float"]
    momentum_decay: NotRequired["float"]
    etas: NotRequired["Sequence[float]"]
    step_sizes: NotRequired["Sequence[float]"]
    lambd: NotRequired["float"]
    t0: NotRequired["float"]
    trust_coefficient: NotRequired["float"]
    beta2_decay: NotRequired["float"]
    d: NotRequired["float"]
    ns_coefficients: NotRequired["Sequence[float]"]
    ns_steps: NotRequired["int"]
    adjust_lr_fn: NotRequired['Literal["original", "match_rms_adamw"]']
    transforms: NotRequired["Sequence[Mapping[str, Any]]"]
    max_iter: NotRequired["int"]
    max_eval: NotRequired["int | None"]
    tolerance_grad: NotRequired["float"]
    tolerance_change: NotRequired["float"]
    history_size: NotRequired["int"]
    line_search: NotRequired['Literal["strong_wolfe"] | None']


class GroupNormLayer(TypedDict):
    """Normalise each of `groups` groups of channels (axis 1) of each example, then scale and shift each channel."""

    layer: 'Literal["group_norm"]'
    name: NotRequired["str"]
    groups: "int"
    eps: NotRequired["float"]
    affine: NotRequired["bool"]


class GruLayer(TypedDict):
    """Gated recurrent units over [batch, steps, width] (Cho et al. 2014); see rnn."""

    layer: 'Literal["gru"]'
    name: NotRequired["str"]
    units: "int"
    layers: NotRequired["int"]
    bidirectional: NotRequired["bool"]
    bias: NotRequired["bool"]
    dropout: NotRequired["float"]
    result: NotRequired['Literal["sequence", "last"]']
    lengths: NotRequired["str | None"]


class HardshrinkLayer(TypedDict):
    """x where |x| > lambd, else 0."""

    layer: 'Literal["hardshrink"]'
    name: NotRequired["str"]
    lambd: NotRequired["float"]


class HardsigmoidLayer(TypedDict):
    """relu6(x + 3) / 6, a sigmoid of straight lines."""

    layer: 'Literal["hardsigmoid"]'
    name: NotRequired["str"]


class HardswishLayer(TypedDict):
    """x relu6(x + 3) / 6; the gradient is 0 at -3 and 1 at 3."""

    layer: 'Literal["hardswish"]'
    name: NotRequired["str"]


class HardtanhLayer(TypedDict):
    """x limited to min..max; the gradient at the bounds is 0 (that of clamp is 1)."""

    layer: 'Literal["hardtanh"]'
    name: NotRequired["str"]
    min: NotRequired["float"]
    max: NotRequired["float"]


class HessianProductSpec(TypedDict):
    """Of which scalar, and the direction by parameter or input."""

    of: NotRequired["str | None"]
    by: "Mapping[str, Any]"


class HessianSpec(TypedDict):
    """Of which scalar by which parameter or input."""

    of: NotRequired["str | None"]
    by: "str"


class HessianWant(TypedDict):
    """All second derivatives, of the shape [by..., by...]."""

    hessian: "HessianSpec"


class HingeEmbeddingLossLoss(TypedDict):
    """x where the target is 1 and max(0, margin - x) where it is -1, x being a distance; the two broadcast."""

    kind: 'Literal["hinge_embedding_loss"]'
    target: NotRequired["Any"]
    margin: NotRequired["float"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class Histogram(TypedDict):
    """Number of finite elements between consecutive edges; the last bin includes its upper edge."""

    edges: "list[float]"
    counts: "list[int]"


class HuberLossLoss(TypedDict):
    """Half the squared error up to |x - target| = delta, linear with slope delta beyond (Huber 1964)."""

    kind: 'Literal["huber_loss", "huber"]'
    target: NotRequired["Any"]
    delta: NotRequired["float"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class HvpWant(TypedDict):
    """The Hessian times a vector, without forming it."""

    hvp: "HessianProductSpec"


class ImageFormat(TypedDict):
    """How files of images became arrays."""

    size: "str | None"
    mode: 'Literal["L", "RGB", "RGBA"]'
    dtype: 'Literal["uint8", "float32"]'


InitializerChoice = Union[
    "ZerosInitializer",
    "OnesInitializer",
    "ConstantInitializer",
    "UniformInitializer",
    "NormalInitializer",
    "TruncatedNormalInitializer",
    "XavierUniformInitializer",
    "XavierNormalInitializer",
    "KaimingUniformInitializer",
    "KaimingNormalInitializer",
    "EyeInitializer",
    "NormalRowsInitializer",
    "DiracInitializer",
    "SparseInitializer",
    "SinusoidalInitializer",
    "OrthogonalInitializer",
]


InitializerKind = Literal[
    "zeros",
    "ones",
    "constant",
    "uniform",
    "normal",
    "truncated_normal",
    "xavier_uniform",
    "xavier_normal",
    "kaiming_uniform",
    "kaiming_normal",
    "eye",
    "normal_rows",
    "dirac",
    "sparse",
    "sinusoidal",
    "orthogonal",
]


class InlineDataset(TypedDict):
    """Columns by name, each a tensor whose first axis is that of the rows."""

    name: NotRequired["str | None"]
    columns: "Mapping[str, Any]"


class InstanceNormLayer(TypedDict):
    """Normalise each channel (axis 1) of each example over its spatial axes, then, if `affine`, scale and shift."""

    layer: 'Literal["instance_norm"]'
    name: NotRequired["str"]
    eps: NotRequired["float"]
    momentum: NotRequired["float | None"]
    affine: NotRequired["bool"]
    track_running_stats: NotRequired["bool"]


class IntervalChoice(TypedDict):
    """Numbers from min to max, both included, any of which may be drawn."""

    min: "float"
    max: "float"
    log: NotRequired["bool | None"]
    integer: NotRequired["bool | None"]


class JacobianSpec(TypedDict):
    """Of which value by which parameter or input."""

    of: "str"
    by: "str"
    mode: NotRequired['Literal["reverse", "forward"] | None']


class JacobianWant(TypedDict):
    """All first derivatives, of the shape [of..., by...]."""

    jacobian: "JacobianSpec"


class JoinRequest(TypedDict):
    """Datasets with the same columns, whose rows follow one another."""

    datasets: "Sequence[str]"
    name: NotRequired["str | None"]


class JvpSpec(TypedDict):
    """Of which values, and the tangent by parameter or input."""

    of: NotRequired["Sequence[str] | None"]
    tangents: "Mapping[str, Any]"


class JvpWant(TypedDict):
    """A Jacobian-vector product: the derivative in the direction of the tangents."""

    jvp: "JvpSpec"


class KaimingNormalInitializer(TypedDict):
    """Normal with deviation gain / sqrt(fan) (He et al. 2015); `a` is the slope of a leaky ReLU."""

    kind: 'Literal["kaiming_normal"]'
    a: NotRequired["float"]
    mode: NotRequired['Literal["fan_in", "fan_out"]']
    nonlinearity: NotRequired['Literal["linear", "sigmoid", "tanh", "relu", "leaky_relu", "selu"]']
    fan_in: NotRequired["int | None"]
    fan_out: NotRequired["int | None"]


class KaimingUniformInitializer(TypedDict):
    """Uniform within gain * sqrt(3 / fan) (He et al. 2015); `a` is the slope of a leaky ReLU."""

    kind: 'Literal["kaiming_uniform"]'
    a: NotRequired["float"]
    mode: NotRequired['Literal["fan_in", "fan_out"]']
    nonlinearity: NotRequired['Literal["linear", "sigmoid", "tanh", "relu", "leaky_relu", "selu"]']
    fan_in: NotRequired["int | None"]
    fan_out: NotRequired["int | None"]


class KeyRequest(TypedDict):
    """A key to create."""

    name: "str"
    scopes: 'Sequence[Literal["read", "train", "admin"]]'
    expires_at: NotRequired["str | None"]
    tenant: NotRequired["str | None"]


class KlDivLoss(TypedDict):
    """Kullback-Leibler divergence target (log target - x) of log-probabilities x; 0 log 0 is 0."""

    kind: 'Literal["kl_div"]'
    target: NotRequired["Any"]
    log_target: NotRequired["bool"]
    reduction: NotRequired['Literal["mean", "sum", "none", "batchmean"]']
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class L1LossLoss(TypedDict):
    """Absolute error |x - target|; the gradient at 0 is 0."""

    kind: 'Literal["l1_loss", "l1", "mae"]'
    target: NotRequired["Any"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class LambOptimizer(TypedDict):
    """Adam with a rate for each parameter (You et al. 2020), for large batches."""

    kind: 'Literal["lamb"]'
    groups: NotRequired["Sequence[GroupChoice] | None"]
    lr: NotRequired["float"]
    maximize: NotRequired["bool"]
    betas: NotRequired["Sequence[float]"]
    eps: NotRequired["float"]
    weight_decay: NotRequired["float"]


class LarsOptimizer(TypedDict):
    """Momentum with a rate for each parameter (You, Gitman and Ginsburg 2017), for large batches."""

    kind: 'Literal["lars"]'
    groups: NotRequired["Sequence[GroupChoice] | None"]
    lr: NotRequired["float"]
    maximize: NotRequired["bool"]
    momentum: NotRequired["float"]
    weight_decay: NotRequired["float"]
    trust_coefficient: NotRequired["float"]


LayerChoice = Union[
    "ReluLayer",
    "SigmoidLayer",
    "TanhLayer",
    "GeluLayer",
    "SiluLayer",
    "SoftplusLayer",
    "SoftmaxLayer",
    "LogSoftmaxLayer",
    "LeakyReluLayer",
    "EluLayer",
    "Relu6Layer",
    "CeluLayer",
    "SeluLayer",
    "MishLayer",
    "SoftminLayer",
    "SoftsignLayer",
    "LogsigmoidLayer",
    "HardsigmoidLayer",
    "HardswishLayer",
    "HardtanhLayer",
    "HardshrinkLayer",
    "SoftshrinkLayer",
    "TanhshrinkLayer",
    "RreluLayer",
    "ThresholdLayer",
    "GluLayer",
    "GegluLayer",
    "RegluLayer",
    "SwigluLayer",
    "PreluLayer",
    "MultiHeadAttentionLayer",
    "LinearLayer",
    "BilinearLayer",
    "Conv1dLayer",
    "Conv2dLayer",
    "Conv3dLayer",
    "ConvTranspose1dLayer",
    "ConvTranspose2dLayer",
    "ConvTranspose3dLayer",
    "DropoutLayer",
    "Dropout1dLayer",
    "Dropout2dLayer",
    "Dropout3dLayer",
    "FeatureDropoutLayer",
    "AlphaDropoutLayer",
    "FeatureAlphaDropoutLayer",
    "RandomHorizontalFlipLayer",
    "RandomVerticalFlipLayer",
    "RandomCropLayer",
    "RandomRotationLayer",
    "RandomAffineLayer",
    "RandomErasingLayer",
    "GaussianNoiseLayer",
    "TimeMaskingLayer",
    "RandomMaskingLayer",
    "MixupLayer",
    "SequentialLayer",
    "ParallelLayer",
    "ResidualLayer",
    "BatchNormLayer",
    "InstanceNormLayer",
    "GroupNormLayer",
    "LayerNormLayer",
    "RmsNormLayer",
    "LocalResponseNormLayer",
    "NormalizeLayer",
    "MaxPool1dLayer",
    "MaxPool2dLayer",
    "MaxPool3dLayer",
    "AvgPool1dLayer",
    "AvgPool2dLayer",
    "AvgPool3dLayer",
    "LpPool1dLayer",
    "LpPool2dLayer",
    "LpPool3dLayer",
    "AdaptiveMaxPool1dLayer",
    "AdaptiveMaxPool2dLayer",
    "AdaptiveMaxPool3dLayer",
    "AdaptiveAvgPool1dLayer",
    "AdaptiveAvgPool2dLayer",
    "AdaptiveAvgPool3dLayer",
    "GlobalAvgPoolLayer",
    "SinusoidalPositionsLayer",
    "LearnedPositionsLayer",
    "RotaryPositionsLayer",
    "RnnLayer",
    "LstmLayer",
    "GruLayer",
    "EmbeddingLayer",
    "EmbeddingBagLayer",
    "FlattenLayer",
    "UnflattenLayer",
    "SqueezeLayer",
    "ReshapeLayer",
    "PermuteLayer",
    "PixelShuffleLayer",
    "PixelUnshuffleLayer",
    "ChannelShuffleLayer",
    "UpsampleLayer",
    "ConstantPad1dLayer",
    "ConstantPad2dLayer",
    "ConstantPad3dLayer",
    "ZeroPad1dLayer",
    "ZeroPad2dLayer",
    "ZeroPad3dLayer",
    "ReflectionPad1dLayer",
    "ReflectionPad2dLayer",
    "ReflectionPad3dLayer",
    "ReplicationPad1dLayer",
    "ReplicationPad2dLayer",
    "ReplicationPad3dLayer",
    "CircularPad1dLayer",
    "CircularPad2dLayer",
    "CircularPad3dLayer",
    "TransformerEncoderLayerLayer",
    "TransformerDecoderLayerLayer",
    "TransformerEncoderLayer",
    "TransformerDecoderLayer",
    "TransformerLayer",
    "TabularLayer",
]


LayerKind = Literal[
    "relu",
    "sigmoid",
    "tanh",
    "gelu",
    "silu",
    "softplus",
    "softmax",
    "log_softmax",
    "leaky_relu",
    "elu",
    "relu6",
    "celu",
    "selu",
    "mish",
    "softmin",
    "softsign",
    "logsigmoid",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardshrink",
    "softshrink",
    "tanhshrink",
    "rrelu",
    "threshold",
    "glu",
    "geglu",
    "reglu",
    "swiglu",
    "prelu",
    "multi_head_attention",
    "linear",
    "bilinear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_dropout",
    "alpha_dropout",
    "feature_alpha_dropout",
    "random_horizontal_flip",
    "random_vertical_flip",
    "random_crop",
    "random_rotation",
    "random_affine",
    "random_erasing",
    "gaussian_noise",
    "time_masking",
    "random_masking",
    "mixup",
    "sequential",
    "parallel",
    "residual",
    "batch_norm",
    "instance_norm",
    "group_norm",
    "layer_norm",
    "rms_norm",
    "local_response_norm",
    "normalize",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "global_avg_pool",
    "sinusoidal_positions",
    "learned_positions",
    "rotary_positions",
    "rnn",
    "lstm",
    "gru",
    "embedding",
    "embedding_bag",
    "flatten",
    "unflatten",
    "squeeze",
    "reshape",
    "permute",
    "pixel_shuffle",
    "pixel_unshuffle",
    "channel_shuffle",
    "upsample",
    "constant_pad1d",
    "constant_pad2d",
    "constant_pad3d",
    "zero_pad1d",
    "zero_pad2d",
    "zero_pad3d",
    "reflection_pad1d",
    "reflection_pad2d",
    "reflection_pad3d",
    "replication_pad1d",
    "replication_pad2d",
    "replication_pad3d",
    "circular_pad1d",
    "circular_pad2d",
    "circular_pad3d",
    "transformer_encoder_layer",
    "transformer_decoder_layer",
    "transformer_encoder",
    "transformer_decoder",
    "transformer",
    "tabular",
]


class LayerNormLayer(TypedDict):
    """Normalise over the last `axes` axes, then scale and, with `bias`, shift; `affine` false does neither."""

    layer: 'Literal["layer_norm"]'
    name: NotRequired["str"]
    axes: NotRequired["int"]
    eps: NotRequired["float"]
    affine: NotRequired["bool"]
    bias: NotRequired["bool"]


class LbfgsOptimizer(TypedDict):
    """Limited-memory BFGS (Liu and Nocedal 1989), semantics of torch.optim.LBFGS; for whole-batch gradients."""

    kind: 'Literal["lbfgs"]'
    groups: NotRequired["Sequence[GroupChoice] | None"]
    lr: NotRequired["float"]
    max_iter: NotRequired["int"]
    max_eval: NotRequired["int | None"]
    tolerance_grad: NotRequired["float"]
    tolerance_change: NotRequired["float"]
    history_size: NotRequired["int"]
    line_search: NotRequired['Literal["strong_wolfe"] | None']


class LeakyReluLayer(TypedDict):
    """x where x > 0, else slope x; the gradient at 0 is the slope."""

    layer: 'Literal["leaky_relu"]'
    name: NotRequired["str"]
    slope: NotRequired["float"]


class LearnedPositionsLayer(TypedDict):
    """Add a learnt row to each step: row t of weight [length, width] to step t."""

    layer: 'Literal["learned_positions"]'
    name: NotRequired["str"]
    length: NotRequired["int | None"]
    std: NotRequired["float"]


class Limits(TypedDict):
    """Limits of this server."""

    max_json_bytes: "int"
    max_upload_bytes: "int"
    max_expanded_bytes: "int"
    max_rows: "int"
    max_columns: "int"
    max_queue: "int"
    max_sessions: "int"
    session_workers: "int"
    max_step_bytes: "int"
    workers: "int"
    attempts_max: "int"
    storage_quota_bytes: "int | None"


class LinearLayer(TypedDict):
    """x @ weight.T + bias on the last axis, with weight [units, in]."""

    layer: 'Literal["linear"]'
    name: NotRequired["str"]
    units: "int"
    bias: NotRequired["bool"]
    activation: NotRequired[
        'Literal["relu", "sigmoid", "tanh", "gelu", "silu", "softplus", "softmax", "log_softmax", "leaky_relu", "elu", "relu6", "celu", "selu", "mish", "softmin", "softsign", "logsigmoid", "hardsigmoid", "hardswish", "hardtanh", "hardshrink", "softshrink", "tanhshrink", "rrelu", "none"]'
    ]
    start: NotRequired['Literal["torch", "glorot"]']


class LinearSchedule(TypedDict):
    """base times a factor that changes linearly from start_factor to end_factor in total_iters, as torch's LinearLR."""

    kind: 'Literal["linear"]'
    per: NotRequired['Literal["epoch", "step"]']
    start_factor: NotRequired["float"]
    end_factor: NotRequired["float"]
    total_iters: NotRequired["int"]


class LionOptimizer(TypedDict):
    """Evolved sign momentum (Chen et al. 2023), with decoupled weight decay."""

    kind: 'Literal["lion"]'
    groups: NotRequired["Sequence[GroupChoice] | None"]
    lr: NotRequired["float"]
    maximize: NotRequired["bool"]
    betas: NotRequired["Sequence[float]"]
    weight_decay: NotRequired["float"]


class LoadAnswer(TypedDict):
    """A checkpoint was loaded."""

    seq: "int | None"
    step: "int"


class LoadRequest(TypedDict):
    """Replaces parameters and buffers by those of a checkpoint, with or without its optimizer state."""

    seq: NotRequired["int | None"]
    checkpoint: "str"
    optimizer: NotRequired["bool"]


class LocalResponseNormLayer(TypedDict):
    """x / (k + alpha mean of x² over `size` neighbouring channels)^beta for x [N, C, *spatial], padded with zeros."""

    layer: 'Literal["local_response_norm"]'
    name: NotRequired["str"]
    size: "int"
    alpha: NotRequired["float"]
    beta: NotRequired["float"]
    k: NotRequired["float"]


class LocatedProblemError(TypedDict):
    """One fault in a request, with its place in the text that the pointer names where that is a program."""

    pointer: "str"
    code: "str"
    detail: "str"
    line: NotRequired["int | None"]
    column: NotRequired["int | None"]


class LogSoftmaxLayer(TypedDict):
    """log(softmax(x)) along `axis`, without the rounding of softmax; NaN where every element is -inf."""

    layer: 'Literal["log_softmax"]'
    name: NotRequired["str"]
    axis: NotRequired["int"]


class LogsigmoidLayer(TypedDict):
    """log(sigmoid(x)), finite for any finite x."""

    layer: 'Literal["logsigmoid"]'
    name: NotRequired["str"]


LossChoice = Union[
    "MseLossLoss",
    "L1LossLoss",
    "HuberLossLoss",
    "SmoothL1LossLoss",
    "BceLossLoss",
    "BceWithLogitsLossLoss",
    "KlDivLoss",
    "CategoricalCrossEntropyLoss",
    "CrossEntropyLoss",
    "NllLossLoss",
    "CtcLossLoss",
    "GaussianNllLossLoss",
    "PoissonNllLossLoss",
    "FocalLossLoss",
    "WeightedMseLossLoss",
    "GgmlCrossEntropyLoss",
    "MultiMarginLossLoss",
    "MultilabelMarginLossLoss",
    "MultilabelSoftMarginLossLoss",
    "MarginRankingLossLoss",
    "HingeEmbeddingLossLoss",
    "SoftMarginLossLoss",
    "CosineEmbeddingLossLoss",
    "TripletMarginLossLoss",
]


class LossEntry(TypedDict):
    """A loss, its operands and its options."""

    kind: "str"
    doc: "str"
    attrs: "list[CatalogueAttribute]"
    aliases: "list[str]"
    predictions: "str"
    operands: "list[LossOperand]"


LossKind = Literal[
    "mse_loss",
    "mse",
    "l1_loss",
    "l1",
    "mae",
    "huber_loss",
    "huber",
    "smooth_l1_loss",
    "bce_loss",
    "bce",
    "bce_with_logits_loss",
    "bce_with_logits",
    "binary_cross_entropy_with_logits",
    "kl_div",
    "categorical_cross_entropy",
    "categorical_crossentropy",
    "cross_entropy",
    "nll_loss",
    "nll",
    "ctc_loss",
    "ctc",
    "gaussian_nll_loss",
    "poisson_nll_loss",
    "focal_loss",
    "sigmoid_focal_loss",
    "weighted_mse_loss",
    "weighted_mse",
    "ggml_cross_entropy",
    "ggml_cross_entropy_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "margin_ranking_loss",
    "hinge_embedding_loss",
    "soft_margin_loss",
    "cosine_embedding_loss",
    "triplet_margin_loss",
]


class LossList(TypedDict):
    """Every loss."""

    object: 'Literal["list"]'
    data: "list[LossEntry]"
    has_more: "bool"
    next_cursor: NotRequired["None"]


class LossOperand(TypedDict):
    """An operand of a loss beside the predictions."""

    name: "str"
    required: "bool"
    takes: "str"
    shape: "str"


class LossScalingChoice(TypedDict):
    """The scale of the loss under mixed_float16; a step whose gradients overflow is skipped."""

    initial: NotRequired["float | None"]
    growth_factor: NotRequired["float | None"]
    backoff_factor: NotRequired["float | None"]
    growth_interval: NotRequired["int | None"]


class LpPool1dLayer(TypedDict):
    """(sum of x^p)^(1/p) over each window of x [N, C, L]; the gradient where the sum is 0 is 0."""

    layer: 'Literal["lp_pool1d"]'
    name: NotRequired["str"]
    kernel: "int | Sequence[int]"
    p: NotRequired["float"]
    stride: NotRequired["int | Sequence[int] | None"]
    ceil_mode: NotRequired["bool"]


class LpPool2dLayer(TypedDict):
    """(sum of x^p)^(1/p) over each window of x [N, C, H, W]; the gradient where the sum is 0 is 0."""

    layer: 'Literal["lp_pool2d"]'
    name: NotRequired["str"]
    kernel: "int | Sequence[int]"
    p: NotRequired["float"]
    stride: NotRequired["int | Sequence[int] | None"]
    ceil_mode: NotRequired["bool"]


class LpPool3dLayer(TypedDict):
    """(sum of x^p)^(1/p) over each window of x [N, C, D, H, W]; the gradient where the sum is 0 is 0."""

    layer: 'Literal["lp_pool3d"]'
    name: NotRequired["str"]
    kernel: "int | Sequence[int]"
    p: NotRequired["float"]
    stride: NotRequired["int | Sequence[int] | None"]
    ceil_mode: NotRequired["bool"]


class LstmLayer(TypedDict):
    """Long short-term memory over [batch, steps, width] (Hochreiter & Schmidhuber 1997); see rnn."""

    layer: 'Literal["lstm"]'
    name: NotRequired["str"]
    units: "int"
    layers: NotRequired["int"]
    bidirectional: NotRequired["bool"]
    bias: NotRequired["bool"]
    dropout: NotRequired["float"]
    result: NotRequired['Literal["sequence", "last"]']
    lengths: NotRequired["str | None"]
    proj_size: NotRequired["int"]


class MaeMetric(TypedDict):
    """Mean absolute error |prediction - target| over all elements. Without elements: NaN."""

    kind: 'Literal["mae"]'
    name: NotRequired["str | None"]
    predictions: NotRequired["str | None"]
    targets: NotRequired["str | None"]
    form: NotRequired[
        'Literal["class_logits", "class_log_probabilities", "class_probabilities", "class_scores", "binary_logits", "binary_probabilities", "numbers"] | None'
    ]


class MarginRankingLossLoss(TypedDict):
    """max(0, margin - target (a - b)): a should be larger than b where the target is 1, smaller where it is -1."""

    kind: 'Literal["margin_ranking_loss"]'
    other: NotRequired["Any"]
    target: NotRequired["Any"]
    margin: NotRequired["float"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    split: NotRequired["int | None"]
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class MatchAnswer(TypedDict):
    """Whether the pool has the given parameters."""

    seq: "int | None"
    matches: "bool"


class MaxPool1dLayer(TypedDict):
    """Largest element of each window of x [N, C, L], as in PyTorch; the stride is the kernel unless given."""

    layer: 'Literal["max_pool1d"]'
    name: NotRequired["str"]
    kernel: "int | Sequence[int]"
    stride: NotRequired["int | Sequence[int] | None"]
    padding: NotRequired["int | Sequence[int]"]
    dilation: NotRequired["int | Sequence[int]"]
    ceil_mode: NotRequired["bool"]
    return_indices: NotRequired["bool"]


class MaxPool2dLayer(TypedDict):
    """Largest element of each window of x [N, C, H, W], as in PyTorch; the stride is the kernel unless given."""

    layer: 'Literal["max_pool2d"]'
    name: NotRequired["str"]
    kernel: "int | Sequence[int]"
    stride: NotRequired["int | Sequence[int] | None"]
    padding: NotRequired["int | Sequence[int]"]
    dilation: NotRequired["int | Sequence[int]"]
    ceil_mode: NotRequired["bool"]
    return_indices: NotRequired["bool"]


class MaxPool3dLayer(TypedDict):
    """Largest element of each window of x [N, C, D, H, W], as in PyTorch; the stride is the kernel unless given."""

    layer: 'Literal["max_pool3d"]'
    name: NotRequired["str"]
    kernel: "int | Sequence[int]"
    stride: NotRequired["int | Sequence[int] | None"]
    padding: NotRequired["int | Sequence[int]"]
    dilation: NotRequired["int | Sequence[int]"]
    ceil_mode: NotRequired["bool"]
    return_indices: NotRequired["bool"]


class Memory(TypedDict):
    """The memory that the processes of fits, sessions and computations share."""

    budget_bytes: "int | None"
    reserved_bytes: "int"
    fit_max_bytes: "int"


MetricChoice = Union[
    "AccuracyMetric",
    "TopKAccuracyMetric",
    "PrecisionMetric",
    "RecallMetric",
    "F1Metric",
    "AucMetric",
    "ConfusionMatrixMetric",
    "PerplexityMetric",
    "R2Metric",
    "MaeMetric",
    "RmseMetric",
]


class MetricEntry(TypedDict):
    """A metric and its options."""

    kind: "str"
    doc: "str"
    attrs: "list[CatalogueAttribute]"
    predictions: "dict[str, str]"
    goal: 'Literal["min", "max"] | None'
    every_step: "bool"


MetricKind = Literal[
    "accuracy",
    "top_k_accuracy",
    "precision",
    "recall",
    "f1",
    "auc",
    "confusion_matrix",
    "perplexity",
    "r2",
    "mae",
    "rmse",
]


class MetricList(TypedDict):
    """Every metric."""

    object: 'Literal["list"]'
    data: "list[MetricEntry]"
    has_more: "bool"
    next_cursor: NotRequired["None"]


class MetricRow(TypedDict):
    """One row of a fit's curve; seq is gap-free from 1, and a row never changes."""

    seq: "int"
    step: "int"
    epoch: "int"
    split: 'Literal["train", "validation"]'
    values: "dict[str, float | None]"
    nonfinite: "dict[str, str]"
    at: NotRequired["str | None"]


class MetricRows(TypedDict):
    """A page of metric rows; pass next_after as `after` for the next one."""

    object: 'Literal["list"]'
    data: "list[MetricRow]"
    has_more: "bool"
    next_cursor: "str | None"
    next_after: "int"
    findings: "list[ProblemError]"


class MishLayer(TypedDict):
    """x tanh(softplus(x))."""

    layer: 'Literal["mish"]'
    name: NotRequired["str"]


class MixupLayer(TypedDict):
    """Mix each example with the next of the batch in training, and its `target` in the same proportions."""

    layer: 'Literal["mixup"]'
    name: NotRequired["str"]
    target: "str"
    classes: NotRequired["int | None"]
    alpha: NotRequired["float"]


class MseLossLoss(TypedDict):
    """Squared error (x - target)², times the `weight` of each element where given (it broadcasts to x)."""

    kind: 'Literal["mse_loss", "mse"]'
    target: NotRequired["Any"]
    weight: NotRequired["Any"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class MultiHeadAttentionLayer(TypedDict):
    """Multi-head attention over [rows, steps, width] (Vaswani et al. 2017), initialised as torch.nn.MultiheadAttention."""

    layer: 'Literal["multi_head_attention"]'
    name: NotRequired["str"]
    heads: "int"
    causal: NotRequired["bool"]
    bias: NotRequired["bool"]
    dropout: NotRequired["float"]
    memory: NotRequired["str | None"]
    values: NotRequired["str | None"]
    mask: NotRequired["str | None"]
    padding_mask: NotRequired["str | None"]
    bias_kv: NotRequired["bool"]
    zero_attn: NotRequired["bool"]
    weights: NotRequired['Literal["none", "mean", "heads"]']


class MultiMarginLossLoss(TypedDict):
    """Mean over the classes j other than the target y of weight[y] max(0, margin - x[y] + x[j])^p."""

    kind: 'Literal["multi_margin_loss"]'
    target: NotRequired["Any"]
    weight: NotRequired["Any"]
    p: NotRequired["int"]
    margin: NotRequired["float"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class MultiStepSchedule(TypedDict):
    """base * gamma ** (the number of milestones up to t), as torch's MultiStepLR; a repeated milestone counts twice."""

    kind: 'Literal["multi_step"]'
    per: NotRequired['Literal["epoch", "step"]']
    milestones: "Sequence[int]"
    gamma: NotRequired["float"]


class MultilabelMarginLossLoss(TypedDict):
    """Sum over the target classes y and the others j of max(0, 1 - x[y] + x[j]), divided by the number of classes."""

    kind: 'Literal["multilabel_margin_loss"]'
    target: NotRequired["Any"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class MultilabelSoftMarginLossLoss(TypedDict):
    """Binary cross entropy of sigmoid(x) against targets 0 or 1, averaged over the classes on the last axis."""

    kind: 'Literal["multilabel_soft_margin_loss"]'
    target: NotRequired["Any"]
    weight: NotRequired["Any"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class MultiplicativeSchedule(TypedDict):
    """base * factor[0] * ... * factor[t - 1], as torch's MultiplicativeLR with a list of factors."""

    kind: 'Literal["multiplicative"]'
    per: NotRequired['Literal["epoch", "step"]']
    factor: "float | Sequence[float]"


class MuonOptimizer(TypedDict):
    """Momentum orthogonalised by Newton-Schulz steps (Jordan et al. 2024), as torch.optim.Muon; matrices only."""

    kind: 'Literal["muon"]'
    groups: NotRequired["Sequence[GroupChoice] | None"]
    lr: NotRequired["float"]
    maximize: NotRequired["bool"]
    weight_decay: NotRequired["float"]
    momentum: NotRequired["float"]
    nesterov: NotRequired["bool"]
    ns_coefficients: NotRequired["Sequence[float]"]
    eps: NotRequired["float"]
    ns_steps: NotRequired["int"]
    adjust_lr_fn: NotRequired['Literal["original", "match_rms_adamw"]']


class NadamOptimizer(TypedDict):
    """Adam with Nesterov momentum (Dozat 2016), semantics of torch.optim.NAdam."""

    kind: 'Literal["nadam"]'
    groups: NotRequired["Sequence[GroupChoice] | None"]
    lr: NotRequired["float"]
    maximize: NotRequired["bool"]
    betas: NotRequired["Sequence[float]"]
    eps: NotRequired["float"]
    weight_decay: NotRequired["float"]
    momentum_decay: NotRequired["float"]
    decoupled: NotRequired["bool"]


class NewApiKey(TypedDict):
    """A new API key with its secret."""

    id: "str"
    object: 'Literal["key"]'
    tenant: "str"
    name: "str"
    scopes: 'list[Literal["read", "train", "admin"]]'
    created_at: "str"
    expires_at: "str | None"
    revoked_at: "str | None"
    used_at: "str | None"
    key: "str"
    closed_server: "bool"


class NewGraphRequest(TypedDict):
    """Creates an empty graph in the session (ggml_new_graph_custom)."""

    seq: NotRequired["int | None"]
    name: "str"
    size: NotRequired["int"]
    grads: NotRequired["bool"]
    order: NotRequired['Literal["left_to_right", "right_to_left"]']


class NllLossLoss(TypedDict):
    """Negative log-likelihood of classes; as cross_entropy, but the input already holds log-probabilities."""

    kind: 'Literal["nll_loss", "nll"]'
    target: NotRequired["Any"]
    weight: NotRequired["Any"]
    ignore_index: NotRequired["int"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class NodeInput(TypedDict):
    """The inputs of a node."""

    name: "str"
    shape: "list[int]"
    dtype: "str"
    min: "float | None"
    max: "float | None"
    nonfinite: "dict[str, str]"
    nan: "int"
    inf: "int"


class NoiseChoice(TypedDict):
    """Normal noise of variance eta / (1 + t) ** gamma on the gradients of step t (Neelakantan et al. 2015)."""

    eta: NotRequired["float | None"]
    gamma: NotRequired["float | None"]


class NonfiniteArray(TypedDict):
    """A leaf or node that holds NaN or infinity."""

    name: "str"
    kind: 'Literal["input", "parameter", "buffer", "node"]'
    phase: 'Literal["forward", "backward"] | None'
    op: "str | None"
    shape: "list[int]"
    dtype: "str"
    nan: "int"
    inf: "int"
    index: "list[int]"
    value: "str"
    inputs: "list[NodeInput]"


class NonfiniteTrace(TypedDict):
    """Origin of the first non-finite value of a step."""

    finite: "bool"
    first: "NonfiniteArray | None"


class NormalInitializer(TypedDict):
    """Normal with `mean` and standard deviation `std`."""

    kind: 'Literal["normal"]'
    mean: NotRequired["float"]
    std: NotRequired["float"]


class NormalRowsInitializer(TypedDict):
    """Standard normal except for the row `zero_row`, which is 0: a table with a row for padding."""

    kind: 'Literal["normal_rows"]'
    zero_row: "int"


class NormalizeChoice(TypedDict):
    """How an input is shifted and scaled, by statistics of its training rows; predictions do the same."""

    kind: 'Literal["standard", "minmax", "robust"]'
    center: NotRequired["bool | None"]
    scale: NotRequired["bool | None"]
    low: NotRequired["float | None"]
    high: NotRequired["float | None"]
    lower: NotRequired["float | None"]
    upper: NotRequired["float | None"]


class NormalizeLayer(TypedDict):
    """x divided by its p-norm over `axis`, or by eps where that is larger (as in PyTorch)."""

    layer: 'Literal["normalize"]'
    name: NotRequired["str"]
    p: NotRequired['float | Literal["inf", "-inf"]']
    axis: NotRequired["int | Sequence[int] | None"]
    eps: NotRequired["float"]


class NumberTransform(TypedDict):
    """Numbers as numbers: one value for each element of a row, and one more with `indicator`."""

    kind: 'Literal["number"]'
    column: NotRequired["str"]
    columns: NotRequired["Sequence[str]"]
    label: NotRequired["str"]
    labels: NotRequired["Sequence[str]"]
    impute: NotRequired['Literal["mean", "median", "most_frequent", "constant"] | None']
    value: NotRequired["float"]
    indicator: NotRequired["bool"]
    scale: NotRequired['Literal["none", "standard", "minmax", "robust", "log", "quantile"]']


class OneCycleSchedule(TypedDict):
    """From max_lr / div_factor up to max_lr, then down to that start / final_div_factor, as torch's OneCycleLR."""

    kind: 'Literal["one_cycle"]'
    per: NotRequired['Literal["epoch", "step"]']
    total_steps: "int"
    max_lr: NotRequired["float | None"]
    pct_start: NotRequired["float"]
    anneal_strategy: NotRequired['Literal["cos", "linear"]']
    div_factor: NotRequired["float"]
    final_div_factor: NotRequired["float"]
    three_phase: NotRequired["bool"]
    cycle_momentum: NotRequired["bool"]
    base_momentum: NotRequired["float"]
    max_momentum: NotRequired["float"]


class OnesInitializer(TypedDict):
    """All 1."""

    kind: 'Literal["ones"]'


class OpEntry(TypedDict):
    """An op with its inputs and attributes; or one of another framework that is not supported, and why."""

    name: "str"
    supported: "bool"
    reason: "str | None"
    instead: "str | None"
    aliases: "list[str]"
    family: "str"
    doc: "str"
    inputs: "list[OpInput]"
    attrs: "list[CatalogueAttribute]"
    outputs: 'Literal["one", "several"]'
    output_count: "int | None"
    output_names: "list[str]"
    differentiable: "bool"
    no_gradient: "str | None"
    gradient_notes: "dict[str, str]"
    second_order: 'Literal["rule", "composition"] | None'
    data_dependent: "bool"


class OpInput(TypedDict):
    """An input of an op."""

    name: "str"
    role: "str"
    required: "bool"
    variadic: "bool"
    gradient: "bool"


class OpList(TypedDict):
    """Every op, in the order of the families; at the end those that are not supported."""

    object: 'Literal["list"]'
    data: "list[OpEntry]"
    has_more: "bool"
    next_cursor: NotRequired["None"]


class Operation(TypedDict):
    """An accepted step and its result."""

    id: NotRequired["str | None"]
    seq: "int"
    done: "bool"
    answer: NotRequired["dict[str, Any] | None"]
    error: NotRequired["StepProblem | None"]


class OptStepAdamwRequest(TypedDict):
    """Appends an AdamW update for each parameter, which runs with every complete computation"""

    seq: NotRequired["int | None"]
    graph: NotRequired["str"]
    parameters: NotRequired["Sequence[str] | None"]
    pars: "Sequence[float]"


class OptStepSgdRequest(TypedDict):
    """Appends an SGD update for each parameter, which runs with every complete computation (ggml_opt_step_sgd)."""

    seq: NotRequired["int | None"]
    graph: NotRequired["str"]
    parameters: NotRequired["Sequence[str] | None"]
    pars: "Sequence[float]"


class OptimStepAnswer(TypedDict):
    """The result of an optimizer step."""

    seq: "int | None"
    grad_norm: "float | None"
    grad_norms: "dict[str, float | None]"
    nonfinite: "dict[str, str]"
    step: "int"
    clipped: "bool"
    taken: "bool"


class OptimStepRequest(TypedDict):
    """Updates the parameters that have gradients, and clears the gradients."""

    seq: NotRequired["int | None"]
    groups: NotRequired["Sequence[Mapping[str, Any]] | None"]


OptimizerChoice = Union[
    "SgdOptimizer",
    "AdamOptimizer",
    "AdamwOptimizer",
    "AdagradOptimizer",
    "RmspropOptimizer",
    "AdadeltaOptimizer",
    "AdamaxOptimizer",
    "NadamOptimizer",
    "RadamOptimizer",
    "RpropOptimizer",
    "AsgdOptimizer",
    "LionOptimizer",
    "LarsOptimizer",
    "LambOptimizer",
    "AdafactorOptimizer",
    "MuonOptimizer",
    "ChainOptimizer",
    "LbfgsOptimizer",
]


OptimizerKind = Literal[
    "sgd",
    "adam",
    "adamw",
    "adagrad",
    "rmsprop",
    "adadelta",
    "adamax",
    "nadam",
    "radam",
    "rprop",
    "asgd",
    "lion",
    "lars",
    "lamb",
    "adafactor",
    "muon",
    "chain",
    "lbfgs",
]


class OrderWant(TypedDict):
    """All derivatives of an order, of the shape [of..., by..., by..., ...]."""

    derivative: "DerivativeSpec"


class OrthogonalInitializer(TypedDict):
    """Rows or columns of a random orthogonal matrix, times `scale` (Saxe et al. 2014)."""

    kind: 'Literal["orthogonal"]'
    scale: NotRequired["float"]


class OverheadAnswer(TypedDict):
    """Memory used by graphs and tensors in a context."""

    seq: "int | None"
    size: "int"
    grads: "bool"
    graph_overhead: "int"
    tensor_overhead: "int"
    used_mem: "int"
    mem_size: "int | None"
    no_alloc: "bool"


class ParallelLayer(TypedDict):
    """The outputs of several layers of x, concatenated on `axis` or combined elementwise."""

    layer: 'Literal["parallel"]'
    name: NotRequired["str"]
    layers: "Sequence[LayerKind | LayerChoice]"
    join: NotRequired['Literal["concat", "sum", "mean", "product"]']
    axis: NotRequired["int"]


class ParameterList(TypedDict):
    """The parameters of a checkpoint."""

    object: 'Literal["list"]'
    data: "list[ParameterSummary]"


class ParameterSummary(TypedDict):
    """A parameter without its numbers."""

    name: "str"
    dtype: "str"
    shape: "list[int]"


class PausedAnswer(TypedDict):
    """State of the pool."""

    seq: "int | None"
    paused: "bool"


class PermuteLayer(TypedDict):
    """Permute the axes: axis k of the result is axis axes[k] of x; the first axis, that of rows, is fixed."""

    layer: 'Literal["permute"]'
    name: NotRequired["str"]
    axes: "Sequence[int]"


class PerplexityMetric(TypedDict):
    """exp of the mean over all rows (tokens) of -log p(target), without class weights and label smoothing."""

    kind: 'Literal["perplexity"]'
    name: NotRequired["str | None"]
    predictions: NotRequired["str | None"]
    targets: NotRequired["str | None"]
    form: NotRequired[
        'Literal["class_logits", "class_log_probabilities", "class_probabilities", "class_scores", "binary_logits", "binary_probabilities", "numbers"] | None'
    ]
    ignore_index: NotRequired["int | None"]


class PixelShuffleLayer(TypedDict):
    """[..., C r², H, W] as [..., C, H r, W r] for the factor r: channels become pixels (Shi et al. 2016)."""

    layer: 'Literal["pixel_shuffle"]'
    name: NotRequired["str"]
    factor: "int"


class PixelUnshuffleLayer(TypedDict):
    """[..., C, H r, W r] as [..., C r², H, W] for the factor r: pixels become channels, pixel_shuffle undone."""

    layer: 'Literal["pixel_unshuffle"]'
    name: NotRequired["str"]
    factor: "int"


class PoissonNllLossLoss(TypedDict):
    """exp(x) - target x, or x - target log(x + eps) without `log_input`: the likelihood of counts (Poisson)."""

    kind: 'Literal["poisson_nll_loss"]'
    target: NotRequired["Any"]
    log_input: NotRequired["bool"]
    full: NotRequired["bool"]
    eps: NotRequired["float"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class PolynomialSchedule(TypedDict):
    """base * (1 - min(t, total_iters) / total_iters) ** power, as torch's PolynomialLR."""

    kind: 'Literal["polynomial"]'
    per: NotRequired['Literal["epoch", "step"]']
    total_iters: NotRequired["int"]
    power: NotRequired["float"]


class PrecisionMetric(TypedDict):
    """Share of the rows predicted as a class that belong to it; 0 without predictions."""

    kind: 'Literal["precision"]'
    name: NotRequired["str | None"]
    predictions: NotRequired["str | None"]
    targets: NotRequired["str | None"]
    form: NotRequired[
        'Literal["class_logits", "class_log_probabilities", "class_probabilities", "class_scores", "binary_logits", "binary_probabilities", "numbers"] | None'
    ]
    ignore_index: NotRequired["int | None"]
    threshold: NotRequired["float"]
    average: NotRequired['Literal["binary", "macro", "micro", "weighted"] | None']
    per_class: NotRequired["bool"]


class PredictRequest(TypedDict):
    """Rows to predict: inputs, or rows of a dataset. Give one of the two; the other fields are for a dataset."""

    start: NotRequired["int | None"]
    stop: NotRequired["int | None"]
    threshold: NotRequired["float | None"]
    id_column: NotRequired["str | None"]
    probabilities: NotRequired["bool | None"]
    top_k: NotRequired["int | None"]
    raw: NotRequired["bool | None"]
    inputs: NotRequired["Mapping[str, Any] | None"]
    dataset: NotRequired["str | Sequence[str] | InlineDataset"]
    feeds: NotRequired["Mapping[str, str] | None"]


class Prediction(TypedDict):
    """The outputs by name."""

    outputs: "dict[str, Tensor]"
    classes: "dict[str, list[str]]"


class PreluLayer(TypedDict):
    """x where x > 0, else weight x, with one learnable slope, or one per channel (axis 1; He et al. 2015)."""

    layer: 'Literal["prelu"]'
    name: NotRequired["str"]
    channels: NotRequired["int"]
    init: NotRequired["float"]


class Problem(TypedDict):
    """An error and what to change (RFC 9457)."""

    type: "str"
    title: "str"
    status: "int"
    detail: "str"
    instance: "str"
    code: "str"
    request_id: "str"
    errors: "list[LocatedProblemError]"
    limit: NotRequired["int | None"]
    expected_seq: NotRequired["int | None"]


class ProblemError(TypedDict):
    """One fault in a request."""

    pointer: "str"
    code: "str"
    detail: "str"


class Profile(TypedDict):
    """A training step node by node, in the order of execution. A fit takes less: it fuses nodes and reuses memory."""

    object: 'Literal["list"]'
    data: "list[ProfiledNode]"
    seconds: "float"
    phase_seconds: "dict[str, float]"
    peak_bytes: "int"
    flops: "int"


class ProfileHistogram(TypedDict):
    """Counts of values between edges, one more than counts; the last bin has both."""

    edges: "list[float]"
    counts: "list[int]"


class ProfileRequest(TypedDict):
    """A training step to be measured."""

    inputs: NotRequired["Mapping[str, Any] | None"]
    parameters: NotRequired["Mapping[str, Any] | None"]
    buffers: NotRequired["Mapping[str, Any] | None"]
    seed: NotRequired["int | None"]
    optimizer: NotRequired["str | Mapping[str, Any] | None"]
    repeats: NotRequired["int | None"]


class ProfiledNode(TypedDict):
    """A node of a step, run by its NumPy kernel."""

    name: "str"
    op: "str"
    phase: 'Literal["forward", "backward", "update"]'
    shape: "list[int]"
    dtype: "str"
    seconds: "float"
    bytes: "int"
    bytes_read: "int"
    live_bytes: "int"
    flops: "int"


class ProposedColumns(TypedDict):
    """Proposed preprocessing of each column; it can be used, changed or not, as `columns` of a fit."""

    columns: "dict[str, list[dict[str, Any]]]"
    left_out: "dict[str, str]"


class QuantileValue(TypedDict):
    """A value that occurs, at or below which a share of all values lies."""

    share: "float"
    value: "int | float"


class QueueCounts(TypedDict):
    """Numbers of queued and running fits."""

    queued: "int"
    running: "int"


class R2Metric(TypedDict):
    """Coefficient of determination: 1 - squared errors / squared deviations of the targets from their mean."""

    kind: 'Literal["r2"]'
    name: NotRequired["str | None"]
    predictions: NotRequired["str | None"]
    targets: NotRequired["str | None"]
    form: NotRequired[
        'Literal["class_logits", "class_log_probabilities", "class_probabilities", "class_scores", "binary_logits", "binary_probabilities", "numbers"] | None'
    ]
    average: NotRequired['Literal["uniform", "weighted"]']


class RadamOptimizer(TypedDict):
    """Adam whose first steps do not divide, and later ones are rectified (Liu et al. 2020), as torch.optim.RAdam."""

    kind: 'Literal["radam"]'
    groups: NotRequired["Sequence[GroupChoice] | None"]
    lr: NotRequired["float"]
    maximize: NotRequired["bool"]
    betas: NotRequired["Sequence[float]"]
    eps: NotRequired["float"]
    weight_decay: NotRequired["float"]
    decoupled: NotRequired["bool"]


class RandomAffineLayer(TypedDict):
    """Images x [N, C, H, W], each turned, shifted and magnified in training by amounts drawn uniformly."""

    layer: 'Literal["random_affine"]'
    name: NotRequired["str"]
    degrees: NotRequired["float | Sequence[float]"]
    translate: NotRequired["Sequence[float]"]
    scale: NotRequired["Sequence[float]"]
    interpolation: NotRequired['Literal["nearest", "bilinear"]']
    fill: NotRequired["float"]


class RandomCropLayer(TypedDict):
    """A window of `size` (height and width, or one number for both) of each image x [N, C, H, W]."""

    layer: 'Literal["random_crop"]'
    name: NotRequired["str"]
    size: "int | Sequence[int]"
    padding: NotRequired["int | Sequence[int]"]
    fill: NotRequired["float"]


class RandomErasingLayer(TypedDict):
    """Images x [N, C, H, W], each with probability p with `value` in a random rectangle in training."""

    layer: 'Literal["random_erasing"]'
    name: NotRequired["str"]
    p: NotRequired["float"]
    scale: NotRequired["Sequence[float]"]
    ratio: NotRequired["Sequence[float]"]
    value: NotRequired["float"]


class RandomHorizontalFlipLayer(TypedDict):
    """Images x [N, C, H, W], each mirrored left to right with probability p in training."""

    layer: 'Literal["random_horizontal_flip"]'
    name: NotRequired["str"]
    p: NotRequired["float"]


class RandomMaskingLayer(TypedDict):
    """Sequences x [N, T, ...] of numbers or token ids with `value` in each step with probability p in training."""

    layer: 'Literal["random_masking"]'
    name: NotRequired["str"]
    p: NotRequired["float"]
    value: NotRequired["float"]


class RandomRotationLayer(TypedDict):
    """Images x [N, C, H, W], each turned about its centre in training, by an angle drawn uniformly from `degrees`."""

    layer: 'Literal["random_rotation"]'
    name: NotRequired["str"]
    degrees: "float | Sequence[float]"
    interpolation: NotRequired['Literal["nearest", "bilinear"]']
    fill: NotRequired["float"]


class RandomVerticalFlipLayer(TypedDict):
    """Images x [N, C, H, W], each turned upside down with probability p in training."""

    layer: 'Literal["random_vertical_flip"]'
    name: NotRequired["str"]
    p: NotRequired["float"]


class RankedVariant(TypedDict):
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


class Readiness(TypedDict):
    """A server that accepts work. Where several share a database: which one it is, and which one runs the fits."""

    status: 'Literal["ready"]'
    server: NotRequired["str | None"]
    leader: NotRequired["str | None"]
    leader_heartbeat_seconds: NotRequired["float | None"]


class RecallMetric(TypedDict):
    """Share of the rows of a class that are predicted as it; 0 without such rows."""

    kind: 'Literal["recall"]'
    name: NotRequired["str | None"]
    predictions: NotRequired["str | None"]
    targets: NotRequired["str | None"]
    form: NotRequired[
        'Literal["class_logits", "class_log_probabilities", "class_probabilities", "class_scores", "binary_logits", "binary_probabilities", "numbers"] | None'
    ]
    ignore_index: NotRequired["int | None"]
    threshold: NotRequired["float"]
    average: NotRequired['Literal["binary", "macro", "micro", "weighted"] | None']
    per_class: NotRequired["bool"]


class RecomputeChoice(TypedDict):
    """Pieces of the graph that are computed again in the backward pass, to save memory: segments or match."""

    segments: NotRequired["int | None"]
    match: NotRequired["Sequence[str] | None"]


class RecordChoice(TypedDict):
    """Steps that are recorded as metric rows, and their values."""

    every_steps: NotRequired["int | None"]
    gradient_norms: NotRequired["bool | None"]
    weight_norms: NotRequired["bool | None"]
    epochs: NotRequired["bool | None"]
    gradients: NotRequired["GradientsChoice | None"]


class Recovery(TypedDict):
    """Results of the recovery when the server started."""

    at: "str"
    attempts_lost: "int"
    orphan_blobs: "int"
    temporary_files: "int"
    staging_folders: "int"
    session_folders: "int"
    damaged_checkpoints: "int"
    quarantined: "int"
    returned: "int"


class ReduceOnPlateauSchedule(TypedDict):
    """The rate times factor when the metric has not improved for more than patience, as torch's ReduceLROnPlateau."""

    kind: 'Literal["reduce_on_plateau"]'
    per: NotRequired['Literal["epoch", "step"]']
    monitor: NotRequired['Literal["val_loss", "loss"] | None']
    mode: NotRequired['Literal["min", "max"]']
    factor: NotRequired["float"]
    patience: NotRequired["int"]
    threshold: NotRequired["float"]
    threshold_mode: NotRequired['Literal["rel", "abs"]']
    cooldown: NotRequired["int"]
    min_lr: NotRequired["float"]
    eps: NotRequired["float"]


class ReflectionPad1dLayer(TypedDict):
    """Surround the 1 spatial axis of [batch, channels, ...] with its own elements mirrored at the outermost."""

    layer: 'Literal["reflection_pad1d"]'
    name: NotRequired["str"]
    padding: "int | Sequence[int]"


class ReflectionPad2dLayer(TypedDict):
    """Surround the 2 spatial axes of [batch, channels, ...] with its own elements mirrored at the outermost."""

    layer: 'Literal["reflection_pad2d"]'
    name: NotRequired["str"]
    padding: "int | Sequence[int]"


class ReflectionPad3dLayer(TypedDict):
    """Surround the 3 spatial axes of [batch, channels, ...] with its own elements mirrored at the outermost."""

    layer: 'Literal["reflection_pad3d"]'
    name: NotRequired["str"]
    padding: "int | Sequence[int]"


class RegluLayer(TypedDict):
    """relu(gate) x; packed, the gate is the first half along `axis`, or the second one when `swapped` (as in ggml)."""

    layer: 'Literal["reglu"]'
    name: NotRequired["str"]
    axis: NotRequired["int"]
    swapped: NotRequired["bool"]


class RegressionReport(TypedDict):
    """Errors (prediction - target) over all elements, in the units of the data; null where not finite."""

    elements: "int"
    mean_error: "float | None"
    mean_absolute_error: "float | None"
    root_mean_squared_error: "float | None"
    largest_error: "float | None"
    error_quantiles: "list[ErrorQuantile]"


class Relu6Layer(TypedDict):
    """min(max(x, 0), 6); the gradient at 0 and at 6 is 0."""

    layer: 'Literal["relu6"]'
    name: NotRequired["str"]


class ReluLayer(TypedDict):
    """max(x, 0); the gradient at 0 is 0."""

    layer: 'Literal["relu"]'
    name: NotRequired["str"]


class ReplayRequest(TypedDict):
    """A fit to run again: one of this server, or a bundle of any."""

    fit: NotRequired["str | None"]
    bundle: NotRequired["Bundle | None"]
    labels: NotRequired["Mapping[str, str] | None"]
    resources: NotRequired["ReplayResources | None"]


class ReplayResources(TypedDict):
    """Resources of a replay; executor and threads are those of the original fit."""

    priority: NotRequired['Literal["low", "normal", "high"] | None']


class ReplayVerdict(TypedDict):
    """Whether the results are equal bit for bit."""

    bit_exact: "bool"
    differences: "list[str]"
    first_row: "int | None"


class ReplicationPad1dLayer(TypedDict):
    """Surround the 1 spatial axis of [batch, channels, ...] with copies of the outermost element."""

    layer: 'Literal["replication_pad1d"]'
    name: NotRequired["str"]
    padding: "int | Sequence[int]"


class ReplicationPad2dLayer(TypedDict):
    """Surround the 2 spatial axes of [batch, channels, ...] with copies of the outermost element."""

    layer: 'Literal["replication_pad2d"]'
    name: NotRequired["str"]
    padding: "int | Sequence[int]"


class ReplicationPad3dLayer(TypedDict):
    """Surround the 3 spatial axes of [batch, channels, ...] with copies of the outermost element."""

    layer: 'Literal["replication_pad3d"]'
    name: NotRequired["str"]
    padding: "int | Sequence[int]"


class ResetRequest(TypedDict):
    """Sets the gradients to zero, reinitialises the optimizer state, or both."""

    seq: NotRequired["int | None"]
    gradients: NotRequired["bool"]
    momenta: NotRequired["bool"]


class ReshapeLayer(TypedDict):
    """Reshape each row (everything but the first axis)."""

    layer: 'Literal["reshape"]'
    name: NotRequired["str"]
    shape: "Sequence[int]"


class ResidualLayer(TypedDict):
    """The output of a list of layers with x added (He et al. 2016); the layers as in sequential."""

    layer: 'Literal["residual"]'
    name: NotRequired["str"]
    layers: "Sequence[LayerKind | LayerChoice]"
    projection: NotRequired['Literal["none", "linear", "convolution"]']
    stride: NotRequired["int | Sequence[int]"]
    bias: NotRequired["bool"]


class ResourceChanges(TypedDict):
    """Changes to the resources of a fit; null sets the default."""

    priority: NotRequired['Literal["low", "normal", "high"] | None']
    threads: NotRequired["int | None"]
    timeout_seconds: NotRequired["float | None"]
    deadline: NotRequired["str | None"]


class ResourcesChoice(TypedDict):
    """Resources of the machine that the fit uses."""

    priority: NotRequired['Literal["low", "normal", "high"]']
    executor: NotRequired['Literal["auto", "numpy", "native"] | None']
    threads: NotRequired["int | None"]
    affinity: NotRequired["Sequence[int] | None"]
    replicas: NotRequired["int | None"]
    placement: NotRequired['Literal["node", "pack", "spread"] | None']
    timeout_seconds: NotRequired["float | None"]
    deadline: NotRequired["str | None"]


class RmsNormLayer(TypedDict):
    """Divide by the root of the mean square over the last `axes` axes, then scale (Zhang and Sennrich 2019)."""

    layer: 'Literal["rms_norm"]'
    name: NotRequired["str"]
    axes: NotRequired["int"]
    eps: NotRequired["float | None"]
    affine: NotRequired["bool"]


class RmseMetric(TypedDict):
    """Square root of the mean squared error (prediction - target)² over all elements. Without elements: NaN."""

    kind: 'Literal["rmse"]'
    name: NotRequired["str | None"]
    predictions: NotRequired["str | None"]
    targets: NotRequired["str | None"]
    form: NotRequired[
        'Literal["class_logits", "class_log_probabilities", "class_probabilities", "class_scores", "binary_logits", "binary_probabilities", "numbers"] | None'
    ]


class RmspropOptimizer(TypedDict):
    """Steps divided by the root of the running mean of squares (Hinton 2012), semantics of torch.optim.RMSprop."""

    kind: 'Literal["rmsprop"]'
    groups: NotRequired["Sequence[GroupChoice] | None"]
    lr: NotRequired["float"]
    maximize: NotRequired["bool"]
    alpha: NotRequired["float"]
    eps: NotRequired["float"]
    weight_decay: NotRequired["float"]
    momentum: NotRequired["float"]
    centered: NotRequired["bool"]


class RnnLayer(TypedDict):
    """Elman recurrent layers over [batch, steps, width]: all outputs [batch, steps, directions * units], or the last."""

    layer: 'Literal["rnn"]'
    name: NotRequired["str"]
    units: "int"
    layers: NotRequired["int"]
    bidirectional: NotRequired["bool"]
    bias: NotRequired["bool"]
    dropout: NotRequired["float"]
    nonlinearity: NotRequired['Literal["tanh", "relu"]']
    result: NotRequired['Literal["sequence", "last"]']
    lengths: NotRequired["str | None"]


class RocCurve(TypedDict):
    """The ROC curve of a class against all others."""

    name: "str"
    auc: "float"
    exact: "bool"
    points: "list[RocPoint]"


class RocPoint(TypedDict):
    """A point of a ROC curve; the first one has no threshold."""

    false_positive_rate: "float"
    true_positive_rate: "float"
    threshold: "float | None"


class RotaryPositionsLayer(TypedDict):
    """Turn pairs of features of [rows, steps, width] by angles that grow with the step (Su et al. 2021)."""

    layer: 'Literal["rotary_positions"]'
    name: NotRequired["str"]
    heads: NotRequired["int"]
    dims: NotRequired["int | None"]
    base: NotRequired["float"]
    mode: NotRequired['Literal["normal", "neox"]']


class RowLoss(TypedDict):
    """The loss of a row; one that is not finite is null and named."""

    row: "int"
    loss: "float | None"
    nonfinite: "str | None"


class RowLosses(TypedDict):
    """The loss of each row of a batch by itself, in evaluation mode."""

    losses: "list[float | None]"
    nonfinite: "dict[str, str]"
    top: "list[RowLoss]"


class RowLossesRequest(TypedDict):
    """A batch whose rows are looked at one by one."""

    inputs: NotRequired["Mapping[str, Any] | None"]
    parameters: NotRequired["Mapping[str, Any] | None"]
    buffers: NotRequired["Mapping[str, Any] | None"]
    seed: NotRequired["int | None"]
    top: NotRequired["int | None"]


class RowPredictions(TypedDict):
    """Predictions for the rows of a dataset or a table, in their order."""

    object: 'Literal["predictions"]'
    checkpoint: "str"
    dataset: "str | list[str]"
    rows: "int"
    classes: "dict[str, list[str]]"
    data: "list[dict[str, Any]]"


class RowRange(TypedDict):
    """Rows by their position."""

    start: NotRequired["int"]
    stop: NotRequired["int | None"]


class RowsChoice(TypedDict):
    """Rows of a dataset: those of `indices`, or from `start` on to `stop`, which is left out."""

    dataset: NotRequired["str | None"]
    indices: NotRequired["Sequence[int] | None"]
    start: NotRequired["int | None"]
    stop: NotRequired["int | None"]


class RpropOptimizer(TypedDict):
    """Resilient backpropagation (Riedmiller and Braun 1993), semantics of torch.optim.Rprop; for whole-batch gradients."""

    kind: 'Literal["rprop"]'
    groups: NotRequired["Sequence[GroupChoice] | None"]
    lr: NotRequired["float"]
    maximize: NotRequired["bool"]
    etas: NotRequired["Sequence[float]"]
    step_sizes: NotRequired["Sequence[float]"]


class RreluLayer(TypedDict):
    """x where x > 0, else slope x: slopes drawn uniformly from lower..upper in training, their mean outside of it."""

    layer: 'Literal["rrelu"]'
    name: NotRequired["str"]
    lower: NotRequired["float"]
    upper: NotRequired["float"]


class SampleChoice(TypedDict):
    """Rows that are drawn without repetition; they keep their order."""

    rows: NotRequired["int | None"]
    fraction: NotRequired["float | None"]
    seed: NotRequired["int"]


class SamplingChoice(TypedDict):
    """Examples drawn for each epoch in proportion to weights."""

    weights: "str"
    of: NotRequired["str | None"]
    replacement: NotRequired["bool | None"]
    examples: NotRequired["int | None"]


class SaveRequest(TypedDict):
    """Stores parameters, buffers, optimizer state and gradients as a checkpoint."""

    seq: NotRequired["int | None"]


ScheduleChoice = Union[
    "ConstantSchedule",
    "StepSchedule",
    "CosineSchedule",
    "MultiplicativeSchedule",
    "MultiStepSchedule",
    "ConstantFactorSchedule",
    "LinearSchedule",
    "ExponentialSchedule",
    "PolynomialSchedule",
    "CosineWarmRestartsSchedule",
    "OneCycleSchedule",
    "CyclicSchedule",
    "ReduceOnPlateauSchedule",
    "SequentialSchedule",
    "ChainedSchedule",
    "WarmUpSchedule",
]


ScheduleKind = Literal[
    "constant",
    "step",
    "cosine",
    "multiplicative",
    "multi_step",
    "constant_factor",
    "linear",
    "exponential",
    "polynomial",
    "cosine_warm_restarts",
    "one_cycle",
    "cyclic",
    "reduce_on_plateau",
    "sequential",
    "chained",
    "warm_up",
]


class SelectRequest(TypedDict):
    """Which rows the new dataset has: those of the range that meet all conditions, or a sample of these."""

    rows: NotRequired["RowRange | None"]
    where: NotRequired["Sequence[ConditionChoice]"]
    sample: NotRequired["SampleChoice | None"]
    name: NotRequired["str | None"]


class SeluLayer(TypedDict):
    """Scaled elu that keeps mean 0 and variance 1 (Klambauer et al. 2017)."""

    layer: 'Literal["selu"]'
    name: NotRequired["str"]


class SequentialLayer(TypedDict):
    """A sequence of layers as one layer; each is a kind, or an object with layer, optionally a name, and options."""

    layer: 'Literal["sequential"]'
    name: NotRequired["str"]
    layers: "Sequence[LayerKind | LayerChoice]"


class SequentialSchedule(TypedDict):
    """One schedule after another, as torch's SequentialLR: each starts from base, with t 0, at its milestone."""

    kind: 'Literal["sequential"]'
    per: NotRequired['Literal["epoch", "step"]']
    schedules: "Sequence[ScheduleChoice]"
    milestones: "Sequence[int]"


class Server(TypedDict):
    """One of several servers that share a database."""

    id: "str"
    version: "str"
    leads: "bool"
    heartbeat_seconds: "float"


class Session(TypedDict):
    """A training session: a model whose steps the client requests."""

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
    created_at: "str"
    used_at: "str"
    expires_at: "str | None"
    finished_at: "str | None"
    error: "SessionError | None"
    checkpoint: "str | None"
    links: "SessionLinks"


class SessionError(TypedDict):
    """Why a session failed."""

    code: "str"
    detail: "str"


class SessionLinks(TypedDict):
    """Links of a session."""

    self: "str"
    parameters: "str"
    gradients: "str"
    buffers: "str"
    graph: "str"
    dataset: "str | None"
    checkpoint: "str | None"


class SessionList(TypedDict):
    """A page of sessions."""

    object: 'Literal["list"]'
    data: "list[Session]"
    has_more: "bool"
    next_cursor: "str | None"
    findings: "list[ProblemError]"


class SessionNonfiniteTrace(TypedDict):
    """Origin of the first non-finite value of a step."""

    finite: "bool"
    first: "NonfiniteArray | None"
    seq: "int | None"


class SessionPredictRequest(TypedDict):
    """Computes the outputs in evaluation mode. The state of the session does not change."""

    seq: NotRequired["int | None"]
    inputs: NotRequired["Mapping[str, Any] | None"]
    rows: NotRequired["RowsChoice | None"]
    feeds: NotRequired["Mapping[str, str] | None"]
    chunk: NotRequired["int | None"]


class SessionPrediction(TypedDict):
    """The outputs by name."""

    seq: "int | None"
    outputs: "dict[str, Tensor]"


class SessionProfile(TypedDict):
    """A training step node by node, in the order of execution."""

    object: 'Literal["list"]'
    data: "list[ProfiledNode]"
    seconds: "float"
    phase_seconds: "dict[str, float]"
    peak_bytes: "int"
    flops: "int"
    seq: "int | None"


class SessionProfileRequest(TypedDict):
    """Measures one training step node by node without changing the session."""

    seq: NotRequired["int | None"]
    inputs: NotRequired["Mapping[str, Any] | None"]
    rows: NotRequired["RowsChoice | None"]
    feeds: NotRequired["Mapping[str, str] | None"]


class SessionRequest(TypedDict):
    """A session: a graph or a checkpoint, and the optimizer that its steps use. Null stands for the default."""

    dims: NotRequired["Mapping[str, int] | None"]
    size: NotRequired["int | None"]
    grads: NotRequired["bool | None"]
    order: NotRequired['Literal["left_to_right", "right_to_left"] | None']
    mem_size: NotRequired["int | None"]
    no_alloc: NotRequired["bool | None"]
    training: NotRequired["bool | None"]
    threadpool: NotRequired["ThreadpoolChoice | None"]
    kind: NotRequired['Literal["training", "static"]']
    graph: NotRequired["str | GraphDefinition"]
    checkpoint: NotRequired["str | None"]
    restore: NotRequired['Literal["all", "parameters"] | None']
    optimizer: NotRequired["OptimizerKind | OptimizerChoice | None"]
    clip: NotRequired["ClipChoice | None"]
    seed: NotRequired["int | None"]
    precision: NotRequired['Literal["float32", "float64", "mixed_float16", "mixed_bfloat16"] | None']
    threads: NotRequired["int | None"]
    resources: NotRequired["SessionResourcesChoice | None"]
    dataset: NotRequired["str | None"]
    feeds: NotRequired["Mapping[str, str] | None"]
    classes: NotRequired["Mapping[str, Sequence[str] | ClassNamesChoice] | None"]
    name: NotRequired["str | None"]
    labels: NotRequired["Mapping[str, str] | None"]
    start_paused: NotRequired["bool | None"]
    ttl_seconds: NotRequired["float | None"]


class SessionResourcesChoice(TypedDict):
    """Resources of a session."""

    executor: NotRequired['Literal["auto", "numpy", "native"] | None']
    threads: NotRequired["int | None"]


class SessionRowLosses(TypedDict):
    """The loss of each row of a batch by itself, in evaluation mode."""

    losses: "list[float | None]"
    nonfinite: "dict[str, str]"
    top: "list[RowLoss]"
    seq: "int | None"


class SessionRowLossesRequest(TypedDict):
    """Computes the loss of every row individually in evaluation mode, and names the outliers."""

    seq: NotRequired["int | None"]
    inputs: NotRequired["Mapping[str, Any] | None"]
    rows: NotRequired["RowsChoice | None"]
    feeds: NotRequired["Mapping[str, str] | None"]
    top: NotRequired["int | None"]


SessionState = Literal["active", "paused", "closed", "expired", "failed"]


class SessionTraceRequest(TypedDict):
    """Runs one training step without changing the session, and names the first value that holds NaN or infinity."""

    seq: NotRequired["int | None"]
    inputs: NotRequired["Mapping[str, Any] | None"]
    rows: NotRequired["RowsChoice | None"]
    feeds: NotRequired["Mapping[str, str] | None"]


class SetLossRequest(TypedDict):
    """Marks scalars as losses of a graph; their gradients are summed (ggml_set_loss)."""

    seq: NotRequired["int | None"]
    graph: NotRequired["str"]
    names: "Sequence[str]"


class SetNameRequest(TypedDict):
    """Gives a tensor of a graph another name (ggml_set_name)."""

    seq: NotRequired["int | None"]
    graph: NotRequired["str"]
    tensor: "str"
    name: "str"


class SetParamRequest(TypedDict):
    """Marks leafs as parameters, before they are appended to a graph (ggml_set_param)."""

    seq: NotRequired["int | None"]
    names: "Sequence[str]"


class SetRequest(TypedDict):
    """Replaces the values of the named parameters: all of them, or none if one is invalid."""

    seq: NotRequired["int | None"]
    parameters: "Mapping[str, Any]"


class SgdOptimizer(TypedDict):
    """Stochastic gradient descent with momentum (Polyak 1964), semantics of torch.optim.SGD."""

    kind: 'Literal["sgd"]'
    groups: NotRequired["Sequence[GroupChoice] | None"]
    lr: NotRequired["float"]
    maximize: NotRequired["bool"]
    momentum: NotRequired["float"]
    dampening: NotRequired["float"]
    weight_decay: NotRequired["float"]
    decoupled: NotRequired["bool"]
    nesterov: NotRequired["bool"]


class ShuffleChoice(TypedDict):
    """The order of the examples of an epoch: random, random in groups, random within a window, or that of the data."""

    kind: NotRequired['Literal["rows", "shards", "window", "none"] | None']
    size: NotRequired["int | None"]


class SigmoidLayer(TypedDict):
    """Logistic function 1 / (1 + exp(-x))."""

    layer: 'Literal["sigmoid"]'
    name: NotRequired["str"]


class SiluLayer(TypedDict):
    """x sigmoid(x)."""

    layer: 'Literal["silu"]'
    name: NotRequired["str"]


class SinusoidalInitializer(TypedDict):
    """Positions [steps, width]: sin(t / base^(2i / width)) in feature 2i, cosine in 2i + 1 (Vaswani et al. 2017)."""

    kind: 'Literal["sinusoidal"]'
    base: NotRequired["float"]


class SinusoidalPositionsLayer(TypedDict):
    """Add sin(step / 10000^(2i / width)) to feature 2i and its cosine to 2i + 1 (Vaswani et al. 2017)."""

    layer: 'Literal["sinusoidal_positions"]'
    name: NotRequired["str"]


class SmoothL1LossLoss(TypedDict):
    """Absolute error, quadratic below |x - target| = beta: huber_loss / beta; with beta 0 it is l1_loss."""

    kind: 'Literal["smooth_l1_loss"]'
    target: NotRequired["Any"]
    beta: NotRequired["float"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class SoftMarginLossLoss(TypedDict):
    """log(1 + exp(-target x)), finite for any finite x; the target broadcasts to x."""

    kind: 'Literal["soft_margin_loss"]'
    target: NotRequired["Any"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class SoftmaxLayer(TypedDict):
    """exp(x) / sum(exp(x)) along `axis`; NaN where every element is -inf."""

    layer: 'Literal["softmax"]'
    name: NotRequired["str"]
    axis: NotRequired["int"]


class SoftminLayer(TypedDict):
    """softmax of -x along `axis`."""

    layer: 'Literal["softmin"]'
    name: NotRequired["str"]
    axis: NotRequired["int"]


class SoftplusLayer(TypedDict):
    """log(1 + exp(beta x)) / beta, a smooth relu; x itself where beta x > threshold."""

    layer: 'Literal["softplus"]'
    name: NotRequired["str"]
    beta: NotRequired["float"]
    threshold: NotRequired["float"]


class SoftshrinkLayer(TypedDict):
    """x moved towards 0 by lambd, and 0 where |x| <= lambd."""

    layer: 'Literal["softshrink"]'
    name: NotRequired["str"]
    lambd: NotRequired["float"]


class SoftsignLayer(TypedDict):
    """x / (1 + |x|)."""

    layer: 'Literal["softsign"]'
    name: NotRequired["str"]


class SparseInitializer(TypedDict):
    """Normal with deviation `std`, and in each column the share `sparsity` (rounded up) of rows 0 (Martens 2010)."""

    kind: 'Literal["sparse"]'
    sparsity: "float"
    std: NotRequired["float"]


class SplitRequest(TypedDict):
    """How to split a dataset. Rows keep their order; the same request gives the same parts."""

    test: "float | int"
    seed: NotRequired["int"]
    stratify: NotRequired["str | None"]
    name: NotRequired["str | None"]


class SqueezeLayer(TypedDict):
    """Drop the axis `axis`, whose extent is 1, such as the last one of predictions [rows, 1]."""

    layer: 'Literal["squeeze"]'
    name: NotRequired["str"]
    axis: NotRequired["int"]


class Status(TypedDict):
    """The status of the server."""

    status: 'Literal["ok", "ready"]'


class StepAnswer(TypedDict):
    """A step was executed."""

    seq: "int | None"


class StepProblem(TypedDict):
    """Why a step was not executed."""

    status: "int"
    code: "str"
    title: NotRequired["str | None"]
    detail: "str"
    expected_seq: NotRequired["int | None"]
    errors: "list[ProblemError]"


class StepSchedule(TypedDict):
    """base * gamma ** (t // step_size), as torch's StepLR."""

    kind: 'Literal["step"]'
    per: NotRequired['Literal["epoch", "step"]']
    step_size: "int"
    gamma: NotRequired["float"]


class SweepChoice(TypedDict):
    """Variants of one fit, which differ in a few fields; each is a fit of its own."""

    kind: 'Literal["grid", "random", "halving"]'
    parameters: "Mapping[str, Sequence[Any] | IntervalChoice]"
    samples: NotRequired["int | None"]
    seed: NotRequired["int | None"]
    eta: NotRequired["int | None"]
    min_steps: NotRequired["int | None"]
    monitor: NotRequired["str | None"]
    mode: NotRequired['Literal["min", "max"] | None']


class SweepSummary(TypedDict):
    """Progress of the variants of a fit."""

    kind: 'Literal["grid", "random", "halving"]'
    monitor: "str"
    mode: 'Literal["min", "max"]'
    rungs: "list[int]"
    variants: "int"
    states: "dict[str, int]"
    ranking: "list[RankedVariant]"


class SwigluLayer(TypedDict):
    """silu(gate) x; packed, the gate is the first half along `axis`, or the second one when `swapped` (as in ggml)."""

    layer: 'Literal["swiglu"]'
    name: NotRequired["str"]
    axis: NotRequired["int"]
    swapped: NotRequired["bool"]


class SystemOverview(TypedDict):
    """Versions, space, queue, workers and limits."""

    version: "str"
    python: "str"
    numpy: "str"
    blas: "Blas"
    fingerprint: "dict[str, Any]"
    executors: "list[str]"
    cores: "Cores"
    data_dir_free_bytes: "int"
    stored_bytes: "int"
    quarantine_bytes: "int"
    recovery: "Recovery | None"
    queue: "QueueCounts"
    workers: "list[Worker]"
    memory: "Memory"
    tenant: "TenantQuotas"
    limits: "Limits"
    server: "str | None"
    servers: "list[Server]"


class TabularLayer(TypedDict):
    """Embeddings of categories, concatenated with the numbers x [batch, n], and dense layers of `units`."""

    layer: 'Literal["tabular"]'
    name: NotRequired["str"]
    categories: NotRequired["str | None"]
    rows: NotRequired["Sequence[int]"]
    embedding_width: NotRequired["int | None"]
    units: NotRequired["Sequence[int]"]
    activation: NotRequired[
        'Literal["relu", "sigmoid", "tanh", "gelu", "silu", "softplus", "softmax", "log_softmax", "leaky_relu", "elu", "relu6", "celu", "selu", "mish", "softmin", "softsign", "logsigmoid", "hardsigmoid", "hardswish", "hardtanh", "hardshrink", "softshrink", "tanhshrink", "rrelu", "none"]'
    ]
    dropout: NotRequired["float"]
    embedding_dropout: NotRequired["float"]
    normalize: NotRequired["bool"]
    squeeze: NotRequired["bool"]


class TanhLayer(TypedDict):
    """Hyperbolic tangent."""

    layer: 'Literal["tanh"]'
    name: NotRequired["str"]


class TanhshrinkLayer(TypedDict):
    """x - tanh(x)."""

    layer: 'Literal["tanhshrink"]'
    name: NotRequired["str"]


class TargetProfile(TypedDict):
    """The column that is to be predicted."""

    column: "str"
    kind: 'Literal["class", "number"]'
    missing: "int"
    classes: "list[ValueCount]"


class TenantQuotas(TypedDict):
    """Usage and limits of the tenant of the key."""

    name: "str | None"
    queued: "int"
    queued_max: "int"
    running: "int"
    running_max: "int | None"
    sessions: "int"
    sessions_max: "int"
    stored_bytes: "int"
    stored_bytes_max: "int | None"


class Tensor(TypedDict):
    """An array: its elements in row-major order, null for one that is not finite."""

    dtype: "str"
    shape: "list[int]"
    data: "list[float | bool | None]"
    nonfinite: "dict[str, str]"


TensorInput = Any


class TensorList(TypedDict):
    """The arrays of a session, in the order of the graph."""

    object: 'Literal["list"]'
    data: "list[TensorStatistics | TensorSummary]"


class TensorSetRequest(TypedDict):
    """Writes data into leafs, gradient accumulators and seeds: all of them, or none if one is invalid."""

    seq: NotRequired["int | None"]
    graph: NotRequired["str"]
    tensors: NotRequired["Mapping[str, Any] | None"]
    accumulators: NotRequired["Mapping[str, Any] | None"]
    elements: NotRequired["Sequence[ElementChoice] | None"]


class TensorStatistics(TypedDict):
    """Statistics of an array of a session, computed in float64; null where there is no such gradient."""

    name: "str"
    shape: "list[int]"
    dtype: "str"
    norm: "float | None"
    nonfinite: NotRequired["dict[str, str]"]
    mean: "float | None"
    min: "float | None"
    max: "float | None"
    nan_count: "int | None"
    inf_count: "int | None"
    histogram: "Histogram | None"


class TensorSummary(TypedDict):
    """An array of a session without its numbers."""

    name: "str"
    shape: "list[int]"
    dtype: "str"
    norm: "float | None"
    nonfinite: NotRequired["dict[str, str]"]


class TextTransform(TypedDict):
    """Texts as sequences of integers of one `length`, for an embedding: 0 is padding, 1 what is not known."""

    kind: 'Literal["text"]'
    column: NotRequired["str"]
    columns: NotRequired["Sequence[str]"]
    label: NotRequired["str"]
    labels: NotRequired["Sequence[str]"]
    units: NotRequired['Literal["characters", "bytes", "words"]']
    length: NotRequired["int"]
    vocabulary: NotRequired["Sequence[str] | None"]
    max_vocabulary: NotRequired["int"]
    output: NotRequired['Literal["ids", "lengths"]']


class ThreadpoolAnswer(TypedDict):
    """The new thread pool."""

    seq: "int | None"
    threadpool: "ThreadpoolDescription"


class ThreadpoolChoice(TypedDict):
    """The fields of ggml_threadpool_params."""

    n_threads: NotRequired["int"]
    cpumask: NotRequired["Sequence[int] | Sequence[bool]"]
    prio: NotRequired['int | Literal["low", "normal", "medium", "high", "realtime"]']
    poll: NotRequired["int"]
    strict_cpu: NotRequired["bool"]
    paused: NotRequired["bool"]


class ThreadpoolDescription(TypedDict):
    """A thread pool."""

    n_threads: "int"
    cpumask: "list[int]"
    prio: "str"
    prio_applied: "bool"
    poll: "int"
    strict_cpu: "bool"
    paused: "bool"
    affinity: "list[list[int]]"
    warnings: "list[str]"


class ThreadpoolMatchRequest(TypedDict):
    """Returns whether the session's pool has the given parameters (ggml_threadpool_params_match)."""

    params: NotRequired["ThreadpoolChoice | None"]


class ThreadpoolNewRequest(TypedDict):
    """Creates a thread pool that replaces the session's present one (ggml_threadpool_new)."""

    seq: NotRequired["int | None"]
    params: NotRequired["ThreadpoolChoice | None"]


class ThreadpoolStepRequest(TypedDict):
    """Something done with the thread pool (ggml_threadpool_free, _pause, _resume)."""

    seq: NotRequired["int | None"]


class ThresholdLayer(TypedDict):
    """x where x > threshold (or is NaN), else `value`; integers stay integers."""

    layer: 'Literal["threshold"]'
    name: NotRequired["str"]
    threshold: "float"
    value: "float"


class TimeMaskingLayer(TypedDict):
    """Sequences x [N, T, ...], each with probability p with `value` in a random span of `axis` in training."""

    layer: 'Literal["time_masking"]'
    name: NotRequired["str"]
    longest: "int"
    axis: NotRequired["int"]
    p: NotRequired["float"]
    value: NotRequired["float"]


class TopKAccuracyMetric(TypedDict):
    """Share of rows whose target class is among the `k` classes with the highest scores; of ties the first ones."""

    kind: 'Literal["top_k_accuracy"]'
    name: NotRequired["str | None"]
    predictions: NotRequired["str | None"]
    targets: NotRequired["str | None"]
    form: NotRequired[
        'Literal["class_logits", "class_log_probabilities", "class_probabilities", "class_scores", "binary_logits", "binary_probabilities", "numbers"] | None'
    ]
    ignore_index: NotRequired["int | None"]
    k: NotRequired["int"]


class TraceNonfiniteRequest(TypedDict):
    """A training step that is searched for non-finite values."""

    inputs: NotRequired["Mapping[str, Any] | None"]
    parameters: NotRequired["Mapping[str, Any] | None"]
    buffers: NotRequired["Mapping[str, Any] | None"]
    seed: NotRequired["int | None"]
    training: NotRequired["bool | None"]


TransformChoice = Union["NumberTransform", "CategoryTransform", "DateTransform", "BooleanTransform", "TextTransform"]


class TransformerDecoderLayer(TypedDict):
    """A stack of transformer_decoder_layer that attend to `memory`, optionally with a final `norm`."""

    layer: 'Literal["transformer_decoder"]'
    name: NotRequired["str"]
    memory: "str"
    heads: "int"
    layers: "int"
    width: NotRequired["int"]
    dropout: NotRequired["float"]
    activation: NotRequired['Literal["relu", "gelu"]']
    eps: NotRequired["float"]
    norm_first: NotRequired["bool"]
    bias: NotRequired["bool"]
    norm: NotRequired["bool"]
    causal: NotRequired["bool"]
    mask: NotRequired["str | None"]
    padding_mask: NotRequired["str | None"]
    memory_mask: NotRequired["str | None"]
    memory_padding_mask: NotRequired["str | None"]


class TransformerDecoderLayerLayer(TypedDict):
    """Self-attention, attention to `memory` and two linear layers, each added to its input and normalised."""

    layer: 'Literal["transformer_decoder_layer"]'
    name: NotRequired["str"]
    memory: "str"
    heads: "int"
    width: NotRequired["int"]
    dropout: NotRequired["float"]
    activation: NotRequired['Literal["relu", "gelu"]']
    eps: NotRequired["float"]
    norm_first: NotRequired["bool"]
    bias: NotRequired["bool"]
    causal: NotRequired["bool"]
    mask: NotRequired["str | None"]
    padding_mask: NotRequired["str | None"]
    memory_mask: NotRequired["str | None"]
    memory_padding_mask: NotRequired["str | None"]


class TransformerEncoderLayer(TypedDict):
    """A stack of transformer_encoder_layer, each with its own weights, optionally with a final `norm`."""

    layer: 'Literal["transformer_encoder"]'
    name: NotRequired["str"]
    heads: "int"
    layers: "int"
    width: NotRequired["int"]
    dropout: NotRequired["float"]
    activation: NotRequired['Literal["relu", "gelu"]']
    eps: NotRequired["float"]
    norm_first: NotRequired["bool"]
    bias: NotRequired["bool"]
    norm: NotRequired["bool"]
    causal: NotRequired["bool"]
    mask: NotRequired["str | None"]
    padding_mask: NotRequired["str | None"]


class TransformerEncoderLayerLayer(TypedDict):
    """Self-attention and two linear layers over [rows, steps, features], each added to its input and normalised."""

    layer: 'Literal["transformer_encoder_layer"]'
    name: NotRequired["str"]
    heads: "int"
    width: NotRequired["int"]
    dropout: NotRequired["float"]
    activation: NotRequired['Literal["relu", "gelu"]']
    eps: NotRequired["float"]
    norm_first: NotRequired["bool"]
    bias: NotRequired["bool"]
    causal: NotRequired["bool"]
    mask: NotRequired["str | None"]
    padding_mask: NotRequired["str | None"]


class TransformerLayer(TypedDict):
    """An encoder of x [rows, columns, features] and a decoder of `target` that attends to the encoder's output."""

    layer: 'Literal["transformer"]'
    name: NotRequired["str"]
    target: "str"
    heads: NotRequired["int"]
    encoder_layers: NotRequired["int"]
    decoder_layers: NotRequired["int"]
    width: NotRequired["int"]
    dropout: NotRequired["float"]
    activation: NotRequired['Literal["relu", "gelu"]']
    eps: NotRequired["float"]
    norm_first: NotRequired["bool"]
    bias: NotRequired["bool"]
    causal: NotRequired["bool"]
    mask: NotRequired["str | None"]
    padding_mask: NotRequired["str | None"]
    target_mask: NotRequired["str | None"]
    target_padding_mask: NotRequired["str | None"]
    memory_mask: NotRequired["str | None"]
    memory_padding_mask: NotRequired["str | None"]


class TripletMarginLossLoss(TypedDict):
    """max(0, margin + d(anchor, positive) - d(anchor, negative)), d the p-norm of the difference + eps by rows."""

    kind: 'Literal["triplet_margin_loss"]'
    positive: NotRequired["Any"]
    negative: NotRequired["Any"]
    margin: NotRequired["float"]
    p: NotRequired["float"]
    eps: NotRequired["float"]
    swap: NotRequired["bool"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    split: NotRequired["int | None"]
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class TruncatedNormalInitializer(TypedDict):
    """Normal, restricted to `low`..`high` by rejection sampling."""

    kind: 'Literal["truncated_normal"]'
    mean: NotRequired["float"]
    std: NotRequired["float"]
    low: NotRequired["float"]
    high: NotRequired["float"]


class UnflattenLayer(TypedDict):
    """Split the axis `axis` into axes of the extents `sizes`, one of which may be -1; see torch.nn.Unflatten."""

    layer: 'Literal["unflatten"]'
    name: NotRequired["str"]
    axis: "int"
    sizes: "Sequence[int]"


class UniformInitializer(TypedDict):
    """Uniform between `low` and `high`."""

    kind: 'Literal["uniform"]'
    low: NotRequired["float"]
    high: NotRequired["float"]


class UpsampleLayer(TypedDict):
    """x [N, C, *spatial] with its 1 to 3 spatial axes resampled to `size`, or to `scale` times theirs, as in PyTorch."""

    layer: 'Literal["upsample"]'
    name: NotRequired["str"]
    size: NotRequired["int | Sequence[int] | None"]
    scale: NotRequired["float | Sequence[float] | None"]
    mode: NotRequired['Literal["nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area"]']
    align_corners: NotRequired["bool"]
    antialias: NotRequired["bool"]


class ValidationChoice(TypedDict):
    """Rows to validate on: a share of the dataset, or another dataset."""

    split: NotRequired["float | None"]
    stratify: NotRequired["str | None"]
    group: NotRequired["str | None"]
    order: NotRequired['Literal["random", "last"] | None']
    dataset: NotRequired["str | Sequence[str] | None"]
    every_steps: NotRequired["int | None"]
    every_epochs: NotRequired["int | None"]


class ValueCount(TypedDict):
    """A value and in how many rows it is."""

    value: "str"
    count: "int"


class VariantInfo(TypedDict):
    """Which variant of a sweep a fit is."""

    index: "int"
    parameters: "dict[str, Any]"


class VariantList(TypedDict):
    """All variants of a sweep, the best first."""

    object: 'Literal["list"]'
    data: "list[RankedVariant]"
    has_more: "bool"
    next_cursor: NotRequired["str | None"]


class VhpWant(TypedDict):
    """A vector times the Hessian, without forming it."""

    vhp: "HessianProductSpec"


class WarmUpSchedule(TypedDict):
    """A linear rise to the first rate of `schedule` in total_iters, then that schedule from its t 0."""

    kind: 'Literal["warm_up"]'
    per: NotRequired['Literal["epoch", "step"]']
    schedule: "ScheduleChoice"
    total_iters: NotRequired["int"]
    start_factor: NotRequired["float"]


class WeightedMseLossLoss(TypedDict):
    """weight (x - target)²; the weight broadcasts to x. The mean divides by the number of elements, as in ggmlR."""

    kind: 'Literal["weighted_mse_loss", "weighted_mse"]'
    target: NotRequired["Any"]
    weight: NotRequired["Any"]
    by_weight: NotRequired["bool"]
    reduction: NotRequired['Literal["mean", "sum", "none"]']
    sample_weight: NotRequired["str | None"]
    per_example: NotRequired["bool"]


class WindowsChoice(TypedDict):
    """Examples that are windows over rows in order: for time series and text."""

    spans: NotRequired["Mapping[str, int | Sequence[int]] | None"]
    stride: NotRequired["int | None"]
    within: NotRequired["str | None"]


class Worker(TypedDict):
    """A worker process."""

    pid: "int"
    fit: "str | None"
    session: "str | None"
    attempt: "int"
    state: "str"
    rss_bytes: "int"


class WorstElement(TypedDict):
    """The element at which gradient and slope differ most."""

    index: "list[int]"
    gradient: "float | None"
    difference: "float | None"
    nonfinite: "dict[str, str]"


class XavierNormalInitializer(TypedDict):
    """Normal with deviation scale * sqrt(2 / (fan in + fan out)) (Glorot and Bengio 2010)."""

    kind: 'Literal["xavier_normal"]'
    scale: NotRequired["float"]
    fan_in: NotRequired["int | None"]
    fan_out: NotRequired["int | None"]


class XavierUniformInitializer(TypedDict):
    """Uniform within scale * sqrt(6 / (fan in + fan out)) (Glorot and Bengio 2010)."""

    kind: 'Literal["xavier_uniform"]'
    scale: NotRequired["float"]
    fan_in: NotRequired["int | None"]
    fan_out: NotRequired["int | None"]


class ZeroGradRequest(TypedDict):
    """Sets the accumulated gradients to zero, or to none with `set_to_none`."""

    seq: NotRequired["int | None"]
    set_to_none: NotRequired["bool"]


class ZeroPad1dLayer(TypedDict):
    """Surround the 1 spatial axis of [batch, channels, ...] with 0."""

    layer: 'Literal["zero_pad1d"]'
    name: NotRequired["str"]
    padding: "int | Sequence[int]"


class ZeroPad2dLayer(TypedDict):
    """Surround the 2 spatial axes of [batch, channels, ...] with 0."""

    layer: 'Literal["zero_pad2d"]'
    name: NotRequired["str"]
    padding: "int | Sequence[int]"


class ZeroPad3dLayer(TypedDict):
    """Surround the 3 spatial axes of [batch, channels, ...] with 0."""

    layer: 'Literal["zero_pad3d"]'
    name: NotRequired["str"]
    padding: "int | Sequence[int]"


class ZerosInitializer(TypedDict):
    """All 0."""

    kind: 'Literal["zeros"]'


class FitOptions(TypedDict):
    """The options of a fit."""

    feeds: NotRequired["Mapping[str, str] | None"]
    """Input: column; by default of equal names."""
    target: NotRequired["str | None"]
    """In place of a graph: the column to predict by all others. Graph (a tabular layer), columns, loss, metrics and options of training are proposed from the dataset, and shown in the request of the fit. Default none."""
    task: NotRequired['Literal["classification", "regression"] | None']
    """Task of the model; by default inferred from the target column."""
    columns: NotRequired[
        "Mapping[str, str | TransformChoice | ColumnsChoice | Sequence[str | TransformChoice | ColumnsChoice]] | None"
    ]
    """Input: the raw columns that it is made of, with their transforms: a column, an object with column (or columns), kind (number, category, date, boolean, text) and options, or a list of those, side by side. Statistics come from the training rows and are part of the model: predictions take raw values. Default none."""
    classes: NotRequired["Mapping[str, Sequence[str] | ClassNamesChoice | None] | None"]
    """Input: the class names of its text column in the order of their numbers, or an object that also names the class of unknown texts; by default the sorted texts of the training data. Other data are mapped by name. With from_checkpoint, null numbers the texts of an input by this fit's own data."""
    preset: NotRequired['Literal["ggml_opt_fit"] | None']
    """Source of the defaults; `ggml_opt_fit` has the semantics of that function. Default none."""
    optimizer: NotRequired["OptimizerKind | OptimizerChoice | None"]
    """By default adam."""
    schedule: NotRequired["ScheduleKind | ScheduleChoice | None"]
    """By default constant."""
    clip: NotRequired["ClipChoice | None"]
    """Limits on gradients; default none."""
    noise: NotRequired["NoiseChoice | None"]
    """Noise on gradients; by default none."""
    epochs: NotRequired["int | None"]
    """Passes over the training rows, 1 to 1000000; default none. Give this or steps."""
    steps: NotRequired["int | None"]
    """Number of training steps, 1 to 1000000000; default none. Give this or epochs."""
    batch_size: NotRequired["int | None"]
    """Rows of a step, at least 1; default 32."""
    micro_batch_size: NotRequired["int | None"]
    """Rows that are computed at a time, at least 1 and at most batch_size; their gradients are added up. Default batch_size."""
    shuffle: NotRequired["bool | ShuffleChoice | None"]
    """Order of rows, drawn for each epoch; default true."""
    sampling: NotRequired["SamplingChoice | None"]
    """Rows drawn with weights; by default each row once per epoch."""
    windows: NotRequired["WindowsChoice | None"]
    """Examples of several rows; by default a row."""
    normalize: NotRequired["Mapping[str, str | NormalizeChoice] | None"]
    """By input, how it is scaled: standard, minmax, robust, or an object with options. A target is predicted and scored in the units of the data; the loss in normalised units is normalized_loss. Default none."""
    class_weights: NotRequired['Literal["balanced"] | Sequence[float] | None']
    """A factor from 0 on for each class in the loss, or 'balanced'; by default none."""
    drop_last: NotRequired["bool | None"]
    """Whether the last batch of an epoch is dropped if it is incomplete; default false."""
    prefetch: NotRequired["int | None"]
    """Batches gathered ahead, 0 to 64; by default two of data that waits for the disk."""
    seed: NotRequired["int | None"]
    """Seed of splits, orders, initial values and random draws, at least 0; default 0."""
    precision: NotRequired['Literal["float32", "float64", "mixed_float16", "mixed_bfloat16"] | None']
    """Number formats; 'mixed_...' computes products in the lower one; default 'float32'."""
    loss_scaling: NotRequired["LossScalingChoice | None"]
    """Scaling of the loss with precision mixed_float16; by default its options have their defaults."""
    recompute: NotRequired["RecomputeChoice | None"]
    """Activations to recompute in the backward pass; by default none."""
    memory_budget: NotRequired["int | None"]
    """Memory limit of a step, in bytes, at least 1; activations are recomputed until it is met. Default unlimited."""
    activations: NotRequired['Literal["float16", "bfloat16"] | None']
    """Half type in which float32 values are stored for the backward pass; by default none."""
    average: NotRequired["str | AverageChoice | None"]
    """ema, swa, or an object with options; by default none."""
    freeze: NotRequired["Sequence[FreezeChoice] | None"]
    """Parameters that are frozen in some epochs; default none."""
    metrics: NotRequired["Sequence[MetricKind | MetricChoice] | None"]
    """Kinds of metrics, or objects with their options; default none, with target those of its task."""
    early_stopping: NotRequired["EarlyStoppingChoice | None"]
    """By default the fit runs to its end."""
    divergence: NotRequired["DivergenceChoice | None"]
    """Action when a loss or a gradient is not finite; by default the fit fails (stop)."""
    budget: NotRequired["BudgetChoice | None"]
    """Limits of seconds and steps after which the fit succeeds; default unlimited."""
    checkpoint: NotRequired["CheckpointChoice | None"]
    """When checkpoints are written, and how many are kept; by default after each epoch, the newest 3 and the best."""
    record: NotRequired["RecordChoice | None"]
    """Steps that become metric rows, and their values; by default about 10000 rows at most."""
    resources: NotRequired["ResourcesChoice | None"]
    """Threads, replicas, priority and time limits; by default those of the server."""
    sweep: NotRequired["SweepChoice | None"]
    """Variants of this fit; by default it is a single one."""
    name: NotRequired["str | None"]
    """A name for lists, 1 to 200 characters, which need not be unique; default none."""
    labels: NotRequired["Mapping[str, str] | None"]
    """Labels, up to 64 keys with values, for filtering lists; default none."""
    start_paused: NotRequired["bool | None"]
    """Whether it starts paused; default false."""
    from_checkpoint: NotRequired["str | ForkChoice | None"]
    """A checkpoint of another fit to begin at: its id, or an object; by default none."""


class SessionOptions(TypedDict):
    """The options of a session."""

    size: NotRequired["int | None"]
    """Maximum number of nodes, and of leafs, of the first graph; default 2048."""
    grads: NotRequired["bool | None"]
    """Whether it can be differentiated; default true."""
    order: NotRequired['Literal["left_to_right", "right_to_left"] | None']
    """Which input of a node is visited first; default left_to_right."""
    mem_size: NotRequired["int | None"]
    """Bytes of the context that tensors and graphs are charged to; by default no bound."""
    no_alloc: NotRequired["bool | None"]
    """Whether the context is not charged for the elements of tensors; default false."""
    training: NotRequired["bool | None"]
    """Whether dropout drops and batch norm uses the batch's statistics; default true."""
    threadpool: NotRequired["ThreadpoolChoice | None"]
    """Thread pool that computes graphs; by default threads are created when needed."""
    kind: NotRequired['Literal["training", "static"]']
    """training: the verbs of a training loop. static: those of ggml's flow. Default 'training'."""
    restore: NotRequired['Literal["all", "parameters"] | None']
    """Restored state; default all, if the checkpoint has the session's optimizer, else parameters."""
    clip: NotRequired["ClipChoice | None"]
    """Limits on gradients; default none."""
    seed: NotRequired["int | None"]
    """Seed of initial values and random draws; default 0."""
    precision: NotRequired['Literal["float32", "float64", "mixed_float16", "mixed_bfloat16"] | None']
    """Number formats; default 'float32'."""
    threads: NotRequired["int | None"]
    """Short for resources.threads; by default as there."""
    resources: NotRequired["SessionResourcesChoice | None"]
    """Executor and threads; by default those of the server."""
    feeds: NotRequired["Mapping[str, str] | None"]
    """Input: column, for steps that do not say so; by default of equal names."""
    classes: NotRequired["Mapping[str, Sequence[str] | ClassNamesChoice] | None"]
    """Input: the class names of its text column, as in a fit; by default those of the checkpoint, else of the dataset that first feeds it."""
    name: NotRequired["str | None"]
    """A name for lists, 1 to 200 characters, which need not be unique; default none."""
    labels: NotRequired["Mapping[str, str] | None"]
    """Labels, up to 64 keys with values, for filtering lists; default none."""
    start_paused: NotRequired["bool | None"]
    """Whether it starts paused; default false."""
    ttl_seconds: NotRequired["float | None"]
    """Without a step for so long, it is saved as a checkpoint and expires; default 3600."""
