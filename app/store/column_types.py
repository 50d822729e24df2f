"""How records become rows: JSON as text, moments as integers, numbers without loss."""

import json
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def to_microseconds(moment: datetime) -> int:
    """Return the microseconds from 1970 in UTC to the aware `moment`."""
    return (moment - EPOCH) // MICROSECOND


class JsonText(TypeDecorator[Any]):
    """A JSON value as text, in Python's dialect: NaN and Infinity survive, so that a diverged fit can be stored.

    Text, not the database's own JSON type, so that integers of any size and floats read back to the same bits.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, _dialect: Dialect) -> str | None:
        """Encode `value` as JSON; None is NULL."""
        return None if value is None else json.dumps(value, separators=(",", ":"))

    def process_result_value(self, value: Any, _dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


class Timestamp(TypeDecorator[datetime]):
    """An aware moment as microseconds since 1970 in UTC: exact, small, and in order."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _dialect: Dialect) -> int | None:
        return None if value is None else to_microseconds(value)

    def process_result_value(self, value: Any, _dialect: Dialect) -> datetime | None:
        return None if value is None else EPOCH + timedelta(microseconds=value)


class ExactNumber(TypeDecorator[float]):
    """An int or a float as text, so that 2**64 - 1, infinity and every bit of a float read back as they were."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: float | None, _dialect: Dialect) -> str | None:
        return None if value is None else repr(value)

    def process_result_value(self, value: Any, _dialect: Dialect) -> float | None:
        """Return an int for the text of a whole number, else a float."""
        if value is None:
            return None
        return int(value) if value.lstrip("-").isdigit() else float(value)


if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def values_of(record: "DataclassInstance") -> dict[str, Any]:
    """Return the record's fields by name, not copied (`dataclasses.asdict` would copy every nested dict).

    Those that are computed when a record is read (`app.domain.records`) are left out.
    """
    return {field.name: getattr(record, field.name) for field in fields(record) if not field.metadata.get("computed")}
