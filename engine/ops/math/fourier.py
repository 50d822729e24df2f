"""Discrete Fourier transforms; complex numbers are pairs of real values, the real and the imaginary part.

All of them are compositions of `dft`, which is linear: its transpose is the transform in the other direction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeVar

import numpy as np

from engine.core.attributes import Axes, Ints
from engine.core.batching import along
from engine.core.declarations import COMPUTE_FLOAT32, PROMOTE_FLOAT, Documentation
from engine.core.dtypes import FLOAT16, FLOAT32, DType
from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.core.registry import Op, composite, named, primitive
from engine.core.samples import Sample, sample
from engine.core.shape_rules import normalize_axes, normalize_axis, require_float
from engine.core.sharding_rules import ALONG_AXIS
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.elementwise import neg
from engine.ops.shape.arrangement import roll
from engine.ops.shape.creation import arange, zeros
from engine.ops.shape.shape import concat, flip, pad, slice

Norm = Literal["backward", "ortho", "forward"]
Pair = tuple[Value, Value]
R = TypeVar("R")


def _dft(real: Value, imaginary: Value, *, axis: int, inverse: bool) -> tuple[Spec, Spec]:
    require_float("dft", real, imaginary)
    if real.shape != imaginary.shape:
        raise ShapeError(f"dft: real {list(real.shape)} and imaginary parts {list(imaginary.shape)} need one shape")
    if not real.ndim or real.shape[normalize_axis(axis, real.ndim)] < 1:
        raise ShapeError(f"dft needs an axis of at least one element, got {list(real.shape)} and axis {axis}")
    return real.spec, real.spec


@primitive(
    shape_rule=_dft,
    multi_output=True,
    numerics=PROMOTE_FLOAT,
    documentation=Documentation(outputs=("real", "imaginary")),
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[sample((2, 5), (2, 5), axis=1), sample((4, 2), (4, 2), axis=0, inverse=True)],
)
def dft(real: Array, imaginary: Array, *, axis: int = -1, inverse: bool = False) -> tuple[Array, Array]:
    """The sums of x[k] exp(-2 pi i j k / n) along `axis` of x = real + i imaginary; `inverse` takes the other sign.

    Neither direction is normalised. float16 is computed in float32.
    """
    wide = FLOAT32 if real.dtype == FLOAT16 else real.dtype
    x = real.astype(wide) + 1j * imaginary.astype(wide)
    y = np.fft.ifft(x, axis=axis, norm="forward") if inverse else np.fft.fft(x, axis=axis)
    return y.real.astype(real.dtype), y.imag.astype(real.dtype)


@dft.vjp
def _(
    g: tuple[Value | None, Value | None], y: Pair, real: Value, imaginary: Value, *, axis: int, inverse: bool
) -> tuple[Value, Value]:
    parts = [zeros(shape=real.shape, dtype=real.dtype) if part is None else part for part in g]
    first, second = dft(parts[0], parts[1], axis=axis, inverse=not inverse)
    return first, second


def _factor(n: int, norm: Norm, *, inverse: bool) -> float:
    """Return the normalisation factor of sums over n elements."""
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if (norm == "backward") == inverse else 1.0


def _parts(op: str, real: Value, imaginary: Value | None) -> Pair:
    require_float(op, *(real,) if imaginary is None else (real, imaginary))
    other = zeros(shape=real.shape, dtype=real.dtype) if imaginary is None else imaginary
    if other.shape != real.shape:
        raise ShapeError(f"{op}: real {list(real.shape)} and imaginary parts {list(other.shape)} need one shape")
    return real, other


def _fitted(op: str, x: Value, axis: int, n: int | None) -> Value:
    """Truncate an axis, or pad it with zeros at its end, to n elements."""
    if not x.ndim:
        raise ShapeError(f"{op} needs an input with at least one axis, got a number")
    place = normalize_axis(axis, x.ndim)
    extent = x.shape[place]
    n = extent if n is None else n
    if n < 1:
        raise AttributeValueError(f"{op}: n {n} must be at least 1")
    if n == extent:
        return x
    if n < extent:
        return slice(x, axis=place, stop=n)
    return pad(x, widths=tuple((0, n - extent if axis == place else 0) for axis in range(x.ndim)))


def _transformed(op: str, parts: Pair, axis: int, n: int | None, norm: Norm, *, inverse: bool) -> Pair:
    real, imaginary = (_fitted(op, part, axis, n) for part in parts)
    factor = _factor(real.shape[axis], norm, inverse=inverse)
    real, imaginary = dft(real, imaginary, axis=axis, inverse=inverse)
    return (real, imaginary) if factor == 1 else (real * factor, imaginary * factor)


def resolve_axes(op: str, x: Value, axes: Axes, sizes: Ints | None) -> list[tuple[int, int | None]]:
    """Return each axis that is transformed, and the number of elements to truncate or pad it to (None: as it is)."""
    if axes is None:
        places = tuple(range(x.ndim - len(sizes), x.ndim)) if sizes is not None else tuple(range(x.ndim))
    else:
        places = tuple(normalize_axis(axis, x.ndim) for axis in ((axes,) if isinstance(axes, int) else axes))
    if sizes is not None and len(sizes) != len(places):
        raise AttributeValueError(f"{op}: sizes {list(sizes)} must be one for each of {len(places)} axes")
    if len(set(places)) != len(places) or any(place < 0 for place in places):
        raise AttributeValueError(f"{op}: axes {list(places)} of {x.ndim} axes must differ")
    return list(zip(places, sizes or (None,) * len(places), strict=True))


@composite(
    numerics=COMPUTE_FLOAT32,
    samples=[sample((2, 5), (2, 5)), sample((4,), n=6, norm="ortho"), sample((4, 2), (4, 2), n=3, axis=0)],
)
def fft(
    real: Value, imaginary: Value | None = None, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> tuple[Value, Value]:
    """The discrete Fourier transform along `axis`: real and imaginary part.

    The input is `real` + i `imaginary` (0 by default), truncated or padded with zeros to `n` elements. `norm`
    "backward" divides the inverse by n, "forward" this direction, "ortho" both by the root of n.
    """
    return _transformed("fft", _parts("fft", real, imaginary), axis, n, norm, inverse=False)


@composite(numerics=COMPUTE_FLOAT32, samples=[sample((2, 5), (2, 5)), sample((4,), n=6, norm="forward")])
def ifft(
    real: Value, imaginary: Value | None = None, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> tuple[Value, Value]:
    """The inverse of fft along `axis`, with the same arguments: real and imaginary part."""
    return _transformed("ifft", _parts("ifft", real, imaginary), axis, n, norm, inverse=True)


@composite(numerics=COMPUTE_FLOAT32, samples=[sample((2, 5)), sample((6, 2), n=4, axis=0, norm="ortho")])
def rfft(x: Value, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> tuple[Value, Value]:
    """The first n // 2 + 1 elements along `axis` of the fft of a real x (the others are conjugates): both parts."""
    real, imaginary = _transformed("rfft", _parts("rfft", x, None), axis, n, norm, inverse=False)
    kept = real.shape[axis] // 2 + 1
    return slice(real, axis=axis, stop=kept), slice(imaginary, axis=axis, stop=kept)


@composite(
    numerics=COMPUTE_FLOAT32,
    samples=[sample((2, 3), (2, 3)), sample((2, 3), (2, 3), n=5), sample((4, 2), (4, 2), axis=0, norm="ortho")],
)
def irfft(
    real: Value, imaginary: Value | None = None, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> Value:
    """The inverse of rfft: a real value of `n` elements along `axis`, by default 2 (extent - 1).

    Imaginary parts of the first element and, for an even n, of the last one are ignored.
    """
    x, y = _parts("irfft", real, imaginary)
    if not x.ndim:
        raise ShapeError("irfft needs an input with at least one axis, got a number")
    place = normalize_axis(axis, x.ndim)
    n = 2 * (x.shape[place] - 1) if n is None else n
    if n < 1:
        raise AttributeValueError(f"irfft: n {n} must be at least 1")
    x, y = (_fitted("irfft", part, place, n // 2 + 1) for part in (x, y))
    mirrored = [flip(slice(part, axis=place, start=1, stop=(n + 1) // 2), axis=place) for part in (x, y)]
    whole = concat(x, mirrored[0], axis=place), concat(y, neg(mirrored[1]), axis=place)
    # The transform is linear, so that what the first and the middle element have of an imaginary part goes to the
    # imaginary part of the result, which is dropped.
    return _transformed("irfft", whole, place, None, norm, inverse=True)[0]


def _declare_fftn(name: str, samples: Sequence[Sample], *, inverse: bool) -> Op[tuple[Value, Value]]:
    def transform(
        real: Value,
        imaginary: Value | None = None,
        *,
        sizes: Ints | None = None,
        axes: Axes = None,
        norm: Norm = "backward",
    ) -> tuple[Value, Value]:
        parts = _parts(name, real, imaginary)
        for axis, n in resolve_axes(name, real, axes, sizes):
            parts = _transformed(name, parts, axis, n, norm, inverse=inverse)
        return parts

    along = "each of several axes (all of them, or as many last ones as there are `sizes`)"
    named(transform, name, f"{name[:-1]} along {along}: real and imaginary part.")
    return composite(numerics=COMPUTE_FLOAT32, samples=samples)(transform)


fftn = _declare_fftn("fftn", [sample((2, 3), (2, 3)), sample((3, 2), sizes=(2, 4), norm="ortho")], inverse=False)
ifftn = _declare_fftn("ifftn", [sample((2, 3), (2, 3)), sample((3, 2), axes=(0,))], inverse=True)


def _declare_two_axes(name: str, doc: str, of: Op[R], samples: Sequence[Sample]) -> Op[R]:
    """Declare the form of `of` whose axes are the last two unless given."""

    def transform(
        real: Value,
        imaginary: Value | None = None,
        *,
        sizes: Ints | None = None,
        axes: Axes = (-2, -1),
        norm: Norm = "backward",
    ) -> R:
        return of(real, imaginary, sizes=sizes, axes=axes, norm=norm)

    return composite(numerics=COMPUTE_FLOAT32, samples=samples)(named(transform, name, doc))


fft2 = _declare_two_axes(
    "fft2",
    "fft along `axes`, by default the last two: real and imaginary part.",
    fftn,
    [sample((2, 3), (2, 3)), sample((2, 3, 2), sizes=(2, 4))],
)
ifft2 = _declare_two_axes(
    "ifft2", "ifft along `axes`, by default the last two: real and imaginary part.", ifftn, [sample((2, 3), (2, 3))]
)


@composite(samples=[sample((5,)), sample((2, 4), axes=1)])
def fftshift(x: Value, *, axes: Axes = None) -> Value:
    """x with the zero frequency moved to the middle of each of `axes` (all of them when null)."""
    return _shifted(x, axes, 1)


@composite(samples=[sample((5,)), sample((2, 4), axes=1)])
def ifftshift(x: Value, *, axes: Axes = None) -> Value:
    """x with the middle of each of `axes` moved to the front: the inverse of fftshift."""
    return _shifted(x, axes, -1)


def _shifted(x: Value, axes: Axes, sign: int) -> Value:
    places = normalize_axes(axes, x.ndim)
    if not places:
        return x
    shifts = tuple(sign * (x.shape[place] // 2) if sign > 0 else -(x.shape[place] // 2) for place in places)
    return roll(x, shifts=shifts, axis=places)


def _frequencies(op: str, n: int, d: float, dtype: DType) -> float:
    if n < 1 or d == 0:
        raise AttributeValueError(f"{op}: n {n} must be at least 1, and the distance d {d} not 0")
    if dtype.kind not in "fV":
        raise DTypeError(f"{op}: dtype {dtype.name} must be a floating type")
    return 1 / (n * d)


@composite(samples=[sample(n=5), sample(n=4, d=0.5)])
def fftfreq(*, n: int, d: float = 1.0, dtype: DType = FLOAT32) -> Value:
    """The frequencies of the elements of fft, for a sample spacing of `d`: 0, 1, ..., -2, -1 over n d."""
    step = _frequencies("fftfreq", n, d, dtype)
    half = (n + 1) // 2
    counts = (arange(stop=half, dtype=dtype), arange(start=-(n // 2), stop=0, dtype=dtype))
    return concat(*(part for part in counts if part.size), axis=0) * step


@composite(samples=[sample(n=5), sample(n=4, d=0.5)])
def rfftfreq(*, n: int, d: float = 1.0, dtype: DType = FLOAT32) -> Value:
    """The frequencies of the elements of rfft, for a sample spacing of `d`: 0, 1, ..., n // 2 over n d."""
    return arange(stop=n // 2 + 1, dtype=dtype) * _frequencies("rfftfreq", n, d, dtype)


OPPOSITE: dict[Norm, Literal["backward", "ortho", "forward"]] = {
    "backward": "forward",
    "ortho": "ortho",
    "forward": "backward",
}
"""The norm with which the transform in the other direction has the same factor."""


@composite(
    numerics=COMPUTE_FLOAT32,
    samples=[sample((2, 5)), sample((3, 4), sizes=(4, 3), norm="ortho"), sample((3, 4), axes=(0,))],
)
def rfftn(x: Value, *, sizes: Ints | None = None, axes: Axes = None, norm: Norm = "backward") -> tuple[Value, Value]:
    """fftn of a real x with the first n // 2 + 1 elements of the last of the axes: real and imaginary part."""
    *others, (last, n) = _axes("rfftn", x, axes, sizes)
    real, imaginary = rfft(x, n=n, axis=last, norm=norm)
    if not others:
        return real, imaginary
    return fftn(real, imaginary, sizes=_extents(real, others), axes=tuple(axis for axis, _ in others), norm=norm)


@composite(
    numerics=COMPUTE_FLOAT32, samples=[sample((2, 3), (2, 3)), sample((3, 4), (3, 4), sizes=(4, 5), norm="forward")]
)
def irfftn(
    real: Value,
    imaginary: Value | None = None,
    *,
    sizes: Ints | None = None,
    axes: Axes = None,
    norm: Norm = "backward",
) -> Value:
    """The inverse of rfftn: a real value of the extents `sizes`, by default 2 (extent - 1) on the last axis."""
    *others, (last, n) = _axes("irfftn", real, axes, sizes)
    if not others:
        return irfft(real, imaginary, n=n, axis=last, norm=norm)
    places = tuple(axis for axis, _ in others)
    parts = ifftn(real, imaginary, sizes=_extents(real, others), axes=places, norm=norm)
    return irfft(*parts, n=n, axis=last, norm=norm)


@composite(numerics=COMPUTE_FLOAT32, samples=[sample((2, 5)), sample((2, 3, 4), sizes=(4, 3))])
def rfft2(
    x: Value, *, sizes: Ints | None = None, axes: Axes = (-2, -1), norm: Norm = "backward"
) -> tuple[Value, Value]:
    """rfftn along `axes`, by default the last two: real and imaginary part."""
    return rfftn(x, sizes=sizes, axes=axes, norm=norm)


irfft2 = _declare_two_axes(
    "irfft2",
    "irfftn along `axes`, by default the last two: a real value.",
    irfftn,
    [sample((2, 3), (2, 3)), sample((2, 3, 4), (2, 3, 4), sizes=(3, 5))],
)


@composite(
    numerics=COMPUTE_FLOAT32, samples=[sample((2, 3), (2, 3)), sample((2, 4), (2, 4), n=5, axis=0, norm="ortho")]
)
def hfft(
    real: Value, imaginary: Value | None = None, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> Value:
    """fft of a Hermitian signal, given by its first half along `axis`: a real value.

    The result has `n` elements, by default 2 (extent - 1).
    """
    return irfft(real, None if imaginary is None else neg(imaginary), n=n, axis=axis, norm=OPPOSITE[norm])


@composite(numerics=COMPUTE_FLOAT32, samples=[sample((2, 5)), sample((6, 2), n=4, axis=0, norm="ortho")])
def ihfft(x: Value, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> tuple[Value, Value]:
    """The inverse of hfft: n // 2 + 1 elements along `axis` of a real x, real and imaginary part."""
    real, imaginary = rfft(x, n=n, axis=axis, norm=OPPOSITE[norm])
    return real, neg(imaginary)


def _axes(op: str, x: Value, axes: Axes, sizes: Ints | None) -> list[tuple[int, int | None]]:
    found = resolve_axes(op, x, axes, sizes)
    if not found:
        raise AttributeValueError(f"{op} needs at least one axis")
    return found


def _extents(x: Value, axes: list[tuple[int, int | None]]) -> tuple[int, ...]:
    """Return the extent that each axis is truncated or padded to."""
    return tuple(x.shape[axis] if n is None else n for axis, n in axes)
