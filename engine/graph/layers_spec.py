"""The `layers` form of a graph: a list of layers, applied to the first input, expanded to nodes and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.core.dtypes import dtype_of
from engine.core.errors import DocumentError, EngineError, Finding, nearest
from engine.core.options import Reader
from engine.core.registry import lookup
from engine.core.value import Array, Node, Shape, Value
from engine.graph.definition import Definition, NodeSpec, StateSpec, plain
from engine.graph.limits import LIMITS, GraphLimits
from engine.graph.loss_spec import append_loss
from engine.graph.shape_inference import InferredShapes, choose_trial_dims, trial_note
from engine.graph.trace import Trace, apply_node, build
from engine.nn.initializers import resolve
from engine.nn.layers import find_layer
from engine.nn.layers.containers import read_layer


def expand_layers(layers: Any, loss: Any, draft: Definition, limits: GraphLimits = LIMITS) -> InferredShapes:
    """Trace the nodes, parameters and buffers of the layers, and the loss if one is given.

    The definition of the first trace is `draft` with all of them.

    Raises:
        DocumentError: with the pointer of the layer at fault.
    """
    reader = Reader()
    listed = reader.sequence(layers, "/layers")
    LIMITS.check_count("/layers", "layers", len(listed), LIMITS.nodes)
    entries = [read_layer(entry, f"/layers/{index}", reader) for index, entry in enumerate(listed)]
    if not entries:
        reader.fault("/layers", "empty", "give at least one layer")
    if not draft.inputs:
        reader.fault("/inputs", "empty", "give at least one input: the first flows through the layers")
    reader.finish()
    fault: DocumentError | None = None
    expanded: list[Trace] = []
    for dims in choose_trial_dims(draft):
        try:
            leaves = build(draft, dims, training=True, limits=limits, shapes_only=bool(expanded))
            expanded.append(_expand(entries, loss, leaves))
        except DocumentError as error:
            fault = fault or DocumentError([_noting_trial(finding, dims) for finding in error.findings])
        if len(expanded) == 2:
            break
    if not expanded:
        assert fault is not None
        raise fault
    first, second = expanded[0], expanded[1] if len(expanded) == 2 else None
    if second is not None and first.definition != second.definition:
        raise DocumentError([_dependent(first.definition, second.definition)])
    return InferredShapes(first, second)


def _noting_trial(finding: Finding, dims: Mapping[str, int]) -> Finding:
    """Return a finding about shapes with the numbers that stand for named extents in them."""
    if finding.code != "shape_mismatch":
        return finding
    return replace(finding, detail=finding.detail + trial_note(dims))


def _dependent(first: Definition, second: Definition) -> Finding:
    """Return the difference between the layers at two extents."""
    what = "an attribute of a node"
    for kind, ones, others in (
        ("parameter", first.parameters, second.parameters),
        ("buffer", first.buffers, second.buffers),
    ):
        name = next((name for name, spec in ones.items() if spec != others.get(name)), None)
        if name is not None:
            what = f"the shape of the {kind} {name!r}"
            break
    else:
        pairs = zip(first.nodes, second.nodes, strict=False)
        name = next((one.name for one, other in pairs if one != other), None)
        what = what if name is None else f"an attribute of the node {name!r}"
    detail = f"{what} would depend on an extent that is only a name; give that extent a number"
    return Finding("/inputs", "shape_invalid", detail)


class _LayerScope:
    """The Scope of one layer: collects nodes and states, and traces them at trial extents."""

    def __init__(self, name: str, pointer: str, graph: Trace, draft: _Draft) -> None:
        self.name = name
        self.pointer = pointer
        self.graph = graph
        self.draft = draft

    def input(self, name: str) -> Value:
        inputs = self.graph.inputs
        if name not in inputs:
            detail = f"there is no input called {name[:64]!r}{nearest(name, inputs)}"
            raise DocumentError([Finding(self.pointer, "unknown_name", detail)])
        return self.draft.replaced.get(name, inputs[name])

    def replace_input(self, name: str, value: Value) -> None:
        self.draft.replaced[name] = value

    def parameter(self, name: str, shape: Shape, **init: Any) -> Value:
        if (kind := repr(init)) not in self.draft.checked:
            resolve(init)
            self.draft.checked.add(kind)
        return self._state(
            self.draft.parameters, self.graph.parameters, name, StateSpec(shape, dtype_of("float32"), init)
        )

    def buffer(self, name: str, shape: Shape, *, kind: str = "zeros", dtype: str = "float32") -> Value:
        spec = StateSpec(shape, dtype_of(dtype), {"kind": kind})
        return self._state(self.draft.buffers, self.graph.buffers, name, spec)

    def _state(self, specs: dict[str, StateSpec], values: dict[str, Value], name: str, spec: StateSpec) -> Value:
        full = f"{self.name}.{name}"
        self.draft.take(full, self.pointer)
        LIMITS.check_shape(self.pointer, f"the parameter {full!r}", spec.shape)
        specs[full] = spec
        values[full] = Value(spec.shape, spec.dtype, None, name=full, requires_grad=specs is self.draft.parameters)
        self.draft.references[values[full].key] = full
        self.draft.keep.append(values[full])
        return values[full]

    def apply(self, op: str, *inputs: Value | float, name: str = "", **attrs: Any) -> Value:
        return self.apply_all(op, *inputs, name=name, **attrs)[0]

    def apply_all(self, op: str, *inputs: Value | float, name: str = "", **attrs: Any) -> tuple[Value, ...]:
        full = f"{self.name}.{name}" if name else self.name
        self.draft.take(full, self.pointer)
        found = lookup(op)
        defaults = {key: attribute.default for key, attribute in found.attributes.items()} if attrs else {}
        given = {key: plain(value) for key, value in attrs.items() if value != defaults.get(key)}
        references = tuple(self.draft.references[v.key] if isinstance(v, Value) else v for v in inputs)
        node = NodeSpec(full, found.name, references, given, self.pointer, f"layer {self.name!r}: ")
        self.graph.starts.append(next(Node.numbers))
        outputs = apply_node(self.graph, node)
        self.draft.nodes.append(node)
        self.graph.values[full] = outputs
        for number, output in enumerate(outputs):
            self.draft.references.setdefault(output.key, f"{full}:{number}" if number else full)
        self.draft.references[outputs[0].key] = full
        self.draft.keep.extend(outputs)
        return outputs


class _LossScope(_LayerScope):
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
        self.draft.keep.append(value)
        return value


class _Draft:
    """What the layers have declared so far."""

    def __init__(self, graph: Trace) -> None:
        self.parameters: dict[str, StateSpec] = dict(graph.definition.parameters)
        self.buffers: dict[str, StateSpec] = dict(graph.definition.buffers)
        self.constants: dict[str, Array] = dict(graph.definition.constants)
        self.nodes: list[NodeSpec] = []
        self.replaced: dict[str, Value] = {}
        self.keep: list[Value] = []  # keys hold while their values live
        self.references: dict[object, str] = {}
        self.taken: set[str] = set()
        self.checked: set[str] = set()  # initialisers
        for table in (graph.inputs, graph.parameters, graph.buffers, graph.constants):
            for name, value in table.items():
                self.references[value.key] = name
                self.taken.add(name)

    def take(self, name: str, pointer: str) -> None:
        if name in self.taken:
            raise DocumentError([Finding(f"{pointer}/name", "name_taken", f"the name {name!r} is already taken")])
        if len(name) > LIMITS.name_bytes:
            detail = f"{name[:40]!r}... is longer than {LIMITS.name_bytes} characters; give the layer a shorter name"
            raise DocumentError([Finding(f"{pointer}/name", "name_invalid", detail)])
        self.taken.add(name)


def _expand(entries: list[tuple[str, str, dict[str, Any]]], loss: Any, graph: Trace) -> Trace:
    """Add layers and a loss to the trace of a definition without nodes, and to the definition; return the trace."""
    parts = _Draft(graph)
    x = next(iter(graph.inputs.values()))
    counts: dict[str, int] = {}
    with graph.trace():
        for index, (kind, given_name, attrs) in enumerate(entries):
            number = counts.get(kind, 0)
            counts[kind] = number + 1
            scope = _LayerScope(given_name or f"{kind}_{number}", f"/layers/{index}", graph, parts)
            try:
                x = find_layer(kind)(scope, x, **attrs)
            except DocumentError:
                raise
            except EngineError as error:
                raise DocumentError([Finding(f"/layers/{index}", error.code, str(error))]) from error
        output = parts.references[x.key]
        losses: tuple[str, ...] = ()
        outputs: tuple[str, ...] = (output,)
        if loss is not None:
            more = append_loss(loss, x, _LossScope("loss", "/loss", graph, parts))
            losses, outputs = ("loss",), (output, *(parts.references[value.key] for value in more))
    graph.end = next(Node.numbers)
    graph.definition = replace(
        graph.definition,
        parameters=parts.parameters,
        buffers=parts.buffers,
        constants=parts.constants,
        nodes=tuple(parts.nodes),
        outputs=outputs,
        losses=losses,
    )
    return graph
