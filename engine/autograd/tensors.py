"""Leaves of the tape from data: tensors, and parameters, which are trained."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.autograd.layout import Layout, poured
from engine.core import value
from engine.core.defaults import DEFAULTS, check_device, master_dtype
from engine.core.dtypes import DEFAULT_FLOAT, dtype_of
from engine.core.errors import ShapeError
from engine.core.value import Shape, Value


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
    """Make a leaf from an array, a number or nested lists.

    Args:
        data: what it holds; it is copied.
        dtype: its element type. Left out, arrays keep theirs and floats of Python get this thread's default, which is
            float32 until `set_default_dtype` says otherwise.
        requires_grad: whether a backward pass gives it a gradient; only floating leaves may.
        name: what it is called, in gradients by name and in errors.
        shape: pours flat data into this shape, by columns or by rows as `layout` says; one extent may be -1.
        layout: "col" also turns a bare vector into a column [n, 1], as in R.
        device: "cpu" or None; another one is a DeviceError.
    """
    check_device(device)
    made = value.tensor(data, dtype=_chosen(data, dtype), requires_grad=requires_grad, name=name)
    if shape is None and layout == "row":
        return made
    array = poured(made.numpy(), shape, layout)
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
    """Make a leaf that is trained (see `tensor`).

    Where the default dtype is float16 or bfloat16 it is float32 all the same: rounding belongs into the forward pass,
    small steps would be lost on narrow weights.
    """
    chosen = _chosen(data, dtype)
    if dtype is None and chosen is not None:
        chosen = master_dtype(dtype_of(chosen))
    return tensor(data, dtype=chosen, requires_grad=True, name=name, shape=shape, layout=layout, device=device)


def _chosen(data: Any, dtype: object) -> object:
    """Return the dtype asked for; the thread's default for what would become a float32 unasked."""
    if dtype is not None or isinstance(data, Value | np.ndarray | np.generic) or DEFAULTS.dtype == DEFAULT_FLOAT:
        return dtype
    try:
        kind = np.asarray(data).dtype.kind
    except ValueError as error:
        raise ShapeError("the nested lists are ragged: every list of one level needs the same length") from error
    return DEFAULTS.dtype if kind == "f" else None
