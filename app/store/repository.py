"""What the repositories of a unit of work share: its transaction, and resources that are found by their ids."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sqlalchemy import Connection, Row, Select, Table, Update, bindparam, delete, insert, select, update

from app.domain.errors import Conflict, NotFound
from app.domain.fit import FitRecord
from app.domain.session import SessionRecord
from app.store.dialect import Dialect
from app.store.pages import assign_tenant, owned
from app.store.rows import existing, read_row
from app.store.tables import values_of

if TYPE_CHECKING:
    from app.store.pages import OwnedRecord

R = TypeVar("R", bound="OwnedRecord")
V = TypeVar("V", FitRecord, SessionRecord)

FIXED = ("id", "tenant")
"""Columns of a versioned record that never change."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """What the repositories of one unit of work have in common.

    Attributes:
        connection: to the database, in a transaction.
        now: when it began.
        tenant: whose resources are found and added; None: those of all.
        dialect: what this kind of database does in its own way.
        changed: called with the id of each fit and session that is changed.
        for_update: whether what is read by its id is locked until the transaction ends.
    """

    connection: Connection
    now: datetime
    tenant: str | None
    dialect: Dialect
    changed: Callable[[str], None]
    for_update: bool


class Repository:
    """Some of the tables, within one unit of work."""

    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection
        self._now = transaction.now
        self._tenant = transaction.tenant
        self._dialect = transaction.dialect
        self._changed = transaction.changed
        self._for_update = transaction.for_update


def by_id(statement: Select[Any], table: Table) -> Select[Any]:
    """Select the row of `table` that has the id `wanted`, if it is the tenant's (`whose`)."""
    return statement.where(table.c.id == bindparam("wanted"), owned(table))


class Resources(Repository, Generic[R]):
    """A table of resources, each with an id, of a tenant or of all.

    `_noun` and `_record` say what a row is; `_get` finds one by its id (see `by_id`), and `_lock` locks it, too.
    """

    _table: Table
    _noun: str
    _record: type[R]
    _get: Select[Any]
    _lock: Select[Any]

    def add(self, record: R) -> None:
        """Store a new one. Blobs that it refers to must be durable by now."""
        self._connection.execute(insert(self._table), values_of(assign_tenant(self._tenant, record)))

    def get(self, resource_id: str) -> R:
        """Return the one with this id, also if it is marked as deleted; NotFound if there is none."""
        statement = self._lock if self._for_update else self._get
        row = self._connection.execute(statement, {"wanted": resource_id, "whose": self._tenant}).first()
        return self._read(existing(row, self._noun, resource_id))

    def _read(self, row: Row[Any]) -> R:
        return read_row(self._record, row)


class ReferencedResources(Resources[R]):
    """Resources that others refer to: `_in_use` selects whether something uses the one with the id `wanted`."""

    _in_use: Select[Any]

    def in_use(self, resource_id: str) -> bool:
        """Whether something uses it that has not ended, see `_in_use`; NotFound if there is none.

        No reference is added until the transaction ends. Ask before the record is read to be deleted: two transactions
        that have read it would wait for each other.
        """
        own = by_id(select(self._table.c.id), self._table)
        own = own.with_for_update() if self._for_update else own
        row = self._connection.execute(own, {"wanted": resource_id, "whose": self._tenant}).first()
        existing(row, self._noun, resource_id)
        return bool(self._connection.execute(self._in_use, {"wanted": resource_id}).scalar_one())

    def delete(self, resource_id: str) -> None:
        """Forget it, but not its blobs; NotFound if there is none. Ask `in_use` before."""
        statement = delete(self._table).where(self._table.c.id == bindparam("wanted"), owned(self._table))
        if self._connection.execute(statement, {"wanted": resource_id, "whose": self._tenant}).rowcount == 0:
            raise NotFound(f"there is no {self._noun} {resource_id!r}")


def versioned_update(table: Table) -> Update:
    """Return the statement that changes all but `FIXED` of the row that has an expected version."""
    return (
        update(table)
        .where(table.c.id == bindparam("expected_id"), table.c.version == bindparam("expected_version"))
        .values({column: bindparam(column.name) for column in table.c if column.name not in FIXED})
    )


class VersionedResources(Resources[V]):
    """Resources that several clients change: each change is of the version that was read; see `versioned_update`."""

    _update: Update

    def update(self, record: V) -> V:
        """Store the changed record and return it with its new version.

        Conflict (`stale_version`) if it was changed since `record` was read, NotFound if it was deleted.
        """
        stored = replace(record, version=record.version + 1)
        values = {**values_of(stored), "expected_id": record.id, "expected_version": record.version}
        for name in FIXED:
            values.pop(name)
        if self._connection.execute(self._update, values).rowcount == 0:
            present = self.get(record.id).version
            raise Conflict(
                f"{self._noun} {record.id} has been changed: it is at version {present}, not {record.version}; read it "
                "again",
                code="stale_version",
            )
        self._changed(record.id)
        return stored
