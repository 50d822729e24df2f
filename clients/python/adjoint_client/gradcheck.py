"""What a check of gradients gave."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class GradientCheck:
    """The gradient by one parameter or input against central differences.

    `elements` are the row-major positions of those looked at, None for all; `worst` is the index of the element at
    which the two differ most, None if there was none.
    """

    ok: bool
    checked: int
    elements: list[int] | None
    largest_absolute_error: float
    largest_relative_error: float
    worst: tuple[int, ...] | None

    @classmethod
    def from_wire(cls, document: Mapping[str, Any]) -> Self:
        """Read one entry of the server's answer."""
        numbers = {**document, **{name: float(text) for name, text in document["nonfinite"].items()}}
        worst = document["worst"]
        return cls(
            ok=document["ok"],
            checked=document["checked"],
            elements=document["elements"],
            largest_absolute_error=numbers["largest_absolute_error"],
            largest_relative_error=numbers["largest_relative_error"],
            worst=None if worst is None else tuple(worst["index"]),
        )


@dataclass(frozen=True, slots=True)
class GradientChecks:
    """Whether all gradients are right, and what was found by each name."""

    ok: bool
    gradients: dict[str, GradientCheck]

    @classmethod
    def from_wire(cls, document: Mapping[str, Any]) -> Self:
        """Read the answer of the server."""
        checks = {name: GradientCheck.from_wire(found) for name, found in document["gradients"].items()}
        return cls(ok=document["ok"], gradients=checks)
