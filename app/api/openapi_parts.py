"""Parts of the OpenAPI document that FastAPI cannot read off a signature."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

BINARY: Mapping[str, Any] = {"type": "string", "format": "binary"}
JSON = "application/json"
PROBLEM = "application/problem+json"
PLAIN_TYPES = frozenset({"string", "integer", "number", "boolean"})
NOT_OF_PARAMETERS = frozenset({"description", "default", "title"})


def binary_answer(*media_types: str, description: str = "The bytes.") -> dict[int | str, dict[str, Any]]:
    """Describe an answer of bytes."""
    return {200: {"description": description, "content": {kind: {"schema": dict(BINARY)} for kind in media_types}}}


def problem_answers(descriptions: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    """Describe refusals by their status, each a problem document."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        status: {"description": described, "content": {PROBLEM: {"schema": schema}}}
        for status, described in descriptions.items()
    }


def text_answer(media_type: str, description: str) -> dict[int | str, dict[str, Any]]:
    """Describe an answer of text."""
    return {200: {"description": description, "content": {media_type: {"schema": {"type": "string"}}}}}


def upload_body(media_types: Mapping[str, str | None]) -> dict[str, Any]:
    """Describe a body of bytes in one of several types; a type may name a shape in place of plain bytes."""
    content = {
        kind: {"schema": dict(BINARY) if shape is None else {"$ref": f"#/components/schemas/{shape}"}}
        for kind, shape in media_types.items()
    }
    return {"requestBody": {"required": True, "content": content}}


def query_parameters(shape: type[BaseModel]) -> list[dict[str, Any]]:
    """Describe those fields of a shape that are plain values as parameters, for a body of bytes to go with."""
    described = shape.model_json_schema()
    required = described.get("required", ())
    return [
        {
            "name": name,
            "in": "query",
            "required": False,
            "description": f"{_description(field)} {OF_BYTES_REQUIRED if name in required else OF_BYTES}".strip(),
            "schema": schema,
        }
        for name, field in described["properties"].items()
        if (schema := _plain(field)) is not None
    ]


OF_BYTES = "For a body of arrays; in JSON it is a field."
OF_BYTES_REQUIRED = "Required with a body of arrays; in JSON it is a field."


def _description(field: Mapping[str, Any]) -> str:
    return with_default(field.get("description", ""), field.get("default"))


def with_default(description: str, default: Any) -> str:
    """Return a description that states the default, unless it does already or null is the default."""
    if default is None or "default" in description.lower():
        return description
    return f"{description} Default {json.dumps(default)}.".strip()


def _plain(field: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the schema of a field that is a plain value or null, without null; None for any other."""
    kinds = [kind for kind in field.get("anyOf", [field]) if kind.get("type") != "null"]
    if not kinds or any(kind.get("type") not in PLAIN_TYPES for kind in kinds):
        return None
    # Without its default: a client that sent that, too, would say beside a JSON body what belongs into it.
    plain = [{key: value for key, value in kind.items() if key not in NOT_OF_PARAMETERS} for kind in kinds]
    return plain[0] if len(plain) == 1 else {"anyOf": plain}
