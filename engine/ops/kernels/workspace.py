"""Memory for what kernels hold between their passes, kept from call to call: fresh pages cost more than the passes."""

from __future__ import annotations

import math
import threading
from types import TracebackType
from typing import Self

import numpy as np

from engine.core.dtypes import DType
from engine.core.value import Array, Shape

ALIGNMENT = 64
KEPT_BYTES = 1 << 25
"""Bytes that a thread keeps at most; what a call wants beyond these it gets and gives back."""


class Workspace(threading.local):
    """A stack of arrays for each thread.

    `with WORKSPACE:` opens a level of it; arrays taken inside hold whatever was there before, and are gone at its end.
    """

    def __init__(self) -> None:
        """Start without memory."""
        self._memory = np.empty(0, np.uint8)
        self._used = 0
        self._most = 0
        self._levels: list[int] = []

    def __enter__(self) -> Self:
        """Open a level."""
        self._levels.append(self._used)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the level; after the last one, see to it that as much again will fit."""
        self._used = self._levels.pop()
        if not self._levels and self._memory.size < min(self._most, KEPT_BYTES):
            block = np.empty(min(self._most, KEPT_BYTES) + ALIGNMENT, np.uint8)
            start = -block.ctypes.data % ALIGNMENT
            self._memory = block[start : start + block.size - ALIGNMENT]

    def array(self, shape: Shape, dtype: DType) -> Array:
        """Return a row-major array of the open level."""
        start = self._used
        self._used = start + -(-math.prod(shape) * dtype.itemsize // ALIGNMENT) * ALIGNMENT
        self._most = max(self._most, self._used)
        if self._used > self._memory.size:
            return np.empty(shape, dtype)
        return np.ndarray(shape, dtype, self._memory.data, start)

    def copied(self, x: Array, dtype: DType) -> Array:
        """Return x as a row-major array of a dtype: itself if it is one, else a copy in the open level."""
        if x.flags.c_contiguous and x.dtype == dtype:
            return x
        copy = self.array(x.shape, dtype)
        np.copyto(copy, x)
        return copy


WORKSPACE = Workspace()
