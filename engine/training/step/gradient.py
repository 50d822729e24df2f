"""The first half of a training step: forward and backward, one vector of gradients for each vector of parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.core.dtypes import FLOAT64, is_float
from engine.core.value import Value
from engine.graph.definition import Definition
from engine.graph.trace import Trace, build
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.comparison import isfinite, where
from engine.ops.elementwise.elementwise import mul
from engine.ops.reduce.reduce import all
from engine.ops.shape.shape import pack
from engine.training.metrics.tally import metric_statistics
from engine.training.metrics.target_units import Unit
from engine.training.recipe.options import low_dtype, waiting_dtype
from engine.training.recipe.recipe import Recipe
from engine.training.step.names import LOSS, LOSS_WEIGHT, SHARE
from engine.training.step.reduction import Reduction, summing, weight_of_targets
from engine.training.train_state import LOSS_SCALE, SCALE, SHIFT, FlatGroup, StateLayout

Part = tuple[Reduction, int]
"""The reduction of the loss, and the number of rows of this part of a batch."""


@dataclass
class Gradients:
    """The traced forward and backward passes of a batch, or of a part of one.

    Attributes:
        graph: the trace; later operations are added to it.
        leaves: every array of the model.
        inputs: inputs besides those of the graph.
        outputs: the loss and statistics of metrics.
        by_parameter: the gradient of each parameter; None if no path leads to the loss.
    """

    graph: Trace
    leaves: dict[str, Value]
    inputs: dict[str, Value]
    outputs: dict[str, Value]
    by_parameter: dict[str, Value | None]

    def given(self) -> dict[str, Value]:
        """Return the gradients that exist."""
        return {name: gradient for name, gradient in self.by_parameter.items() if gradient is not None}


def differentiate_loss(
    model: StateLayout,
    dims: Mapping[str, int],
    recipe: Recipe,
    flat_groups: Sequence[FlatGroup],
    part: Part | None = None,
) -> Gradients:
    """Trace the loss and its gradients with respect to the vectors `flat_groups`.

    Args:
        model: the arrays to work on.
        dims: a number for each named extent.
        recipe: precision, metrics and recomputation.
        flat_groups: the vectors that are trained in this step.
        part: given for a part of a batch, whose gradients are added to those of the other parts.
    """
    leaves, graph = trace_model(model, dims, recipe, flat_groups, training=True)
    weight = weight_of_targets(graph) if part is not None and part[0] == "weighted" else None
    if weight is not None:
        # Of the mean over a part without any weight, 0 / 0, no factor makes a gradient of 0.
        leaves, graph = trace_model(model, dims, recipe, flat_groups, training=True, summed=True)
        weight = weight_of_targets(graph)
    inputs: dict[str, Value] = {}
    objective = graph.total_loss()
    outputs = {LOSS: objective}
    outputs.update(metric_statistics([m for m in recipe.metrics if m.every_step], graph, units=units_of(model, leaves)))
    if part is not None:
        reduction, rows = part
        inputs[SHARE] = Value((), FLOAT64, None, name="share")
        with graph.trace():
            if weight is not None:
                outputs.update({LOSS: objective / cast(weight, dtype=objective.dtype), LOSS_WEIGHT: weight})
            counted = 1.0 if reduction == "sum" or weight is not None else float(rows)
            objective = _scaled(objective, inputs[SHARE] * counted)
    if LOSS_SCALE in leaves:
        with graph.trace():
            objective = _scaled(objective, leaves[LOSS_SCALE])
    wrt = {name: graph.parameters[name] for flat in flat_groups for name in flat.shapes}
    return Gradients(graph, leaves, inputs, outputs, graph.gradients(objective, wrt))


def trace_model(
    model: StateLayout,
    dims: Mapping[str, int],
    recipe: Recipe | None,
    flat_groups: Sequence[FlatGroup],
    *,
    training: bool,
    summed: bool = False,
) -> tuple[dict[str, Value], Trace]:
    """Trace the model's graph over leaves for its arrays; without a recipe at full precision.

    With `summed` its loss, a mean over weights of targets, becomes their sum.
    """
    empty = build(Definition("", {}, {}, {}, {}, (), (), ()), {}, training=training)
    with empty.trace():
        leaves, parameters, buffers = model.values(flat_groups)
    graph = build(
        summing(model.definition) if summed else model.definition,
        dims,
        training=training,
        parameters=parameters,
        buffers=buffers,
        autocast=None if recipe is None else low_dtype(recipe.precision),
        recompute=None if recipe is None else recipe.recompute,
        activation_dtype=None if recipe is None else waiting_dtype(recipe.activations),
    )
    return leaves, graph


def units_of(model: StateLayout, leaves: Mapping[str, Value]) -> dict[str, Unit]:
    """Return the inverse of the normalisation of each normalised target, by its name."""
    return {name: Unit(leaves[f"{SCALE}:{name}"], leaves[f"{SHIFT}:{name}"]) for name in model.units}


def pack_gradients(flat: FlatGroup, gradients: Mapping[str, Value]) -> Value:
    """Return the gradients of a vector's parameters in one vector; 0 where there is none."""
    parts = {name: gradients[name] for name in flat.shapes if name in gradients}
    return pack(*parts.values(), offsets=tuple(flat.offsets[name] for name in parts), size=flat.size)


def limit_parameters(flat: FlatGroup, graph: Trace, leaves: Mapping[str, Value]) -> Value:
    """Return a vector of parameters as the step uses it: some layers limit their rows in the forward pass."""
    vector = leaves[flat.name]
    if not any(name in graph.parameter_updates for name in flat.shapes):
        return vector
    parameters = flat.values(vector)
    pieces = [graph.parameter_updates.get(name, parameters[name]) for name in flat.shapes]
    return pack(*pieces, offsets=tuple(flat.offsets.values()), size=flat.size)


def keep_finite_buffers(new: Value, old: Value, recipe: Recipe) -> Value:
    """Return running statistics after a pass: the old ones where steps that are not finite are skipped."""
    return where(all(isfinite(new)), new, old) if recipe.guarded and is_float(new.dtype) else new


def _scaled(loss: Value, factor: Value) -> Value:
    return mul(loss, cast(factor, dtype=loss.dtype))
