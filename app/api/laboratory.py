"""Routes of the laboratory: a graph computed, differentiated and looked into at one point, without a fit."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from anyio import to_thread
from fastapi import Body, Response
from pydantic import AfterValidator

from app.api.answers import JsonAnswer
from app.api.deps import GraphId, LaboratoryDep, SlowDep
from app.api.routing import router
from app.api.schemas.bounds import bounded
from app.api.schemas.documents import DescribedBy
from app.api.schemas.graph_compute import ComputeRequest, ComputeResult
from app.api.schemas.graph_gradcheck import GradcheckRequest, GradcheckResult
from app.api.schemas.graph_point import ProfileRequest, RowLossesRequest, TraceNonfiniteRequest
from app.api.schemas.laboratory import NonfiniteTrace, Profile, RowLosses
from app.api.schemas.shapes import finite_part
from app.spelling.looks import profile_document, row_losses_document, trace_document
from app.spelling.tensors import tensor_document

routes = router("graphs")


def _within_bounds(request: dict[str, Any]) -> dict[str, Any]:
    bounded(request.get("optimizer"))
    return request


@routes.post("/v1/graphs/{graph_id}:compute", response_model=ComputeResult)
async def compute_graph(
    graph_id: GraphId,
    request: Annotated[dict[str, Any], DescribedBy(ComputeRequest), Body()],
    laboratory: LaboratoryDep,
    slow: SlowDep,
) -> Response:
    """Evaluate the graph once, without a fit: outputs, losses, gradients and other derivatives."""
    return await _answered(lambda: _computed(laboratory.compute(graph_id, request)), slow)


@routes.post("/v1/graphs/{graph_id}:gradcheck", response_model=GradcheckResult)
async def check_graph_gradients(
    graph_id: GraphId,
    request: Annotated[dict[str, Any], DescribedBy(GradcheckRequest), Body()],
    laboratory: LaboratoryDep,
    slow: SlowDep,
) -> Response:
    """Compare the gradient by each parameter with central differences in float64."""
    return await _answered(lambda: GradcheckResult.of_report(laboratory.gradcheck(graph_id, request)), slow)


@routes.post("/v1/graphs/{graph_id}:profile", response_model=Profile)
async def profile_graph(
    graph_id: GraphId,
    request: Annotated[dict[str, Any], DescribedBy(ProfileRequest), AfterValidator(_within_bounds), Body()],
    laboratory: LaboratoryDep,
    slow: SlowDep,
) -> Response:
    """Measure one training step node by node: seconds and bytes of the forward pass, the backward pass, the update."""
    return await _answered(lambda: profile_document(laboratory.profile(graph_id, request)), slow)


@routes.post("/v1/graphs/{graph_id}:row_losses", response_model=RowLosses)
async def compute_graph_row_losses(
    graph_id: GraphId,
    request: Annotated[dict[str, Any], DescribedBy(RowLossesRequest), Body()],
    laboratory: LaboratoryDep,
    slow: SlowDep,
) -> Response:
    """Compute the loss of every row of a batch by itself, and name the rows that spike."""
    return await _answered(lambda: row_losses_document(laboratory.row_losses(graph_id, request)), slow)


@routes.post("/v1/graphs/{graph_id}:trace_nonfinite", response_model=NonfiniteTrace)
async def trace_graph_nonfinite(
    graph_id: GraphId,
    request: Annotated[dict[str, Any], DescribedBy(TraceNonfiniteRequest), Body()],
    laboratory: LaboratoryDep,
    slow: SlowDep,
) -> Response:
    """Name the input, parameter or node at which a training step first meets NaN or infinity."""
    return await _answered(lambda: trace_document(laboratory.trace_nonfinite(graph_id, request)), slow)


async def _answered(make: Callable[[], Any], slow: Any) -> Response:
    """Make an answer, and spell it, in a thread."""
    return await to_thread.run_sync(lambda: JsonAnswer(make()), limiter=slow)


def _computed(result: dict[str, Any]) -> dict[str, Any]:
    losses, nonfinite = finite_part(result["losses"])
    answer: dict[str, Any] = {"losses": losses, "nonfinite": nonfinite}
    tensors: tuple[Literal["outputs"], Literal["gradients"]] = ("outputs", "gradients")
    for kind in tensors:
        if kind in result:
            answer[kind] = {n: None if a is None else tensor_document(a) for n, a in result[kind].items()}
    if "derivatives" in result:
        answer["derivatives"] = [
            {**found, "tensors": {name: tensor_document(array) for name, array in found["tensors"].items()}}
            for found in result["derivatives"]
        ]
    return answer
