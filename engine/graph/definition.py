"""Definition: a graph as data in canonical form, before shapes are bound; and which inputs its values need."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.core.dtypes import DType, name_of
from engine.core.registry import lookup
from engine.core.value import Array, Shape

Extent = int | str
"""An extent of an input's shape: a number, or a name that is bound when data arrives."""


@dataclass(frozen=True, slots=True)
class InputSpec:
    """An input of a graph: extents, which may be names, and a dtype."""

    shape: tuple[Extent, ...]
    dtype: DType

    def to_json(self) -> dict[str, Any]:
        """Write it as in a request."""
        return {"shape": list(self.shape), "dtype": name_of(self.dtype)}


@dataclass(frozen=True, slots=True)
class StateSpec:
    """A parameter or buffer: its shape, dtype, how it starts, and whether it is kept from training."""

    shape: Shape
    dtype: DType
    init: Mapping[str, Any]
    frozen: bool = False

    def to_json(self) -> dict[str, Any]:
        """Write it as in a request."""
        document: dict[str, Any] = {"shape": list(self.shape), "dtype": name_of(self.dtype), "init": dict(self.init)}
        return {**document, "frozen": True} if self.frozen else document


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One op application by names.

    `pointer` is where in the request it was written, `place` says it in words; `at` is the line and the column of a
    program, both counted from 1.
    """

    name: str
    op: str
    inputs: tuple[str | float | int | bool, ...]
    attrs: Mapping[str, Any]
    pointer: str = field(default="", compare=False)
    place: str = field(default="", compare=False)
    at: tuple[int | None, int | None] = field(default=(None, None), compare=False)

    def to_json(self) -> dict[str, Any]:
        """Write it as in a request."""
        document: dict[str, Any] = {"name": self.name, "op": self.op, "inputs": list(self.inputs)}
        return {**document, "attrs": plain(self.attrs)} if self.attrs else document


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """A whole graph by names: inputs, parameters, buffers, constants, nodes in order, outputs and losses.

    Definitions are equal when their canonical forms are.
    """

    name: str
    inputs: Mapping[str, InputSpec]
    parameters: Mapping[str, StateSpec]
    buffers: Mapping[str, StateSpec]
    constants: Mapping[str, Array]
    nodes: tuple[NodeSpec, ...]
    outputs: tuple[str, ...]
    losses: tuple[str, ...]
    implicit_loss: bool = False
    _digest: str | None = field(default=None, init=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        """Write the canonical form; parsing it again gives an equal definition."""
        document: dict[str, Any] = {
            "name": self.name,
            "inputs": {name: spec.to_json() for name, spec in self.inputs.items()},
            "parameters": {name: spec.to_json() for name, spec in self.parameters.items()},
            "nodes": [node.to_json() for node in self.nodes],
            "outputs": list(self.outputs),
            "losses": list(self.losses),
        }
        if self.implicit_loss:
            document["implicit_loss"] = True
        if self.buffers:
            document["buffers"] = {name: spec.to_json() for name, spec in self.buffers.items()}
        if self.constants:
            document["constants"] = {name: tensor_to_json(array) for name, array in self.constants.items()}
        return document

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Definition) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical form without its name: equal for graphs that compute the same in the same way."""
        if self._digest is None:
            document = {key: value for key, value in self.to_json().items() if key not in ("name", "implicit_loss")}
            digest = hashlib.sha256()
            for text in _json_pieces(document):
                digest.update(text.encode())
            object.__setattr__(self, "_digest", digest.hexdigest())
        return self._digest  # type: ignore[return-value]

    @property
    def dimension_names(self) -> tuple[str, ...]:
        """The names used as extents, in order of appearance."""
        names = (extent for spec in self.inputs.values() for extent in spec.shape if isinstance(extent, str))
        return tuple(dict.fromkeys(names))


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_ITEMS = 256
"""Items of a list that are encoded at a time: an encoder of the standard library halts all other threads."""


def _json_pieces(document: Mapping[str, Any]) -> Iterator[str]:
    """Encode an object as JSON with sorted keys, piece by piece."""
    before = "{"
    for key in sorted(document):
        yield f"{before}{_CANONICAL.encode(key)}:"
        value = document[key]
        yield from _list_pieces(value) if isinstance(value, list) else (_CANONICAL.encode(value),)
        before = ","
    yield "}"


def _list_pieces(items: Sequence[Any]) -> Iterator[str]:
    yield "["
    for start in range(0, len(items), _ITEMS):
        yield ("," if start else "") + _CANONICAL.encode(items[start : start + _ITEMS])[1:-1]
    yield "]"


def tensor_to_json(array: Array) -> dict[str, Any]:
    """Write an array as {"dtype", "shape", "data"}, row-major."""
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": array.reshape(-1).tolist()}


def plain(value: Any) -> Any:
    """Write an attribute's value as JSON has it: tuples become lists."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def needed_names(nodes: Mapping[str, NodeSpec], references: Iterable[str]) -> set[str]:
    """Return the names of all nodes and leaves that values are computed from, themselves included."""
    found: set[str] = set()
    waiting = [_name(reference) for reference in references]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _operands(nodes[name]) if name in nodes else ()
    return found


def needed_inputs(definition: Definition, references: Iterable[str], *, training: bool = False) -> tuple[str, ...]:
    """Return the inputs that values depend on, in the order of the graph.

    Args:
        definition: the graph.
        references: names of outputs, losses, nodes or inputs.
        training: whether what a forward pass in training changes is wanted too: running statistics, limited rows.
    """
    nodes = {node.name: node for node in definition.nodes}
    found = needed_names(nodes, (*references, *(_updating(definition) if training else ())))
    return tuple(name for name in definition.inputs if name in found)


def without_inputs(definition: Definition, absent: Collection[str]) -> Definition:
    """Return the graph without some inputs, and without the nodes, outputs and losses that depend on them."""
    if not absent:
        return definition
    gone, nodes = set(absent), []
    for node in definition.nodes:
        if gone.isdisjoint(_operands(node)):
            nodes.append(node)
        else:
            gone.add(node.name)
    return replace(
        definition,
        inputs={name: spec for name, spec in definition.inputs.items() if name not in gone},
        nodes=tuple(nodes),
        outputs=tuple(output for output in definition.outputs if _name(output) not in gone),
        losses=tuple(loss for loss in definition.losses if _name(loss) not in gone),
    )


def _updating(definition: Definition) -> Iterator[str]:
    """Yield the nodes that change a buffer or a parameter when they are run in training."""
    states = {*definition.buffers, *definition.parameters}
    for node in definition.nodes:
        updates = lookup(node.op).memory.state_updates
        if any(place < len(node.inputs) and node.inputs[place] in states for place in updates):
            yield node.name


def _operands(node: NodeSpec) -> list[str]:
    return [_name(operand) for operand in node.inputs if isinstance(operand, str)]


def _name(reference: str) -> str:
    return reference.partition(":")[0]
