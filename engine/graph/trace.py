"""Trace: a definition as Values without data, at bound extents; the Values are those of the tape."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np

from engine.autograd.backward import SavedValues, check_saved, pull_back, reachable
from engine.autograd.reach import reached
from engine.core.dtypes import INT64, DType, computing_dtype, is_float
from engine.core.errors import REFUSALS, DocumentError, EngineError, Finding, nearest
from engine.core.modes import TraceBudget, charging, tracing
from engine.core.registry import lookup
from engine.core.value import Node, Shape, Spec, Value
from engine.graph.autocast import at_autocast, check_autocast
from engine.graph.definition import Definition, NodeSpec
from engine.graph.limits import LIMITS, GraphLimits
from engine.graph.origin import Origin
from engine.graph.rematerialization import Rematerializer, RematOptions, RematSegments
from engine.ops.elementwise.casting import cast
from engine.ops.random.random import fold_in
from engine.ops.shape.shape import reshape

KEY = ":key"
"""Name of the input that feeds the random key of a run, int64[2]; names in a graph never hold a colon."""
LONGEST_DETAIL = 1000
"""Limit of characters of an op's message, which may list extents that a client sent."""


@dataclass
class Trace:
    """A traced definition.

    Attributes:
        values: the outputs of each node, by name.
        buffer_updates: the new values of running statistics, in training.
        parameter_updates: parameters as the forward pass changes them before the optimizer step (limit_rows).
        key: the random key (int64[2]) of every random op.
        autocast: the half type of mixed precision.
        activation_dtype: the half type in which float32 activations are stored until the backward pass.
        segmentation: the segment of each node that the backward pass recomputes.
        starts: for each node of the definition, the number at which its nodes of the trace begin.
        end: the number at which those of the last one end.
        rules: the nodes in the order of their backward rules, each with the number at which its rule begins; None with
            the number at which a backward pass ends.
        budget: what the trace may still use.
        accepted_shapes: shapes of results that are within the limits.
        known_results: in a trace for shapes only, the outputs of calls by what tells them apart. Further calls that are
            equal are not traced: their results are leaves, no buffer is updated, and nothing is charged for them.
    """

    definition: Definition
    dims: Mapping[str, int]
    training: bool
    key: Value
    limits: GraphLimits = LIMITS
    inputs: dict[str, Value] = field(default_factory=dict)
    parameters: dict[str, Value] = field(default_factory=dict)
    buffers: dict[str, Value] = field(default_factory=dict)
    constants: dict[str, Value] = field(default_factory=dict)
    values: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    buffer_updates: dict[str, Value] = field(default_factory=dict)
    parameter_updates: dict[str, Value] = field(default_factory=dict)
    autocast: DType | None = None
    activation_dtype: DType | None = None
    segmentation: RematSegments | None = None
    starts: list[int] = field(default_factory=list)
    end: int = 0
    rules: list[tuple[int, Node | None]] = field(default_factory=list)
    budget: TraceBudget = field(init=False, repr=False)
    accepted_shapes: set[Shape] = field(init=False, default_factory=set, repr=False)
    known_results: dict[Hashable, tuple[Spec, ...]] | None = field(default=None, repr=False)
    _keys: Iterator[int] = field(default_factory=itertools.count, repr=False)

    def __post_init__(self) -> None:
        """Start with the full budget of the limits."""
        self.budget = TraceBudget(self.limits.operations, self.limits.node_operations, self.limits.table_bytes)

    def value(self, reference: str) -> Value:
        """Return the Value a reference (`name` or `name:k`) stands for."""
        outputs = self.values.get(reference)
        if outputs:
            return outputs[0]
        name, _, index = reference.partition(":")
        for table in (self.inputs, self.parameters, self.buffers, self.constants):
            if name in table:
                return table[name]
        return self.values[name][int(index or 0)]

    @property
    def outputs(self) -> dict[str, Value]:
        """The declared outputs by reference."""
        return {reference: self.value(reference) for reference in self.definition.outputs}

    @property
    def losses(self) -> dict[str, Value]:
        """The declared losses by reference, each a scalar; under autocast in float32."""
        with self.trace():
            return {reference: self._loss(self.value(reference)) for reference in self.definition.losses}

    def _loss(self, value: Value) -> Value:
        loss = _scalar(value)
        wide = loss.dtype if self.autocast is None else computing_dtype(loss.dtype)
        return loss if wide == loss.dtype else cast(loss, dtype=wide)

    def total_loss(self) -> Value:
        """The sum of the losses."""
        with self.trace():
            losses = list(self.losses.values())
            total = losses[0]
            for loss in losses[1:]:
                total = total + loss
            return total

    def gradients(self, loss: Value, wrt: Mapping[str, Value]) -> dict[str, Value | None]:
        """Append the backward graph of `loss`; None for what is frozen or where no path leads to the loss."""
        specs = self.definition.parameters
        moving = {name: value for name, value in wrt.items() if name not in specs or not specs[name].frozen}
        with self.trace():
            seed = Value((), loss.dtype, np.ones((), loss.dtype))
            nodes = reachable([loss])
            saved_values = _noting(self.rules, self._saved_values(nodes) or _own_values)
            found = dict(
                zip(moving, pull_back([loss], [seed], list(moving.values()), nodes, saved_values), strict=True)
            )
        self.rules.append((next(Node.numbers), None))
        return {name: found.get(name) for name in wrt}

    def reached_parameters(self, end: Value) -> tuple[str, ...]:
        """Return the parameters for which `gradients` of `end` has a value."""
        specs = self.definition.parameters
        moving = {name: value for name, value in self.parameters.items() if not specs[name].frozen}
        with self.trace():
            found = reached(end, list(moving.values()))
        return tuple(name for name, is_reached in zip(moving, found, strict=True) if is_reached)

    def origin_of(self, node: Node) -> Origin:
        """Return what a node of the trace belongs to.

        Nodes are numbered in order of creation: those of a node of the definition, or of a backward rule, are a range.
        """
        place = bisect_right(self.rules, node.seq, key=itemgetter(0))
        source = self.rules[place - 1][1] if place else node
        if source is None:
            return Origin("", "update")
        return Origin(self._definition_node(source), "backward" if place else "forward")

    def _definition_node(self, node: Node) -> str:
        place = bisect_right(self.starts, node.seq)
        return self.definition.nodes[place - 1].name if place and node.seq < self.end else ""

    def _saved_values(self, nodes: Sequence[Node]) -> SavedValues | None:
        """Return what backward rules read in place of values that the forward pass of `nodes` does not keep."""
        if self.autocast is None and self.segmentation is None and self.activation_dtype is None:
            return None
        return Rematerializer(
            nodes, self.segmentation.of if self.segmentation else lambda _: None, self.activation_dtype
        ).saved_values

    def trace(self) -> Any:
        """Return a context in which operations join this graph."""
        return tracing(lambda: fold_in(self.key, next(self._keys)))


def _own_values(node: Node, _cotangent: Value) -> tuple[Sequence[Value], Sequence[Value]]:
    return check_saved(node)


def _noting(rules: list[tuple[int, Node | None]], saved_values: SavedValues) -> SavedValues:
    def read(node: Node, cotangent: Value) -> tuple[Sequence[Value], Sequence[Value]]:
        rules.append((next(Node.numbers), node))
        return saved_values(node, cotangent)

    return read


def _scalar(value: Value) -> Value:
    return reshape(value, shape=()) if value.shape else value


def build(
    definition: Definition,
    dims: Mapping[str, int],
    *,
    training: bool,
    parameters: Mapping[str, Value] | None = None,
    buffers: Mapping[str, Value] | None = None,
    limits: GraphLimits = LIMITS,
    autocast: DType | None = None,
    recompute: RematOptions | None = None,
    activation_dtype: DType | None = None,
    shapes_only: bool = False,
) -> Trace:
    """Trace `definition` with its named extents bound to `dims`.

    Args:
        definition: the graph as data.
        dims: a number for every named extent.
        training: whether dropout drops and batch norm uses and updates batch statistics.
        parameters: Values to use instead of new leaves, for parameters stored in one flat vector.
        buffers: likewise for buffers.
        limits: sizes that are refused.
        autocast: float16 or bfloat16 for mixed precision (see engine.graph.autocast), on a float32 definition.
        recompute: which parts the backward pass computes again; the pointers of its faults begin at these options.
        activation_dtype: float16 or bfloat16, in which saved float32 activations are stored until the backward pass.
        shapes_only: whether only shapes and dtypes of results are needed (see `Trace.known_results`).

    Raises:
        DocumentError: with the first fault, its pointer and what to change.
    """
    if autocast is not None:
        check_autocast(definition, autocast)
    graph = Trace(
        definition,
        dict(dims),
        training,
        Value((2,), INT64, None, name="key"),
        limits,
        autocast=autocast,
        activation_dtype=activation_dtype,
        known_results={} if shapes_only else None,
    )
    for name, spec in definition.inputs.items():
        shape = tuple(dims[extent] if isinstance(extent, str) else extent for extent in spec.shape)
        limits.check_shape(f"/inputs/{name}/shape", f"input {name!r}", shape)
        graph.inputs[name] = Value(shape, spec.dtype, None, name=name)
    for name, state in definition.parameters.items():
        leaf = Value(state.shape, state.dtype, None, name=name, requires_grad=not state.frozen)
        graph.parameters[name] = (parameters or {}).get(name, leaf)
    for name, state in definition.buffers.items():
        graph.buffers[name] = (buffers or {}).get(name, Value(state.shape, state.dtype, None, name=name))
    for name, array in definition.constants.items():
        graph.constants[name] = Value(array.shape, array.dtype, array, name=name)
    with graph.trace(), charging(graph.budget):
        for node in definition.nodes:
            graph.starts.append(next(Node.numbers))
            graph.values[node.name] = _apply_node(graph, node)
    graph.end = next(Node.numbers)
    if recompute is not None:
        starts = [*graph.starts, graph.end]
        made = reachable([output for outputs in graph.values.values() for output in outputs])
        graph.segmentation = recompute.cut([node.name for node in definition.nodes], made, starts)
    return graph


def apply_node(graph: Trace, node: NodeSpec) -> tuple[Value, ...]:
    """Apply one node to the values already in `graph` and return its outputs; called while tracing."""
    with charging(graph.budget):
        return _apply_node(graph, node)


def _apply_node(graph: Trace, node: NodeSpec) -> tuple[Value, ...]:
    """Apply one node; called while its operations are charged to the budget of the graph."""
    try:
        op = lookup(node.op)
    except EngineError as error:
        raise _fault(node, "/op", error) from error
    known, attrs = graph.values, node.attrs
    operands = [
        outputs[0] if (outputs := known.get(reference)) else _operand(graph, node, index)  # type: ignore[arg-type]
        for index, reference in enumerate(node.inputs)
    ]
    if "training" in op.attributes and attrs.get("training") is None:
        attrs = {**attrs, "training": graph.training}
    call = None if graph.known_results is None else _call_key(op.name, operands, attrs)
    if call is not None and (known_specs := graph.known_results.get(call)):  # type: ignore[union-attr]
        return tuple([Value(shape, dtype, None) for shape, dtype in known_specs])
    graph.budget.begin_node()
    try:
        made = op(*(operands if graph.autocast is None else at_autocast(op, operands, graph.autocast)), **attrs)
    except EngineError as error:
        raise _fault(node, "", error) from error
    except REFUSALS as error:
        raise _fault(
            node, "", EngineError(f"{op.name} does not accept these inputs ({type(error).__name__})")
        ) from error
    made = made if isinstance(made, tuple) else (made,)
    for output in made:
        if output.shape not in graph.accepted_shapes:
            graph.limits.check_shape(node.pointer, node.place + f"node {node.name!r}", output.shape)
            graph.accepted_shapes.add(output.shape)
    if graph.training and op.memory.state_updates:
        _note_updates(graph, node, op.memory.state_updates, made)
    if call is not None:
        graph.known_results[call] = tuple([output.spec for output in made])  # type: ignore[index]
    return made


def _call_key(op: str, operands: Sequence[Value | float], attrs: Mapping[str, Any]) -> Hashable:
    """Return what is equal for calls whose results have equal shapes and dtypes."""
    inputs = tuple(
        [
            (v.shape, v.dtype, v.weak, None if v.data is None else v.key) if isinstance(v, Value) else (type(v), v)
            for v in operands
        ]
    )
    return op, inputs, repr(attrs)


def _note_updates(graph: Trace, node: NodeSpec, updates: Mapping[int, int], outputs: Sequence[Value]) -> None:
    """Note which outputs of a node are new values of buffers and parameters: by the places of inputs, `updates`."""
    for input_index, output_index in updates.items():
        reference = node.inputs[input_index] if input_index < len(node.inputs) else None
        if isinstance(reference, str) and reference in graph.buffers:
            graph.buffer_updates[reference] = outputs[output_index]
        elif isinstance(reference, str) and reference in graph.parameters:
            graph.parameter_updates[reference] = outputs[output_index]


def _operand(graph: Trace, node: NodeSpec, index: int) -> Value | float:
    reference = node.inputs[index]
    if not isinstance(reference, str):
        return reference
    name, colon, output = reference.partition(":")
    outputs = graph.values.get(name)
    if outputs is None:
        leaf = next(
            (t[name] for t in (graph.inputs, graph.parameters, graph.buffers, graph.constants) if name in t), None
        )
        if leaf is None:
            known = [*graph.inputs, *graph.parameters, *graph.buffers, *graph.constants, *graph.values]
            detail = f"nothing before this node is called {name[:64]!r}{nearest(name, known)}"
            raise _input_fault(node, index, "unknown_name", detail)
        outputs = (leaf,)
    position = output_index(output) if colon else 0
    if not 0 <= position < len(outputs):
        detail = f"{reference[:80]!r}: {name!r} has outputs 0 to {len(outputs) - 1}"
        raise _input_fault(node, index, "unknown_output", detail)
    return outputs[position]


def output_index(text: str) -> int:
    """Read the k of a reference `node:k`; -1 when it is no number that could be one."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else -1


def _input_fault(node: NodeSpec, index: int, code: str, detail: str) -> DocumentError:
    pointer = f"{node.pointer}/inputs/{index}" if node.pointer.startswith("/nodes/") else node.pointer
    return DocumentError([Finding(pointer, code, node.place + detail, "error", *node.at)])


def _fault(node: NodeSpec, suffix: str, error: EngineError) -> DocumentError:
    below = suffix or (f"/attrs{error.place}" if error.place else "")
    pointer = node.pointer + below if node.pointer.startswith("/nodes/") else node.pointer
    return DocumentError([Finding(pointer, error.code, f"{node.place}{error}"[:LONGEST_DETAIL], "error", *node.at)])


def check_loss(value: Value) -> str | None:
    """Return why `value` cannot be a loss, or None."""
    if not is_float(value.dtype):
        return f"a loss must be floating, this is {value.dtype.name}"
    if value.size != 1:
        return f"a loss must have exactly one element, this has shape {list(value.shape)}: take its mean or sum"
    return None


def bind_dims(definition: Definition, shapes: Mapping[str, Shape]) -> dict[str, int]:
    """Match the shapes of actual inputs with the declared ones and return the named extents.

    Raises:
        DocumentError: a rank or extent that does not fit, with a pointer to the input.
    """
    dims: dict[str, int] = {}
    findings = []
    for name, shape in shapes.items():
        declared = definition.inputs[name].shape
        if len(shape) != len(declared):
            detail = f"input {name!r} has shape {list(shape)}, but {list(declared)} is declared"
            findings.append(Finding(f"/inputs/{name}", "shape_mismatch", detail))
            continue
        for extent, actual in zip(declared, shape, strict=True):
            wanted = dims.setdefault(extent, actual) if isinstance(extent, str) else extent
            if wanted != actual:
                detail = f"input {name!r} has shape {list(shape)}, but {list(declared)} needs {extent} = {wanted}"
                findings.append(Finding(f"/inputs/{name}", "shape_mismatch", detail))
                break
    if findings:
        raise DocumentError(findings)
    return dims
