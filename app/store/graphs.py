"""Graphs in the database."""

from collections.abc import Iterator

from sqlalchemy import Connection, bindparam, delete, exists, false, insert, select

from app.domain.errors import NotFound
from app.domain.fit import TERMINAL
from app.domain.graph import GraphRecord
from app.domain.session import OPEN
from app.store.pages import Page, PageRequest, fetch_page
from app.store.rows import values_of
from app.store.tables import checkpoints, fits, graphs, sessions

_GET = select(graphs).where(graphs.c.id == bindparam("graph_id"))
_WITH_DIGEST = (
    select(graphs)
    .where(graphs.c.digest == bindparam("content"))
    .order_by(graphs.c.id != bindparam("first"), graphs.c.id)
)
_IN_USE = select(
    exists().where(fits.c.graph_id == bindparam("graph_id"), fits.c.state.not_in(TERMINAL))
    | exists().where(sessions.c.graph_id == bindparam("graph_id"), sessions.c.state.in_(OPEN))
    | exists().where(checkpoints.c.graph_id == bindparam("graph_id"), checkpoints.c.deleted == false())
)


class Graphs:
    """The graphs, within one unit of work."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, graph: GraphRecord) -> None:
        """Store a new graph."""
        self._connection.execute(insert(graphs), values_of(graph))

    def get(self, graph_id: str) -> GraphRecord:
        """Return the graph; NotFound if there is none."""
        row = self._connection.execute(_GET, {"graph_id": graph_id}).first()
        if row is None:
            raise NotFound(f"there is no graph {graph_id!r}")
        return GraphRecord(*row)

    def with_digest(self, digest: str, first: str) -> Iterator[GraphRecord]:
        """Yield the graphs that are equal to the one of this digest: that of the id `first`, then the oldest first."""
        for row in self._connection.execute(_WITH_DIGEST, {"content": digest, "first": first}):
            yield GraphRecord(*row)

    def list(self, page: PageRequest) -> Page[GraphRecord]:
        """Return a page of graphs."""
        return fetch_page(self._connection, select(graphs), graphs.c.id, page, lambda row: GraphRecord(*row))

    def in_use(self, graph_id: str) -> bool:
        """Whether a fit that is not terminal or an open session uses the graph, or a checkpoint needs it to predict."""
        return bool(self._connection.execute(_IN_USE, {"graph_id": graph_id}).scalar_one())

    def delete(self, graph_id: str) -> None:
        """Forget the graph; NotFound if there is none. Ask `in_use` before."""
        if self._connection.execute(delete(graphs).where(graphs.c.id == graph_id)).rowcount == 0:
            raise NotFound(f"there is no graph {graph_id!r}")
