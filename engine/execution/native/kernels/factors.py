"""Systems of equations, inverses and determinants, by the LAPACK that NumPy has loaded.

On copies as NumPy makes them: in float64, also of float32, and column by column.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.core.value import Array
from engine.execution.native.blas import numpy_blas
from engine.execution.native.inline.factors import decomposed, solved
from engine.execution.native.inline.pointers import float_of, view
from engine.execution.native.inline.vectors import LINE
from engine.execution.native.kernel import FLOATS, inline, itemsize, kernel, real
from engine.execution.native.lowering import Argument, Call, Scratch, Status, Work, alike, lowers

NUMBERS = 4
"""Integers at the start of scratch memory: the extent, the number of right sides, what LAPACK reports."""


@inline
def turn(source: Any, rows: Any, columns: Any, target: Any) -> None:
    """Copy a matrix so that it lies column by column."""
    for r in range(rows):
        for c in range(columns):
            target[c * rows + r] = target.dtype.type(source[r * columns + c])


@kernel
def solve(a: Any) -> None:
    """Words: the function; systems; extent, right sides; matrices, the bytes from one to the next; right sides and
    those bytes, 0 for the columns of the unit matrix; out; is a singular matrix an error, and else what its results
    are; where to say so; scratch for integers, for pivots, a matrix, right sides.
    """
    n, columns = a[2], a[3]
    numbers = view(a[12], NUMBERS, np.int64)
    numbers[0], numbers[1] = n, columns
    matrix, right = view(a[14], n * n, np.float64), view(a[15], n * columns, np.float64)
    for lot in range(a[1]):
        turn(view(a[4] + lot * a[5], n * n, real), n, n, matrix)
        if a[6]:
            turn(view(a[6] + lot * a[7], n * columns, real), n, columns, right)
        else:
            for i in range(right.size):
                right[i] = 1.0 if i % (n + 1) == 0 else 0.0
        numbers[2] = 0
        solved(a[0], a[12], a[12] + 8, a[14], a[13], a[15], a[12] + 16)
        out = view(a[8] + lot * n * columns * itemsize, n * columns, real)
        if numbers[2] == 0:
            turn(right, columns, n, out)
        elif a[9]:
            view(a[11], 1, np.int64)[0] = 1
        else:
            for i in range(out.size):
                out[i] = real(float_of(a[10]))


@kernel
def determinant(a: Any) -> None:
    """Words: the function; matrices, their extent; x; out; the logarithms of magnitudes, or 0 where the determinants
    themselves are wanted, else signs go to out; scratch for integers, for pivots, a matrix.
    """
    n = a[2]
    numbers, pivots = view(a[6], NUMBERS, np.int64), view(a[7], n, np.int64)
    numbers[0] = n
    matrix = view(a[8], n * n, np.float64)
    for lot in range(a[1]):
        turn(view(a[3] + lot * n * n * itemsize, n * n, real), n, n, matrix)
        numbers[2] = 0
        decomposed(a[0], a[6], a[8], a[7], a[6] + 16)
        sign, logarithm = 1.0, 0.0
        for i in range(n):
            entry = matrix[i * (n + 1)]
            if pivots[i] != i + 1:
                sign = -sign
            if entry < 0.0:
                sign = -sign
            logarithm += np.log(abs(entry))
        if numbers[2] > 0:
            sign, logarithm = 0.0, -np.inf
        if a[5]:
            view(a[4] + lot * itemsize, 1, real)[0] = real(sign)
            view(a[5] + lot * itemsize, 1, real)[0] = real(logarithm)
        else:
            view(a[4] + lot * itemsize, 1, real)[0] = real(sign * np.exp(logarithm))


def _scratch(*sizes: int) -> tuple[list[Argument], int]:
    """Return places of scratch memory of these sizes, and of how many bytes it is."""
    whole = [-(-size // LINE) * LINE for size in sizes]
    return [Scratch(sum(whole[:at])) for at in range(len(whole))], sum(whole)


def _solving(a: Array, b: Array | None, out: Array, *, check: bool, singular: float) -> list[Call] | None:
    function = numpy_blas().solvers.solve
    if not function or not out.size or not alike(out, a, *([] if b is None else [b])):
        return None
    n, columns = out.shape[-2:]
    lots = math.prod(out.shape[:-2])
    steps = []
    for x in (a, out if b is None else b):
        if math.prod(x.shape[:-2]) not in (1, lots):
            return None  # repeated unevenly
        steps.append(x.shape[-2] * x.shape[-1] * x.itemsize if math.prod(x.shape[:-2]) == lots else 0)
    places, size = _scratch(NUMBERS * 8, n * 8, n * n * 8, n * columns * 8)
    right: Argument = 0 if b is None else b
    words = (function, lots, n, columns, a, steps[0], right, steps[1], out, check, singular, Status(), *places)
    return [Call(solve, out.dtype, words, size)]


@lowers("inv")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    return _solving(x, None, out, check=work.attrs["check"], singular=math.inf)


@lowers("solve_matrix")
def _(work: Work) -> list[Call] | None:
    (a, b), (out,) = work.inputs, work.outputs
    return _solving(a, b, out, check=work.attrs["check"], singular=math.nan)


@lowers("det", "slogdet")
def _(work: Work) -> list[Call] | None:
    (x,), (out, *logarithms) = work.inputs, work.outputs
    function = numpy_blas().solvers.decompose
    if not function or x.dtype not in FLOATS or not x.size or not alike(x, *work.outputs):
        return None
    n = x.shape[-1]
    places, size = _scratch(NUMBERS * 8, n * 8, n * n * 8)
    logarithm: Argument = logarithms[0] if logarithms else 0
    words = (function, out.size, n, x, out, logarithm, *places)
    return [Call(determinant, x.dtype, words, size)]
