"""Datasets on the wire."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.api.schemas.values import Moment, ResourceShape, TensorDocument
from app.domain.records import Column, DatasetRecord
from app.store.pages import Page


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

    @classmethod
    def of(cls, column: Column) -> "DatasetColumn":
        """Show a column."""
        return cls(
            name=column.name,
            dtype=column.dtype,
            shape=list(column.shape),
            minimum=column.minimum,
            maximum=column.maximum,
            mean=column.mean,
            missing=column.missing,
            classes=None if column.classes is None else list(column.classes),
        )


class Dataset(ResourceShape):
    """A stored dataset."""

    id: str
    object: Literal["dataset"] = "dataset"
    name: str
    format: str
    digest: str = Field(description="SHA-256 of the bytes as they came.")
    size_bytes: int
    rows: int
    corrupt: bool = Field(
        description="The file of a column, or of the bytes as they came, is missing or damaged, until the same bytes "
        "are uploaded again."
    )
    columns: list[DatasetColumn]
    created_at: Moment

    @classmethod
    def of(cls, dataset: DatasetRecord) -> "Dataset":
        """Show a record."""
        return cls(
            id=dataset.id,
            name=dataset.name,
            format=dataset.format,
            digest=dataset.digest,
            size_bytes=dataset.size_bytes,
            rows=dataset.rows,
            corrupt=dataset.corrupt,
            columns=[DatasetColumn.of(column) for column in dataset.columns],
            created_at=dataset.created_at,
        )


class DatasetList(ResourceShape):
    """A page of datasets."""

    object: Literal["list"] = "list"
    data: list[Dataset]
    has_more: bool
    next_cursor: str | None

    @classmethod
    def of(cls, page: Page[DatasetRecord]) -> "DatasetList":
        """Show a page of records."""
        return cls(
            data=[Dataset.of(dataset) for dataset in page.items],
            has_more=page.next_cursor is not None,
            next_cursor=page.next_cursor,
        )


class DatasetRows(ResourceShape):
    """Rows of a dataset, each an object of its columns."""

    object: Literal["list"] = "list"
    data: list[dict[str, Any]]
    has_more: bool
    offset: int
    total: int
