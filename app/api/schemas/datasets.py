"""Datasets on the wire."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.api.schemas.values import Moment, PageShape, ResourceShape, TensorDocument


class InlineDataset(BaseModel):
    """Columns by name, each a tensor whose first dimension counts the rows."""

    model_config = ConfigDict(extra="forbid")

    name: str | None = None
    columns: dict[str, TensorDocument]


class DatasetColumn(ResourceShape):
    """One column; shape leaves out the rows."""

    name: str
    dtype: str
    shape: list[int]
    minimum: float | None
    maximum: float | None
    mean: float | None
    missing: int
    classes: list[str] | None


class Dataset(ResourceShape):
    """A stored dataset."""

    id: str
    object: Literal["dataset"] = "dataset"
    name: str
    format: str
    digest: str = Field(description="SHA-256 of the uploaded bytes.")
    size_bytes: int
    rows: int
    corrupt: bool = Field(
        description="The file of a column, or of the uploaded bytes, is missing or damaged, until the same bytes "
        "are uploaded again."
    )
    columns: list[DatasetColumn]
    created_at: Moment


class DatasetList(PageShape[Dataset]):
    """A page of datasets."""


class DatasetRows(ResourceShape):
    """Rows of a dataset, each an object of its columns."""

    object: Literal["list"] = "list"
    data: list[dict[str, Any]]
    has_more: bool
    offset: int
    total: int
