"""NamedValues: a definition traced at given extents, its values addressed by the names of the definition."""

from __future__ import annotations

from collections.abc import Mapping

from engine.core.errors import UnknownName, escape, nearest
from engine.core.options import Reader
from engine.core.rng import fold, key_value
from engine.core.value import Value
from engine.ggml.context import Context
from engine.graph.definition import Definition
from engine.graph.limits import LIMITS
from engine.graph.tensors import is_extent
from engine.graph.trace import build
from engine.nn.initializers import initialize


class NamedValues:
    """A definition traced at given extents: leaves with their data in a context, and the results of its nodes.

    Inputs have no data until they are set; parameters and buffers are initialized as the definition says.

    Attributes:
        leaves: inputs, parameters, buffers and constants, by name.
        losses: names of the losses that the definition declares; empty if the loss is implicit.
        updates: leaves and their values after each computation: running statistics.
        key: the leaf with the random key.
    """

    def __init__(
        self, definition: Definition, dims: Mapping[str, int], context: Context, *, training: bool, seed: int
    ) -> None:
        """Trace the definition, and add its leaves to `context`.

        Raises:
            DocumentError: extents are missing or invalid.
            OutOfContextMemory: the context is too small for the leaves.
        """
        traced = build(definition, checked_extents(definition, dims), training=training)
        tables = (traced.inputs, traced.parameters, traced.buffers, traced.constants)
        self.leaves = {name: leaf for table in tables for name, leaf in table.items()}
        self.losses = () if definition.implicit_loss else definition.losses
        self.key = traced.key
        new_states = {**traced.buffer_updates, **traced.parameter_updates}
        self.updates = tuple((self.leaves[name], new) for name, new in new_states.items())
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
        """Return the value called `name` in the definition (`name:k`: output k), or raise UnknownName."""
        found = self._values.get(name)
        if found is None:
            raise UnknownName(f"the definition has no value called {name[:64]!r}{nearest(name, self._values)}")
        return found

    def find(self, name: str) -> Value | None:
        """Return the value called `name` in the definition, or None."""
        return self._values.get(name)

    def set_key(self, computation: int) -> None:
        """Set the random key of the computation with this number."""
        self._storage.set(self.key, key_value(*fold(*fold(0, 0, self._seed), computation)))


def checked_extents(definition: Definition, dims: Mapping[str, int]) -> dict[str, int]:
    """Return `dims` if it has a valid extent for each dimension of the definition; else raise DocumentError."""
    reader = Reader()
    names = definition.dimension_names
    for name in dims:
        if name not in names:
            reader.fault(
                f"/dims/{escape(name)}",
                "unknown_name",
                f"the definition has no dimension {name[:64]!r}{nearest(name, names)}",
            )
    for name in names:
        if name not in dims:
            detail = f"the extent of {name!r} is required for a static graph"
            reader.fault("/dims", "missing_field", detail)
        elif not is_extent(dims[name]) or dims[name] > LIMITS.elements:
            reader.fault(f"/dims/{escape(name)}", "shape_invalid", f"an extent is a number in 0..{LIMITS.elements}")
    reader.finish()
    return dict(dims)
