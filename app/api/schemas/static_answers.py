"""Responses to the steps and reads of a session of kind "static". Its process encodes them."""

from typing import Literal

from pydantic import Field

from app.api.schemas.session_answers import Nonfinite, StepAnswer
from app.api.schemas.shapes import ResourceShape
from app.api.schemas.tensors import Tensor


class GraphAnswer(StepAnswer):
    """How much a graph holds now."""

    graph: str
    n_nodes: int
    n_leafs: int


class BackwardExpandAnswer(GraphAnswer):
    """What was differentiated."""

    losses: list[str]
    implicit_loss: bool = Field(description="Whether no loss was marked, and the only scalar output was taken.")


class GraphComputeAnswer(StepAnswer):
    """How a computation ended."""

    status: Literal["SUCCESS", "ABORTED"]
    status_code: int = Field(description="As in ggml: SUCCESS 0, ABORTED 1.")
    computed: int = Field(description="Nodes that were gone through, in order.")
    losses: dict[str, float | None]
    tensors: dict[str, Tensor | None] = Field(description="Those to fetch; null: there is no data.")
    gradients: dict[str, Tensor | None] = Field(description="Those asked for; null: no gradient flows there.")
    warnings: list[str] = Field(description="What was asked for and could not be granted.")
    nonfinite: Nonfinite


class ThreadpoolDescription(ResourceShape):
    """A thread pool."""

    n_threads: int
    cpumask: list[int]
    prio: str
    prio_applied: bool = Field(description="Whether the system let every thread have its priority.")
    poll: int
    strict_cpu: bool
    paused: bool
    affinity: list[list[int]] = Field(description="For each thread, the CPUs that it may run on now.")
    warnings: list[str]


class ThreadpoolAnswer(StepAnswer):
    """The thread pool that was made."""

    threadpool: ThreadpoolDescription


class PausedAnswer(StepAnswer):
    """Whether the pool takes work."""

    paused: bool


class MatchAnswer(StepAnswer):
    """Whether the pool is such a one."""

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
    threadpool: bool = Field(description="Whether the session's pool computes; else one is made and freed.")
    abort_callback: bool
    use_ref: bool
    nbytes: int = Field(description="Bytes of leaves and results together.")
    warnings: list[str]


class OverheadAnswer(StepAnswer):
    """What graphs and tensors are charged to a context."""

    size: int
    grads: bool
    graph_overhead: int
    tensor_overhead: int
    used_mem: int = Field(description="Bytes that the session's context has been charged so far.")
    mem_size: int | None = Field(description="Bytes that it has; null: as many as are asked for.")
    no_alloc: bool
