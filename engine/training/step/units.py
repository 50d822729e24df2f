"""Recipes of fits whose target is normalised: the loss in the units of the data is told beside the trained one."""

from __future__ import annotations

from dataclasses import replace

from engine.graph.definition import Definition
from engine.training.metrics.units_loss import UnitsLoss
from engine.training.recipe import Recipe
from engine.training.step.reduction import named_reduction


def with_units_loss(recipe: Recipe, definition: Definition) -> Recipe:
    """Return the recipe with a metric that tells the loss of the graph in the units of the data."""
    loss = UnitsLoss(summed=named_reduction(definition) == "sum")
    return replace(recipe, metrics=(*recipe.metrics, loss))
