"""Rearranging axes and elements: views where NumPy allows, with each other's transposes as backward rules."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from engine.core.attributes import Axes
from engine.core.batching import Call, Outputs, along, shifted
from engine.core.declarations import PROMOTE_COMMON, Algebra, CallForms, Memory, Numerics, Sharding
from engine.core.dtypes import BFLOAT16
from engine.core.errors import AttributeValueError, DTypeError, LimitError, ShapeError
from engine.core.registry import OPS, composite, primitive
from engine.core.samples import sample
from engine.core.shape_rules import broadcast_shapes, normalize_axes, normalize_axis, require_axes
from engine.core.sharding_rules import ALONG_AXIS, PARTIAL, Case, Cut, along_first_axis
from engine.core.value import Array, Shape, Spec, Value
from engine.ops.kernels.blocks import store_result
from engine.ops.shape.pad_modes import Border, Pairs, check_border, surround

MOST_PARTS = 1000
"""Maximum number of results of split, chunk and unbind; keep more of them as an axis."""

Ints = tuple[int, ...]
Shaped = TypeVar("Shaped", Array, Value)


def _resolve(shape: Shape, x: Value) -> Shape:
    """Fill in the one extent given as -1."""
    if shape.count(-1) > 1 or any(extent < -1 for extent in shape):
        raise ShapeError(f"shape {list(shape)} may hold one -1 and no other negative extent")
    if -1 in shape:
        known = -math.prod(shape)
        if known == 0 or x.size % known:
            raise ShapeError(f"cannot reshape {list(x.shape)} ({x.size} elements) to {list(shape)}")
        shape = tuple(x.size // known if extent == -1 else extent for extent in shape)
    if math.prod(shape) != x.size:
        raise ShapeError(f"cannot reshape {list(x.shape)} ({x.size} elements) to {list(shape)} ({math.prod(shape)})")
    return shape


def _reshape(x: Value, *, shape: Ints) -> Spec:
    return Spec(_resolve(shape, x), x.dtype)


@primitive(
    shape_rule=_reshape,
    aliases=("view",),
    memory=Memory(view="reshape"),
    algebra=Algebra(identity=True, keeps_elements=True),
    batching=lambda call: call.again(call.inputs[0], shape=(call.size, *call.outputs[0].shape)),
    samples=[sample((2, 3), shape=(3, 2)), sample((2, 3), shape=(-1,))],
)
def reshape(x: Array, *, shape: Ints) -> Array:
    """The same elements in row-major order with another shape; one extent may be -1 and is then inferred."""
    return x.reshape(shape)


reshape.vjp(lambda g, y, x: reshape(g, shape=x.shape))


@composite(
    algebra=Algebra(keeps_elements=True),
    samples=[sample((2, 3, 4)), sample((2, 3, 4), start=1), sample((2, 3, 4), start=0, end=1)],
)
def flatten(x: Value, *, start: int = 0, end: int = -1) -> Value:
    """Join the axes from `start` to `end` (both included) into one."""
    if not x.ndim:
        return reshape(x, shape=(1,))
    first, last = normalize_axis(start, x.ndim), normalize_axis(end, x.ndim)
    if first > last:
        raise ShapeError(f"flatten: start {start} lies after end {end}")
    joined = math.prod(x.shape[first : last + 1])
    return reshape(x, shape=(*x.shape[:first], joined, *x.shape[last + 1 :]))


def _permute(x: Value, *, axes: Ints) -> Spec:
    order = axes
    if sorted(order) != list(range(x.ndim)):
        order = tuple(normalize_axis(axis, x.ndim) for axis in axes)
    if sorted(order) != list(range(x.ndim)):
        raise ShapeError(f"axes {list(axes)} must name each of the {x.ndim} axes once")
    return Spec(tuple(x.shape[axis] for axis in order), x.dtype)


@primitive(
    shape_rule=_permute,
    memory=Memory(view="strided"),
    samples=[sample((2, 3, 4), axes=(2, 0, 1)), sample((2, 3), axes=(-1, 0))],
)
def permute(x: Array, *, axes: Ints) -> Array:
    """x with its axes permuted."""
    return x.transpose(axes)


@permute.batch
def _(call: Call) -> Outputs:
    rank = call.rank(0)
    return call.again(call.inputs[0], axes=(0, *(axis % rank + 1 for axis in call.attrs["axes"])))


@permute.vjp
def _(g: Value, y: Value, x: Value, *, axes: Ints) -> Value:
    return permute(g, axes=tuple(int(axis) for axis in np.argsort([axis % x.ndim for axis in axes])))


@composite(aliases=("swapaxes",), samples=[sample((2, 3)), sample((2, 3, 4), axis0=0, axis1=2)])
def transpose(x: Value, *, axis0: int = -2, axis1: int = -1) -> Value:
    """x with two axes exchanged; by default the last two."""
    if x.ndim < 2 and (axis0, axis1) == (-2, -1):
        raise ShapeError(f"transpose needs at least two axes, got shape {list(x.shape)}")
    order = list(range(x.ndim))
    a, b = normalize_axis(axis0, x.ndim), normalize_axis(axis1, x.ndim)
    if x.ndim:  # a scalar has no axes to exchange
        order[a], order[b] = order[b], order[a]
    return permute(x, axes=tuple(order))


@composite(samples=[sample((2, 3)), sample((3,)), sample(())])
def t(x: Value) -> Value:
    """The transpose of the matrix x; a vector or a scalar is returned unchanged (PyTorch's t)."""
    if x.ndim > 2:
        raise ShapeError(f"t needs at most two axes, got shape {list(x.shape)}; use transpose")
    return transpose(x) if x.ndim == 2 else x


@composite(
    algebra=Algebra(keeps_elements=True),
    samples=[
        sample((1, 3, 1)),
        sample((1, 3, 1), axis=0),
        sample((1, 3, 1), axis=(0, 2)),
        sample((1, 3, 1), axis=(0, 1), strict=False),
    ],
)
def squeeze(x: Value, *, axis: Axes = None, strict: bool = True) -> Value:
    """x without its axes of extent 1, or without the given ones; an axis of another extent is an error.

    Unless `strict` such an axis is kept, as in PyTorch.
    """
    axes = normalize_axes(axis, x.ndim)
    if axis is None or not strict:
        axes = tuple(a for a in axes if x.shape[a] == 1)
    for a in axes:
        if x.shape and x.shape[a] != 1:
            raise ShapeError(
                f"cannot squeeze axis {a} of extent {x.shape[a]}: only axes of extent 1 can go; "
                "strict=False keeps the others"
            )
    return reshape(x, shape=tuple(extent for a, extent in enumerate(x.shape) if a not in axes))


@composite(
    aliases=("expand_dims",),
    algebra=Algebra(keeps_elements=True),
    samples=[sample((2, 3), axis=0), sample((2, 3), axis=-1)],
)
def unsqueeze(x: Value, *, axis: int) -> Value:
    """x with a new axis of extent 1 at `axis`."""
    place = normalize_axis(axis, x.ndim + 1)
    return reshape(x, shape=(*x.shape[:place], 1, *x.shape[place:]))


def _broadcast_to(x: Value, *, shape: Ints) -> Spec:
    extra = len(shape) - x.ndim
    wanted = tuple(
        (x.shape[axis - extra] if axis >= extra else -1) if extent == -1 else extent
        for axis, extent in enumerate(shape)
    )
    if extra < 0 or min(wanted, default=0) < 0 or broadcast_shapes(x.shape, wanted) != wanted:
        raise ShapeError(f"shape {list(x.shape)} does not broadcast to {list(shape)}")
    return Spec(wanted, x.dtype)


@primitive(
    shape_rule=_broadcast_to,
    aliases=("expand",),
    memory=Memory(view="strided"),
    algebra=Algebra(identity=True),
    samples=[sample((3,), shape=(2, 3)), sample((2, 1), shape=(4, -1, 3))],
)
def broadcast_to(x: Array, *, shape: Ints) -> Array:
    """x broadcast to `shape` by NumPy's rule, without a copy; an extent of -1 keeps that of x."""
    extra = len(shape) - x.ndim
    if -1 in shape:
        shape = _with_extents_of(x.shape, shape)
    if not x.size or not x.flags.c_contiguous or x.dtype is BFLOAT16:
        return np.broadcast_to(x, shape)
    strides = [0] * extra
    if x.shape:
        # A comprehension is a call, which takes longer.
        for extent, stride in zip(x.shape, x.strides, strict=True):
            strides.append(0 if extent == 1 else stride)
    stretched: Array = np.ndarray(shape, x.dtype, x, 0, strides)
    stretched.setflags(write=False)  # not to be written to: it is what np.broadcast_to gives, in a tenth of the time
    return stretched


def _with_extents_of(known: Shape, shape: Ints) -> Shape:
    extra = len(shape) - len(known)
    return tuple(known[axis - extra] if extent == -1 else extent for axis, extent in enumerate(shape))


@broadcast_to.batch
def _(call: Call) -> Outputs:
    shape = call.outputs[0].shape
    return call.again(call.aligned(0, len(shape)), shape=(call.size, *shape))


broadcast_to.vjp(lambda g, y, x: OPS["sum_to"](g, shape=x.shape))


def _parts(xs: Sequence[Shaped]) -> Sequence[Shaped]:
    """Return the inputs of concat without those of shape [0], which are ignored at any rank, as in PyTorch."""
    return [x for x in xs if x.shape != (0,)] or xs


def _concat(*xs: Value, axis: int) -> Spec:
    if not xs:
        raise ShapeError("concat needs at least one input")
    parts = _parts(xs)
    first = parts[0]
    if not first.ndim:
        raise ShapeError("concat needs inputs with at least one axis; use stack for scalars")
    place = normalize_axis(axis, first.ndim)
    for x in parts[1:]:
        if x.ndim != first.ndim or any(
            a != b for i, (a, b) in enumerate(zip(x.shape, first.shape, strict=True)) if i != place
        ):
            raise ShapeError(f"concat: shapes {list(first.shape)} and {list(x.shape)} must agree except on axis {axis}")
    total = sum(x.shape[place] for x in parts)
    return Spec((*first.shape[:place], total, *first.shape[place + 1 :]), first.dtype)


@primitive(
    shape_rule=_concat,
    aliases=("cat",),
    numerics=PROMOTE_COMMON,
    algebra=Algebra(additive=True),
    sharding=ALONG_AXIS,
    samples=[sample((2, 3), (1, 3)), sample((2, 3), (2, 1), (2, 2), axis=1), sample((2,), axis=-1)],
)
def concat(*xs: Array, axis: int = 0, out: Array | None = None) -> Array:
    """The inputs concatenated along `axis`; their other extents must agree, but inputs of shape [0] are ignored."""
    return np.concatenate(_parts(xs), axis=axis, out=out)


@concat.batch
def _(call: Call) -> Outputs:
    numbers = [i for i in range(len(call.inputs)) if call.shape(i) != (0,)] or list(range(len(call.inputs)))
    axis = shifted(call.attrs["axis"], call.rank(numbers[0]))
    return call.again(*(call.spread(i) for i in numbers), axis=axis)


@concat.vjp
def _(g: Value, y: Value, *xs: Value, axis: int) -> tuple[object, ...]:
    place = normalize_axis(axis, y.ndim)
    extents = [x.shape[place] if x.ndim == y.ndim else 0 for x in xs]
    ends = np.cumsum(extents).tolist()
    return tuple(
        (lambda low=end - extent, high=end: slice(g, axis=place, start=low, stop=high)) if x.ndim == y.ndim else None
        for x, extent, end in zip(xs, extents, ends, strict=True)
    )


@composite(samples=[sample((2, 3), (2, 3)), sample((2,), (2,), axis=-1)])
def stack(*xs: Value, axis: int = 0) -> Value:
    """The inputs, all of one shape, stacked along a new axis."""
    if not xs or any(x.shape != xs[0].shape for x in xs):
        raise ShapeError(f"stack needs inputs of one shape, got {', '.join(str(list(x.shape)) for x in xs) or 'none'}")
    return concat(*(unsqueeze(x, axis=axis) for x in xs), axis=normalize_axis(axis, xs[0].ndim + 1))


def bounds(extent: int, start: int | None, stop: int | None, step: int) -> range:
    """Return the indices that start:stop:step selects, by Python's rule."""
    if step < 1:
        raise ShapeError(f"slice step {step} must be at least 1; use flip to reverse")
    return range(*builtins.slice(start, stop, step).indices(extent))


def _slice(x: Value, *, axis: int, start: int | None, stop: int | None, step: int) -> Spec:
    place = normalize_axis(axis, x.ndim)
    if not x.ndim:
        raise ShapeError("slice needs at least one axis")
    picked = len(bounds(x.shape[place], start, stop, step))
    return Spec((*x.shape[:place], picked, *x.shape[place + 1 :]), x.dtype)


@primitive(
    shape_rule=_slice,
    call=CallForms(by_place=()),
    memory=Memory(view="strided"),
    batching=along("axis"),
    samples=[sample((4, 3), start=1, stop=3), sample((2, 5), axis=1, start=0, stop=5, step=2), sample((4,), start=-2)],
)
def slice(x: Array, *, axis: int = 0, start: int | None = None, stop: int | None = None, step: int = 1) -> Array:
    """The slice start:stop:step of one axis, by Python's rule (negative bounds count from the end; step >= 1)."""
    return x[(builtins.slice(None),) * (axis % x.ndim) + (builtins.slice(start, stop, step),)]


@slice.vjp
def _(g: Value, y: Value, x: Value, *, axis: int, start: int | None, stop: int | None, step: int) -> Value:
    place = normalize_axis(axis, x.ndim)
    picked = bounds(x.shape[place], start, stop, step)
    return slice_scatter(g, axis=place, extent=x.shape[place], start=picked.start, step=step)


@composite(samples=[sample((4, 3), axis=0, start=1, length=2), sample((2, 5), axis=1, start=-2, length=2)])
def narrow(x: Value, *, axis: int, start: int, length: int) -> Value:
    """The `length` elements from `start` along `axis`; a negative start counts from the end (PyTorch's narrow)."""
    require_axes("narrow", x)
    extent = x.shape[normalize_axis(axis, x.ndim)]
    first = start + extent if start < 0 else start
    if length < 0 or not 0 <= first <= extent - length:
        raise ShapeError(f"narrow: start {start} and length {length} do not lie in axis {axis} of extent {extent}")
    return slice(x, axis=axis, start=first, stop=first + length)


def _slice_scatter(x: Value, *, axis: int, extent: int, start: int, step: int) -> Spec:
    place = normalize_axis(axis, x.ndim)
    if not x.ndim or start < 0 or step < 1 or (x.shape[place] and start + (x.shape[place] - 1) * step >= extent):
        raise ShapeError(
            f"slice_scatter: {list(x.shape)} from {start} in steps of {step} does not fit axis {axis} "
            f"of extent {extent}"
        )
    return Spec((*x.shape[:place], extent, *x.shape[place + 1 :]), x.dtype)


@primitive(
    shape_rule=_slice_scatter,
    call=CallForms(by_place=()),
    algebra=Algebra(additive=True, joined_by=concat.name),
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[sample((2, 3), axis=0, extent=5, start=1), sample((3,), axis=0, extent=6, start=1, step=2)],
)
def slice_scatter(
    x: Array, *, axis: int, extent: int, start: int = 0, step: int = 1, out: Array | None = None
) -> Array:
    """Zeros of `extent` along `axis`, with x written at start, start + step, ...: the transpose of slice."""
    place = axis % x.ndim
    if out is None:
        out = np.empty((*x.shape[:place], extent, *x.shape[place + 1 :]), x.dtype)
    out.fill(0)
    out[(builtins.slice(None),) * place + (builtins.slice(start, start + x.shape[place] * step, step),)] = x
    return out


@slice_scatter.vjp
def _(g: Value, y: Value, x: Value, *, axis: int, start: int, step: int) -> Value:
    return slice(g, axis=axis, start=start, stop=start + x.shape[axis % x.ndim] * step, step=step)


def _check_parts(what: str, count: int) -> None:
    if count > MOST_PARTS:
        raise LimitError(f"{what}: {count} parts are more than {MOST_PARTS}; keep them as an axis, by reshape")


@composite(samples=[sample((4, 3), sizes=(1, 3)), sample((2, 4), sizes=(2, 2), axis=1), sample((5, 2), sizes=2)])
def split(x: Value, *, sizes: int | Ints, axis: int = 0) -> tuple[Value, ...]:
    """x split along `axis` into parts of the given sizes, which must add up to its extent.

    A single size is that of every part; the last one is smaller if the size does not divide the extent.
    """
    require_axes("split", x)
    place = normalize_axis(axis, x.ndim)
    if isinstance(sizes, int):
        if sizes < 1:
            raise ShapeError(f"split: size {sizes} must be at least 1")
        _check_parts("split", -(-x.shape[place] // sizes))
        starts = range(0, max(x.shape[place], 1), sizes)
        sizes = tuple(min(sizes, x.shape[place] - start) for start in starts)
    if not sizes or min(sizes) < 0 or sum(sizes) != x.shape[place]:
        raise ShapeError(f"split sizes {list(sizes)} must add up to the extent {x.shape[place]} of axis {axis}")
    _check_parts("split", len(sizes))
    ends = np.cumsum(sizes).tolist()
    return tuple(slice(x, axis=place, start=end - size, stop=end) for size, end in zip(sizes, ends, strict=True))


@composite(samples=[sample((4, 3), chunks=2), sample((2, 5), chunks=3, axis=1)])
def chunk(x: Value, *, chunks: int, axis: int = 0) -> tuple[Value, ...]:
    """x split along `axis` into `chunks` equal parts, the last one smaller if they do not divide the extent."""
    require_axes("chunk", x)
    extent = x.shape[normalize_axis(axis, x.ndim)]
    if chunks < 1:
        raise ShapeError(f"chunks {chunks} must be at least 1")
    size = max(-(-extent // chunks), 1)
    _check_parts("chunk", -(-extent // size))
    sizes = [min(size, extent - start) for start in range(0, extent, size)]
    return split(x, sizes=tuple(sizes), axis=axis)


def _flip(x: Value, *, axis: Axes) -> Spec:
    normalize_axes(axis, x.ndim)
    return x.spec


@primitive(
    shape_rule=_flip,
    numerics=Numerics(supports_bfloat16=True),
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[sample((2, 3), axis=0), sample((2, 3))],
)
def flip(x: Array, *, axis: Axes = None, out: Array | None = None) -> Array:
    """A copy of x with the order of its elements along `axis` reversed; not a view, as in PyTorch."""
    backwards = np.flip(x, axis=normalize_axes(axis, x.ndim))
    if out is None:
        return backwards.copy()
    np.copyto(out, backwards)
    return out


flip.vjp(lambda g, y, x, *, axis: flip(g, axis=axis))


def _pad(x: Value, *, widths: Pairs, value: float, mode: Border) -> Spec:
    if len(widths) != x.ndim:
        raise ShapeError(f"pad needs one [before, after] pair of numbers for each of the {x.ndim} axes")
    shape = tuple(e + before + after for e, (before, after) in zip(x.shape, widths, strict=True))
    if any(extent < 0 for extent in shape):
        raise ShapeError(f"pad: widths {[list(pair) for pair in widths]} cut more off {list(x.shape)} than there is")
    rest = tuple(
        e + builtins.min(before, 0) + builtins.min(after, 0) for e, (before, after) in zip(x.shape, widths, strict=True)
    )
    check_border(rest if mode == "circular" else x.shape, _outer(widths), mode)
    return Spec(shape, x.dtype)


def _outer(widths: Pairs) -> Pairs:
    """Return the widths of borders alone, with 0 where elements are cut off."""
    return tuple((builtins.max(before, 0), builtins.max(after, 0)) for before, after in widths)


def _cut(x: Array, widths: Pairs) -> Array:
    """Return a view of x without the elements that negative widths cut off."""
    bounds = zip(x.shape, widths, strict=True)
    return x[tuple(builtins.slice(builtins.max(-low, 0), e - builtins.max(-high, 0)) for e, (low, high) in bounds)]


def _split_pad(case: Case) -> Cut | None:
    """Split an axis without a border: the one that is split already, or the longest."""
    shape = case.shapes[0]
    plain = [axis for axis, pair in enumerate(case.attrs["widths"]) if pair == (0, 0) and shape[axis] > 1]
    if not plain:
        return None
    axis = case.axis if case.axis in plain else builtins.max(plain, key=shape.__getitem__)
    return Cut((axis,), (axis,))


@primitive(
    shape_rule=_pad,
    call=CallForms(by_place=("widths", "mode", "value")),
    sharding=along_first_axis(_split_pad),
    batching=lambda call: call.again(call.inputs[0], widths=((0, 0), *call.attrs["widths"])),
    samples=[
        sample((2, 3), widths=((0, 1), (2, 0))),
        sample((2,), widths=((1, 1),), value=7.0),
        sample((2, 3), widths=((0, 1), (2, 1)), mode="reflect"),
        sample((2, 3), widths=((2, 0), (0, 3)), mode="replicate"),
        sample((3,), widths=((1, 3),), mode="circular"),
        sample((3, 4), widths=((-1, 1), (2, -3))),
        sample((4,), widths=((-1, 2),), mode="replicate"),
    ],
)
def pad(x: Array, *, widths: Pairs, value: float = 0.0, mode: Border = "constant", out: Array | None = None) -> Array:
    """x surrounded by `value`, or in another mode by its own elements: `widths` holds [before, after] for each axis.

    "reflect" mirrors at the outermost element, "replicate" repeats it, and "circular" continues at the other end.
    Negative widths cut elements off: in mode "circular" before the border is made, else after.
    """
    cut = builtins.any(width < 0 for pair in widths for width in pair)
    if mode != "constant":
        if not cut:
            return surround(x, widths, mode, out)
        if mode == "circular":
            return surround(_cut(x, widths), _outer(widths), mode, out)
        return store_result(_cut(surround(x, _outer(widths), mode, None), widths).copy(), out)
    if out is None:
        out = np.empty([e + before + after for e, (before, after) in zip(x.shape, widths, strict=True)], x.dtype)
    inner, widths = (_cut(x, widths), _outer(widths)) if cut else (x, widths)
    out.fill(value)
    out[tuple(builtins.slice(before, before + e) for e, (before, _) in zip(inner.shape, widths, strict=True))] = inner
    return out


@pad.vjp
def _(g: Value, y: Value, x: Value, *, widths: Pairs, mode: Border) -> object:
    cut = _outer(tuple((-before, -after) for before, after in widths))
    if builtins.any(pair != (0, 0) for pair in cut):  # elements cut off have a gradient of 0
        if mode == "circular":
            return pad(OPS["pad_back"](g, widths=_outer(widths), mode=mode), widths=cut)
        g, widths = pad(g, widths=cut), _outer(widths)
    if mode != "constant":
        return OPS["pad_back"](g, widths=widths, mode=mode)
    for axis, (before, after) in enumerate(widths):
        if before or after:
            g = slice(g, axis=axis, start=before, stop=before + x.shape[axis])
    return g


def _pack(*xs: Value, offsets: Ints, size: int) -> Spec:
    if len(offsets) != len(xs):
        raise AttributeValueError(f"pack needs an offset for each of its {len(xs)} inputs, got {len(offsets)}")
    end = 0
    for x, offset in zip(xs, offsets, strict=True):
        if x.dtype != xs[0].dtype:
            raise DTypeError(f"pack needs inputs of one dtype, got {xs[0].dtype.name} and {x.dtype.name}; cast one")
        if offset < end:
            raise AttributeValueError(f"pack: offset {offset} lies before {end}, where the input before it ends")
        end = offset + x.size
    if size < end:
        raise AttributeValueError(f"pack: size {size} is less than {end}, where the last input ends")
    return Spec((size,), xs[0].dtype)


def _split_pack(case: Case) -> Cut | None:
    """A vector of partial sums is a partial sum; whole inputs are added by the first shard only."""
    if any(state not in (None, PARTIAL) for state in case.states):
        return None
    return Cut(tuple(case.states), (PARTIAL,))


@primitive(
    shape_rule=_pack,
    memory=Memory(packs=True),
    algebra=Algebra(additive=True),
    sharding=Sharding(_split_pack),
    samples=[sample((2, 3), (4,), offsets=(0, 16), size=32)],
)
def pack(*xs: Array, offsets: Ints, size: int, out: Array | None = None) -> Array:
    """The inputs, flattened, at `offsets` of one vector of `size` elements; zeros in the gaps between."""
    if out is None:
        out = np.zeros(size, xs[0].dtype)
    end = 0
    for x, offset in zip(xs, offsets, strict=True):
        out[end:offset] = 0
        end = offset + x.size
        place = out[offset:end].reshape(x.shape)
        if not (place.ctypes.data == x.ctypes.data and place.strides == x.strides):
            np.copyto(place, x)
    out[end:] = 0
    return out


@pack.vjp
def _(g: Value, y: Value, *xs: Value, offsets: Ints) -> tuple[object, ...]:
    return tuple(
        (lambda x=x, offset=offset: reshape(slice(g, start=offset, stop=offset + x.size), shape=x.shape))
        for x, offset in zip(xs, offsets, strict=True)
    )
