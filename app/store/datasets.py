"""Datasets and their columns in the database."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlalchemy import Row, bindparam, exists, insert, or_, select

from app.domain.fit import TERMINAL, FitState
from app.domain.records import Column, DatasetRecord
from app.domain.session import OPEN
from app.store.blob_references import DamagedBlobs
from app.store.expressions import json_items
from app.store.lists import ALL, DATASETS, Filters
from app.store.pages import Page, PageRequest, assign_tenant, owned
from app.store.repository import ReferencedResources, Transaction, by_id
from app.store.tables import dataset_columns, datasets, fits, session_datasets, sessions, values_of

_COLUMNS = (
    select(dataset_columns)
    .where(dataset_columns.c.dataset_id.in_(bindparam("dataset_ids", expanding=True)))
    .order_by(dataset_columns.c.dataset_id, dataset_columns.c.position)
)
_WITH_COLUMN = (
    select(dataset_columns.c.dataset_id)
    .distinct()
    .join(datasets)
    .where(dataset_columns.c.blob == bindparam("content"), owned(datasets))
    .order_by(dataset_columns.c.dataset_id)
)
# A request names one dataset or a list of them, to train and to validate on.
_NAMED = [json_items(fits.c.request, name) for name in ("dataset", "validation.dataset")]
_IN_USE = select(
    exists().where(
        fits.c.state.in_([state for state in FitState if state not in TERMINAL]),
        or_(*(exists().where(named.c.value == bindparam("wanted")).correlate(fits) for named in _NAMED)),
    )
    | exists().where(
        session_datasets.c.dataset_id == bindparam("wanted"),
        session_datasets.c.session_id == sessions.c.id,
        sessions.c.state.in_(OPEN),
    )
)


class Datasets(ReferencedResources[DatasetRecord]):
    """The datasets of a tenant, or of all, within one unit of work.

    One is in use by a fit that is not terminal and trains or validates on it, or by an open session.
    """

    _table = datasets
    _noun = "dataset"
    _record = DatasetRecord
    _get = by_id(select(datasets), datasets)
    _lock = _get.with_for_update(read=True, key_share=True)
    _in_use = _IN_USE

    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction)
        self._damaged = DamagedBlobs(transaction)

    def add(self, dataset: DatasetRecord) -> None:
        """Store a new dataset with its columns, whose blobs must be durable by now."""
        values = values_of(assign_tenant(self._tenant, dataset))
        columns: tuple[Column, ...] = values.pop("columns")
        self._connection.execute(insert(datasets), values)
        if columns:
            rows = [
                {"dataset_id": dataset.id, "position": position, **values_of(column)}
                for position, column in enumerate(columns)
            ]
            self._connection.execute(insert(dataset_columns), rows)

    def list(self, page: PageRequest, filters: Filters = ALL, *, origin: str | None = None) -> Page[DatasetRecord]:
        """Return a page of the datasets that meet `filters`, and that were made of the dataset `origin` if given."""
        statement = select(datasets)
        if origin is not None:
            source = json_items(datasets.c.origin, "datasets")
            statement = statement.where(exists().where(source.c.value == origin).correlate(datasets))
        rows = DATASETS.fetch(self._connection, statement, self._tenant, page, filters, lambda row: row)
        return Page(self._datasets(rows.items), rows.next_cursor, rows.findings)

    def with_column(self, digest: str) -> tuple[str, ...]:
        """Return the ids of the datasets that hold a column with this content, the oldest first."""
        return tuple(self._connection.execute(_WITH_COLUMN, {"content": digest, "whose": self._tenant}).scalars())

    def _read(self, row: Row[Any]) -> DatasetRecord:
        return self._datasets([row])[0]

    def _datasets(self, rows: Sequence[Any]) -> tuple[DatasetRecord, ...]:
        """Return the records of rows, with their columns and with what is known of their files."""
        columns = self._columns(row.id for row in rows)
        digests = {row.digest for row in rows} | {column.blob for each in columns.values() for column in each}
        damaged = self._damaged.among(digests)
        return tuple(_dataset(row, columns[row.id], damaged) for row in rows)

    def _columns(self, dataset_ids: Iterable[str]) -> dict[str, tuple[Column, ...]]:
        found: defaultdict[str, tuple[Column, ...]] = defaultdict(tuple)
        for row in self._connection.execute(_COLUMNS, {"dataset_ids": [*dataset_ids]}):
            found[row.dataset_id] += (_column(row),)
        return found


def _dataset(row: Any, columns: tuple[Column, ...], damaged: Collection[str]) -> DatasetRecord:
    return DatasetRecord(
        id=row.id,
        name=row.name,
        digest=row.digest,
        size_bytes=row.size_bytes,
        rows=row.rows,
        columns=columns,
        format=row.format,
        created_at=row.created_at,
        tenant=row.tenant,
        version=row.version,
        origin=row.origin,
        corrupt=not {row.digest, *(column.blob for column in columns)}.isdisjoint(damaged),
    )


def _column(row: Any) -> Column:
    return Column(
        name=row.name,
        dtype=row.dtype,
        shape=tuple(row.shape),
        blob=row.blob,
        minimum=row.minimum,
        maximum=row.maximum,
        mean=row.mean,
        missing=row.missing,
        classes=None if row.classes is None else tuple(row.classes),
        label=row.label,
        images=row.images,
    )
