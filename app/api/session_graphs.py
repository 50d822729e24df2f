"""Routes that look at the graphs of a session of kind "static": nodes, data, gradients, drawings, plans, bytes."""

from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request, Response

from app.api.deps import SessionId
from app.api.openapi_parts import JSON, binary_answer, text_answer
from app.api.routing import router
from app.api.schemas.static_answers import (
    ComputePlanAnswer,
    ElementAnswer,
    GraphDescription,
    GraphGradient,
    GraphNode,
    GraphNodeList,
    OverheadAnswer,
    ThreadpoolDescription,
)
from app.api.schemas.static_request import SIZE_MAX, THREADS_MAX
from app.api.schemas.static_steps import POSITION_MAX
from app.api.schemas.tensors import Tensor
from app.api.session_bodies import Said
from app.api.session_relay import PATH, relay
from app.api.session_verbs import SAFETENSORS
from app.domain.documents import DOT, NPY, TEXT
from app.domain.errors import Finding, Invalid

routes = router("sessions")

Graph = Annotated[str, Query(min_length=1, max_length=63, description="Which graph.")]
NodeName = Annotated[str, Path(description="A name in the graph, or in the definition.")]
NodeOrIndex = Annotated[str, Path(description="A position, from the end if negative; or a name.")]
Element = Annotated[
    str | None,
    Query(pattern=r"^\d{1,15}(,\d{1,15}){0,7}$", description="One element: its place, or an index for each axis."),
]


@routes.get(f"{PATH}/graph", response_model=GraphDescription)
async def get_session_graph(session_id: SessionId, request: Request, graph: Graph = "main") -> Response:
    """Describe a graph: its size, how much it holds, its outputs and losses."""
    return await _look(request, session_id, "graph", {"graph": graph})


@routes.get(f"{PATH}/graph/nodes", response_model=GraphNodeList)
async def list_session_graph_nodes(
    session_id: SessionId,
    request: Request,
    graph: Graph = "main",
    index: Annotated[
        int | None, Query(ge=-POSITION_MAX, le=POSITION_MAX, description="Only this node, from the end if negative.")
    ] = None,
    name: Annotated[
        str | None, Query(min_length=1, description="Only the node or leaf of this name; none if there is none.")
    ] = None,
    leafs: Annotated[bool, Query(description="Whether leafs follow the nodes.")] = True,
) -> Response:
    """List nodes in the order of execution, and leafs."""
    if index is not None and name is not None:
        detail = "query parameter: index names one node, and so does name; give one of both"
        raise Invalid(detail, code="conflict", findings=[Finding("/name", "conflict", detail)])
    options = {"graph": graph, "index": index, "name": name, "leafs": leafs}
    return await _look(request, session_id, "graph_nodes", options)


@routes.get(f"{PATH}/graph/nodes/{{node:path}}", response_model=GraphNode)
async def get_session_graph_node(
    session_id: SessionId, node: NodeOrIndex, request: Request, graph: Graph = "main"
) -> Response:
    """Return a node by position or name, or a leaf by name."""
    return await _look(request, session_id, "graph_node", {"graph": graph, "node": node})


@routes.get(
    f"{PATH}/graph/tensors/{{name:path}}",
    response_model=Tensor | ElementAnswer,
    responses=binary_answer(NPY, SAFETENSORS),
)
async def get_session_graph_tensor(
    session_id: SessionId, name: NodeName, request: Request, graph: Graph = "main", index: Element = None
) -> Response:
    """Return the data of a leaf, or of what was computed; whole, or one element."""
    options = {"graph": graph, "name": name, "index": None if index is None else _place(index)}
    return await _look(request, session_id, "graph_tensor", options, (JSON, NPY, SAFETENSORS))


@routes.get(f"{PATH}/graph/gradients/{{name:path}}", response_model=GraphGradient, responses=binary_answer(NPY))
async def get_session_graph_gradient(
    session_id: SessionId,
    name: NodeName,
    request: Request,
    graph: Graph = "main",
    accumulator: Annotated[bool, Query(description="The sum since the last reset; of a loss, its seed.")] = False,
) -> Response:
    """Return the gradient of the losses by a value; null where none flows, or before the graph is differentiated."""
    options = {"graph": graph, "name": name, "accumulator": accumulator}
    return await _look(request, session_id, "graph_gradient", options, (JSON, NPY))


@routes.get(f"{PATH}/graph/print", responses=text_answer(TEXT, "A line for each node and leaf."))
async def print_session_graph(session_id: SessionId, request: Request, graph: Graph = "main") -> Response:
    """Print a graph: x marks a parameter, g what has a gradient."""
    return await _look(request, session_id, "graph_print", {"graph": graph}, (TEXT,))


@routes.get(f"{PATH}/graph/dot", responses=text_answer(DOT, "A drawing in DOT."))
async def draw_session_graph(
    session_id: SessionId,
    request: Request,
    graph: Graph = "main",
    of: Annotated[Literal["backward", "forward"], Query(description="forward: without the gradients.")] = "backward",
    cgraph: Annotated[str | None, Query(description="The graph that tells which nodes are the forward pass's.")] = None,
) -> Response:
    """Draw a graph in DOT; gradients are part of what they are the gradients of."""
    return await _look(request, session_id, "graph_dump_dot", {"graph": graph, "of": of, "cgraph": cgraph}, (DOT,))


@routes.get(f"{PATH}/graph/plan", response_model=ComputePlanAnswer)
async def plan_session_graph(
    session_id: SessionId,
    request: Request,
    graph: Graph = "main",
    n_threads: Annotated[
        int, Query(ge=-THREADS_MAX, le=THREADS_MAX, description="Threads; below 1: the pool's, or 4 without one.")
    ] = 0,
) -> Response:
    """Plan a computation: the bytes of the work buffer, and how many threads would compute."""
    return await _look(request, session_id, "graph_plan", {"graph": graph, "n_threads": n_threads})


@routes.get(f"{PATH}/graph/overhead", response_model=OverheadAnswer)
async def get_session_graph_overhead(
    session_id: SessionId,
    request: Request,
    graph: Graph = "main",
    size: Annotated[int | None, Query(ge=1, le=SIZE_MAX, description="Of a graph; by default this one's.")] = None,
    grads: Annotated[bool | None, Query(description="By default as this graph.")] = None,
) -> Response:
    """Return the bytes that a graph of some size is charged to a context, and what the session's has been charged."""
    return await _look(request, session_id, "graph_overhead", {"graph": graph, "size": size, "grads": grads})


@routes.get(f"{PATH}/threadpool", response_model=ThreadpoolDescription)
async def get_session_threadpool(session_id: SessionId, request: Request) -> Response:
    """Describe the thread pool."""
    return await _look(request, session_id, "threadpool", {})


async def _look(
    request: Request, session_id: str, verb: str, options: dict[str, Any], answers: tuple[str, ...] = (JSON,)
) -> Response:
    given = {name: value for name, value in options.items() if value is not None}
    return await relay(request, session_id, verb, Said(given), answers)


def _place(text: str) -> int | list[int]:
    numbers = [int(number) for number in text.split(",")]
    return numbers if "," in text else numbers[0]
