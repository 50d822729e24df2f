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

from app.api.openapi_parts import JSON
from app.api.routing import router
from app.api.schemas.session_answers import StepAnswer
from app.api.schemas.static_answers import (
    BackwardExpandAnswer,
    GraphAnswer,
    GraphComputeAnswer,
    MatchAnswer,
    PausedAnswer,
    ThreadpoolAnswer,
)
from app.api.schemas.static_steps import (
    BuildBackwardExpandRequest,
    BuildForwardExpandRequest,
    BuildForwardSelectRequest,
    GraphClearRequest,
    GraphComputeRequest,
    GraphCpyRequest,
    GraphDupRequest,
    GraphFreeRequest,
    GraphResetRequest,
    GraphViewRequest,
    NewGraphRequest,
    OptStepAdamwRequest,
    OptStepSgdRequest,
    SetLossRequest,
    SetNameRequest,
    SetParamRequest,
    TensorSetRequest,
    ThreadpoolMatchRequest,
    ThreadpoolNewRequest,
    ThreadpoolStepRequest,
)
from app.api.session_steps import add_verbs
from app.api.session_verbs import SAFETENSORS, TENSORS, Verb

routes = router("sessions")

COMPUTING = (
    Verb(
        "graph_compute",
        "compute_session_graph",
        "Set inputs, and compute a graph: every node in order, or up to one.",
        GraphComputeRequest,
        GraphComputeAnswer,
        TENSORS,
        (JSON, SAFETENSORS),
    ),
    Verb(
        "graph_reset",
        "reset_session_graph",
        "Begin a new window of accumulation: sums of gradients become 0, and seeds of losses 1.",
        GraphResetRequest,
        StepAnswer,
    ),
    Verb(
        "tensor_set",
        "set_session_tensors",
        "Put data into leaves, sums of gradients and seeds: all of them, or none.",
        TensorSetRequest,
        StepAnswer,
        TENSORS,
    ),
)

BUILDING = (
    Verb(
        "build_forward_expand",
        "expand_session_graph",
        "Append values, with all they depend on, to a graph.",
        BuildForwardExpandRequest,
        GraphAnswer,
    ),
    Verb(
        "build_forward_select",
        "select_session_branch",
        "Append several branches to a graph, of which one is computed.",
        BuildForwardSelectRequest,
        GraphAnswer,
    ),
    Verb(
        "build_backward_expand",
        "differentiate_session_graph",
        "Append the gradients of the losses to a graph.",
        BuildBackwardExpandRequest,
        BackwardExpandAnswer,
    ),
    Verb(
        "set_param",
        "mark_session_parameters",
        "Mark leaves as parameters, before they are expanded.",
        SetParamRequest,
        StepAnswer,
    ),
    Verb("set_loss", "mark_session_losses", "Mark scalars as losses of a graph.", SetLossRequest, StepAnswer),
    Verb("set_name", "name_session_tensor", "Call a tensor of a graph something else.", SetNameRequest, StepAnswer),
    Verb(
        "opt_step_adamw",
        "append_adamw_step",
        "Append a step of AdamW for each parameter, taken with each complete computation.",
        OptStepAdamwRequest,
        GraphAnswer,
    ),
    Verb(
        "opt_step_sgd",
        "append_sgd_step",
        "Append a step of SGD for each parameter, taken with each complete computation.",
        OptStepSgdRequest,
        GraphAnswer,
    ),
)

GRAPHS = (
    Verb("new_graph", "create_session_graph", "Make an empty graph.", NewGraphRequest, GraphAnswer),
    Verb("graph_dup", "duplicate_session_graph", "Copy a graph over the same tensors.", GraphDupRequest, GraphAnswer),
    Verb("graph_view", "view_session_graph", "Make a graph of some nodes of another.", GraphViewRequest, GraphAnswer),
    Verb("graph_cpy", "copy_session_graph", "Put what a graph holds into another.", GraphCpyRequest, GraphAnswer),
    Verb("graph_clear", "clear_session_graph", "Take everything out of a graph.", GraphClearRequest, GraphAnswer),
    Verb("graph_free", "free_session_graph", "Let go of a graph.", GraphFreeRequest, StepAnswer),
)

THREADPOOL = (
    Verb(
        "threadpool_new",
        "create_session_threadpool",
        "Make a thread pool, in the place of the one there is.",
        ThreadpoolNewRequest,
        ThreadpoolAnswer,
    ),
    Verb("threadpool_free", "free_session_threadpool", "End the pool.", ThreadpoolStepRequest, StepAnswer),
    Verb(
        "threadpool_pause",
        "pause_session_threadpool",
        "Have the pool take no work; once more does nothing.",
        ThreadpoolStepRequest,
        PausedAnswer,
    ),
    Verb(
        "threadpool_resume",
        "resume_session_threadpool",
        "Have the pool take work again; once more does nothing.",
        ThreadpoolStepRequest,
        PausedAnswer,
    ),
    Verb(
        "threadpool_params_match",
        "match_session_threadpool",
        "Tell whether the pool is such a one.",
        ThreadpoolMatchRequest,
        MatchAnswer,
    ),
)

STEPS = (*COMPUTING, *BUILDING, *GRAPHS, *THREADPOOL)

add_verbs(routes, STEPS)
