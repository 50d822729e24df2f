"""How requests name graphs, datasets and checkpoints that a caller gives."""

from collections.abc import Mapping, Sequence
from typing import Any

from adjoint_client.generated.models import Dataset, Graph


def references(
    things: str | Dataset | Sequence[str | Dataset],
) -> str | Mapping[str, Any] | list[str | Mapping[str, Any]]:
    """Return how a request names one dataset or several."""
    if isinstance(things, str | Dataset):
        return reference(things)
    return [reference(thing) for thing in things]


def reference(thing: str | Graph | Dataset | Mapping[str, Any]) -> str | Mapping[str, Any]:
    """Return how a request names the thing: by its id, or by its definition."""
    return thing if isinstance(thing, str | Mapping) else thing.id


def session_request(
    graph: str | Graph | Mapping[str, Any] | None,
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
