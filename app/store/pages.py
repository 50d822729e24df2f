"""Which rows a unit of work can read, by tenant and label, and how they are listed in pages."""

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Select,
    Table,
    Text,
    bindparam,
    exists,
    or_,
    select,
    true,
)

from app.domain.documents import nearest
from app.domain.errors import Finding, Invalid
from app.store.expressions import json_entries

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
    whose: BindParameter[str | None] = bindparam("whose", type_=Text)
    return or_(whose.is_(None), table.c.tenant == whose)


def only_owned(statement: S, table: Table, tenant: str | None) -> S:
    """Select the rows of `table` that a `tenant` may read, in a form that uses an index."""
    return statement if tenant is None else statement.where(table.c.tenant == tenant)


def assign_tenant(tenant: str | None, record: R) -> R:
    """Return a new record as the tenant's who adds it; what the server adds says itself whose it is."""
    return record if tenant is None else replace(record, tenant=tenant)


Label = tuple[str, str]
"""A key and its value."""


def has_label(table: Table, label: Label) -> ColumnElement[bool]:
    """Return the condition that a row of `table` has a label."""
    entry = json_entries(table.c.labels)
    return exists().where(entry.c.key == label[0], entry.c.value == label[1])


def unknown_label(connection: Connection, table: Table, tenant: str | None, label: Label) -> tuple[Finding, ...]:
    """Return what is wrong with a label that is listed by: a finding if nothing of the tenant's has it, else none."""
    entry = json_entries(table.c.labels)
    of_each = table.join(entry, true())
    pairs = only_owned(select(entry.c.key, entry.c.value).select_from(of_each), table, tenant).distinct()
    values: dict[str, set[str]] = {}
    for key, value in connection.execute(pairs):
        values.setdefault(key, set()).add(str(value))
    key, wanted = label
    if key not in values:
        return (Finding("/label", "unknown_name", f"nothing has a label {key!r}{nearest(key, values)}"),)
    if wanted not in values[key]:
        hint = nearest(wanted, values[key])
        return (Finding("/label", "no_match", f"nothing has the label {key!r} with the value {wanted[:64]!r}{hint}"),)
    return ()


T = TypeVar("T")

DEFAULT_LIMIT = 100
CURSOR_LENGTH_MAX = 4096
_ID = re.compile(r"[a-z]{1,16}_[0-9a-z]{1,64}")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which page is wanted: at most `limit` items after `cursor`, the highest of `order_by` first unless `order` says
    otherwise; what there is beside `created_at` depends on the list (see `app.store.lists`).
    """

    limit: int = DEFAULT_LIMIT
    cursor: str | None = None
    order: Literal["asc", "desc"] = "desc"
    order_by: str = "created_at"


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items of a list; `next_cursor` asks for the ones after them, None if there were none.

    `findings` list what of the query can match nothing that there is.
    """

    items: tuple[T, ...]
    next_cursor: str | None
    findings: tuple[Finding, ...] = ()


def encode_cursor(last: str) -> str:
    """Encode the position of the last item of a page as an opaque cursor."""
    return base64.urlsafe_b64encode(last.encode()).decode().rstrip("=")


def decode_cursor(cursor: str, form: re.Pattern[str] = _ID) -> str:
    """Return what is within `cursor`, an id unless its `form` is another.

    Invalid, pointing at `/cursor`, if `encode_cursor` cannot have made it.
    """
    if len(cursor) <= CURSOR_LENGTH_MAX and cursor.isascii():
        try:
            last = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            last = ""
        if form.fullmatch(last) and encode_cursor(last) == cursor:
            return last
    raise invalid_cursor()


def invalid_cursor() -> Invalid:
    """Return the error for a cursor that no page of the list had."""
    detail = (
        "this is not a cursor of this list in this order; pass a next_cursor as it was received, with the same "
        "order_by, or none for the first page"
    )
    return Invalid(detail, code="invalid_cursor", findings=[Finding("/cursor", "invalid_cursor", detail)])


def fetch_page(
    connection: Connection,
    statement: Select[Any],
    key: ColumnElement[str],
    request: PageRequest,
    record: Callable[[Any], T],
) -> Page[T]:
    """Run `statement` for one page in the order of `key`, its first column, the ids. `record` reads a row."""
    descending = request.order == "desc"
    if request.cursor is not None:
        last_id = decode_cursor(request.cursor)
        statement = statement.where(key < last_id if descending else key > last_id)
    # One row more than requested shows whether there is a next page.
    statement = statement.order_by(key.desc() if descending else key).limit(request.limit + 1)
    rows = connection.execute(statement).all()
    wanted = rows[: request.limit]
    next_cursor = encode_cursor(wanted[-1][0]) if len(rows) > len(wanted) > 0 else None
    return Page(tuple(record(row) for row in wanted), next_cursor)
