"""Matrix products, small ones by NumPy's own BLAS, on views: leading dimensions spare transposes and copies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.core.dtypes import BFLOAT16, FLOAT32
from engine.core.value import Array
from engine.execution.native.inline.products import gemm
from engine.execution.native.inline.vectors import vector_bytes
from engine.execution.native.kernel import FLOATS, kernel, real
from engine.execution.native.kernels.blocked_product import by_blocks
from engine.execution.native.kernels.dot_product import by_dots
from engine.execution.native.kernels.half_product import by_tiles
from engine.execution.native.kernels.matrix_vector import by_vector
from engine.execution.native.kernels.packed_product import by_panels
from engine.execution.native.kernels.paired_product import by_pairs
from engine.execution.native.kernels.split_product import by_parts
from engine.execution.native.kernels.thin_product import by_rows, is_far
from engine.execution.native.lowering import LOWERINGS, Argument, Call, Work, lowers

UNPACKED, UNPACKED_RESULT = 10**6, 2**10
"""Most multiplications of a product that OpenBLAS computes without packing where registers have 512 bits, and most
numbers of its result where the right operand is transposed.
"""
THIN, THIN_TRANSPOSED = 20, 12
"""Products with more rows and more columns than this are not cut; the second limit is for a transposed left operand."""
LEAST_DEPTH, LEAST_PIECE = 32, 8
"""Smallest depth of products that are cut, and fewest rows or columns of a piece."""
FEW_ROWS = 64
"""Products of fewer rows by one matrix are computed together: BLAS packs the matrix again for each of them."""


@kernel
def product(a: Any) -> None:
    """C = op(A) op(B) + beta C.

    Words: are A and B transposed; m, n, k; A, its leading dimension; B, its; C, its; beta.
    """
    gemm(a[0], a[1], a[2], a[3], a[4], real(1), a[5], a[6], a[7], a[8], real(a[11]), a[9], a[10])


@kernel
def products(a: Any) -> None:
    """Products of many pairs.

    Words as of `product`, then how many pairs there are, and the bytes from one A, B and C to the next.
    """
    for i in range(a[12]):
        gemm(
            a[0], a[1], a[2], a[3], a[4], real(1), a[5] + i * a[13], a[6], a[7] + i * a[14], a[8], real(a[11]),
            a[9] + i * a[15], a[10],
        )  # fmt: skip


def _are_halves(a: Array, b: Array, c: Array) -> bool:
    """Tell whether bfloat16 are multiplied to float32."""
    return a.dtype is BFLOAT16 and b.dtype is BFLOAT16 and c.dtype == FLOAT32


def leading(matrix: Array) -> tuple[bool, int] | None:
    """Return whether a matrix lies transposed in memory, and its leading dimension in elements; None if neither."""
    rows, columns = matrix.shape
    size = matrix.itemsize
    down, along = (step // size for step in matrix.strides)
    if any(step % size for step in matrix.strides):
        return None
    if (along == 1 or columns == 1) and (down >= max(columns, 1) or rows == 1):
        return False, max(down if rows > 1 else columns, columns, 1)
    if (down == 1 or rows == 1) and (along >= max(rows, 1) or columns == 1):
        return True, max(along if columns > 1 else rows, rows, 1)
    return None


def merged(x: Array) -> Array | None:
    """Return an array as a matrix whose rows run over all its axes but the last; None where that needs a copy."""
    try:
        return x.reshape(-1, x.shape[-1], copy=False)
    except ValueError:
        return None


@lowers("matrix_product")
def _(work: Work) -> Sequence[Call] | None:
    a, b = work.inputs
    (c,) = work.outputs
    halves = _are_halves(a, b, c)
    if not (halves or (c.dtype in FLOATS and a.dtype == b.dtype == c.dtype)) or not (a.size and b.size):
        return None
    ta, tb = bool(work.attrs["transpose_a"]), bool(work.attrs["transpose_b"])
    if b.ndim == 2 and a.ndim > 2 and not ta:
        rows, result = merged(a), merged(c)
        if rows is not None and result is not None:
            return _one(rows, b, result, ta, tb)
        if c.shape[-2] < FEW_ROWS and not (a.flags.c_contiguous and c.flags.c_contiguous):
            return None  # contiguous copies make it one product
    if a.ndim == b.ndim == 2:
        return _one(a, b, c, ta, tb)
    if halves:
        return None
    return _by_outer_products(a, b, c, ta, tb) or _many(a, b, c, ta, tb)


def _by_outer_products(a: Array, b: Array, c: Array, ta: bool, tb: bool) -> Sequence[Call] | None:
    """Return the calls for products of columns and rows, of a depth of 1: BLAS takes 0.15 µs for each at least."""
    columns, rows = (a.swapaxes(-1, -2) if ta else a), (b.swapaxes(-1, -2) if tb else b)
    return LOWERINGS["mul"](Work([columns, rows], [c], {})) if columns.shape[-1] == 1 else None


def _one(a: Array, b: Array, c: Array, ta: bool, tb: bool, *more: int) -> list[Call] | None:
    """Multiply two matrices, or pairs of them that lie evenly apart: `more` says how many, and how far."""
    left, right, result = leading(a), leading(b), leading(c)
    if left is None or right is None or result is None or result[0]:
        return None
    (lies_a, lda), (lies_b, ldb), (_, ldc) = left, right, result
    m, n = c.shape
    k = a.shape[0] if ta else a.shape[1]
    words = (lies_a != ta, lies_b != tb, m, n, k, a, lda, b, ldb, c, ldc, 0, *more)
    if _are_halves(a, b, c):
        return by_tiles(words) or by_pairs(words)
    ways = () if more else (by_vector, by_rows, by_parts, by_dots, by_pieces, by_panels, by_blocks)
    found = next((calls for calls in (way(words, c.dtype) for way in ways) if calls), None)
    return found or [Call(products if more else product, c.dtype, words)]


def by_pieces(words: tuple[Argument, ...], dtype: np.dtype[Any]) -> list[Call] | None:
    """Return the call for a thin product, given its words, cut by its longer side so that BLAS packs nothing.

    To pack one operand for the few rows or columns of the other takes 1.2 to 7 times as long. None where BLAS packs
    nothing of the whole product either, where pieces would gain little, and where they are columns of a far matrix.
    Rows of a transposed matrix that make no equal pieces leave a rest.
    """
    ta, tb, m, n, k, a, lda, b, ldb, c, ldc = words[:11]
    assert isinstance(m, int) and isinstance(n, int) and isinstance(k, int)  # noqa: PT018
    assert isinstance(lda, int) and isinstance(ldb, int) and isinstance(ldc, int)  # noqa: PT018
    long, thin = max(m, n), min(m, n)
    few = thin > (THIN_TRANSPOSED if ta else THIN) or k < max(LEAST_DEPTH, 2 * thin)
    if few or (ta and tb) or vector_bytes() != 64 or (m < n and not tb and is_far(k, n, dtype.itemsize)):
        return None
    most = UNPACKED // (thin * k)
    if tb:
        most = min(most, UNPACKED_RESULT // thin)
    piece = max((size for size in range(1, min(most, long) + 1) if long % size == 0), default=0)
    if piece < LEAST_PIECE and tb and m < n:
        piece = most
    if long <= most or piece < LEAST_PIECE:
        return None
    size = dtype.itemsize
    if m >= n:
        extents, steps = (piece, n), (size if ta else size * lda, 0, size * ldc)
    else:
        extents, steps = (m, piece), (0, size * ldb if tb else size, size)
    pairs = (long // piece, *(piece * step for step in steps))
    calls = [Call(products, dtype, (ta, tb, *extents, k, a, lda, b, ldb, c, ldc, 0, *pairs))]
    if rest := long % piece:
        assert isinstance(b, np.ndarray)
        assert isinstance(c, np.ndarray)
        left = b[n - rest :] if b.strides[0] == ldb * size else b[:, n - rest :]
        calls.append(Call(product, dtype, (ta, tb, m, rest, k, a, lda, left, ldb, c[:, n - rest :], ldc, 0)))
    return calls


def _many(a: Array, b: Array, c: Array, ta: bool, tb: bool) -> list[Call] | None:
    """Multiply matrices that lie behind leading axes: the last of these is a loop of the kernel."""
    lead = c.shape[:-2]
    sides = []
    for side in (a, b):
        missing = len(lead) - (side.ndim - 2)
        strides = [0] * missing + [0 if e == 1 else s for e, s in zip(side.shape[:-2], side.strides[:-2], strict=True)]
        sides.append(strides)
    sides.append(list(c.strides[:-2]))
    calls: list[Call] = []
    outer, count = lead[:-1], lead[-1]
    if math.prod(outer) > 256:
        return None
    steps = [strides[-1] for strides in sides]
    for place in _places(outer):
        views = [_at(x, place) for x in (a, b, c)]
        made = _one(views[0], views[1], views[2], ta, tb, count, *steps)
        if made is None:
            return None
        calls += made
    return calls


def _places(outer: tuple[int, ...]) -> list[tuple[int, ...]]:
    places: list[tuple[int, ...]] = [()]
    for extent in outer:
        places = [(*place, index) for place in places for index in range(extent)]
    return places


def _at(x: Array, place: tuple[int, ...]) -> Array:
    """Return the first matrix of the pairs at a place of the outer axes; short operands are repeated along them."""
    axes = x.ndim - 2
    index = [0] * axes
    for axis in range(axes - 1):
        position = place[len(place) - (axes - 1) + axis]
        index[axis] = position if x.shape[axis] > 1 else 0
    view: Array = x[tuple(index)]
    return view
