"""Strided parts of the row-major elements of a value, and sliding windows along an axis.

A part is given by its first element (`offset`) and, for each of its axes, by the step between elements (`strides`), all
counted in elements of the flattened value. ggml's `view`, `set` and `acc` work on such parts.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import as_strided

from engine.core.attributes import Ints, Length
from engine.core.batching import Call, Outputs, along
from engine.core.declarations import PROMOTE_COMMON, Memory
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import primitive
from engine.core.samples import sample
from engine.core.shape_rules import normalize_axis
from engine.core.sharding_rules import Case, Cut, along_first_axis
from engine.core.value import Array, Shape, Spec, Value
from engine.ops.shape.creation import zeros
from engine.ops.shape.shape import reshape


def _check_part(op: str, size: int, shape: Shape, strides: Ints, offset: int) -> None:
    """Raise an error for parts out of bounds, or with an element twice, whose gradient would be ambiguous."""
    if len(strides) != len(shape) or min(strides, default=1) < 1 or offset < 0:
        raise AttributeValueError(
            f"{op}: strides {list(strides)} must be {len(shape)} numbers of at least 1, and offset {offset} at least 0"
        )
    last = offset + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    if 0 not in shape and last >= size:
        raise ShapeError(
            f"{op}: a part of shape {list(shape)} with strides {list(strides)} from offset {offset} ends at element "
            f"{last}, the value has {size}"
        )
    span = 1
    for stride, extent in sorted(zip(strides, shape, strict=True)):
        if extent > 1 and stride < span:
            raise ShapeError(
                f"{op}: strides {list(strides)} let the part {list(shape)} overlap itself; use larger ones"
            )
        span += (extent - 1) * stride


def _part(flat: Array, shape: Shape, strides: Ints, offset: int) -> Array:
    """Return a view of the part of a contiguous vector."""
    if 0 in shape:
        return np.empty(shape, flat.dtype)
    return as_strided(flat[offset:], shape, tuple(stride * flat.itemsize for stride in strides))


def _strided(call: Call) -> Outputs:
    """Batch an op on a part of its first input: the offsets of the parts differ by the size of an example."""
    strides = (max(math.prod(call.shape(0)), 1), *call.attrs["strides"])
    shape = {"shape": (call.size, *call.attrs["shape"])} if "shape" in call.attrs else {}
    return call.again(*(call.spread(index) for index in range(len(call.inputs))), strides=strides, **shape)


def _split_part(case: Case) -> Cut | None:
    """Split the first axis where each of its rows holds a row of the part."""
    whole, part = case.shapes[0], case.shapes[1] if len(case.shapes) > 1 else case.outputs[0]
    if not whole or not part or whole[0] != part[0] or 0 in part:
        return None
    strides = case.attrs["strides"]
    row = math.prod(whole[1:])
    last = case.attrs["offset"] + sum(
        (extent - 1) * stride for extent, stride in zip(part[1:], strides[1:], strict=True)
    )
    return Cut((0,) * len(case.shapes), (0,)) if strides[0] == row > last else None


def _strided_slice(x: Value, *, shape: Ints, strides: Ints, offset: int) -> Spec:
    if min(shape, default=0) < 0:
        raise ShapeError(f"strided_slice: shape {list(shape)} may hold no negative extent")
    _check_part("strided_slice", x.size, shape, strides, offset)
    return Spec(shape, x.dtype)


@primitive(
    shape_rule=_strided_slice,
    aliases=("as_strided",),
    sharding=along_first_axis(_split_part),
    batching=_strided,
    samples=[sample((3, 4), shape=(2, 2), strides=(4, 1), offset=5), sample((7,), shape=(3,), strides=(3,))],
)
def strided_slice(x: Array, *, shape: Ints, strides: Ints, offset: int = 0, out: Array | None = None) -> Array:
    """The part of x of `shape` at `offset` with `strides`, counted in elements of the flattened x, without overlap."""
    part = _part(np.ascontiguousarray(x).reshape(-1), shape, strides, offset)
    if out is None:
        return part.copy()
    np.copyto(out, part)
    return out


@strided_slice.vjp
def _(g: Value, y: Value, x: Value, *, strides: Ints, offset: int) -> Value:
    return slice_add(zeros(shape=x.shape, dtype=g.dtype), g, strides=strides, offset=offset)


def _slice_add(x: Value, y: Value, *, strides: Ints, offset: int) -> Spec:
    _check_part("slice_add", x.size, y.shape, strides, offset)
    return x.spec


PARTS = [
    sample((3, 4), (2, 2), strides=(4, 1), offset=5),
    sample((3, 4), (3,), strides=(4,), offset=2),
    sample((2, 2, 3), (2, 3), strides=(6, 1)),
]


def _copied(x: Array, out: Array | None) -> Array:
    if out is None:
        return np.array(x, order="C")
    np.copyto(out, x)
    return out


@primitive(
    shape_rule=_slice_add,
    aliases=("acc",),
    numerics=PROMOTE_COMMON,
    sharding=along_first_axis(_split_part),
    batching=_strided,
    samples=PARTS,
)
def slice_add(x: Array, y: Array, *, strides: Ints, offset: int = 0, out: Array | None = None) -> Array:
    """x with y added to its part of y's shape at `offset` with `strides`, counted in elements of the flattened x."""
    out = _copied(x, out)
    part = _part(out.reshape(-1, copy=False), y.shape, strides, offset)
    part += y
    return out


@slice_add.vjp
def _(g: Value, r: Value, x: Value, y: Value, *, strides: Ints, offset: int) -> object:
    return g, lambda: strided_slice(g, shape=y.shape, strides=strides, offset=offset)


def _slice_set(x: Value, y: Value, *, strides: Ints, offset: int) -> Spec:
    _check_part("slice_set", x.size, y.shape, strides, offset)
    return x.spec


@primitive(
    shape_rule=_slice_set,
    aliases=("set",),
    numerics=PROMOTE_COMMON,
    sharding=along_first_axis(_split_part),
    batching=_strided,
    samples=PARTS,
)
def slice_set(x: Array, y: Array, *, strides: Ints, offset: int = 0, out: Array | None = None) -> Array:
    """x with its part of y's shape at `offset` with `strides`, counted in elements of the flattened x, set to y."""
    out = _copied(x, out)
    _part(out.reshape(-1, copy=False), y.shape, strides, offset)[...] = y
    return out


@slice_set.vjp
def _(g: Value, r: Value, x: Value, y: Value, *, strides: Ints, offset: int) -> object:
    return (
        lambda: slice_set(g, zeros(shape=y.shape, dtype=g.dtype), strides=strides, offset=offset),
        lambda: strided_slice(g, shape=y.shape, strides=strides, offset=offset),
    )


def _count(extent: int, size: int, step: int) -> int:
    return (extent - size) // step + 1


def _unfold(x: Value, *, axis: int, size: int, step: int) -> Spec:
    place = normalize_axis(axis, x.ndim)
    if not x.ndim and size == 1:
        return Spec((1,), x.dtype)  # a number is a vector of one element
    if not x.ndim or size > x.shape[place]:
        raise ShapeError(f"unfold: windows of {size} do not fit axis {axis} of shape {list(x.shape)}")
    return Spec((*x.shape[:place], _count(x.shape[place], size, step), *x.shape[place + 1 :], size), x.dtype)


@primitive(
    shape_rule=_unfold,
    memory=Memory(view="strided"),
    batching=along("axis"),
    samples=[sample((5,), axis=0, size=2), sample((2, 6, 2), axis=1, size=3, step=2)],
)
def unfold(x: Array, *, axis: int, size: Length, step: Length = 1) -> Array:
    """Windows of `size` elements every `step` along `axis`: their number replaces it, their elements come last."""
    if not x.ndim:
        return x.reshape(1)
    place = axis % x.ndim
    shape = (*x.shape[:place], _count(x.shape[place], size, step), *x.shape[place + 1 :], size)
    strides = list(x.strides)
    strides[place] *= min(step, x.shape[place])  # a longer step leaves one window
    return as_strided(x, shape, (*strides, x.strides[place]), writeable=False)


@unfold.vjp
def _(g: Value, y: Value, x: Value, *, axis: int, size: int, step: int) -> Value:
    if not x.ndim:
        return reshape(g, shape=())
    place = normalize_axis(axis, x.ndim)
    return unfold_back(g, axis=place, extent=x.shape[place], step=step)


def _unfold_back(x: Value, *, axis: int, extent: int, step: int) -> Spec:
    place = normalize_axis(axis, max(x.ndim - 1, 1))
    if x.ndim < 2 or step < 1 or x.shape[-1] > extent or x.shape[place] != _count(extent, x.shape[-1], step):
        raise ShapeError(
            f"unfold_back: {list(x.shape)} are not the windows every {step} along axis {axis} of extent {extent}"
        )
    return Spec((*x.shape[:place], extent, *x.shape[place + 1 : -1]), x.dtype)


@primitive(
    shape_rule=_unfold_back,
    batching=along("axis"),
    samples=[sample((4, 2), axis=0, extent=5), sample((2, 2, 2, 3), axis=1, extent=6, step=2)],
)
def unfold_back(x: Array, *, axis: int, extent: int, step: int = 1, out: Array | None = None) -> Array:
    """The sum of overlapping windows, along an axis of `extent` elements: the transpose of unfold."""
    place = axis % (x.ndim - 1)
    windows = x.shape[place]
    wide = np.zeros(
        (*x.shape[:place], extent, *x.shape[place + 1 : -1]), np.float32 if x.dtype == np.float16 else x.dtype
    )
    lead = (slice(None),) * place
    for offset in range(x.shape[-1]):
        wide[(*lead, slice(offset, offset + (windows - 1) * step + 1, step))] += x[..., offset]
    if out is None:
        return wide.astype(x.dtype, copy=False)
    np.copyto(out, wide, casting="same_kind")
    return out


@unfold_back.vjp
def _(g: Value, y: Value, x: Value, *, axis: int, step: int) -> Value:
    return unfold(g, axis=normalize_axis(axis, x.ndim - 1), size=x.shape[-1], step=step)
