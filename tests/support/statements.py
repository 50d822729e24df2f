"""Statements of SQL that are compiled once for all databases which a process opens."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Dialect, Engine, event
from sqlalchemy.engine.interfaces import Compiled


@contextmanager
def sharing_statements() -> Iterator[None]:
    """Have each connection to SQLite execute what others have compiled, which takes a third of a test with a store.

    What is compiled is kept by its dialect, of which each engine makes its own; all are alike.
    """
    dialects: dict[str, Dialect] = {}
    compiled: dict[object, Compiled] = {}

    def share(connection: Connection) -> None:
        if connection.dialect.name == "sqlite":
            connection.dialect = dialects.setdefault("sqlite", connection.dialect)
            connection.execution_options(compiled_cache=compiled)

    event.listen(Engine, "engine_connect", share)
    try:
        yield
    finally:
        event.remove(Engine, "engine_connect", share)
