"""Where a layer adds its nodes, parameters and buffers: a scope of its own in the draft of the whole graph."""

from __future__ import annotations

from typing import Any

from engine.core.dtypes import dtype_of
from engine.core.errors import DocumentError, Finding, nearest
from engine.core.registry import lookup
from engine.core.value import Array, Node, Shape, Value
from engine.graph.definition import NodeSpec, StateSpec, plain
from engine.graph.limits import LIMITS
from engine.graph.trace import Trace, apply_node
from engine.nn.initializers import resolve


class Draft:
    """What the layers have declared so far."""

    def __init__(self, graph: Trace) -> None:
        """Start with the leaves of a definition without nodes, whose trace is `graph`."""
        self.graph = graph
        self.parameters: dict[str, StateSpec] = dict(graph.definition.parameters)
        self.buffers: dict[str, StateSpec] = dict(graph.definition.buffers)
        self.constants: dict[str, Array] = dict(graph.definition.constants)
        self.nodes: list[NodeSpec] = []
        self.replaced: dict[str, Value] = {}
        self.references: dict[object, str] = {}  # by the keys of values, which the graph keeps
        self.taken: set[str] = set()
        self.checked: set[str] = set()  # initialisers
        for table in (graph.inputs, graph.parameters, graph.buffers, graph.constants):
            for name, value in table.items():
                self.references[value.key] = name
                self.taken.add(name)

    def take(self, name: str, pointer: str) -> None:
        """Raise DocumentError if the name, which is given at `pointer`, is too long or taken."""
        if name in self.taken:
            raise DocumentError([Finding(f"{pointer}/name", "name_taken", f"the name {name!r} is already taken")])
        if len(name) > LIMITS.name_bytes:
            detail = f"{name[:40]!r}... is longer than {LIMITS.name_bytes} characters; give the layer a shorter name"
            raise DocumentError([Finding(f"{pointer}/name", "name_invalid", detail)])
        self.taken.add(name)


class LayerScope:
    """The Scope of one layer: collects nodes and states, and traces them at trial extents.

    Attributes:
        nodes: the nodes that the layer has added.
        states: the names of its parameters and buffers, with whether it is a parameter.
        alone: whether it has read and replaced no input of the model but its own.
    """

    def __init__(self, name: str, pointer: str, draft: Draft) -> None:
        """Add to `draft` under the layer's name; `pointer` is where the layer is in the document."""
        self.name = name
        self.pointer = pointer
        self.place = f"layer {name!r}: "
        self.graph = draft.graph
        self.draft = draft
        self.nodes: list[NodeSpec] = []
        self.states: list[tuple[str, bool]] = []
        self.alone = True

    def input(self, name: str) -> Value:
        self.alone = False
        inputs = self.graph.inputs
        if name not in inputs:
            detail = f"there is no input called {name[:64]!r}{nearest(name, inputs)}"
            raise DocumentError([Finding(self.pointer, "unknown_name", detail)])
        return self.draft.replaced.get(name, inputs[name])

    def replace_input(self, name: str, value: Value) -> None:
        self.alone = False
        self.draft.replaced[name] = value

    def parameter(self, name: str, shape: Shape, **init: Any) -> Value:
        if (kind := repr(init)) not in self.draft.checked:
            resolve(init)
            self.draft.checked.add(kind)
        return self._declare(name, StateSpec(shape, dtype_of("float32"), init), trained=True)

    def buffer(self, name: str, shape: Shape, *, kind: str = "zeros", dtype: str = "float32") -> Value:
        return self._declare(name, StateSpec(shape, dtype_of(dtype), {"kind": kind}), trained=False)

    def apply(self, op: str, *inputs: Value | float, name: str = "", **attrs: Any) -> Value:
        return self.apply_all(op, *inputs, name=name, **attrs)[0]

    def apply_all(self, op: str, *inputs: Value | float, name: str = "", **attrs: Any) -> tuple[Value, ...]:
        full = f"{self.name}.{name}" if name else self.name
        found = lookup(op)
        defaults = {key: attribute.default for key, attribute in found.attributes.items()} if attrs else {}
        given = {key: plain(value) for key, value in attrs.items() if value != defaults.get(key)}
        references = tuple(self.draft.references[v.key] if isinstance(v, Value) else v for v in inputs)
        node = NodeSpec(full, found.name, references, given, self.pointer, self.place)
        self.begin_node(full)
        return self.add_node(node, apply_node(self.graph, node))

    def _declare(self, name: str, spec: StateSpec, *, trained: bool) -> Value:
        full = f"{self.name}.{name}"
        LIMITS.check_shape(self.pointer, f"the parameter {full!r}", spec.shape)
        return self.add_state(full, spec, trained=trained)

    def add_state(self, name: str, spec: StateSpec, *, trained: bool) -> Value:
        """Add a parameter, or a buffer, of an accepted shape, under its whole name."""
        draft, graph = self.draft, self.graph
        draft.take(name, self.pointer)
        specs, values = (draft.parameters, graph.parameters) if trained else (draft.buffers, graph.buffers)
        specs[name] = spec
        value = values[name] = Value(spec.shape, spec.dtype, None, name=name, requires_grad=trained)
        draft.references[value.key] = name
        self.states.append((name, trained))
        return value

    def begin_node(self, name: str) -> None:
        """Take the name of a node; what is traced from here on belongs to it."""
        self.draft.take(name, self.pointer)
        self.graph.starts.append(next(Node.numbers))

    def add_node(self, node: NodeSpec, outputs: tuple[Value, ...]) -> tuple[Value, ...]:
        """Add a node, begun before, with the outputs that it has in the trace; return these."""
        references = self.draft.references
        self.draft.nodes.append(node)
        self.nodes.append(node)
        self.graph.values[node.name] = outputs
        for number, output in enumerate(outputs):
            references.setdefault(output.key, f"{node.name}:{number}" if number else node.name)
        references[outputs[0].key] = node.name
        return outputs


class LossScope(LayerScope):
    """The place of the loss: it may take any value of the graph by its name, and declare constants."""

    def others(self) -> tuple[str, ...]:
        return tuple(self.graph.inputs)[1:]

    def unused(self) -> tuple[str, ...]:
        taken = {reference for node in self.draft.nodes for reference in node.inputs}
        return tuple(name for name in self.others() if name not in taken)

    def find(self, name: str) -> Value | None:
        graph = self.graph
        for table in (self.draft.replaced, graph.inputs, graph.parameters, graph.buffers, graph.constants):
            if name in table:
                return table[name]
        return graph.values[name][0] if name in graph.values else None

    def shape_of(self, value: Value) -> list[int | str]:
        """Return the shape of a value; an extent that is a trial number of a name is that name."""
        names = {extent: name for name, extent in self.graph.dims.items()}
        return [names.get(extent, extent) for extent in value.shape]

    def constant(self, name: str, array: Array) -> Value:
        full = f"{self.name}.{name}"
        self.draft.take(full, self.pointer)
        self.draft.constants[full] = array
        value = self.graph.constants[full] = Value(array.shape, array.dtype, array, name=full)
        self.draft.references[value.key] = full
        return value
