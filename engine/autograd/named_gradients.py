"""Gradients by name: a backward pass that also returns what it found for every leaf that has a name."""

from __future__ import annotations

from collections.abc import Sequence

from engine.autograd.backward import reachable
from engine.autograd.tape import accumulate, grad, leaves_of
from engine.core.errors import GradientError
from engine.core.value import Operand, Value

Gradients = dict[str, Value]


def gradients_by_name(
    outputs: Value | Sequence[Value],
    gradients: Operand | Sequence[Operand | None] | None = None,
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> Gradients:
    """Differentiate as `backward` does, into `.grad`, and return the gradient of every named leaf; ggmlR's backward.

    The map is made anew in each call and holds this pass alone, whatever `.grad` has added up; changing it, as
    `clip_gradients` does, leaves `.grad` as it is. Leaves without a name get their `.grad` only.

    Raises:
        GradientError: two leaves share a name, or what `backward` refuses.
    """
    roots = [outputs] if isinstance(outputs, Value) else list(outputs)
    leaves = leaves_of(roots, reachable(roots))
    _check_names(leaves)
    found = grad(outputs, leaves, gradients, retain_graph=retain_graph, create_graph=create_graph, allow_unused=True)
    named: Gradients = {}
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
