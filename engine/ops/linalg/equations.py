"""Inverses and systems of linear equations.

Gradients: Giles 2008, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation".
"""

from __future__ import annotations

import math

import numpy as np

from engine.core.batching import by_itself, spread
from engine.core.declarations import AUTOCAST_FLOAT32, PRODUCT_COMPOSITION, CallForms, Numerics, Sharding
from engine.core.errors import ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import sample
from engine.core.shape_rules import broadcast_shapes, require_float
from engine.core.sharding_rules import Case, Cut, matrix_axes
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.comparison import where
from engine.ops.linalg.diagonals import tril, triu
from engine.ops.linalg.matmul import matrix_product
from engine.ops.linalg.matrices import adjoint, call_linalg, regular, require_matrices, require_square, widen_half
from engine.ops.shape.creation import eye
from engine.ops.shape.shape import squeeze, unsqueeze

MATRICES = matrix_axes("22", "2")
BASE = 16
"""Maximum number of rows of a triangular system solved row by row; larger ones are halved, with matrix products."""


def _inv(x: Value, *, check: bool) -> Spec:
    return Spec(x.shape, require_square("inv", x))


@primitive(
    shape_rule=_inv,
    aliases=("inverse",),
    call=CallForms(by_place=()),
    numerics=AUTOCAST_FLOAT32,
    batching=by_itself,
    samples=[sample(regular(3, 3)), sample(regular(2, 2, 2))],
)
def inv(x: Array, *, check: bool = True) -> Array:
    """The inverse of square matrices [..., n, n].

    A singular one is an error, or without `check` its inverse is all inf.
    """
    wide = widen_half(x)
    if check:
        return call_linalg("inv", "is singular", np.linalg.inv, wide).astype(x.dtype, copy=False)  # type: ignore[no-any-return]
    try:
        return np.linalg.inv(wide).astype(x.dtype, copy=False)
    except np.linalg.LinAlgError:
        matrices = [_inverse_or_inf(matrix) for matrix in wide.reshape(-1, *x.shape[-2:])]
        return np.stack(matrices).reshape(x.shape).astype(x.dtype, copy=False)


def _inverse_or_inf(matrix: Array) -> Array:
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.inf)


@inv.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    turned = adjoint(y)
    return -matrix_product(matrix_product(turned, g), turned)


def _solve_matrix(a: Value, b: Value, *, check: bool = True) -> Spec:
    require_square("solve", a)
    require_float("solve", a, b)
    if b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        raise ShapeError(
            f"solve: a system of {list(a.shape)} needs right-hand sides [..., {a.shape[-1]}, k], got {list(b.shape)}"
        )
    return Spec((*broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:]), a.dtype)


@primitive(
    shape_rule=_solve_matrix,
    numerics=Numerics(promotion="common", autocast="float32"),
    batching=spread,
    samples=[sample(regular(3, 3), (3, 2)), sample(regular(2, 2, 2), (2, 1)), sample(regular(2, 2), (3, 2, 2))],
)
def solve_matrix(a: Array, b: Array, *, check: bool = True) -> Array:
    """x with a @ x = b, for matrices a [..., n, n] and b [..., n, k]; batches broadcast.

    A singular a is an error, or without `check` its x is all NaN.
    """
    if not check:
        return _solved_or_nan(widen_half(a), widen_half(b)).astype(a.dtype, copy=False)
    solved: Array = call_linalg("solve", "is singular", np.linalg.solve, widen_half(a), widen_half(b))
    return solved.astype(a.dtype, copy=False)


def _solved_or_nan(a: Array, b: Array) -> Array:
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    count = math.prod(shape)
    matrices, columns = (np.broadcast_to(x, (*shape, *x.shape[-2:])).reshape(count, *x.shape[-2:]) for x in (a, b))
    result = np.empty((count, *b.shape[-2:]), a.dtype)
    for number, (matrix, right) in enumerate(zip(matrices, columns, strict=True)):
        try:
            result[number] = np.linalg.solve(matrix, right)
        except np.linalg.LinAlgError:
            result[number] = np.nan
    return result.reshape(*shape, *b.shape[-2:])


@solve_matrix.vjp
def _(g: Value, x: Value, a: Value, b: Value, *, check: bool) -> object:
    right = solve_matrix(adjoint(a), g, check=check)
    return lambda: -matrix_product(right, adjoint(x)), right


def is_vector(a: Value, b: Value) -> bool:
    """Return whether b holds a vector for each matrix of a, by PyTorch's rule."""
    return b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])


@composite(
    call=CallForms(by_place=()),
    numerics=AUTOCAST_FLOAT32,
    samples=[sample(regular(3, 3), (3,)), sample(regular(2, 3, 3), (2, 3)), sample(regular(2, 2), (3, 2), left=False)],
)
def solve(a: Value, b: Value, *, left: bool = True, check: bool = True) -> Value:
    """x with a @ x = b, or with x @ a = b when not `left`; b is a vector, one for each matrix of a, or matrices.

    Batches broadcast. A singular a is an error, or without `check` its x is all NaN.
    """
    if a.ndim >= 2 and left and is_vector(a, b):
        return squeeze(solve_matrix(a, unsqueeze(b, axis=-1), check=check), axis=-1)
    if left:
        return solve_matrix(a, b, check=check)
    require_matrices("solve", a)
    require_matrices("solve", b)
    return adjoint(solve_matrix(adjoint(a), adjoint(b), check=check))


def _substituted(a: Array, b: Array, upper: bool, unit: bool) -> Array:
    """Solve triangular systems by substitution; a 0 on the diagonal gives inf and NaN as IEEE division does."""
    rows = a.shape[-1]
    if rows > BASE:
        half = rows // 2
        first, second = (np.s_[half:], np.s_[:half]) if upper else (np.s_[:half], np.s_[half:])
        head = _substituted(a[..., first, first], b[..., first, :], upper, unit)
        tail = _substituted(a[..., second, second], b[..., second, :] - a[..., second, first] @ head, upper, unit)
        return np.concatenate((tail, head) if upper else (head, tail), axis=-2)
    x = np.empty((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:]), b.dtype)
    for row in range(rows - 1, -1, -1) if upper else range(rows):
        known = np.s_[row + 1 :] if upper else np.s_[:row]
        rest = b[..., row, :] - (a[..., row, None, known] @ x[..., known, :])[..., 0, :]
        x[..., row, :] = rest if unit else rest / a[..., row, row, None]
    return x


def _solve_triangular_left(a: Value, b: Value, *, upper: bool, unitriangular: bool) -> Spec:
    return _solve_matrix(a, b)


def _split_systems(case: Case) -> Cut | None:
    """Split the axes in front of the matrices where these are split: systems of one matrix cost more than they gain."""
    return MATRICES.split(case) if any(state is not None for state in case.states) else None


@primitive(
    shape_rule=_solve_triangular_left,
    numerics=Numerics(promotion="common", autocast="float32"),
    sharding=Sharding(_split_systems, _split_systems),
    batching=spread,
    samples=[
        sample(regular(3, 3), (3, 2), upper=True),
        sample(regular(2, 2, 2), (2, 1), upper=False),
        sample(regular(2, 2), (3, 2, 2), upper=False, unitriangular=True),
    ],
)
def solve_triangular_left(a: Array, b: Array, *, upper: bool, unitriangular: bool = False) -> Array:
    """x with a @ x = b, using only the upper or lower triangle of a: see solve_triangular."""
    return _substituted(widen_half(a), widen_half(b), upper, unitriangular).astype(a.dtype, copy=False)


@solve_triangular_left.vjp
def _(g: Value, x: Value, a: Value, b: Value, *, upper: bool, unitriangular: bool) -> object:
    right = solve_triangular_left(adjoint(a), g, upper=not upper, unitriangular=unitriangular)

    def matrix() -> Value:
        full = -matrix_product(right, adjoint(x))
        return triu(full, diagonal=int(unitriangular)) if upper else tril(full, diagonal=-int(unitriangular))

    return matrix, right


@composite(
    aliases=("solve_tri",),
    call=CallForms(by_place=()),
    numerics=AUTOCAST_FLOAT32,
    samples=[sample(regular(3, 3), (3, 2), upper=True), sample(regular(2, 2), (3, 2), upper=False, left=False)],
)
def solve_triangular(a: Value, b: Value, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Value:
    """x with a @ x = b, or x @ a = b when not `left`, using only the upper or lower triangle of a.

    With `unitriangular` its diagonal is assumed to be ones. A 0 on the diagonal gives inf and NaN, no error.
    """
    if left:
        return solve_triangular_left(a, b, upper=upper, unitriangular=unitriangular)
    require_matrices("solve_triangular", a)
    require_matrices("solve_triangular", b)
    turned = solve_triangular_left(adjoint(a), adjoint(b), upper=not upper, unitriangular=unitriangular)
    return adjoint(turned)


@composite(
    numerics=PRODUCT_COMPOSITION,
    samples=[sample((2, 3, 3), exponent=3), sample(regular(2, 2), exponent=-2), sample((2, 2), exponent=1)],
)
def matrix_power(x: Value, *, exponent: int) -> Value:
    """The product of `exponent` copies of square matrices: of inverses if negative, the identity if 0."""
    require_square("matrix_power", x)
    if exponent == 0:
        return where(False, x, eye(rows=x.shape[-1], dtype=x.dtype))  # it has a gradient, of zeros
    square = inv(x) if exponent < 0 else x
    left, power = abs(exponent), None
    while True:
        if left % 2:
            power = square if power is None else matrix_product(power, square)
        left //= 2
        if not left:
            assert power is not None
            return power
        square = matrix_product(square, square)
