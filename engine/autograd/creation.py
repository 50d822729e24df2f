"""Creation of leaves: tensors and parameters from data, and zeros, ones, full and random numbers from a shape.

R and ggml keep matrices by columns, [features, batch], which in memory is NumPy's (batch, features): data may be given
in either layout, and results do not depend on it.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from engine.core import value
from engine.core.dtypes import DEFAULT_FLOAT, DEFAULTS, DType, check_device, dtype_of, is_float, master_dtype
from engine.core.errors import AttributeValueError, DTypeError, ShapeError, nearest
from engine.core.value import Array, Shape, Value
from engine.ops.random.random import random_normal, random_uniform
from engine.ops.shape.shape import permute, reshape


def tensor(
    data: Any,
    *,
    dtype: object = None,
    requires_grad: bool = False,
    name: str | None = None,
    shape: Shape | None = None,
    layout: Layout = "row",
    device: str | None = None,
) -> Value:
    """Create a leaf from an array, a number or nested lists.

    Args:
        data: what it holds; it is copied.
        dtype: its element type. Left out, arrays keep theirs and floats of Python get this thread's default, which is
            float32 until `set_default_dtype` says otherwise.
        requires_grad: whether a backward pass gives it a gradient; only floating leaves may.
        name: what it is called, in gradients by name and in errors.
        shape: fills this shape with flat data, by columns or by rows as `layout` says; one extent may be -1.
        layout: "col" also turns a bare vector into a column [n, 1], as in R.
        device: "cpu" or None; another one is a DeviceError.
    """
    check_device(device)
    made = value.tensor(data, dtype=_choose_dtype(data, dtype), requires_grad=requires_grad, name=name)
    if shape is None and layout == "row":
        return made
    array = fill_shape(made.numpy(), shape, layout)
    return Value(array.shape, made.dtype, array, requires_grad=requires_grad, name=name)


def parameter(
    data: Any,
    *,
    dtype: object = None,
    name: str | None = None,
    shape: Shape | None = None,
    layout: Layout = "row",
    device: str | None = None,
) -> Value:
    """Create a leaf that is trained (see `tensor`).

    Where the default dtype is float16 or bfloat16 it is float32 all the same: rounding belongs into the forward pass,
    small steps would be lost on narrow weights.
    """
    chosen = _choose_dtype(data, dtype)
    if dtype is None and chosen is not None:
        chosen = master_dtype(dtype_of(chosen))
    return tensor(data, dtype=chosen, requires_grad=True, name=name, shape=shape, layout=layout, device=device)


def _choose_dtype(data: Any, dtype: object) -> object:
    """Return the requested dtype; without one, this thread's default for data that would become float32."""
    if dtype is not None or isinstance(data, Value | np.ndarray | np.generic) or DEFAULTS.dtype == DEFAULT_FLOAT:
        return dtype
    try:
        kind = np.asarray(data).dtype.kind
    except ValueError as error:
        raise ShapeError("the nested lists are ragged: every list of one level needs the same length") from error
    return DEFAULTS.dtype if kind == "f" else None


def zeros(
    shape: Shape,
    *,
    dtype: object = None,
    requires_grad: bool = False,
    name: str | None = None,
    device: str | None = None,
) -> Value:
    """Create a leaf of `shape` filled with 0; `dtype` defaults to this thread's default.

    Raises:
        DTypeError: a gradient is required and the dtype is not floating; so for every function here.
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
    """Create a leaf of `shape` filled with 1 (see `zeros`)."""
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
    """Create a leaf of `shape` filled with `value` (see `zeros`)."""
    chosen = _check_dtype(shape, dtype, requires_grad, device)
    return _leaf(np.full(shape, value, chosen), chosen, requires_grad, name)


def rand(
    shape: Shape,
    *,
    dtype: object = None,
    requires_grad: bool = False,
    name: str | None = None,
    device: str | None = None,
) -> Value:
    """Create a leaf of numbers drawn uniformly from 0 <= u < 1, with this thread's seed (see `zeros`)."""
    chosen = _check_dtype(shape, dtype, requires_grad, device)
    return _leaf(random_uniform(shape=shape, dtype=chosen).numpy(), chosen, requires_grad, name)


def randn(
    shape: Shape,
    *,
    dtype: object = None,
    requires_grad: bool = False,
    name: str | None = None,
    device: str | None = None,
) -> Value:
    """Create a leaf of standard normal numbers, with this thread's seed (see `zeros`)."""
    chosen = _check_dtype(shape, dtype, requires_grad, device)
    return _leaf(random_normal(shape=shape, dtype=chosen).numpy(), chosen, requires_grad, name)


def zeros_like(value: Value, *, dtype: object = None, requires_grad: bool = False) -> Value:
    """Create a leaf with the shape (and dtype, unless given) of `value`, filled with 0."""
    return zeros(value.shape, dtype=dtype or value.dtype, requires_grad=requires_grad)


def ones_like(value: Value, *, dtype: object = None, requires_grad: bool = False) -> Value:
    """Create a leaf with the shape (and dtype, unless given) of `value`, filled with 1."""
    return ones(value.shape, dtype=dtype or value.dtype, requires_grad=requires_grad)


def _check_dtype(shape: Shape, dtype: object, requires_grad: bool, device: str | None) -> DType:
    check_device(device)
    chosen = DEFAULTS.dtype if dtype is None else dtype_of(dtype)
    if requires_grad and not is_float(chosen):
        raise DTypeError(f"only floating values can require gradients; this one is {chosen.name}")
    if any(extent < 0 for extent in shape):
        raise ShapeError(f"shape {list(shape)} may hold no negative extent")
    return chosen


def _leaf(array: Array, dtype: DType, requires_grad: bool, name: str | None) -> Value:
    return Value(array.shape, dtype, array, requires_grad=requires_grad, name=name)


Layout = Literal["row", "col"]
LAYOUTS = ("row", "col")


def check_layout(layout: str) -> None:
    """Raise AttributeValueError for an unknown layout."""
    if layout not in LAYOUTS:
        raise AttributeValueError(
            f"layout {str(layout)[:64]!r} is not one of {', '.join(LAYOUTS)}{nearest(str(layout), LAYOUTS)}"
        )


def fill_shape(data: Array, shape: Shape | None, layout: Layout) -> Array:
    """Fill `shape` with the numbers of flat `data`, the first index fastest under "col", the last under "row".

    Without a shape the data keeps its own, but a bare vector is a column [n, 1] under "col", as in R.
    """
    check_layout(layout)
    if shape is None:
        return data[:, None] if layout == "col" and data.ndim == 1 else data
    if data.ndim != 1:
        raise ShapeError(f"shape needs flat data: give one list of numbers, not data of shape {list(data.shape)}")
    free = [axis for axis, extent in enumerate(shape) if extent == -1]
    known = int(np.prod([extent for extent in shape if extent != -1]))
    if len(free) > 1 or any(e < -1 for e in shape) or (data.size % max(known, 1) if free else data.size != known):
        raise ShapeError(f"{data.size} numbers do not fill the shape {list(shape)}")
    return data.reshape(shape, order="F" if layout == "col" else "C")


def reshape_columns(x: Value, *, shape: Shape) -> Value:
    """The same elements in column-major order under another shape, as R's `dim<-`; one extent may be -1."""
    return reverse_axes(reshape(reverse_axes(x), shape=tuple(reversed(shape))))


def reverse_axes(x: Value) -> Value:
    """Return x with its axes reversed, which turns one layout into the other."""
    return permute(x, axes=tuple(reversed(range(x.ndim)))) if x.ndim > 1 else x
