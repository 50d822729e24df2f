"""Reading and writing what leaves hold and what has been computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.core.value import Array, Value
from engine.ggml.storage import Storage


class DataAccess:
    """What graphs and contexts have in common: the arrays of their values."""

    _storage: Storage

    def set(self, leaf: Value, data: Any) -> None:
        """Write an array of the leaf's shape, or one number into every element, cast to the leaf's type."""
        self._storage.set(leaf, data)

    def get(self, value: Value) -> Array:
        """Return a copy of what a leaf holds or what was computed last."""
        return self._storage.view(value).copy()

    def set_at(self, leaf: Value, index: int | Sequence[int], number: float) -> None:
        """Write one element, at a flat index or one index for each axis, cast to the leaf's type."""
        self._storage.set_at(leaf, index, number)

    def get_at(self, value: Value, index: int | Sequence[int] = 0) -> Any:
        """Return one element as a number of Python, at a flat index or one index for each axis."""
        return self._storage.get_at(value, index)
