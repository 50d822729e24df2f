"""Discrete Fourier transforms of lengths without large prime factors.

Stockham, High-speed convolution and correlation (1966): each step transforms elements that are a part of the whole
apart, and leaves its results in an order after which the last step's are sorted.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from engine.core.dtypes import DType
from engine.core.shape_rules import normalize_axis
from engine.core.value import Array
from engine.execution.native.inline.butterflies import (
    LINE,
    RADICES,
    combine2,
    combine3,
    combine4,
    combine5,
    combine7,
    root,
)
from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.rows import fill
from engine.execution.native.inline.vectors import copy_row
from engine.execution.native.kernel import inline, itemsize, kernel, real
from engine.execution.native.lowering import Call, Scratch, Work, alike, lowers

LONGEST = 2**14
"""Longer transforms are left to NumPy: those that lie beside one another would not fit in the near caches."""
LONGEST_FEW, FEW = 512, 4
"""The same for transforms of which less than one in four places beside one another is used."""


@inline
def move(a: Any, near: Any, first: Any, count: Any, loads: Any, itemsize: Any, real: Any) -> None:
    """Copy `count` transforms from row `first` on to elements beside one another, or back.

    Rows are numbered along the axes in front and behind.
    """
    length, behind, width = a[1], a[2], LINE // itemsize
    plane, (real_part, imaginary_part) = length * LINE, (a[3], a[4]) if loads else (a[5], a[6])
    if first % behind + count <= behind and behind > 1:
        start = (first // behind * length * behind + first % behind) * itemsize
        for k in range(length):
            for own, far in ((near, real_part), (near + plane, imaginary_part)):
                place, other = own + k * LINE, far + start + k * behind * itemsize
                copy_row(place if loads else other, other if loads else place, count, real(0))
        return
    numbers, size = view(near, 2 * length * width, real), (length - 1) * behind + 1
    for i in range(count):
        start = ((first + i) // behind * length * behind + (first + i) % behind) * itemsize
        reals, imaginaries = view(real_part + start, size, real), view(imaginary_part + start, size, real)
        if loads:
            for k in range(length):
                numbers[k * width + i] = reals[k * behind]
                numbers[(length + k) * width + i] = imaginaries[k * behind]
        else:
            for k in range(length):
                reals[k * behind] = numbers[k * width + i]
                imaginaries[k * behind] = numbers[(length + k) * width + i]


@inline
def combine(radix: Any, source: Any, apart: Any, target: Any, step: Any, plane: Any, factors: Any, real: Any) -> None:
    """Do what the functions for each radix do."""
    count = step // LINE
    if radix == 4:
        combine4(source, apart, target, step, plane, count, factors, real(0))
    elif radix == 2:
        combine2(source, apart, target, step, plane, count, factors, real(0))
    elif radix == 3:
        combine3(source, apart, target, step, plane, count, factors, real(0))
    elif radix == 5:
        combine5(source, apart, target, step, plane, count, factors, real(0))
    else:
        combine7(source, apart, target, step, plane, count, factors, real(0))


@kernel
def dft(a: Any) -> None:
    """Words: extents before, along and behind the axis; real and imaginary parts of x and of the result; the radix of
    each step, how many steps, and their factors; scratch for two times as many transforms as are beside one another.
    """
    length, rows, plane = a[1], a[0] * a[2], a[1] * LINE
    radices = view(a[7], a[8], np.int64)
    fill(view(a[10], 2 * plane // itemsize, real), real(0))
    for first in range(0, rows, LINE // itemsize):
        source, target, factors = a[10], a[10] + 2 * plane, a[9]
        count = min(LINE // itemsize, rows - first)
        move(a, source, first, count, True, itemsize, real)
        rest, step = length, LINE
        for stage in range(radices.size):
            radix = radices[stage]
            rest //= radix
            for part in range(rest):
                start = target + part * radix * step
                combine(radix, source + part * step, rest * step, start, step, plane, factors, real)
                factors += 2 * (radix - 1) * itemsize
            step *= radix
            source, target = target, source
        move(a, source, first, count, False, itemsize, real)


@lru_cache(maxsize=64)
def _steps(length: int, dtype: DType) -> tuple[Array, Array] | None:
    """Return the radix of each step and the factors of all; None if a prime factor of the length is too large."""
    radices, rest = [], length
    for radix in sorted(RADICES, reverse=True):
        while rest % radix == 0:
            radices.append(radix)
            rest //= radix
    if rest > 1:
        return None
    factors: list[float] = []
    for radix in radices:
        for part in range(length // radix):
            factors += [number for k in range(1, radix) for number in root(part * k, length)]
        length //= radix
    return np.array(radices, np.int64), np.array(factors, dtype)


@lowers("dft")
def _(work: Work) -> list[Call] | None:
    (x, y), outputs, axis = work.inputs, work.outputs, normalize_axis(work.attrs["axis"], work.inputs[0].ndim)
    length = x.shape[axis]
    if not x.size or not alike(x, y, *outputs) or not 1 < length <= LONGEST:
        return None
    steps = _steps(length, x.dtype)
    if steps is None or (length > LONGEST_FEW and FEW * x.nbytes < length * LINE):
        return None
    radices, factors = steps
    # The other direction is this one with both parts exchanged, of what it takes and of what it gives.
    parts = (y, x, *outputs[::-1]) if work.attrs["inverse"] else (x, y, *outputs)
    extents = math.prod(x.shape[:axis]), length, math.prod(x.shape[axis + 1 :])
    words = (*extents, *parts, radices, len(radices), factors, Scratch())
    return [Call(dft, x.dtype, words, scratch=4 * length * LINE)]
