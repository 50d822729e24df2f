"""Determinants. The gradient of det is the cofactor matrix, which exists for singular matrices too.

With x = U diag(σ) Vᵀ the cofactors are det(U) det(V) U diag(products of the other σ) Vᵀ, and their derivative
likewise holds products of all σ but two, so that nothing is divided by a determinant that may be 0.
"""

from __future__ import annotations

import numpy as np

from engine.core.batching import by_itself, spread
from engine.core.declarations import AUTOCAST_FLOAT32, Documentation
from engine.core.errors import ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import sample
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.comparison import lt, where
from engine.ops.linalg.diagonals import trace
from engine.ops.linalg.equations import inv
from engine.ops.linalg.matmul import matrix_product
from engine.ops.linalg.matrices import adjoint, as_factor, regular, require_square, widen_half
from engine.ops.reduce.products import product_of_others


def _det(x: Value) -> Spec:
    return Spec(x.shape[:-2], require_square("det", x))


@primitive(shape_rule=_det, numerics=AUTOCAST_FLOAT32, batching=by_itself, samples=[sample((3, 3)), sample((2, 2, 2))])
def det(x: Array) -> Array:
    """The determinant of square matrices [..., n, n]; its gradient is exact for singular ones too."""
    return np.asarray(np.linalg.det(widen_half(x)), x.dtype)


@det.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    return as_factor(g, x) * cofactors(x)


def _decomposed(x: Array) -> tuple[Array, Array, Array, Array]:
    """Return det(U) det(V), U, σ and Vᵀ; NaN for matrices that are not finite."""
    wide = widen_half(x)
    good = np.asarray(np.isfinite(wide).all(axis=(-2, -1)))
    u, s, vt = np.linalg.svd(np.where(good[..., None, None], wide, 0))
    sign = np.sign(np.linalg.det(u) * np.linalg.det(vt))
    return np.where(good, sign, np.nan).astype(wide.dtype), u, s, vt


def _cofactors(x: Value) -> Spec:
    return Spec(x.shape, require_square("cofactors", x))


@primitive(
    shape_rule=_cofactors, numerics=AUTOCAST_FLOAT32, batching=by_itself, samples=[sample((3, 3)), sample((2, 2, 2))]
)
def cofactors(x: Array) -> Array:
    """The matrix of the cofactors of square matrices, det(x) x⁻ᵀ where x is invertible: the gradient of det."""
    sign, u, s, vt = _decomposed(x)
    others = product_of_others.body(s, axis=-1)
    return np.asarray(sign[..., None, None] * ((u * others[..., None, :]) @ vt), x.dtype)


@cofactors.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    # The Hessian of det is symmetric, so the derivative of the cofactors is its own transpose.
    return cofactors_along(x, g)


def _cofactors_along(x: Value, direction: Value) -> Spec:
    if direction.shape != x.shape:
        raise ShapeError(f"cofactors_along: the direction {list(direction.shape)} must have the shape {list(x.shape)}")
    return Spec(x.shape, require_square("cofactors_along", x))


@primitive(
    shape_rule=_cofactors_along,
    numerics=AUTOCAST_FLOAT32,
    batching=spread,
    samples=[sample(regular(3, 3), (3, 3)), sample(regular(2, 2, 2), (2, 2, 2))],
)
def cofactors_along(x: Array, direction: Array) -> Array:
    """The derivative of the cofactors of x along a direction: the second derivative of det."""
    sign, u, s, vt = _decomposed(x)
    turned = u.swapaxes(-2, -1) @ widen_half(direction) @ vt.swapaxes(-2, -1)
    diagonal = np.eye(s.shape[-1], dtype=bool)
    without_one = np.where(diagonal, 1, s[..., None, :])
    without_two = np.where(diagonal, 0, product_of_others.body(without_one, axis=-1))
    changes = -without_two * turned.swapaxes(-2, -1)
    own = np.einsum("...ij,...jj->...i", without_two, turned)
    changes = np.where(diagonal, own[..., None, :], changes)
    return np.asarray(sign[..., None, None] * (u @ changes @ vt), x.dtype)


@cofactors_along.vjp
def _(c: Value, y: Value, x: Value, direction: Value) -> object:
    def matrix() -> Value:
        # With X = x⁻¹, u the direction: <c, y> = det(x) (tr(Xu) tr(Xc) - tr(XuXc)); this third derivative needs X.
        inverse = inv(x, check=False)
        xu, xc = matrix_product(inverse, direction), matrix_product(inverse, c)
        a, b = (as_factor(trace(m, axis0=-2, axis1=-1), x) for m in (xu, xc))
        uc, cu = matrix_product(xu, xc), matrix_product(xc, xu)
        both = as_factor(trace(uc, axis0=-2, axis1=-1), x)
        inner = (a * b - both) * inverse + matrix_product(uc + cu - b * xu - a * xc, inverse)
        return as_factor(det(x), x) * adjoint(inner)

    return matrix, lambda: cofactors_along(x, c)


def _slogdet(x: Value) -> tuple[Spec, Spec]:
    spec = Spec(x.shape[:-2], require_square("slogdet", x))
    return spec, spec


@primitive(
    shape_rule=_slogdet,
    multi_output=True,
    numerics=AUTOCAST_FLOAT32,
    documentation=Documentation(outputs=("sign", "logabsdet")),
    batching=by_itself,
    samples=[sample((3, 3)), sample((2, 2, 2))],
)
def slogdet(x: Array) -> tuple[Array, Array]:
    """The sign of the determinant and the logarithm of its absolute value; 0 and -inf for singular matrices."""
    sign, logarithm = np.linalg.slogdet(widen_half(x))
    return np.asarray(sign, x.dtype), np.asarray(logarithm, x.dtype)


slogdet.vjp(lambda g, y, x: None if g[1] is None else as_factor(g[1], x) * adjoint(inv(x, check=False)))


@composite(numerics=AUTOCAST_FLOAT32, samples=[sample(regular(3, 3)), sample(regular(2, 2, 2))])
def logdet(x: Value) -> Value:
    """The logarithm of the determinant of matrices [..., n, n]: -inf for a determinant of 0, NaN for a negative one."""
    sign, logarithm = slogdet(x)
    return where(lt(sign, 0.0), float("nan"), logarithm)
