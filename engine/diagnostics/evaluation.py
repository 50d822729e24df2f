"""Evaluation of a graph without a fit: outputs, losses, gradients and derivatives of any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.core.modes import Admit, Cost, admit_any
from engine.core.options import Reader
from engine.core.value import Array, Value
from engine.diagnostics.derivatives import check_sizes, derive
from engine.diagnostics.requests import NAMES, DerivativeRequest, read_requests
from engine.execution.interpreter.node_runner import check_memory, check_work, output_bytes
from engine.execution.interpreter.point import FIELDS, EvaluationPoint, feed, read_point, run
from engine.execution.plan import NumpyExecutor, Plan, make_plan
from engine.graph.definition import Definition
from engine.graph.trace import KEY, Trace, build

GRADIENT = "gradient:"
LOSS = "loss:"
DERIVATIVE = "derivative:"
ADVICE = ("/inputs", "send a smaller batch, or ask for less")


def compute(definition: Definition, request: Mapping[str, Any], admit: Admit = admit_any) -> dict[str, Any]:
    """Evaluate a graph.

    Args:
        definition: the graph.
        request: {"inputs": {name: tensor}, "parameters": {...}, "buffers": {...}, "want": [...], "seed": 0,
            "training": false}; parameters left out are initialised from the seed. A want is "outputs", "gradients" (of
            the sum of the losses by every parameter that is not frozen) or one of these, in which `of` names outputs,
            losses or nodes, `by` inputs or parameters, and an `of` in brackets, left out, is the sum of the losses:
            {"gradient_of": [name], "cotangents": {name: tensor}, "by": [name]} (without `by` the parameters);
            {"jacobian": {"of": name, "by": name, "mode": "reverse" or "forward"}} (without `mode` the cheaper);
            {"hessian": {("of": name,) "by": name}};
            {"derivative": {("of": name,) "by": [name, name, ...]}}, differentiated by one after the other;
            {"hvp": {("of": name,) "by": {name: direction}}}, and "vhp" likewise;
            {"jvp": {"of": [name], "tangents": {name: tensor}}} (without `of` the floating outputs and losses).
        admit: called with the cost before anything is allocated; may raise.

    Returns:
        {"outputs": {reference: array}, "losses": {reference: float}, "gradients": {parameter: array or None}} as far as
        they are wanted, and for derivatives "derivatives": [{"want": place in `want`, "kind", "of", "by", "tensors":
        arrays by name of `by`, for a JVP by name of `of`}]. A Jacobian has the shape [of..., by...], a Hessian
        [by..., by...], a derivative of any order [of..., by..., by..., ...], under its names with commas between.

    Raises:
        DocumentError: with pointers into the request.
    """
    reader = Reader()
    request = reader.mapping(request, "")
    reader.fields(request, "", (*FIELDS, "want"))
    point = read_point(definition, request, reader, wanted=request.get("want", list(NAMES)))
    definition = point.definition
    graph = build(definition, point.dims, training=point.training)
    names, wanted = read_requests(request.get("want", list(NAMES)), graph, reader)
    reader.finish()
    check_sizes(graph, wanted)
    values, gradients = _values(graph, names)
    derived = derive(graph, wanted)
    values.update({f"{DERIVATIVE}{i}:{n}": value for i, made in enumerate(derived) for n, value in made.items()})
    plan = make_plan({**graph.inputs, KEY: graph.key}, {**graph.buffers, **graph.parameters}, values, {})
    admit(_cost(plan, point, derivatives=bool(wanted)))
    executor = NumpyExecutor(plan, point.state())
    feed(executor, point)
    run(executor)
    results = {name: array.copy() for name, array in executor.outputs.items()}
    answer = _answer(definition, names, gradients, results)
    if wanted:
        answer["derivatives"] = [
            _describe(want, {name: results[f"{DERIVATIVE}{index}:{name}"] for name in made})
            for index, (want, made) in enumerate(zip(wanted, derived, strict=True))
        ]
    return answer


def _cost(plan: Plan, point: EvaluationPoint, *, derivatives: bool) -> Cost:
    """Return what one run of a plan takes; refuse too many bytes or operations."""
    taken = {"plan_bytes": plan.peak_bytes, "initial_bytes": point.initial_bytes, "output_bytes": output_bytes(plan)}
    check_memory(Cost(taken))
    pointer, advice = ("/want", "ask for fewer derivatives, or of fewer elements") if derivatives else ADVICE
    return Cost(taken, check_work(plan, pointer, advice, beside=point.draw_operations))


def _values(graph: Trace, names: Sequence[str]) -> tuple[dict[str, Value], list[str]]:
    """Return the losses and what is wanted by name, and which parameters have an entry among the gradients."""
    values: dict[str, Value] = dict(graph.outputs) if "outputs" in names else {}
    values.update({LOSS + name: value for name, value in graph.losses.items()})
    gradients: dict[str, Value | None] = {}
    if "gradients" in names:
        gradients = graph.gradients(graph.total_loss(), graph.parameters)
        values.update({GRADIENT + name: value for name, value in gradients.items() if value is not None})
    return values, list(gradients)


def _answer(
    definition: Definition, names: Sequence[str], gradients: Sequence[str], results: Mapping[str, Array]
) -> dict[str, Any]:
    answer: dict[str, Any] = {"losses": {name: results[LOSS + name].item() for name in definition.losses}}
    if "outputs" in names:
        answer["outputs"] = {name: results[name] for name in definition.outputs}
    if "gradients" in names:
        answer["gradients"] = {name: results.get(GRADIENT + name) for name in gradients}
    return answer


def _describe(want: DerivativeRequest, tensors: dict[str, Array]) -> dict[str, Any]:
    return {"want": want.place, "kind": want.kind, "of": list(want.of), "by": list(want.by), "tensors": tensors}
