"""How a graph is to be fitted."""

from engine.recipe.capturing import GradientRecord
from engine.recipe.continuation import ADJUSTABLE, check_continuation
from engine.recipe.form import form_of_recipe
from engine.recipe.keeping import CheckpointPolicy, Record
from engine.recipe.recipe import Recipe, Validation, read_recipe

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
