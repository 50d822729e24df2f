"""The geometry of sliding windows, which convolution and pooling share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from engine.core.attributes import Window
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.value import Array, Shape

Ints = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]


def per_axis(place: str, value: Window, rank: int, least: int) -> Ints:
    """Return one number per spatial axis; a single number counts for every axis. `place` names it in errors."""
    numbers = (value,) * rank if isinstance(value, int) else value
    if len(numbers) == 1:
        numbers *= rank
    if len(numbers) != rank or min(numbers) < least:
        raise AttributeValueError(
            f"{place} must be an integer or a list of {rank}, each at least {least}; got {list(numbers)}"
        )
    return numbers


def covered(kernel: Ints, dilation: Ints) -> Ints:
    """Return the extent that a dilated kernel spans: dilation * (kernel - 1) + 1."""
    return tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))


def positions(op: str, extents: Shape, kernel: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> Shape:
    """Return how many positions a kernel takes on each spatial axis; an error when it does not fit."""
    spans = covered(kernel, dilation)
    padded = tuple(e + low + high for e, (low, high) in zip(extents, padding, strict=True))
    if any(span > extent for span, extent in zip(spans, padded, strict=True)):
        raise ShapeError(
            f"{op}: the kernel {list(kernel)} with dilation {list(dilation)} spans {list(spans)}, more than the padded "
            f"input {list(padded)}; use a smaller kernel or more padding"
        )
    return tuple((e - span) // s + 1 for e, span, s in zip(padded, spans, stride, strict=True))


def pad_spatial(x: Array, padding: Pairs, value: float = 0.0) -> Array:
    """Surround the spatial axes of x with `value`; a negative width cuts off. x itself when there is nothing to do."""
    if not any(low or high for low, high in padding):
        return x
    extents = x.shape[2:]
    padded = np.full(
        (*x.shape[:2], *(e + lo + hi for e, (lo, hi) in zip(extents, padding, strict=True))), value, x.dtype
    )
    target, source = [slice(None)] * 2, [slice(None)] * 2
    for extent, (low, high) in zip(extents, padding, strict=True):
        target.append(slice(max(low, 0), max(low, 0) + extent + min(low, 0) + min(high, 0)))
        source.append(slice(max(-low, 0), extent - max(-high, 0)))
    padded[tuple(target)] = x[tuple(source)]
    return padded


def sliding(x: Array, kernel: Ints, stride: Ints, dilation: Ints) -> Array:
    """View [N, C, *kernel, *positions] of the windows of x [N, C, *extents]; nothing is copied."""
    rank = len(kernel)
    extents = positions("window", x.shape[2:], kernel, stride, ((0, 0),) * rank, dilation)
    steps = x.strides[2:]
    return as_strided(
        x,
        (*x.shape[:2], *kernel, *extents),
        (
            *x.strides[:2],
            *(step * d for step, d in zip(steps, dilation, strict=True)),
            *(step * s for step, s in zip(steps, stride, strict=True)),
        ),
        writeable=False,
    )


def tap(offset: Sequence[int], extents: Shape, stride: Ints, dilation: Ints) -> tuple[slice, ...]:
    """Return the places of a padded input that kernel element `offset` meets at each of `extents` positions."""
    return tuple(
        slice(o * d, o * d + (e - 1) * s + 1, s) for o, e, s, d in zip(offset, extents, stride, dilation, strict=True)
    )
