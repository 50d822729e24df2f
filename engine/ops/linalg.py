"""Products of matrices."""

from __future__ import annotations

import math

import numpy as np

from engine.batching import by_itself
from engine.errors import ShapeError
from engine.infer import broadcast_shapes
from engine.ops.reduce import sum
from engine.ops.shape import permute, reshape, transpose, unsqueeze
from engine.registry import composite, primitive
from engine.samples import sample
from engine.value import Array, Spec, Value


def _matmul(a: Value, b: Value) -> Spec:
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        raise ShapeError(f"matmul: inner extents of {list(a.shape)} and {list(b.shape)} must agree")
    if a.ndim == b.ndim == 2:
        return Spec((a.shape[0], b.shape[1]), a.dtype)
    return Spec((*broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), a.dtype)


@primitive(
    infer=_matmul,
    promotion="common",
    samples=[sample((2, 3), (3, 4)), sample((5, 2, 3), (3, 4)), sample((2, 1, 2, 3), (4, 3, 2))],
)
def matrix_product(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """Matrix product over the last two axes; leading axes broadcast. float16 accumulates in float32."""
    if a.dtype == np.float16:
        product = np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(np.float16)
        return product if out is None else _into(out, product)
    if a.ndim > 2 and b.ndim == 2 and a.flags.c_contiguous:  # one large product instead of many small ones
        count = math.prod(a.shape[:-1])
        target = None if out is None else out.reshape((count, b.shape[-1]), copy=False)
        flat = np.matmul(a.reshape(count, a.shape[-1]), b, out=target)
        return flat.reshape(*a.shape[:-1], b.shape[-1]) if out is None else out
    return np.matmul(a, b, out=out)


matrix_product.batch(by_itself)


def _into(out: Array, result: Array) -> Array:
    np.copyto(out, result)
    return out


def _turned(x: Value) -> Value:
    return permute(x, axes=(1, 0)) if x.ndim == 2 else transpose(x)


@matrix_product.vjp
def _(g: Value, y: Value, a: Value, b: Value) -> object:
    def left() -> Value:
        return matrix_product(g, _turned(b))

    def right() -> Value:
        if b.ndim == 2 and a.ndim > 2:
            count = math.prod(a.shape[:-1])
            rows = reshape(a, shape=(count, a.shape[-1]))
            return matrix_product(transpose(rows), reshape(g, shape=(count, g.shape[-1])))
        return matrix_product(_turned(a), g)

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
    if a.ndim == 1 and b.ndim == 1:
        return sum(a * b)
    left = unsqueeze(a, axis=0) if a.ndim == 1 else a
    right = unsqueeze(b, axis=1) if b.ndim == 1 else b
    product = matrix_product(left, right)
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
    y = matmul(x, transpose(weight))
    return y if bias is None else y + bias


@composite(aliases=("vdot",), samples=[sample((3,), (3,))])
def dot(a: Value, b: Value) -> Value:
    """Sum of the products of two vectors."""
    if a.ndim != 1 or b.ndim != 1:
        raise ShapeError(f"dot needs two vectors, got shapes {list(a.shape)} and {list(b.shape)}")
    return matmul(a, b)
