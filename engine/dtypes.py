"""Element types and the engine's own promotion table (PyTorch's rules, which are not NumPy's)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from enum import IntEnum
from typing import Any

import numpy as np

from engine.errors import DTypeError, nearest

DType = np.dtype[Any]

NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
"""Every element type the engine computes with, narrowest first."""

BOOL, INT64, FLOAT16, FLOAT32, FLOAT64 = (np.dtype(name) for name in ("bool", "int64", "float16", "float32", "float64"))
DEFAULT_FLOAT = FLOAT32


class Strength(IntEnum):
    """How much an operand counts in promotion: Python numbers least, then zero-dimensional arrays, then the rest."""

    NUMBER = 0
    SCALAR = 1
    ARRAY = 2


def dtype_of(name: object) -> DType:
    """Return the element type called `name`; refuse the ones the engine does not compute with."""
    known = name if isinstance(name, str) else _numpy_name(name)
    if known not in NAMES:
        hint = nearest(str(name), NAMES)
        raise DTypeError(f"dtype {str(name)[:64]!r} is not one of {', '.join(NAMES)}{hint}")
    return np.dtype(known)


def _numpy_name(name: object) -> str:
    with suppress(TypeError):
        return str(np.dtype(name).name)  # type: ignore[call-overload]
    return ""


def is_float(dtype: DType) -> bool:
    """Tell whether `dtype` is a floating type, the only kind that carries gradients."""
    return dtype.kind == "f"


def category(dtype: DType) -> int:
    """Return 0 for bool, 1 for the integers, 2 for the floating types."""
    return {"b": 0, "i": 1, "u": 1, "f": 2}[dtype.kind]


def promote(a: DType, b: DType) -> DType:
    """Return the type that holds values of `a` and `b`: an integer beside a float takes the float's type."""
    if a == b:
        return a
    if category(a) != category(b):
        return a if category(a) > category(b) else b
    wider: DType = np.promote_types(a, b)
    return wider


def result_type(operands: Iterable[tuple[DType, Strength]]) -> DType:
    """Return the type an elementwise operation computes in.

    A weaker operand (see `Strength`) only counts when its category is higher, as in PyTorch's `result_type`.
    """
    by_strength: dict[Strength, DType] = {}
    for dtype, strength in operands:
        known = by_strength.get(strength)
        by_strength[strength] = dtype if known is None else promote(known, dtype)
    result: DType | None = None
    for strength in sorted(by_strength, reverse=True):
        dtype = by_strength[strength]
        if result is None or category(dtype) > category(result):
            result = dtype
    assert result is not None
    return result


def to_float(dtype: DType) -> DType:
    """Return `dtype` itself when it is floating, else the default float type."""
    return dtype if is_float(dtype) else DEFAULT_FLOAT
