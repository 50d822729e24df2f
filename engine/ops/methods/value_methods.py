"""Methods of Value in the manner of NumPy arrays and PyTorch tensors that are not ops.

Iteration, functions of NumPy on values, `tolist`, `numel`, `to` and casts by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from engine.core.dtypes import DEVICES, DType, check_device, dtype_of
from engine.core.errors import DTypeError, GradientError, ShapeError
from engine.core.modes import MODES
from engine.core.registry import OPS, Op, find_op
from engine.core.value import Array, Operand, Value, as_value
from engine.ops.elementwise.casting import cast

UFUNCS = {
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "power": "pow",
    "negative": "neg",
    "positive": "copy",
    "absolute": "abs",
    "fabs": "abs",
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "invert": "bitwise_not",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "radians": "deg2rad",
    "degrees": "rad2deg",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
}
"""Universal functions of NumPy that an op of another name implements."""
CASTS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "bool": "bool",
}
"""PyTorch's methods that cast, and the dtypes they cast to."""


def bind_value_methods() -> None:
    """Give Value the methods of this module."""
    methods: dict[str, Callable[..., Any]] = {
        "__iter__": _iterate,
        "__contains__": _contains,
        "__array__": _array,
        "__array_ufunc__": _apply_ufunc,
        "__pos__": lambda self: self,
        "__int__": lambda self: int(self.item()),
        "tolist": lambda self: self.numpy().tolist(),
        "numel": lambda self: self.size,
        "dim": lambda self: self.ndim,
        "cpu": lambda self: self,
        "to": _to,
    }
    for name, method in methods.items():
        setattr(Value, name, method)
    for name, dtype in CASTS.items():
        setattr(Value, name, _casting(dtype))


def _casting(dtype: str) -> Callable[[Value], Value]:
    def method(self: Value) -> Value:
        return _to(self, dtype)

    method.__doc__ = f"Return the value as {dtype}; itself if it already is."
    return method


def _iterate(self: Value) -> Iterator[Value]:
    """Yield the parts along the first axis."""
    if not self.shape:
        raise ShapeError("a value with no axes cannot be iterated over or unpacked; use item()")
    return (self[place] for place in range(self.shape[0]))


def _contains(self: Value, element: Operand) -> bool:
    return bool((self.numpy() == as_value(element).numpy()).any())


def _array(self: Value, dtype: Any = None, copy: bool | None = None) -> Array:
    """Return the data for NumPy.

    Raises:
        GradientError: the value requires a gradient, which would be lost silently, or has no data.
    """
    if self.requires_grad and MODES.recording:
        raise GradientError(
            "NumPy cannot take a value that requires a gradient: the gradient would be lost; use an op of engine.ops, "
            "or x.detach() (x.numpy()) for the numbers alone"
        )
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(f"a copy is needed to turn {self.dtype.name} into {np.dtype(dtype).name}")
        return array.astype(dtype)
    return array.copy() if copy else array


def _apply_ufunc(self: Value, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """Apply the op that a universal function of NumPy stands for, as in `np.exp(x)` or `array * x`.

    Raises:
        TypeError: there is no such op, or the call has options that no op has, as `out`.
    """
    name = ufunc.__name__
    op = _op_of(name)
    if method == "__call__" and op is not None and not options:
        return op(*inputs)
    if op is None:
        raise TypeError(f"np.{name} has no op for values; use np.{name}(x.numpy()), through which no gradient flows")
    call = f"np.{name}" if method == "__call__" else f"np.{name}.{method}"
    given = f" with {', '.join(f'{option}=' for option in options)}" if options else ""
    raise TypeError(f"{call}{given} does not take values; use engine.ops.{op.name}, or x.numpy() for the numbers alone")


def _op_of(name: str) -> Op[Any] | None:
    name = UFUNCS.get(name, name)
    return find_op(name)


def _to(self: Value, *targets: Any, dtype: object = None, device: str | None = None, copy: bool = False) -> Value:
    """Return the value as another dtype, on a device: itself if nothing changes, as in PyTorch.

    Args:
        self: the value.
        targets: dtypes, the name of a device, or a value whose dtype is used.
        dtype: the dtype.
        device: "cpu" or None; another one is a DeviceError.
        copy: copy even if nothing changes.
    """
    for target in targets:
        if isinstance(target, Value):
            dtype = target.dtype
        elif (found := _dtype_or_none(target)) is not None:
            dtype = found
        else:
            device = target
    if device is not None:
        check_device(device)
    chosen = self.dtype if dtype is None else dtype_of(dtype)
    if chosen != self.dtype:
        return cast(self, dtype=chosen)
    return OPS["copy"](self) if copy else self


def _dtype_or_none(target: object) -> DType | None:
    """Return the dtype that a target names; None for the name of a device."""
    if isinstance(target, str) and target in DEVICES:
        return None
    try:
        return dtype_of(target)
    except DTypeError:
        if isinstance(target, str):
            return None
        raise
