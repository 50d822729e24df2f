"""The state of leaves as arrays: copies out, and checked writes back into the same leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.core.errors import CheckpointError, nearest
from engine.core.modes import no_grad
from engine.core.value import Array, Value


def snapshot(leaves: Mapping[str, Value]) -> dict[str, Array]:
    """Return a copy of the data of each leaf."""
    return {name: leaf.numpy().copy() for name, leaf in leaves.items()}


def fill(leaves: Mapping[str, Value], arrays: Mapping[str, Any], what: str) -> None:
    """Write `arrays` into the leaves of the same names, cast to their dtypes.

    Raises:
        CheckpointError: a name is missing or unknown, or a shape does not fit; nothing has been changed then.
    """
    for name in arrays:
        if name not in leaves:
            raise CheckpointError(f"{what} holds {name[:64]!r}, which the model does not have{nearest(name, leaves)}")
    found = {}
    for name, leaf in leaves.items():
        if name not in arrays:
            raise CheckpointError(f"{what} has no {name!r}")
        given = arrays[name]
        found[name] = given.numpy() if isinstance(given, Value) else np.asarray(given)
        if found[name].shape != leaf.shape:
            raise CheckpointError(
                f"{what} has {name!r} in shape {list(found[name].shape)}, the model in {list(leaf.shape)}"
            )
    with no_grad():
        for name, leaf in leaves.items():
            leaf.copy_(found[name])
