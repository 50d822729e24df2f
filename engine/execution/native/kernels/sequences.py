"""How the operands of recurrent layers become words of a block: addresses with the strides of all their axes."""

from __future__ import annotations

from engine.core.dtypes import INT64
from engine.core.value import Array
from engine.execution.native.kernel import FLOATS
from engine.execution.native.lowering import Argument, Work


def words(*arrays: Array) -> tuple[Argument, ...]:
    """Return, for each array, itself and its strides."""
    found: list[Argument] = []
    for array in arrays:
        found += [array, *array.strides]
    return tuple(found)


def fit(work: Work, lengths: Array) -> bool:
    """Tell whether kernels take the operands: one floating dtype, int64 lengths, results of contiguous rows."""
    dtype = work.outputs[0].dtype
    floats = [array for array in work.inputs if array is not lengths]
    return (
        dtype in FLOATS
        and lengths.dtype == INT64
        and all(array.dtype == dtype for array in (*floats, *work.outputs))
        and all(_rows_lie_together(array) for array in work.outputs)
    )


def _rows_lie_together(array: Array) -> bool:
    """Tell whether the last axis is contiguous, and the one before it steps over whole rows, as BLAS needs it."""
    step, size = array.strides[-2], array.itemsize
    apart = array.shape[-2] == 1 or (step % size == 0 and step >= array.shape[-1] * size)
    return array.size > 0 and array.strides[-1] == size and apart
