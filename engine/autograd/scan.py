"""scan: a function carried over the steps of a sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.core.errors import ShapeError
from engine.core.value import Value
from engine.ops.shape.shape import reshape, slice, stack

Values = Value | tuple[Value, ...]
"""One value, or several as a tuple."""


def scan(
    function: Callable[[Any, Any], tuple[Any, Any]], initial: Values, xs: Values, *, reverse: bool = False
) -> tuple[Any, Any]:
    """Carry a state over the steps of a sequence: `carry, y = function(carry, x)`, as jax.lax.scan.

    The steps are written out one after another, on the tape or in the graph, so any function of Values will do and
    derivatives of any order go through it.

    Args:
        function: called with the carried values and those of one step; gives the new carried values and a result.
        initial: what is carried first.
        xs: sequences with equal first axes, the steps.
        reverse: go from the last step to the first; the results stay at the places of their steps.

    Returns:
        What is carried last, and the results stacked along a new first axis (each of them; None when there are none).
    """
    sequences = xs if isinstance(xs, tuple) else (xs,)
    counts = {x.shape[0] if x.ndim else 0 for x in sequences}
    if len(counts) != 1 or 0 in counts:
        shown = ", ".join(str(list(x.shape)) for x in sequences) or "none"
        raise ShapeError(f"scan needs sequences with equal first axes of at least one step, got shapes {shown}")
    (count,) = counts
    carry, results = initial, []
    for t in range(count - 1, -1, -1) if reverse else range(count):
        step = tuple(_step(x, t) for x in sequences)
        carry, y = function(carry, step if isinstance(xs, tuple) else step[0])
        results.append(y)
    if reverse:
        results.reverse()
    if results[0] is None:
        return carry, None
    if isinstance(results[0], tuple):
        return carry, tuple(stack(*ys) for ys in zip(*results, strict=True))
    return carry, stack(*results)


def _step(x: Value, t: int) -> Value:
    return reshape(slice(x, start=t, stop=t + 1), shape=x.shape[1:])
