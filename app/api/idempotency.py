"""Idempotent POST requests: the Idempotency-Key, and the response that is stored for it."""

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Header, Request, Response
from pydantic import BaseModel

from app.api.deps import services_of
from app.api.routing import ReadRequest
from app.http.responses import JsonResponse
from app.service.resources.idempotency import Idempotency, SaveResponse, Ticket
from app.store.unit_of_work import UnitOfWork

T = TypeVar("T")

KEY_PATTERN = r"^[\x21-\x7e]{1,255}$"


class IdempotentRequest:
    """Answers a POST that creates: the first time by creating, then by what was answered first."""

    def __init__(self, idempotency: Idempotency, path: str, key: str | None, parts: tuple[bytes, ...]) -> None:
        """Bind to a request to `path`; `parts` are what it says besides the key, the same when it comes again."""
        self._idempotency = idempotency
        self._path = path
        self._key = key
        self._parts = parts

    def answer(
        self,
        create: Callable[[SaveResponse[T]], T],
        shape: Callable[[T], BaseModel],
        *,
        status: int = 201,
        payload: bytes = b"",
        within: str | None = None,
    ) -> Response:
        """Call `create` unless its answer is known; `shape` shows the resource, which has an `id`.

        `payload` is what the body says, or a digest of it, where the body was not read as JSON; `within` the path that
        the resource is found below, where it is another than that of the request.
        """
        within = within or self._path
        if self._key is None:
            return _rendered(shape(create(_save_nothing)), status, within)
        digest = hashlib.sha256(b"\0".join((*self._parts, payload))).hexdigest()
        ticket = Ticket(f"POST {self._path}", self._key, digest)
        with self._idempotency.answering(ticket) as kept:
            if kept is not None:
                headers = {"Location": f"{within}/{kept.resource_id}", "Idempotent-Replayed": "true"}
                return JsonResponse(kept.response_body.encode(), kept.status, headers)

            def save_response(work: UnitOfWork, resource: T) -> None:
                shown: Any = shape(resource)
                work.idempotency.add(
                    ticket.key,
                    ticket.scope,
                    body_digest=ticket.body_digest,
                    status=status,
                    response_body=shown.model_dump_json(),
                    resource_id=shown.id,
                )

            return _rendered(shape(create(save_response)), status, within)

    async def answer_in_thread(
        self,
        limiter: CapacityLimiter,
        create: Callable[[SaveResponse[T]], T],
        shape: Callable[[T], BaseModel],
        *,
        payload: bytes = b"",
        within: str | None = None,
    ) -> Response:
        """Answer as `answer` does, in a thread that `limiter` counts."""
        answer = partial(self.answer, create, shape, payload=payload, within=within)
        return await to_thread.run_sync(answer, limiter=limiter)


def _rendered(shown: Any, status: int, within: str) -> Response:
    return JsonResponse(shown, status, {"Location": f"{within}/{shown.id}"})


def _save_nothing(_work: UnitOfWork, _thing: object) -> None:
    """Without a key nothing is kept."""


async def _idempotent(
    request: Request,
    idempotency_key: Annotated[
        str | None,
        Header(pattern=KEY_PATTERN, description="Makes it safe to send the request again: it is executed once."),
    ] = None,
) -> IdempotentRequest:
    received = request.received if isinstance(request, ReadRequest) else b""
    parts = (request.scope["query_string"], request.headers.get("content-type", "").encode(), received)
    return IdempotentRequest(services_of(request).idempotency, request.scope["path"], idempotency_key, parts)


IdempotentDep = Annotated[IdempotentRequest, Depends(_idempotent)]
