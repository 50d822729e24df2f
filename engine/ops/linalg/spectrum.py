"""Eigenvalues of symmetric matrices, singular values, pseudo-inverses, least squares and ranks.

Gradients: Giles 2008, "Collected matrix derivative results"; Townsend 2016, "Differentiating the singular value
decomposition"; Golub and Pereyra 1973, "The differentiation of pseudo-inverses". If values are repeated, the gradient
of their vectors is undefined and comes out inf or NaN.
"""

from __future__ import annotations

import numpy as np

from engine.core.attributes import Count
from engine.core.batching import by_itself
from engine.core.declarations import AUTOCAST_FLOAT32, CallForms, Documentation
from engine.core.dtypes import INT64
from engine.core.errors import ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import Argument, positive, sample
from engine.core.shape_rules import broadcast_shapes, require_float
from engine.core.value import Array, Shape, Spec, Value
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.comparison import gt
from engine.ops.elementwise.elementwise import abs, maximum
from engine.ops.linalg.diagonals import diag_embed
from engine.ops.linalg.equations import is_vector
from engine.ops.linalg.factorization import complete_columns, symmetric_part
from engine.ops.linalg.matmul import matrix_product
from engine.ops.linalg.matrices import adjoint, call_linalg, regular, require_matrices, require_square, widen_half
from engine.ops.reduce.reduce import amax, sum
from engine.ops.shape.creation import eye
from engine.ops.shape.shape import broadcast_to, squeeze, unsqueeze


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


@primitive(
    shape_rule=_eigh,
    multi_output=True,
    numerics=AUTOCAST_FLOAT32,
    documentation=Documentation(outputs=("values", "vectors")),
    batching=by_itself,
    samples=[sample(separated(3, 3)), sample(separated(2, 2, 2))],
)
def eigh(x: Array) -> tuple[Array, Array]:
    """Eigenvalues in ascending order [..., n] and eigenvectors as columns [..., n, n] of symmetric matrices.

    Only the symmetric part of other matrices is used. The signs of the vectors are LAPACK's.
    """
    values, vectors = call_linalg("eigh", "has eigenvalues that do not converge", np.linalg.eigh, symmetric_part(x))
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


@composite(numerics=AUTOCAST_FLOAT32, samples=[sample(separated(3, 3))])
def eigvalsh(x: Value) -> Value:
    """The eigenvalues of symmetric matrices in ascending order; only the symmetric part of other matrices is used."""
    return eigh(x)[0]


def _svd(x: Value) -> tuple[Spec, Spec, Spec]:
    dtype = require_matrices("svd", x)
    *batch, rows, columns = x.shape
    inner = min(rows, columns)
    return Spec((*batch, rows, inner), dtype), Spec((*batch, inner), dtype), Spec((*batch, inner, columns), dtype)


@primitive(
    shape_rule=_svd,
    multi_output=True,
    numerics=AUTOCAST_FLOAT32,
    documentation=Documentation(outputs=("u", "s", "vt")),
    batching=by_itself,
    samples=[sample(regular(3, 3)), sample(regular(2, 4, 2)), sample(regular(2, 3))],
)
def reduced_svd(x: Array) -> tuple[Array, Array, Array]:
    """U [..., m, k], singular values S [..., k] from the largest down, and Vᵀ [..., k, n] with U diag(S) Vᵀ = x.

    k = min(m, n). The signs are LAPACK's. A matrix that is not finite is an error.
    """
    u, s, vt = call_linalg("svd", "is not finite or does not converge", _thin, widen_half(x))
    return u.astype(x.dtype, copy=False), s.astype(x.dtype, copy=False), vt.astype(x.dtype, copy=False)


def _by_eigenvalues(x: Array) -> tuple[Array, Array, Array]:
    """Return the singular value decomposition of symmetric matrices."""
    if not np.isfinite(x).all():
        raise np.linalg.LinAlgError
    values, vectors = np.linalg.eigh(x)
    order = np.argsort(-np.abs(values), axis=-1)
    values = np.take_along_axis(values, order, -1)
    vectors = np.take_along_axis(vectors, order[..., None, :], -1)
    return vectors * np.where(values < 0, -1.0, 1.0)[..., None, :], np.abs(values), vectors.swapaxes(-2, -1)


def _thin(x: Array) -> tuple[Array, Array, Array]:
    # LAPACK's gesdd does not come to an end with some infinite numbers.
    if not np.isfinite(x).all():
        raise np.linalg.LinAlgError
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    return u, s, vt


@reduced_svd.vjp
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


@composite(
    call=CallForms(by_place=()),
    numerics=AUTOCAST_FLOAT32,
    documentation=Documentation(outputs=("u", "s", "vt")),
    samples=[
        sample(regular(3, 3)),
        sample(regular(2, 4, 2)),
        sample(regular(3, 2), full_matrices=True),
        sample(regular(2, 3), full_matrices=True),
    ],
)
def svd(x: Value, *, full_matrices: bool = False) -> tuple[Value, Value, Value]:
    """U [..., m, k], singular values S [..., k] from the largest down, and Vᵀ [..., k, n] with U diag(S) Vᵀ = x.

    k = min(m, n). With `full_matrices` U and Vᵀ are square; the gradient of the added vectors is that of the space
    they span. The signs are LAPACK's. A matrix that is not finite is an error.
    """
    u, s, vt = reduced_svd(x)
    return (complete_columns(u), s, adjoint(complete_columns(adjoint(vt)))) if full_matrices else (u, s, vt)


@composite(numerics=AUTOCAST_FLOAT32, samples=[sample(regular(3, 2))])
def svdvals(x: Value) -> Value:
    """The singular values of matrices [..., m, n], from the largest down."""
    return reduced_svd(x)[1]


def _pinv(x: Value, *, rtol: float | None, atol: float, hermitian: bool) -> Spec:
    dtype = require_square("pinv", x) if hermitian else require_matrices("pinv", x)
    return Spec((*x.shape[:-2], x.shape[-1], x.shape[-2]), dtype)


@primitive(
    shape_rule=_pinv,
    call=CallForms(by_place=()),
    numerics=AUTOCAST_FLOAT32,
    batching=by_itself,
    samples=[
        sample(regular(3, 2)),
        sample(regular(2, 2, 3)),
        sample(regular(2, 2), rtol=1e-6, atol=1e-6),
        sample(separated(2, 3, 3), hermitian=True),
    ],
)
def pinv(x: Array, *, rtol: float | None = None, atol: float = 0.0, hermitian: bool = False) -> Array:
    """The pseudo-inverse of matrices [..., m, n]; singular values up to `rtol` times the largest are treated as 0.

    `rtol` is by default max(m, n) times the machine epsilon, or 0 if `atol` is given: values up to `atol` are treated
    as 0 too. `hermitian` matrices are symmetric (only the symmetric part of others is used), which is faster; the
    magnitudes of their eigenvalues are the singular values. The gradient assumes a constant rank.
    """
    wide = symmetric_part(x) if hermitian else widen_half(x)
    if rtol is None:
        rtol = 0.0 if atol > 0 else max(x.shape[-2:]) * float(np.finfo(wide.dtype).eps)
    u, s, vt = call_linalg("pinv", "is not finite or does not converge", _by_eigenvalues if hermitian else _thin, wide)
    counts = s > np.maximum(rtol * s[..., :1], atol)
    inverse = np.divide(1, s, out=np.zeros_like(s), where=counts)
    result = (vt.swapaxes(-2, -1) * inverse[..., None, :]) @ u.swapaxes(-2, -1)
    return result.astype(x.dtype, copy=False)  # type: ignore[no-any-return]


@pinv.vjp
def _(g: Value, y: Value, x: Value, *, hermitian: bool) -> Value:
    if hermitian:
        x = (x + adjoint(x)) * 0.5
        pulled = _pulled_through_inverse(g, y, x)
        return (pulled + adjoint(pulled)) * 0.5
    return _pulled_through_inverse(g, y, x)


def _pulled_through_inverse(g: Value, y: Value, x: Value) -> Value:
    turned, gt = adjoint(y), adjoint(g)
    first = -matrix_product(matrix_product(turned, g), turned)
    # What x does not reach on the left and on the right: (1 - x y) and (1 - y x).
    left = matrix_product(gt, y)
    left = left - matrix_product(x, matrix_product(y, left))
    right = matrix_product(y, gt)
    right = right - matrix_product(matrix_product(right, y), x)
    return first + matrix_product(left, turned) + matrix_product(turned, right)


@composite(
    numerics=AUTOCAST_FLOAT32,
    samples=[sample(regular(4, 2), (4,)), sample(regular(2, 4, 2), (2, 4, 3)), sample(regular(2, 3), (2, 1))],
)
def lstsq(a: Value, b: Value, *, rtol: float | None = None) -> Value:
    """The x of smallest norm that minimises ‖a x - b‖; b is a vector, one for each matrix of a, or matrices.

    lstsq_results also returns residuals, rank and singular values.
    """
    require_matrices("lstsq", a)
    vector = is_vector(a, b)
    x = matrix_product(pinv(a, rtol=rtol), unsqueeze(b, axis=-1) if vector else b)
    return squeeze(x, axis=-1) if vector else x


def _matrix_rank(s: Value, *, largest: int, rtol: float | None, atol: float) -> Spec:
    if not s.ndim:
        raise ShapeError("count_of_rank needs singular values [..., k], got a number without axes")
    require_float("count_of_rank", s)
    return Spec(s.shape[:-1], INT64)


@primitive(
    shape_rule=_matrix_rank, differentiable=False, batching=by_itself, samples=[sample(positive(2, 3), largest=4)]
)
def count_of_rank(s: Array, *, largest: Count, rtol: float | None = None, atol: float = 0.0) -> Array:
    """The number of singular values [..., k] above `rtol` times the largest of each row.

    `rtol` is by default `largest`, the larger extent of the matrix, times the machine epsilon, or 0 if `atol` is given:
    values up to `atol` are not counted either.
    """
    if rtol is None:
        rtol = 0.0 if atol > 0 else largest * float(np.finfo(s.dtype).eps)
    limit = np.maximum(rtol * s.max(axis=-1, keepdims=True, initial=0), atol)
    return np.asarray((s > limit).sum(axis=-1), INT64)


@composite(
    call=CallForms(by_place=()),
    numerics=AUTOCAST_FLOAT32,
    samples=[
        sample(regular(3, 2)),
        sample(regular(2, 2, 2), rtol=0.1),
        sample(separated(2, 3, 3), hermitian=True),
        sample(regular(2, 2, 2), positive(2)),
    ],
)
def matrix_rank(
    x: Value,
    atols: Value | None = None,
    rtols: Value | None = None,
    *,
    rtol: float | None = None,
    atol: float = 0.0,
    hermitian: bool = False,
) -> Value:
    """The number of singular values of matrices [..., m, n] above `rtol` times the largest, int64.

    `rtol` is by default max(m, n) times the machine epsilon, or 0 if `atol` is given: values up to `atol` are not
    counted either. `hermitian` matrices are symmetric (only the symmetric part of others is used): the magnitudes of
    their eigenvalues are counted. `atols` and `rtols` hold such limits for each matrix, which broadcast, instead of
    `atol` and `rtol`.
    """
    require_matrices("matrix_rank", x)
    values = abs(eigvalsh(x)) if hermitian else svdvals(x)
    if atols is not None or rtols is not None:
        return _rank_above(values, max(x.shape[-2:]), atols, rtols, atol, rtol)
    return count_of_rank(values, largest=max(x.shape[-2:]), rtol=rtol, atol=atol)


def _rank_above(
    values: Value, largest: int, atols: Value | None, rtols: Value | None, atol: float, rtol: float | None
) -> Value:
    """Count the singular values [..., k] above limits given for each matrix."""
    if rtols is None and rtol is None:
        rtol = 0.0 if atols is not None else largest * float(np.finfo(values.dtype).eps)
    top = amax(values, axis=-1) if values.shape[-1] else sum(values, axis=-1)
    limit = maximum(top * (rtols if rtols is not None else float(rtol or 0.0)), atols if atols is not None else atol)
    values, limit = _broadcast_rows(values, limit)
    return sum(cast(gt(values, unsqueeze(limit, axis=-1)), dtype=INT64), axis=-1)


def _broadcast_rows(values: Value, limit: Value) -> tuple[Value, Value]:
    """Broadcast the leading axes of values [..., k] and limits [...]."""
    shape = broadcast_shapes(values.shape[:-1], limit.shape)
    return broadcast_to(values, shape=(*shape, values.shape[-1])), broadcast_to(limit, shape=shape)


@composite(numerics=AUTOCAST_FLOAT32, samples=[sample(regular(4, 2), (4, 2)), sample(regular(2, 4, 2), (2, 4, 3))])
def lstsq_results(a: Value, b: Value, *, rtol: float | None = None) -> tuple[Value, Value, Value, Value]:
    """The x of lstsq, the squared norms of the columns of a x - b [..., k], the rank of a, and its singular values."""
    x = lstsq(a, b, rtol=rtol)
    vector = is_vector(a, b)
    columns = unsqueeze(b, axis=-1) if vector else b
    missed = matrix_product(a, unsqueeze(x, axis=-1) if vector else x) - columns
    return x, sum(missed * missed, axis=-2), matrix_rank(a, rtol=rtol), svdvals(a)
