"""Cholesky and QR factors.

Gradients: Murray 2016, "Differentiation of the Cholesky decomposition"; Roberts and Roberts 2020, "QR and LQ
decomposition matrix backpropagation algorithms for square, wide, and deep matrices".
"""

from __future__ import annotations

import numpy as np

from engine.ops.creation import zeros
from engine.ops.equations import solve_triangular_left
from engine.ops.linalg import matrix_product
from engine.ops.matrices import adjoint, each, require_matrices, require_square, widened
from engine.ops.shape import concat, slice
from engine.ops.triangle import tril
from engine.registry import primitive
from engine.samples import Argument, sample
from engine.value import Array, Shape, Spec, Value


def positive_definite(*shape: int) -> Argument:
    """Draw symmetric matrices whose eigenvalues are well above 0."""

    def draw(generator: np.random.Generator, shape: Shape) -> Array:
        root = generator.uniform(-1, 1, shape)
        return np.asarray(root @ root.swapaxes(-2, -1) + np.eye(shape[-1]))

    return Argument(shape, draw)


def symmetric_part(x: Array) -> Array:
    """Return (x + xᵀ) / 2, in which LAPACK works."""
    wide = widened(x)
    return np.asarray((wide + wide.swapaxes(-2, -1)) * 0.5, wide.dtype)


def _cholesky(x: Value, *, upper: bool) -> Spec:
    return Spec(x.shape, require_square("cholesky", x))


@primitive(infer=_cholesky, samples=[sample(positive_definite(3, 3)), sample(positive_definite(2, 2, 2), upper=True)])
def cholesky(x: Array, *, upper: bool = False) -> Array:
    """The lower triangular L with L Lᵀ = x, or its transpose; x is symmetric (of others the symmetric part counts).

    A matrix that is not positive definite is an error.
    """
    lower = each("cholesky", "is not positive definite", _checked_cholesky, symmetric_part(x))
    return np.ascontiguousarray(lower.swapaxes(-2, -1) if upper else lower, x.dtype)


def _checked_cholesky(x: Array) -> Array:
    lower = np.linalg.cholesky(x)
    if np.isnan(lower).any():
        raise np.linalg.LinAlgError
    return lower


@cholesky.vjp
def _(g: Value, y: Value, x: Value, *, upper: bool) -> Value:
    above = y if upper else adjoint(y)
    product = matrix_product(above, adjoint(g) if upper else g)
    halved = (tril(product) + tril(product, diagonal=-1)) * 0.5
    left = solve_triangular_left(above, halved, upper=True)
    both = solve_triangular_left(above, adjoint(left), upper=True)
    return (both + adjoint(both)) * 0.5


def _qr(x: Value) -> tuple[Spec, Spec]:
    dtype = require_matrices("qr", x)
    *batch, rows, columns = x.shape
    inner = min(rows, columns)
    return Spec((*batch, rows, inner), dtype), Spec((*batch, inner, columns), dtype)


@primitive(infer=_qr, several=True, samples=[sample((3, 3)), sample((2, 4, 2)), sample((2, 4))])
def qr(x: Array) -> tuple[Array, Array]:
    """Q with orthonormal columns [..., m, k] and upper triangular R [..., k, n] with Q R = x and k = min(m, n).

    The signs are LAPACK's. The gradient needs the first k columns of x to be independent; else it is inf or NaN.
    """
    q, r = np.linalg.qr(widened(x))
    return q.astype(x.dtype, copy=False), r.astype(x.dtype, copy=False)


@qr.vjp
def _(g: tuple[Value | None, Value | None], y: tuple[Value, Value], x: Value) -> Value:
    q, r = y
    gq = zeros(shape=q.shape, dtype=q.dtype) if g[0] is None else g[0]
    gr = zeros(shape=r.shape, dtype=r.dtype) if g[1] is None else g[1]
    rows, columns = x.shape[-2:]
    if rows >= columns:
        return _pull_deep(gq, gr, q, r)
    # x = [X Y] with square X = Q U and Y = Q V: Y's part follows from V = Qᵀ Y, the rest is the square case.
    u, (gu, gv) = slice(r, axis=-1, stop=rows), (slice(gr, axis=-1, stop=rows), slice(gr, axis=-1, start=rows))
    beyond = slice(x, axis=-1, start=rows)
    square = _pull_deep(gq + matrix_product(beyond, adjoint(gv)), gu, q, u)
    return concat(square, matrix_product(q, gv), axis=-1)


def _pull_deep(gq: Value, gr: Value, q: Value, r: Value) -> Value:
    """(gq + q copyltu(r grᵀ - gqᵀ q)) r⁻ᵀ, where copyltu makes the lower triangle symmetric."""
    mixed = matrix_product(r, adjoint(gr)) - matrix_product(adjoint(gq), q)
    symmetric = tril(mixed) + adjoint(tril(mixed, diagonal=-1))
    right = gq + matrix_product(q, symmetric)
    return adjoint(solve_triangular_left(r, adjoint(right), upper=True))
