"""Codec: a document in one of three forms (nodes, layers, program) to the canonical Definition."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from engine.core.dtypes import is_float
from engine.core.errors import DocumentError, EngineError, Finding, escape, nearest
from engine.core.garbage import rare_collections
from engine.core.options import NAME, NAME_RULE, Reader
from engine.core.value import Shape
from engine.graph.definition import Definition, InputSpec, NodeSpec, StateSpec
from engine.graph.expression_parser import parse_program
from engine.graph.fans import with_fans
from engine.graph.layers_spec import expand_layers
from engine.graph.limits import LIMITS, GraphLimits
from engine.graph.shape_inference import InferredShapes, infer_shapes
from engine.graph.tensors import bounded_extents, is_extent, read_dtype, read_shape, read_tensor
from engine.graph.trace import Trace, check_loss, output_index
from engine.nn.initializers import default_kind, resolve

COMMON = ("name", "inputs", "parameters", "buffers", "constants", "outputs", "losses", "implicit_loss")
LEAVES = ("inputs", "parameters", "buffers", "constants")
LEAF_COUNT = "inputs, parameters, buffers and constants"
FORMS = ("nodes", "layers", "program")


def parse_graph(document: Any, limits: GraphLimits = LIMITS) -> Definition:
    """Read a graph document and return its canonical form.

    Args:
        document: {"inputs", "parameters", ...} with exactly one of "nodes", "layers" and "program".
        limits: sizes that are refused.

    Raises:
        DocumentError: every fault found, each with a JSON pointer.
    """
    definition, _ = parse_and_infer(document, limits)
    return definition


@rare_collections()
def parse_and_infer(document: Any, limits: GraphLimits = LIMITS) -> tuple[Definition, InferredShapes]:
    """Read a graph document as `parse_graph` does; return its canonical form and the shapes it was checked with."""
    reader = Reader()
    document = reader.mapping(document, "")
    forms = [field for field in FORMS if field in document]
    if len(forms) != 1:
        reader.fault("", "spelling", "give exactly one of 'nodes', 'layers' and 'program'")
        reader.finish()
    form = forms[0]
    extra = ("loss",) if form == "layers" else ()
    reader.fields(document, "", (*COMMON, form, *extra), required=("inputs",) if form == "layers" else ())
    draft = _read_leaves(document, reader, limits)
    if form == "nodes":
        draft = replace(draft, nodes=_read_nodes(document["nodes"], draft, reader, limits))
        reader.finish()
    elif form == "program":
        reader.finish()
        draft = parse_program(document["program"], draft, limits)
    else:
        reader.finish()
        inferred = expand_layers(document["layers"], document.get("loss"), draft, limits)
        _check_extents(inferred.graph.definition, limits)
        return _complete(inferred, document, frozenset())
    _check_extents(draft, limits)
    return _complete(infer_shapes(draft, limits), document, _without_init(document, draft))


def read_checked_graph(document: Mapping[str, Any]) -> Definition:
    """Read the canonical form of a graph that was checked before (see `Definition.to_json`), and do not trace it.

    Raises:
        DocumentError: it is no canonical form.
    """
    reader = Reader()
    reader.fields(document, "", (*COMMON, "nodes"), required=("nodes", "outputs", "losses"))
    reader.finish()
    draft = _read_leaves(document, reader, LIMITS)
    draft = replace(
        draft,
        nodes=_read_nodes(document["nodes"], draft, reader, LIMITS),
        outputs=tuple(document["outputs"]),
        losses=tuple(document["losses"]),
        implicit_loss=document.get("implicit_loss", False),
    )
    reader.finish()
    return draft


def _without_init(document: Mapping[str, Any], draft: Definition) -> frozenset[str]:
    """Return the names of the parameters that leave their initialiser out."""
    given = document.get("parameters", {})
    return frozenset(
        name
        for name in draft.parameters
        if not (isinstance(given[name], Mapping) and given[name].get("init") is not None)
    )


def read_leaves(document: Mapping[str, Any], limits: GraphLimits = LIMITS) -> Definition:
    """Read name, inputs, parameters, buffers and constants of a graph document: a definition without nodes.

    Raises:
        DocumentError: every fault found, each with a JSON pointer.
    """
    reader = Reader()
    draft = _read_leaves(document, reader, limits)
    reader.finish()
    return draft


def _read_leaves(document: Mapping[str, Any], reader: Reader, limits: GraphLimits) -> Definition:
    name = reader.typed(document.get("name", "graph"), str, "/name", "name", "graph")
    if not 0 < len(name.encode(errors="replace")) <= 200:
        reader.fault("/name", "name_invalid", "a graph's name has 1 to 200 bytes")
    leaves = sum(len(entries) for table in LEAVES if isinstance(entries := document.get(table), Mapping))
    limits.check_count("", LEAF_COUNT, leaves, limits.leaves)
    taken: dict[str, str] = {}
    inputs = {}
    for key, spec in _entries(document, "inputs", reader, taken, limits):
        inputs[key] = _read_input(spec, f"/inputs/{escape(key)}", reader)
    states: dict[str, dict[str, StateSpec]] = {"parameters": {}, "buffers": {}}
    for table, found in states.items():
        for key, spec in _entries(document, table, reader, taken, limits):
            found[key] = _read_state(spec, f"/{table}/{escape(key)}", reader, trainable=table == "parameters")
    constants = {}
    for key, value in _entries(document, "constants", reader, taken, limits):
        constants[key] = read_tensor(value, f"/constants/{escape(key)}", reader)
    return Definition(name, inputs, states["parameters"], states["buffers"], constants, (), (), ())


def _entries(
    document: Mapping[str, Any], table: str, reader: Reader, taken: dict[str, str], limits: GraphLimits
) -> list[tuple[str, Any]]:
    entries = list(reader.mapping(document.get(table, {}), f"/{table}").items())
    for key, _ in entries:
        _check_name(str(key), f"/{table}/{escape(key)}", reader, taken, limits)
    return entries


def _check_name(name: str, pointer: str, reader: Reader, taken: dict[str, str], limits: GraphLimits) -> None:
    if len(name.encode(errors="replace")) > limits.name_bytes:
        reader.fault(pointer, "name_invalid", f"a name has at most {limits.name_bytes} bytes")
    elif not NAME.match(name):
        reader.fault(pointer, "name_invalid", NAME_RULE)
    elif name in taken:
        reader.fault(pointer, "name_taken", f"the name {name!r} is taken by {taken[name]}")
    else:
        taken[name] = pointer


def _read_input(spec: Any, pointer: str, reader: Reader) -> InputSpec:
    if isinstance(spec, list | tuple):
        spec = {"shape": spec}
    spec = reader.mapping(spec, pointer)
    reader.fields(spec, pointer, ("shape", "dtype"))
    extents = bounded_extents(spec.get("shape", []), f"{pointer}/shape", reader)
    shape: list[int | str] = []
    for index, extent in enumerate(extents):
        if is_extent(extent) or (isinstance(extent, str) and len(extent) <= 63 and NAME.match(extent)):
            shape.append(extent)
        else:
            reader.fault(f"{pointer}/shape/{index}", "shape_invalid", "an extent is a number >= 0 or a name")
    return InputSpec(tuple(shape), read_dtype(spec, pointer, reader))


def _read_state(spec: Any, pointer: str, reader: Reader, *, trainable: bool) -> StateSpec:
    if isinstance(spec, list | tuple):
        spec = {"shape": spec}
    spec = reader.mapping(spec, pointer)
    reader.fields(spec, pointer, ("shape", "dtype", "init", *(("frozen",) if trainable else ())))
    shape = read_shape(spec.get("shape", []), f"{pointer}/shape", reader)
    dtype = read_dtype(spec, pointer, reader)
    if trainable and not is_float(dtype):
        reader.fault(f"{pointer}/dtype", "dtype_mismatch", f"only floating parameters can be trained, not {dtype.name}")
    frozen = reader.typed(spec.get("frozen", False), bool, f"{pointer}/frozen", "frozen", False)
    init = spec.get("init")
    if init is None:
        init = default_kind(shape) if trainable else {"kind": "zeros"}
    if isinstance(init, str):
        init = {"kind": init}
    init = reader.mapping(init, f"{pointer}/init")
    if init:
        _check_init(init, shape, f"{pointer}/init", reader)
    return StateSpec(shape, dtype, dict(init), frozen)


def _check_init(init: Mapping[str, Any], shape: Shape, pointer: str, reader: Reader) -> None:
    try:
        draw, options = resolve(init)
        draw(np.random.default_rng(0), tuple(min(extent, 2) for extent in shape), **options)
    except EngineError as error:
        reader.error(pointer, error)


def _read_nodes(nodes: Any, draft: Definition, reader: Reader, limits: GraphLimits) -> tuple[NodeSpec, ...]:
    entries = reader.sequence(nodes, "/nodes")
    if len(entries) > limits.nodes:
        reader.fault("/nodes", "limit_exceeded", f"{len(entries)} nodes are more than the limit of {limits.nodes}")
        return ()
    given = (entry.get("inputs") for entry in entries if isinstance(entry, Mapping))
    count = sum(len(inputs) for inputs in given if isinstance(inputs, list | tuple))
    limits.check_count("/nodes", "inputs of all nodes", count, limits.node_inputs)
    taken = {name: f"/{table}" for table in LEAVES for name in getattr(draft, table)}
    return tuple(_read_node(entry, index, taken, reader, limits) for index, entry in enumerate(entries))


def _read_node(entry: Any, index: int, taken: dict[str, str], reader: Reader, limits: GraphLimits) -> NodeSpec:
    pointer = f"/nodes/{index}"
    entry = reader.mapping(entry, pointer)
    reader.fields(entry, pointer, ("name", "op", "inputs", "attrs"), required=("op",) if entry else ())
    name = reader.typed(entry.get("name", f"node_{index}"), str, f"{pointer}/name", "name", f"node_{index}")
    _check_name(name, f"{pointer}/name", reader, taken, limits)
    op = reader.typed(entry.get("op", ""), str, f"{pointer}/op", "op", "")
    operands = reader.sequence(entry.get("inputs", []), f"{pointer}/inputs")
    if len(operands) > limits.inputs_per_node:
        reader.fault(f"{pointer}/inputs", "limit_exceeded", f"a node has at most {limits.inputs_per_node} inputs")
        operands = ()
    good = tuple([operand for operand in operands if _is_operand(operand)])
    if len(good) < len(operands):
        for position, operand in enumerate(operands):
            if not _is_operand(operand):
                where = f"{pointer}/inputs/{position}"
                reader.fault(where, "type_mismatch", "an input is the name of a value or a number")
    attrs = reader.mapping(entry.get("attrs", {}), f"{pointer}/attrs")
    return NodeSpec(name, op, good, dict(attrs), pointer)


def _is_operand(operand: Any) -> bool:
    if isinstance(operand, str):
        return True
    if isinstance(operand, int):
        return abs(operand) < 2**63
    return isinstance(operand, float) and math.isfinite(operand)


def _check_extents(draft: Definition, limits: GraphLimits) -> None:
    """Refuse a graph that is larger than the limits, whatever form it was given in."""
    leaves = sum(len(table) for table in (draft.inputs, draft.parameters, draft.buffers, draft.constants))
    limits.check_count("", LEAF_COUNT, leaves, limits.leaves)
    limits.check_count("/nodes", "nodes", len(draft.nodes), limits.nodes)
    for node in draft.nodes:
        limits.check_count(node.pointer, "inputs of a node", len(node.inputs), limits.inputs_per_node)
        if node.attrs:
            limits.check_attributes(node.pointer, node.attrs)
    limits.check_states("/parameters", [spec.shape for spec in (*draft.parameters.values(), *draft.buffers.values())])


def _complete(
    inferred: InferredShapes, document: Mapping[str, Any], without_init: frozenset[str]
) -> tuple[Definition, InferredShapes]:
    """Resolve outputs and losses, and return the finished definition and its shapes.

    Parameters that are `without_init` start with the fan-in that the graph gives them.
    """
    graph = inferred.graph
    draft = graph.definition
    reader = Reader()
    given_implicit = reader.typed(document.get("implicit_loss", False), bool, "/implicit_loss", "implicit_loss", False)
    losses = _references(document, "losses", graph, reader) or draft.losses
    outputs = _references(document, "outputs", graph, reader) or draft.outputs
    for index, reference in enumerate(losses):
        reason = _is_known(graph, reference) and check_loss(graph.value(reference))
        if reason:
            reader.fault(f"/losses/{index}", "loss_invalid", f"{reference!r}: {reason}")
    reader.finish()
    if not outputs:
        outputs = losses or unused_values(draft)
    if not outputs:
        raise DocumentError([Finding("", "empty", "a graph needs at least one node")])
    implicit = given_implicit
    if not losses:
        losses = tuple(r for r in outputs if check_loss(graph.value(r)) is None)
        implicit = len(losses) == 1
        losses = losses if implicit else ()
    parameters = with_fans(draft.parameters, inferred.fans, without_init) if without_init else draft.parameters
    graph.definition = replace(
        draft, parameters=parameters, outputs=tuple(outputs), losses=tuple(losses), implicit_loss=implicit
    )
    return graph.definition, inferred


def _references(document: Mapping[str, Any], field: str, graph: Trace, reader: Reader) -> tuple[str, ...]:
    references = []
    for index, reference in enumerate(reader.sequence(document.get(field, []), f"/{field}")):
        pointer = f"/{field}/{index}"
        if not isinstance(reference, str) or not _is_known(graph, reference):
            reader.fault(pointer, "unknown_name", "names no value of the graph" + _nearest(reference, graph))
        elif reference in references:
            reader.fault(pointer, "name_taken", f"{reference!r} is listed twice")
        else:
            references.append(reference)
    return tuple(references)


def _nearest(reference: Any, graph: Trace) -> str:
    return nearest(str(reference), [*graph.inputs, *graph.parameters, *graph.values])


def _is_known(graph: Trace, reference: str) -> bool:
    name, colon, index = reference.partition(":")
    if name in graph.values:
        return not colon or 0 <= output_index(index) < len(graph.values[name])
    return not colon and any(
        name in table for table in (graph.inputs, graph.parameters, graph.buffers, graph.constants)
    )


def unused_values(definition: Definition) -> tuple[str, ...]:
    """Return the nodes that no other node takes as an input, in order."""
    used = {
        operand.partition(":")[0] for node in definition.nodes for operand in node.inputs if isinstance(operand, str)
    }
    return tuple(node.name for node in definition.nodes if node.name not in used)
