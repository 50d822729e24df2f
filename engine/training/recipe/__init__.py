"""How a graph is to be fitted."""

from engine.training.recipe.capturing import GradientRecord
from engine.training.recipe.continuation import ADJUSTABLE, check_continuation
from engine.training.recipe.form import form_of_recipe
from engine.training.recipe.keeping import CheckpointPolicy, Record
from engine.training.recipe.recipe import Recipe, Validation, read_recipe

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
