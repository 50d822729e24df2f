"""Predictions and evaluations over rows on the wire."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.datasets import InlineDataset
from app.api.schemas.fit_options import IDS, INPUTS_MAX
from app.api.schemas.fit_request import METRICS_MAX, Metric
from app.api.schemas.values import DescribedBy, RequestShape, ResourceShape, Tensor, TensorDocument

ROWS_MAX = 2**53
TOP_MAX = 1000
BINS_MAX = 1000
POINTS_MAX = 10_000

Feeds = Annotated[dict[str, str], Field(max_length=INPUTS_MAX)]
RowNumber = Annotated[int, Field(ge=0, le=ROWS_MAX)]
Threshold = Annotated[float, Field(gt=0, lt=1)]
DatasetChoice = Annotated[str | list[str] | dict[str, Any] | None, DescribedBy(InlineDataset, also=IDS)]

DATASET = "Id of a dataset; a list of ids, whose rows are joined in their order; or a dataset."
FEEDS = "Input: column. By default as in the fit that wrote the checkpoint, else of equal names."


class RowOptions(RequestShape):
    """Which rows of a table are read."""

    start: RowNumber | None = Field(default=None, description="First row, from 0; default 0.")
    stop: RowNumber | None = Field(default=None, description="Row after the last one; by default all.")
    threshold: Threshold | None = Field(
        default=None, description="Probability above which a binary prediction is class 1, 0 to 1; default 0.5."
    )


class TableOptions(RowOptions):
    """What the response holds of each row of a table."""

    id_column: str | None = Field(
        default=None, description="Column that identifies rows in the response; by default they are numbered: row."
    )
    probabilities: bool | None = Field(
        default=None, description="Whether the probability of each class is included; default false."
    )
    top_k: Annotated[int, Field(ge=0, le=TOP_MAX)] | None = Field(
        default=None,
        description=f"Number of the most probable classes that are included, 0 to {TOP_MAX}; default 0.",
    )
    raw: bool | None = Field(
        default=None,
        description="Whether the values (logits) of outputs that predict classes are included; default false.",
    )


OF_TABLES = frozenset({"feeds", *TableOptions.model_fields})


class PredictRequest(TableOptions):
    """Rows to predict: inputs, or rows of a dataset. Give one of the two; the other fields are for a dataset."""

    inputs: dict[str, TensorDocument] | None = Field(
        default=None,
        description=(
            "A tensor for each input that the outputs depend on; text for one that took a text column in "
            "training. Required unless dataset is given."
        ),
    )
    dataset: DatasetChoice = Field(default=None, description=f"{DATASET} Required unless inputs is given.")
    feeds: Feeds | None = Field(default=None, description=FEEDS)

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        given = self.model_fields_set
        if (self.inputs is None) == (self.dataset is None):
            raise PydanticCustomError("missing_field", "give one of 'inputs' and 'dataset'")
        if self.inputs is not None and given & OF_TABLES:
            names = {"names": " and ".join(sorted(given & OF_TABLES))}
            raise PydanticCustomError("conflict", "{names}: for the rows of a dataset, not for inputs", names)
        return self


class EvaluateOptions(RowOptions):
    """How rows are evaluated."""

    batch_size: Annotated[int, Field(ge=1, le=2**31)] | None = Field(
        default=None, description="Rows computed at a time; by default as in the fit, else 32."
    )
    bins: Annotated[int, Field(ge=1, le=BINS_MAX)] | None = Field(
        default=None, description=f"Bins of the calibration, 1 to {BINS_MAX}; default 10."
    )
    points: Annotated[int, Field(ge=2, le=POINTS_MAX)] | None = Field(
        default=None, description=f"Maximum number of points of a ROC curve, 2 to {POINTS_MAX}; default 200."
    )


class EvaluateRequest(EvaluateOptions):
    """Rows to evaluate a checkpoint on, and options of the report."""

    dataset: Annotated[str | list[str] | dict[str, Any], DescribedBy(InlineDataset, also=IDS)] = Field(
        description=DATASET
    )
    feeds: Feeds | None = Field(default=None, description=FEEDS)
    metrics: Annotated[list[Metric], Field(max_length=METRICS_MAX)] | None = Field(
        default=None,
        description="Kinds of metrics, or objects with their options; by default those of the fit, else accuracy, or "
        "mae, rmse and r2.",
    )


class Prediction(ResourceShape):
    """The outputs by name."""

    outputs: dict[str, Tensor]
    classes: dict[str, list[str]] = Field(
        description="Of each output that predicts a text target, the class names in the order of their numbers."
    )


class RowPredictions(ResourceShape):
    """Predictions for the rows of a dataset or a table, in their order."""

    object: Literal["predictions"] = "predictions"
    checkpoint: str
    dataset: str | list[str] = Field(description="Id of the dataset, or ids.")
    rows: int = Field(description="Number of rows.")
    classes: dict[str, list[str]] = Field(
        description="Of each output that predicts a text target, the class names in the order of their numbers."
    )
    data: list[dict[str, Any]] = Field(
        description="An object for each row: its id or number; of an output that predicts classes OUTPUT.class and "
        "OUTPUT.probability, and as asked for OUTPUT.probabilities, OUTPUT.top_classes and OUTPUT.top_probabilities; "
        "the values of other outputs, in the units of the target. A value that is not finite is null."
    )


class ClassScores(ResourceShape):
    """How well one class is predicted; a share is null where there are no rows."""

    name: str = Field(description="Name of the class, or its number.")
    support: int = Field(description="Rows whose target is the class.")
    predicted: int = Field(description="Rows for which the class is predicted.")
    precision: float | None = Field(description="Share of the rows predicted as the class that are of it.")
    recall: float | None = Field(description="Share of the rows of the class that are predicted as it.")
    f1: float | None = Field(description="Harmonic mean of precision and recall.")


class CalibrationBin(ResourceShape):
    """Rows whose predicted class has a probability from `lower` to `upper`; means are null where there are none."""

    lower: float = Field(description="Smallest probability.")
    upper: float = Field(description="Largest probability, excluded but in the last bin.")
    rows: int = Field(description="Number of rows.")
    confidence: float | None = Field(description="Mean probability of the predicted class.")
    accuracy: float | None = Field(description="Share of the rows whose target is the predicted class.")


class Calibration(ResourceShape):
    """Predicted probability of the predicted class, compared with its accuracy."""

    bins: list[CalibrationBin] = Field(description="Bins of equal width, in ascending order.")
    expected_error: float = Field(description="Mean of |accuracy - confidence| over the rows (ECE).")
    maximum_error: float = Field(description="Largest |accuracy - confidence| of a bin.")
    brier: float | None = Field(
        description="Mean squared difference of probabilities and targets, summed over the classes; with two classes "
        "that of class 1. Null for more than 64 classes."
    )


class RocPoint(ResourceShape):
    """A point of a ROC curve; the first one has no threshold."""

    false_positive_rate: float = Field(description="Share of the other rows at or above the threshold.")
    true_positive_rate: float = Field(description="Share of the rows of the class at or above the threshold.")
    threshold: float | None = Field(description="Probability of the class.")


class RocCurve(ResourceShape):
    """The ROC curve of a class against all others."""

    name: str = Field(description="Name of the class, or its number.")
    auc: float = Field(description="Area under the curve.")
    exact: bool = Field(
        description="Whether the area is exact: of more than 1,048,576 rows, scores are counted in bins of 0.01 in "
        "log-odds."
    )
    points: list[RocPoint] = Field(description="Points from (0, 0) to (1, 1).")


class ClassificationReport(ResourceShape):
    """How well classes are predicted."""

    classes: list[str] = Field(description="Class names, or numbers, in the order of the matrix.")
    rows: int = Field(description="Number of rows whose target is not ignored by the loss.")
    accuracy: float | None = Field(description="Share of the rows whose class is predicted.")
    confusion_matrix: list[list[int]] | None = Field(
        description="Rows of class i that are predicted as class j; null for more than 256 classes."
    )
    per_class: list[ClassScores] = Field(description="Scores of each class.")
    calibration: Calibration | None = Field(description="Null where predictions are no probabilities.")
    roc: list[RocCurve] | None = Field(
        description="With two classes that of class 1. A class without rows, or with every row, has none. Null for "
        "more than 64 classes, and where predictions are no probabilities."
    )


class ErrorQuantile(ResourceShape):
    """An error that a share of the errors do not exceed."""

    share: float = Field(description="Share of the errors, 0 to 1.")
    error: float | None = Field(description="The error.")


class RegressionReport(ResourceShape):
    """Errors (prediction - target) over all elements, in the units of the data; null where not finite."""

    elements: int = Field(description="Number of elements that are compared.")
    mean_error: float | None = Field(description="Mean of the errors: positive where predictions are too large.")
    mean_absolute_error: float | None = Field(description="Mean of the absolute errors.")
    root_mean_squared_error: float | None = Field(description="Root of the mean of the squared errors.")
    largest_error: float | None = Field(description="Largest absolute error.")
    error_quantiles: list[ErrorQuantile] = Field(description="Quantiles of the errors, of 131,072 of them at most.")


class Evaluation(ResourceShape):
    """The loss, the metrics and a report of a model on rows, in evaluation mode."""

    object: Literal["evaluation"] = "evaluation"
    checkpoint: str
    dataset: str | list[str] = Field(description="Id of the dataset, or ids.")
    rows: int = Field(description="Number of rows.")
    metrics: dict[str, float | None] = Field(
        description="The loss and the metrics by name, in the units of the data; null for one that is not finite."
    )
    nonfinite: dict[str, str] = Field(description="Name of a metric: nan, inf or -inf, for every null.")
    classification: ClassificationReport | None = Field(description="For predicted classes, else null.")
    regression: RegressionReport | None = Field(description="For predicted numbers, else null.")
