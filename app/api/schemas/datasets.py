"""Datasets on the wire."""

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

import engine
from app.api.schemas.values import FilteredPage, Moment, ResourceShape, TensorDocument
from app.domain.column_labels import with_labels
from app.domain.records import DatasetRecord
from app.ingest.exported import csv_columns_spec
from app.service.fits.tables import column_facts


class InlineDataset(BaseModel):
    """Columns by name, each a tensor whose first axis is that of the rows."""

    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(default=None, description='Name of the dataset; default "dataset".')
    columns: dict[str, TensorDocument]


class ImageFormat(ResourceShape):
    """How files of images became arrays."""

    size: str | None = Field(description="HEIGHTxWIDTH to which they were scaled; null if they were of one size.")
    mode: Literal["L", "RGB", "RGBA"] = Field(description="Channels.")
    dtype: Literal["uint8", "float32"] = Field(description="uint8 from 0 to 255, or float32 from 0 to 1.")


class DatasetColumn(ResourceShape):
    """A column; shape does not include the rows."""

    name: str = Field(description="Identifier, which follows from the label; requests may give either.")
    label: str = Field(description="Name of the column in the file.")
    dtype: str
    shape: list[int]
    minimum: int | float | None
    maximum: int | float | None
    mean: float | None
    missing: int
    classes: list[str] | None
    images: ImageFormat | None = Field(description="How files of images became this column; null for other columns.")

    @field_validator("label", mode="before")
    @classmethod
    def _own_name(cls, label: str | None, info: ValidationInfo) -> str:
        """Columns from before labels were kept are called by their names."""
        return label or str(info.data["name"])


class ProposedColumns(ResourceShape):
    """Proposed preprocessing of each column; it can be used, changed or not, as `columns` of a fit."""

    columns: dict[str, list[dict[str, Any]]] = Field(
        description="By input: numbers, and categories, whose indices are for embeddings."
    )
    left_out: dict[str, str] = Field(description="The reason, for each column that is not proposed.")


class Dataset(ResourceShape):
    """A stored dataset."""

    id: str
    object: Literal["dataset"] = "dataset"
    name: str
    format: str
    digest: str = Field(
        description="SHA-256 of the uploaded bytes; of one that was made of others, of the description of its columns."
    )
    size_bytes: int
    rows: int
    version: int = Field(description="Counts from 1 how often rows were appended.")
    origin: dict[str, Any] | None = Field(
        description="How it was made of others: kind (append, join, select, split), datasets (their ids), and what was "
        "asked for; null for an uploaded one."
    )
    corrupt: bool = Field(
        description="The file of a column, or of the uploaded bytes, is missing or damaged, until the same bytes "
        "are uploaded again."
    )
    columns: list[DatasetColumn]
    proposed: ProposedColumns = Field(
        description="Transforms guessed from types, ranges and texts of the columns; a fit with a target uses them."
    )
    csv_columns: str | None = Field(
        description="The `columns` option by which an upload reads `content?format=csv` back with the same types; null "
        "if it would be longer than the option may be."
    )
    created_at: Moment

    @classmethod
    def show(cls, dataset: DatasetRecord) -> Self:
        """Build from a record."""
        proposal = engine.propose_columns(*column_facts([dataset]))
        columns = with_labels(proposal.section(), dataset.labels)
        proposed = ProposedColumns(columns=columns, left_out=dict(proposal.left_out))
        return cls.from_record(dataset, proposed=proposed, csv_columns=csv_columns_spec(dataset.columns))


class DatasetList(FilteredPage[Dataset]):
    """A page of datasets."""


class DatasetRows(ResourceShape):
    """Rows of a dataset, each an object of its columns."""

    object: Literal["list"] = "list"
    data: list[dict[str, Any]]
    has_more: bool
    offset: int
    total: int
