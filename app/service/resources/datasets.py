"""Datasets: take, look at, hand out."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.domain.dataset import DatasetRecord
from app.domain.errors import Conflict
from app.service.resources.blob_sweeper import BlobSweeper
from app.service.resources.idempotency import Keep
from app.service.resources.ingestion import Ingestion, UploadTerms, blobs_of
from app.service.resources.integrity import Integrity
from app.store.blobs.store import BlobWriter
from app.store.pages import Page, PageRequest
from app.store.unit_of_work import Store


class Datasets:
    """The use cases of datasets."""

    def __init__(self, store: Store, integrity: Integrity, ingestion: Ingestion, sweeper: BlobSweeper) -> None:
        """Keep rows in `store`; `ingestion` stores bytes, which are opened by `integrity`."""
        self._store = store
        self._integrity = integrity
        self._ingestion = ingestion
        self._sweeper = sweeper

    def open_upload(self) -> BlobWriter:
        """Open a writer for the bytes of an upload; leave its context and nothing is left of them."""
        return self._ingestion.open()

    def create(self, upload: BlobWriter, terms: UploadTerms, keep: Keep[DatasetRecord]) -> DatasetRecord:
        """Read and store what was written to `upload`, all or nothing; Invalid or TooLarge if it is not taken."""
        with self._sweeper.holding() as stored:
            dataset = self._ingestion.read(upload, terms, stored)
            with self._store.begin() as work:
                work.datasets.add(dataset)
                keep(work, dataset)
        return dataset

    def get(self, dataset_id: str) -> DatasetRecord:
        """Return the dataset; NotFound if there is none."""
        with self._store.begin() as work:
            return work.datasets.get(dataset_id)

    def list(self, page: PageRequest) -> Page[DatasetRecord]:
        """Return a page of datasets."""
        with self._store.begin() as work:
            return work.datasets.list(page)

    def delete(self, dataset_id: str) -> None:
        """Forget the dataset; Conflict while a fit or an open session uses it."""
        with self._store.begin() as work:
            dataset = work.datasets.get(dataset_id)
            if work.datasets.in_use(dataset_id):
                raise Conflict(
                    f"dataset {dataset_id} is used by a fit that is not terminal, or by an open session; cancel or "
                    "close that first",
                    code="in_use",
                )
            work.datasets.delete(dataset_id)
            work.after_commit(lambda: self._sweeper.discard(blobs_of(dataset)))

    def file(self, dataset_id: str) -> tuple[DatasetRecord, Path]:
        """Return the dataset and the file of the bytes as they came; Corrupt if that is damaged."""
        dataset = self.get(dataset_id)
        return dataset, self._integrity.upload(dataset)

    def rows(self, dataset_id: str, offset: int, limit: int) -> tuple[int, "dict[str, NDArray[Any]]"]:
        """Return how many rows the dataset has, and of each column those from `offset` on, at most `limit`.

        Corrupt if the file of a column is damaged.
        """
        dataset = self.get(dataset_id)
        arrays = {column.name: self._mapped(dataset, column.name) for column in dataset.columns}
        return dataset.rows, {name: array[offset : offset + limit] for name, array in arrays.items()}

    def _mapped(self, dataset: DatasetRecord, column: str) -> NDArray[Any]:
        path = self._integrity.column(dataset, column)
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        return array
