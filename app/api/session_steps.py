"""Steps of sessions: the request is read once, and the response of the session's process is passed on unchanged."""

import re
import secrets
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from inspect import getdoc
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from pydantic import BaseModel

from app.api.bodies import content_type, has_body, read_body, read_json_body
from app.api.deps import SessionId, services_of
from app.api.downloads import send_and_delete
from app.api.idempotency import KEY_PATTERN
from app.api.openapi_parts import BINARY, JSON, query_parameters, upload_body
from app.api.routing import Handler, StrictRoute
from app.api.schemas.checkpoints import Checkpoint
from app.api.schemas.session_steps import VerbRequest
from app.domain.documents import NPY, NPZ, SAFETENSORS, escape
from app.domain.errors import Finding, Invalid, NotFound, UnsupportedMedia
from app.domain.frames import Step
from app.domain.ids import is_id
from app.http.request_scope import header
from app.http.responses import JsonResponse, select_media_type
from app.http.validation import validated, validated_text
from app.service.sessions.steps import StepResult

TENSORS = (NPZ, SAFETENSORS, NPY)


@dataclass(frozen=True, slots=True)
class Verb:
    """A step of a session that is a route of its own.

    Attributes:
        name: as it stands in the URL.
        operation: the name of the operation, a verb and a noun.
        summary: a few words.
        shape: of the JSON that a client sends; the query, too, where the body is arrays.
        answer: the shape of the JSON that comes back.
        bodies: types of a body of arrays, which stand for the field `shape.carried`.
        answers: the types that an answer can have, the usual one first.
        status: of an answer.
        description: what it does; by default what the docstring of `shape` says.
    """

    name: str
    operation: str
    summary: str
    shape: type[VerbRequest]
    answer: type[BaseModel]
    bodies: tuple[str, ...] = ()
    answers: tuple[str, ...] = (JSON,)
    status: int = 200
    description: str | None = None


@dataclass(frozen=True, slots=True)
class StepPayload:
    """What came with a step: its options without `seq`; and a body of arrays with its type, None if there is none."""

    options: dict[str, Any]
    seq: int | None = None
    media: str | None = None
    body: bytes = b""


async def read_step(request: Request, verb: Verb) -> StepPayload:
    """Read a request for a verb.

    Unparsable, TooLarge, UnsupportedMedia, or Invalid with pointers into the JSON or at parameters of the query.
    """
    kind = content_type(request)
    if kind in verb.bodies:
        body = await read_body(request, services_of(request).settings.max_step_bytes)
        return _with_arrays(verb, request.query_params.multi_items(), kind, body)
    document = await read_document(request, kind, verb.bodies)
    return StepPayload(*validate_options(verb.shape, document))


async def read_document(request: Request, kind: str, others: Iterable[str] = ()) -> Any:
    """Return what a JSON body of the type `kind` says; no body at all says nothing."""
    present = has_body(request)
    if kind != JSON and (kind or present):
        raise UnsupportedMedia(f"this route reads {', '.join((JSON, *others))}; set Content-Type to what the body is")
    if request.scope["query_string"]:
        name = next(iter(request.query_params), "")
        detail = "a JSON body says all there is to say; put this into it"
        raise Invalid(detail, code="unknown_field", findings=[Finding(f"/{escape(name)}", "unknown_field", detail)])
    return (await read_json_body(request))[1] if present else {}


def validate_options(shape: type[VerbRequest], document: Any, pointer: str = "") -> tuple[dict[str, Any], int | None]:
    """Return the options in a document, and its seq. No value is converted, so they are as they came."""
    seq = getattr(validated(shape, document, pointer), "seq", None)
    return {name: value for name, value in document.items() if name != "seq"}, seq


def _with_arrays(verb: Verb, parameters: Iterable[tuple[str, str]], kind: str, body: bytes) -> StepPayload:
    field = verb.shape.carried
    assert field is not None, "a verb that takes arrays says what they stand for"
    step = validated_text(verb.shape, {**dict(parameters), field: {}})
    options = step.model_dump(exclude_unset=True, exclude={field, "seq"})
    return StepPayload(options, getattr(step, "seq", None), kind, body)


PATH = "/v1/sessions/{session_id}"
STEP_ID_BYTES = 12
ACCEPTED = 202
_KEY = re.compile(KEY_PATTERN)


async def relay(
    request: Request, session_id: str, verb: str, payload: StepPayload, answers: tuple[str, ...]
) -> Response:
    """Execute a step and answer with its result in the media type of `answers` that the client prefers."""
    scope = request.scope
    step = Step(
        id=secrets.token_hex(STEP_ID_BYTES),
        verb=verb,
        options=payload.options,
        seq=payload.seq,
        key=_read_key(header(scope, b"idempotency-key")),
        media=payload.media,
        accept=select_media_type(header(scope, b"accept") or "*/*", answers),
        notify="respond-async" in (header(scope, b"prefer") or "").lower(),
    )
    carried = await services_of(request).sessions.execute(session_id, step, payload.body)
    return step_response(session_id, step.id, carried)


def session_id_of(request: Request) -> str:
    """Return the id in the path; NotFound if it is none of a session."""
    text: str = request.path_params["session_id"]
    if not is_id("sess", text):
        raise NotFound("there is nothing here: an id of this kind is sess_ and 26 characters")
    return text


def step_response(session_id: str, step_id: str, carried: StepResult) -> Response:
    """Answer with the result of a step."""
    headers = {"Idempotent-Replayed": "true"} if carried.replayed else {}
    if carried.checkpoint is not None:
        headers["Location"] = f"/v1/checkpoints/{carried.checkpoint.id}"
        return JsonResponse(Checkpoint.show(carried.checkpoint), carried.status, headers)
    if carried.status == ACCEPTED:
        headers["Location"] = f"/v1/sessions/{session_id}/operations/{carried.seq}"
        return JsonResponse({"id": step_id, "seq": carried.seq, "done": False}, ACCEPTED, headers)
    if isinstance(carried.body, bytes):
        return Response(carried.body, carried.status, headers, carried.media)
    return send_and_delete(carried.body, carried.media, carried.status, headers)


def _read_key(text: str | None) -> str | None:
    if text is None or _KEY.match(text):
        return text
    detail = "header parameter: an Idempotency-Key has 1 to 255 characters, none of them a space"
    raise Invalid(detail, code="malformed", findings=[Finding("/idempotency-key", "malformed", detail)])


Read = Callable[[Request, Verb], Coroutine[Any, Any, StepPayload]]

Key = Annotated[
    str | None,
    Header(pattern=KEY_PATTERN, description="Makes it safe to send a step without seq again: it is executed once."),
]
Prefer = Annotated[
    str | None,
    Header(description="`respond-async`: respond with 202 as soon as the step is durable and will be executed."),
]


class RelayRoute(StrictRoute):
    """A route whose endpoint is called with the request and the parts of its path; what else its signature names is
    there to be described.
    """

    audited = False
    """A session has a log of its own; an entry for each step would cost more than the step."""

    def make_handler(self) -> Handler:
        """Call the endpoint, after a look at the id."""
        endpoint = self.endpoint

        async def handle(request: Request) -> Response:
            session_id_of(request)
            answer: Response = await endpoint(request, **request.path_params)
            return answer

        return handle


def add_verbs(routes: APIRouter, verbs: Iterable[Verb], read: Read = read_step) -> None:
    """Add a route for each verb, whose requests `read` reads."""
    for verb in verbs:
        routes.add_api_route(
            f"{PATH}:{verb.name}",
            _make_endpoint(verb, read),
            methods=["POST"],
            name=verb.operation,
            summary=verb.summary,
            description=verb.description or getdoc(verb.shape),
            status_code=verb.status,
            response_model=verb.answer,
            responses=_response_documents(verb),
            openapi_extra=_request_document(verb),
            route_class_override=RelayRoute,
        )


def _make_endpoint(verb: Verb, read: Read) -> Callable[..., Coroutine[Any, Any, Response]]:
    async def step(
        request: Request,
        session_id: SessionId,
        idempotency_key: Key = None,  # noqa: ARG001 (the relay reads it, and the next)
        prefer: Prefer = None,  # noqa: ARG001
    ) -> Response:
        return await relay(request, session_id, verb.name, await read(request, verb), verb.answers)

    return step


def accepted() -> dict[int | str, dict[str, Any]]:
    """Describe the answer to a step that is preferred to be executed later."""
    operation = {"schema": {"$ref": "#/components/schemas/Operation"}}
    return {
        202: {
            "description": "The step will be executed; its result is at the URL in Location.",
            "content": {JSON: operation},
        }
    }


def _response_documents(verb: Verb) -> dict[int | str, dict[str, Any]]:
    arrays = {kind: {"schema": dict(BINARY)} for kind in verb.answers if kind != JSON}
    return {**accepted(), verb.status: {"content": arrays} if arrays else {}}


def _request_document(verb: Verb) -> dict[str, Any]:
    body = upload_body({JSON: verb.shape.__name__, **dict.fromkeys(verb.bodies)})
    body["requestBody"]["required"] = verb.shape.carried is not None or any(
        field.is_required() for field in verb.shape.model_fields.values()
    )
    return {**body, "parameters": query_parameters(verb.shape)} if verb.bodies else body
