"""The laboratory: graphs computed, differentiated and looked into at one point; nothing is stored."""

from typing import Any, Literal

from app.domain.frames import to_json
from app.service.resources.computing import Order
from app.store.unit_of_work import Store

Look = Literal["compute", "gradcheck", "profile", "row_losses", "trace_nonfinite"]


class Laboratory:
    """Makes orders to compute with a stored graph, each for one request as the engine reads it."""

    def __init__(self, store: Store) -> None:
        """Find graphs in `store`."""
        self._store = store

    def order(self, look: Look, graph_id: str, request: dict[str, Any]) -> Order:
        """Return the order; NotFound if there is no such graph."""
        with self._store.begin() as work:
            graph = work.graphs.get(graph_id)
        return Order(look, {"graph": graph_id}, to_json({"definition": graph.definition, "request": request}))
