import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, create_engine, insert, select
from sqlalchemy.types import TypeEngine

from app.store.tables import ExactNumber, JsonText, Timestamp, to_microseconds


def round_trip(kind: type[TypeEngine[Any]], value: object) -> object:
    table = Table("t", MetaData(), Column("id", Integer, primary_key=True), Column("value", kind))
    engine = create_engine("sqlite://")
    try:
        with engine.begin() as connection:
            table.create(connection)
            connection.execute(insert(table), {"id": 1, "value": value})
            return connection.execute(select(table.c.value)).scalar_one()
    finally:
        engine.dispose()


@pytest.mark.parametrize(
    "value",
    [None, {}, [], 0, 2**80, -1.5e-310, 0.1, True, "", "a\n\u2028\x00", "\ud800", {"a": [1, {"b": None}]}, math.inf],
)
def test_json_reads_back_as_it_was(value: object) -> None:
    assert round_trip(JsonText, value) == value


def test_json_keeps_nan() -> None:
    read = round_trip(JsonText, {"loss": math.nan})
    assert isinstance(read, dict)
    assert math.isnan(read["loss"])


@pytest.mark.parametrize("value", [None, 0, -1, 2**64 - 1, -(2**63), 0.1, -0.0, 1e-320, 1e300, math.inf, -math.inf])
def test_a_number_reads_back_with_its_type_and_every_bit(value: float | None) -> None:
    assert repr(round_trip(ExactNumber, value)) == repr(value)


@pytest.mark.parametrize(
    "moment",
    [
        None,
        datetime(2026, 1, 31, 12, 0, 0, 123_457, UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC),
        datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=5, minutes=30))),
    ],
)
def test_a_moment_reads_back_to_the_microsecond(moment: datetime | None) -> None:
    assert round_trip(Timestamp, moment) == moment


def test_microseconds_count_from_1970() -> None:
    assert to_microseconds(datetime(1970, 1, 1, 0, 0, 1, 5, UTC)) == 1_000_005
