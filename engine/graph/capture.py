"""Capture of Python functions as graphs, and graphs as functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from engine.core.dtypes import INT64
from engine.core.errors import AttributeValueError, EngineError, GradientError, ShapeError
from engine.core.modes import recording_calls, tracing
from engine.core.registry import Op
from engine.core.value import Operand, Shape, Value, as_value
from engine.graph.codec import parse_graph, read_leaves
from engine.graph.definition import Definition, plain, tensor_to_json
from engine.graph.limits import LIMITS
from engine.graph.shape_inference import choose_trial_dims
from engine.graph.trace import Trace, apply_node, bind_dims
from engine.ops.random.random import fold_in

Reference = str | float | int | bool


def capture(
    function: Callable[..., Any],
    inputs: Mapping[str, Any],
    parameters: Mapping[str, Any] | None = None,
    *,
    name: str = "captured",
) -> Definition:
    """Call `function` on values without data, by keyword, and return what it computes as a graph.

    Every op that the function calls becomes a node, with the attributes it is called with.

    Args:
        function: takes one Value for each input and parameter by its name; returns a Value, a tuple of them, or a dict
            of them by name. What it returns as "loss" is the loss.
        inputs: for each input its shape, in which extents may be names, or {"shape", "dtype"}, as in a graph document.
        parameters: for each parameter its shape, or {"shape", "dtype", "init", "frozen"}.
        name: of the graph.

    Raises:
        DocumentError: leaves that are none, or a graph that is refused.
        AttributeValueError: an attribute that changes with an extent that has a name.
        GradientError: a value that requires a gradient but is no parameter.
    """
    leaves = {"name": name, "inputs": dict(inputs), "parameters": dict(parameters or {})}
    draft = read_leaves(leaves, LIMITS)
    recordings = [_record(function, draft, dims) for dims in _two_trials(draft)]
    first = recordings[0]
    for other in recordings[1:]:
        _compare(first, other)
    return parse_graph({**leaves, "constants": first.constants, "nodes": first.nodes, **first.results})


def graph_function(definition: Definition, *, training: bool = False) -> Callable[..., Any]:
    """Return the graph as a function of Values, to be called, differentiated and batched like any other.

    It takes inputs, parameters and buffers in their order, by position or by name, and returns the outputs: one Value,
    or a tuple. Running statistics are used, not changed.
    """
    names = (*definition.inputs, *definition.parameters, *definition.buffers)

    def function(*operands: Operand, **named: Operand) -> Any:
        values = _match_names(definition.name, names, operands, named)
        dims = bind_dims(definition, {key: values[key].shape for key in definition.inputs})
        trace = Trace(definition, dims, training, Value((2,), INT64, None, name="key"))
        for table, leaves in (("inputs", trace.inputs), ("parameters", trace.parameters), ("buffers", trace.buffers)):
            for key, spec in getattr(definition, table).items():
                if table != "inputs" and values[key].shape != spec.shape:
                    raise ShapeError(f"{key!r} has shape {list(values[key].shape)}, the graph has {list(spec.shape)}")
                leaves[key] = values[key]
        trace.constants = {key: Value(a.shape, a.dtype, a, name=key) for key, a in definition.constants.items()}
        for node in definition.nodes:
            trace.values[node.name] = apply_node(trace, node)
        outputs = tuple(trace.outputs.values())
        return outputs[0] if len(outputs) == 1 else outputs

    return function


class _Recording:
    """The calls of a function as the nodes of a graph document."""

    def __init__(self, draft: Definition) -> None:
        self.names: dict[object, str] = {}
        self.kept: list[Value] = []  # a leaf's key is valid while it lives
        self.taken = {*draft.inputs, *draft.parameters}
        self.nodes: list[dict[str, Any]] = []
        self.constants: dict[str, Any] = {}
        self.results: dict[str, list[str]] = {}

    def leaf(self, name: str, value: Value) -> Value:
        self.names[value.key] = name
        self.kept.append(value)
        return value

    def __call__(self, op: Op[Any], operands: Sequence[Any], attrs: Mapping[str, Any], made: Any) -> None:
        name = self._free(op.name)
        document: dict[str, Any] = {"name": name, "op": op.name, "inputs": [self._reference(o) for o in operands]}
        if attrs:
            document["attrs"] = {key: _wire(value) for key, value in attrs.items()}
        self.nodes.append(document)
        outputs = made if isinstance(made, tuple) else (made,)
        for index, value in enumerate(outputs):
            self.names[value.key] = name if len(outputs) == 1 else f"{name}:{index}"

    def finish(self, made: Any) -> None:
        """Declare the results of the function as outputs and losses."""
        named = made if isinstance(made, Mapping) else dict(enumerate(made if isinstance(made, tuple) else (made,)))
        for key, value in named.items():
            if not isinstance(value, Value):
                raise GradientError(f"capture: the function must return Values, not {type(value).__name__}")
            reference = str(self._reference(value))
            if isinstance(key, str):
                reference = self._rename(reference, key)
            self.results.setdefault("losses" if key == "loss" else "outputs", []).append(reference)
        if "losses" in self.results:
            self.results["outputs"] = [*self.results["losses"], *self.results.get("outputs", [])]

    def _rename(self, reference: str, name: str) -> str:
        """Call a node by the name its result is returned under."""
        if name in self.taken or reference not in {node["name"] for node in self.nodes}:
            return reference
        for node in self.nodes:
            node["name"] = name if node["name"] == reference else node["name"]
            node["inputs"] = [name if operand == reference else operand for operand in node["inputs"]]
        self.names.update({key: name for key, known in self.names.items() if known == reference})
        self.taken.add(name)
        return name

    def _reference(self, operand: Any) -> Reference:
        if isinstance(operand, bool | int | float):
            return operand
        value = as_value(operand)
        if value.key in self.names:
            return self.names[value.key]
        if value.weak:
            return value.numpy().item()  # type: ignore[no-any-return]
        if value.data is None:
            raise GradientError("capture: a value without data comes from outside of the function")
        if value.requires_grad:
            raise GradientError(
                f"capture: the value {value.name or ''}{list(value.shape)} requires a gradient but is no parameter; "
                "name it in parameters="
            )
        name = self._free("constant")
        self.constants[name] = tensor_to_json(value.numpy())
        return self.names[self.leaf(name, value).key]

    def _free(self, name: str) -> str:
        number = 0
        while (chosen := f"{name}_{number}" if number else name) in self.taken:
            number += 1
        self.taken.add(chosen)
        return chosen


def _record(function: Callable[..., Any], draft: Definition, dims: Mapping[str, int]) -> _Recording:
    recording = _Recording(draft)
    values = {}
    for name, spec in draft.inputs.items():
        shape: Shape = tuple(dims[extent] if isinstance(extent, str) else extent for extent in spec.shape)
        values[name] = recording.leaf(name, Value(shape, spec.dtype, None, name=name))
    for name, state in draft.parameters.items():
        values[name] = recording.leaf(
            name, Value(state.shape, state.dtype, None, name=name, requires_grad=not state.frozen)
        )
    key = Value((2,), INT64, None, name="key")
    with tracing(lambda: fold_in(key, 0)), recording_calls(recording):
        made = function(**values)
    recording.finish(made)
    return recording


def _two_trials(draft: Definition) -> list[dict[str, int]]:
    trials = list(choose_trial_dims(draft))
    return trials[:2] if draft.dimension_names else trials[:1]


def _compare(first: _Recording, other: _Recording) -> None:
    """Raise an error for a function whose graph depends on the number of a named extent."""
    if [node["op"] for node in first.nodes] != [node["op"] for node in other.nodes]:
        raise EngineError("capture: the function calls other ops when a named extent changes; give the extent a number")
    for node, twin in zip(first.nodes, other.nodes, strict=True):
        for key, value in node.get("attrs", {}).items():
            if value != twin["attrs"][key]:
                raise AttributeValueError(
                    f"capture: {node['op']} is called with {key} = {value}, which changes with a named extent; write "
                    "it without the number (as -1 in a shape), or give the extent a number"
                )
    if first.constants != other.constants:
        raise EngineError("capture: a constant changes with a named extent; give the extent a number")


def _wire(value: Any) -> Any:
    return value.name if isinstance(value, np.dtype) else plain(value)


def _match_names(
    graph: str, names: Sequence[str], operands: Sequence[Operand], named: Mapping[str, Operand]
) -> dict[str, Value]:
    if len(operands) > len(names):
        raise ShapeError(f"the graph {graph!r} takes {len(names)} values ({', '.join(names)}), got {len(operands)}")
    given = {**dict(zip(names, operands, strict=False)), **named}
    missing = [name for name in names if name not in given]
    unknown = [name for name in given if name not in names]
    if missing or unknown:
        fault = f"lacks {missing[0]!r}" if missing else f"has no input or state {unknown[0]!r}"
        raise ShapeError(f"the graph {graph!r} takes ({', '.join(names)}): the call {fault}")
    return {name: as_value(operand) for name, operand in given.items()}
