"""Gradient check: the gradient of a graph against central differences in float64, on a sample of elements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np

from engine.core.dtypes import FLOAT64, dtype_of, is_float
from engine.core.modes import Admit, Cost, admit_any
from engine.core.options import Reader
from engine.core.value import Array, Value
from engine.diagnostics.derivatives import gradients
from engine.diagnostics.requests import References
from engine.diagnostics.transforms import as_function, default_targets, leaves_of, weight_results
from engine.execution.interpreter.node_runner import check_leaves, check_memory, check_work, output_bytes
from engine.execution.interpreter.point import FIELDS, EvaluationPoint, read_point, run
from engine.execution.plan import NumpyExecutor, Plan, make_plan
from engine.graph.definition import Definition, NodeSpec
from engine.graph.limits import LIMITS
from engine.graph.trace import KEY, Trace, build

VALUE = "value"
GRADIENT = "gradient:"
ELEMENTS_MAX = 10_000
ELEMENTS_OF_VALUE = 10**6
SETTINGS: Mapping[str, tuple[float, float, float]] = {
    "eps": (1e-6, 1e-12, 1.0),
    "atol": (1e-5, 0.0, math.inf),
    "rtol": (1e-3, 0.0, math.inf),
}
"""Step and tolerances: the usual value, the least and the greatest."""


@dataclass(frozen=True, slots=True)
class Tolerances:
    """The step of the differences, the tolerance for rounding errors, and how many elements are checked."""

    eps: float
    atol: float
    rtol: float
    elements: int


def check_gradients(definition: Definition, request: Mapping[str, Any], admit: Admit = admit_any) -> dict[str, Any]:
    """Compare the gradient of a graph by each parameter with central differences, all floats taken as float64.

    An element x is moved by `eps` * max(1, |x|) to either side. It passes when the difference of gradient and slope is
    at most `atol` + `rtol` * |slope|, the rule of numpy.isclose and of `engine.gradcheck`. Where a function has a kink
    there is no slope, and a check may fail rightly. Random ops draw the same numbers in every run.

    Args:
        definition: the graph.
        request: {"inputs", "parameters", "buffers", "seed", "training"} as `compute` takes them; "of" (left out: the
            sum of the losses; the elements of a larger value are added with weights cos(0), cos(1), ...); "by" (left
            out: every parameter that is not frozen; floating inputs may be named too); "eps" 1e-6, "atol" 1e-5, "rtol"
            1e-3; "elements" 100, the most that are checked of one name: of more, a sample drawn from the seed.
        admit: called with the cost before anything is allocated; may raise.

    Returns:
        {"ok", "value", "of", "eps", "atol", "rtol", "gradients": {name: {"ok", "shape", "checked", "elements" (their
        row-major positions, None for all), "largest_absolute_error", "largest_relative_error" (|difference| over the
        larger of both; elements below `atol` left out), "worst": {"index", "gradient", "difference"} or None}}}.

    Raises:
        DocumentError: with pointers into the request.
    """
    reader = Reader()
    request = reader.mapping(request, "")
    reader.fields(request, "", (*FIELDS, "of", "by", *SETTINGS, "elements"))
    tolerances = _tolerances(request, reader)
    named = [request.get("of"), request.get("by")]
    point = read_point(definition, request, reader, wanted=named if any(named) or definition.losses else None)
    graph = build(_to_float64(point.definition), point.dims, training=point.training)
    of, by = _names(graph, request, reader)
    reader.finish()
    check_leaves(graph)
    places = {name: _sample(name, leaves_of(graph)[name].size, tolerances.elements, point.seed) for name in by}
    value, slopes = _plans(graph, of, by)
    moves = sum(len(chosen) for chosen in places.values())
    taken = _estimate_bytes(value, slopes, point)
    operations = check_work(value, "/elements", "ask for fewer elements, or send a smaller batch", 2 * moves + 1)
    operations += check_work(slopes, "/by", "send a smaller batch", beside=point.draw_operations)
    admit(Cost(taken, operations))
    arrays = _arrays(point, graph)
    executor = NumpyExecutor(slopes, arrays)
    run(executor)
    found = {name: executor.outputs[GRADIENT + name].copy() for name in by}
    total = executor.outputs[VALUE].item()
    executor = NumpyExecutor(value, arrays)
    reports = {
        name: _report(
            found[name], _differences(executor, arrays[name], places[name], tolerances.eps), places[name], tolerances
        )
        for name in by
    }
    return {
        "ok": all(report["ok"] for report in reports.values()),
        "value": total,
        "of": list(of),
        **{name: getattr(tolerances, name) for name in SETTINGS},
        "gradients": reports,
    }


def _tolerances(request: Mapping[str, Any], reader: Reader) -> Tolerances:
    chosen = {}
    for name, (usual, least, greatest) in SETTINGS.items():
        chosen[name] = reader.typed(request.get(name, usual), float, f"/{name}", name, usual)
        if not least <= chosen[name] <= greatest:
            reader.fault(f"/{name}", "attribute_invalid", f"{name} must lie between {least} and {greatest}")
    elements = reader.typed(request.get("elements", 100), int, "/elements", "elements", 100)
    if not 1 <= elements <= ELEMENTS_MAX:
        reader.fault("/elements", "attribute_invalid", f"elements must lie between 1 and {ELEMENTS_MAX}")
    return Tolerances(**chosen, elements=elements)


def _names(graph: Trace, request: Mapping[str, Any], reader: Reader) -> tuple[Sequence[str], Sequence[str]]:
    """Return the values that are differentiated, and the leaves by which."""
    names = References(graph, reader)
    of: Sequence[str] = graph.definition.losses
    if "of" in request:
        of = (request["of"],) if names.value(request["of"], "/of") is not None else ()
    elif not of:
        reader.fault("", "no_loss", "the graph has no loss; name the value to be checked in 'of'")
    by: Sequence[str] = default_targets(graph)
    if "by" in request:
        by = names.names(request["by"], "/by", names.leaf)
    elif not by:
        reader.fault("", "missing_field", "the graph has no trainable parameter; name floating inputs in 'by'")
    return of, by


def _to_float64(definition: Definition) -> Definition:
    """Return the definition with every floating type replaced by float64, also in attributes of nodes."""

    def wide(spec: Any) -> Any:
        return replace(spec, dtype=FLOAT64) if is_float(spec.dtype) else spec

    def node(spec: NodeSpec) -> NodeSpec:
        dtype = spec.attrs.get("dtype")
        narrow = dtype is not None and is_float(dtype_of(dtype))
        return replace(spec, attrs={**spec.attrs, "dtype": FLOAT64.name}) if narrow else spec

    return replace(
        definition,
        inputs={name: wide(spec) for name, spec in definition.inputs.items()},
        parameters={name: wide(spec) for name, spec in definition.parameters.items()},
        buffers={name: wide(spec) for name, spec in definition.buffers.items()},
        constants={n: a.astype(FLOAT64) if is_float(a.dtype) else a for n, a in definition.constants.items()},
        nodes=tuple(node(spec) for spec in definition.nodes),
    )


def _plans(graph: Trace, of: Sequence[str], by: Sequence[str]) -> tuple[Plan, Plan]:
    """Plan the value alone, and the value with its gradients; all that is fed is state, and none of it is changed."""
    state: dict[str, Value] = {**graph.inputs, **graph.parameters, **graph.buffers, KEY: graph.key}
    primals = [leaves_of(graph)[name] for name in by]
    with graph.trace():
        function = weight_results(as_function(graph, of, by), of, _weights(graph, of))
        value = {VALUE: function(*primals)}
        slopes = {GRADIENT + n: gradient for n, gradient in zip(by, gradients(function, primals), strict=True)}
    return make_plan({}, state, value, {}), make_plan({}, state, {**value, **slopes}, {})


def _estimate_bytes(value: Plan, slopes: Plan, point: EvaluationPoint) -> dict[str, int]:
    """Return the bytes of both plans and of what they are bound to, which are widened copies; refuse too many.

    The arrays that both share are counted twice: once for what they were before they were widened.
    """
    taken = {
        "plan_bytes": slopes.peak_bytes + value.peak_bytes,
        "initial_bytes": point.initial_bytes,
        "output_bytes": output_bytes(slopes),
    }
    check_memory(Cost(taken))
    return taken


def _weights(graph: Trace, of: Sequence[str]) -> dict[str, Array]:
    """Return what the elements of a value that is no scalar are added with; `engine.gradcheck` does likewise."""
    values = {name: value for name in of if (value := graph.value(name)).size != 1}
    for name, value in values.items():
        LIMITS.check_count("/of", f"elements of {name!r}", value.size, ELEMENTS_OF_VALUE)
    return {name: np.cos(np.arange(value.size, dtype=FLOAT64)).reshape(value.shape) for name, value in values.items()}


def _arrays(point: EvaluationPoint, graph: Trace) -> dict[str, Array]:
    """Return every input, parameter, buffer and the key as a new array, rounded to its declared type, then float64."""
    leaves = {**leaves_of(graph), **graph.buffers}
    arrays = {**point.inputs, **point.state()}
    return {KEY: point.key, **{n: np.array(arrays[n], leaf.dtype, order="C") for n, leaf in leaves.items()}}


def _sample(name: str, size: int, count: int, seed: int) -> Array:
    """Return which elements of a tensor are checked: all, or as many as `count`, drawn by seed and name, in order."""
    if size <= count:
        return np.arange(size)
    key = np.array([seed % 2**64, crc32(name.encode())], np.uint64)
    generator = np.random.Generator(np.random.Philox(key=key))
    return np.sort(generator.choice(size, count, replace=False, shuffle=False))


def _differences(executor: NumpyExecutor, array: Array, places: Array, eps: float) -> Array:
    """Return the central differences by the elements at `places` of `array`, a state of the plan."""
    flat, found = array.reshape(-1), np.empty(len(places))
    for index, place in enumerate(places):
        kept = flat[place]
        step = eps * max(1.0, abs(kept))
        ends = []
        for moved in (kept + step, kept - step):
            flat[place] = moved
            run(executor)
            ends.append((moved, executor.outputs[VALUE].item()))
        flat[place] = kept
        (above, high), (below, low) = ends
        found[index] = (high - low) / (above - below)  # the step as it was rounded
    return found


def _report(gradient: Array, slopes: Array, places: Array, tolerances: Tolerances) -> dict[str, Any]:
    chosen = gradient.reshape(-1)[places]
    with np.errstate(all="ignore"):
        absolute = np.abs(chosen - slopes)
        passed = absolute <= tolerances.atol + tolerances.rtol * np.abs(slopes)
        larger = np.maximum(np.abs(chosen), np.abs(slopes))
        relative = np.where(larger <= tolerances.atol, 0.0, absolute / larger)
    report: dict[str, Any] = {
        "ok": bool(passed.all()),
        "shape": list(gradient.shape),
        "checked": len(places),
        "elements": None if len(places) == gradient.size else places.tolist(),
        "largest_absolute_error": float(absolute.max(initial=0.0)),
        "largest_relative_error": float(relative.max(initial=0.0)),
        "worst": None,
    }
    if len(places):
        worst = int(np.argmax(absolute))  # a NaN counts as the largest
        report["worst"] = {
            "index": [int(extent) for extent in np.unravel_index(places[worst], gradient.shape)],
            "gradient": float(chosen[worst]),
            "difference": float(slopes[worst]),
        }
    return report
