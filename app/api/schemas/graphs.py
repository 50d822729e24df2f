"""Graphs on the wire."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.api.schemas.values import Moment, ResourceShape, TensorDocument
from app.domain.records import GraphRecord
from app.store.pages import Page

Extent = int | str


class GraphDefinition(BaseModel):
    """A graph in one of three forms: nodes, layers, or a program. The answer always holds the nodes."""

    model_config = ConfigDict(extra="forbid")

    name: str | None = None
    inputs: dict[str, Any] = Field(description="Name: a shape, or an object with shape and dtype.")
    parameters: dict[str, Any] | None = Field(default=None, description="Name: a shape, or shape, dtype, init, frozen.")
    buffers: dict[str, Any] | None = Field(default=None, description="State that is not trained, by name.")
    constants: dict[str, TensorDocument] | None = Field(default=None, description="Given tensors, by name.")
    nodes: list[dict[str, Any]] | None = Field(default=None, description="Objects with name, op, inputs and attrs.")
    layers: list[dict[str, Any]] | None = Field(default=None, description="Objects with layer and its options.")
    loss: dict[str, Any] | None = Field(default=None, description="The loss of layers: kind, target and options.")
    program: str | None = Field(default=None, description="Lines such as `pred = x @ w + b`.")
    outputs: list[str] | None = None
    losses: list[str] | None = None


class GraphFinding(ResourceShape):
    """Something about a graph that is allowed and probably not meant."""

    pointer: str
    severity: Literal["warning", "info"] = Field(
        default="info", description='"warning": the result is probably not what was meant; a fit notes it as an event.'
    )
    code: str
    detail: str


class GraphReport(ResourceShape):
    """What the engine makes of a definition."""

    name: str
    digest: str = Field(description="Equal digests mean equal graphs.")
    definition: dict[str, Any] = Field(
        title="Canonical definition", description="The graph as nodes, in whichever form it was sent."
    )
    parameter_count: int
    node_counts: dict[str, int]
    shapes: dict[str, Any]
    implicit_loss: bool
    memory: dict[str, int]
    findings: list[GraphFinding]

    @classmethod
    def of(cls, graph: GraphRecord) -> "GraphReport":
        """Show what the engine reported."""
        return cls(**_report(graph))


class Graph(GraphReport):
    """A stored graph."""

    id: str
    object: Literal["graph"] = "graph"
    created_at: Moment

    @classmethod
    def of(cls, graph: GraphRecord) -> "Graph":
        """Show a record."""
        return cls(id=graph.id, created_at=graph.created_at, **_report(graph))


class GraphSummary(ResourceShape):
    """A graph as lists show it."""

    id: str
    object: Literal["graph"] = "graph"
    name: str
    digest: str
    parameter_count: int
    created_at: Moment


class GraphList(ResourceShape):
    """A page of graphs."""

    object: Literal["list"] = "list"
    data: list[GraphSummary]
    has_more: bool
    next_cursor: str | None

    @classmethod
    def of(cls, page: Page[GraphRecord]) -> "GraphList":
        """Show a page of records."""
        summaries = [
            GraphSummary(
                id=graph.id,
                name=graph.name,
                digest=graph.digest,
                parameter_count=graph.report["parameter_count"],
                created_at=graph.created_at,
            )
            for graph in page.items
        ]
        return cls(data=summaries, has_more=page.next_cursor is not None, next_cursor=page.next_cursor)


class GraphNodes(ResourceShape):
    """The nodes of a graph in the order of execution."""

    object: Literal["list"] = "list"
    data: Sequence[dict[str, Any]]


class GraphPlan(ResourceShape):
    """A plan: steps in order, the buffers they work on, bytes and estimated floating-point operations.

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


def _report(graph: GraphRecord) -> dict[str, Any]:
    return {"name": graph.name, "digest": graph.digest, "definition": graph.definition, **graph.report}
