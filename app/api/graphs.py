"""Routes of graphs."""

from typing import Annotated, Any, Literal

from fastapi import Body, Query, Response
from fastapi.responses import PlainTextResponse

from app.api.deps import GraphId, GraphsDep, PageDep
from app.api.idempotency import IdempotentDep
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
Backward = Annotated[bool, Query(description="With the backward nodes after the forward ones.")]
Batch = Annotated[int, Query(ge=1, le=BATCH_MAX, description="Rows in a step.")]
Optimizer = Annotated[str | None, Query(description="Plans a training step with it, else an evaluation.")]
ExecutorName = Annotated[Literal["auto", "numpy", "native"], Query(description="What runs it; by default the fastest.")]


@routes.post("/v1/graphs", status_code=201, response_model=Graph)
def create_graph(definition: Definition, graphs: GraphsDep, idempotent: IdempotentDep) -> Response:
    """Store a graph, given as nodes, layers or a program."""
    return idempotent.answer(lambda save_response: graphs.create(definition, save_response), Graph.of)


@routes.post("/v1/graphs:validate", response_model=GraphReport)
def validate_graph(definition: Definition, graphs: GraphsDep) -> Response:
    """Report on a graph as if it were stored, and store nothing."""
    return JsonResponse(GraphReport.of(graphs.validate(definition)))


@routes.get("/v1/graphs", response_model=GraphList)
def list_graphs(page: PageDep, graphs: GraphsDep) -> Response:
    """List graphs."""
    return JsonResponse(GraphList.of(graphs.list(page)))


@routes.get("/v1/graphs/{graph_id}", response_model=Graph)
def get_graph(graph_id: GraphId, graphs: GraphsDep) -> Response:
    """Return a graph: its canonical definition, counts, shapes, memory and findings."""
    return JsonResponse(Graph.of(graphs.get(graph_id)))


@routes.delete("/v1/graphs/{graph_id}", status_code=204)
def delete_graph(graph_id: GraphId, graphs: GraphsDep) -> None:
    """Delete a graph that no unfinished fit uses."""
    graphs.delete(graph_id)


@routes.get("/v1/graphs/{graph_id}/nodes", response_model=GraphNodes)
def list_graph_nodes(graph_id: GraphId, graphs: GraphsDep, backward: Backward = False) -> Response:
    """List the nodes in the order of execution."""
    return JsonResponse(GraphNodes(data=graphs.nodes(graph_id, backward=backward)))


@routes.get(
    "/v1/graphs/{graph_id}/text",
    response_class=PlainTextResponse,
    responses=text_answer("text/plain", "One line for each input, parameter and node."),
)
def print_graph(graph_id: GraphId, graphs: GraphsDep, backward: Backward = False) -> Response:
    """Print the graph for a person to read."""
    return PlainTextResponse(graphs.text(graph_id, backward=backward))


@routes.get(
    "/v1/graphs/{graph_id}/dot",
    response_class=PlainTextResponse,
    responses=text_answer(DOT, "The graph in the language of Graphviz."),
)
def draw_graph(graph_id: GraphId, graphs: GraphsDep, backward: Backward = False) -> Response:
    """Draw the graph with Graphviz."""
    return PlainTextResponse(graphs.dot(graph_id, backward=backward), media_type=DOT)


@routes.get("/v1/graphs/{graph_id}/plan", response_model=GraphPlan)
def plan_graph(
    graph_id: GraphId,
    graphs: GraphsDep,
    batch: Batch = 32,
    optimizer: Optimizer = None,
    executor: ExecutorName = "auto",
) -> Response:
    """Plan a step: what is computed in which order, in which memory."""
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
    """Print the plan of a step for a person to read."""
    text = graphs.plan_text(graph_id, batch=batch, optimizer=optimizer, executor=executor)
    return PlainTextResponse(text)


@routes.get(
    "/v1/graphs/{graph_id}/plan/dot",
    response_class=PlainTextResponse,
    responses=text_answer(DOT, "The plan in the language of Graphviz: steps, and the buffers between them."),
)
def draw_graph_plan(
    graph_id: GraphId,
    graphs: GraphsDep,
    batch: Batch = 32,
    optimizer: Optimizer = None,
    executor: ExecutorName = "auto",
) -> Response:
    """Draw the plan of a step with Graphviz."""
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
    """Print a step as a Python script that needs NumPy only, with first values, a command line and the bits of a fit.

    The fit is one by the NumPy executor, with the same seed and batches. Run the script with --help.
    """
    return PlainTextResponse(graphs.program(graph_id, batch=batch, optimizer=optimizer), media_type=PYTHON)
