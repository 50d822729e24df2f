"""How requests name graphs, datasets and checkpoints that a caller gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from adjoint_client.generated.records import Dataset, Graph, GraphSummary

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from adjoint_client.frames import Frame
    from adjoint_client.generated.schemas import ValidationChoice

GraphLike: TypeAlias = "str | Graph | GraphSummary | Mapping[str, Any]"
"""A graph: its id, the graph itself, or its definition."""
DatasetLike: TypeAlias = "str | Dataset | Sequence[str | Dataset] | Mapping[str, ArrayLike] | Frame"
"""A dataset or several: by id, as datasets, arrays by column, or a data frame."""
Validation: TypeAlias = "float | str | Dataset | Sequence[str | Dataset] | ValidationChoice"
"""What a fit is validated with: a share of the rows, other datasets, or options."""


def references(
    things: str | Dataset | Sequence[str | Dataset],
) -> str | Mapping[str, Any] | list[str | Mapping[str, Any]]:
    """Return how a request names one dataset or several."""
    if isinstance(things, str | Dataset):
        return reference(things)
    return [reference(thing) for thing in things]


def reference(thing: object) -> str | Mapping[str, Any]:
    """Return how a request names the thing: by its id, or by its definition; TypeError if it is none of these."""
    if isinstance(thing, str | Mapping):
        return thing
    if isinstance(thing, Graph | GraphSummary | Dataset):
        return thing.id
    hint = "; give layers in a definition: {'inputs': ..., 'layers': [...]}" if isinstance(thing, Sequence) else ""
    raise TypeError(f"expected an id, an object of this client or a definition, not {type(thing).__name__}{hint}")


def session_request(
    graph: GraphLike | None,
    checkpoint: str | None,
    optimizer: str | Mapping[str, Any] | None,
    lr: float | None,
    dataset: str | Dataset | None,
    fields: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the request that opens a session; what was not given is left out, for the server to choose."""
    if lr is not None:
        optimizer = {**(optimizer if isinstance(optimizer, Mapping) else {"kind": optimizer or "adam"}), "lr": lr}
    given = {
        "graph": None if graph is None else reference(graph),
        "checkpoint": checkpoint,
        "optimizer": optimizer,
        "dataset": None if dataset is None else reference(dataset),
    }
    return {**{name: value for name, value in given.items() if value is not None}, **fields}
