"""Values as Python expressions that give them back to the bit."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.core.dtypes import BFLOAT16, DType, is_float
from engine.core.value import Array

SHORT = 64
"""Elements that are written as numbers; longer arrays are written as bytes."""


def is_plain(value: Any) -> bool:
    """Tell whether `literal` can write a value."""
    if isinstance(value, tuple | list):
        return type(value) in (tuple, list) and all(map(is_plain, value))
    if isinstance(value, Mapping):
        return type(value) is dict and all(is_plain(item) for pair in value.items() for item in pair)
    return value is None or type(value) in (bool, int, float, str) or isinstance(value, np.dtype)


def literal(value: Any) -> str:
    """Write a number, text, dtype, or a list or dict of these, as an expression of Python."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, np.dtype):
        return dtype_literal(value)
    if isinstance(value, tuple):
        return "(" + ", ".join(map(literal, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    return repr(value)


def dtype_literal(dtype: DType) -> str:
    """Write an element type."""
    return "np.dtype(ml_dtypes.bfloat16)" if dtype is BFLOAT16 else f'np.dtype("{dtype.name}")'


def array_literal(array: Array) -> str:
    """Write an array: as numbers when it is short and finite, else as its bytes."""
    dtype, shape = dtype_literal(array.dtype), array.shape
    exact = array.dtype is not BFLOAT16 and (not is_float(array.dtype) or bool(np.isfinite(array).all()))
    if array.size <= SHORT and exact:
        return f"np.array({array.tolist()!r}, {dtype}).reshape({shape!r})"
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return f'np.frombuffer(base64.b64decode("{data}"), {dtype}).reshape({shape!r})'
