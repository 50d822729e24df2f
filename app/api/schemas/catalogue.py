"""The catalogue on the wire."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.api.schemas.shapes import ResourceShape


class CatalogueAttribute(BaseModel):
    """An option of an entry."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str
    type: str
    required: bool
    default: Any = None


class OpEntry(BaseModel):
    """An op: what it takes, and what it is good for."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str
    aliases: list[str]
    family: str
    doc: str
    inputs: list[dict[str, Any]]
    attrs: list[CatalogueAttribute]
    differentiable: bool


class OpList(ResourceShape):
    """Every op, in the order of the families."""

    object: Literal["list"] = "list"
    data: list[OpEntry]
    has_more: bool = False
    next_cursor: None = None


class CatalogueEntry(BaseModel):
    """An optimizer, schedule, loss, layer, initializer or metric."""

    model_config = ConfigDict(extra="allow", frozen=True)

    kind: str
    doc: str
    attrs: list[CatalogueAttribute] = Field(description="Its options.")


class CatalogueList(ResourceShape):
    """Every entry of a kind."""

    object: Literal["list"] = "list"
    data: list[CatalogueEntry]
    has_more: bool = False
    next_cursor: None = None
