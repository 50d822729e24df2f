"""How a graph is to be fitted."""

from engine.training.recipe.continuation import ADJUSTABLE, check_continuation
from engine.training.recipe.options import CheckpointPolicy, GradientRecord, Record
from engine.training.recipe.recipe import Recipe, Validation, form_of_recipe, read_recipe

__all__ = [
    "ADJUSTABLE",
    "CheckpointPolicy",
    "GradientRecord",
    "Recipe",
    "Record",
    "Validation",
    "check_continuation",
    "form_of_recipe",
    "read_recipe",
]
