"""Tables and values as terminals show them."""

from datetime import UTC, datetime, timedelta

import pytest

from app.cli.terminal.table import Column, table_lines
from app.cli.terminal.values import age, describe, duration, number, size

COLUMNS = (
    Column("ID", lambda row: row["id"]),
    Column("NAME", lambda row: row["name"], shrinks_to=8),
    Column("NOTE", lambda row: row["note"], shrinks_to=8, optional=True),
    Column("ROWS", lambda row: str(row["rows"]), right=True),
)
ROWS = [
    {"id": "ds_1", "name": "iris", "note": "-", "rows": 150},
    {"id": "ds_2", "name": "a name of 24 characters.", "note": "x", "rows": 7},
]


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (None, ["ID    NAME                      NOTE  ROWS", "ds_2  a name of 24 characters.  x        7"]),
        (30, ["ID    NAME          NOTE  ROWS", "ds_2  a name of 2…  x        7"]),
        (20, ["ID    NAME      ROWS", "ds_2  a name …     7"]),
        (5, ["ID    NAME      ROWS", "ds_2  a name …     7"]),
    ],
)
def test_a_table_shortens_texts_and_then_leaves_columns_out(width: int | None, lines: list[str]) -> None:
    first, _, last = table_lines(COLUMNS, ROWS, width)
    assert [first, last] == lines


def test_a_name_cannot_control_the_terminal_and_is_as_wide_as_it_is_shown() -> None:
    rows = [{**ROWS[0], "name": "\x1b[2J"}, {**ROWS[0], "name": "日本"}]
    assert table_lines(COLUMNS, rows, None)[1:] == [
        r"ds_1  \x1b[2J  -      150",
        "ds_1  日本     -      150",
    ]


def test_values_are_short() -> None:
    assert [duration(each) for each in (None, 0.4, 119, 120, 7199, 7200, 172_800)] == [
        "-", "0 s", "119 s", "2 min", "119 min", "2 h", "2 d",
    ]  # fmt: skip
    now = datetime(2026, 1, 2, tzinfo=UTC)
    assert age((now - timedelta(minutes=3)).isoformat(), now) == "3 min"
    assert [size(each) for each in (None, 999, 1000, 1_340_000, 10**16)] == [
        "-",
        "999 B",
        "1.0 kB",
        "1.3 MB",
        "10000.0 TB",
    ]
    assert [number(each) for each in (None, 0.123456, 12)] == ["-", "0.1235", "12"]


def test_a_document_is_described_by_lines_with_what_is_within_indented() -> None:
    document = {"id": "fit_1", "latest": {"loss": 1.5, "lr": None}, "attempts": [{"number": 1}], "labels": {}}
    assert [*describe(document)] == [
        "id:       fit_1",
        "latest:",
        "  loss: 1.5",
        "  lr:   -",
        "attempts:",
        '  - {"number": 1}',
        "labels:   -",
    ]
