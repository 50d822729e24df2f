"""Cholesky factors and triangular systems, by the LAPACK and BLAS that NumPy has loaded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.core.value import Array
from engine.execution.native.blas import numpy_blas
from engine.execution.native.inline.blocks import block_rows
from engine.execution.native.inline.factors import factored, substituted
from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.vectors import vector_bytes
from engine.execution.native.kernel import FLOATS, itemsize, kernel, real
from engine.execution.native.kernels.arrangement import copied, joined_calls
from engine.execution.native.kernels.products import leading
from engine.execution.native.kernels.triangular import LARGEST_BYTES, factor_panels, panel_bytes, substitute_panels
from engine.execution.native.lowering import Call, Scratch, Status, Work, lowers


@kernel
def cholesky(a: Any) -> None:
    """Factors of symmetric matrices, in the symmetric part of what is given.

    Words: the function; matrices; their extent; x; out; is the upper triangle wanted; the letter of the triangle of a
    column-major matrix, the extent again, and what the function reports, each the address of an int64; where to say
    that a matrix is not positive definite.
    """
    n = a[2]
    for lot in range(a[1]):
        x, out = view(a[3] + lot * n * n * itemsize, n * n, real), view(a[4] + lot * n * n * itemsize, n * n, real)
        for r in range(n):
            for c in range(n):
                out[r * n + c] = (x[r * n + c] + x[c * n + r]) * real(0.5)
        info = view(a[8], 1, np.int64)
        info[0] = 0
        factored(a[0], a[6], a[7], a[4] + lot * n * n * itemsize, a[8])
        if info[0] != 0:
            view(a[9], 1, np.int64)[0] = 1
        for r in range(n):
            first, last = (0, r) if a[5] else (r + 1, n)
            row = view(a[4] + (lot * n + r) * n * itemsize, n, real)
            for c in range(first, last):
                row[c] = real(0)


@kernel
def solve_triangular(a: Any) -> None:
    """Solve systems in the place of their right sides.

    Words: the function; systems; is the triangle the upper one in memory, is the matrix its transpose, is its diagonal
    taken for ones; rows and columns of right sides; matrices, their leading dimension, the bytes from one to the next;
    right sides, which become the results.
    """
    for lot in range(a[1]):
        right = a[10] + lot * a[5] * a[6] * itemsize
        substituted(a[0], a[2], a[3], a[4], a[5], a[6], real(1), a[7] + lot * a[9], a[8], right)


@lowers("cholesky")
def _(work: Work) -> list[Call] | None:
    (x,), (out,), attrs = work.inputs, work.outputs, work.attrs
    if x.dtype not in FLOATS or out.dtype != x.dtype or not x.size or not attrs["check"]:
        return None
    if not (x.flags.c_contiguous and out.flags.c_contiguous):
        return None
    n = x.shape[-1]
    if n * n * x.itemsize <= LARGEST_BYTES:
        return [_factored_by_panels(x, out, upper=attrs["upper"])]
    function = numpy_blas().solvers.factor.get(x.dtype.name)
    if function is None:
        return None
    # What lies row by row is its transpose to LAPACK: the other triangle.
    letter, extent, info = (np.array([v], np.int64) for v in (ord("L" if attrs["upper"] else "U"), n, 0))
    words = (function, x.size // (n * n), n, x, out, attrs["upper"], letter, extent, info, Status())
    return [Call(cholesky, x.dtype, words)]


def _factored_by_panels(x: Array, out: Array, *, upper: bool) -> Call:
    n = x.shape[-1]
    inverse, panel, block = panel_bytes(n)
    places = (0, inverse, inverse + panel, inverse + panel + block)
    scratch = (Scratch(place) for place in places)
    words = (x.size // (n * n), n, x, out, upper, Status(), *scratch, vector_bytes(), block_rows()[0])
    return Call(factor_panels, x.dtype, words, places[-1] + (8 * n * n if x.itemsize == 4 else 0))


MOST_CALLS = 64
"""Systems whose matrices do not lie evenly apart take one call per this many at most."""


@lowers("solve_triangular_left")
def _(work: Work) -> list[Call] | None:
    (a, b), (out,) = work.inputs, work.outputs
    if not a.dtype == b.dtype == out.dtype or out.dtype not in FLOATS or not out.size:
        return None
    if a.shape[-1] ** 2 * a.itemsize <= LARGEST_BYTES:
        calls = _solved_by_panels(a, b, out, work.attrs)
        if calls is not None:
            return calls
    if not out.flags.c_contiguous:
        return None
    return joined_calls(copied(np.broadcast_to(b, out.shape), out), _solved(a, out, work.attrs))


def _solved_by_panels(a: Array, b: Array, out: Array, attrs: Mapping[str, Any]) -> list[Call] | None:
    """Return the calls that solve systems of small matrices; right sides that do not lie by rows are copied first."""
    n, columns = out.shape[-2:]
    right, calls = np.broadcast_to(b, out.shape), []
    if not _by_rows(out):
        return None
    if not _by_rows(right):
        calls, right = copied(right, out) or [], out
        if not calls:
            return None
    lots = math.prod(out.shape[:-2])
    try:
        matrices = np.broadcast_to(a, (*out.shape[:-2], n, n)).reshape(lots, n, n, copy=False)
        right, out = (x.reshape(lots, n, columns, copy=False) for x in (right, out))
    except ValueError:
        return None
    lies = leading(matrices[0])
    if lies is None:
        return None
    turned, step = lies
    inverse, panel, block = panel_bytes(n)
    matrix = -(-n * n * a.itemsize // 64) * 64 if turned else 0
    places = (0, matrix, matrix + inverse, matrix + inverse + panel)
    words = (
        lots, bool(attrs["upper"]), turned, bool(attrs["unitriangular"]), n, columns,
        matrices, step * a.itemsize, matrices.strides[0],
        right, right.strides[1], right.strides[0], out, out.strides[1], out.strides[0],
        *(Scratch(place) for place in places), vector_bytes(), block_rows()[0],
    )  # fmt: skip
    return [*calls, Call(substitute_panels, out.dtype, words, matrix + inverse + panel + block)]


def _by_rows(x: Array) -> bool:
    """Return whether the numbers of a row lie side by side."""
    return x.shape[-1] == 1 or x.strides[-1] == x.itemsize


def _solved(a: Array, out: Array, attrs: Mapping[str, Any]) -> list[Call] | None:
    """Return the calls that solve systems with the right sides in `out`."""
    function = numpy_blas().solvers.substitute.get(out.dtype.name)
    matrices = np.broadcast_to(a, (*out.shape[:-2], *a.shape[-2:]))
    try:
        matrices = matrices.reshape(math.prod(out.shape[:-2]), *a.shape[-2:], copy=False)
    except ValueError:
        if len(out) > MOST_CALLS:
            return None
        return joined_calls(*(_solved(*pair, attrs) for pair in zip(matrices, out, strict=True)))
    lies = leading(matrices[0])
    if lies is None or function is None:
        return None
    turned, step = lies
    rows, columns = out.shape[-2:]
    words = (
        function, len(matrices), bool(attrs["upper"]) != turned, turned, bool(attrs["unitriangular"]), rows, columns,
        matrices, step, matrices.strides[0] if len(matrices) > 1 else 0, out,
    )  # fmt: skip
    return [Call(solve_triangular, out.dtype, words)]
