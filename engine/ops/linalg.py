"""Products of matrices."""

from __future__ import annotations

import math

import numpy as np

from engine.core.batching import by_itself
from engine.core.dtypes import FLOAT16, FLOAT32, is_float
from engine.core.errors import ShapeError
from engine.core.infer import broadcast_shapes
from engine.core.narrow import converted
from engine.core.registry import composite, primitive
from engine.core.samples import sample
from engine.core.value import Array, Spec, Value
from engine.ops.reduce import sum
from engine.ops.shape import reshape, unsqueeze


def _matmul(a: Value, b: Value, *, transpose_a: bool, transpose_b: bool) -> Spec:
    if a.ndim < 2 or b.ndim < 2:
        raise ShapeError(f"matmul: {list(a.shape)} and {list(b.shape)} must have at least two axes each")
    rows, inner = (a.shape[-1], a.shape[-2]) if transpose_a else a.shape[-2:]
    other, columns = (b.shape[-1], b.shape[-2]) if transpose_b else b.shape[-2:]
    if inner != other:
        raise ShapeError(f"matmul: inner extents of {list(a.shape)} and {list(b.shape)} must agree")
    if a.ndim == b.ndim == 2:
        return Spec((rows, columns), a.dtype)
    return Spec((*broadcast_shapes(a.shape[:-2], b.shape[:-2]), rows, columns), a.dtype)


@primitive(
    infer=_matmul,
    promotion="common",
    samples=[
        sample((2, 3), (3, 4)),
        sample((5, 2, 3), (3, 4)),
        sample((2, 1, 2, 3), (4, 3, 2)),
        sample((3, 2), (4, 3), transpose_a=True, transpose_b=True),
        sample((5, 2, 3), (4, 3), transpose_b=True),
        sample((2, 3, 2), (3, 4), transpose_a=True),
    ],
)
def matrix_product(
    a: Array, b: Array, *, transpose_a: bool = False, transpose_b: bool = False, out: Array | None = None
) -> Array:
    """Matrix product over the last two axes, either one turned before; leading axes broadcast.

    float16 accumulates in float32.
    """
    if a.dtype == np.float16:
        a, b = converted(a, FLOAT32), converted(b, FLOAT32)
        return converted(matrix_product.body(a, b, transpose_a=transpose_a, transpose_b=transpose_b), FLOAT16, out)
    if transpose_b:
        b = b.swapaxes(-1, -2)
    if transpose_a:
        a = a.swapaxes(-1, -2)
    elif a.ndim > 2 and b.ndim == 2 and a.flags.c_contiguous:  # one large product instead of many small ones
        count = math.prod(a.shape[:-1])
        target = None if out is None else out.reshape((count, b.shape[-1]), copy=False)
        flat = np.matmul(a.reshape(count, a.shape[-1]), b, out=target)
        return flat.reshape(*a.shape[:-1], b.shape[-1]) if out is None else out
    return np.matmul(a, b, out=out)


matrix_product.batch(by_itself)


@matrix_product.vjp
def _(g: Value, y: Value, a: Value, b: Value, *, transpose_a: bool, transpose_b: bool) -> object:
    def left() -> Value:
        if transpose_a:
            return matrix_product(b, g, transpose_a=transpose_b, transpose_b=True)
        return matrix_product(g, b, transpose_b=not transpose_b)

    def right() -> Value:
        x, slope, turned = a, g, transpose_a
        if b.ndim == 2 and a.ndim > 2 and not transpose_a:  # sums over the leading axes as it goes
            count = math.prod(a.shape[:-1])
            x, slope = reshape(a, shape=(count, a.shape[-1])), reshape(g, shape=(count, g.shape[-1]))
        if transpose_b:
            return matrix_product(slope, x, transpose_a=True, transpose_b=turned)
        return matrix_product(x, slope, transpose_a=not turned)

    return left, right


@composite(
    samples=[sample((3,), (3,)), sample((2, 3), (3,)), sample((3,), (3, 2)), sample((5, 2, 3), (5, 3, 4))],
    aliases=("mm", "bmm"),
)
def matmul(a: Value, b: Value) -> Value:
    """Matrix product of any ranks by NumPy's rule: a vector counts as a row on the left and a column on the right."""
    if not a.ndim or not b.ndim:
        raise ShapeError("matmul needs at least one axis on both sides; use mul for scalars")
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise ShapeError(f"matmul: inner extents of {list(a.shape)} and {list(b.shape)} must agree")
    if a.ndim == 1 and b.ndim == 1 and (is_float(a.dtype) or is_float(b.dtype)):
        return sum(a * b)
    left = unsqueeze(a, axis=0) if a.ndim == 1 else a
    right = unsqueeze(b, axis=1) if b.ndim == 1 else b
    product = matrix_product(left, right)
    if a.ndim == 1 and b.ndim == 1:  # of integers, whose sums would be int64
        return reshape(product, shape=())
    if a.ndim == 1:
        return reshape(product, shape=(*product.shape[:-2], product.shape[-1]))
    return reshape(product, shape=product.shape[:-1]) if b.ndim == 1 else product


@composite(wide=True, samples=[sample((4, 3), (2, 3), (2,)), sample((2, 4, 3), (2, 3)), sample((3,), (2, 3), (2,))])
def linear(x: Value, weight: Value, bias: Value | None = None) -> Value:
    """x @ weight.T + bias, with weight of shape [out, in] as in PyTorch."""
    if weight.ndim != 2 or not x.ndim or x.shape[-1] != weight.shape[1]:
        raise ShapeError(
            f"linear: input {list(x.shape)} needs a weight of shape [out, {x.shape[-1] if x.ndim else '?'}], "
            f"got {list(weight.shape)}"
        )
    rows = unsqueeze(x, axis=0) if x.ndim == 1 else x
    y = matrix_product(rows, weight, transpose_b=True)
    y = y if x.ndim > 1 else reshape(y, shape=y.shape[1:])
    return y if bias is None else y + bias


@composite(aliases=("vdot",), samples=[sample((3,), (3,))])
def dot(a: Value, b: Value) -> Value:
    """Sum of the products of two vectors."""
    if a.ndim != 1 or b.ndim != 1:
        raise ShapeError(f"dot needs two vectors, got shapes {list(a.shape)} and {list(b.shape)}")
    return matmul(a, b)
