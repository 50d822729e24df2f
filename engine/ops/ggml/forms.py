"""Ops of ggml that exist under other names, and its matrix products of rows with rows."""

from __future__ import annotations

from typing import Literal

from engine.core.attributes import Window
from engine.core.declarations import AUTOCAST_FLOAT32, AUTOCAST_HALF
from engine.core.errors import ShapeError
from engine.core.registry import composite
from engine.core.samples import distinct, sample
from engine.core.value import Value
from engine.ops.activation.gated import gelu
from engine.ops.conv.pool import avg_pool1d, avg_pool2d, max_pool1d, max_pool2d
from engine.ops.elementwise.casting import type_as
from engine.ops.linalg.matmul import matrix_product
from engine.ops.reduce.reduce import sum
from engine.ops.shape.shape import broadcast_to, reshape, transpose

Pooling = Literal["max", "avg"]


@composite(samples=[sample((2, 3)), sample(())])
def gelu_quick(x: Value) -> Value:
    """x sigmoid(1.702 x), the quick approximation of gelu."""
    return gelu(x, approximate="quick")


@composite(numerics=AUTOCAST_FLOAT32, samples=[sample((2, 3)), sample((4,))])
def sum_rows(x: Value) -> Value:
    """The sum of each row, the last axis kept with extent 1."""
    if not x.ndim:
        raise ShapeError("sum_rows needs at least one axis, got a number; use sum")
    return sum(x, axis=-1, keepdims=True)


@composite(samples=[sample((2, 3), (3, 2)), sample((4,), (2, 2))])
def cpy(x: Value, like: Value) -> Value:
    """The elements of x in order, in shape and dtype of `like`, whose values are not used."""
    if x.size != like.size:
        raise ShapeError(f"cpy: {list(x.shape)} has {x.size} elements, {list(like.shape)} has {like.size}")
    return type_as(reshape(x, shape=like.shape), like)


@composite(
    samples=[sample(distinct(1, 2, 6), mode="max", kernel=2), sample((2, 1, 5), mode="avg", kernel=3, padding=1)]
)
def pool_1d(x: Value, *, mode: Pooling, kernel: Window, stride: Window | None = None, padding: Window = 0) -> Value:
    """Maximum or mean of each window of x [N, C, L]; padding is counted; the stride defaults to the kernel."""
    if mode == "avg":
        return avg_pool1d(x, kernel=kernel, stride=stride, padding=padding)
    made: Value = max_pool1d(x, kernel=kernel, stride=stride, padding=padding)
    return made


@composite(
    samples=[
        sample(distinct(1, 1, 4, 4), mode="max", kernel=2),
        sample((1, 2, 4, 5), mode="avg", kernel=(2, 3), stride=1, padding=1),
    ]
)
def pool_2d(x: Value, *, mode: Pooling, kernel: Window, stride: Window | None = None, padding: Window = 0) -> Value:
    """Maximum or mean of each window of x [N, C, H, W]; padding is counted; the stride defaults to the kernel."""
    if mode == "avg":
        return avg_pool2d(x, kernel=kernel, stride=stride, padding=padding)
    made: Value = max_pool2d(x, kernel=kernel, stride=stride, padding=padding)
    return made


def _shared(op: str, a: Value, b: Value) -> Value:
    """Repeat the matrices of a so that every matrix of b has one: neighbours of b share a matrix of a."""
    if a.ndim < 2 or b.ndim < 2:
        raise ShapeError(f"{op} needs matrices on both sides, got {list(a.shape)} and {list(b.shape)}")
    rank = max(a.ndim, b.ndim)
    shapes = [(1,) * (rank - x.ndim) + x.shape for x in (a, b)]
    batch, wanted = (shape[:-2] for shape in shapes)
    if any(part < 1 or extent % part for part, extent in zip(batch, wanted, strict=True)):
        raise ShapeError(
            f"{op}: on every axis the batch {list(wanted)} of the second must be a multiple of that of the first, "
            f"{list(batch)}"
        )
    if batch == wanted:
        return reshape(a, shape=shapes[0])
    apart = tuple(extent for part in batch for extent in (part, 1))
    times = tuple(extent for part, e in zip(batch, wanted, strict=True) for extent in (part, e // part))
    copies = broadcast_to(reshape(a, shape=(*apart, *a.shape[-2:])), shape=(*times, *a.shape[-2:]))
    return reshape(copies, shape=(*wanted, *a.shape[-2:]))


@composite(numerics=AUTOCAST_HALF, samples=[sample((4, 3), (2, 3)), sample((1, 2, 4, 3), (2, 4, 2, 3))])
def mul_mat(a: Value, b: Value) -> Value:
    """b @ a.T over the last two axes: y[..., j, i] is row j of b times row i of a, ggml's product.

    On each batch axis the extent of b is a multiple of that of a, and that many neighbours share one matrix of a.
    """
    if a.ndim > 1 and b.ndim > 1 and a.shape[-1] != b.shape[-1]:
        raise ShapeError(f"mul_mat: rows of {list(a.shape)} and {list(b.shape)} must be equally long")
    return matrix_product(b, transpose(_shared("mul_mat", a, b)))


@composite(numerics=AUTOCAST_HALF, samples=[sample((3, 4), (3, 2)), sample((1, 2, 3, 4), (2, 4, 3, 2))])
def out_prod(a: Value, b: Value) -> Value:
    """b.T @ a over the last two axes: the sum of the outer products of the rows of b and a, as in ggml.

    On each batch axis the extent of b is a multiple of that of a, and that many neighbours share one matrix of a.
    """
    if a.ndim > 1 and b.ndim > 1 and a.shape[-2] != b.shape[-2]:
        raise ShapeError(f"out_prod: {list(a.shape)} and {list(b.shape)} must have equally many rows")
    return matrix_product(transpose(b), _shared("out_prod", a, b))
