"""Layers of equal kind, attributes and input: the first is traced, the others are copied under names of their own.

Models repeat their blocks, and a layer is copied in a fraction of the time in which it is traced.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engine.core.modes import MODES, charging
from engine.core.value import Node, Spec, Value
from engine.graph.definition import NodeSpec, StateSpec
from engine.graph.layer_scope import LayerScope
from engine.nn.layers import find_layer


class LayerExpander:
    """Adds layers to one trace.

    A layer depends on its attributes, and on shape and dtype of its input. One that reads another input of the model is
    traced each time.
    """

    def __init__(self) -> None:
        """Know no layer yet."""
        self._traced: dict[Hashable, _TracedLayer] = {}

    def add(self, scope: LayerScope, x: Value, kind: str, attrs: dict[str, Any], call: Hashable) -> Value:
        """Add a layer to the draft of `scope` and return its output; `call` stands for equal kinds and attributes.

        EngineError if the layer does not fit its input.
        """
        call = (call, x.shape, x.dtype, x.weak, x.tracked)
        traced = self._traced.get(call)
        if traced is not None:
            return traced.template.add(scope, x)
        reference, budget = scope.draft.references[x.key], scope.graph.budget
        left = budget.table_bytes
        output = find_layer(kind)(scope, x, **attrs)
        if scope.alone:
            self._traced[call] = _TracedLayer(kind, scope, x, reference, output, left - budget.table_bytes)
        return output


@dataclass(frozen=True)
class _TracedLayer:
    """A layer that was traced.

    Attributes:
        kind: its kind.
        scope: the scope that it was added to.
        x: its input.
        reference: the reference that the input had.
        output: its output.
        table_bytes: what the budget was charged for tables.
    """

    kind: str
    scope: LayerScope
    x: Value
    reference: str
    output: Value
    table_bytes: int

    @cached_property
    def template(self) -> _Template:
        """How to add equal ones."""
        return _Template(self)


@dataclass(frozen=True, slots=True)
class _Operation:
    """One operation of a trace: the slots of its inputs, or constants.

    Without a node it is an output of which only the spec is known; a key is the next one for random numbers.
    """

    node: Node | None
    inputs: tuple[int | Value, ...]
    outputs: tuple[Spec, ...]
    is_key: bool = False


@dataclass(frozen=True, slots=True)
class _NodeTemplate:
    """A node of the definition.

    Attributes:
        suffix: what follows the name of the layer in its name.
        op: name of its op.
        inputs: numbers, what follows the name of the layer in references, and None for the input of the layer.
        attrs: its attributes.
        operations: what it is in the trace.
        outputs: the slots of its outputs.
    """

    suffix: str
    op: str
    inputs: tuple[str | float | None, ...]
    attrs: Any
    operations: Sequence[_Operation]
    outputs: tuple[int | Value, ...]


class _Template:
    """A layer whose values are numbered slots: its input, its parameters and buffers, and outputs of operations."""

    def __init__(self, traced: _TracedLayer) -> None:
        scope = traced.scope
        # Not `traced`, which keeps the template: a cycle would keep the whole trace until a garbage collection.
        self._kind, self._table_bytes = traced.kind, traced.table_bytes
        self._name, self._reference, self._graph = scope.name, traced.reference, scope.graph
        self._slots: dict[object, int] = {traced.x.key: 0}
        self._states: list[tuple[str, bool, StateSpec]] = []
        for name, trained in scope.states:
            draft, graph = scope.draft, scope.graph
            specs, values = (draft.parameters, graph.parameters) if trained else (draft.buffers, graph.buffers)
            self._slots[values[name].key] = 1 + len(self._states)
            self._states.append((self._suffix(name), trained, specs[name]))
        self._count = 1 + len(self._states)
        self._nodes = [self._node_template(node) for node in scope.nodes]
        self._updates = [
            (updates, self._suffix(name), self._slot(updates[name]))
            for updates in (scope.graph.buffer_updates, scope.graph.parameter_updates)
            for name, _ in scope.states
            if name in updates
        ]
        self._output = self._slot(traced.output)

    def add(self, scope: LayerScope, x: Value) -> Value:
        """Add the layer to the draft of `scope`, with another input; return its output."""
        reference, name, budget = scope.draft.references[x.key], scope.name, self._graph.budget
        if self._graph.known_results is None:
            budget.charge_table(self._kind, self._table_bytes)
        values = [x]
        for suffix, trained, state in self._states:
            values.append(scope.add_state(name + suffix, state, trained=trained))
        for node in self._nodes:
            inputs = tuple(
                [reference if of is None else name + of if isinstance(of, str) else of for of in node.inputs]
            )
            copy = NodeSpec(name + node.suffix, node.op, inputs, node.attrs, scope.pointer, scope.place)
            scope.begin_node(copy.name)
            budget.begin_node()
            for operation in node.operations:
                values += self._trace(operation, values)
            scope.add_node(copy, tuple([_at(slot, values) for slot in node.outputs]))
        for updates, suffix, slot in self._updates:
            updates[name + suffix] = _at(slot, values)
        return _at(self._output, values)

    def _trace(self, operation: _Operation, values: list[Value]) -> list[Value]:
        """Add an operation to the trace; return its outputs."""
        if operation.is_key:
            with charging(self._graph.budget):
                return [MODES.next_key()]  # type: ignore[misc]
        like = operation.node
        if like is None:
            return [Value(shape, dtype, None) for shape, dtype in operation.outputs]
        self._graph.budget.charge_operation()
        inputs = tuple([_at(slot, values) for slot in operation.inputs])
        node = Node(like.op, inputs, like.attrs, like.outputs, None, like.needs_grad)
        node.tape = like.tape
        return [node.output(index) for index in range(len(node.outputs))]

    def _suffix(self, name: str) -> str:
        return name[len(self._name) :]

    def _node_template(self, node: NodeSpec) -> _NodeTemplate:
        operations: list[_Operation] = []
        for value in self._graph.values[node.name]:
            self._find_operations(value, operations)
        inputs = tuple(
            None if of == self._reference else self._suffix(of) if isinstance(of, str) else of for of in node.inputs
        )
        outputs = tuple(self._slot(value) for value in self._graph.values[node.name])
        return _NodeTemplate(self._suffix(node.name), node.op, inputs, node.attrs, operations, outputs)

    def _slot(self, value: Value) -> int | Value:
        """Return the slot of a value; a constant is itself."""
        return self._slots.get(value.key, value)

    def _find_operations(self, end: Value, found: list[_Operation]) -> None:
        """Add the operations that a value of the layer is made by, each after those of its inputs."""
        waiting = [end]
        while waiting:
            value = waiting[-1]
            node = value.node
            known = value.key in self._slots or (node is None and value.data is not None)
            before = [] if known or node is None or self._is_key(node) else self._unknown(node)
            waiting += before
            if before:
                continue
            waiting.pop()
            if known:
                continue
            if node is None:
                found.append(_Operation(None, (), (value.spec,)))
                self._slots[value.key] = self._count
            else:
                inputs = () if self._is_key(node) else tuple(self._slot(v) for v in node.inputs)
                found.append(_Operation(node, inputs, node.outputs, self._is_key(node)))
                self._slots.update({(node, index): self._count + index for index in range(len(node.outputs))})
            self._count += len(found[-1].outputs)

    def _unknown(self, node: Node) -> list[Value]:
        return [v for v in node.inputs if v.node is not None and v.key not in self._slots]

    def _is_key(self, node: Node) -> bool:
        return bool(node.inputs) and node.inputs[0] is self._graph.key


def _at(slot: int | Value, values: Sequence[Value]) -> Value:
    return values[slot] if isinstance(slot, int) else slot
