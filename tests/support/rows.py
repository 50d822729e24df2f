"""Many rows of a table as one test: for rows that take microseconds, where a test of its own takes milliseconds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, NamedTuple

import pytest

LABEL_LENGTH = 80
MOST_SHOWN = 10
"""Of so many failures the whole text is shown; of further ones the first line."""


class Row(NamedTuple):
    """The arguments of one call, and what a report calls it."""

    label: str
    arguments: dict[str, Any]


class Table(NamedTuple):
    """A function and the rows it is called with."""

    function: Callable[..., None]
    rows: list[Row]


TABLES: dict[Callable[..., None], Table] = {}
"""By the test that a table became."""


def each_row(
    names: str | Sequence[str], values: Iterable[Any], ids: Iterable[str] | Callable[[Any], object] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call a test function with each row in one test, which reports all rows that fail.

    Takes what `pytest.mark.parametrize` takes, for functions whose rows share no fixture that they change; several
    tables of one function are multiplied.
    """
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = list(_rows(columns, list(values), ids))

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        known = TABLES.pop(function, Table(function, [Row("", {})]))
        product = [
            Row("-".join(filter(None, (inner.label, outer.label))), {**inner.arguments, **outer.arguments})
            for outer in rows
            for inner in known.rows
        ]
        return _test(Table(known.function, product))

    return decorate


def _rows(columns: list[str], values: list[Any], ids: Any) -> Iterable[Row]:
    labels = [None] * len(values) if ids is None else [ids(v) for v in values] if callable(ids) else list(ids)
    for value, label in zip(values, labels, strict=True):
        if hasattr(value, "marks"):  # pytest.param
            assert not value.marks, "rows of a table have no marks"
            cells, label = list(value.values), value.id or label
        else:
            cells = list(value) if len(columns) > 1 else [value]
        yield Row(str(label or repr(value))[:LABEL_LENGTH], dict(zip(columns, cells, strict=True)))


def _test(created: Table) -> Callable[..., None]:
    @wraps(created.function)
    def test(**fixtures: Any) -> None:
        failures: list[tuple[str, Exception]] = []
        skipped = []
        for label, arguments in created.rows:
            try:
                created.function(**arguments, **fixtures)
            except pytest.skip.Exception as skip:
                skipped.append(skip)
            except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - reported beside the others
                failures.append((label, error))
        if failures:
            raise AssertionError(_report(failures, len(created.rows))) from failures[0][1]
        if created.rows and len(skipped) == len(created.rows):
            raise skipped[0]

    given = set().union(*(row.arguments for row in created.rows))
    signature = inspect.signature(created.function)
    left = [parameter for name, parameter in signature.parameters.items() if name not in given]
    test.__signature__ = signature.replace(parameters=left)
    TABLES[test] = created
    return test


def _report(failures: list[tuple[str, Exception]], count: int) -> str:
    lines = [f"{len(failures)} of {count} rows fail"]
    for place, (label, error) in enumerate(failures):
        text = f"{type(error).__name__}: {error}"
        lines.append(f"[{label}] {text if place < MOST_SHOWN else text.splitlines()[0]}")
    return "\n".join(lines)
