"""Which rows a unit of work sees: its tenant's, or, if it has none, those of all."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sqlalchemy import BindParameter, ColumnElement, Select, Table, bindparam, or_

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    class OwnedRecord(DataclassInstance, Protocol):
        """A record that belongs to a tenant."""

        @property
        def tenant(self) -> str:
            """Whose it is."""


R = TypeVar("R", bound="OwnedRecord")
S = TypeVar("S", bound=Select[Any])


def owned(table: Table) -> ColumnElement[bool]:
    """Return what is true of the rows of `table` that are seen; statements with it need the parameter `whose`."""
    whose: BindParameter[str | None] = bindparam("whose")
    return or_(whose.is_(None), table.c.tenant == whose)


def only_owned(statement: S, table: Table, tenant: str | None) -> S:
    """Leave the rows of `table` that a `tenant` sees, in a way that an index of theirs is of use."""
    return statement if tenant is None else statement.where(table.c.tenant == tenant)


def taken_by(tenant: str | None, record: R) -> R:
    """Return a new record as the tenant's who adds it; what the server adds says itself whose it is."""
    return record if tenant is None else replace(record, tenant=tenant)
