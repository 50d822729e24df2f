"""Answers: JSON bodies, and the entity tags that make asking again cheap."""

import hashlib
from collections.abc import Mapping
from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel

from app.domain.media import JSON
from app.ingest.encoding.json import json_body

TAG_BYTES = 16


class JsonAnswer(Response):
    """A JSON body made of a shape, or of a plain document that may hold arrays."""

    media_type = JSON

    def __init__(
        self,
        content: BaseModel | Mapping[str, Any] | bytes,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Encode `content` unless it is encoded already."""
        super().__init__(content, status, headers)

    def render(self, content: Any) -> bytes:
        """Encode `content` as UTF-8 JSON; what is not a finite number becomes null."""
        if isinstance(content, bytes):
            return content
        if isinstance(content, BaseModel):
            return content.model_dump_json().encode()
        return json_body(content, _plain)


def _plain(value: Any) -> Any:
    # Arrays of a type or a layout that orjson does not encode, and models within plain documents.
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value.tolist()


def matches(header: str | None, tag: str) -> bool:
    """Whether an If-None-Match or If-Match header names `tag` (weak comparison, RFC 9110 section 8.8.3.2)."""
    if header is None:
        return False
    named = [entry.strip().removeprefix("W/") for entry in header.split(",")]
    return "*" in named or tag.removeprefix("W/") in named


def tagged(request: Request, answer: Response) -> Response:
    """Give the answer to a GET an entity tag unless it has one; 304 without a body if the client has it already."""
    if request.method != "GET" or answer.status_code != 200:
        return answer
    if "etag" not in answer.headers and isinstance(answer, JsonAnswer):
        answer.headers["ETag"] = f'"{hashlib.blake2b(answer.body, digest_size=TAG_BYTES).hexdigest()}"'
    tag = answer.headers.get("etag")
    return not_modified(tag) if tag and matches(request.headers.get("if-none-match"), tag) else answer


def not_modified(tag: str) -> Response:
    """Answer that what the client has under `tag` is still right."""
    return Response(status_code=304, headers={"ETag": tag})
