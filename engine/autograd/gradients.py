"""Gradients of named leaves: as a dict, and their statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.autograd.backward import reachable
from engine.autograd.tape import accumulate, grad, leaves_of
from engine.core.errors import GradientError
from engine.core.value import Operand, Value
from engine.ops.elementwise.elementwise import clamp, sqrt

NORM_EPSILON = 1e-6


def gradients_by_name(
    outputs: Value | Sequence[Value],
    gradients: Operand | Sequence[Operand | None] | None = None,
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> dict[str, Value]:
    """Differentiate as `backward` does, into `.grad`, and return the gradient of every named leaf; ggmlR's backward.

    Each call returns a new dict with the gradients of this pass alone, not the sums in `.grad`; changing it, as
    `clip_gradients` does, leaves `.grad` as it is. Leaves without a name only get their `.grad`.

    Raises:
        GradientError: two leaves share a name, or what `backward` refuses.
    """
    roots = [outputs] if isinstance(outputs, Value) else list(outputs)
    leaves = leaves_of(roots, reachable(roots))
    _check_names(leaves)
    found = grad(outputs, leaves, gradients, retain_graph=retain_graph, create_graph=create_graph, allow_unused=True)
    named: dict[str, Value] = {}
    for leaf, gradient in zip(leaves, found, strict=True):
        if gradient is None:
            continue
        accumulate(leaf, gradient, in_place=not create_graph)
        if leaf.name is not None:
            named[leaf.name] = gradient
    return named


def _check_names(leaves: Sequence[Value]) -> None:
    seen: set[str] = set()
    for leaf in leaves:
        if leaf.name in seen:
            raise GradientError(f"two leaves are called {leaf.name!r}: gradients by name need another for each")
        if leaf.name is not None:
            seen.add(leaf.name)


@dataclass(frozen=True, slots=True)
class GradientStatistics:
    """Statistics of one gradient.

    Attributes:
        norm: the square root of the sum of squares, in float64.
        smallest: the smallest element that is not NaN.
        largest: the largest one.
        nan: how many elements are NaN.
        inf: how many are infinite.
    """

    norm: float
    smallest: float
    largest: float
    nan: int
    inf: int

    @property
    def finite(self) -> bool:
        """Whether every element is a finite number."""
        return not (self.nan or self.inf)


def gradient_statistics(leaves: Mapping[str, Value]) -> dict[str, GradientStatistics | None]:
    """Return the statistics of `.grad` of every leaf by name; None for a leaf that has none."""
    return {name: None if leaf.grad is None else _statistics(leaf.grad) for name, leaf in leaves.items()}


def _statistics(gradient: Value) -> GradientStatistics:
    numbers = gradient.numpy().astype(np.float64)
    nan = np.isnan(numbers)
    known = numbers[~nan]
    with np.errstate(all="ignore"):
        norm = float(np.sqrt(np.square(numbers).sum()))
    return GradientStatistics(
        norm=norm,
        smallest=float(known.min()) if known.size else float("nan"),
        largest=float(known.max()) if known.size else float("nan"),
        nan=int(nan.sum()),
        inf=int(np.isinf(numbers).sum()),
    )


def clip_by_norm(gradient: Value, squared_norm: Value, limit: float) -> Value:
    """Scale a gradient so that the norm it is part of does not exceed `limit`, as torch's clip_grad_norm_."""
    return gradient * clamp(limit / (sqrt(squared_norm) + NORM_EPSILON), max=1.0)
