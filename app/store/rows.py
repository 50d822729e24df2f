"""Records read from rows of the database, by the names of their columns."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Row

from app.domain.errors import NotFound

R = TypeVar("R")


def read_row(kind: Callable[..., R], row: Row[Any]) -> R:
    """Return the record of `kind` in a row with columns in any order."""
    return kind(**row._mapping)  # noqa: SLF001 (SQLAlchemy's API: the underscore keeps it apart from columns)


def row_reader(kind: Callable[..., R]) -> Callable[[Row[Any]], R]:
    """Return the function that reads rows as records of `kind`."""
    return partial(read_row, kind)


def read_optional(kind: Callable[..., R], row: Row[Any] | None) -> R | None:
    """Return the record in a row, None if there is none."""
    return None if row is None else read_row(kind, row)


def read_rows(kind: Callable[..., R], rows: Iterable[Row[Any]]) -> tuple[R, ...]:
    """Return the records in rows, in their order."""
    return tuple(read_row(kind, row) for row in rows)


def existing(row: Row[Any] | None, noun: str, row_id: str) -> Row[Any]:
    """Return the row; NotFound, which names the resource, if there is none."""
    if row is None:
        raise NotFound(f"there is no {noun} {row_id!r}")
    return row
