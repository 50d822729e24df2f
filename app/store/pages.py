"""Lists a page at a time: a cursor is the last id of a page, so it stays valid while rows come and go."""

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from sqlalchemy import ColumnElement, Connection, Select

from app.domain.errors import Finding, Invalid

T = TypeVar("T")

DEFAULT_LIMIT = 100
CURSOR_LENGTH_MAX = 128
_ID = re.compile(r"[a-z]{1,16}_[0-9a-z]{1,64}")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which page is wanted: at most `limit` items after `cursor`, newest first unless `order` says otherwise."""

    limit: int = DEFAULT_LIMIT
    cursor: str | None = None
    order: Literal["asc", "desc"] = "desc"


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items of a list; `next_cursor` asks for the ones after them, None if there were none.

    `findings` tell what of the query can match nothing that there is.
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
    detail = "this is not a cursor of this list; pass a next_cursor as it was received, or none for the first page"
    raise Invalid(detail, code="invalid_cursor", findings=[Finding("/cursor", "invalid_cursor", detail)])


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
    # One row more than asked for tells whether there is a next page.
    statement = statement.order_by(key.desc() if descending else key).limit(request.limit + 1)
    rows = connection.execute(statement).all()
    wanted = rows[: request.limit]
    next_cursor = encode_cursor(wanted[-1][0]) if len(rows) > len(wanted) > 0 else None
    return Page(tuple(record(row) for row in wanted), next_cursor)
