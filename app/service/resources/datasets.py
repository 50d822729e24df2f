"""Datasets: ingest, list, download, delete."""

import json
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from app.domain.clock import Clock
from app.domain.errors import Conflict, storage_faults
from app.domain.ids import new_id
from app.domain.records import Column, DatasetRecord
from app.ingest.columns import IngestedColumn
from app.ingest.derived import DERIVED, Plan
from app.ingest.export_child import export_columns
from app.ingest.exported import ExportedColumn, ExportFormat
from app.ingest.ingest import OnRange, ingest, run_reader
from app.ingest.limits import IngestLimits, IngestOptions
from app.ingest.profile import ProfiledColumn
from app.ingest.profile_child import compute_profile
from app.ingest.reader_processes import ReaderProcesses
from app.ingest.stored_arrays import map_array
from app.ingest.verdict import IngestResult
from app.service.resources.blobs import BlobSweeper, Integrity
from app.service.resources.column_copies import ColumnCopies
from app.service.resources.idempotency import SaveResponse
from app.service.resources.storage import DiskSpace
from app.store.blobs.store import Blob, BlobStore, BlobWriter
from app.store.lists import ALL, Filters
from app.store.pages import Page, PageRequest
from app.store.unit_of_work import Store

MAX_CHILDREN = 2

MANIFEST = "manifest"
"""The format of a dataset that is made of others: its bytes describe its columns, with their digests."""


@dataclass(frozen=True, slots=True)
class UploadOptions:
    """What a client says about its bytes: their `format`, the dataset's `name`, and how to read CSV and `.npy`."""

    format: str
    name: str | None = None
    options: IngestOptions = field(default_factory=IngestOptions)


class Ingestion:
    """Reads uploads in limited child processes, at most `MAX_CHILDREN` at a time."""

    def __init__(
        self,
        blobs: BlobStore,
        scratch: Path,
        space: DiskSpace,
        limits: IngestLimits,
        clock: Clock,
        readers: ReaderProcesses | None = None,
    ) -> None:
        """Store into `blobs`; columns are written below `scratch`, on the same file system.

        Each upload is read by one of `readers`, if there are any.
        """
        self._readers = readers
        self._blobs = blobs
        self._space = space
        self._clock = clock
        self._scratch = scratch
        self._limits = limits
        self._children = threading.BoundedSemaphore(MAX_CHILDREN)

    @property
    def scratch(self) -> Path:
        """The folder for files on their way, on the file system of the blobs."""
        return self._scratch

    def path(self, blob: Blob) -> Path:
        """Return the file of a blob."""
        return self._blobs.local_path(blob.digest)

    def open(self) -> BlobWriter:
        """Open a writer for the bytes of an upload; StorageFull if the disk has no space for new ones."""
        self._space.check()
        self._prepare_reader()
        return self._blobs.writer()

    def read(self, writer: BlobWriter, terms: UploadOptions, stored: set[str]) -> DatasetRecord:
        """Make blobs of what was written and of its columns; return the record, which is not stored yet.

        Call it while holding blobs. Raises Invalid, TooLarge or StorageFull if the upload is not taken. `stored` gets
        the digest of every blob as it is made: the caller discards them should anything fail.
        """
        blob = writer.commit()
        stored.add(blob.digest)
        self._space.check(blob.size)
        with ExitStack() as held:
            with storage_faults("the columns of this dataset"):
                folder = held.enter_context(tempfile.TemporaryDirectory(dir=self._scratch))
            path = self._blobs.local_path(blob.digest)
            copies = held.enter_context(ColumnCopies(self._blobs, path, stored))
            result = self._ingest(path, terms, Path(folder), copies.begin)
            columns = tuple(self._store(column, blob, path, copies, stored) for column in result.columns)
        return DatasetRecord(
            id=new_id("ds"),
            name=terms.name or result.name or "dataset",
            digest=blob.digest,
            size_bytes=blob.size,
            rows=result.rows,
            columns=columns,
            format=terms.format,
            created_at=self._clock.now(),
        )

    def read_table(self, path: Path, terms: UploadOptions, folder: Path) -> tuple[DatasetRecord, dict[str, list[str]]]:
        """Read a file as a table that is not kept: return its record, and the files of its columns in `folder`.

        Raises Invalid, TooLarge or StorageFull if the file is not taken.
        """
        self._space.check(path.stat().st_size)
        result = self._ingest(path, terms, folder)
        columns = tuple(_column(column, "") for column in result.columns)
        record = DatasetRecord(
            id="the table",
            name=result.name or "table",
            digest="",
            size_bytes=path.stat().st_size,
            rows=result.rows,
            columns=columns,
            format=terms.format,
            created_at=self._clock.now(),
        )
        return record, {column.name: [str(column.path)] for column in result.columns}

    def _ingest(self, path: Path, terms: UploadOptions, folder: Path, on_range: OnRange | None = None) -> IngestResult:
        take = run_reader if self._readers is None else self._readers.take
        try:
            with self._children:
                return ingest(path, terms.format, folder, terms.options, self._limits, take, on_range)
        finally:
            self._prepare_reader()

    def _prepare_reader(self) -> None:
        """Have a process ready when the next upload is there."""
        if self._readers is not None:
            self._readers.prepare()

    def derive(self, plan: Plan, columns: Sequence[Column], stored: set[str]) -> DatasetRecord:
        """Make blobs of the columns of a plan, which become those of `columns` with other rows, and of their manifest.

        Return the record, which is not stored yet and has no name of its own; as `read` does otherwise.
        """
        sizes = [Path(path).stat().st_size for part in plan.parts for path in part.paths.values()]
        self._space.check(sum(sizes))
        # The plan is small; what it takes time for is the columns.
        limits = replace(
            self._limits,
            cpu_seconds=self._limits.cpu_budget(sum(sizes)),
            wall_seconds=self._limits.wall_budget(sum(sizes)),
        )
        with ExitStack() as held:
            with storage_faults("the columns of this dataset"):
                folder = Path(held.enter_context(tempfile.TemporaryDirectory(dir=self._scratch)))
                (folder / "target").mkdir()
                (folder / "plan").write_bytes(plan.encode())
            with self._children:
                result = ingest(folder / "plan", DERIVED, folder / "target", IngestOptions(), limits)
            made, sizes_made = [], []
            for column, written in zip(columns, result.columns, strict=True):
                blob = self._blobs.adopt(written.path)
                stored.add(blob.digest)
                sizes_made.append(blob.size)
                made.append(_with_rows(column, written, blob.digest))
        manifest = self._blobs.writer()
        with manifest:
            manifest.write(manifest_of(result.rows, made))
            described = manifest.commit()
        stored.add(described.digest)
        return DatasetRecord(
            id=new_id("ds"),
            name="dataset",
            digest=described.digest,
            size_bytes=described.size + sum(sizes_made),
            rows=result.rows,
            columns=tuple(made),
            format=MANIFEST,
            created_at=self._clock.now(),
        )

    def profile(self, columns: Sequence[ProfiledColumn], target: str | None, folder: Path) -> dict[str, Any]:
        """Return the profile of stored columns (see `app.ingest.profile`); ChildError if its process fails."""
        with self._children:
            return compute_profile(columns, target, self._limits, folder)

    def export(self, columns: Sequence[ExportedColumn], rows: int, format: ExportFormat, path: Path) -> None:
        """Write stored columns as a file (see `app.ingest.exported`); Invalid, TooLarge or StorageFull if it fails."""
        self._space.check_disk()
        with self._children:
            export_columns(columns, rows, format, path, self._limits)

    def _store(
        self, column: IngestedColumn, upload: Blob, path: Path, copies: ColumnCopies, stored: set[str]
    ) -> Column:
        """Return a column whose values are a blob."""
        if column.offset is not None:
            blob = copies.blob(column.offset)
        elif column.path == path.absolute():
            # What NumPy saves is its own column: it need not be digested, nor wait for the disk, a second time.
            blob = upload
        else:
            blob = self._blobs.adopt(column.path)
        stored.add(blob.digest)
        return _column(column, blob.digest)


def _column(column: IngestedColumn, blob: str) -> Column:
    return Column(
        name=column.name,
        dtype=column.dtype,
        shape=column.shape,
        blob=blob,
        minimum=column.minimum,
        maximum=column.maximum,
        mean=column.mean,
        missing=column.missing,
        classes=column.classes,
        label=column.label,
        images=None if column.images is None else asdict(column.images),
    )


def _with_rows(column: Column, written: IngestedColumn, blob: str) -> Column:
    """Return a column with other rows."""
    return replace(
        column,
        blob=blob,
        minimum=written.minimum,
        maximum=written.maximum,
        mean=written.mean,
        missing=written.missing,
    )


def manifest_of(rows: int, columns: Sequence[Column]) -> bytes:
    """Return the description of columns whose digest is that of the dataset: equal columns, equal digests."""
    described = [
        {
            "name": column.name,
            "dtype": column.dtype,
            "shape": list(column.shape),
            "digest": column.blob,
            "classes": None if column.classes is None else list(column.classes),
        }
        for column in columns
    ]
    return json.dumps({"object": "dataset_manifest", "rows": rows, "columns": described}, indent=1).encode() + b"\n"


def dataset_blobs(dataset: DatasetRecord) -> frozenset[str]:
    """Return the digests of all blobs that the dataset consists of."""
    return frozenset({dataset.digest, *(column.blob for column in dataset.columns)})


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

    def create(
        self, upload: BlobWriter, terms: UploadOptions, save_response: SaveResponse[DatasetRecord]
    ) -> DatasetRecord:
        """Read and store what was written to `upload`, all or nothing; Invalid or TooLarge if it is not taken."""
        with self._sweeper.paused() as stored:
            dataset = self._ingestion.read(upload, terms, stored)
            with self._store.begin() as work:
                work.datasets.add(dataset)
                save_response(work, dataset)
        return dataset

    def get(self, dataset_id: str) -> DatasetRecord:
        """Return the dataset; NotFound if there is none."""
        with self._store.read() as work:
            return work.datasets.get(dataset_id)

    def list(self, page: PageRequest, filters: Filters = ALL, *, origin: str | None = None) -> Page[DatasetRecord]:
        """Return a page of the datasets that meet `filters`, and that were made of the dataset `origin` if given.

        Those whose source was deleted are found by its id too.
        """
        with self._store.read() as work:
            return work.datasets.list(page, filters, origin=origin)

    def delete(self, dataset_id: str) -> None:
        """Forget the dataset; Conflict while a fit or an open session uses it."""
        with self._store.begin() as work:
            if work.datasets.in_use(dataset_id):
                raise Conflict(
                    f"dataset {dataset_id} is used by a fit that is not terminal, or by an open session; cancel or "
                    "close that first",
                    code="in_use",
                )
            dataset = work.datasets.get(dataset_id)
            work.datasets.delete(dataset_id)
            work.after_commit(lambda: self._sweeper.discard(dataset_blobs(dataset)))

    def signed_url(self, dataset_id: str) -> tuple[DatasetRecord, str | None]:
        """Return the dataset and a URL of the bytes as they came, None if the server sends them itself."""
        dataset = self.get(dataset_id)
        return dataset, self._integrity.signed_url(dataset.digest, marked=dataset.corrupt)

    def open(self, dataset_id: str) -> tuple[DatasetRecord, BinaryIO]:
        """Return the dataset and the bytes as they came, open for a download (see `Integrity.open_upload`)."""
        dataset = self.get(dataset_id)
        return dataset, self._integrity.open_upload(dataset)

    def rows(self, dataset_id: str, offset: int, limit: int) -> tuple[int, "dict[str, NDArray[Any]]"]:
        """Return how many rows the dataset has, and of each column those from `offset` on, at most `limit`.

        Corrupt if the file of a column is damaged.
        """
        dataset = self.get(dataset_id)
        arrays = {column.name: self._mapped(dataset, column.name) for column in dataset.columns}
        rows = {name: array[offset : offset + limit] for name, array in arrays.items()}
        texts = [column.name for column in dataset.columns if column.classes is not None and column.missing]
        return dataset.rows, {**rows, **{name: np.where(rows[name] < 0, np.nan, rows[name]) for name in texts}}

    def _mapped(self, dataset: DatasetRecord, column: str) -> NDArray[Any]:
        return map_array(self._integrity.column(dataset, column))
