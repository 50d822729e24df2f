"""Sessions of kind "static": options, steps and responses, named after the functions of ggml."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.session_steps import (
    FEEDS_MAX,
    Nonfinite,
    RowsChoice,
    StepAnswer,
    StepRequest,
    Tensors,
    VerbRequest,
)
from app.api.schemas.values import RequestShape, ResourceShape, Tensor, TensorDocument

SIZE_MAX = 2**20
SIZE_DEFAULT = 2048
MEM_MAX = 2**36
EXTENT_MAX = 2**31
DIMS_MAX = 64
THREADS_MAX = 512
CPUS_MAX = 512
POLL_MAX = 100

Size = Annotated[int, Field(ge=1, le=SIZE_MAX)]
Order = Literal["left_to_right", "right_to_left"]
Name = Annotated[str, Field(min_length=1, max_length=63)]


class ThreadpoolChoice(RequestShape):
    """The fields of ggml_threadpool_params."""

    n_threads: Annotated[int, Field(ge=1, le=THREADS_MAX)] = Field(
        default=4, description="Number of threads; reduced to the CPUs of the machine, with a warning."
    )
    cpumask: Annotated[list[int] | list[bool], Field(max_length=CPUS_MAX)] = Field(
        default=[],
        description=(
            "Numbers of the CPUs that the threads may run on, each from 0, or a truth value for each CPU; none: all."
        ),
    )
    prio: Annotated[int, Field(ge=-1, le=3)] | Literal["low", "normal", "medium", "high", "realtime"] = Field(
        default="normal", description="How the system schedules them: a name, or -1 (low) to 3 (realtime)."
    )
    poll: Annotated[int, Field(ge=0, le=POLL_MAX)] = Field(
        default=50, description="Polling level of an idle thread before it sleeps; 0: no polling."
    )
    strict_cpu: bool = Field(default=False, description="Whether each thread is bound to one CPU of the mask.")
    paused: bool = Field(default=False, description="Whether it begins paused.")


class StaticChoice(RequestShape):
    """Options of a session of kind "static"."""

    dims: Annotated[dict[str, Annotated[int, Field(ge=0, le=EXTENT_MAX)]], Field(max_length=DIMS_MAX)] | None = Field(
        default=None, description="A number for each extent that the graph names. Required if it names any."
    )
    size: Size | None = Field(
        default=None, description=f"Maximum number of nodes, and of leafs, of the first graph; default {SIZE_DEFAULT}."
    )
    grads: bool | None = Field(default=None, description="Whether it can be differentiated; default true.")
    order: Order | None = Field(
        default=None, description="Which input of a node is visited first; default left_to_right."
    )
    mem_size: Annotated[int, Field(ge=1, le=MEM_MAX)] | None = Field(
        default=None, description="Bytes of the context that tensors and graphs are charged to; by default no bound."
    )
    no_alloc: bool | None = Field(
        default=None, description="Whether the context is not charged for the elements of tensors; default false."
    )
    training: bool | None = Field(
        default=None, description="Whether dropout drops and batch norm uses the batch's statistics; default true."
    )
    threadpool: ThreadpoolChoice | None = Field(
        default=None, description="Thread pool that computes graphs; by default threads are created when needed."
    )


NAMES_MAX = 10_000
ELEMENTS_MAX = 10_000
POSITION_MAX = 2**31
BYTES_MAX = 2**53
AXES_MAX = 8

Names = Annotated[list[str], Field(max_length=NAMES_MAX)]
SomeNames = Annotated[list[str], Field(min_length=1, max_length=NAMES_MAX)]
Position = Annotated[int, Field(ge=-POSITION_MAX, le=POSITION_MAX)]
Place = Annotated[int, Field(ge=0, le=BYTES_MAX)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class OnGraph(StepRequest):
    """A step that concerns one of the session's graphs."""

    graph: Name = Field(default="main", description="Name of the graph.")


class NewGraphRequest(StepRequest):
    """Creates an empty graph in the session (ggml_new_graph_custom)."""

    name: Name = Field(description="Name of the graph; a graph of the same name is replaced.")
    size: Size = Field(default=SIZE_DEFAULT, description="Maximum number of nodes, and of leafs.")
    grads: bool = Field(default=False, description="Whether it can be differentiated.")
    order: Order = Field(default="left_to_right", description="Which input of a node is visited first.")


class GraphDupRequest(OnGraph):
    """Creates a copy of a graph over the same tensors (ggml_graph_dup)."""

    name: Name = Field(description="Name of the copy.")
    force_grads: bool = Field(default=False, description="Whether it can be differentiated even if the graph cannot.")


class GraphViewRequest(OnGraph):
    """Creates a graph of a range of the nodes of another (ggml_graph_view)."""

    name: Name = Field(description="Name of the view.")
    start: Place
    stop: Place


class GraphCpyRequest(OnGraph):
    """Copies the nodes and leafs of a graph into another graph (ggml_graph_cpy)."""

    name: Name = Field(description="Name of the graph to copy into.")


class GraphClearRequest(OnGraph):
    """Removes all nodes and leafs from a graph; the tensors keep their data (ggml_graph_clear)."""


class GraphFreeRequest(OnGraph):
    """Deletes a graph of the session; the tensors keep their data."""


class SetParamRequest(StepRequest):
    """Marks leafs as parameters, before they are appended to a graph (ggml_set_param)."""

    names: SomeNames


class SetLossRequest(OnGraph):
    """Marks scalars as losses of a graph; their gradients are summed (ggml_set_loss)."""

    names: SomeNames


class SetNameRequest(OnGraph):
    """Gives a tensor of a graph another name (ggml_set_name)."""

    tensor: str
    name: Name


class BuildForwardExpandRequest(OnGraph):
    """Appends values and everything that they depend on (ggml_build_forward_expand)."""

    outputs: SomeNames
    order: Order | None = Field(
        default=None, description="Which input of a node is visited first; by default as in the graph."
    )
    compute: bool = Field(
        default=True, description="false: only reserve their positions, and compute them if they are needed."
    )


class BuildForwardSelectRequest(OnGraph):
    """Appends several branches of which one is computed (ggml_build_forward_select)."""

    branches: SomeNames
    index: Place


class BuildBackwardExpandRequest(OnGraph):
    """Appends the gradients of the losses (ggml_build_backward_expand)."""

    accumulators: dict[str, TensorDocument] | Annotated[list[TensorDocument], Field(max_length=NAMES_MAX)] | None = (
        Field(
            default=None,
            description=(
                "Tensors that gradients are added to: by name, or a list with one for each node or output, null for "
                "one to create. That of a loss is its seed. Default none."
            ),
        )
    )
    accumulate: bool = Field(default=True, description="Whether parameters without an accumulator get one.")


class OptStepAdamwRequest(OnGraph):
    """Appends an AdamW update for each parameter, which runs with every complete computation
    (ggml_opt_step_adamw).
    """

    parameters: SomeNames | None = Field(default=None, description="By default all that have a gradient.")
    pars: Annotated[list[Number], Field(min_length=7, max_length=7)] = Field(
        description=(
            "Any finite numbers: alpha (learning rate), beta1, beta2, eps, wd (weight decay), beta1h, beta2h; "
            'then in the tensor "opt pars".'
        )
    )


class OptStepSgdRequest(OnGraph):
    """Appends an SGD update for each parameter, which runs with every complete computation (ggml_opt_step_sgd)."""

    parameters: SomeNames | None = Field(default=None, description="By default all that have a gradient.")
    pars: Annotated[list[Number], Field(min_length=2, max_length=2)] = Field(
        description='Any finite numbers: alpha (learning rate), wd (weight decay); then in the tensor "opt pars".'
    )


class ElementChoice(RequestShape):
    """One element of a tensor."""

    tensor: str = Field(description="Name of the tensor.")
    index: Place | Annotated[list[Place], Field(max_length=AXES_MAX)] = Field(
        description="Index in row-major order, or one index for each axis."
    )
    value: Number = Field(description="Value to write, any finite number.")


class TensorSetRequest(OnGraph):
    """Writes data into leafs, gradient accumulators and seeds: all of them, or none if one is invalid."""

    carried: ClassVar[str | None] = "tensors"

    tensors: Tensors | None = Field(
        default=None, description="By name, a tensor, or one number for every element; default none."
    )
    accumulators: Tensors | None = Field(
        default=None,
        description="By the name of what they are for: sums of gradients, or the seed of a loss; default none.",
    )
    elements: Annotated[list[ElementChoice], Field(max_length=ELEMENTS_MAX)] | None = Field(
        default=None, description="Single elements, written last (ggml_set_f32_1d, ggml_set_f32_nd); default none."
    )


class GraphComputeRequest(OnGraph):
    """Sets inputs and computes the nodes of a graph in order, all of them or up to one (ggml_graph_compute)."""

    carried: ClassVar[str | None] = "inputs"

    inputs: Tensors | None = Field(
        default=None, description="Tensors to set before, by name; by default leafs keep their data."
    )
    rows: RowsChoice | None = Field(default=None, description="Rows of a dataset, instead of `inputs`; default none.")
    feeds: Annotated[dict[str, str], Field(max_length=FEEDS_MAX)] | None = Field(
        default=None,
        description="With `rows`, the column for each input; by default the session's, or that of the same name.",
    )
    n_threads: Annotated[int, Field(ge=-THREADS_MAX, le=THREADS_MAX)] | None = Field(
        default=None, description="Number of threads; default: those of the pool, or one; below 1: as in the plan."
    )
    abort_after: Position | str | None = Field(
        default=None,
        description="The node, by position or name, after which the computation is aborted; default none.",
    )
    auto_resume: bool = Field(default=False, description="Whether a paused pool is resumed, as ggml does.")
    with_ctx: bool = Field(default=False, description="Whether the work buffer is allocated in the context.")
    work_size: Place | None = Field(
        default=None, description="Bytes of the work buffer; by default as many as the plan asks for."
    )
    use_ref: bool = Field(default=False, description="Whether results are computed in separate buffers and copied.")
    fetch: Names | None = Field(default=None, description="Names of tensors to return; default none.")
    gradients: Names | None = Field(
        default=None, description="Names of values whose gradients to return; default none."
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.inputs is not None and self.rows is not None:
            raise PydanticCustomError("conflict", "give inputs or rows")
        if self.feeds is not None and self.rows is None:
            raise PydanticCustomError("conflict", "feeds name columns of rows, and there are no rows")
        return self


class GraphResetRequest(OnGraph):
    """Starts a new accumulation: gradient accumulators become 0 and the seeds of losses 1 (ggml_graph_reset)."""

    grads: bool = Field(default=True, description="Whether sums of gradients become 0, and seeds of losses 1.")
    momenta: bool = Field(default=False, description="Whether the moments of AdamW steps become 0.")


class ThreadpoolNewRequest(StepRequest):
    """Creates a thread pool that replaces the session's present one (ggml_threadpool_new)."""

    params: ThreadpoolChoice | None = Field(
        default=None, description="Parameters of the pool; those that are left out have their defaults."
    )


class ThreadpoolStepRequest(StepRequest):
    """Something done with the thread pool (ggml_threadpool_free, _pause, _resume)."""


class ThreadpoolMatchRequest(VerbRequest):
    """Returns whether the session's pool has the given parameters (ggml_threadpool_params_match)."""

    params: ThreadpoolChoice | None = Field(
        default=None, description="Parameters to compare with; those that are left out have their defaults."
    )


class GraphAnswer(StepAnswer):
    """The size of a graph after the step."""

    graph: str
    n_nodes: int
    n_leafs: int


class BackwardExpandAnswer(GraphAnswer):
    """The differentiated losses and parameters."""

    losses: list[str]
    implicit_loss: bool = Field(
        description="Whether no loss was marked, and the only scalar output was used as the loss."
    )


class GraphComputeAnswer(StepAnswer):
    """How a computation ended."""

    status: Literal["SUCCESS", "ABORTED"]
    status_code: int = Field(description="As in ggml: SUCCESS 0, ABORTED 1.")
    computed: int = Field(description="Number of nodes that were computed, in order.")
    losses: dict[str, float | None]
    tensors: dict[str, Tensor | None] = Field(description="The requested tensors; null: there is no data.")
    gradients: dict[str, Tensor | None] = Field(description="The requested gradients; null: no gradient flows there.")
    warnings: list[str] = Field(description="Requests that could not be met.")
    nonfinite: Nonfinite


class ThreadpoolDescription(ResourceShape):
    """A thread pool."""

    n_threads: int
    cpumask: list[int]
    prio: str
    prio_applied: bool = Field(description="Whether the priority could be set for every thread.")
    poll: int
    strict_cpu: bool
    paused: bool
    affinity: list[list[int]] = Field(description="For each thread, the CPUs that it may run on now.")
    warnings: list[str]


class ThreadpoolAnswer(StepAnswer):
    """The new thread pool."""

    threadpool: ThreadpoolDescription


class PausedAnswer(StepAnswer):
    """State of the pool."""

    paused: bool


class MatchAnswer(StepAnswer):
    """Whether the pool has the given parameters."""

    matches: bool


class GraphDescription(StepAnswer):
    """A graph."""

    graph: str
    size: int
    grads: bool
    order: str
    view: bool
    n_nodes: int
    n_leafs: int
    outputs: list[str]
    losses: list[str]
    implicit_loss: bool
    nbytes: int = Field(description="Bytes of leaves and results together.")
    overhead: int = Field(description="Bytes that a context is charged for it.")
    topology: str = Field(description="A digest of ops, attributes, shapes and connections; not of names or data.")
    graphs: list[str] = Field(description="All graphs of the session.")


class GraphNode(StepAnswer):
    """A node or leaf of a graph."""

    index: int
    kind: Literal["node", "leaf"]
    name: str
    op: str | None
    dtype: str
    shape: list[int]
    ne: list[int] = Field(description="The extents in ggml's order, the one that varies fastest first.")
    nbytes: int
    parameter: bool
    loss: bool
    inputs: list[str]
    gradient: str | None = Field(description="The name of its gradient; null: there is none.")
    accumulator: str | None = Field(description="The name of the leaf that its gradients add up in, or its seed is.")


class GraphNodeList(StepAnswer):
    """Nodes in the order of execution, then leafs."""

    object: Literal["list"] = "list"
    data: list[GraphNode]
    n_nodes: int
    n_leafs: int


class ElementAnswer(StepAnswer):
    """One element of a tensor."""

    name: str
    index: int | list[int]
    value: float | int | bool | None


class GraphGradient(StepAnswer):
    """A gradient."""

    name: str
    accumulator: bool
    gradient: Tensor | None = Field(description="null: no gradient flows there, or none is added up.")


class ComputePlanAnswer(StepAnswer):
    """How a graph would be computed (ggml_cplan)."""

    work_size: int = Field(description="Bytes of the work buffer.")
    n_threads: int
    threadpool: bool = Field(description="Whether the session's pool is used; otherwise a temporary one is created.")
    abort_callback: bool
    use_ref: bool
    nbytes: int = Field(description="Bytes of leaves and results together.")
    warnings: list[str]


class OverheadAnswer(StepAnswer):
    """Memory used by graphs and tensors in a context."""

    size: int
    grads: bool
    graph_overhead: int
    tensor_overhead: int
    used_mem: int = Field(description="Bytes that the session's context has been charged so far.")
    mem_size: int | None = Field(description="Size of the context in bytes; null: unlimited.")
    no_alloc: bool
