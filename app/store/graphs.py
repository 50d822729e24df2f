"""Graphs in the database."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import BigInteger, bindparam, cast, exists, false, select

from app.domain.fit import TERMINAL
from app.domain.records import GraphEntry, GraphRecord
from app.domain.session import OPEN
from app.store.expressions import json_text
from app.store.lists import ALL, GRAPHS, Filters
from app.store.pages import Page, PageRequest, owned
from app.store.repository import ReferencedResources, by_id
from app.store.rows import read_row, row_reader
from app.store.tables import checkpoints, fits, graphs, sessions

_WITH_DIGEST = (
    select(graphs)
    .where(graphs.c.digest == bindparam("content"), owned(graphs))
    .order_by(graphs.c.id != bindparam("first"), graphs.c.id)
)

_ENTRIES = select(
    graphs.c.id,
    graphs.c.name,
    graphs.c.digest,
    cast(json_text(graphs.c.report, "parameter_count"), BigInteger).label("parameter_count"),
    graphs.c.created_at,
)


class Graphs(ReferencedResources[GraphRecord]):
    """The graphs of a tenant, or of all, within one unit of work.

    One is in use by a fit that is not terminal, by an open session, or by a checkpoint, which needs it to predict.
    """

    _table = graphs
    _noun = "graph"
    _record = GraphRecord
    _get = by_id(select(graphs), graphs)
    _lock = _get.with_for_update(read=True, key_share=True)
    _in_use = select(
        exists().where(fits.c.graph_id == bindparam("wanted"), fits.c.state.not_in(TERMINAL))
        | exists().where(sessions.c.graph_id == bindparam("wanted"), sessions.c.state.in_(OPEN))
        | exists().where(checkpoints.c.graph_id == bindparam("wanted"), checkpoints.c.deleted == false())
    )

    def ensure(self, graph: GraphRecord) -> None:
        """Store a graph unless it is stored."""
        statement = self._lock if self._for_update else self._get
        if self._connection.execute(statement, {"wanted": graph.id, "whose": self._tenant}).first() is None:
            self.add(graph)

    def with_digest(self, digest: str, first: str) -> Iterator[GraphRecord]:
        """Yield the graphs that are equal to the one of this digest: that of the id `first`, then the oldest first."""
        wanted = {"content": digest, "first": first, "whose": self._tenant}
        for row in self._connection.execute(_WITH_DIGEST, wanted):
            yield read_row(GraphRecord, row)

    def equal_to(self, definition: Mapping[str, Any], digest: str) -> GraphRecord | None:
        """Return the oldest graph of this digest with the same definition, its names in the same order; else None."""
        text = json.dumps(definition)
        return next((graph for graph in self.with_digest(digest, "") if json.dumps(graph.definition) == text), None)

    def list(self, page: PageRequest, filters: Filters = ALL) -> Page[GraphEntry]:
        """Return a page of the graphs that meet `filters`."""
        return GRAPHS.fetch(self._connection, _ENTRIES, self._tenant, page, filters, row_reader(GraphEntry))
