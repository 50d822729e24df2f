"""Requests to the worker processes that compute, and their results: bytes that are passed on unchanged."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request, Response
from starlette.requests import ClientDisconnect

from app.api.deps import services_of
from app.api.downloads import send_and_delete
from app.api.openapi_parts import problem_answers
from app.service.resources.workers import ComputeRequest, ComputeResult

T = TypeVar("T")

THREADS = 4
"""Orders that are made at a time: a graph is looked up, and the file of a checkpoint checked."""

REFUSALS = problem_answers(
    {
        413: "It can never have the memory, or takes too many operations; the figures are in the detail.",
        429: "There is no memory or no place for it now.",
        503: "It took too long (compute_timeout), its process was lost, or the server is stopping.",
    }
)
"""What the routes that compute answer beside what all do."""


async def _threads(request: Request) -> CapacityLimiter:
    limiter: CapacityLimiter = request.app.state.computing
    return limiter


ThreadsDep = Annotated[CapacityLimiter, Depends(_threads)]


async def answer_of(request: Request, threads: CapacityLimiter, order: Callable[[], ComputeRequest]) -> Response:
    """Build a request in a thread, run it in a worker process and return the result; stop if the client disconnects."""

    async def computed() -> ComputeResult:
        made = await to_thread.run_sync(order, limiter=threads)
        return await services_of(request).computing.execute(made)

    found = await _unless_left(request, computed())
    if isinstance(found.body, bytes):
        return Response(found.body, media_type=found.media)
    return send_and_delete(found.body, found.media, 200, {})


async def _unless_left(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Do some work, whose request has been read to its end; if the client leaves, cancel it: ClientDisconnect."""
    working, leaving = asyncio.create_task(work), asyncio.create_task(_left(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientDisconnect
    finally:
        leaving.cancel()
        if not working.done():
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
