"""Datasets as files that an upload reads back: written on request, and not kept."""

import os
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from app.domain.errors import storage_faults
from app.domain.records import DatasetRecord
from app.ingest.exported import ExportedColumn, ExportFormat
from app.service.resources.blobs import Integrity
from app.service.resources.datasets import Ingestion, manifest_of
from app.store.unit_of_work import Store

WRITER = 1
"""Counts the changes of how files are written: other bytes need another tag."""


@dataclass(frozen=True, slots=True)
class Export:
    """A dataset in a format, and a tag of the bytes, which are equal for equal tags."""

    dataset: DatasetRecord
    format: ExportFormat
    tag: str


class Exports:
    """Writes files in limited processes."""

    def __init__(self, store: Store, integrity: Integrity, ingestion: Ingestion) -> None:
        """Read the columns by `integrity`, in processes of `ingestion`."""
        self._store = store
        self._integrity = integrity
        self._ingestion = ingestion

    def get(self, dataset_id: str, format: ExportFormat) -> Export:
        """Return what can be written; NotFound if there is no such dataset."""
        with self._store.read() as work:
            dataset = work.datasets.get(dataset_id)
        labels = [column.label or column.name for column in dataset.columns]
        arrow = version("pyarrow") if find_spec("pyarrow") is not None else None
        described = manifest_of(dataset.rows, dataset.columns) + repr((labels, format, WRITER, arrow)).encode()
        return Export(dataset, format, sha256(described).hexdigest())

    def write(self, export: Export) -> Path:
        """Return the path of the file, which is the caller's to delete.

        Raises:
            Corrupt: the file of a column is damaged.
            Invalid: the format does not have what the columns hold.
            TooLarge, StorageFull: there is no space for the file.
        """
        columns = [
            ExportedColumn(
                column.name,
                column.label or column.name,
                str(self._integrity.column(export.dataset, column.name).absolute()),
                column.shape,
                column.classes,
            )
            for column in export.dataset.columns
        ]
        with storage_faults("the file of this dataset"):
            descriptor, name = tempfile.mkstemp(dir=self._ingestion.scratch)
        path = Path(name)
        try:
            os.close(descriptor)
            self._ingestion.export(columns, export.dataset.rows, export.format, path.absolute())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return path
