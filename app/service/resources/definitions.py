"""From a document to a checked graph, and from that to a record."""

import engine
from app.domain.clock import Clock
from app.domain.graph import GraphRecord
from app.domain.ids import new_id
from app.service.resources.engine_faults import engine_faults

GRAPH_LIMITS = engine.GraphLimits()
"""The most that the engine takes, and what a graph that is stored was within in any case."""


def read_definition(
    document: object, pointer: str = "", limits: engine.GraphLimits = GRAPH_LIMITS
) -> engine.Definition:
    """Read a graph in any of its forms. Raises Invalid, with pointers below `pointer`, if it is none or too large."""
    with engine_faults(pointer):
        return engine.parse_graph(document, limits)


def new_graph(definition: engine.Definition, clock: Clock) -> GraphRecord:
    """Return a new record of the graph, with the engine's report on it."""
    with engine_faults():
        report = engine.graph_report(definition)
    return GraphRecord(
        id=new_id("graph"),
        name=definition.name,
        digest=definition.digest,
        definition=definition.to_json(),
        report=report,
        created_at=clock.now(),
    )
