"""How every route reads its body and tags its answer."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.routing import APIRoute

from app.api.bodies import content_type, read_json_body
from app.api.parameters import check_parameters, declared_parameters
from app.api.unread import check_headers, check_no_body, declared_headers, reads_body
from app.domain.errors import AdjointError, UnsupportedMedia
from app.http.problems import names_action
from app.http.redact import redact
from app.http.responses import add_entity_tag

JSON_TYPES = ("application/json", "application/merge-patch+json")  # FastAPI passes any other on as bytes

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class ReadRequest(Request):
    """A request whose JSON body has been read: FastAPI's own parsing never sees what the client sent."""

    def __init__(self, request: Request, received: bytes, document: Any) -> None:
        """Take over from `request`; `document` is what the bytes `received` say."""
        super().__init__(request.scope, request.receive)
        self.received = received
        self._document = document

    async def body(self) -> bytes:
        """Return the bytes."""
        return self.received

    async def json(self) -> Any:
        """Return what they say."""
        return self._document


class StrictRoute(APIRoute):
    """A route whose JSON body is read strictly, and whose answers to GET carry an entity tag."""

    def get_route_handler(self) -> Handler:
        """Refuse what a request says and the route does not read, before `make_handler`'s handler sees the rest."""
        handle, parameters, headers = self.make_handler(), declared_parameters(self), declared_headers(self)
        has_use_for_body = reads_body(self)

        async def checked(request: Request) -> Response:
            check_parameters(request, parameters)
            check_headers(request, headers)
            if not has_use_for_body:
                await check_no_body(request)
            return await handle(request)

        return checked

    def make_handler(self) -> Handler:
        """Wrap FastAPI's handler; a subclass that answers in its own way overrides this."""
        handle = super().get_route_handler()
        reads_json = self.body_field is not None

        async def strict(request: Request) -> Response:
            if names_action(request.path_params):
                raise HTTPException(405)
            if not reads_json:
                return add_entity_tag(request, await handle(request))
            read = await _read(request)
            try:
                return add_entity_tag(request, await handle(read))
            except AdjointError as error:
                raise redact(error, await read.json()) from error

        return strict


async def _read(request: Request) -> ReadRequest:
    kind = content_type(request)
    if kind not in JSON_TYPES:
        raise UnsupportedMedia("this route reads JSON; send Content-Type: application/json")
    return ReadRequest(request, *await read_json_body(request))


def router(tag: str) -> APIRouter:
    """Return a new router for the routes of one noun."""
    return APIRouter(tags=[tag], route_class=StrictRoute, generate_unique_id_function=operation_id)


def operation_id(route: APIRoute) -> str:
    """Name an operation after its function, which is a verb and a noun."""
    return route.name
