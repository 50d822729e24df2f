"""What of a recipe decides how its steps are planned."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

SCALES = frozenset({"optimizer", "clip", "noise", "loss_scaling"})
"""Fields whose fractional numbers scale what a step computes, and change neither its form nor the memory it takes."""


def form_of_recipe(recipe: Mapping[str, Any]) -> str:
    """Spell what is equal for recipes that take the same steps and bytes: the recipe without seed and mere factors.

    The recipe is one that `read_recipe` takes.
    """
    plain = {name: _shape_of(value) if name in SCALES else value for name, value in recipe.items() if name != "seed"}
    return json.dumps(plain, sort_keys=True, default=str)


def _shape_of(value: Any) -> Any:
    """Return the document with fractional numbers made alike. Zero is not like others: it may leave something out."""
    if isinstance(value, Mapping):
        return {name: _shape_of(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_shape_of(inner) for inner in value]
    if isinstance(value, float) and value != 0 and math.isfinite(value):
        return "a number"
    return value
