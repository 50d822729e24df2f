"""Documents that the engine reads: passed on as they came, described by a shape."""

from typing import Any

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

SHAPE_NAME = "x-shape"


class DescribedBy:
    """Marks an object that is described by `shape` in the OpenAPI document, and read by somebody who checks it better.

    With `or_id` a text, the id of such an object that is stored already, is taken as well.
    """

    def __init__(self, shape: type[BaseModel], *, or_id: bool = False) -> None:
        """Describe by `shape`."""
        self._shape = shape
        self._or_id = or_id

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Take an object, or an id, as it is."""
        return core_schema.no_info_plain_validator_function(self._check)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Name the shape; whoever completes the OpenAPI document turns the name into a reference."""
        named = {SHAPE_NAME: self._shape.__name__}
        return {"anyOf": [{"type": "string"}, named]} if self._or_id else named

    def _check(self, value: Any) -> Any:
        if isinstance(value, dict) or (self._or_id and isinstance(value, str)):
            return value
        wanted = "an id or an object" if self._or_id else "an object"
        raise PydanticCustomError("type_mismatch", "must be {wanted}", {"wanted": wanted})
