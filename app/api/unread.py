"""What a request says that its route does not read: refused, since it would be dropped without a word."""

from collections.abc import Collection

from fastapi import Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Header
from fastapi.routing import APIRoute

from app.api.bodies import has_body, whole
from app.domain.errors import Finding, Invalid

ONCE = frozenset({b"content-type", b"content-digest", b"idempotency-key", b"last-event-id", b"if-match"})
"""Headers with one value: of two, one would be ignored."""

CONDITIONS = ("if-match", "if-unmodified-since")
"""Headers that a change depends on (RFC 9110, section 13.1): a route that ignored them would go ahead all the same."""

NOTHING = frozenset({b"", b"{}", b"null"})
"""Bodies that say nothing, which clients send where none is wanted."""

BODY_BYTES = 64 * 1024


def declared_headers(route: APIRoute) -> frozenset[str]:
    """Return the names of the headers that a route declares, in lower case."""
    fields = get_flat_params(route.dependant)
    return frozenset(field.alias.lower() for field in fields if isinstance(field.field_info, Header))


def reads_body(route: APIRoute) -> bool:
    """Tell whether a route reads a body, by itself or as FastAPI does."""
    return route.body_field is not None or "requestBody" in (route.openapi_extra or {})


def check_headers(request: Request, declared: Collection[str]) -> None:
    """Invalid, pointing at `/<name>`, for a header that is there twice, and for a condition that is not checked."""
    names = [name for name, _ in request.scope["headers"]]
    if len(names) != len(set(names)):
        for name in ONCE:
            if names.count(name) > 1:
                raise _invalid(name.decode(), "duplicate_header", "this header is there twice; send it once")
    if request.method not in ("GET", "HEAD"):
        for condition in CONDITIONS:
            if condition not in declared and condition.encode() in names:
                detail = f"this route compares no entity tags or dates; leave {condition} out, and read the thing again"
                raise _invalid(condition, "unknown_header", detail)


async def check_no_body(request: Request) -> None:
    """Invalid if a request has a body that says something, for a route that reads none."""
    if has_body(request) and (await whole(request, BODY_BYTES)).strip() not in NOTHING:
        detail = "this route reads no body, so what it says would be dropped; leave it out"
        raise Invalid(detail, code="unknown_field", findings=[Finding("", "unknown_field", detail)])


def _invalid(name: str, code: str, detail: str) -> Invalid:
    finding = Finding(f"/{name}", code, f"header parameter: {detail}")
    return Invalid(finding.detail, code=code, findings=[finding])
