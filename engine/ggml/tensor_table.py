"""TensorTable: the nodes and leafs of a static graph in execution order, by position and by name."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterator
from contextlib import contextmanager
from typing import Literal

from engine.core.errors import EngineError, GraphFull
from engine.core.value import Value
from engine.ggml.context import check_name

EvaluationOrder = Literal["left_to_right", "right_to_left"]
"""Order in which the inputs of a node are visited (GGML_CGRAPH_EVAL_ORDER_*)."""


def post_order(output: Value, known: Container[object], order: EvaluationOrder = "left_to_right") -> list[Value]:
    """Return what `output` depends on and `known` does not hold, itself last, depth first.

    All outputs of an op that has several stand side by side, at the place of the first that is met.
    """
    found: dict[object, Value] = {}
    waiting = [(output, False)]
    while waiting:
        value, inputs_done = waiting.pop()
        if value.key in found or value.key in known:
            continue
        if inputs_done or value.node is None:
            for sibling in _siblings(value):
                found[sibling.key] = sibling
            continue
        waiting.append((value, True))
        inputs = value.node.inputs
        waiting.extend((each, False) for each in (inputs if order == "right_to_left" else inputs[::-1]))
    return list(found.values())


def _siblings(value: Value) -> list[Value]:
    if value.node is None or len(value.node.outputs) == 1:
        return [value]
    return [value if k == value.index else value.node.output(k) for k in range(len(value.node.outputs))]


class TensorTable:
    """Values by position: op results and parameters are nodes, all other leaves are leafs.

    An op with several outputs takes a place for each, side by side.

    Attributes:
        wanted: the values that were expanded to be computed.
        version: raised by every change, for what is derived from the table.
    """

    def __init__(self, size: int) -> None:
        """Create a table for at most `size` nodes and `size` leafs."""
        self.size = size
        self.version = 0
        self.nodes: list[Value] = []
        self.leafs: list[Value] = []
        self.wanted: list[Value] = []
        self.names: dict[object, str] = {}
        self._places: dict[object, int] = {}  # of nodes from 0 up, of leafs from -1 down

    def __contains__(self, value: Value) -> bool:
        """Return whether `value` is a node or a leaf of the graph."""
        return value.key in self._places

    def __iter__(self) -> Iterator[Value]:
        """Go through the leafs, then the nodes."""
        yield from self.leafs
        yield from self.nodes

    def add(self, output: Value, order: EvaluationOrder, *, compute: bool = True) -> None:
        """Append what `output` depends on and is not there yet.

        Raises:
            GraphFull: there are more nodes or more leafs than `size`; the table is as before.
        """
        with self.unchanged_on_error():
            for value in post_order(output, self._places, order):
                self._append(value)
            if max(len(self.nodes), len(self.leafs)) > self.size:
                counts = f"{len(self.nodes)} nodes and {len(self.leafs)} leafs"
                raise GraphFull(f"{counts} do not fit in a graph of size {self.size}; make it with a larger size")
        if compute and all(value.key != output.key for value in self.wanted):
            self.wanted.append(output)
        self.version += 1

    def _append(self, value: Value) -> None:
        if value.node is None and not value.requires_grad:
            self._places[value.key] = -1 - len(self.leafs)
            self.leafs.append(value)
        else:
            self._places[value.key] = len(self.nodes)
            self.nodes.append(value)
        if value.name is not None:
            self.names.setdefault(value.key, check_name(value.name))

    @contextmanager
    def unchanged_on_error(self) -> Iterator[None]:
        """Remove what is added inside if an error is raised."""
        before = self.mark()
        try:
            yield
        except EngineError:
            self.restore(before)
            raise

    def mark(self) -> tuple[int, int, int]:
        """Return where the table ends, for `restore`."""
        return len(self.nodes), len(self.leafs), len(self.wanted)

    def restore(self, mark: tuple[int, int, int]) -> None:
        """Remove what was added since `mark`."""
        nodes, leafs, wanted = mark
        for value in (*self.nodes[nodes:], *self.leafs[leafs:]):
            del self._places[value.key]
            self.names.pop(value.key, None)
        del self.nodes[nodes:], self.leafs[leafs:], self.wanted[wanted:]
        self.version += 1

    def copy(self, size: int) -> TensorTable:
        """Return a table of the same values with a capacity of `size`."""
        other = TensorTable(size)
        other.take(self)
        return other

    def take(self, source: TensorTable) -> None:
        """Replace the content by that of `source`."""
        counts = f"{len(source.nodes)} nodes and {len(source.leafs)} leafs"
        if max(len(source.nodes), len(source.leafs)) > self.size:
            raise GraphFull(f"{counts} do not fit in a graph of size {self.size}; copy into a larger one")
        self.nodes, self.leafs, self.wanted = list(source.nodes), list(source.leafs), list(source.wanted)
        self.names, self._places = dict(source.names), dict(source._places)
        self.version += 1

    def computed(self) -> set[object]:
        """Return the keys of what is to be computed: all but branches that were not selected."""
        found: set[object] = set()
        waiting = list(self.wanted)
        while waiting:
            value = waiting.pop()
            if value.key not in found:
                found.add(value.key)
                if value.node is not None:
                    found.update((value.node, index) for index in range(len(value.node.outputs)))
                    waiting.extend(value.node.inputs)
        return found

    def place(self, value: Value) -> int:
        """Return the position among the nodes, or -1 - the position among the leafs."""
        return self._places[value.key]

    def name_of(self, value: Value) -> str:
        """Return the name of a value: its own, or `node_3` or `leaf_0` by its position."""
        place = self._places[value.key]
        return self.names.get(value.key) or (f"node_{place}" if place >= 0 else f"leaf_{-1 - place}")

    def find(self, name: str) -> Value | None:
        """Return the first value called `name` among the leafs, then the nodes; None when there is none."""
        return next((value for value in self if self.name_of(value) == name), None)

    def topology(self) -> str:
        """Return a digest of ops, attributes, shapes and connections; names and data play no part."""
        digest = hashlib.sha256()
        for value in self:
            parts = [str(value.shape), value.dtype.name]
            if value.node is not None:
                parts += [value.node.op.name, str(value.index), repr(sorted(value.node.attrs.items()))]
                parts += [str(self._places[source.key]) for source in value.node.inputs]
            digest.update("\0".join(parts).encode() + b"\n")
        return digest.hexdigest()
