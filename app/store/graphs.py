"""Graphs in the database."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, delete, exists, false, insert, select

from app.domain.errors import NotFound
from app.domain.fit import TERMINAL
from app.domain.records import GraphRecord
from app.domain.session import OPEN
from app.store.lists import ALL, GRAPHS, Filters
from app.store.pages import Page, PageRequest, assign_tenant, owned
from app.store.rows import existing, read_row, row_reader
from app.store.tables import checkpoints, fits, graphs, sessions, values_of

_GET = select(graphs).where(graphs.c.id == bindparam("graph_id"), owned(graphs))
_SHARE = _GET.with_for_update(read=True, key_share=True)
_LOCK = select(graphs.c.id).where(graphs.c.id == bindparam("graph_id")).with_for_update()
_WITH_DIGEST = (
    select(graphs)
    .where(graphs.c.digest == bindparam("content"), owned(graphs))
    .order_by(graphs.c.id != bindparam("first"), graphs.c.id)
)
_DELETE = delete(graphs).where(graphs.c.id == bindparam("graph_id"), owned(graphs))
_IN_USE = select(
    exists().where(fits.c.graph_id == bindparam("graph_id"), fits.c.state.not_in(TERMINAL))
    | exists().where(sessions.c.graph_id == bindparam("graph_id"), sessions.c.state.in_(OPEN))
    | exists().where(checkpoints.c.graph_id == bindparam("graph_id"), checkpoints.c.deleted == false())
)


class Graphs:
    """The graphs of a tenant, or of all, within one unit of work."""

    def __init__(self, connection: Connection, tenant: str | None, *, for_update: bool = False) -> None:
        self._connection = connection
        self._tenant = tenant
        self._for_update = for_update
        self._get = _SHARE if for_update else _GET

    def add(self, graph: GraphRecord) -> None:
        """Store a new graph."""
        self._connection.execute(insert(graphs), values_of(assign_tenant(self._tenant, graph)))

    def ensure(self, graph: GraphRecord) -> None:
        """Store a graph unless it is stored."""
        if self._connection.execute(self._get, {"graph_id": graph.id, "whose": self._tenant}).first() is None:
            self.add(graph)

    def get(self, graph_id: str) -> GraphRecord:
        """Return the graph; NotFound if there is none."""
        row = self._connection.execute(self._get, {"graph_id": graph_id, "whose": self._tenant}).first()
        return read_row(GraphRecord, existing(row, "graph", graph_id))

    def with_digest(self, digest: str, first: str) -> Iterator[GraphRecord]:
        """Yield the graphs that are equal to the one of this digest: that of the id `first`, then the oldest first."""
        wanted = {"content": digest, "first": first, "whose": self._tenant}
        for row in self._connection.execute(_WITH_DIGEST, wanted):
            yield read_row(GraphRecord, row)

    def equal_to(self, definition: Mapping[str, Any], digest: str) -> GraphRecord | None:
        """Return the oldest graph of this digest with the same definition, its names in the same order; else None."""
        text = json.dumps(definition)
        return next((graph for graph in self.with_digest(digest, "") if json.dumps(graph.definition) == text), None)

    def list(self, page: PageRequest, filters: Filters = ALL) -> Page[GraphRecord]:
        """Return a page of the graphs that meet `filters`."""
        return GRAPHS.fetch(self._connection, select(graphs), self._tenant, page, filters, row_reader(GraphRecord))

    def in_use(self, graph_id: str) -> bool:
        """Whether a fit that is not terminal or an open session uses the graph, or a checkpoint needs it to predict."""
        if self._for_update:
            self._connection.execute(_LOCK, {"graph_id": graph_id})  # so that no reference is added
        return bool(self._connection.execute(_IN_USE, {"graph_id": graph_id}).scalar_one())

    def delete(self, graph_id: str) -> None:
        """Forget the graph; NotFound if there is none. Ask `in_use` before."""
        if self._connection.execute(_DELETE, {"graph_id": graph_id, "whose": self._tenant}).rowcount == 0:
            raise NotFound(f"there is no graph {graph_id!r}")
