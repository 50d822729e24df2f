"""The laboratory: graphs computed, differentiated and looked into at one point; nothing is stored."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import engine
from app.service.definitions import read_definition
from app.service.engine_faults import engine_faults
from app.store.unit_of_work import Store

Request = Mapping[str, Any]
T = TypeVar("T")


class Laboratory:
    """The use cases that compute with a stored graph, each for one request as the engine reads it."""

    def __init__(self, store: Store) -> None:
        """Find graphs in `store`."""
        self._store = store

    def compute(self, graph_id: str, request: Request) -> dict[str, Any]:
        """Evaluate the graph once: outputs, losses, gradients and other derivatives as arrays, without a fit."""
        return self._asked(engine.compute, graph_id, request)

    def gradcheck(self, graph_id: str, request: Request) -> dict[str, Any]:
        """Compare the gradients of the graph with central differences."""
        return self._asked(engine.check_gradients, graph_id, request)

    def profile(self, graph_id: str, request: Request) -> Sequence[engine.Timing]:
        """Measure a training step of the graph node by node."""
        return self._asked(engine.profile_step, graph_id, request)

    def row_losses(self, graph_id: str, request: Request) -> engine.RowLosses:
        """Compute the loss of every row by itself."""
        return self._asked(engine.row_losses, graph_id, request)

    def trace_nonfinite(self, graph_id: str, request: Request) -> engine.Nonfinite | None:
        """Find what is first not finite in a training step of the graph."""
        return self._asked(engine.trace_nonfinite, graph_id, request)

    def _asked(self, ask: Callable[[engine.Definition, Request], T], graph_id: str, request: Request) -> T:
        """Ask the engine; NotFound if there is no such graph, Invalid with pointers into the request."""
        with self._store.begin() as work:
            graph = work.graphs.get(graph_id)
        definition = read_definition(graph.definition)
        with engine_faults():
            return ask(definition, request)
