"""What L-BFGS remembers of the curvature: how the gradient changed with the last steps, in rings of fixed shape."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.core.dtypes import FLOAT64, INT64
from engine.core.value import Array, Spec
from engine.optim.inner_product import inner

LEAST_CURVATURE = 1e-10
"""Pairs whose inner product is not greater are not remembered, as in torch."""


def curvature_slots(parameter: Spec, history_size: int) -> dict[str, Spec]:
    """Return shape and dtype of what `Curvature` keeps for a vector; all of it starts at 0."""
    pairs = Spec((history_size, *parameter.shape), parameter.dtype)
    return {
        "steps": pairs,
        "changes": pairs,
        "inverse_products": Spec((history_size, 1), FLOAT64),  # one axis would pass for a slot beside the vector
        "scale": Spec((), FLOAT64),
        "held": Spec((), INT64),
        "oldest": Spec((), INT64),
    }


class Curvature:
    """The pairs (step s, change of the gradient y) in arrays that someone else holds.

    Row `oldest` of the rings is the first of the `held` pairs; `inverse_products` are 1 / (y s), `scale` is y s / (y y)
    of the latest pair.
    """

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        """Work on the arrays that `curvature_slots` describes."""
        self._arrays = arrays
        self._steps, self._changes = arrays["steps"], arrays["changes"]
        self._inverse_products = arrays["inverse_products"]

    def forget(self) -> None:
        """Drop all pairs, so that the next direction is that of steepest descent."""
        self._arrays["held"][...] = self._arrays["oldest"][...] = 0
        self._arrays["scale"][...] = 1.0

    @np.errstate(over="ignore", invalid="ignore")
    def remember(self, step: Array, change: Array) -> None:
        """Add a pair in place of the oldest, when the gradient grew along the step."""
        product = inner(change, step)
        if not product > LEAST_CURVATURE:
            return
        size, held, oldest = len(self._steps), int(self._arrays["held"]), int(self._arrays["oldest"])
        row = (oldest + held) % size
        self._steps[row], self._changes[row], self._inverse_products[row, 0] = step, change, 1.0 / product
        if held == size:
            self._arrays["oldest"][...] = (oldest + 1) % size
        else:
            self._arrays["held"][...] = held + 1
        self._arrays["scale"][...] = product / inner(change, change)

    @np.errstate(over="ignore", invalid="ignore")
    def direction(self, gradient: Array) -> Array:
        """Return minus the inverse Hessian times the gradient, by two loops over the pairs (Nocedal 1980)."""
        rows = self._rows()
        direction, weights = -gradient, {}
        for row in reversed(rows):
            weights[row] = inner(self._steps[row], direction) * float(self._inverse_products[row, 0])
            direction += self._changes[row] * -weights[row]
        direction *= float(self._arrays["scale"])
        for row in rows:
            weight = inner(self._changes[row], direction) * float(self._inverse_products[row, 0])
            direction += self._steps[row] * (weights[row] - weight)
        return direction

    def _rows(self) -> list[int]:
        """Return the rows of the pairs, the oldest first."""
        held, oldest = int(self._arrays["held"]), int(self._arrays["oldest"])
        return [(oldest + place) % len(self._steps) for place in range(held)]
