"""The training step as one plan: forward, backward, clipping, update, running statistics; and its evaluation twin."""

from __future__ import annotations

from collections.abc import Mapping

from engine.dtypes import FLOAT64
from engine.errors import DocumentError, Finding
from engine.functional import clip_by_norm
from engine.graph.definition import Definition
from engine.graph.trace import Trace, build
from engine.model import Flat, Form
from engine.ops.classification import accuracy
from engine.ops.elementwise import clamp, square
from engine.ops.reduce import sum
from engine.ops.shape import pack
from engine.optim import Optimizer
from engine.plan import Plan, make_plan
from engine.recipe import Clip
from engine.value import Value

KEY, RATE = ":key", ":lr"
"""Inputs of plans beside those of the graph, whose names never hold a colon."""

SQUARED_NORM = "squared_norm:"
CLASSIFICATION_LOSSES = ("cross_entropy", "nll_loss", "bce_with_logits_loss", "bce_loss")


def trained_parameters(definition: Definition, dims: Mapping[str, int]) -> tuple[str, ...]:
    """Return the parameters that are not frozen and that some path connects with a loss."""
    graph = build(definition, dims, training=True)
    gradients = graph.gradients(graph.total_loss(), graph.parameters)
    return tuple(name for name, gradient in gradients.items() if gradient is not None)


def plan_training(
    model: Form, dims: Mapping[str, int], optimizer: Optimizer, clip: Clip, metrics: tuple[str, ...], *, norms: bool
) -> Plan:
    """Plan one training step at the extents `dims`.

    Inputs of the plan are the graph's inputs, `KEY` (random key, int64[2]) and `RATE` (float64). Its outputs are
    `loss`, the metrics, and squared norms of the gradients before clipping, in all and (with `norms`) by parameter.
    """
    definition = model.definition
    lr = Value((), FLOAT64, None, name="lr")
    leaves, graph = _traced(model, dims, training=True)
    loss = graph.total_loss()
    wrt = {name: graph.parameters[name] for flat in model.flats for name in flat.shapes}
    gradients = graph.gradients(loss, wrt)
    with graph.trace():
        outputs = {"loss": loss, **_metrics(graph, definition, metrics)}
        vectors = {flat.name: _packed(flat, gradients) for flat in model.flats}
        squares = [sum(square(vector)) for vector in vectors.values()]
        total = squares[0]
        for other in squares[1:]:
            total = total + other
        outputs[SQUARED_NORM] = total
        if norms:
            outputs.update({SQUARED_NORM + n: sum(square(g)) for n, g in gradients.items() if g is not None})
        updates = {f"buffer:{name}": value for name, value in graph.buffer_updates.items()}
        for flat in model.flats:
            gradient = _clipped(vectors[flat.name], total, clip)
            updates.update(_stepped(model, flat, optimizer, gradient, leaves, lr))
    return make_plan({**graph.inputs, KEY: graph.key, RATE: lr}, leaves, outputs, updates)


def plan_evaluation(model: Form, dims: Mapping[str, int], metrics: tuple[str, ...], *, outputs: bool = False) -> Plan:
    """Plan the losses and metrics, or the declared outputs, in evaluation mode."""
    leaves, graph = _traced(model, dims, training=False)
    wanted = (
        dict(graph.outputs) if outputs else {"loss": graph.total_loss(), **_metrics(graph, model.definition, metrics)}
    )
    return make_plan({**graph.inputs, KEY: graph.key}, leaves, wanted, {})


def metric_operands(definition: Definition) -> tuple[str, str] | None:
    """Return the references of predictions and targets: what the first classification loss compares."""
    by_name = {node.name: node for node in definition.nodes}
    candidates = [by_name[loss.partition(":")[0]] for loss in definition.losses if loss.partition(":")[0] in by_name]
    for node in (*candidates, *definition.nodes):
        if node.op in CLASSIFICATION_LOSSES and len(node.inputs) >= 2:
            predictions, targets = node.inputs[:2]
            if isinstance(predictions, str) and isinstance(targets, str):
                return predictions, targets
    return None


def _traced(model: Form, dims: Mapping[str, int], *, training: bool) -> tuple[dict[str, Value], Trace]:
    """Trace the model's graph over leaves that stand for its arrays."""
    empty = build(Definition("", {}, {}, {}, {}, (), (), ()), {}, training=training)
    with empty.trace():
        leaves, parameters, buffers = model.values()
    return leaves, build(model.definition, dims, training=training, parameters=parameters, buffers=buffers)


def _packed(flat: Flat, gradients: Mapping[str, Value | None]) -> Value:
    parts = {name: gradient for name in flat.shapes if (gradient := gradients[name]) is not None}
    return pack(*parts.values(), offsets=tuple(flat.offsets[name] for name in parts), size=flat.size)


def _stepped(
    model: Form, flat: Flat, optimizer: Optimizer, gradient: Value, leaves: Mapping[str, Value], lr: Value
) -> dict[str, Value]:
    """Return a vector of parameters and its slots after a step: in one go, or where that will not do one by one."""
    updates: dict[str, Value] = {}

    def step(name: str, gradient: Value, parameter: Value) -> Value:
        slots = {slot: leaves[f"{slot}:{name}"] for slot in model.slots[name]}
        stepped, changed = optimizer.update(gradient, parameter, slots, lr)
        updates.update({f"{slot}:{name}": value for slot, value in changed.items()})
        return stepped

    vector = leaves[flat.name]
    if optimizer.elementwise:
        return {flat.name: step(flat.name, gradient, vector), **updates}
    gradients, parameters = flat.values(gradient), flat.values(vector)
    pieces = [step(name, gradients[name], parameters[name]) for name in flat.shapes]
    return {flat.name: pack(*pieces, offsets=tuple(flat.offsets.values()), size=flat.size), **updates}


def _clipped(gradient: Value, squared_norm: Value, clip: Clip) -> Value:
    if clip.norm is not None:
        gradient = clip_by_norm(gradient, squared_norm, clip.norm)
    if clip.value is not None:
        gradient = clamp(gradient, min=-clip.value, max=clip.value)
    return gradient


def _metrics(graph: Trace, definition: Definition, metrics: tuple[str, ...]) -> dict[str, Value]:
    if not metrics:
        return {}
    operands = metric_operands(definition)
    if operands is None:
        detail = f"accuracy needs one of the losses {', '.join(CLASSIFICATION_LOSSES)} in the graph"
        raise DocumentError([Finding("/metrics", "metric_unavailable", detail)])
    predictions, targets = (graph.value(reference) for reference in operands)
    return {"accuracy": accuracy(predictions, targets)}
