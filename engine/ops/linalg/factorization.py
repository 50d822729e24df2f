"""Cholesky and QR factors.

Gradients: Murray 2016, "Differentiation of the Cholesky decomposition"; Roberts and Roberts 2020, "QR and LQ
decomposition matrix backpropagation algorithms for square, wide, and deep matrices".
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from engine.core.batching import by_itself
from engine.core.declarations import AUTOCAST_FLOAT32, Documentation
from engine.core.dtypes import INT32
from engine.core.errors import ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import Argument, sample
from engine.core.value import Array, Shape, Spec, Value
from engine.ops.elementwise.casting import cast, stop_gradient
from engine.ops.elementwise.comparison import isfinite, logical_not
from engine.ops.linalg.diagonals import tril, triu
from engine.ops.linalg.equations import inv, solve, solve_triangular, solve_triangular_left
from engine.ops.linalg.matmul import matrix_product
from engine.ops.linalg.matrices import adjoint, call_linalg, regular, require_matrices, require_square, widen_half
from engine.ops.reduce.reduce import all
from engine.ops.shape.creation import eye, zeros
from engine.ops.shape.shape import broadcast_to, concat, slice


def positive_definite(*shape: int) -> Argument:
    """Draw symmetric matrices whose eigenvalues are well above 0."""

    def draw(generator: np.random.Generator, shape: Shape) -> Array:
        root = generator.uniform(-1, 1, shape)
        return np.asarray(root @ root.swapaxes(-2, -1) + np.eye(shape[-1]))

    return Argument(shape, draw)


def _factor(*shape: int, upper: bool = False) -> Argument:
    """Draw triangular matrices with a diagonal well above 0."""

    def draw(generator: np.random.Generator, shape: Shape) -> Array:
        full = generator.uniform(-1, 1, shape) * 0.5 + 2 * np.eye(shape[-1])
        return np.triu(full) if upper else np.tril(full)

    return Argument(shape, draw)


def symmetric_part(x: Array) -> Array:
    """Return (x + xᵀ) / 2, in the dtype of LAPACK."""
    wide = widen_half(x)
    return np.asarray((wide + wide.swapaxes(-2, -1)) * 0.5, wide.dtype)


def _cholesky(x: Value, *, upper: bool, check: bool) -> Spec:
    return Spec(x.shape, require_square("cholesky", x))


@primitive(
    shape_rule=_cholesky,
    numerics=AUTOCAST_FLOAT32,
    batching=by_itself,
    samples=[sample(positive_definite(3, 3)), sample(positive_definite(2, 2, 2), upper=True)],
)
def cholesky(x: Array, *, upper: bool = False, check: bool = True) -> Array:
    """The lower triangular L with L Lᵀ = x, or its transpose if `upper`; of x only the symmetric part is used.

    A matrix that is not positive definite is an error, or without `check` its factor is NaN.
    """
    if not check:
        symmetric = symmetric_part(x)
        lower = np.empty_like(symmetric)
        for place in np.ndindex(x.shape[:-2]):
            lower[place] = _factor_or_nan(symmetric[place])
        return np.ascontiguousarray(lower.swapaxes(-2, -1) if upper else lower, x.dtype)
    lower = call_linalg("cholesky", "is not positive definite", _checked_cholesky, symmetric_part(x))
    return np.ascontiguousarray(lower.swapaxes(-2, -1) if upper else lower, x.dtype)


def _factor_or_nan(matrix: Array) -> Array:
    try:
        return _checked_cholesky(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)


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


@primitive(
    shape_rule=_qr,
    multi_output=True,
    numerics=AUTOCAST_FLOAT32,
    documentation=Documentation(outputs=("q", "r")),
    batching=by_itself,
    samples=[sample((3, 3)), sample((2, 4, 2)), sample((2, 4))],
)
def reduced_qr(x: Array) -> tuple[Array, Array]:
    """Q with orthonormal columns [..., m, k] and upper triangular R [..., k, n] with Q R = x and k = min(m, n).

    The signs are LAPACK's. The gradient needs the first k columns of x to be independent; else it is inf or NaN.
    """
    q, r = np.linalg.qr(widen_half(x))
    return q.astype(x.dtype, copy=False), r.astype(x.dtype, copy=False)


@reduced_qr.vjp
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


def _orthonormal(*shape: int) -> Argument:
    """Draw matrices with orthonormal columns."""
    return Argument(shape, lambda generator, shape: np.linalg.qr(generator.standard_normal(shape))[0])


def _complement(q: Value) -> Spec:
    dtype = require_matrices("orthogonal_complement", q)
    *batch, rows, columns = q.shape
    if columns > rows:
        raise ShapeError(
            f"orthogonal_complement needs matrices with at most as many columns as rows, got {list(q.shape)}"
        )
    return Spec((*batch, rows, rows - columns), dtype)


@primitive(
    shape_rule=_complement,
    numerics=AUTOCAST_FLOAT32,
    batching=by_itself,
    samples=[sample(_orthonormal(3, 2)), sample(_orthonormal(2, 2, 1))],
)
def orthogonal_complement(q: Array) -> Array:
    """Orthonormal columns [..., m, m - k] that complete the orthonormal columns q [..., m, k] to a basis.

    Which basis of the complement is returned is LAPACK's choice; the gradient is that of the spanned space, correct for
    functions that do not depend on the choice.
    """
    whole = np.linalg.qr(widen_half(q), mode="complete")[0]
    return np.ascontiguousarray(whole[..., q.shape[-1] :], q.dtype)


@orthogonal_complement.vjp
def _(g: Value, y: Value, q: Value) -> Value:
    # The complement stays orthogonal to q: dy = -q dqᵀ y.
    return -matrix_product(y, matrix_product(adjoint(g), q))


def complete_columns(q: Value) -> Value:
    """Return orthonormal columns [..., m, k] completed to square matrices."""
    return q if q.shape[-1] == q.shape[-2] else concat(q, orthogonal_complement(q), axis=-1)


@composite(
    numerics=AUTOCAST_FLOAT32,
    documentation=Documentation(outputs=("q", "r")),
    samples=[sample((3, 3)), sample((2, 4, 2)), sample((2, 4)), sample((3, 2), mode="complete")],
)
def qr(x: Value, *, mode: Literal["reduced", "complete"] = "reduced") -> tuple[Value, Value]:
    """Q with orthonormal columns [..., m, k] and upper triangular R [..., k, n] with Q R = x and k = min(m, n).

    With mode "complete" Q is [..., m, m] and R [..., m, n]; the gradient of the added columns is that of the space they
    span. The signs are LAPACK's. The gradient needs the first k columns of x to be independent; else it is inf or NaN.
    """
    q, r = reduced_qr(x)
    if mode == "reduced" or q.shape[-1] == q.shape[-2]:
        return q, r
    below = zeros(shape=(*r.shape[:-2], q.shape[-2] - q.shape[-1], r.shape[-1]), dtype=r.dtype)
    return complete_columns(q), concat(r, below, axis=-2)


@composite(
    numerics=AUTOCAST_FLOAT32,
    samples=[
        sample((3, 2), _factor(3, 3)),
        sample((2, 2, 1), _factor(2, 2, 2)),
        sample((3, 2), _factor(3, 3, upper=True), upper=True),
    ],
)
def cholesky_solve(b: Value, factor: Value, *, upper: bool = False) -> Value:
    """The x with L Lᵀ x = b for right-hand sides b [..., n, k] and a Cholesky factor L, or its transpose if `upper`."""
    if b.ndim < 2 or factor.ndim < 2:
        raise ShapeError(f"cholesky_solve needs matrices, got {list(b.shape)} and {list(factor.shape)}")
    lower = adjoint(triu(factor)) if upper else tril(factor)
    half = solve_triangular(lower, b, upper=False)
    return solve_triangular(adjoint(lower), half, upper=True)


@composite(numerics=AUTOCAST_FLOAT32, samples=[sample(_factor(3, 3)), sample(_factor(2, 2, upper=True), upper=True)])
def cholesky_inverse(factor: Value, *, upper: bool = False) -> Value:
    """The inverse of L Lᵀ for a Cholesky factor L [..., n, n], or its transpose if `upper`."""
    require_square("cholesky_inverse", factor)
    one = broadcast_to(eye(rows=factor.shape[-1], dtype=factor.dtype), shape=factor.shape)
    return cholesky_solve(one, factor, upper=upper)


@composite(samples=[sample(positive_definite(3, 3)), sample(positive_definite(2, 2, 2), upper=True)])
def cholesky_ex(x: Value, *, upper: bool = False, check_errors: bool = False) -> tuple[Value, Value]:
    """The factor of cholesky, and for each matrix an int32: 0 if it is positive definite, else 1.

    A matrix that is not positive definite is an error only with `check_errors`; otherwise its factor is NaN.
    """
    require_square("cholesky_ex", x)
    factor = cholesky(x, upper=upper, check=check_errors)
    return factor, find_failures(factor)


@composite(samples=[sample(regular(3, 3)), sample(regular(2, 2, 2))])
def inv_ex(x: Value, *, check_errors: bool = False) -> tuple[Value, Value]:
    """The inverse of inv, and for each matrix an int32: 0 if it is invertible, else 1.

    A singular matrix is an error only with `check_errors`; otherwise its inverse is all inf.
    """
    require_square("inv_ex", x)
    inverse = inv(x, check=check_errors)
    return inverse, find_failures(inverse)


@composite(
    samples=[
        sample(regular(3, 3), (3,)),
        sample(regular(2, 2, 2), (2, 2, 1)),
        sample(regular(2, 2), (3, 2), left=False),
    ]
)
def solve_ex(a: Value, b: Value, *, left: bool = True, check_errors: bool = False) -> tuple[Value, Value]:
    """The x of solve, and for each matrix of a an int32: 0 if it is invertible, else 1.

    A singular matrix is an error only with `check_errors`; otherwise its x is all NaN.
    """
    x = solve(a, b, left=left, check=check_errors)
    return x, find_failures(inv(a, check=False))


def find_failures(result: Value) -> Value:
    """Return for each of matrices [..., n, n] an int32: 1 if an element is not finite, else 0."""
    return cast(logical_not(all(isfinite(stop_gradient(result)), axis=(-2, -1))), dtype=INT32)
