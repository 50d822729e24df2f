"""How a graph is to be fitted."""

from engine.recipe.capturing import GradientRecord
from engine.recipe.keeping import CheckpointPolicy, Record
from engine.recipe.recipe import Recipe, Validation, read_recipe

__all__ = ["CheckpointPolicy", "GradientRecord", "Recipe", "Record", "Validation", "read_recipe"]
