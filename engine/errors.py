"""The engine's error tree: every message names the thing, its value and what to change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice

REFUSALS = (ArithmeticError, ValueError, IndexError, TypeError)
"""What NumPy raises for numbers, shapes and types that do not suit it."""

CANDIDATES = 1000
"""Among so many names the nearest is looked for, so that a fault in a large graph costs milliseconds."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault in a document: a JSON pointer to the place, a stable code and a sentence that says what to change."""

    pointer: str
    code: str
    detail: str


class EngineError(Exception):
    """Anything the engine refuses."""

    code = "engine_error"


class ShapeError(EngineError):
    """Shapes that do not fit an operation."""

    code = "shape_mismatch"


class DTypeError(EngineError):
    """An element type that an operation does not take."""

    code = "dtype_mismatch"


class AttributeValueError(EngineError):
    """An unknown attribute, or one whose value is outside its domain."""

    code = "attribute_invalid"


class UnknownName(EngineError):  # noqa: N818 - a shorter name that reads as well
    """A name that stands for nothing: an op, a node, a layer, an optimizer."""

    code = "unknown_name"


class GradientError(EngineError):
    """A gradient that was asked for does not exist or cannot be formed."""

    code = "no_gradient"


class NumericalError(EngineError):
    """Numbers for which an operation has no result, such as the inverse of a singular matrix."""

    code = "no_result"


class LimitError(EngineError):
    """Something larger than the engine is set to take."""

    code = "limit_exceeded"


class DataError(EngineError):
    """Rows that do not fit the graph they should feed."""

    code = "data_invalid"


class CheckpointError(EngineError):
    """A checkpoint that cannot be read or does not belong to this graph."""

    code = "checkpoint_invalid"


class DocumentError(EngineError):
    """A document (graph, fit configuration) with one or more faults, each with its JSON pointer."""

    code = "document_invalid"

    def __init__(self, findings: Sequence[Finding]) -> None:
        """Collect the faults; the message joins them."""
        self.findings = tuple(findings)
        super().__init__("; ".join(f"{finding.pointer or '/'}: {finding.detail}" for finding in self.findings))


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the known name closest to `name`, or the empty string."""
    matches = get_close_matches(name[:64], islice(known, CANDIDATES), n=1, cutoff=0.6)
    return f"; did you mean {matches[0]!r}?" if matches else ""
