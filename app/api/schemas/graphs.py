"""Graphs on the wire."""

from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from app.api.schemas.values import FilteredPage, Moment, ResourceShape, TensorDocument
from app.domain.records import GraphRecord

Extent = int | str


class GraphDefinition(BaseModel):
    """A graph in one of three forms: nodes, layers, or a program. The answer always holds the nodes."""

    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(default=None, description='Name of the graph, for lists; default "graph".')
    inputs: dict[str, Any] = Field(description="Name: a shape, or an object with shape and dtype.")
    parameters: dict[str, Any] | None = Field(
        default=None, description="Name: a shape, or shape, dtype, init, frozen; default none."
    )
    buffers: dict[str, Any] | None = Field(
        default=None, description="State that is not trained, by name; default none."
    )
    constants: dict[str, TensorDocument] | None = Field(
        default=None, description="Given tensors, by name; default none."
    )
    nodes: list[dict[str, Any]] | None = Field(
        default=None,
        description="Objects with name, op, inputs and attrs. Required unless layers or program is given.",
    )
    layers: list[dict[str, Any]] | None = Field(
        default=None, description="Objects with layer and its options. Required unless nodes or program is given."
    )
    loss: dict[str, Any] | None = Field(
        default=None, description="The loss of layers: kind, target and options; default none."
    )
    program: str | None = Field(
        default=None, description="Lines such as `pred = x @ w + b`. Required unless nodes or layers is given."
    )
    outputs: list[str] | None = Field(
        default=None,
        description=(
            "Names of the values that are outputs, in order; by default the losses, else the values that no node "
            "takes (of layers the last one)."
        ),
    )
    losses: list[str] | None = Field(
        default=None,
        description=(
            "Names of the scalars that are losses, whose sum is minimised; by default that of `loss`, else the "
            "only output if it is a scalar."
        ),
    )


class GraphFinding(ResourceShape):
    """A remark on a graph: something valid that is probably not intended."""

    pointer: str
    severity: Literal["warning", "info"] = Field(
        default="info", description='"warning": the result is probably not what was meant; a fit notes it as an event.'
    )
    code: str
    detail: str


class GraphReport(ResourceShape):
    """The report of the engine on a definition."""

    name: str
    digest: str = Field(description="Equal digests mean equal graphs.")
    definition: dict[str, Any] = Field(
        title="Canonical definition", description="The graph in its canonical form, as nodes."
    )
    parameter_count: int
    node_counts: dict[str, int]
    shapes: dict[str, Any]
    implicit_loss: bool
    memory: dict[str, int]
    findings: list[GraphFinding]

    @classmethod
    def show(cls, graph: GraphRecord) -> Self:
        """Build from a record, with what the engine reported."""
        return cls.from_record(graph, **graph.report)


class Graph(GraphReport):
    """A stored graph."""

    id: str
    object: Literal["graph"] = "graph"
    created_at: Moment


class GraphSummary(ResourceShape):
    """A graph without its definition."""

    id: str
    object: Literal["graph"] = "graph"
    name: str
    digest: str
    parameter_count: int
    created_at: Moment


class GraphList(FilteredPage[GraphSummary]):
    """A page of graphs."""


class GraphNodes(ResourceShape):
    """The nodes of a graph in the order of execution.

    A node has `name`, `op`, `inputs`, `attrs`, `shape`, `dtype`, `kind` (forward or backward), `requires_grad` and
    `definition_node`, the name of the node of the definition that it is part of or, if backward, that it
    differentiates. With `batch` it also has `flops` and `bytes`; a node with several outputs counts its FLOPs once.
    """

    object: Literal["list"] = "list"
    data: Sequence[dict[str, Any]]


class GraphPlan(ResourceShape):
    """A plan: steps in order, the buffers they work on, bytes and estimated floating-point operations.

    A step has the node of the definition that it comes from, `definition_node` (null for metrics and the update), and
    its pass, `kind` (forward, backward or update). Of equal operations only the first is computed.

    Steps are in phases, between which the shards of the batch wait for one another; those of a fused group are gone
    through together, block by block. `numpy_steps` are the ops that the native executor has no compiled kernel for.
    """

    model_config = ConfigDict(extra="allow")

    batch: int
    training: bool
    executor: str
    steps: list[dict[str, Any]]
    buffers: list[dict[str, Any]]
    fused_groups: list[list[int]]
    shards: int
    phases: list[dict[str, Any]]
    peak_bytes: int
    flops: int
    numpy_steps: list[str] | None = None
