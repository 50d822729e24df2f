"""Routes of diagnostics: evaluate, differentiate and inspect a graph at one point, without a fit."""

from functools import partial
from typing import Annotated, Any

from fastapi import Body, Request, Response
from pydantic import AfterValidator

from app.api.computing import REFUSALS, ThreadsDep, answer_of
from app.api.deps import DiagnosticsDep, GraphId
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
    """Evaluate the graph once, without a fit: outputs, losses, gradients and other derivatives."""
    return await answer_of(http, threads, partial(diagnostics.order, "compute", graph_id, request))


@routes.post("/v1/graphs/{graph_id}:gradcheck", response_model=GradcheckResult, responses=REFUSALS)
async def check_graph_gradients(
    graph_id: GraphId,
    http: Request,
    request: Annotated[dict[str, Any], DescribedBy(GradcheckRequest), Body()],
    diagnostics: DiagnosticsDep,
    threads: ThreadsDep,
) -> Response:
    """Compare the gradient by each parameter with central differences in float64."""
    return await answer_of(http, threads, partial(diagnostics.order, "gradcheck", graph_id, request))


@routes.post("/v1/graphs/{graph_id}:profile", response_model=Profile, responses=REFUSALS)
async def profile_graph(
    graph_id: GraphId,
    http: Request,
    request: Annotated[dict[str, Any], DescribedBy(ProfileRequest), AfterValidator(_within_bounds), Body()],
    diagnostics: DiagnosticsDep,
    threads: ThreadsDep,
) -> Response:
    """Measure one training step node by node: seconds and bytes of the forward pass, the backward pass, the update."""
    return await answer_of(http, threads, partial(diagnostics.order, "profile", graph_id, request))


@routes.post("/v1/graphs/{graph_id}:row_losses", response_model=RowLosses, responses=REFUSALS)
async def compute_graph_row_losses(
    graph_id: GraphId,
    http: Request,
    request: Annotated[dict[str, Any], DescribedBy(RowLossesRequest), Body()],
    diagnostics: DiagnosticsDep,
    threads: ThreadsDep,
) -> Response:
    """Compute the loss of every row of a batch by itself, and name the rows that spike."""
    return await answer_of(http, threads, partial(diagnostics.order, "row_losses", graph_id, request))


@routes.post("/v1/graphs/{graph_id}:trace_nonfinite", response_model=NonfiniteTrace, responses=REFUSALS)
async def trace_graph_nonfinite(
    graph_id: GraphId,
    http: Request,
    request: Annotated[dict[str, Any], DescribedBy(TraceNonfiniteRequest), Body()],
    diagnostics: DiagnosticsDep,
    threads: ThreadsDep,
) -> Response:
    """Name the input, parameter or node at which a training step first meets NaN or infinity."""
    return await answer_of(http, threads, partial(diagnostics.order, "trace_nonfinite", graph_id, request))
