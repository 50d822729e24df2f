"""Covariances and correlation coefficients."""

from __future__ import annotations

from engine.core.declarations import PRECISE_COMPOSITION, CallForms
from engine.core.dtypes import is_float
from engine.core.errors import ShapeError
from engine.core.registry import composite
from engine.core.samples import integers, positive, sample
from engine.core.shape_rules import require_float, require_integer, require_rank
from engine.core.value import Value
from engine.ops.elementwise.casting import cast, nonnegative
from engine.ops.elementwise.elementwise import clamp, sqrt
from engine.ops.linalg.diagonals import diagonal
from engine.ops.linalg.matmul import matmul
from engine.ops.reduce.reduce import sum
from engine.ops.shape.shape import reshape, transpose, unsqueeze


@composite(
    call=CallForms(by_place=()),
    numerics=PRECISE_COMPOSITION,
    samples=[sample((2, 4)), sample((5,), correction=0), sample((2, 4), integers(1, 4, 4), positive(4))],
)
def cov(x: Value, fweights: Value | None = None, aweights: Value | None = None, *, correction: int = 1) -> Value:
    """The covariance matrix of the rows of x [variables, observations]; of a single row its variance.

    `fweights` are the integer repetitions of each observation, `aweights` their relative weights; `correction` is
    subtracted from their number (NumPy's ddof).
    """
    require_float("cov", x)
    require_rank("cov", "variables", x, 0, 1, 2)
    if fweights is not None:
        require_integer("cov", "fweights", fweights)
    rows = x if x.ndim == 2 else reshape(x, shape=(1, x.size))
    weight = _weight(rows, fweights, aweights)
    if weight is None:
        total: Value | float = float(rows.shape[1])
        centred = rows - sum(rows, axis=1, keepdims=True) / total
        left: Value = centred
        norm: Value | float = max(rows.shape[1] - correction, 0)
    else:
        total = sum(weight)
        centred = rows - sum(rows * weight, axis=1, keepdims=True) / total
        left = centred * weight
        lost = (
            float(correction) if aweights is None else sum(weight * cast(aweights, dtype=x.dtype)) * correction / total
        )
        norm = clamp(total - lost, min=0.0)
    product = matmul(left, transpose(centred)) / norm
    return reshape(product, shape=()) if rows.shape[0] == 1 else product


def _weight(rows: Value, fweights: Value | None, aweights: Value | None) -> Value | None:
    given = [weight for weight in (fweights, aweights) if weight is not None]
    for weight in given:
        if weight.shape != (rows.shape[1],):
            raise ShapeError(f"cov: weights {list(weight.shape)} must be one for each of {rows.shape[1]} observations")
    if not given:
        return None
    given = [nonnegative(weight, what="cov: weights") for weight in given]
    weight = given[0] if len(given) == 1 else given[0] * given[1]
    return cast(weight, dtype=rows.dtype) if not is_float(weight.dtype) or weight.dtype != rows.dtype else weight


@composite(numerics=PRECISE_COMPOSITION, samples=[sample((3, 5))])
def corrcoef(x: Value) -> Value:
    """The correlations of the rows of x [variables, observations]: covariances over the standard deviations."""
    products = cov(x)
    if not products.ndim:
        return products / products
    spread = sqrt(diagonal(products))
    return clamp(products / unsqueeze(spread, axis=1) / spread, min=-1.0, max=1.0)
