"""NamedValues: a definition traced at given dimensions; its values by the definition's names."""

from __future__ import annotations

from collections.abc import Mapping

from engine.core.documents import Reader
from engine.core.errors import UnknownName, escape, nearest
from engine.core.rng import fold, key_value
from engine.core.value import Value
from engine.ggml.context import Context
from engine.graph.definition import Definition
from engine.graph.limits import LIMITS
from engine.graph.tensors import is_extent
from engine.graph.trace import build
from engine.nn.initializers import initialize


class NamedValues:
    """A definition traced at given extents: leaves whose data a context holds, and what its nodes make of them.

    Inputs have no data until they are set; parameters and buffers begin as the definition says.

    Attributes:
        leaves: inputs, parameters, buffers and constants, by name.
        losses: the names of the losses that the definition declares; none if its loss is implicit.
        moves: leaves and what they become with each computation: running statistics.
        key: the leaf that random ops draw from.
    """

    def __init__(
        self, definition: Definition, dims: Mapping[str, int], context: Context, *, training: bool, seed: int
    ) -> None:
        """Trace the definition, and let `context` hold its leaves.

        Raises:
            DocumentError: extents are missing, or do not suit.
            OutOfContextMemory: the context is too small for the leaves.
        """
        traced = build(definition, checked_extents(definition, dims), training=training)
        tables = (traced.inputs, traced.parameters, traced.buffers, traced.constants)
        self.leaves = {name: leaf for table in tables for name, leaf in table.items()}
        self.losses = () if definition.implicit_loss else definition.losses
        self.key = traced.key
        updates = {**traced.buffer_updates, **traced.parameter_updates}
        self.moves = tuple((self.leaves[name], new) for name, new in updates.items())
        self._seed = seed
        self._storage = context.storage
        self._values = dict(self.leaves)
        for name, outputs in traced.values.items():
            self._values[name] = outputs[0]
            self._values.update({f"{name}:{index}": output for index, output in enumerate(outputs)})
            for index, output in enumerate(outputs):
                if output.node is not None and output.name is None:
                    output.name = f"{name}:{index}" if index else name
        for leaf in self.leaves.values():
            context.hold(leaf)
        for name, spec in {**definition.parameters, **definition.buffers}.items():
            self._storage.set(self.leaves[name], initialize(spec.init, name, spec.shape, spec.dtype, seed))

    def value(self, name: str) -> Value:
        """Return what the definition calls `name` (`name:k` for one of several outputs); UnknownName if nothing."""
        found = self._values.get(name)
        if found is None:
            raise UnknownName(f"nothing in the definition is called {name[:64]!r}{nearest(name, self._values)}")
        return found

    def find(self, name: str) -> Value | None:
        """Return what the definition calls `name`, or None."""
        return self._values.get(name)

    def draw(self, computation: int) -> None:
        """Let random ops draw what belongs to the given number of a computation."""
        self._storage.set(self.key, key_value(*fold(*fold(0, 0, self._seed), computation)))


def checked_extents(definition: Definition, dims: Mapping[str, int]) -> dict[str, int]:
    """Return a number for each named extent; a DocumentError tells which are missing, unknown or no extents."""
    reader = Reader()
    names = definition.dimension_names
    for name in dims:
        if name not in names:
            reader.fault(f"/dims/{escape(name)}", "unknown_name", f"no extent is called so{nearest(name, names)}")
    for name in names:
        if name not in dims:
            detail = f"the extent {name!r} must be a number before a static graph can be made of the definition"
            reader.fault("/dims", "missing_field", detail)
        elif not is_extent(dims[name]) or dims[name] > LIMITS.elements:
            reader.fault(f"/dims/{escape(name)}", "shape_invalid", f"an extent is a number in 0..{LIMITS.elements}")
    reader.finish()
    return dict(dims)
