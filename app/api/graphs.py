"""Routes of graphs."""

from typing import Annotated, Any, Literal

from fastapi import Body, Query, Response
from fastapi.responses import PlainTextResponse

import engine
from app.api.deps import GraphId, GraphsDep
from app.api.idempotency import IdempotentDep
from app.api.list_queries import GraphQuery
from app.api.openapi_parts import text_answer
from app.api.routing import router
from app.api.schemas.graphs import (
    Graph,
    GraphDefinition,
    GraphList,
    GraphNodes,
    GraphPlan,
    GraphReport,
)
from app.api.schemas.values import DescribedBy
from app.domain.documents import DOT
from app.http.responses import JsonResponse

routes = router("graphs")

PYTHON = "text/x-python"
BATCH_MAX = 2**20

Definition = Annotated[dict[str, Any], DescribedBy(GraphDefinition), Body()]
Backward = Annotated[bool, Query(description="Whether the backward nodes follow the forward nodes.")]
Batch = Annotated[int, Query(ge=1, le=BATCH_MAX, description="Number of rows in a step.")]
NodesBatch = Annotated[
    int | None,
    Query(
        ge=1, le=BATCH_MAX, description="Number of rows at which FLOPs and bytes are counted; by default they are not."
    ),
]
Optimizer = Annotated[
    str | None, Query(description="Optimizer of the training step to plan; by default an evaluation is planned.")
]
ExecutorName = Annotated[
    Literal["auto", "numpy", "native"], Query(description="Executor; `auto` selects the fastest that is available.")
]


@routes.post("/v1/graphs", status_code=201, response_model=Graph)
def create_graph(definition: Definition, graphs: GraphsDep, idempotent: IdempotentDep) -> Response:
    """Create a graph.

    Validates and stores a graph, given as nodes, as layers or as a program in the expression language. The response
    holds the nodes.
    """
    with engine.rare_collections():
        return idempotent.answer(lambda save_response: graphs.create(definition, save_response), Graph.show)


@routes.post("/v1/graphs:validate", response_model=GraphReport)
def validate_graph(definition: Definition, graphs: GraphsDep) -> Response:
    """Validate a graph.

    Returns the same report as creating a graph, and stores nothing.
    """
    with engine.rare_collections():
        return JsonResponse(GraphReport.show(graphs.validate(definition)))


@routes.get("/v1/graphs", response_model=GraphList)
def list_graphs(query: GraphQuery, graphs: GraphsDep) -> Response:
    """List graphs.

    Lists the graphs of the caller's tenant in pages, newest first by default.
    """
    return JsonResponse(GraphList.show(graphs.list(query.page, query.filters)))


@routes.get("/v1/graphs/{graph_id}", response_model=Graph)
def get_graph(graph_id: GraphId, graphs: GraphsDep) -> Response:
    """Get a graph.

    Returns the canonical definition of a graph, its node counts, shapes, memory estimate and findings.
    """
    return JsonResponse(Graph.show(graphs.get(graph_id)))


@routes.delete("/v1/graphs/{graph_id}", status_code=204)
def delete_graph(graph_id: GraphId, graphs: GraphsDep) -> None:
    """Delete a graph.

    Deletes a graph. Returns 409 while an unfinished fit uses it.
    """
    graphs.delete(graph_id)


@routes.get("/v1/graphs/{graph_id}/nodes", response_model=GraphNodes)
def list_graph_nodes(
    graph_id: GraphId, graphs: GraphsDep, backward: Backward = False, batch: NodesBatch = None
) -> Response:
    """List the nodes of a graph.

    Lists the nodes in execution order, with the backward nodes if asked for. With `batch`, each has its FLOPs and
    bytes for a batch of that size.
    """
    return JsonResponse(GraphNodes(data=graphs.nodes(graph_id, backward=backward, batch=batch)))


@routes.get(
    "/v1/graphs/{graph_id}/text",
    response_class=PlainTextResponse,
    responses=text_answer("text/plain", "One line for each input, parameter and node."),
)
def print_graph(graph_id: GraphId, graphs: GraphsDep, backward: Backward = False) -> Response:
    """Print a graph.

    Returns the inputs, parameters and nodes of a graph as text, one line each.
    """
    return PlainTextResponse(graphs.text(graph_id, backward=backward))


@routes.get(
    "/v1/graphs/{graph_id}/dot",
    response_class=PlainTextResponse,
    responses=text_answer(DOT, "The graph in the DOT language of Graphviz."),
)
def draw_graph(graph_id: GraphId, graphs: GraphsDep, backward: Backward = False) -> Response:
    """Draw a graph.

    Returns the nodes of a graph in the DOT language of Graphviz.
    """
    return PlainTextResponse(graphs.dot(graph_id, backward=backward), media_type=DOT)


@routes.get("/v1/graphs/{graph_id}/plan", response_model=GraphPlan)
def plan_graph(
    graph_id: GraphId,
    graphs: GraphsDep,
    batch: Batch = 32,
    optimizer: Optimizer = None,
    executor: ExecutorName = "auto",
) -> Response:
    """Plan the execution of a graph.

    Returns the steps of one evaluation or training step in order, their buffers, fused groups, peak memory and
    FLOPs.
    """
    return JsonResponse(graphs.plan(graph_id, batch=batch, optimizer=optimizer, executor=executor))


@routes.get(
    "/v1/graphs/{graph_id}/plan/text",
    response_class=PlainTextResponse,
    responses=text_answer("text/plain", "One line for each step."),
)
def print_graph_plan(
    graph_id: GraphId,
    graphs: GraphsDep,
    batch: Batch = 32,
    optimizer: Optimizer = None,
    executor: ExecutorName = "auto",
) -> Response:
    """Print an execution plan.

    Returns the plan of a step as text, one line per step.
    """
    text = graphs.plan_text(graph_id, batch=batch, optimizer=optimizer, executor=executor)
    return PlainTextResponse(text)


@routes.get(
    "/v1/graphs/{graph_id}/plan/dot",
    response_class=PlainTextResponse,
    responses=text_answer(DOT, "The plan in the DOT language of Graphviz: steps, and the buffers between them."),
)
def draw_graph_plan(
    graph_id: GraphId,
    graphs: GraphsDep,
    batch: Batch = 32,
    optimizer: Optimizer = None,
    executor: ExecutorName = "auto",
) -> Response:
    """Draw an execution plan.

    Returns the plan of a step in the DOT language of Graphviz: steps, and the buffers between them.
    """
    drawing = graphs.plan_dot(graph_id, batch=batch, optimizer=optimizer, executor=executor)
    return PlainTextResponse(drawing, media_type=DOT)


@routes.get(
    "/v1/graphs/{graph_id}/program",
    response_class=PlainTextResponse,
    responses=text_answer(PYTHON, "A Python script that needs NumPy only."),
)
def print_graph_program(
    graph_id: GraphId, graphs: GraphsDep, batch: Batch = 32, optimizer: Optimizer = None
) -> Response:
    """Export a graph as a NumPy script.

    Returns a Python script that needs NumPy only and runs the step on its own. With the seed and batches of a fit,
    it computes the same bits as the NumPy executor. Run it with `--help` for its options.
    """
    return PlainTextResponse(graphs.program(graph_id, batch=batch, optimizer=optimizer), media_type=PYTHON)
