"""What a fit keeps that runs another one again, to see whether the same bits come out."""

from dataclasses import dataclass, field
from typing import Any

COMPARED = ("steps", "metrics", "parameters", "buffers", "optimizer")
"""What is compared: of a result, the entries of these names."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What is run again, and what is to come out; the `replay` of a record.

    Attributes:
        of: the fit that is run again, which may be of another server.
        expected: what it came to, by the names of `COMPARED`, and the `fingerprint` of its numerics.
        numerics: the entries of that fingerprint that are others here; equal bits can be expected only without any.
        verdict: how the two compare (see `Comparison`), None unless this fit has succeeded.
    """

    of: str
    expected: dict[str, Any]
    numerics: list[str]
    verdict: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The verdict on a replay.

    Attributes:
        bit_exact: whether all that is compared is equal.
        differences: what of `COMPARED` is not.
        first_row: the first metric row that is not, if the fit that was run again is here.
    """

    bit_exact: bool
    differences: list[str] = field(default_factory=list)
    first_row: int | None = None


def numerics_apart(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return the entries of two fingerprints of numerics that are not the same."""
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
