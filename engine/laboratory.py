"""One evaluation of a graph without a fit: outputs, losses and gradients for given inputs and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.documents import Reader, escape
from engine.errors import REFUSALS, DocumentError, EngineError, Finding
from engine.graph.definition import Definition
from engine.graph.trace import Trace, bind_dims, build
from engine.graph.limits import LIMITS
from engine.graph.tensors import read_tensor
from engine.initializers import initialize
from engine.plan import NumpyExecutor, Plan, make_plan
from engine.training import KEY
from engine.value import Array, Value

WANTS = ("outputs", "gradients")
FIELDS = ("inputs", "parameters", "buffers", "want", "seed", "training")
GRADIENT = "gradient:"
LOSS = "loss:"


def compute(definition: Definition, request: Mapping[str, Any]) -> dict[str, Any]:
    """Evaluate a graph.

    Args:
        definition: the graph.
        request: {"inputs": {name: tensor}, "parameters": {...}, "buffers": {...}, "want": [...], "seed": 0,
            "training": false}; parameters left out are initialised from the seed.

    Returns:
        {"outputs": {reference: array}, "losses": {reference: float}, "gradients": {parameter: array or None}}.

    Raises:
        DocumentError: with pointers into the request.
    """
    reader = Reader()
    request = reader.mapping(request, "")
    reader.fields(request, "", FIELDS)
    wants = _read_wants(request.get("want", list(WANTS)), reader)
    seed = reader.typed(request.get("seed", 0), int, "/seed", "seed", 0)
    training = reader.typed(request.get("training", False), bool, "/training", "training", False)
    inputs = _tensors(request, "inputs", {n: s.dtype for n, s in definition.inputs.items()}, reader)
    for name in definition.inputs:
        if name not in inputs:
            reader.fault("/inputs", "missing_field", f"the input {name!r} is required")
    state = {
        table: _tensors(request, table, {n: s.dtype for n, s in getattr(definition, table).items()}, reader)
        for table in ("parameters", "buffers")
    }
    reader.finish()
    dims = bind_dims(definition, {name: array.shape for name, array in inputs.items()})
    graph = build(definition, dims, training=training)
    plan, gradients = _planned(graph, wants)
    LIMITS.check_count("", "bytes of memory", plan.peak_bytes, LIMITS.compute_bytes)
    _fill(definition, state, seed)
    results = _run(plan, {**inputs, KEY: np.array([seed, 0])}, {**state["buffers"], **state["parameters"]})
    return _answer(definition, wants, gradients, results)


def _read_wants(wants: Any, reader: Reader) -> list[str]:
    known = []
    for index, want in enumerate(reader.sequence(wants, "/want")):
        if want in WANTS:
            known.append(want)
        else:
            reader.fault(f"/want/{index}", "unknown_name", f"'want' takes {' and '.join(WANTS)}")
    return known


def _tensors(request: Mapping[str, Any], table: str, dtypes: Mapping[str, Any], reader: Reader) -> dict[str, Array]:
    arrays = {}
    for name, value in reader.mapping(request.get(table, {}), f"/{table}").items():
        pointer = f"/{table}/{escape(name)}"
        if name not in dtypes:
            reader.fault(pointer, "unknown_name", f"the graph's {table} are {', '.join(dtypes) or 'none'}")
            continue
        arrays[name] = read_tensor(value, pointer, reader, dtypes[name])
    return arrays


def _fill(definition: Definition, state: dict[str, dict[str, Array]], seed: int) -> None:
    """Check the shapes of the parameters and buffers given, and initialise the others."""
    findings = []
    for table, arrays in state.items():
        for name, spec in getattr(definition, table).items():
            if name not in arrays:
                arrays[name] = initialize(spec.init, name, spec.shape, spec.dtype, seed)
            elif arrays[name].shape != spec.shape:
                detail = f"{name!r} has shape {list(arrays[name].shape)}, the graph declares {list(spec.shape)}"
                findings.append(Finding(f"/{table}/{escape(name)}", "shape_mismatch", detail))
    if findings:
        raise DocumentError(findings)


def _planned(graph: Trace, wants: list[str]) -> tuple[Plan, list[str]]:
    """Plan what is wanted; also return the names of the parameters whose gradients were asked for."""
    wanted: dict[str, Value] = dict(graph.outputs) if "outputs" in wants else {}
    wanted.update({LOSS + name: value for name, value in graph.losses.items()})
    gradients: dict[str, Value | None] = {}
    if "gradients" in wants:
        if not graph.definition.losses:
            raise DocumentError([Finding("/want", "no_loss", "the graph has no loss to take gradients of")])
        gradients = graph.gradients(graph.total_loss(), graph.parameters)
        wanted.update({GRADIENT + name: value for name, value in gradients.items() if value is not None})
    plan = make_plan({**graph.inputs, KEY: graph.key}, {**graph.buffers, **graph.parameters}, wanted, {})
    return plan, list(gradients)


def _run(plan: Plan, inputs: Mapping[str, Array], state: Mapping[str, Array]) -> dict[str, Array]:
    executor = NumpyExecutor(plan, {n: np.ascontiguousarray(state[n]).reshape(state[n].shape) for n in plan.state})
    for name, array in inputs.items():
        executor.inputs[name][...] = array
    try:
        executor.run()
    except EngineError as error:  # an index out of range, which only the numbers show
        raise DocumentError([Finding("/inputs", error.code, str(error))]) from error
    except REFUSALS as error:
        detail = f"an op does not accept these numbers ({type(error).__name__}: {str(error)[:200]})"
        raise DocumentError([Finding("/inputs", EngineError.code, detail)]) from error
    return {name: array.copy() for name, array in executor.outputs.items()}


def _answer(
    definition: Definition, wants: list[str], gradients: list[str], results: Mapping[str, Array]
) -> dict[str, Any]:
    answer: dict[str, Any] = {"losses": {name: results[LOSS + name].item() for name in definition.losses}}
    if "outputs" in wants:
        answer["outputs"] = {name: results[name] for name in definition.outputs}
    if "gradients" in wants:
        answer["gradients"] = {name: results.get(GRADIENT + name) for name in gradients}
    return answer
