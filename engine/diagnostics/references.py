"""What a request calls things in a graph: values by reference, inputs and parameters by name, all of them floating."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.core.documents import Reader
from engine.core.dtypes import is_float
from engine.core.errors import nearest
from engine.core.value import Value
from engine.diagnostics.transforms import leaves_of
from engine.graph.trace import Trace, output_index


class References:
    """Looks names up in a graph traced at the extents of a request; faults go to `reader`."""

    def __init__(self, graph: Trace, reader: Reader) -> None:
        """Look up in `graph`."""
        self.graph = graph
        self.reader = reader
        self.leaves = leaves_of(graph)

    def value(self, name: Any, pointer: str) -> Value | None:
        """Return the value `name` of the graph: an output, a loss or a node; it must be floating."""
        name = self.reader.typed(name, str, pointer, "the name of a value")
        if name is None:
            return None
        graph = self.graph
        declared = (*graph.definition.outputs, *graph.definition.losses)
        node, colon, index = name.partition(":")
        made = graph.values.get(node, ())
        if name not in declared and (output_index(index) if colon else 0) not in range(len(made)):
            known = dict.fromkeys((*declared, *graph.values))
            self.reader.fault(pointer, "unknown_name", f"the graph computes no {name[:64]!r}{nearest(name, known)}")
            return None
        value = graph.value(name)
        return value if self._floating(value, f"{name!r}", pointer) else None

    def leaf(self, name: Any, pointer: str) -> Value | None:
        """Return the floating input or parameter `name`."""
        name = self.reader.typed(name, str, pointer, "the name of an input or parameter")
        if name is None:
            return None
        if name not in self.leaves:
            detail = f"the graph has no input or parameter called {name[:64]!r}{nearest(name, self.leaves)}"
            self.reader.fault(pointer, "unknown_name", detail)
            return None
        return self.leaves[name] if self._floating(self.leaves[name], f"{name!r}", pointer) else None

    def names(self, names: Any, pointer: str, look_up: Callable[[Any, str], Value | None]) -> tuple[str, ...]:
        """Read a list of different names, at least one."""
        found: list[str] = []
        listed = self.reader.sequence(names, pointer)
        for index, name in enumerate(listed):
            if look_up(name, f"{pointer}/{index}") is None:
                continue
            if name in found:
                self.reader.fault(f"{pointer}/{index}", "duplicate_name", f"{name!r} is named twice")
            found.append(name)
        if isinstance(names, list | tuple) and not listed:
            self.reader.fault(pointer, "missing_field", "at least one name is required")
        return tuple(found)

    def _floating(self, value: Value, what: str, pointer: str) -> bool:
        if not is_float(value.dtype):
            detail = f"{what} is {value.dtype.name}: only floating values have derivatives"
            self.reader.fault(pointer, "dtype_mismatch", detail)
        return is_float(value.dtype)
