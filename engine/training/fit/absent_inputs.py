"""The inputs of a graph that a fit does without: nothing that it computes depends on them, and no column feeds them."""

from __future__ import annotations

from collections.abc import Container, Iterator

from engine.graph.definition import Definition, needed_inputs
from engine.training.metrics import find_comparison
from engine.training.recipe import Recipe


def absent_inputs(definition: Definition, recipe: Recipe, *tables: Container[str]) -> tuple[str, ...]:
    """Return the inputs that are left out of a fit.

    They have no column in one of the `tables`, the recipe does not name them, and neither the losses, the metrics nor
    running statistics depend on them.
    """
    named = {*recipe.feeds, *recipe.normalize, *recipe.classes}
    missing = [n for n in definition.inputs if n not in named and any(n not in columns for columns in tables)]
    if not missing:
        return ()
    needed = needed_inputs(definition, (*definition.losses, *_compared(definition, recipe)), training=True)
    return tuple(name for name in missing if name not in needed)


def _compared(definition: Definition, recipe: Recipe) -> Iterator[str]:
    """Yield what the metrics are computed from: what they name, or else what the graph compares."""
    for metric in recipe.metrics:
        yield from (reference for reference in (metric.predictions, metric.targets) if reference is not None)
    comparison = find_comparison(definition) if recipe.metrics else None
    if comparison is not None:
        yield from (comparison.predictions, comparison.targets)
