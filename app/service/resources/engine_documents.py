"""Documents that the engine reads: graph definitions, and the translation of engine errors to service errors."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import engine
from app.domain.clock import Clock
from app.domain.errors import Finding, Invalid
from app.domain.ids import new_id
from app.domain.records import GraphRecord


@contextmanager
def engine_faults(pointer: str = "") -> Iterator[None]:
    """Raise what the engine refuses within the block as Invalid.

    `pointer` says where in the request the document stands that the block hands to the engine.
    """
    try:
        yield
    except engine.DocumentError as error:
        raise invalid(
            Finding(pointer + fault.pointer, fault.code, fault.detail, fault.line, fault.column)
            for fault in error.findings
        ) from error
    except engine.EngineError as error:
        raise invalid([Finding(pointer + error.place, error.code, str(error))]) from error


def invalid(findings: Iterable[Finding]) -> Invalid:
    """Sum faults up in one error: a single one in its own words, several by their number."""
    found = tuple(findings)
    if len(found) == 1:
        return Invalid(found[0].detail, code=found[0].code, findings=found)
    return Invalid(f"the request has {len(found)} faults; see errors", findings=found)


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
    return _record(definition, report, clock)


def read_new_graph(document: object, limits: engine.GraphLimits, clock: Clock) -> GraphRecord:
    """Read a graph in any of its forms and return a new record of it. Raises Invalid if it is none or too large."""
    with engine_faults():
        definition, report = engine.parse_and_report(document, limits)
    return _record(definition, report, clock)


def _record(definition: engine.Definition, report: dict[str, Any], clock: Clock) -> GraphRecord:
    return GraphRecord(
        id=new_id("graph"),
        name=definition.name,
        digest=definition.digest,
        definition=definition.to_json(),
        report=report,
        created_at=clock.now(),
    )
