"""SQL that SQLite and PostgreSQL have other words for: rows out of JSON text, and rows that may be there already.

JSON is stored as text (see `app.store.tables.JsonText`); PostgreSQL reads it as `jsonb` where it is searched.
"""

from typing import Any

from sqlalchemy import Column, ColumnElement, Insert, Table, TableValuedAlias, Text
from sqlalchemy.dialects import sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


def insert_or_ignore(table: Table) -> Insert:
    """Return the statement that inserts a row unless there is one with its primary key."""
    return sqlite.insert(table).on_conflict_do_nothing()


def json_entries(column: Column[Any]) -> TableValuedAlias:
    """Return the entries of a column of JSON objects as rows: `key`, `value` (as text if it is one)."""
    return _Entries(column).table_valued("key", "value")


def json_items(column: Column[Any], name: str) -> TableValuedAlias:
    """Return the texts of an array as rows, `value`: `name` is its path in a JSON object, `a` or `a.b`.

    One text counts as an array of it, and what is missing as an empty one.
    """
    return _Items(column, f"$.{name}").table_valued("value")


def json_text(column: Column[Any], name: str) -> ColumnElement[str]:
    """Return the text that an object of JSON has as `name`, NULL if it has none."""
    return _Member(column, f"$.{name}")


class _Entries(FunctionElement[Any]):
    inherit_cache = True


class _Items(FunctionElement[Any]):
    inherit_cache = True


class _Member(FunctionElement[str]):
    inherit_cache = True
    type = Text()


@compiles(_Entries, "sqlite")
@compiles(_Items, "sqlite")
def _each_of_sqlite(element: FunctionElement[Any], compiler: SQLCompiler, **options: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **options)})"


@compiles(_Member, "sqlite")
def _member_of_sqlite(element: _Member, compiler: SQLCompiler, **options: Any) -> str:
    return f"json_extract({compiler.process(element.clauses, **options)})"


@compiles(sqlite.dml.OnConflictDoNothing, "postgresql")
def _on_conflict_do_nothing(element: object, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ARG001
    return "ON CONFLICT DO NOTHING"


@compiles(_Entries, "postgresql")
def _entries_of_postgresql(element: _Entries, compiler: SQLCompiler, **options: Any) -> str:
    return f"jsonb_each_text(CAST({compiler.process(element.clauses, **options)} AS jsonb))"


@compiles(_Items, "postgresql")
def _items_of_postgresql(element: _Items, compiler: SQLCompiler, **options: Any) -> str:
    column, path = (compiler.process(clause, **options) for clause in element.clauses)
    # Lax paths, the default, take what is no array for an array of one.
    found = f"jsonb_path_query_array(CAST({column} AS jsonb), CAST({path} || '[*]' AS jsonpath))"
    return f"jsonb_array_elements_text({found})"


@compiles(_Member, "postgresql")
def _member_of_postgresql(element: _Member, compiler: SQLCompiler, **options: Any) -> str:
    column, path = (compiler.process(clause, **options) for clause in element.clauses)
    return f"(jsonb_path_query_first(CAST({column} AS jsonb), CAST({path} AS jsonpath)) #>> '{{}}')"
