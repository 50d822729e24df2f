"""Training steps as plans, whole or in two halves, and their evaluation twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.core.dtypes import FLOAT64
from engine.core.value import Value
from engine.execution.plan import Plan, make_plan
from engine.graph.definition import Definition
from engine.graph.trace import KEY, build
from engine.ops.casting import cast
from engine.training.metrics import Metric, metric_statistics
from engine.training.model import Flat, Form
from engine.training.recipe import Recipe
from engine.training.step.budget import within_budget
from engine.training.step.gradient import differentiate_loss, entering, kept_finite, packed, traced, units_of
from engine.training.step.names import BATCH_LOSS, GRADIENT, LOSS, LOSS_WEIGHT, WEIGHT
from engine.training.step.reduction import Reduction, weight_of_targets
from engine.training.step.update import Update, unscaled


def trained_parameters(definition: Definition, dims: Mapping[str, int]) -> tuple[str, ...]:
    """Return the parameters that are not frozen and that some path connects with a loss."""
    graph = build(definition, dims, training=True)
    gradients = graph.gradients(graph.total_loss(), graph.parameters)
    return tuple(name for name, gradient in gradients.items() if gradient is not None)


def plan_training(
    model: Form,
    dims: Mapping[str, int],
    recipe: Recipe,
    flats: Sequence[Flat] | None = None,
    *,
    averaging: bool = False,
    most_shards: int = 1,
) -> Plan:
    """Plan one whole training step at the extents `dims`: forward, backward, clipping, update, running statistics.

    Inputs of the plan are the graph's inputs, `KEY`, a learning rate for each group and what else the recipe needs (see
    engine.training.step.names). Its outputs are the loss, statistics of the metrics, and squared norms of the gradients
    before clipping.

    Args:
        model: the arrays to work on.
        dims: a number for each named extent.
        recipe: how to step.
        flats: the vectors that are trained in this step; by default all.
        averaging: whether the average takes the weights of this step.
        most_shards: into how many shards the batch may be cut.
    """
    if recipe.memory_budget is not None:
        return within_budget(
            recipe,
            lambda chosen: plan_training(model, dims, chosen, flats, averaging=averaging, most_shards=most_shards),
        )
    flats = model.flats if flats is None else flats
    made = differentiate_loss(model, dims, recipe, flats)
    graph, leaves = made.graph, made.leaves
    update = Update(model, recipe, leaves, averaging)
    with graph.trace():
        gradients = made.given()
        vectors = {flat.name: packed(flat, gradients) for flat in flats}
        start = {flat.name: entering(flat, graph, leaves) for flat in flats}
        update.step(flats, gradients, vectors, start, graph.buffer_updates, graph.key, made.outputs[LOSS])
    inputs = {**graph.inputs, KEY: graph.key, **made.inputs, **update.inputs}
    outputs = {**made.outputs, **update.outputs}
    return make_plan(inputs, leaves, outputs, update.updates, rows=tuple(graph.inputs), most_shards=most_shards)


def plan_gradients(
    model: Form,
    dims: Mapping[str, int],
    recipe: Recipe,
    flats: Sequence[Flat],
    names: Sequence[str],
    *,
    most_shards: int = 1,
) -> Plan:
    """Plan the gradients of the loss by some parameters in the vectors `flats`, as the step by `plan_training` has
    them before clipping and without the scale of the loss; every array of the model stays as it is.

    Outputs are the gradients, by `GRADIENT` and the name of the parameter.
    """
    if recipe.memory_budget is not None:
        return within_budget(
            recipe, lambda chosen: plan_gradients(model, dims, chosen, flats, names, most_shards=most_shards)
        )
    made = differentiate_loss(model, dims, recipe, flats)
    graph, leaves, gradients = made.graph, made.leaves, made.given()
    with graph.trace():
        outputs = {GRADIENT + name: unscaled(gradients[name], leaves) for name in names}
    inputs = {**graph.inputs, KEY: graph.key, **made.inputs}
    return make_plan(inputs, leaves, outputs, {}, rows=tuple(graph.inputs), most_shards=most_shards)


def plan_part(
    model: Form,
    dims: Mapping[str, int],
    recipe: Recipe,
    flats: Sequence[Flat],
    reduction: Reduction,
    rows: int,
    *,
    most_shards: int = 1,
) -> Plan:
    """Plan forward and backward of `rows` rows of a batch, which add their gradients to the states `GRADIENT`.

    Running statistics are updated, as they are by every forward pass in training; where steps that are not finite are
    left out, by finite ones.
    """
    if recipe.memory_budget is not None:
        return within_budget(
            recipe, lambda chosen: plan_part(model, dims, chosen, flats, reduction, rows, most_shards=most_shards)
        )
    made = differentiate_loss(model, dims, recipe, flats, (reduction, rows))
    graph, leaves = made.graph, dict(made.leaves)
    with graph.trace():
        gradients = made.given()
        buffers = {f"buffer:{name}": new for name, new in graph.buffer_updates.items()}
        updates = {name: kept_finite(new, leaves[name], recipe) for name, new in buffers.items()}
        for flat in flats:
            total = leaves[GRADIENT + flat.name] = Value((flat.size,), flat.dtype, None, name=GRADIENT + flat.name)
            updates[GRADIENT + flat.name] = total + packed(flat, gradients)
            if any(name in graph.parameter_updates for name in flat.shapes):
                updates[flat.name] = entering(flat, graph, leaves)
    inputs = {**graph.inputs, KEY: graph.key, **made.inputs}
    return make_plan(inputs, leaves, made.outputs, updates, rows=tuple(graph.inputs), most_shards=most_shards)


def plan_update(
    model: Form,
    recipe: Recipe,
    flats: Sequence[Flat],
    reduction: Reduction,
    *,
    averaging: bool = False,
    tells_clipping: bool = False,
) -> Plan:
    """Plan the update by the gradients that the parts of a batch have added up.

    With `tells_clipping` there is the output `CLIPPED` where gradients are limited.
    """
    graph = build(Definition("", {}, {}, {}, {}, (), (), ()), {}, training=True)
    with graph.trace():
        leaves, _, _ = model.values()
        leaves = dict(leaves)
        update = Update(model, recipe, leaves, averaging, tells_clipping)
        inputs: dict[str, Value] = {}
        vectors = {}
        for flat in flats:
            total = leaves[GRADIENT + flat.name] = Value((flat.size,), flat.dtype, None, name=GRADIENT + flat.name)
            if reduction == "weighted":
                weight = inputs.setdefault(WEIGHT, Value((), FLOAT64, None, name="weight"))
                total = total / cast(weight, dtype=flat.dtype)
            vectors[flat.name] = total
        loss = None
        if recipe.guarded and recipe.nonfinite != "continue":
            loss = inputs[BATCH_LOSS] = Value((), FLOAT64, None, name="loss")
        gradients = {n: g for flat in flats for n, g in flat.values(vectors[flat.name]).items()}
        update.step(flats, gradients, vectors, {flat.name: leaves[flat.name] for flat in flats}, {}, graph.key, loss)
    return make_plan({KEY: graph.key, **inputs, **update.inputs}, leaves, update.outputs, update.updates)


def plan_evaluation(
    model: Form,
    dims: Mapping[str, int],
    metrics: Sequence[Metric],
    *,
    outputs: bool = False,
    reduction: Reduction = "mean",
    most_shards: int = 1,
) -> Plan:
    """Plan the loss and statistics of metrics, or the declared outputs, in evaluation mode and full precision.

    A "weighted" loss comes with what it divides by, `LOSS_WEIGHT`. The batch is cut into `most_shards` shards at most.
    """
    leaves, graph = traced(model, dims, None, (), training=False)
    inputs, rows = {**graph.inputs, KEY: graph.key}, tuple(graph.inputs)
    if outputs:
        return make_plan(inputs, leaves, dict(graph.outputs), {}, rows=rows, most_shards=most_shards)
    wanted = {LOSS: graph.total_loss(), **metric_statistics(metrics, graph, units=units_of(model, leaves))}
    weight = weight_of_targets(graph) if reduction == "weighted" else None
    if weight is not None:
        wanted[LOSS_WEIGHT] = weight
    return make_plan(inputs, leaves, wanted, {}, rows=rows, most_shards=most_shards)
