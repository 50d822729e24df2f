"""What a computation without a job gave."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from numpy.typing import NDArray

from adjoint_client.tensors import all_from_wire, from_wire


@dataclass(frozen=True, slots=True)
class Computed:
    """Outputs and losses of a graph by name, and the gradient of the losses by parameter.

    A gradient is None where no loss depends on the parameter.
    """

    outputs: dict[str, NDArray[Any]]
    losses: dict[str, float]
    gradients: dict[str, NDArray[Any] | None]

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
        )
