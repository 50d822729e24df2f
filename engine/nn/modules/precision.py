"""Narrow precision in the forward pass: numbers are rounded to a half-size type, everything else stays wide."""

from __future__ import annotations

from engine.core.dtypes import DType, is_float
from engine.core.value import Value
from engine.ops.casting import cast, stop_gradient


def rounded(x: Value, dtype: DType | None) -> Value:
    """Round a floating x to the numbers of `dtype` and keep its own type; None leaves it as it is.

    The gradient passes as if nothing had been rounded, in full precision (a straight-through estimate).
    """
    if dtype is None or not is_float(x.dtype) or x.dtype.itemsize <= dtype.itemsize:
        return x
    # What rounding changes is itself exact in the wide type, so the sum is exactly the rounded number.
    return x + stop_gradient(cast(cast(x, dtype=dtype), dtype=x.dtype) - x)
