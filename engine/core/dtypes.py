"""Element types, the promotion table (PyTorch's rules, not NumPy's), and each thread's default type and device.

bfloat16 is no type of NumPy's: it comes from the package ml_dtypes, an optional extra, and its kind is "V".
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from contextlib import suppress
from enum import IntEnum
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from engine.core.errors import DeviceError, DTypeError, MissingExtra, accepted_names, nearest

DType = np.dtype[Any]

NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "bfloat16", "float16", "float32", "float64")
"""Every element type the engine computes with, narrowest first."""

QUANTISED = re.compile(r"(i?q|tq)\d|mxfp4|nvfp4|qu?int\d", re.IGNORECASE)
"""How the names of ggml's and PyTorch's quantised types begin."""

UNSIGNED = {
    "uint16": "; unsigned integers of 16 bits are not supported: cast them to int32",
    "uint32": "; unsigned integers of 32 bits are not supported: cast them to int64",
    "uint64": "; unsigned integers of 64 bits are not supported: cast them to int64 if they are below 2**63",
}
"""What to do with the unsigned integers that the engine does not compute with: PyTorch has few ops on them."""

FLOAT_KINDS = "fV"
"""The kinds of the floating types: NumPy's own, and bfloat16."""

BOOL, INT32, INT64 = (np.dtype(name) for name in ("bool", "int32", "int64"))
FLOAT16, FLOAT32, FLOAT64 = (np.dtype(name) for name in ("float16", "float32", "float64"))
DEFAULT_FLOAT = FLOAT32


def _bfloat16() -> DType | None:
    with suppress(ImportError):
        dtype: DType = np.dtype(import_module("ml_dtypes").bfloat16)
        return dtype
    return None


BFLOAT16 = _bfloat16()
"""The only instance of the type, compared with `is`; None without the package."""

NATIVE = frozenset(
    [*(np.dtype(name) for name in NAMES if name != "bfloat16"), *([] if BFLOAT16 is None else [BFLOAT16])]
)
"""The types themselves, in the machine's order of bytes."""


class Strength(IntEnum):
    """How much an operand counts in promotion: Python numbers least, then zero-dimensional arrays, then the rest."""

    NUMBER = 0
    SCALAR = 1
    ARRAY = 2


def dtype_of(name: object) -> DType:
    """Return the element type called `name`; refuse the ones the engine does not compute with.

    Raises:
        DTypeError: no such element type.
        MissingExtra: bfloat16, and its package is not installed.
    """
    if isinstance(name, np.dtype) and name in NATIVE:
        return name
    known = name if isinstance(name, str) else _numpy_name(name)
    if known not in NAMES:
        hint = "; quantised types are not supported" if QUANTISED.match(str(name)) else nearest(str(name), NAMES)
        hint = UNSIGNED.get(known, hint)
        raise DTypeError(f"dtype {str(name)[:64]!r} is not one of {', '.join(NAMES)}{hint}")
    if known != "bfloat16":
        return np.dtype(known)
    if BFLOAT16 is None:
        raise MissingExtra(
            "bfloat16 needs the package ml_dtypes: pip install 'adjoint-server[bfloat16]', or use float16"
        )
    return BFLOAT16


def _numpy_name(name: object) -> str:
    with suppress(TypeError):
        return str(np.dtype(name).name)  # type: ignore[call-overload]
    return ""


@cache
def name_of(dtype: DType) -> str:
    """Return the name of a dtype; NumPy builds it on every access."""
    return str(dtype.name)


def is_float(dtype: DType) -> bool:
    """Return whether `dtype` is a floating type, the only kind that carries gradients."""
    return dtype.kind in FLOAT_KINDS


def computing_dtype(dtype: DType) -> DType:
    """Return the type in which kernels and compositions compute: float32 for float16 and bfloat16, else `dtype`."""
    return FLOAT32 if is_float(dtype) and dtype.itemsize == 2 else dtype


CATEGORIES = {"b": 0, "i": 1, "u": 1, "f": 2, "V": 2}
"""By kind of dtype, what `category` returns."""


def category(dtype: DType) -> int:
    """Return 0 for bool, 1 for the integers, 2 for the floating types."""
    return CATEGORIES[dtype.kind]


def promote(a: DType, b: DType) -> DType:
    """Return the type that holds values of `a` and `b`: an integer beside a float takes the float's type.

    Neither of float16 and bfloat16 holds the other: both together are float32.
    """
    if a is b or a == b:
        return a
    if category(a) != category(b):
        return a if category(a) > category(b) else b
    if "V" in (a.kind, b.kind):
        return max(FLOAT32, a, b, key=lambda dtype: dtype.itemsize)
    wider: DType = np.promote_types(a, b)
    return wider


def result_type(operands: Iterable[tuple[DType, Strength]]) -> DType:
    """Return the type an elementwise operation computes in.

    A weaker operand (see `Strength`) only counts when its category is higher, as in PyTorch's `result_type`.
    """
    by_strength: list[DType | None] = [None] * len(Strength)
    for dtype, strength in operands:
        known = by_strength[strength]
        by_strength[strength] = dtype if known is None else promote(known, dtype)
    result: DType | None = None
    for strongest in reversed(by_strength):
        if strongest is not None and (result is None or category(strongest) > category(result)):
            result = strongest
    assert result is not None
    return result


def to_float(dtype: DType) -> DType:
    """Return `dtype` itself when it is floating, else the default float type."""
    return dtype if is_float(dtype) else DEFAULT_FLOAT


DEVICES = ("cpu",)
"""Every device the engine computes on."""
SHORT_NAMES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32"}
"""ggmlR's names of the dtypes that can be the default."""


class Defaults(threading.local):
    """The defaults of one thread."""

    def __init__(self) -> None:
        """Start as a new thread does: float32 on the CPU."""
        self.dtype = DEFAULT_FLOAT
        self.device = "cpu"


DEFAULTS = Defaults()


def set_default_dtype(dtype: object) -> str:
    """Set the dtype of tensors made from Python floats, of parameters and of modules, for this thread.

    ggmlR's "f32", "f16" and "bf16" stand for the dtypes they name.

    Returns the name of the previous one. With float16 or bfloat16 parameters stay float32 (the master weights) and
    modules round what they compute.
    """
    chosen = dtype_of(SHORT_NAMES.get(dtype, dtype) if isinstance(dtype, str) else dtype)
    if not is_float(chosen):
        raise DTypeError(f"the default dtype must be a floating one, not {chosen.name}")
    previous, DEFAULTS.dtype = DEFAULTS.dtype, chosen
    return previous.name


def get_default_dtype() -> str:
    """Return the name of this thread's default dtype."""
    return DEFAULTS.dtype.name


def set_default_device(device: str) -> str:
    """Let later tensors of this thread live on `device`, and return the previous one; only "cpu" exists.

    Raises:
        DeviceError: any other device, so that a caller can fall back.
    """
    previous, DEFAULTS.device = DEFAULTS.device, check_device(device)
    return previous


def get_default_device() -> str:
    """Return the name of this thread's default device."""
    return DEFAULTS.device


def check_device(device: str | None) -> str:
    """Return the device, or this thread's default for None; refuse one that is not there."""
    if device is None:
        return DEFAULTS.device
    if device not in DEVICES:
        raise DeviceError(
            f"there is no device {str(device)[:64]!r} here: this engine computes on {', '.join(DEVICES)}"
            f"{accepted_names(device, DEVICES)}"
        )
    return device


def master_dtype(dtype: DType) -> DType:
    """Return the type that weights are kept in when `dtype` is computed in: float32 for the half-size types."""
    return computing_dtype(dtype)
