"""Graphs: create, inspect, compute; and the catalogues of ops, layers, optimizers and losses."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import engine
from app.domain.clock import Clock
from app.domain.errors import Conflict, NotFound
from app.domain.frames import to_json
from app.domain.records import GraphEntry, GraphRecord
from app.service.resources.engine_documents import GRAPH_LIMITS, engine_faults, read_definition, read_new_graph
from app.service.resources.idempotency import SaveResponse
from app.service.resources.workers import ComputeRequest
from app.store.lists import ALL, Filters
from app.store.pages import Page, PageRequest
from app.store.unit_of_work import Store

Entries = list[dict[str, Any]]

CATALOGUES: Mapping[str, Callable[[], Entries]] = MappingProxyType(
    {
        "ops": engine.op_catalogue,
        "optimizers": engine.optimizer_catalogue,
        "schedules": engine.schedule_catalogue,
        "losses": engine.loss_catalogue,
        "layers": engine.layer_catalogue,
        "initializers": engine.initializer_catalogue,
        "metrics": engine.metric_catalogue,
    }
)


def op(name: str) -> dict[str, Any]:
    """Return the entry of one op, by its name or an alias; NotFound, with the nearest name, if there is none.

    An operation of other engines that this one does not support has an entry too, which says so.
    """
    try:
        return engine.op_entry(name)
    except engine.UnknownName as error:
        raise NotFound(str(error), code="unknown_name") from error


Diagnostic = Literal["compute", "gradcheck", "profile", "row_losses", "trace_nonfinite"]


class Diagnostics:
    """Makes orders to compute with a stored graph, each for one request as the engine reads it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def order(self, diagnostic: Diagnostic, graph_id: str, request: dict[str, Any]) -> ComputeRequest:
        """Return the order; NotFound if there is no such graph."""
        with self._store.read() as work:
            graph = work.graphs.get(graph_id)
        return ComputeRequest(
            diagnostic, {"graph": graph_id}, to_json({"definition": graph.definition, "request": request})
        )


class Graphs:
    """The use cases of graphs."""

    def __init__(self, store: Store, clock: Clock, limits: engine.GraphLimits = GRAPH_LIMITS) -> None:
        """Keep graphs in `store`, of which new ones are within `limits`."""
        self._store = store
        self._clock = clock
        self._limits = limits

    def create(self, document: object, save_response: SaveResponse[GraphRecord]) -> GraphRecord:
        """Check and store a definition in any of its forms. Raises Invalid with everything that is wrong with it."""
        graph = read_new_graph(document, self._limits, self._clock)
        with self._store.begin() as work:
            work.graphs.add(graph)
            save_response(work, graph)
        return graph

    def validate(self, document: object) -> GraphRecord:
        """Do all that `create` does, but store nothing."""
        return read_new_graph(document, self._limits, self._clock)

    def get(self, graph_id: str) -> GraphRecord:
        """Return the graph; NotFound if there is none."""
        with self._store.read() as work:
            return work.graphs.get(graph_id)

    def list(self, page: PageRequest, filters: Filters = ALL) -> Page[GraphEntry]:
        """Return a page of graphs."""
        with self._store.read() as work:
            return work.graphs.list(page, filters)

    def delete(self, graph_id: str) -> None:
        """Forget the graph; Conflict while a fit in progress, an open session or a checkpoint needs it."""
        with self._store.begin() as work:
            if work.graphs.in_use(graph_id):
                raise Conflict(
                    f"graph {graph_id} is needed by a fit in progress, an open session or checkpoints; cancel, close "
                    "or delete those first",
                    code="in_use",
                )
            work.graphs.delete(graph_id)

    def nodes(self, graph_id: str, *, backward: bool, batch: int | None) -> Sequence[dict[str, Any]]:
        """Return the nodes in the order of execution, the backward ones after the forward ones."""
        definition = self._definition(graph_id)
        with engine_faults():
            return engine.graph_nodes(definition, backward=backward, batch=batch)

    def text(self, graph_id: str, *, backward: bool) -> str:
        """Return the graph as lines for a person to read."""
        definition = self._definition(graph_id)
        with engine_faults():
            return engine.graph_text(definition, backward=backward)

    def dot(self, graph_id: str, *, backward: bool) -> str:
        """Return the graph in the language of Graphviz."""
        definition = self._definition(graph_id)
        with engine_faults():
            return engine.graph_dot(definition, backward=backward)

    def plan(self, graph_id: str, *, batch: int, optimizer: str | None, executor: str) -> dict[str, Any]:
        """Return the plan of a training step with `optimizer`, or of an evaluation without one."""
        _, report = self._planned(graph_id, batch, optimizer, executor)
        return report

    def plan_text(self, graph_id: str, *, batch: int, optimizer: str | None, executor: str) -> str:
        """Return the plan as lines for a person to read."""
        plan, _ = self._planned(graph_id, batch, optimizer, executor)
        return engine.plan_text(plan)

    def plan_dot(self, graph_id: str, *, batch: int, optimizer: str | None, executor: str) -> str:
        """Return the plan in the language of Graphviz."""
        plan, _ = self._planned(graph_id, batch, optimizer, executor)
        return engine.plan_dot(plan)

    def program(self, graph_id: str, *, batch: int, optimizer: str | None) -> str:
        """Return a training step with `optimizer`, or an evaluation without one, as a script that needs NumPy only."""
        definition = self._definition(graph_id)
        with engine_faults():
            return engine.graph_program(definition, batch, None if optimizer is None else {"kind": optimizer})

    def _planned(
        self, graph_id: str, batch: int, optimizer: str | None, executor: str
    ) -> tuple[engine.Plan, dict[str, Any]]:
        definition = self._definition(graph_id)
        with engine_faults():
            kind = None if optimizer is None else {"kind": optimizer}
            return engine.plan_report(definition, batch, kind, executor)

    def _definition(self, graph_id: str) -> engine.Definition:
        return read_definition(self.get(graph_id).definition)
