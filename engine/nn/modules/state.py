"""State and summary of a module: arrays out of leaves and back, and a text of its parts and their shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from engine.core.errors import CheckpointError, nearest
from engine.core.modes import no_grad
from engine.core.value import Array, Value


def copy_arrays(leaves: Mapping[str, Value]) -> dict[str, Array]:
    """Return a copy of the data of each leaf."""
    return {name: leaf.numpy().copy() for name, leaf in leaves.items()}


def load_arrays(leaves: Mapping[str, Value], arrays: Mapping[str, Any], what: str) -> None:
    """Write `arrays` into the leaves of the same names, cast to their dtypes.

    Raises:
        CheckpointError: a name is missing or unknown, or a shape differs; then nothing is changed.
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


WIDTH = 32
"""Columns for the names of parts."""


class Part(Protocol):
    """What a summary reads of a module."""

    @property
    def parts(self) -> Mapping[str, Part]:
        """The modules directly inside, by name."""

    def own(self) -> tuple[Mapping[str, Value], Mapping[str, Value]]:
        """Return the parameters and buffers that the module holds itself."""

    def parameters(self) -> Mapping[str, Value]:
        """Return all parameters, those of its parts included."""

    def buffers(self) -> Mapping[str, Value]:
        """Return all buffers, those of its parts included."""


def summarize(module: Part) -> str:
    """Return the counts of a model, and a line for each part: name, kind, then dtype and shape of what it holds itself.

    Frozen parameters, buffers, and what another part holds too are marked so.
    """
    parameters = list(module.parameters().values())
    total = sum(leaf.size for leaf in parameters)
    trained = sum(leaf.size for leaf in parameters if leaf.requires_grad)
    kept = sum(leaf.size for leaf in module.buffers().values())
    counts = f"{total:,} parameters, {trained:,} trained" + (f", {kept:,} elements in buffers" if kept else "")
    return "\n".join([f"{_kind(module)}: {counts}", *_lines(module, "", set())])


def _lines(module: Part, path: str, seen: set[int]) -> Iterator[str]:
    parameters, buffers = module.own()
    held = [_describe(name, leaf, seen, "" if leaf.requires_grad else "frozen") for name, leaf in parameters.items()]
    held += [_describe(name, leaf, seen, "buffer") for name, leaf in buffers.items()]
    if path or held:
        heading = f"{path} ({_kind(module)})" if path else "itself"
        yield f"  {heading:<{WIDTH}} {', '.join(held)}".rstrip()
    for part, inner in module.parts.items():
        yield from _lines(inner, f"{path}.{part}" if path else part, seen)


def _describe(name: str, leaf: Value, seen: set[int], note: str) -> str:
    notes = [note] * bool(note) + ["shared"] * (id(leaf) in seen)
    seen.add(id(leaf))
    return f"{name} {leaf.dtype.name}{list(leaf.shape)}" + (f" ({', '.join(notes)})" if notes else "")


def _kind(module: Part) -> str:
    return str(getattr(module, "kind", type(module).__name__))
