"""What the steps of a session answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import NDArray


Array: TypeAlias = "NDArray[Any]"


@dataclass(frozen=True, slots=True)
class Tape:
    """What the server kept of a forward pass for `backward`; it serves until the parameters change."""

    id: str


@dataclass(frozen=True, slots=True)
class Forward:
    """A forward pass: outputs and losses by name, and what `backward` takes if it was to be kept."""

    outputs: dict[str, Array]
    losses: dict[str, float]
    tape: Tape | None

    @classmethod
    def from_wire(cls, document: Mapping[str, Any], outputs: dict[str, Array]) -> Self:
        """Read the answer of the server."""
        tape = document.get("tape_id")
        return cls(outputs, numbers(document)["losses"], None if tape is None else Tape(tape))


@dataclass(frozen=True, slots=True)
class Backward:
    """The gradients as they are added up by now, before clipping: the norm of all together, and of each parameter's."""

    grad_norm: float
    grad_norms: dict[str, float]

    @classmethod
    def from_wire(cls, document: Mapping[str, Any]) -> Self:
        """Read the answer of the server."""
        found = numbers(document)
        return cls(found["grad_norm"], found["grad_norms"])


@dataclass(frozen=True, slots=True)
class ForwardBackward:
    """A forward and backward pass: the loss, of which the losses are the parts, and norms as in `Backward`.

    `outputs` are there if they were asked for.
    """

    loss: float
    losses: dict[str, float]
    grad_norm: float
    grad_norms: dict[str, float]
    outputs: dict[str, Array] | None

    @classmethod
    def from_wire(cls, document: Mapping[str, Any], outputs: dict[str, Array] | None) -> Self:
        """Read the answer of the server."""
        found = numbers(document)
        return cls(found["loss"], found["losses"], found["grad_norm"], found["grad_norms"], outputs)


@dataclass(frozen=True, slots=True)
class OptimizerStep:
    """A step of the optimizer.

    Attributes:
        step: how many it has taken by now.
        grad_norm: of all gradients together, before clipping.
        grad_norms: of each parameter's.
        clipped: whether a limit has changed a gradient.
        taken: whether parameters were stepped: not without a gradient, and not where a step that is not finite is to be
            left out.
    """

    step: int
    grad_norm: float
    grad_norms: dict[str, float]
    clipped: bool
    taken: bool

    @classmethod
    def from_wire(cls, document: Mapping[str, Any]) -> Self:
        """Read the answer of the server."""
        found = numbers(document)
        return cls(found["step"], found["grad_norm"], found["grad_norms"], found["clipped"], found["taken"])


@dataclass(frozen=True, slots=True)
class RowLosses:
    """The loss of each row by itself, float64; `top` numbers the worst: those not finite, then the largest losses."""

    losses: Array
    top: list[int]

    @classmethod
    def from_wire(cls, document: Mapping[str, Any]) -> Self:
        """Read the answer of the server."""
        import numpy as np

        losses = np.array(document["losses"], np.float64)
        for row, text in document["nonfinite"].items():
            losses[int(row)] = float(text)
        return cls(losses, [entry["row"] for entry in document["top"]])


def numbers(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer with the numbers that JSON has no way to write: `{"grad_norms/w": "nan"}` of `nonfinite`."""
    found = dict(document)
    for path, text in (document.get("nonfinite") or {}).items():
        field, _, name = path.partition("/")
        if name:
            found[field] = {**found[field], name: float(text)}
        else:
            found[field] = float(text)
    return found
