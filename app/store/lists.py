"""How lists are filtered, ordered and cut into pages: one way for every table of resources.

Pages are cut by key (keyset pagination): a cursor holds the values of the last entry, and the next page begins behind
them, also if entries are added or deleted in between.
"""

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, TypeVar, cast

from sqlalchemy import BigInteger, ColumnElement, Connection, Select, Table, func, select, tuple_, type_coerce

from app.domain.documents import nearest
from app.domain.errors import Finding, Invalid, NotFound
from app.domain.ids import is_id
from app.store.pages import (
    Page,
    PageRequest,
    decode_cursor,
    encode_cursor,
    fetch_page,
    has_label,
    invalid_cursor,
    only_owned,
    unknown_label,
)
from app.store.tables import checkpoints, datasets, fits, graphs, sessions

T = TypeVar("T")

NAMES_SUGGESTED = 1000
"""The newest entries whose names are compared with one that nothing has."""

NEVER = 2**62
"""Stands for a time that has not come yet, behind all others, in microseconds."""

INTEGER_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Filters:
    """Which entries a list has: those that meet all conditions that are given.

    Attributes:
        state: the state that they are in.
        label: a key and its value, both exact.
        name: their exact name.
        name_prefix: how their names begin; upper and lower case differ.
        created_after: they were created later than this.
        created_before: they were created earlier than this.
    """

    state: str | None = None
    label: tuple[str, str] | None = None
    name: str | None = None
    name_prefix: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None


ALL = Filters()


@dataclass(frozen=True, slots=True)
class Listing:
    """A table that is listed, and what it can be ordered by beside `created_at`, by name.

    The values of an order are texts or integers, never NULL. Where two entries have the same one, their ids decide.
    """

    table: Table
    orders: Mapping[str, ColumnElement[Any]]

    def fetch(
        self,
        connection: Connection,
        statement: Select[Any],
        tenant: str | None,
        page: PageRequest,
        filters: Filters,
        record: Callable[[Any], T],
    ) -> Page[T]:
        """Run `statement`, whose first column is the id, for one page of what a tenant may read; `record` reads a row.

        Invalid, pointing at `/cursor`, if the cursor is not one of this order.
        """
        statement = only_owned(statement, self.table, tenant).where(*self._conditions(filters))
        if page.order_by == "created_at":
            # Ids are in the order of creation.
            found = fetch_page(connection, statement, self.table.c.id, page, record)
        else:
            found = self._fetch_ordered(connection, statement, page, record)
        if found.items:
            return found
        return replace(found, findings=self._unmatched(connection, tenant, filters))

    def _conditions(self, filters: Filters) -> list[ColumnElement[bool]]:
        columns, found = self.table.c, []
        if filters.state is not None:
            found.append(columns.state == filters.state)
        if filters.label is not None:
            found.append(has_label(self.table, filters.label))
        if filters.name is not None:
            found.append(columns.name == filters.name)
        if filters.name_prefix:
            found.append(columns.name >= filters.name_prefix)
            behind = _text_behind(filters.name_prefix)
            if behind is not None:
                found.append(columns.name < behind)
        if filters.created_after is not None:
            found.append(columns.created_at > _end_of_millisecond(filters.created_after))
        if filters.created_before is not None:
            whole = filters.created_before.microsecond % 1000 == 0
            end = _end_of_millisecond(filters.created_before)
            found.append(columns.created_at < filters.created_before if whole else columns.created_at <= end)
        return found

    def _fetch_ordered(
        self, connection: Connection, statement: Select[Any], page: PageRequest, record: Callable[[Any], T]
    ) -> Page[T]:
        key, identifier, descending = self.orders[page.order_by], self.table.c.id, page.order == "desc"
        if page.cursor is not None:
            value, last_id = _decode_place(page.cursor, page.order_by, key.type.python_type)
            place, last = tuple_(key, identifier), tuple_(value, last_id)
            statement = statement.where(place < last if descending else place > last)
        order = (key.desc(), identifier.desc()) if descending else (key, identifier)
        rows = connection.execute(statement.order_by(*order).limit(page.limit + 1)).all()
        wanted, next_cursor = rows[: page.limit], None
        if len(rows) > len(wanted) > 0:
            last_id = wanted[-1][0]
            value = connection.execute(select(key).where(identifier == last_id)).scalar_one()
            next_cursor = encode_cursor(
                json.dumps([page.order_by, value, last_id], ensure_ascii=False, separators=(",", ":"))
            )
        return Page(tuple(record(row) for row in wanted), next_cursor)

    def _unmatched(self, connection: Connection, tenant: str | None, filters: Filters) -> tuple[Finding, ...]:
        """Return which filters nothing can match, and what there is instead."""
        found: tuple[Finding, ...] = ()
        if filters.label is not None:
            found += unknown_label(connection, self.table, tenant, filters.label)
        if filters.name is not None:
            names = only_owned(select(self.table.c.name), self.table, tenant)
            if connection.execute(names.where(self.table.c.name == filters.name).limit(1)).first() is None:
                newest = names.where(self.table.c.name != "").order_by(self.table.c.id.desc()).limit(NAMES_SUGGESTED)
                near = nearest(filters.name, {name[:64]: None for name in connection.execute(newest).scalars()})
                hint = near if near.startswith("; did") else "; name_prefix= finds names by their beginning"
                found += (Finding("/name", "no_match", f"nothing has the name {filters.name[:64]!r}{hint}"),)
        return found


def _end_of_millisecond(moment: datetime) -> datetime:
    """Return the last moment that is shown as this one: times are stored in microseconds, shown in milliseconds."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000 + 999)


def check_filter_id(name: str, prefix: str, resource_id: str | None, get: Callable[[str], object]) -> None:
    """Refuse a filter by a resource that does not exist: nothing matches it. Invalid, pointing at parameter `name`."""
    if resource_id is None:
        return
    try:
        if not is_id(prefix, resource_id):
            raise NotFound(f"such ids are {prefix}_ and 26 characters")
        get(resource_id)
    except NotFound as error:
        detail = f"query parameter: there is no {_THINGS[prefix]} of this id: {error.detail}"
        raise Invalid(detail, code="not_found", findings=[Finding(f"/{name}", "not_found", detail)]) from error


_THINGS = MappingProxyType({"fit": "fit", "sess": "session", "graph": "graph"})


# A text with escapes is a text of JSON; a number has at most the digits of 64 bits.
_PLACE = re.compile(r'\["[a-z_]{1,32}",(-?[0-9]{1,19}|"([^"\\]|\\.)*"),"[a-z]{1,16}_[0-9a-z]{1,64}"\]', re.DOTALL)


def _decode_place(cursor: str, order_by: str, kind: type[str | int]) -> tuple[str | int, str]:
    """Return value, of this kind, and id of the last entry of a page in this order."""
    try:
        name, value, identifier = cast(tuple[str, str | int, str], json.loads(decode_cursor(cursor, _PLACE)))
    except ValueError:
        raise invalid_cursor() from None
    if name != order_by or not isinstance(value, kind) or not _is_storable(value):
        raise invalid_cursor()
    return value, identifier


def _is_storable(value: str | int) -> bool:
    """Whether databases can compare with a value: no lone surrogate, no NUL, no integer beyond 64 bits."""
    if isinstance(value, int):
        return -INTEGER_MAX <= value <= INTEGER_MAX
    return "\0" not in value and not any("\ud800" <= character <= "\udfff" for character in value)


def _text_behind(prefix: str) -> str | None:
    """Return the first text, by code points, behind all that begin with `prefix`; None if there is none."""
    kept = prefix.rstrip(chr(sys.maxunicode))
    if not kept:
        return None
    following = ord(kept[-1]) + 1
    return kept[:-1] + ("\ue000" if 0xD800 <= following <= 0xDFFF else chr(following))


def _moment(column: ColumnElement[Any]) -> ColumnElement[int]:
    return type_coerce(column, BigInteger)


FITS = Listing(
    fits,
    {
        "name": fits.c.name,
        "step": fits.c.step,
        "finished_at": func.coalesce(_moment(fits.c.finished_at), NEVER),
    },
)
DATASETS = Listing(datasets, {"name": datasets.c.name, "rows": datasets.c.rows, "size_bytes": datasets.c.size_bytes})
GRAPHS = Listing(graphs, {"name": graphs.c.name})
CHECKPOINTS = Listing(checkpoints, {"step": checkpoints.c.step, "size_bytes": checkpoints.c.size_bytes})
SESSIONS = Listing(sessions, {"name": sessions.c.name, "used_at": _moment(sessions.c.used_at)})
