"""The verbs of a session of kind "static": ggml's low-level flow, under its functions' names without `ggml_`.

Where each of ggml's functions is found (`graph` names one of the session's graphs, "main" to begin with):

| ggml | here |
|---|---|
| ggml_init, ggml_free, ggml_used_mem | POST /v1/sessions {kind: "static", graph, dims, mem_size, no_alloc}; DELETE; GET graph/overhead |
| ggml_new_tensor_*, ggml_mul, ggml_add, ... | inputs, parameters and nodes of the definition |
| ggml_new_graph, ggml_new_graph_custom | the session's own graph (size, grads, order); :new_graph |
| ggml_set_param, ggml_set_loss, ggml_set_name | :set_param, :set_loss (parameters and losses of the definition are marked), :set_name |
| ggml_set_f32, ggml_set_i32, ggml_set_*_1d, ggml_set_*_nd | :tensor_set {tensors, elements} |
| ggml_get_f32_1d, ggml_get_*_nd, ggml_get_data | GET graph/tensors/{name}?index= |
| ggml_build_forward_expand, _order, _select | :build_forward_expand (compute: false for _order), :build_forward_select |
| ggml_build_backward_expand | :build_backward_expand {accumulators} |
| ggml_graph_compute, _compute_with_ctx | :graph_compute {n_threads, with_ctx, abort_after, auto_resume} |
| ggml_graph_plan | GET graph/plan?n_threads= |
| ggml_graph_reset, _clear, _cpy, _dup, _view | :graph_reset, :graph_clear, :graph_cpy, :graph_dup, :graph_view |
| ggml_graph_n_nodes, _nodes, _node, _get_tensor, _size | GET graph, graph/nodes?index=-1, graph/nodes?name=, graph/nodes/{index or name} |
| ggml_graph_get_grad, _get_grad_acc | GET graph/gradients/{name}, with ?accumulator=true |
| ggml_graph_print, _dump_dot, _overhead | GET graph/print, graph/dot?of=, graph/overhead |
| ggml_opt_step_adamw, ggml_opt_step_sgd | :opt_step_adamw, :opt_step_sgd |
| ggml_threadpool_new, _free, _pause, _resume, _params_match, _get_n_threads | :threadpool_new, ...; GET threadpool |
| ggml_threadpool_params_default, _init | `params: {n_threads}`: what is left out has its default |
| ggml_opt_fit | POST /v1/fits |
"""  # noqa: E501 (a table)

from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request, Response

from app.api.deps import SessionId
from app.api.openapi_parts import JSON, binary_answer, text_answer
from app.api.routing import router
from app.api.schemas.session_steps import StepAnswer
from app.api.schemas.static_sessions import (
    POSITION_MAX,
    SIZE_MAX,
    THREADS_MAX,
    BackwardExpandAnswer,
    BuildBackwardExpandRequest,
    BuildForwardExpandRequest,
    BuildForwardSelectRequest,
    ComputePlanAnswer,
    ElementAnswer,
    GraphAnswer,
    GraphClearRequest,
    GraphComputeAnswer,
    GraphComputeRequest,
    GraphCpyRequest,
    GraphDescription,
    GraphDupRequest,
    GraphFreeRequest,
    GraphGradient,
    GraphNode,
    GraphNodeList,
    GraphResetRequest,
    GraphViewRequest,
    MatchAnswer,
    NewGraphRequest,
    OptStepAdamwRequest,
    OptStepSgdRequest,
    OverheadAnswer,
    PausedAnswer,
    SetLossRequest,
    SetNameRequest,
    SetParamRequest,
    TensorSetRequest,
    ThreadpoolAnswer,
    ThreadpoolDescription,
    ThreadpoolMatchRequest,
    ThreadpoolNewRequest,
    ThreadpoolStepRequest,
)
from app.api.schemas.values import Tensor
from app.api.session_steps import PATH, TENSORS, StepPayload, Verb, add_verbs, relay
from app.domain.documents import DOT, NPY, SAFETENSORS, TEXT
from app.domain.errors import Finding, Invalid

routes = router("ggml")

COMPUTING = (
    Verb(
        "graph_compute",
        "compute_session_graph",
        "Compute a static graph",
        GraphComputeRequest,
        GraphComputeAnswer,
        TENSORS,
        (JSON, SAFETENSORS),
    ),
    Verb("graph_reset", "reset_session_graph", "Reset a static graph", GraphResetRequest, StepAnswer),
    Verb("tensor_set", "set_session_tensors", "Set tensors of a static graph", TensorSetRequest, StepAnswer, TENSORS),
)

BUILDING = (
    Verb(
        "build_forward_expand",
        "expand_session_graph",
        "Append values to a static graph",
        BuildForwardExpandRequest,
        GraphAnswer,
    ),
    Verb(
        "build_forward_select",
        "select_session_branch",
        "Append alternative branches to a static graph",
        BuildForwardSelectRequest,
        GraphAnswer,
    ),
    Verb(
        "build_backward_expand",
        "differentiate_session_graph",
        "Differentiate a static graph",
        BuildBackwardExpandRequest,
        BackwardExpandAnswer,
    ),
    Verb("set_param", "mark_session_parameters", "Mark parameters", SetParamRequest, StepAnswer),
    Verb("set_loss", "mark_session_losses", "Mark losses", SetLossRequest, StepAnswer),
    Verb("set_name", "name_session_tensor", "Rename a tensor", SetNameRequest, StepAnswer),
    Verb("opt_step_adamw", "append_adamw_step", "Append AdamW steps", OptStepAdamwRequest, GraphAnswer),
    Verb("opt_step_sgd", "append_sgd_step", "Append SGD steps", OptStepSgdRequest, GraphAnswer),
)

GRAPHS = (
    Verb("new_graph", "create_session_graph", "Create a static graph", NewGraphRequest, GraphAnswer),
    Verb("graph_dup", "duplicate_session_graph", "Duplicate a static graph", GraphDupRequest, GraphAnswer),
    Verb("graph_view", "view_session_graph", "Create a view of a static graph", GraphViewRequest, GraphAnswer),
    Verb("graph_cpy", "copy_session_graph", "Copy a static graph", GraphCpyRequest, GraphAnswer),
    Verb("graph_clear", "clear_session_graph", "Clear a static graph", GraphClearRequest, GraphAnswer),
    Verb("graph_free", "free_session_graph", "Free a static graph", GraphFreeRequest, StepAnswer),
)

THREADPOOL = (
    Verb("threadpool_new", "create_session_threadpool", "Create a thread pool", ThreadpoolNewRequest, ThreadpoolAnswer),
    Verb(
        "threadpool_free",
        "free_session_threadpool",
        "Free the thread pool",
        ThreadpoolStepRequest,
        StepAnswer,
        description="Ends the threads of the session's pool (ggml_threadpool_free).",
    ),
    Verb(
        "threadpool_pause",
        "pause_session_threadpool",
        "Pause the thread pool",
        ThreadpoolStepRequest,
        PausedAnswer,
        description="Stops the pool from taking work; pausing it again has no effect (ggml_threadpool_pause).",
    ),
    Verb(
        "threadpool_resume",
        "resume_session_threadpool",
        "Resume the thread pool",
        ThreadpoolStepRequest,
        PausedAnswer,
        description="Lets a paused pool take work; resuming it again has no effect (ggml_threadpool_resume).",
    ),
    Verb(
        "threadpool_params_match",
        "match_session_threadpool",
        "Compare thread pool parameters",
        ThreadpoolMatchRequest,
        MatchAnswer,
    ),
)

STEPS = (*COMPUTING, *BUILDING, *GRAPHS, *THREADPOOL)

add_verbs(routes, STEPS)


GraphName = Annotated[str, Query(min_length=1, max_length=63, description="Name of the graph.")]
NodeName = Annotated[str, Path(description="A name in the graph, or in the definition.")]
NodeOrIndex = Annotated[str, Path(description="A position, from the end if negative; or a name.")]
Element = Annotated[
    str | None,
    Query(
        pattern=r"^\d{1,15}(,\d{1,15}){0,7}$",
        description="Return one element: its position in row-major order, or one index for each axis; by default "
        "the whole tensor.",
    ),
]


@routes.get(f"{PATH}/graph", response_model=GraphDescription)
async def get_session_graph(session_id: SessionId, request: Request, graph: GraphName = "main") -> Response:
    """Get a graph of a static session.

    Returns the capacity of a graph, its numbers of nodes and leafs, its outputs and losses.
    """
    return await _inspect(request, session_id, "graph", {"graph": graph})


@routes.get(f"{PATH}/graph/nodes", response_model=GraphNodeList)
async def list_session_graph_nodes(
    session_id: SessionId,
    request: Request,
    graph: GraphName = "main",
    index: Annotated[
        int | None, Query(ge=-POSITION_MAX, le=POSITION_MAX, description="Only this node, from the end if negative.")
    ] = None,
    name: Annotated[
        str | None, Query(min_length=1, description="Only the node or leaf of this name; none if there is none.")
    ] = None,
    leafs: Annotated[bool, Query(description="Whether leafs follow the nodes.")] = True,
) -> Response:
    """List the nodes of a static graph.

    Lists the nodes of a graph in execution order, and its leafs.
    """
    if index is not None and name is not None:
        detail = "query parameter: index names one node, and so does name; give one of both"
        raise Invalid(detail, code="conflict", findings=[Finding("/name", "conflict", detail)])
    options = {"graph": graph, "index": index, "name": name, "leafs": leafs}
    return await _inspect(request, session_id, "graph_nodes", options)


@routes.get(f"{PATH}/graph/nodes/{{node:path}}", response_model=GraphNode)
async def get_session_graph_node(
    session_id: SessionId, node: NodeOrIndex, request: Request, graph: GraphName = "main"
) -> Response:
    """Get a node of a static graph.

    Returns a node by position or name, or a leaf by name.
    """
    return await _inspect(request, session_id, "graph_node", {"graph": graph, "node": node})


@routes.get(
    f"{PATH}/graph/tensors/{{name:path}}",
    response_model=Tensor | ElementAnswer,
    responses=binary_answer(NPY, SAFETENSORS),
)
async def get_session_graph_tensor(
    session_id: SessionId, name: NodeName, request: Request, graph: GraphName = "main", index: Element = None
) -> Response:
    """Get a tensor of a static graph.

    Returns the data of a leaf or of a computed node: the whole tensor, or one element with `index`.
    """
    options = {"graph": graph, "name": name, "index": None if index is None else _place(index)}
    return await _inspect(request, session_id, "graph_tensor", options, (JSON, NPY, SAFETENSORS))


@routes.get(f"{PATH}/graph/gradients/{{name:path}}", response_model=GraphGradient, responses=binary_answer(NPY))
async def get_session_graph_gradient(
    session_id: SessionId,
    name: NodeName,
    request: Request,
    graph: GraphName = "main",
    accumulator: Annotated[bool, Query(description="Return the gradient accumulator; for a loss, its seed.")] = False,
) -> Response:
    """Get a gradient of a static graph.

    Returns the gradient of the losses with respect to a value; null if no gradient flows there or the graph is not
    differentiated.
    """
    options = {"graph": graph, "name": name, "accumulator": accumulator}
    return await _inspect(request, session_id, "graph_gradient", options, (JSON, NPY))


@routes.get(f"{PATH}/graph/print", responses=text_answer(TEXT, "A line for each node and leaf."))
async def print_session_graph(session_id: SessionId, request: Request, graph: GraphName = "main") -> Response:
    """Print a static graph.

    Returns the nodes and leafs of a graph as text: `x` marks a parameter, `g` a value with a gradient.
    """
    return await _inspect(request, session_id, "graph_print", {"graph": graph}, (TEXT,))


@routes.get(f"{PATH}/graph/dot", responses=text_answer(DOT, "The graph in the DOT language of Graphviz."))
async def draw_session_graph(
    session_id: SessionId,
    request: Request,
    graph: GraphName = "main",
    of: Annotated[
        Literal["backward", "forward"], Query(description="`forward` leaves the gradients out.")
    ] = "backward",
    cgraph: Annotated[
        str | None, Query(description="Name of the graph whose nodes are drawn as the forward pass; default none.")
    ] = None,
) -> Response:
    """Draw a graph of a static session.

    Returns a graph in the DOT language of Graphviz; gradients are drawn with the values that they belong to.
    """
    return await _inspect(request, session_id, "graph_dump_dot", {"graph": graph, "of": of, "cgraph": cgraph}, (DOT,))


@routes.get(f"{PATH}/graph/plan", response_model=ComputePlanAnswer)
async def plan_session_graph(
    session_id: SessionId,
    request: Request,
    graph: GraphName = "main",
    n_threads: Annotated[
        int, Query(ge=-THREADS_MAX, le=THREADS_MAX, description="Threads; below 1: the pool's, or 4 without one.")
    ] = 0,
) -> Response:
    """Plan the computation of a static graph.

    Returns the size of the work buffer and the number of threads that would compute (ggml_graph_plan).
    """
    return await _inspect(request, session_id, "graph_plan", {"graph": graph, "n_threads": n_threads})


@routes.get(f"{PATH}/graph/overhead", response_model=OverheadAnswer)
async def get_session_graph_overhead(
    session_id: SessionId,
    request: Request,
    graph: GraphName = "main",
    size: Annotated[
        int | None,
        Query(ge=1, le=SIZE_MAX, description="Maximum number of nodes, and of leafs; by default that of `graph`."),
    ] = None,
    grads: Annotated[
        bool | None, Query(description="Whether the graph can be differentiated; by default as `graph`.")
    ] = None,
) -> Response:
    """Get the memory overhead of a static graph.

    Returns the bytes that a graph of the given size occupies in a context, and the bytes in use in the session's
    context.
    """
    return await _inspect(request, session_id, "graph_overhead", {"graph": graph, "size": size, "grads": grads})


@routes.get(f"{PATH}/threadpool", response_model=ThreadpoolDescription)
async def get_session_threadpool(session_id: SessionId, request: Request) -> Response:
    """Get the thread pool of a static session.

    Returns the parameters and the state of the session's thread pool.
    """
    return await _inspect(request, session_id, "threadpool", {})


async def _inspect(
    request: Request, session_id: str, verb: str, options: dict[str, Any], answers: tuple[str, ...] = (JSON,)
) -> Response:
    given = {name: value for name, value in options.items() if value is not None}
    return await relay(request, session_id, verb, StepPayload(given), answers)


def _place(text: str) -> int | list[int]:
    numbers = [int(number) for number in text.split(",")]
    return numbers if "," in text else numbers[0]
