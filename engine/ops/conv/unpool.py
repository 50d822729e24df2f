"""Undoing max pooling: values written back to the places they were found at, zeros elsewhere."""

from __future__ import annotations

import math

import numpy as np

from engine.core.attributes import Ints, Window
from engine.core.declarations import Numerics
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import composite
from engine.core.samples import Argument, sample
from engine.core.shape_rules import require_integer
from engine.core.value import Array, Shape, Value
from engine.ops.conv.columns import per_axis
from engine.ops.conv.pool import batched
from engine.ops.index.scatter import scatter_set
from engine.ops.shape.creation import zeros
from engine.ops.shape.shape import reshape, squeeze


def _places(extent: int, *shape: int) -> Argument:
    """Draw places below `extent` that differ within each plane [N, C]."""

    def draw(generator: np.random.Generator, shape: Shape) -> Array:
        planes = [generator.permutation(extent)[: math.prod(shape[2:])] for _ in range(math.prod(shape[:2]))]
        return np.stack(planes).reshape(shape)

    return Argument(shape, draw)


def _extents(op: str, found: Shape, kernel: Ints, stride: Ints, padding: Ints, output_size: Ints | None) -> Ints:
    """Return the extents before the pooling: those asked for if they can be, or the smallest there were."""
    least = tuple((n - 1) * s - 2 * p + k for n, s, p, k in zip(found, stride, padding, kernel, strict=True))
    if output_size is None:
        if min(least) < 0:
            raise ShapeError(f"{op}: pooling {list(least)} cannot have given {list(found)}; use less padding")
        return least
    wanted = output_size[-len(found) :]
    if len(wanted) != len(found) or any(abs(w - e) >= s for w, e, s in zip(wanted, least, stride, strict=True)):
        raise AttributeValueError(
            f"{op}: output_size {list(output_size)} must differ from {list(least)} by less than the stride "
            f"{list(stride)}"
        )
    return wanted


def _unpooled(
    rank: int,
    x: Value,
    index: Value,
    kernel: Window,
    stride: Window | None,
    padding: Window,
    output_size: Ints | None,
    unsafe: bool,
) -> Value:
    op = f"max_unpool{rank}d"
    require_integer(op, "indices", index)
    if index.shape != x.shape:
        raise ShapeError(f"{op}: values {list(x.shape)} and indices {list(index.shape)} must have one shape")
    x, alone = batched(op, rank, x)
    extents = _extents(
        op,
        x.shape[2:],
        per_axis(f"{op}.kernel", kernel, rank, 1),
        per_axis(f"{op}.stride", kernel if stride is None else stride, rank, 1),
        per_axis(f"{op}.padding", padding, rank, 0),
        output_size,
    )
    lead, found = x.shape[:2], math.prod(x.shape[2:])
    empty = zeros(shape=(*lead, math.prod(extents)), dtype=x.dtype)
    flat = reshape(x, shape=(*lead, found))
    y = scatter_set(empty, reshape(index, shape=(*lead, found)), flat, axis=2, unsafe=unsafe)
    y = reshape(y, shape=(*lead, *extents))
    return squeeze(y, axis=0) if alone else y


@composite(
    samples=[
        sample((2, 1, 3), _places(6, 2, 1, 3), kernel=2),
        sample((1, 1, 2), _places(5, 1, 1, 2), kernel=2, output_size=(5,), unsafe=True),
    ]
)
def max_unpool1d(
    x: Value,
    index: Value,
    *,
    kernel: Window,
    stride: Window | None = None,
    padding: Window = 0,
    output_size: Ints | None = None,
    unsafe: bool = False,
) -> Value:
    """Zeros [N, C, L] with x written at `index`, as in PyTorch: what the max_pool that gave both took.

    The extent is the smallest that pools to that of x, or `output_size`, which may be a whole shape. The last of
    duplicate indices counts, and the gradient of x is refused when there are any, unless `unsafe`: then each gets the
    whole of it, as in PyTorch.
    """
    return _unpooled(1, x, index, kernel, stride, padding, output_size, unsafe)


@composite(
    numerics=Numerics(autocast="float32"),
    samples=[
        sample((2, 1, 2, 2), _places(16, 2, 1, 2, 2), kernel=2),
        sample((1, 1, 2, 1), _places(10, 1, 1, 2, 1), kernel=(2, 2), stride=(2, 1), output_size=(5, 2)),
    ],
)
def max_unpool2d(
    x: Value,
    index: Value,
    *,
    kernel: Window,
    stride: Window | None = None,
    padding: Window = 0,
    output_size: Ints | None = None,
    unsafe: bool = False,
) -> Value:
    """Zeros [N, C, H, W] with x written at `index`, counted in the flattened H W: see max_unpool1d."""
    return _unpooled(2, x, index, kernel, stride, padding, output_size, unsafe)


@composite(
    numerics=Numerics(autocast="float32"), samples=[sample((1, 2, 1, 2, 2), _places(32, 1, 2, 1, 2, 2), kernel=2)]
)
def max_unpool3d(
    x: Value,
    index: Value,
    *,
    kernel: Window,
    stride: Window | None = None,
    padding: Window = 0,
    output_size: Ints | None = None,
    unsafe: bool = False,
) -> Value:
    """Zeros [N, C, D, H, W] with x written at `index`, counted in the flattened D H W: see max_unpool1d."""
    return _unpooled(3, x, index, kernel, stride, padding, output_size, unsafe)
