"""Elementwise kernels of many passes, run block by block so that intermediate results stay in cache.

Also: returning the result of a kernel (in the buffer of the caller, or computed in float64 first), and the workspace of
each thread, which is reused from call to call.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

import numpy as np

from engine.core.dtypes import FLOAT16, FLOAT32, FLOAT64, DType
from engine.core.value import Array, Shape

BLOCK = 32768
"""Elements of a block: several float32 blocks fit in the second-level cache."""


def blockwise(kernel: Callable[..., None], inputs: tuple[Array, ...], out: Array | None, *, scratch: int = 0) -> Array:
    """Run `kernel(y, *inputs, *scratch)` over blocks of arrays of one dtype, broadcast together; return the whole y.

    The kernel may write to y only after its last read of the inputs, since `out` may be one of them.
    float16 is computed in float32.
    """
    first = inputs[0]
    shape, dtype = first.shape, first.dtype
    for x in inputs:
        if x.shape != shape:
            return blockwise(kernel, _broadcast(inputs), out, scratch=scratch)
    if dtype == FLOAT16:
        return _copied(_in_float32(kernel, inputs, scratch).astype(FLOAT16), out)
    direct = out is not None and out.flags.c_contiguous
    result = out if out is not None and direct else np.empty(shape, dtype)
    if shape and result.size <= BLOCK:  # NumPy's overhead counts: no slicing
        for _ in range(scratch):
            inputs += (np.empty(shape, dtype),)
        kernel(result, *inputs)
    else:
        _by_pieces(kernel, result, inputs, scratch)
    return result if direct else _copied(result, out)


def _broadcast(inputs: tuple[Array, ...]) -> tuple[Array, ...]:
    shape = np.broadcast_shapes(*(x.shape for x in inputs))
    return tuple(np.broadcast_to(x, shape) for x in inputs)


def _in_float32(kernel: Callable[..., None], inputs: tuple[Array, ...], scratch: int) -> Array:
    return blockwise(kernel, tuple(x.astype(FLOAT32) for x in inputs), None, scratch=scratch)


def _by_pieces(kernel: Callable[..., None], result: Array, given: tuple[Array, ...], scratch: int) -> None:
    y, inputs = result.reshape(-1), [np.ascontiguousarray(x).reshape(-1) for x in given]
    with WORKSPACE:
        spaces = [WORKSPACE.array((min(BLOCK, y.size),), y.dtype) for _ in range(scratch)]
        for start in range(0, y.size, BLOCK):
            piece = slice(start, start + BLOCK)
            target = y[piece]
            kernel(target, *(x[piece] for x in inputs), *(space[: target.size] for space in spaces))


def _copied(result: Array, out: Array | None) -> Array:
    if out is None:
        return result
    np.copyto(out, result)
    return out


@functools.cache
def number(value: float, dtype: DType) -> Array:
    """Return a number as an array without axes, read-only: NumPy reads it in half the time of a Python number."""
    array = np.array(value, dtype)
    array.flags.writeable = False
    return array


def polynomial(y: Array, x: Array, coefficients: tuple[float, ...]) -> None:
    """Write c[0] + c[1] x + c[2] x**2 + ..., at least two terms, into y by Horner's scheme; y is not x."""
    np.multiply(x, coefficients[-1], out=y)
    y += coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        y *= x
        y += coefficient


def store_result(result: Array, out: Array | None) -> Array:
    """Return `result`, or `out` with the result written into it."""
    if out is None:
        return result
    np.copyto(out, result)
    return out


def in_float64(kernel: Callable[..., None], x: Array, out: Array | None) -> Array:
    """Run `kernel(y, x)` block by block in float64, for any floating dtype of x."""
    if x.dtype == FLOAT64:
        return blockwise(kernel, (x,), out)
    return store_result(blockwise(kernel, (x.astype(FLOAT64),), None).astype(x.dtype), out)


ALIGNMENT = 64
KEPT_BYTES = 1 << 25
"""Maximum bytes of a workspace; memory beyond these is allocated and freed by each call."""


class Workspace(threading.local):
    """A stack allocator of arrays for each thread.

    `with WORKSPACE:` opens a level of it. Arrays of the level are uninitialised and are released at its end.
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
        """Close the level; after the last one, grow the memory to what was needed, up to KEPT_BYTES."""
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
