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
