"""The random key of a static graph: one leaf that feeds every random op, with new numbers for each computation."""

from __future__ import annotations

import itertools

from engine.core.dtypes import INT64
from engine.core.keys import fold, key_value
from engine.core.modes import MODES
from engine.core.value import Value
from engine.ggml.storage import Storage
from engine.ops.random import fold_in


class GraphKey:
    """Keys for random ops, all made from the leaf `value`, which changes with each computation."""

    def __init__(self) -> None:
        """Start from the keys of this thread, when the first one is needed."""
        self.value = Value((2,), INT64, None, name="key")
        self._root: tuple[int, int] | None = None
        self._computed = 0
        self._numbers = itertools.count()

    def seed(self, number: int) -> None:
        """Start again from `number`: equal numbers give equal random numbers, computation by computation."""
        self._root = fold(0, 0, number)
        self._computed = 0

    def next_key(self) -> Value:
        """Return the key of one more random op."""
        return fold_in(self.value, next(self._numbers))

    def advance(self, storage: Storage) -> None:
        """Set the leaf for the coming computation."""
        if self._root is None:
            high, low = (int(word) for word in MODES.keys.next_key().numpy())
            self._root = high, low
        self._computed += 1
        storage.set(self.value, key_value(*fold(*self._root, self._computed)))
