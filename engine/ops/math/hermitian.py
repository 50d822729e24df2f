"""Fourier transforms of real values over several axes, and of values whose transform is real.

Semantics of torch.fft: the last of the axes is halved, the others are transformed in full.
"""

from __future__ import annotations

from typing import Literal

from engine.core.attributes import Axes, Ints
from engine.core.declarations import Numerics
from engine.core.errors import AttributeValueError
from engine.core.registry import composite
from engine.core.samples import sample
from engine.core.value import Value
from engine.ops.elementwise.elementwise import neg
from engine.ops.math.fourier import Norm, fftn, ifftn, irfft, rfft, transformed_axes

OPPOSITE: dict[Norm, Literal["backward", "ortho", "forward"]] = {
    "backward": "forward",
    "ortho": "ortho",
    "forward": "backward",
}
"""The norm with which a transform in the other direction is divided by the same."""


@composite(
    numerics=Numerics(compute_float32=True),
    samples=[sample((2, 5)), sample((3, 4), sizes=(4, 3), norm="ortho"), sample((3, 4), axes=(0,))],
)
def rfftn(x: Value, *, sizes: Ints | None = None, axes: Axes = None, norm: Norm = "backward") -> tuple[Value, Value]:
    """fftn of a real x, of which the last of the axes keeps its first half, n // 2 + 1 elements: both its parts."""
    *others, (last, n) = _axes("rfftn", x, axes, sizes)
    real, imaginary = rfft(x, n=n, axis=last, norm=norm)
    if not others:
        return real, imaginary
    return fftn(real, imaginary, sizes=_extents(real, others), axes=tuple(axis for axis, _ in others), norm=norm)


@composite(
    numerics=Numerics(compute_float32=True),
    samples=[sample((2, 3), (2, 3)), sample((3, 4), (3, 4), sizes=(4, 5), norm="forward")],
)
def irfftn(
    real: Value,
    imaginary: Value | None = None,
    *,
    sizes: Ints | None = None,
    axes: Axes = None,
    norm: Norm = "backward",
) -> Value:
    """The inverse of rfftn: a real value. `sizes` are those of the result, of the last axis 2 (extent - 1) if null."""
    *others, (last, n) = _axes("irfftn", real, axes, sizes)
    if not others:
        return irfft(real, imaginary, n=n, axis=last, norm=norm)
    places = tuple(axis for axis, _ in others)
    parts = ifftn(real, imaginary, sizes=_extents(real, others), axes=places, norm=norm)
    return irfft(*parts, n=n, axis=last, norm=norm)


@composite(numerics=Numerics(compute_float32=True), samples=[sample((2, 5)), sample((2, 3, 4), sizes=(4, 3))])
def rfft2(
    x: Value, *, sizes: Ints | None = None, axes: Axes = (-2, -1), norm: Norm = "backward"
) -> tuple[Value, Value]:
    """rfftn along two axes, or others: its real and its imaginary part."""
    return rfftn(x, sizes=sizes, axes=axes, norm=norm)


@composite(
    numerics=Numerics(compute_float32=True),
    samples=[sample((2, 3), (2, 3)), sample((2, 3, 4), (2, 3, 4), sizes=(3, 5))],
)
def irfft2(
    real: Value,
    imaginary: Value | None = None,
    *,
    sizes: Ints | None = None,
    axes: Axes = (-2, -1),
    norm: Norm = "backward",
) -> Value:
    """irfftn along two axes, or others: a real value."""
    return irfftn(real, imaginary, sizes=sizes, axes=axes, norm=norm)


@composite(
    numerics=Numerics(compute_float32=True),
    samples=[sample((2, 3), (2, 3)), sample((2, 4), (2, 4), n=5, axis=0, norm="ortho")],
)
def hfft(
    real: Value, imaginary: Value | None = None, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> Value:
    """fft of a value of which the first half along `axis` is given, and whose other half is its conjugate in reverse.

    The result is real, of `n` elements, by default twice the extent less one.
    """
    return irfft(real, None if imaginary is None else neg(imaginary), n=n, axis=axis, norm=OPPOSITE[norm])


@composite(numerics=Numerics(compute_float32=True), samples=[sample((2, 5)), sample((6, 2), n=4, axis=0, norm="ortho")])
def ihfft(x: Value, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> tuple[Value, Value]:
    """The inverse of hfft: of a real x, n // 2 + 1 elements along `axis`: its real and its imaginary part."""
    real, imaginary = rfft(x, n=n, axis=axis, norm=OPPOSITE[norm])
    return real, neg(imaginary)


def _axes(op: str, x: Value, axes: Axes, sizes: Ints | None) -> list[tuple[int, int | None]]:
    found = transformed_axes(op, x, axes, sizes)
    if not found:
        raise AttributeValueError(f"{op} needs at least one axis")
    return found


def _extents(x: Value, axes: list[tuple[int, int | None]]) -> tuple[int, ...]:
    """Return how many elements each axis is brought to."""
    return tuple(x.shape[axis] if n is None else n for axis, n in axes)
