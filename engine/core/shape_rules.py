"""The shape and dtype rules that ops share. Each takes the input Values and attributes and returns Specs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.core.attributes import Axes
from engine.core.dtypes import BOOL, INT64, DType, is_float
from engine.core.errors import DTypeError, ShapeError
from engine.core.value import Shape, Spec, Value


def broadcast_shapes(*shapes: Shape) -> Shape:
    """Return the shape that all of `shapes` broadcast to by NumPy's rule."""
    rank = max(map(len, shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, rank - len(shape)):
            if extent != 1 and extent != result[axis]:
                if result[axis] != 1:
                    raise ShapeError(_explain_mismatch(shapes))
                result[axis] = extent
    return tuple(result)


def _explain_mismatch(shapes: Sequence[Shape]) -> str:
    """Name the last axis along which shapes do not broadcast."""
    axis, extents = 0, set[int]()
    while len(extents) < 2:
        axis += 1
        extents = {shape[-axis] for shape in shapes if len(shape) >= axis} - {1}
    shown = " and ".join(str(list(shape)) for shape in shapes)
    return f"shapes {shown} do not broadcast: axis -{axis} has {' and '.join(map(str, sorted(extents)))}"


def broadcast(*values: Value, **_: Any) -> Spec:
    """Elementwise with broadcasting; the result has the inputs' dtype."""
    if values[0].shape == values[-1].shape and len(values) <= 2:
        return Spec(values[0].shape, values[-1].dtype)
    return Spec(broadcast_shapes(*(v.shape for v in values)), values[-1].dtype)


def broadcast_bool(*values: Value, **_: Any) -> Spec:
    """Elementwise with broadcasting; the result is bool."""
    return Spec(broadcast_shapes(*(v.shape for v in values)), BOOL)


def same(x: Value, *_: Value, **__: Any) -> Spec:
    """Shape and dtype of the first input."""
    return x.spec


def same_number(x: Value, *_: Value, **__: Any) -> Spec:
    """Shape and dtype of the first input, which is not bool."""
    if x.dtype == BOOL:
        raise DTypeError("truth values have no sign; cast them to int64 first, or negate them with logical_not")
    return x.spec


def same_bool(x: Value, *_: Value, **__: Any) -> Spec:
    """Shape of the first input, bool."""
    return Spec(x.shape, BOOL)


def normalize_axis(axis: int, ndim: int) -> int:
    """Return `axis` counted from the front; an error when there is no such axis."""
    if not -max(ndim, 1) <= axis < max(ndim, 1):
        raise ShapeError(f"axis {axis} is out of range for {ndim} axes; use {-ndim}..{ndim - 1}")
    return axis % max(ndim, 1)


def normalize_axes(axis: Axes, ndim: int) -> tuple[int, ...]:
    """Return the axes as sorted numbers from the front; None means all of them."""
    if axis is None:
        return tuple(range(ndim))
    axes = [normalize_axis(a, ndim) for a in ((axis,) if isinstance(axis, int) else axis)]
    if len(set(axes)) != len(axes):
        raise ShapeError(f"axis {list(axes)} names an axis twice")
    return tuple(sorted(axes)) if ndim else ()


def reduced_shape(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    """Return `shape` with `axes` removed, or kept with extent 1."""
    if keepdims:
        return tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def reduction(x: Value, *, axis: Axes = None, keepdims: bool = False, **_: Any) -> Spec:
    """A reduction that keeps the dtype."""
    return Spec(reduced_shape(x.shape, normalize_axes(axis, x.ndim), keepdims), x.dtype)


def reduction_sum(x: Value, *, axis: Axes = None, keepdims: bool = False, **_: Any) -> Spec:
    """A sum or product: bool and integers give int64."""
    shape = reduced_shape(x.shape, normalize_axes(axis, x.ndim), keepdims)
    return Spec(shape, x.dtype if is_float(x.dtype) else INT64)


def reduction_bool(x: Value, *, axis: Axes = None, keepdims: bool = False, **_: Any) -> Spec:
    """A reduction that gives bool."""
    return Spec(reduced_shape(x.shape, normalize_axes(axis, x.ndim), keepdims), BOOL)


def nonempty_reduction(x: Value, *, axis: Axes = None, keepdims: bool = False, **_: Any) -> Spec:
    """A reduction without an identity, which needs at least one element."""
    axes = normalize_axes(axis, x.ndim)
    if any(x.shape[a] == 0 for a in axes):
        raise ShapeError(f"cannot reduce shape {list(x.shape)} over an axis of extent 0: there is no identity element")
    return reduction(x, axis=axis, keepdims=keepdims)


def require_float(op: str, *values: Value) -> DType:
    """Return the common floating dtype of `values`, or refuse."""
    for value in values:
        if not is_float(value.dtype):
            raise DTypeError(f"{op} needs floating inputs, got {value.dtype.name}; cast it first")
        if value.dtype != values[0].dtype:
            raise DTypeError(
                f"{op} needs inputs of one dtype, got {values[0].dtype.name} and {value.dtype.name}; cast one"
            )
    return values[0].dtype


def require_integer(op: str, name: str, value: Value) -> None:
    """Refuse anything but an integer dtype."""
    if value.dtype.kind not in "iu":
        raise DTypeError(f"{op} needs integer {name}, got {value.dtype.name}; cast it to int64")


def require_rank(op: str, name: str, value: Value, *ranks: int) -> None:
    """Refuse a value whose number of axes is not among `ranks`."""
    if value.ndim not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise ShapeError(f"{op} needs {name} with {wanted} axes, got shape {list(value.shape)}")


def require_extents(op: str, shape: Shape) -> None:
    """Refuse a shape with a negative extent."""
    if any(extent < 0 for extent in shape):
        raise ShapeError(f"{op}: shape {list(shape)} may hold no negative extent")


def require_axes(op: str, x: Value) -> None:
    """Refuse a value without axes."""
    if not x.ndim:
        raise ShapeError(f"{op} needs at least one axis, got a value of shape []; reshape it to [1] first")


def scalar(x: Value, **_: Any) -> Spec:
    """One number of the input's dtype."""
    return Spec((), np.dtype(x.dtype))
