"""What the models of requests and responses share: base classes, bounds, labels, tensors, unions."""

from datetime import datetime
from typing import Annotated, Any, Generic, Literal, Self, TypeVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    RootModel,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from app.domain.clock import rfc3339
from app.domain.documents import finite_part, nonfinite_name
from app.http.problems import ProblemError
from app.store.pages import Page

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

    model_config = ConfigDict(frozen=True, from_attributes=True)

    @classmethod
    def from_record(cls, record: object, **fields: Any) -> Self:
        """Build from `fields`, and from the attributes of `record` for the others."""
        others = cls.model_fields.keys() - fields.keys()
        return cls(**fields, **{name: getattr(record, name) for name in others if hasattr(record, name)})

    @classmethod
    def show(cls, record: Any) -> Self:
        """Build from a record."""
        return cls.from_record(record)


Entry = TypeVar("Entry", bound=BaseModel)


class PageShape(ResourceShape, Generic[Entry]):
    """A page of a list."""

    object: Literal["list"] = "list"
    data: list[Entry]
    has_more: bool
    next_cursor: str | None

    @classmethod
    def show(cls, page: Page[Any]) -> Self:
        """Build from a page of records."""
        (entry,) = get_args(cls.model_fields["data"].annotation)
        data = [entry.show(record) for record in page.items]
        return cls.from_record(page, data=data, has_more=page.next_cursor is not None)


class FilteredPage(PageShape[Entry], Generic[Entry]):
    """A page of a list that has filters."""

    findings: list[ProblemError] = Field(description="Parts of the query that match nothing that exists.")


class CompleteList(ResourceShape, Generic[Entry]):
    """A list that is never split into pages."""

    object: Literal["list"] = "list"
    data: list[Entry]
    has_more: bool = False
    next_cursor: None = None


class OpenShape(BaseModel):
    """A body of the server's own that may have further fields."""

    model_config = ConfigDict(extra="allow", frozen=True)


VALUES_MAX = 5_000
TEXT_MAX = 1024


def bounded(value: Any) -> Any:
    """Return a JSON value that holds at most 5,000 values, and no text or name of more than 1024 characters.

    Raises:
        PydanticCustomError: it holds more.
    """
    waiting, count = [value], 0
    while waiting:
        item = waiting.pop()
        if isinstance(item, str) and len(item) > TEXT_MAX:
            raise PydanticCustomError("too_long", "holds a text of more than {limit} characters", {"limit": TEXT_MAX})
        inner = [*item, *item.values()] if isinstance(item, dict) else item if isinstance(item, list) else ()
        count += len(inner)
        if count > VALUES_MAX:
            raise PydanticCustomError("too_long", "holds more than {limit} values", {"limit": VALUES_MAX})
        waiting.extend(inner)
    return value


NAME_MAX = 200
ResourceName = Annotated[str, Field(min_length=1, max_length=NAME_MAX)]
LabelKey = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.\-/]{1,64}$")]
LabelValue = Annotated[str, Field(max_length=256)]
LABELS_MAX = 64

Labels = Annotated[dict[LabelKey, LabelValue], Field(max_length=LABELS_MAX)]


TensorDocument = Annotated[
    Any,
    WithJsonSchema(
        {
            "description": "A number, nested lists of numbers, or an object with dtype, shape and data (row-major); "
            "where a graph is computed, nonfinite may name the nulls in a flat list of data, as in answers.",
        }
    ),
]
"""A tensor that a client sends; the engine reads it."""


class TensorInput(RootModel[TensorDocument]):
    """A tensor that is a body of its own."""


class Tensor(ResourceShape):
    """An array: its elements in row-major order, null for one that is not finite."""

    dtype: str
    shape: list[int]
    data: list[float | bool | None]
    nonfinite: dict[str, str] = Field(
        description="Position in data: nan, inf or -inf, for every null in data. Where there are more than 1,000, a "
        "run of equal ones is named by its first and last position: 3-8."
    )


SHAPE_NAME = "x-shape"


class OneOf:
    """Marks a union of plain types: what fits none of them is a single fault, in the words of `wanted`."""

    def __init__(self, union: Any, wanted: str) -> None:
        """Take what `union` takes, without converting it."""
        self._adapter: TypeAdapter[Any] = TypeAdapter(union)
        self.wanted = wanted

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._check)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return self.described()

    def described(self) -> JsonSchemaValue:
        """Return the union's JSON schema."""
        return self._adapter.json_schema()

    def holds(self, value: Any) -> bool:
        """Tell whether a value fits one of the types."""
        try:
            self._adapter.validate_python(value, strict=True)
        except ValidationError:
            return False
        return True

    def _check(self, value: Any) -> Any:
        if self.holds(value):
            return value
        raise PydanticCustomError("type_mismatch", "must be {wanted}", {"wanted": self.wanted})


class DescribedBy:
    """Marks an object that is described by `shape` in the OpenAPI document, and checked elsewhere in full.

    What is no object is taken if it fits `also`.
    """

    def __init__(self, shape: type[BaseModel], *, also: OneOf | None = None) -> None:
        self._shape = shape
        self._also = also

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._check)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Name the schema; `app.api.openapi` replaces the name by a reference."""
        named = {SHAPE_NAME: self._shape.__name__}
        if self._also is None:
            return named
        others = self._also.described()
        return {"anyOf": [*others.get("anyOf", [others]), named]}

    def _check(self, value: Any) -> Any:
        if isinstance(value, dict) or (self._also is not None and self._also.holds(value)):
            return value
        wanted = "an object" if self._also is None else f"{self._also.wanted} or an object"
        raise PydanticCustomError("type_mismatch", "must be {wanted}", {"wanted": wanted})
