"""From what the engine refuses to the error tree of the service."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import engine
from app.domain.errors import Finding, Invalid


@contextmanager
def engine_faults(pointer: str = "") -> Iterator[None]:
    """Raise what the engine refuses within the block as Invalid.

    `pointer` says where in the request the document stands that the block hands to the engine.
    """
    try:
        yield
    except engine.DocumentError as error:
        raise invalid(Finding(pointer + fault.pointer, fault.code, fault.detail) for fault in error.findings) from error
    except engine.EngineError as error:
        raise invalid([Finding(pointer + error.place, error.code, str(error))]) from error


def invalid(findings: Iterable[Finding]) -> Invalid:
    """Sum faults up in one error: a single one in its own words, several by their number."""
    found = tuple(findings)
    if len(found) == 1:
        return Invalid(found[0].detail, code=found[0].code, findings=found)
    return Invalid(f"the request has {len(found)} faults; see errors", findings=found)
