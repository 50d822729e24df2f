"""The labels of fits and of sessions, which are JSON objects: what has one, and which there are."""

from sqlalchemy import Connection, Table, exists, func, select, true
from sqlalchemy.sql import ColumnElement

from app.domain.documents import nearest
from app.domain.errors import Finding
from app.store.ownership import only_owned

Label = tuple[str, str]
"""A key and its value."""


def has_label(table: Table, label: Label) -> ColumnElement[bool]:
    """Return the condition that a row of `table` has a label."""
    entry = func.json_each(table.c.labels).table_valued("key", "value")
    return exists().where(entry.c.key == label[0], entry.c.value == label[1])


def unknown_label(connection: Connection, table: Table, tenant: str | None, label: Label) -> tuple[Finding, ...]:
    """Return what is wrong with a label that is listed by: a finding if nothing of the tenant's has it, else none."""
    entry = func.json_each(table.c.labels).table_valued("key", "value")
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
