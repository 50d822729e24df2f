"""Helpers of the ops on matrices: shape checks, and the error of a failed factorization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.dtypes import FLOAT16, FLOAT32, DType
from engine.core.errors import NumericalError, ShapeError
from engine.core.samples import Argument
from engine.core.shape_rules import require_float
from engine.core.value import Array, Shape, Value
from engine.ops.shape.shape import broadcast_to, transpose


def require_matrices(op: str, x: Value) -> DType:
    """Raise an error unless x holds floating matrices [..., rows, columns]; return their dtype."""
    if x.ndim < 2:
        raise ShapeError(f"{op} needs matrices [..., rows, columns], got shape {list(x.shape)}")
    return require_float(op, x)


def require_square(op: str, x: Value) -> DType:
    """Raise an error unless x holds floating square matrices [..., n, n]; return their dtype."""
    dtype = require_matrices(op, x)
    if x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{op} needs square matrices [..., n, n], got shape {list(x.shape)}")
    return dtype


def widen_half(x: Array) -> Array:
    """Return float16 as float32, which LAPACK supports."""
    return x.astype(FLOAT32) if x.dtype == FLOAT16 else x


def call_linalg(op: str, fault: str, function: Callable[..., Any], *arrays: Array) -> Any:
    """Call a batched function of numpy.linalg; if it fails, raise an error that names the first matrix at fault."""
    try:
        return function(*arrays)
    except np.linalg.LinAlgError as error:
        first = arrays[0].reshape(-1, *arrays[0].shape[-2:])
        for number, matrix in enumerate(first):
            if _fails(function, matrix, arrays[1:]):
                which = f"matrix {number} of the batch" if len(first) > 1 else "the matrix"
                raise NumericalError(f"{op}: {which} {fault}") from error
        raise NumericalError(f"{op}: a matrix {fault}") from error


def _fails(function: Callable[..., Any], matrix: Array, others: tuple[Array, ...]) -> bool:
    try:
        function(matrix, *(np.zeros(other.shape[-2:], other.dtype) for other in others))
    except np.linalg.LinAlgError:
        return True
    return False


def adjoint(x: Value) -> Value:
    """Return the matrices of x transposed."""
    return transpose(x)


def as_factor(x: Value, like: Value) -> Value:
    """Return one number per matrix as [..., 1, 1], to multiply the matrices of `like`."""
    return broadcast_to(x.reshape(shape=(*x.shape, 1, 1)), shape=like.shape)


def regular(*shape: int) -> Argument:
    """Draw well-conditioned matrices: small noise around 2 on the diagonal, growing along it."""

    def draw(generator: np.random.Generator, shape: Shape) -> Array:
        noise = generator.uniform(-0.5, 0.5, shape)
        steps = np.arange(min(shape[-2:]))
        noise[..., steps, steps] += 2 + steps
        return noise

    return Argument(shape, draw)
