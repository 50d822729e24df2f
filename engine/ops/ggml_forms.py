"""Forms that ggml has of ops that exist under other names: rows summed, pooling by kind, copies like another tensor."""

from __future__ import annotations

from typing import Literal

from engine.core.attributes import Window
from engine.core.declarations import Numerics
from engine.core.errors import ShapeError
from engine.core.registry import composite
from engine.core.samples import distinct, sample
from engine.core.value import Value
from engine.ops.casting import type_as
from engine.ops.gated import gelu
from engine.ops.pool import avg_pool1d, avg_pool2d, max_pool1d, max_pool2d
from engine.ops.reduce import sum
from engine.ops.shape import reshape

Pooling = Literal["max", "avg"]


@composite(samples=[sample((2, 3)), sample(())])
def gelu_quick(x: Value) -> Value:
    """x sigmoid(1.702 x), the quick approximation of gelu."""
    return gelu(x, approximate="quick")


@composite(numerics=Numerics(autocast="float32"), samples=[sample((2, 3)), sample((4,))])
def sum_rows(x: Value) -> Value:
    """The sum of each row, the last axis kept with extent 1."""
    if not x.ndim:
        raise ShapeError("sum_rows needs at least one axis, got a number; use sum")
    return sum(x, axis=-1, keepdims=True)


@composite(samples=[sample((2, 3), (3, 2)), sample((4,), (2, 2))])
def cpy(x: Value, like: Value) -> Value:
    """The elements of x in order, in shape and dtype of `like`, whose numbers do not matter."""
    if x.size != like.size:
        raise ShapeError(f"cpy: {list(x.shape)} has {x.size} elements, {list(like.shape)} has {like.size}")
    return type_as(reshape(x, shape=like.shape), like)


@composite(
    samples=[sample(distinct(1, 2, 6), mode="max", kernel=2), sample((2, 1, 5), mode="avg", kernel=3, padding=1)],
)
def pool_1d(x: Value, *, mode: Pooling, kernel: Window, stride: Window | None = None, padding: Window = 0) -> Value:
    """Largest element or mean of each window of x [N, C, L]; padding counts, the stride is the kernel."""
    if mode == "avg":
        return avg_pool1d(x, kernel=kernel, stride=stride, padding=padding)
    made: Value = max_pool1d(x, kernel=kernel, stride=stride, padding=padding)  # type: ignore[assignment]
    return made


@composite(
    samples=[
        sample(distinct(1, 1, 4, 4), mode="max", kernel=2),
        sample((1, 2, 4, 5), mode="avg", kernel=(2, 3), stride=1, padding=1),
    ],
)
def pool_2d(x: Value, *, mode: Pooling, kernel: Window, stride: Window | None = None, padding: Window = 0) -> Value:
    """Largest element or mean of each window of x [N, C, H, W]; padding counts, the stride is the kernel."""
    if mode == "avg":
        return avg_pool2d(x, kernel=kernel, stride=stride, padding=padding)
    made: Value = max_pool2d(x, kernel=kernel, stride=stride, padding=padding)  # type: ignore[assignment]
    return made
