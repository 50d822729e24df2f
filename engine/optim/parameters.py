"""The parameters that an optimizer of the tape is given: leaves, each under a name of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.core.errors import AttributeValueError, GradientError
from engine.core.value import Value

Given = Value | Mapping[str, Value] | Iterable[Value]
"""Leaves by name, a list of them, or one alone."""


def named_parameters(params: Given, known: Mapping[str, Value]) -> dict[str, Value]:
    """Name parameters: by the names given, else by those of the leaves, else by their number.

    Args:
        params: the leaves.
        known: those that the optimizer has already.

    Raises:
        AttributeValueError: no parameters, one that is given twice, or a name that is.
        GradientError: a parameter that is no leaf.
    """
    pairs = _pairs(params, len(known))
    if not pairs:
        raise AttributeValueError("optimizer got an empty parameter list")
    named: dict[str, Value] = {}
    seen = {id(leaf) for leaf in known.values()}
    for name, leaf in pairs:
        if not leaf.is_leaf:
            raise GradientError(f"can't optimize a non-leaf value: {name!r} is what {_maker(leaf)} gave")
        if id(leaf) in seen:
            raise AttributeValueError(f"some parameters appear in more than one place: {name!r} is given twice")
        if name in named or name in known:
            raise AttributeValueError(f"two parameters are called {name!r}; give each a name of its own")
        seen.add(id(leaf))
        named[name] = leaf
    return named


def _pairs(params: Given, count: int) -> list[tuple[str, Value]]:
    if isinstance(params, Mapping):
        return list(params.items())
    leaves = [params] if isinstance(params, Value) else list(params)
    return [(leaf.name or f"parameter_{count + place}", leaf) for place, leaf in enumerate(leaves)]


def _maker(leaf: Value) -> str:
    return "no op" if leaf.node is None else leaf.node.op.name
