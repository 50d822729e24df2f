"""Requests that make datasets of others, and profiles."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.datasets import Dataset
from app.api.schemas.values import RequestShape, ResourceName, ResourceShape
from app.ingest.derived import Condition, Operator, Selection
from app.service.resources.derivations import Split
from app.service.resources.profiles import Profile

SEED_MAX = 2**63
ROWS_MAX = 2**53
CONDITIONS_MAX = 64
VALUES_MAX = 1000
SOURCES_MAX = 100

Seed = Annotated[int, Field(ge=0, lt=SEED_MAX, description="Seed of what is drawn.")]
RowCount = Annotated[int, Field(ge=1, le=ROWS_MAX)]
Fraction = Annotated[float, Field(gt=0, lt=1)]
Text = Annotated[str, Field(max_length=1024)]
Value = bool | int | float | Text
DatasetName = Annotated[ResourceName | None, Field(description="A name; by default that of the source.")]
ColumnName = Annotated[str, Field(min_length=1, max_length=512)]


class ConditionChoice(RequestShape):
    """What a column has to be. A missing value meets `missing` alone."""

    column: ColumnName = Field(description="Name of a column of single values.")
    op: Operator = Field(description="in and not_in take a list; columns of texts have no order.")
    value: Value | Annotated[list[Value], Field(max_length=VALUES_MAX)] | None = Field(
        default=None,
        description=(
            "The value to compare with: any number, a truth value or a text of up to 1024 characters; with in "
            "and not_in a list of up to 1000; left out with missing and present."
        ),
    )


class RowRange(RequestShape):
    """Rows by their position."""

    start: Annotated[int, Field(ge=0, le=ROWS_MAX)] = Field(default=0, description="The first row, from 0.")
    stop: Annotated[int, Field(ge=1, le=ROWS_MAX)] | None = Field(
        default=None, description="The row after the last one; by default all rows that follow."
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.stop is not None and self.stop <= self.start:
            raise PydanticCustomError("out_of_range", "stop must be greater than start")
        return self


class SampleChoice(RequestShape):
    """Rows that are drawn without repetition; they keep their order."""

    rows: RowCount | None = Field(
        default=None, description="Number of rows to draw. Required unless fraction is given."
    )
    fraction: Fraction | None = Field(
        default=None, description="Share of the rows to draw, in place of rows. Required unless rows is given."
    )
    seed: Seed = 0

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.rows is None) == (self.fraction is None):
            raise PydanticCustomError("malformed", "give one of rows and fraction")
        return self


class SelectRequest(RequestShape):
    """Which rows the new dataset has: those of the range that meet all conditions, or a sample of these."""

    rows: RowRange | None = Field(default=None, description="A range of rows; by default all.")
    where: Annotated[list[ConditionChoice], Field(max_length=CONDITIONS_MAX)] = Field(
        default=[], description="Conditions, all of which a row has to meet."
    )
    sample: SampleChoice | None = Field(default=None, description="Rows to draw of those; by default all of them.")
    name: DatasetName = None

    @model_validator(mode="after")
    def _chooses(self) -> Self:
        if self.rows is None and not self.where and self.sample is None:
            raise PydanticCustomError("missing_field", "give rows, where or sample")
        return self

    def selection(self) -> Selection:
        """Return it in the words of the service."""
        rows, sample = self.rows or RowRange(), self.sample
        return Selection(
            start=rows.start,
            stop=rows.stop,
            where=tuple(Condition(each.column, each.op, each.value) for each in self.where),
            count=None if sample is None else sample.rows,
            fraction=None if sample is None else sample.fraction,
            seed=0 if sample is None else sample.seed,
        )


class SplitRequest(RequestShape):
    """How to split a dataset. Rows keep their order; the same request gives the same parts."""

    test: Fraction | RowCount = Field(description="Share of the rows in the test part, or their number.")
    seed: Seed = 0
    stratify: ColumnName | None = Field(
        default=None, description="A column whose values are spread over the parts in proportion; by default none."
    )
    name: Annotated[ResourceName | None, Field(description="Beginning of both names; by default the source's.")] = None

    def selection(self) -> Selection:
        """Return it in the words of the service."""
        whole = isinstance(self.test, int)
        return Selection(
            count=int(self.test) if whole else None,
            fraction=None if whole else float(self.test),
            seed=self.seed,
            stratify=self.stratify,
        )


class JoinRequest(RequestShape):
    """Datasets with the same columns, whose rows follow one another."""

    datasets: Annotated[list[Annotated[str, Field(max_length=64)]], Field(min_length=2, max_length=SOURCES_MAX)] = (
        Field(description="Ids of the datasets, in order.")
    )
    name: DatasetName = None


class DatasetSplit(ResourceShape):
    """The two parts of a dataset."""

    object: Literal["dataset_split"] = "dataset_split"
    id: str = Field(description="Id of the training part.")
    train: Dataset
    test: Dataset

    @classmethod
    def show(cls, split: Split) -> Self:
        """Build from the parts."""
        return cls(id=split.train.id, train=Dataset.show(split.train), test=Dataset.show(split.test))


class ValueCount(ResourceShape):
    """A value and in how many rows it is."""

    value: str = Field(description="The value.")
    count: int = Field(description="Number of rows.")


class QuantileValue(ResourceShape):
    """A value that occurs, at or below which a share of all values lies."""

    share: float = Field(description="Share of the values, 0 to 1.")
    value: int | float = Field(description="The value.")


class ProfileHistogram(ResourceShape):
    """Counts of values between edges, one more than counts; the last bin has both."""

    edges: list[float]
    counts: list[int]


class ColumnCorrelation(ResourceShape):
    """How a column goes with the target."""

    measure: Literal["pearson", "correlation_ratio", "cramers_v"] = Field(
        description="pearson: of two columns of numbers, -1 to 1. correlation_ratio (eta): of numbers and classes, 0 "
        "to 1. cramers_v: of two columns of classes, 0 to 1."
    )
    value: float = Field(description="The value.")


class ColumnProfile(ResourceShape):
    """The values of a column."""

    name: str
    kind: Literal["number", "boolean", "text", "tensor"]
    missing: int
    distinct: int = Field(description="Number of different values.")
    constant: bool = Field(description="Whether all values are the same.")
    unique: bool = Field(description="Whether no two values are the same.")
    mean: float | None
    deviation: float | None = Field(description="Standard deviation.")
    quantiles: list[QuantileValue] | None = Field(description="null for texts.")
    histogram: ProfileHistogram | None = Field(description="null for texts.")
    top: list[ValueCount] = Field(description="The most frequent texts.")
    correlation: ColumnCorrelation | None = Field(description="With the target; null without one, or if undefined.")


class TargetProfile(ResourceShape):
    """The column that is to be predicted."""

    column: str = Field(description="Name of the column.")
    kind: Literal["class", "number"] = Field(description="Whether it has classes, or is a number.")
    missing: int
    classes: list[ValueCount] = Field(description="Class balance, the largest first; none for numbers.")


class DatasetFinding(ResourceShape):
    """Something that deserves a look before training."""

    code: str
    column: str | None = Field(description="The column that it is about; null: all of them.")
    detail: str


class DatasetProfile(ResourceShape):
    """What the rows of a dataset look like."""

    object: Literal["dataset_profile"] = "dataset_profile"
    dataset: str
    rows: int
    rows_read: int = Field(description="Rows that were looked at, evenly spread; all up to a million.")
    duplicates: int | None = Field(
        description="Rows that repeat another one; null where tensors are too large to be compared."
    )
    columns: list[ColumnProfile]
    target: TargetProfile | None = Field(description="The target; null without one.")
    findings: list[DatasetFinding]

    @classmethod
    def show(cls, profile: Profile) -> Self:
        """Build from what was computed."""
        computed: dict[str, Any] = {
            **profile.computed,
            "columns": [
                {name: value for name, value in column.items() if name != "whole"}
                for column in profile.computed["columns"]
            ],
        }
        findings = [DatasetFinding(code=f.code, column=f.column, detail=f.detail) for f in profile.findings]
        return cls.model_validate({**computed, "dataset": profile.dataset.id, "findings": findings})
