"""Responses: JSON bodies, entity tags, content negotiation and Content-Digest."""

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel

from app.domain.documents import JSON
from app.domain.errors import Finding, Invalid
from app.http.request_scope import header
from app.ingest.encoding import json_body

HEADERS_KEPT = 256


@lru_cache(HEADERS_KEPT)
def select_media_type(accept: str, offers: tuple[str, ...]) -> str:
    """Return the one of `offers` that an Accept header likes best: of equals the one that it names, then the first.

    The first, too, where it likes none: a client can do more with an answer of another type than with none.
    """
    weights = dict(_media_range(entry) for entry in accept.lower().split(","))
    return max(offers, key=lambda offer: _preference(offer, weights))


def _media_range(entry: str) -> tuple[str, float]:
    kind, *parameters = (part.strip() for part in entry.split(";"))
    weights = [part[2:] for part in parameters if part.startswith("q=")]
    try:
        return kind, float(weights[0]) if weights else 1.0
    except ValueError:
        return kind, 0.0


def _preference(offer: str, weights: Mapping[str, float]) -> tuple[float, int]:
    """Return the weight of the most precise range that `offer` is in, and how precise that is."""
    family = f"{offer.partition('/')[0]}/*"
    for precision, kind in ((2, offer), (1, family), (0, "*/*")):
        if kind in weights:
            return weights[kind], precision
    return 0.0, 0


TAG_BYTES = 16


class JsonResponse(Response):
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


def add_entity_tag(request: Request, answer: Response) -> Response:
    """Give the answer to a GET an entity tag unless it has one; 304 without a body if the client has it already."""
    if request.method != "GET" or answer.status_code != 200:
        return answer
    if "etag" not in answer.headers and isinstance(answer, JsonResponse):
        answer.headers["ETag"] = entity_tag(answer.body)
    tag = answer.headers.get("etag")
    return not_modified(tag) if tag and matches(request.headers.get("if-none-match"), tag) else answer


def unless_known(request: Request, answer: Response) -> Response:
    """Return an answer that has an entity tag, or 304 if the client has it already."""
    tag = answer.headers["etag"]
    return not_modified(tag) if matches(header(request.scope, b"if-none-match"), tag) else answer


def tagged(encoded: bytes) -> Response:
    """Return JSON with its entity tag, to be sent any number of times."""
    return JsonResponse(encoded, headers={"ETag": entity_tag(encoded)})


def entity_tag(encoded: bytes | memoryview) -> str:
    """Return the entity tag of bytes."""
    return f'"{hashlib.blake2b(encoded, digest_size=TAG_BYTES).hexdigest()}"'


def not_modified(tag: str) -> Response:
    """Answer that what the client has under `tag` is still right."""
    return Response(status_code=304, headers={"ETag": tag})


_ENTRY = re.compile(r"\s*([a-z0-9*_.\-]+)=:([A-Za-z0-9+/=]*):\s*")
ALGORITHM = "sha-256"


def format_digest(hexadecimal: str) -> str:
    """Format a SHA-256 as the value of a Content-Digest header."""
    return f"{ALGORITHM}=:{base64.b64encode(bytes.fromhex(hexadecimal)).decode()}:"


def read_digest(header: str | None) -> str | None:
    """Return the SHA-256 that a header states, in hexadecimal; None if it states none. Invalid if it is malformed."""
    if header is None:
        return None
    for entry in header.split(","):
        match = _ENTRY.fullmatch(entry)
        if match is None:
            raise _invalid("Content-Digest is malformed; write it as sha-256=:<base64>:")
        if match[1] == ALGORITHM:
            return _hexadecimal(match[2])
    return None


def check_digest(stated: str | None, digest: str) -> None:
    """Invalid if the client stated another digest than that of what arrived."""
    if stated is not None and stated != digest:
        raise _invalid("the bytes that arrived do not hash to what Content-Digest says; send them again")


def _hexadecimal(encoded: str) -> str:
    try:
        raw = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        raw = b""
    if len(raw) != 32:
        raise _invalid("Content-Digest is malformed: a sha-256 is 32 bytes in base64")
    return raw.hex()


def _invalid(detail: str) -> Invalid:
    return Invalid(detail, code="content_digest", findings=[Finding("", "content_digest", detail)])
