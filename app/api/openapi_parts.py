"""Parts of the OpenAPI document that FastAPI cannot read off a signature."""

from collections.abc import Mapping
from typing import Any

BINARY: Mapping[str, Any] = {"type": "string", "format": "binary"}


def binary_answer(*media_types: str, description: str = "The bytes.") -> dict[int | str, dict[str, Any]]:
    """Describe an answer of bytes."""
    return {200: {"description": description, "content": {kind: {"schema": dict(BINARY)} for kind in media_types}}}


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
