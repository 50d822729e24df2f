"""Values computed from attributes alone: constants, ranges and the identity. They have no inputs and no gradient.

In a graph their shapes are checked against the graph's limits before anything is allocated.
"""

from __future__ import annotations

import math

import numpy as np

from engine.core.attributes import Count, Ints
from engine.core.declarations import CallForms
from engine.core.dtypes import BOOL, DEFAULT_FLOAT, FLOAT32, INT64, DType, is_float
from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.core.registry import primitive
from engine.core.samples import sample
from engine.core.value import Array, Spec


def _check_shape(op: str, shape: Ints) -> None:
    if any(extent < 0 for extent in shape):
        raise ShapeError(f"{op}: shape {list(shape)} may hold no negative extent")


def _dtype_for(*numbers: float) -> DType:
    """Return PyTorch's default dtype for these numbers: bool, int64 or the default float."""
    if all(isinstance(number, bool) for number in numbers):
        return BOOL
    return INT64 if all(isinstance(number, int) for number in numbers) else DEFAULT_FLOAT


def _filled(value: float, shape: Ints, dtype: DType, out: Array | None) -> Array:
    if out is None:
        return np.full(shape, value, dtype)
    out.fill(value)
    return out


def _full(*, shape: Ints, value: float, dtype: DType | None) -> Spec:
    _check_shape("full", shape)
    return Spec(shape, dtype or _dtype_for(value))


@primitive(
    shape_rule=_full,
    aliases=("fill",),
    differentiable=False,
    samples=[sample(shape=(2, 3), value=0.5), sample(shape=(), value=7), sample(shape=(2,), value=1, dtype="float64")],
)
def full(*, shape: Ints, value: bool | int | float, dtype: DType | None = None, out: Array | None = None) -> Array:
    """An array of `shape` that holds `value` everywhere.

    Without a dtype true and false give bool, whole numbers int64 and other numbers float32, as in PyTorch.
    """
    return _filled(value, shape, dtype or _dtype_for(value), out)


def _zeros(*, shape: Ints, dtype: DType) -> Spec:
    _check_shape("zeros", shape)
    return Spec(shape, dtype)


@primitive(shape_rule=_zeros, differentiable=False, samples=[sample(shape=(2, 3)), sample(shape=(2,), dtype="int64")])
def zeros(*, shape: Ints, dtype: DType = FLOAT32, out: Array | None = None) -> Array:
    """An array of `shape` that holds 0 everywhere."""
    return _filled(0, shape, dtype, out)


def _ones(*, shape: Ints, dtype: DType) -> Spec:
    _check_shape("ones", shape)
    return Spec(shape, dtype)


@primitive(shape_rule=_ones, differentiable=False, samples=[sample(shape=(2, 3)), sample(shape=(2,), dtype="bool")])
def ones(*, shape: Ints, dtype: DType = FLOAT32, out: Array | None = None) -> Array:
    """An array of `shape` that holds 1 everywhere."""
    return _filled(1, shape, dtype, out)


def _eye(*, rows: int, columns: int | None, dtype: DType) -> Spec:
    shape = (rows, rows if columns is None else columns)
    _check_shape("eye", shape)
    return Spec(shape, dtype)


@primitive(shape_rule=_eye, differentiable=False, samples=[sample(rows=3), sample(rows=2, columns=3, dtype="float64")])
def eye(*, rows: int, columns: int | None = None, dtype: DType = FLOAT32, out: Array | None = None) -> Array:
    """A matrix [rows, columns] with 1 on its diagonal and 0 elsewhere; square unless `columns` is given."""
    if out is None:
        return np.eye(rows, columns, dtype=dtype)
    out.fill(0)
    np.fill_diagonal(out, 1)
    return out


def _steps(start: float, stop: float, step: float) -> int:
    """Return how many of start, start + step, ... are before `stop`."""
    if all(isinstance(number, int) for number in (start, stop, step)):
        return max(-int((start - stop) // step), 0)
    return max(math.ceil((stop - start) / step), 0)


def _arange(*, stop: float, start: float, step: float, dtype: DType | None) -> Spec:
    if not all(math.isfinite(number) for number in (start, stop, step)) or step == 0:
        raise AttributeValueError(f"arange: start {start}, stop {stop} and step {step} must be finite, and step not 0")
    if not math.isfinite((stop - start) / step):
        raise AttributeValueError(f"arange: step {step} is too small to get from {start} to {stop}")
    return Spec((_steps(start, stop, step),), dtype or _dtype_for(start, stop, step))


@primitive(
    shape_rule=_arange,
    differentiable=False,
    call=CallForms(orders=(("stop",), ("start", "stop"), ("start", "stop", "step"))),
    samples=[sample(stop=4), sample(start=1.0, stop=-1.0, step=-0.5), sample(stop=3, dtype="float64")],
)
def arange(
    *,
    stop: int | float,
    start: int | float = 0,
    step: int | float = 1,
    dtype: DType | None = None,
    out: Array | None = None,
) -> Array:
    """The numbers start, start + step, ... before `stop`; int64 when all three are whole, else float32."""
    dtype = dtype or _dtype_for(start, stop, step)
    wide: Array = np.arange(_steps(start, stop, step), dtype=np.float64 if is_float(dtype) else np.int64)
    wide = wide * step + start
    if out is None:
        return wide.astype(dtype)
    np.copyto(out, wide, casting="unsafe")
    return out


def _linspace(*, start: float, stop: float, steps: int, dtype: DType) -> Spec:
    if not is_float(dtype):
        raise DTypeError(f"linspace: dtype {dtype.name} must be a floating type; use arange for whole numbers")
    return Spec((steps,), dtype)


@primitive(shape_rule=_linspace, differentiable=False, samples=[sample(start=-1.0, stop=1.0, steps=5)])
def linspace(*, start: float, stop: float, steps: Count, dtype: DType = FLOAT32, out: Array | None = None) -> Array:
    """`steps` evenly spaced numbers from `start` to `stop`, both included."""
    result = np.linspace(start, stop, steps, dtype=dtype)
    if out is None:
        return result
    np.copyto(out, result)
    return out
