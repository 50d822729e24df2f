"""Training steps as plans, whole or in two halves, and evaluations as plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from engine.core.dtypes import FLOAT64
from engine.core.errors import DocumentError, Finding
from engine.core.value import Value
from engine.execution.plan import Plan, make_plan
from engine.graph.definition import Definition
from engine.graph.rematerialization import RematOptions
from engine.graph.trace import KEY, Trace, build
from engine.ops.elementwise.casting import cast
from engine.training.metrics.metric import Metric
from engine.training.metrics.tally import metric_statistics
from engine.training.recipe.recipe import Recipe
from engine.training.step.gradient import (
    differentiate_loss,
    keep_finite_buffers,
    limit_parameters,
    pack_gradients,
    trace_model,
    units_of,
)
from engine.training.step.names import BATCH_LOSS, GRADIENT, LOSS, LOSS_WEIGHT, WEIGHT
from engine.training.step.reduction import Reduction, weight_of_targets
from engine.training.step.update import Update, unscale
from engine.training.train_state import FlatGroup, StateLayout


def trained_parameters(definition: Definition, dims: Mapping[str, int]) -> tuple[str, ...]:
    """Return the parameters that are not frozen and on which a loss depends."""
    return trained_in(build(definition, dims, training=True))


def trained_in(graph: Trace) -> tuple[str, ...]:
    """Return the same for a definition that has been traced for training."""
    return graph.reached_parameters(graph.total_loss())


def plan_training(
    model: StateLayout,
    dims: Mapping[str, int],
    recipe: Recipe,
    flat_groups: Sequence[FlatGroup] | None = None,
    *,
    averaging: bool = False,
    most_shards: int = 1,
) -> Plan:
    """Plan one whole training step at the extents `dims`: forward, backward, clipping, update, running statistics.

    Inputs of the plan are the graph's inputs, `KEY`, a learning rate for each group and what else the recipe needs (see
    engine.training.step.gradient). Outputs are the loss, statistics of the metrics, and squared norms of the gradients
    before clipping.

    Args:
        model: the arrays to work on.
        dims: a number for each named extent.
        recipe: how to step.
        flat_groups: the vectors that are trained in this step; by default all.
        averaging: whether the weight average is updated.
        most_shards: maximum number of shards of the batch.
    """
    if recipe.memory_budget is not None:
        return plan_within_budget(
            recipe,
            lambda chosen: plan_training(
                model, dims, chosen, flat_groups, averaging=averaging, most_shards=most_shards
            ),
        )
    flat_groups = model.flat_groups if flat_groups is None else flat_groups
    made = differentiate_loss(model, dims, recipe, flat_groups)
    graph, leaves = made.graph, made.leaves
    update = Update(model, recipe, leaves, averaging)
    with graph.trace():
        gradients = made.given()
        vectors = {flat.name: pack_gradients(flat, gradients) for flat in flat_groups}
        start = {flat.name: limit_parameters(flat, graph, leaves) for flat in flat_groups}
        update.step(flat_groups, gradients, vectors, start, graph.buffer_updates, graph.key, made.outputs[LOSS])
    inputs = {**graph.inputs, KEY: graph.key, **made.inputs, **update.inputs}
    outputs = {**made.outputs, **update.outputs}
    return make_plan(
        inputs,
        leaves,
        outputs,
        update.updates,
        rows=tuple(graph.inputs),
        most_shards=most_shards,
        origin_of=graph.origin_of,
    )


def plan_gradients(
    model: StateLayout,
    dims: Mapping[str, int],
    recipe: Recipe,
    flat_groups: Sequence[FlatGroup],
    names: Sequence[str],
    *,
    most_shards: int = 1,
) -> Plan:
    """Plan the gradients of the loss with respect to some parameters of `flat_groups`; no array of the model changes.

    They are the gradients that the step of `plan_training` has before clipping, without the scale of the loss. Outputs
    are named `GRADIENT` and the name of the parameter.
    """
    if recipe.memory_budget is not None:
        return plan_within_budget(
            recipe, lambda chosen: plan_gradients(model, dims, chosen, flat_groups, names, most_shards=most_shards)
        )
    made = differentiate_loss(model, dims, recipe, flat_groups)
    graph, leaves, gradients = made.graph, made.leaves, made.given()
    with graph.trace():
        outputs = {GRADIENT + name: unscale(gradients[name], leaves) for name in names}
    inputs = {**graph.inputs, KEY: graph.key, **made.inputs}
    return make_plan(
        inputs, leaves, outputs, {}, rows=tuple(graph.inputs), most_shards=most_shards, origin_of=graph.origin_of
    )


def plan_part(
    model: StateLayout,
    dims: Mapping[str, int],
    recipe: Recipe,
    flat_groups: Sequence[FlatGroup],
    reduction: Reduction,
    rows: int,
    *,
    most_shards: int = 1,
) -> Plan:
    """Plan forward and backward of `rows` rows of a batch, which add their gradients to the states `GRADIENT`.

    Running statistics are updated, as by every forward pass in training; with guarded steps only by finite values.
    """
    if recipe.memory_budget is not None:
        return plan_within_budget(
            recipe, lambda chosen: plan_part(model, dims, chosen, flat_groups, reduction, rows, most_shards=most_shards)
        )
    made = differentiate_loss(model, dims, recipe, flat_groups, (reduction, rows))
    graph, leaves = made.graph, dict(made.leaves)
    with graph.trace():
        gradients = made.given()
        buffers = {f"buffer:{name}": new for name, new in graph.buffer_updates.items()}
        updates = {name: keep_finite_buffers(new, leaves[name], recipe) for name, new in buffers.items()}
        for flat in flat_groups:
            total = leaves[GRADIENT + flat.name] = Value((flat.size,), flat.dtype, None, name=GRADIENT + flat.name)
            updates[GRADIENT + flat.name] = total + pack_gradients(flat, gradients)
            if any(name in graph.parameter_updates for name in flat.shapes):
                updates[flat.name] = limit_parameters(flat, graph, leaves)
    inputs = {**graph.inputs, KEY: graph.key, **made.inputs}
    return make_plan(
        inputs,
        leaves,
        made.outputs,
        updates,
        rows=tuple(graph.inputs),
        most_shards=most_shards,
        origin_of=graph.origin_of,
    )


def plan_update(
    model: StateLayout,
    recipe: Recipe,
    flat_groups: Sequence[FlatGroup],
    reduction: Reduction,
    *,
    averaging: bool = False,
    tells_clipping: bool = False,
) -> Plan:
    """Plan the update by the accumulated gradients of a batch's parts.

    With `tells_clipping` there is the output `CLIPPED` if gradients are limited.
    """
    graph = build(Definition("", {}, {}, {}, {}, (), (), ()), {}, training=True)
    with graph.trace():
        leaves, _, _ = model.values()
        leaves = dict(leaves)
        update = Update(model, recipe, leaves, averaging, tells_clipping)
        inputs: dict[str, Value] = {}
        vectors = {}
        for flat in flat_groups:
            total = leaves[GRADIENT + flat.name] = Value((flat.size,), flat.dtype, None, name=GRADIENT + flat.name)
            if reduction == "weighted":
                weight = inputs.setdefault(WEIGHT, Value((), FLOAT64, None, name="weight"))
                total = total / cast(weight, dtype=flat.dtype)
            vectors[flat.name] = total
        loss = None
        if recipe.guarded and recipe.nonfinite != "continue":
            loss = inputs[BATCH_LOSS] = Value((), FLOAT64, None, name="loss")
        gradients = {n: g for flat in flat_groups for n, g in flat.values(vectors[flat.name]).items()}
        update.step(
            flat_groups, gradients, vectors, {flat.name: leaves[flat.name] for flat in flat_groups}, {}, graph.key, loss
        )
    return make_plan({KEY: graph.key, **inputs, **update.inputs}, leaves, update.outputs, update.updates)


def plan_evaluation(
    model: StateLayout,
    dims: Mapping[str, int],
    metrics: Sequence[Metric],
    *,
    outputs: bool = False,
    reduction: Reduction = "mean",
    most_shards: int = 1,
) -> Plan:
    """Plan the loss and statistics of metrics, or the declared outputs, in evaluation mode and full precision.

    A "weighted" loss comes with its divisor, `LOSS_WEIGHT`. The batch has at most `most_shards` shards.
    """
    leaves, graph = trace_model(model, dims, None, (), training=False)
    inputs, rows = {**graph.inputs, KEY: graph.key}, tuple(graph.inputs)
    wanted = dict(graph.outputs) if outputs else _evaluated(model, leaves, graph, metrics)
    weight = weight_of_targets(graph) if reduction == "weighted" and not outputs else None
    if weight is not None:
        wanted[LOSS_WEIGHT] = weight
    return make_plan(inputs, leaves, wanted, {}, rows=rows, most_shards=most_shards, origin_of=graph.origin_of)


def check_evaluation(model: StateLayout, dims: Mapping[str, int], metrics: Sequence[Metric]) -> None:
    """Raise what `plan_evaluation` would of the loss and the metrics, and plan nothing."""
    leaves, graph = trace_model(model, dims, None, (), training=False)
    _evaluated(model, leaves, graph, metrics)


def _evaluated(
    model: StateLayout, leaves: Mapping[str, Value], graph: Trace, metrics: Sequence[Metric]
) -> dict[str, Value]:
    return {LOSS: graph.total_loss(), **metric_statistics(metrics, graph, units=units_of(model, leaves))}


MAX_SEGMENTS = 512
FUTILE = 2
"""Number of consecutive segment counts without savings, after which the search ends."""


def plan_within_budget(recipe: Recipe, make: Callable[[Recipe], Plan]) -> Plan:
    """Plan with `make`, with as little recomputation as the memory budget allows.

    Recomputation has none, or 2, 3, 4, 6, ... of the segments of `RematOptions`. The gradients are bit for bit the
    same.

    Raises:
        DocumentError: no number of segments makes the plan fit; it says the smallest bytes of a plan.
    """
    budget, recipe = recipe.memory_budget, replace(recipe, memory_budget=None)
    plan = make(recipe)
    if budget is None or plan.peak_bytes <= budget:
        return plan
    least, futile = plan.peak_bytes, 0
    for pieces in _numbers():
        try:
            plan = make(replace(recipe, recompute=RematOptions(segments=pieces)))
        except DocumentError as error:
            if any(finding.pointer != "/segments" for finding in error.findings):
                raise
            break  # more pieces than the graph has nodes
        if plan.peak_bytes <= budget:
            return plan
        futile = futile + 1 if plan.peak_bytes >= least else 0
        least = min(least, plan.peak_bytes)
        if futile == FUTILE:
            break
    detail = f"a step of this fit needs at least {least} bytes even with recomputation; the budget is {budget}"
    detail = f"{detail}: allow more, or take smaller batches or micro-batches"
    raise DocumentError([Finding("/memory_budget", "memory_exceeded", detail)])


def _numbers() -> Iterator[int]:
    """Yield 2, 3, 4, 6, 8, 12, 16, ...: each about 1.5 times the one before."""
    pieces = 2
    while pieces <= MAX_SEGMENTS:
        yield pieces
        yield pieces * 3 // 2
        pieces *= 2
