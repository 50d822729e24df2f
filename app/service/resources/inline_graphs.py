"""Graphs that come inline with a fit or a session."""

import engine
from app.domain.clock import Clock
from app.domain.records import GraphRecord
from app.service.resources.engine_documents import new_graph
from app.store.unit_of_work import Store


def inline_graph(definition: engine.Definition, store: Store, clock: Clock) -> GraphRecord:
    """Return the stored graph that equals a definition which came inline, or a new record, to be stored by `ensure`.

    Fits and sessions on equal graphs share one record, so that what is submitted again and again is stored once.
    """
    with store.read() as work:
        known = work.graphs.equal_to(definition.to_json(), definition.digest)
    return known or new_graph(definition, clock)
