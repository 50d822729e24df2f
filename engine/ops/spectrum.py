"""Eigenvalues of symmetric matrices, singular values, and what follows from them.

Gradients: Giles 2008, "Collected matrix derivative results"; Townsend 2016, "Differentiating the singular value
decomposition"; Golub and Pereyra 1973, "The differentiation of pseudo-inverses". Where values are repeated, the
gradient of their vectors is not defined and comes out inf or NaN.
"""

from __future__ import annotations

import numpy as np

from engine.ops.creation import eye
from engine.ops.diagonals import diag_embed
from engine.ops.equations import is_vector
from engine.ops.factorization import symmetric_part
from engine.ops.linalg import matrix_product
from engine.ops.matrices import adjoint, each, regular, require_matrices, require_square, widened
from engine.ops.shape import squeeze, unsqueeze
from engine.registry import composite, primitive
from engine.samples import Argument, sample
from engine.value import Array, Shape, Spec, Value


def separated(*shape: int) -> Argument:
    """Draw symmetric matrices whose eigenvalues lie well apart."""

    def draw(generator: np.random.Generator, shape: Shape) -> Array:
        vectors = np.linalg.qr(generator.standard_normal(shape))[0]
        values = np.arange(shape[-1]) * 1.5 - 1 + generator.uniform(0, 0.5, shape[:-1])
        return np.asarray((vectors * values[..., None, :]) @ vectors.swapaxes(-2, -1))

    return Argument(shape, draw)


def _eigh(x: Value) -> tuple[Spec, Spec]:
    dtype = require_square("eigh", x)
    return Spec(x.shape[:-1], dtype), Spec(x.shape, dtype)


@primitive(infer=_eigh, several=True, samples=[sample(separated(3, 3)), sample(separated(2, 2, 2))])
def eigh(x: Array) -> tuple[Array, Array]:
    """Eigenvalues in ascending order [..., n] and eigenvectors as columns [..., n, n] of symmetric matrices.

    Of other matrices the symmetric part counts. The vectors' signs are LAPACK's.
    """
    values, vectors = each("eigh", "has eigenvalues that do not converge", np.linalg.eigh, symmetric_part(x))
    return values.astype(x.dtype, copy=False), vectors.astype(x.dtype, copy=False)


@eigh.vjp
def _(g: tuple[Value | None, Value | None], y: tuple[Value, Value], x: Value) -> Value | None:
    values, vectors = y
    inner = None if g[0] is None else diag_embed(g[0])
    if g[1] is not None:
        turned = matrix_product(adjoint(vectors), g[1]) / _gaps(values)
        # The diagonal of vᵀ gv changes only the vectors' lengths, which are fixed.
        turned = turned - turned * eye(rows=values.shape[-1], dtype=values.dtype)
        inner = turned if inner is None else inner + turned
    if inner is None:
        return None
    full = matrix_product(matrix_product(vectors, inner), adjoint(vectors))
    return (full + adjoint(full)) * 0.5


def _gaps(values: Value) -> Value:
    """The matrix values[j] - values[i], with 1 on the diagonal."""
    differences = unsqueeze(values, axis=-2) - unsqueeze(values, axis=-1)
    return differences + eye(rows=values.shape[-1], dtype=values.dtype)


@composite(samples=[sample(separated(3, 3))])
def eigvalsh(x: Value) -> Value:
    """The eigenvalues of symmetric matrices in ascending order; of other matrices the symmetric part counts."""
    return eigh(x)[0]


def _svd(x: Value) -> tuple[Spec, Spec, Spec]:
    dtype = require_matrices("svd", x)
    *batch, rows, columns = x.shape
    inner = min(rows, columns)
    return Spec((*batch, rows, inner), dtype), Spec((*batch, inner), dtype), Spec((*batch, inner, columns), dtype)


@primitive(infer=_svd, several=True, samples=[sample(regular(3, 3)), sample(regular(2, 4, 2)), sample(regular(2, 3))])
def svd(x: Array) -> tuple[Array, Array, Array]:
    """U [..., m, k], singular values S [..., k] from the largest down, and Vᵀ [..., k, n] with U diag(S) Vᵀ = x.

    k = min(m, n). The signs are LAPACK's. A matrix that is not finite is an error.
    """
    u, s, vt = each("svd", "is not finite or does not converge", _reduced_svd, widened(x))
    return u.astype(x.dtype, copy=False), s.astype(x.dtype, copy=False), vt.astype(x.dtype, copy=False)


def _reduced_svd(x: Array) -> tuple[Array, Array, Array]:
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    return u, s, vt


@svd.vjp
def _(g: tuple[Value | None, Value | None, Value | None], y: tuple[Value, Value, Value], x: Value) -> Value | None:
    u, s, vt = y
    gu, gs, gvt = g
    core = None if gs is None else diag_embed(gs)
    across, down = unsqueeze(s, axis=-2), unsqueeze(s, axis=-1)
    parts: list[Value] = []
    if gu is not None:
        inner = matrix_product(adjoint(u), gu)
        core = _plus(core, (inner - adjoint(inner)) / _gaps(s * s) * across)
        if x.shape[-2] > s.shape[-1]:
            parts.append(matrix_product((gu - matrix_product(u, inner)) / across, vt))
    if gvt is not None:
        inner = matrix_product(vt, adjoint(gvt))
        core = _plus(core, (inner - adjoint(inner)) / _gaps(s * s) * down)
        if x.shape[-1] > s.shape[-1]:
            parts.append(matrix_product(u, (gvt - matrix_product(adjoint(inner), vt)) / down))
    if core is None:
        return None
    total = matrix_product(matrix_product(u, core), vt)
    for part in parts:
        total = total + part
    return total


def _plus(total: Value | None, term: Value) -> Value:
    return term if total is None else total + term


@composite(samples=[sample(regular(3, 2))])
def svdvals(x: Value) -> Value:
    """The singular values of matrices [..., m, n], from the largest down."""
    return svd(x)[1]


def _pinv(x: Value, *, rtol: float | None) -> Spec:
    dtype = require_matrices("pinv", x)
    return Spec((*x.shape[:-2], x.shape[-1], x.shape[-2]), dtype)


@primitive(infer=_pinv, samples=[sample(regular(3, 2)), sample(regular(2, 2, 3)), sample(regular(2, 2), rtol=1e-6)])
def pinv(x: Array, *, rtol: float | None = None) -> Array:
    """The pseudo-inverse of matrices [..., m, n]; singular values up to `rtol` times the largest count as 0.

    By default that is max(m, n) times the machine epsilon. The gradient takes the rank as fixed.
    """
    wide = widened(x)
    limit = max(x.shape[-2:]) * float(np.finfo(wide.dtype).eps) if rtol is None else rtol
    result = each("pinv", "is not finite or does not converge", lambda m: np.linalg.pinv(m, rcond=limit), wide)
    return result.astype(x.dtype, copy=False)  # type: ignore[no-any-return]


@pinv.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    turned, gt = adjoint(y), adjoint(g)
    first = -matrix_product(matrix_product(turned, g), turned)
    # What x does not reach on the left and on the right: (1 - x y) and (1 - y x).
    left = matrix_product(gt, y)
    left = left - matrix_product(x, matrix_product(y, left))
    right = matrix_product(y, gt)
    right = right - matrix_product(matrix_product(right, y), x)
    return first + matrix_product(left, turned) + matrix_product(turned, right)


@composite(samples=[sample(regular(4, 2), (4,)), sample(regular(2, 4, 2), (2, 4, 3)), sample(regular(2, 3), (2, 1))])
def lstsq(a: Value, b: Value, *, rtol: float | None = None) -> Value:
    """The x of smallest length that minimises ‖a x - b‖, for a vector, one for each matrix of a, or matrices b."""
    require_matrices("lstsq", a)
    vector = is_vector(a, b)
    x = matrix_product(pinv(a, rtol=rtol), unsqueeze(b, axis=-1) if vector else b)
    return squeeze(x, axis=-1) if vector else x
