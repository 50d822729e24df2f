"""A computation without a job: what is wanted, and what it gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from adjoint_client.tensors import all_from_wire, all_to_wire, from_wire

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Fields of a want that hold arrays by name; `by` may be a list of names or one name instead.
_TENSORS = frozenset({"cotangents", "tangents", "by"})


@dataclass(frozen=True, slots=True)
class Computed:
    """Outputs and losses of a graph by name, and the gradient of the losses by parameter.

    A gradient is None where no loss depends on the parameter. `derivatives` has an entry for each object in `want`, in
    order: arrays by parameter or input, those of a jvp by value.
    """

    outputs: dict[str, NDArray[Any]]
    losses: dict[str, float]
    gradients: dict[str, NDArray[Any] | None]
    derivatives: list[dict[str, NDArray[Any]]]

    @classmethod
    def from_wire(cls, document: Mapping[str, Any]) -> Self:
        """Read the answer of the server."""
        return cls(
            outputs=all_from_wire(document.get("outputs") or {}),
            losses={**document["losses"], **{name: float(text) for name, text in document["nonfinite"].items()}},
            gradients={
                name: None if tensor is None else from_wire(tensor)
                for name, tensor in (document.get("gradients") or {}).items()
            },
            derivatives=[all_from_wire(found["tensors"]) for found in document.get("derivatives") or ()],
        )


def wants_to_wire(wants: Sequence[str | Mapping[str, Any]]) -> list[Any]:
    """Return the list `want` of a request: cotangents, tangents and directions become tensor objects."""
    return [want if isinstance(want, str) else _tensors_to_wire(want) for want in wants]


def _tensors_to_wire(want: Mapping[str, Any]) -> dict[str, Any]:
    request: dict[str, Any] = {}
    for name, value in want.items():
        if not isinstance(value, Mapping):
            request[name] = value
        else:
            request[name] = all_to_wire(value) if name in _TENSORS else _tensors_to_wire(value)
    return request
