"""Documents that the engine reads: passed on as they came, described by a shape."""

from typing import Any

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

SHAPE_NAME = "x-shape"


class OneOf:
    """Marks a union of plain types: what fits none of them is a single fault, in the words of `wanted`."""

    def __init__(self, union: Any, wanted: str) -> None:
        """Take what `union` takes, without converting it."""
        self._adapter: TypeAdapter[Any] = TypeAdapter(union)
        self.wanted = wanted

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Take a value as it is."""
        return core_schema.no_info_plain_validator_function(self._check)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe the union."""
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
    """Marks an object that is described by `shape` in the OpenAPI document, and read by somebody who checks it better.

    What is no object is taken if it fits `also`.
    """

    def __init__(self, shape: type[BaseModel], *, also: OneOf | None = None) -> None:
        """Describe by `shape`."""
        self._shape = shape
        self._also = also

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Take a value as it is."""
        return core_schema.no_info_plain_validator_function(self._check)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Name the shape; whoever completes the OpenAPI document turns the name into a reference."""
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
