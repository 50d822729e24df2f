"""Trees of values: arguments that are dicts, tuples and lists of values, nested, as models keep their parameters.

A list of plain numbers is data, as everywhere; a list that holds values, arrays or other trees is a branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from engine.core.errors import ShapeError
from engine.core.value import Value

Tree = Any


def is_branch(tree: Tree) -> bool:
    """Return whether `tree` is a dict, a tuple, or a list of more than numbers."""
    if isinstance(tree, list):
        return any(isinstance(part, Value | np.ndarray) or is_branch(part) for part in tree)
    return isinstance(tree, Mapping | tuple)


def leaves_of(tree: Tree) -> list[Any]:
    """Return what hangs on the tree, in the order of its branches."""
    if not is_branch(tree):
        return [tree]
    parts = tree.values() if isinstance(tree, Mapping) else tree
    return [leaf for part in parts for leaf in leaves_of(part)]


def with_leaves(tree: Tree, leaves: Iterator[Any]) -> Tree:
    """Return a tree of the same branches that holds the next of `leaves`."""
    if not is_branch(tree):
        return next(leaves)
    if isinstance(tree, Mapping):
        return {key: with_leaves(part, leaves) for key, part in tree.items()}
    parts = [with_leaves(part, leaves) for part in tree]
    if isinstance(tree, list):
        return parts
    return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)


def leaves_like(tree: Tree, other: Tree, place: str) -> list[Any]:
    """Return the leaves of `other` in the order of those of `tree`, whose branches it must have.

    Raises:
        ShapeError: naming the branch that is missing or too many.
    """
    if not is_branch(tree):
        return [other]
    if isinstance(tree, Mapping):
        if not isinstance(other, Mapping) or set(other) != set(tree):
            found = sorted(map(str, other)) if isinstance(other, Mapping) else type(other).__name__
            raise ShapeError(f"{place} must be a dict of {sorted(map(str, tree))}, not {found}")
        return [leaf for key, part in tree.items() for leaf in leaves_like(part, other[key], f"{place}[{key!r}]")]
    if not isinstance(other, Sequence) or isinstance(other, str) or len(other) != len(tree):
        raise ShapeError(f"{place} must hold {len(tree)} parts, as what it belongs to")
    pairs = enumerate(zip(tree, other, strict=True))
    return [leaf for index, (part, its) in pairs for leaf in leaves_like(part, its, f"{place}[{index}]")]
