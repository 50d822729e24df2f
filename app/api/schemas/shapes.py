"""What all shapes on the wire have in common."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, PlainSerializer, WithJsonSchema

from app.domain.clock import rfc3339
from app.domain.documents import finite_part, nonfinite_name

__all__ = ["Moment", "RequestShape", "ResourceShape", "finite_part", "nonfinite_name"]

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
