"""Copies of all rows from one database to another, whichever of the two kinds they are, and digests to compare them."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, Enum, MetaData, Row, Table, Text, func, insert, select, tuple_
from sqlalchemy.types import TypeDecorator, TypeEngine

from app.store.database import FILE_NAME, Database
from app.store.tables import metadata

BATCH_ROWS = 1000

OpenTarget = Callable[[], AbstractContextManager[Connection]]
"""Opens a transaction of the database that is written to."""


@dataclass(frozen=True, slots=True)
class TableDigest:
    """How many rows a table has, and the SHA-256 of them in the order of their primary keys."""

    rows: int
    digest: str


def copy_rows(source: Connection, open_target: OpenTarget) -> Iterator[tuple[str, int]]:
    """Copy what the tables of `source` have beyond those of the target, in one transaction for each batch.

    Rows go in the order of their primary keys, so a copy that was stopped goes on after the last row that arrived; both
    databases are at the newest schema, and no other process writes. Yields the name of each table, before the first
    batch and after each, with the number of its rows so far.
    """
    for table in _TABLES:
        key = tuple(table.primary_key)
        with open_target() as target:
            copied = target.execute(select(func.count()).select_from(table)).scalar_one()
            found = target.execute(select(*key).order_by(*(column.desc() for column in key)).limit(1)).first()
        last = None if found is None else tuple(found)
        yield table.name, copied
        while rows := _rows_after(source, table, last):
            with open_target() as target:
                target.execute(insert(table), [row._asdict() for row in rows])
            last = _key_of(rows[-1], table)
            copied += len(rows)
            yield table.name, copied


def digest_tables(connection: Connection) -> dict[str, TableDigest]:
    """Return the digest of each table."""
    return {table.name: _digest(connection, table) for table in _TABLES}


def copy_to_file(source: Connection, path: Path) -> None:
    """Make the new file `path` an SQLite database of all rows of `source`, read at one moment."""
    assert path.name == FILE_NAME
    copied = Database.open(path.parent)
    try:
        for _ in copy_rows(source, copied.transaction):
            pass
    finally:
        copied.close()


def _digest(connection: Connection, table: Table) -> TableDigest:
    digest, count, last = hashlib.sha256(), 0, None
    while rows := _rows_after(connection, table, last):
        for row in rows:
            digest.update(repr(tuple(row)).encode())
        count += len(rows)
        last = _key_of(rows[-1], table)
    return TableDigest(count, digest.hexdigest())


def _rows_after(connection: Connection, table: Table, last: Sequence[Any] | None) -> Sequence[Row[Any]]:
    key = tuple(table.primary_key)
    statement = select(table)
    if last is not None:
        statement = statement.where(tuple_(*key) > tuple_(*last, types=[column.type for column in key]))
    return connection.execute(statement.order_by(*key).limit(BATCH_ROWS)).all()


def _key_of(row: Row[Any], table: Table) -> tuple[Any, ...]:
    values = row._asdict()
    return tuple(values[column.name] for column in table.primary_key)


def _as_stored(table: Table) -> Table:
    """Return the table without what encodes and decodes its values: they are copied as they lie in it."""
    columns = (Column(column.name, _stored_type(column.type), primary_key=column.primary_key) for column in table.c)
    return Table(table.name, MetaData(), *columns)


def _stored_type(kind: TypeEngine[Any]) -> TypeEngine[Any]:
    if isinstance(kind, TypeDecorator):
        return kind.impl_instance
    return Text() if isinstance(kind, Enum) else kind


_TABLES = tuple(_as_stored(table) for table in metadata.sorted_tables)
