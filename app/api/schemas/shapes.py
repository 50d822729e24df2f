"""What all shapes on the wire have in common."""

from datetime import datetime
from math import isfinite, isnan
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, PlainSerializer, WithJsonSchema

from app.domain.clock import rfc3339

Moment = Annotated[
    datetime,
    PlainSerializer(rfc3339, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""RFC 3339 in UTC, with milliseconds."""


class RequestShape(BaseModel):
    """A body that a client sends: no field is unknown, and no value is converted to another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ResourceShape(BaseModel):
    """A body that the server sends. Made by the server's own code, so it is typed and not checked again."""

    model_config = ConfigDict(frozen=True)


def nonfinite_name(value: float) -> str:
    """Name a float that JSON has no number for."""
    return "nan" if isnan(value) else "inf" if value > 0 else "-inf"


def finite_part(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Split values into what JSON can hold (null in place of a non-finite number), and the names of what it cannot."""
    bad = {key: value for key, value in values.items() if isinstance(value, float) and not isfinite(value)}
    finite = {key: None if key in bad else value for key, value in values.items()}
    return finite, {key: nonfinite_name(value) for key, value in bad.items()}
