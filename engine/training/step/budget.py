"""Plans within a budget of memory: the pieces to compute again are chosen so that the plan's bytes fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from engine.core.errors import DocumentError, Finding
from engine.execution.plan import Plan
from engine.graph.remat_segments import RematOptions
from engine.training.recipe import Recipe

MOST_PIECES = 512
FUTILE = 2
"""Numbers of pieces in a row that save no more memory, after which no more are tried."""


def within_budget(recipe: Recipe, make: Callable[[Recipe], Plan]) -> Plan:
    """Plan with `make`, computing as little again as the recipe's memory budget allows: nothing, or 2, 3, 4, 6, ... of
    the pieces of `RematOptions`. The gradients are the same to the bit, whatever is chosen.

    Raises:
        DocumentError: no number of pieces makes the plan fit; it tells the least bytes that one comes to.
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
    detail = f"a step of this fit takes {least} bytes at least, however much is computed again; the budget is {budget}"
    detail = f"{detail}: allow more, or take smaller batches or micro-batches"
    raise DocumentError([Finding("/memory_budget", "memory_exceeded", detail)])


def _numbers() -> Iterator[int]:
    """Yield 2, 3, 4, 6, 8, 12, 16, ...: each about half as many again."""
    pieces = 2
    while pieces <= MOST_PIECES:
        yield pieces
        yield pieces * 3 // 2
        pieces *= 2
