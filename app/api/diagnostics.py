"""Routes of diagnostics, and requests to the worker processes that compute: their results are passed on unchanged."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Annotated, Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Body, Depends, Request, Response
from pydantic import AfterValidator
from starlette.requests import ClientDisconnect

from app.api.deps import DiagnosticsDep, GraphId, services_of
from app.api.downloads import send_and_delete
from app.api.openapi_parts import problem_answers
from app.api.routing import router
from app.api.schemas.diagnostics import (
    ComputeRequest,
    ComputeResult,
    GradcheckRequest,
    GradcheckResult,
    NonfiniteTrace,
    Profile,
    ProfileRequest,
    RowLosses,
    RowLossesRequest,
    TraceNonfiniteRequest,
)
from app.api.schemas.values import DescribedBy, bounded
from app.service.resources import workers

T = TypeVar("T")

THREADS = 4
"""Orders that are made at a time: a graph is looked up, and the file of a checkpoint checked."""

REFUSALS = problem_answers(
    {
        413: "The computation exceeds the memory or operations that the server allows; `detail` gives numbers.",
        429: "No memory or no process is free now; try again.",
        503: "The computation timed out (compute_timeout), its process exited, or the server is stopping.",
    }
)
"""What the routes that compute answer beside what all do."""


async def _threads(request: Request) -> CapacityLimiter:
    limiter: CapacityLimiter = request.app.state.computing
    return limiter


ThreadsDep = Annotated[CapacityLimiter, Depends(_threads)]


async def answer_of(
    request: Request, threads: CapacityLimiter, order: Callable[[], workers.ComputeRequest]
) -> Response:
    """Build a request in a thread, run it in a worker process and return the result; stop if the client disconnects."""

    async def computed() -> workers.ComputeResult:
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


routes = router("graphs")


def _within_bounds(request: dict[str, Any]) -> dict[str, Any]:
    bounded(request.get("optimizer"))
    return request


@routes.post("/v1/graphs/{graph_id}:compute", response_model=ComputeResult, responses=REFUSALS)
async def compute_graph(
    graph_id: GraphId,
    http: Request,
    request: Annotated[dict[str, Any], DescribedBy(ComputeRequest), Body()],
    diagnostics: DiagnosticsDep,
    threads: ThreadsDep,
) -> Response:
    """Evaluate a graph.

    Computes outputs, losses, gradients and other derivatives at one point, without a fit.
    """
    return await answer_of(http, threads, partial(diagnostics.order, "compute", graph_id, request))


@routes.post("/v1/graphs/{graph_id}:gradcheck", response_model=GradcheckResult, responses=REFUSALS)
async def check_graph_gradients(
    graph_id: GraphId,
    http: Request,
    request: Annotated[dict[str, Any], DescribedBy(GradcheckRequest), Body()],
    diagnostics: DiagnosticsDep,
    threads: ThreadsDep,
) -> Response:
    """Check the gradients of a graph.

    Compares the gradient of each parameter with central differences in float64.
    """
    return await answer_of(http, threads, partial(diagnostics.order, "gradcheck", graph_id, request))


@routes.post("/v1/graphs/{graph_id}:profile", response_model=Profile, responses=REFUSALS)
async def profile_graph(
    graph_id: GraphId,
    http: Request,
    request: Annotated[dict[str, Any], DescribedBy(ProfileRequest), AfterValidator(_within_bounds), Body()],
    diagnostics: DiagnosticsDep,
    threads: ThreadsDep,
) -> Response:
    """Profile a training step.

    Measures one training step node by node: seconds and bytes of the forward pass, the backward pass and the
    update.
    """
    return await answer_of(http, threads, partial(diagnostics.order, "profile", graph_id, request))


@routes.post("/v1/graphs/{graph_id}:row_losses", response_model=RowLosses, responses=REFUSALS)
async def compute_graph_row_losses(
    graph_id: GraphId,
    http: Request,
    request: Annotated[dict[str, Any], DescribedBy(RowLossesRequest), Body()],
    diagnostics: DiagnosticsDep,
    threads: ThreadsDep,
) -> Response:
    """Compute the loss of each row.

    Computes the loss of every row of a batch individually and names the outliers.
    """
    return await answer_of(http, threads, partial(diagnostics.order, "row_losses", graph_id, request))


@routes.post("/v1/graphs/{graph_id}:trace_nonfinite", response_model=NonfiniteTrace, responses=REFUSALS)
async def trace_graph_nonfinite(
    graph_id: GraphId,
    http: Request,
    request: Annotated[dict[str, Any], DescribedBy(TraceNonfiniteRequest), Body()],
    diagnostics: DiagnosticsDep,
    threads: ThreadsDep,
) -> Response:
    """Find the first non-finite value.

    Runs one training step and names the first input, parameter or node that holds NaN or infinity.
    """
    return await answer_of(http, threads, partial(diagnostics.order, "trace_nonfinite", graph_id, request))
