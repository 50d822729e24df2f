"""Leaves of the tape made from a shape alone: zeros, ones, one number everywhere, and random numbers."""

from __future__ import annotations

import numpy as np

from engine.core.defaults import DEFAULTS, check_device
from engine.core.dtypes import DType, dtype_of, is_float
from engine.core.errors import DTypeError, ShapeError
from engine.core.value import Array, Shape, Value
from engine.ops.random import random_normal, random_uniform


def zeros(
    shape: Shape,
    *,
    dtype: object = None,
    requires_grad: bool = False,
    name: str | None = None,
    device: str | None = None,
) -> Value:
    """Make a leaf of `shape` that holds 0 everywhere; `dtype` is this thread's default when left out.

    Raises:
        DTypeError: a gradient is required and the dtype is no floating one; so for every function here.
    """
    return full(shape, 0, dtype=dtype, requires_grad=requires_grad, name=name, device=device)


def ones(
    shape: Shape,
    *,
    dtype: object = None,
    requires_grad: bool = False,
    name: str | None = None,
    device: str | None = None,
) -> Value:
    """Make a leaf of `shape` that holds 1 everywhere (see `zeros`)."""
    return full(shape, 1, dtype=dtype, requires_grad=requires_grad, name=name, device=device)


def full(
    shape: Shape,
    value: float,
    *,
    dtype: object = None,
    requires_grad: bool = False,
    name: str | None = None,
    device: str | None = None,
) -> Value:
    """Make a leaf of `shape` that holds `value` everywhere (see `zeros`)."""
    chosen = _checked(shape, dtype, requires_grad, device)
    return _leaf(np.full(shape, value, chosen), chosen, requires_grad, name)


def rand(
    shape: Shape,
    *,
    dtype: object = None,
    requires_grad: bool = False,
    name: str | None = None,
    device: str | None = None,
) -> Value:
    """Make a leaf of numbers drawn evenly from 0 <= u < 1, by this thread's seed (see `zeros`)."""
    chosen = _checked(shape, dtype, requires_grad, device)
    return _leaf(random_uniform(shape=shape, dtype=chosen).numpy(), chosen, requires_grad, name)


def randn(
    shape: Shape,
    *,
    dtype: object = None,
    requires_grad: bool = False,
    name: str | None = None,
    device: str | None = None,
) -> Value:
    """Make a leaf of standard normal numbers, by this thread's seed (see `zeros`)."""
    chosen = _checked(shape, dtype, requires_grad, device)
    return _leaf(random_normal(shape=shape, dtype=chosen).numpy(), chosen, requires_grad, name)


def zeros_like(value: Value, *, dtype: object = None, requires_grad: bool = False) -> Value:
    """Make a leaf of the shape (and dtype, unless given) of `value` that holds 0 everywhere."""
    return zeros(value.shape, dtype=dtype or value.dtype, requires_grad=requires_grad)


def ones_like(value: Value, *, dtype: object = None, requires_grad: bool = False) -> Value:
    """Make a leaf of the shape (and dtype, unless given) of `value` that holds 1 everywhere."""
    return ones(value.shape, dtype=dtype or value.dtype, requires_grad=requires_grad)


def _checked(shape: Shape, dtype: object, requires_grad: bool, device: str | None) -> DType:
    check_device(device)
    chosen = DEFAULTS.dtype if dtype is None else dtype_of(dtype)
    if requires_grad and not is_float(chosen):
        raise DTypeError(f"only floating values can require gradients; this one is {chosen.name}")
    if any(extent < 0 for extent in shape):
        raise ShapeError(f"shape {list(shape)} may hold no negative extent")
    return chosen


def _leaf(array: Array, dtype: DType, requires_grad: bool, name: str | None) -> Value:
    return Value(array.shape, dtype, array, requires_grad=requires_grad, name=name)
