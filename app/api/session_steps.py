"""The route of a step of a session: verb and shape in, bytes out.

Steps are many and small. Their routes do without FastAPI's solving of dependencies, which only describes them; a body
is read once, and what comes back from the session's process is passed on as it is.
"""

from collections.abc import Callable, Coroutine, Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response

from app.api.deps import SessionId
from app.api.once import KEY_PATTERN
from app.api.openapi_parts import BINARY, JSON, query_parameters, upload_body
from app.api.routing import Handler, StrictRoute
from app.api.session_bodies import Said, read_step
from app.api.session_relay import PATH, relay, session_id_of
from app.api.session_verbs import Verb

Read = Callable[[Request, Verb], Coroutine[Any, Any, Said]]

Key = Annotated[
    str | None,
    Header(pattern=KEY_PATTERN, description="Makes it safe to send a step without seq again: it is carried out once."),
]
Prefer = Annotated[
    str | None, Header(description="respond-async: 202 as soon as it is sure that the step will be carried out.")
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
            _endpoint(verb, read),
            methods=["POST"],
            name=verb.operation,
            description=verb.says,
            status_code=verb.status,
            response_model=verb.answer,
            responses=_answers(verb),
            openapi_extra=_request(verb),
            route_class_override=RelayRoute,
        )


def _endpoint(verb: Verb, read: Read) -> Callable[..., Coroutine[Any, Any, Response]]:
    async def step(
        request: Request,
        session_id: SessionId,
        idempotency_key: Key = None,  # noqa: ARG001 (the relay reads it, and the next)
        prefer: Prefer = None,  # noqa: ARG001
    ) -> Response:
        return await relay(request, session_id, verb.name, await read(request, verb), verb.answers)

    return step


def accepted() -> dict[int | str, dict[str, Any]]:
    """Describe the answer to a step that is preferred to be carried out later."""
    operation = {"schema": {"$ref": "#/components/schemas/Operation"}}
    return {202: {"description": "It will be carried out; see Location.", "content": {JSON: operation}}}


def _answers(verb: Verb) -> dict[int | str, dict[str, Any]]:
    arrays = {kind: {"schema": dict(BINARY)} for kind in verb.answers if kind != JSON}
    return {**accepted(), verb.status: {"content": arrays} if arrays else {}}


def _request(verb: Verb) -> dict[str, Any]:
    body = upload_body({JSON: verb.shape.__name__, **dict.fromkeys(verb.bodies)})
    body["requestBody"]["required"] = verb.shape.carried is not None or any(
        field.is_required() for field in verb.shape.model_fields.values()
    )
    return {**body, "parameters": query_parameters(verb.shape)} if verb.bodies else body
