"""What a client says with a step: in JSON; or in bytes that hold arrays, and the rest in the query."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fastapi import Request

from app.api.bodies import content_type, has_body, read_json_body, whole
from app.api.deps import services_of
from app.api.openapi_parts import JSON
from app.api.schemas.session_steps import VerbRequest
from app.api.session_verbs import Verb
from app.domain.documents import escape
from app.domain.errors import Finding, Invalid, UnsupportedMedia
from app.http.validation import validated, validated_text


@dataclass(frozen=True, slots=True)
class Said:
    """What came with a step: its options without `seq`; and a body of arrays with its type, None if there is none."""

    options: dict[str, Any]
    seq: int | None = None
    media: str | None = None
    body: bytes = b""


async def read_step(request: Request, verb: Verb) -> Said:
    """Read a request for a verb.

    Unparsable, TooLarge, UnsupportedMedia, or Invalid with pointers into the JSON or at parameters of the query.
    """
    kind = content_type(request)
    if kind in verb.bodies:
        body = await whole(request, services_of(request).settings.max_step_bytes)
        return _with_arrays(verb, request.query_params.multi_items(), kind, body)
    document = await read_document(request, kind, verb.bodies)
    return Said(*checked(verb.shape, document))


async def read_document(request: Request, kind: str, others: Iterable[str] = ()) -> Any:
    """Return what a JSON body of the type `kind` says; no body at all says nothing."""
    says = has_body(request)
    if kind != JSON and (kind or says):
        raise UnsupportedMedia(f"this route reads {', '.join((JSON, *others))}; set Content-Type to what the body is")
    if request.scope["query_string"]:
        name = next(iter(request.query_params), "")
        detail = "a JSON body says all there is to say; put this into it"
        raise Invalid(detail, code="unknown_field", findings=[Finding(f"/{escape(name)}", "unknown_field", detail)])
    return (await read_json_body(request))[1] if says else {}


def checked(shape: type[VerbRequest], document: Any, pointer: str = "") -> tuple[dict[str, Any], int | None]:
    """Return the options in a document, and its seq. No value is converted, so they are as they came."""
    seq = getattr(validated(shape, document, pointer), "seq", None)
    return {name: value for name, value in document.items() if name != "seq"}, seq


def _with_arrays(verb: Verb, parameters: Iterable[tuple[str, str]], kind: str, body: bytes) -> Said:
    field = verb.shape.carried
    assert field is not None, "a verb that takes arrays says what they stand for"
    step = validated_text(verb.shape, {**dict(parameters), field: {}})
    options = step.model_dump(exclude_unset=True, exclude={field, "seq"})
    return Said(options, getattr(step, "seq", None), kind, body)
