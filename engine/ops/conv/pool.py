"""Pooling and unpooling with the arguments of PyTorch, written in the pooling primitives; lp_pool as a power mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from engine.core.attributes import Extents, Ints, Margins, Positive, Range, Window
from engine.core.declarations import AUTOCAST_FLOAT32, PRECISE_COMPOSITION, CallForms
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import Op, composite, named
from engine.core.samples import Argument, Sample, distinct, positive, sample
from engine.core.shape_rules import require_integer
from engine.core.value import Array, Shape, Value
from engine.ops.conv.columns import per_axis
from engine.ops.conv.pooling import avg_pool, max_pool
from engine.ops.elementwise.comparison import eq, where
from engine.ops.elementwise.elementwise import power
from engine.ops.index.scatter import scatter_set
from engine.ops.reduce.reduce import mean
from engine.ops.shape.creation import zeros
from engine.ops.shape.shape import reshape, squeeze, unsqueeze


def batched(op: str, rank: int, x: Value) -> tuple[Value, bool]:
    """Add the batch axis if the input has none; return the input and whether the axis was added."""
    if x.ndim not in (rank + 1, rank + 2):
        raise ShapeError(
            f"{op} needs an input [N, C, *spatial] or [C, *spatial] with {rank} spatial axes, got {list(x.shape)}"
        )
    alone = x.ndim == rank + 1
    return (unsqueeze(x, axis=0) if alone else x), alone


def _declare_max_pool(rank: int, shape: str, notes: str, samples: Sequence[Sample], **policy: Any) -> Op[Any]:
    op = f"max_pool{rank}d"

    def pool(
        x: Value,
        *,
        kernel: Extents,
        stride: Annotated[Window | None, Range(1)] = None,
        padding: Margins = 0,
        dilation: Extents = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Value | tuple[Value, Value]:
        x, alone = batched(op, rank, x)
        values, index = max_pool(
            x,
            kernel=per_axis(f"{op}.kernel", kernel, rank, 1),
            stride=per_axis(f"{op}.stride", kernel if stride is None else stride, rank, 1),
            padding=per_axis(f"{op}.padding", padding, rank, 0),
            dilation=per_axis(f"{op}.dilation", dilation, rank, 1),
            ceil_mode=ceil_mode,
        )
        if not return_indices:
            return squeeze(values, axis=0) if alone else values
        return (squeeze(values, axis=0), squeeze(index, axis=0)) if alone else (values, index)

    about = f"Largest element of each window of x {shape}, as in PyTorch; the stride is the kernel unless given."
    named(pool, op, f"{about}\n\n{notes}")
    return composite(samples=samples, **policy)(pool)


max_pool1d = _declare_max_pool(
    1,
    "[N, C, L]",
    "With `return_indices` also its index in the flattened spatial axes, int64, as max_unpool1d takes it.",
    [
        sample(distinct(1, 2, 5), kernel=2),
        sample(distinct(2, 6), kernel=3, stride=2, padding=1),
        sample(distinct(1, 2, 5), kernel=2, return_indices=True),
    ],
)
max_pool2d = _declare_max_pool(
    2,
    "[N, C, H, W]",
    "The first of tied elements gets the whole gradient. `ceil_mode` keeps a last window that only partly fits. With\n"
    "`return_indices` also the indices in the flattened spatial axes, int64, as max_unpool2d takes them.",
    [
        sample(distinct(1, 2, 4, 4), kernel=2),
        sample(distinct(1, 1, 4, 5), kernel=(3, 2), stride=2, padding=1, ceil_mode=True),
    ],
)
max_pool3d = _declare_max_pool(
    3,
    "[N, C, D, H, W]",
    "With `return_indices` also its index in the flattened spatial axes, int64, as max_unpool3d takes it.",
    [sample(distinct(1, 1, 2, 3, 4), kernel=(1, 2, 2), dilation=(1, 1, 2), stride=1)],
    numerics=AUTOCAST_FLOAT32,
)


def _avg(
    rank: int,
    x: Value,
    kernel: Window,
    stride: Window | None,
    padding: Window,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None = None,
) -> Value:
    op = f"avg_pool{rank}d"
    x, alone = batched(op, rank, x)
    y = avg_pool(
        x,
        kernel=per_axis(f"{op}.kernel", kernel, rank, 1),
        stride=per_axis(f"{op}.stride", kernel if stride is None else stride, rank, 1),
        padding=per_axis(f"{op}.padding", padding, rank, 0),
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
        divisor=divisor,
    )
    return squeeze(y, axis=0) if alone else y


@composite(samples=[sample((1, 2, 5), kernel=2), sample((2, 6), kernel=3, stride=2, padding=1)])
def avg_pool1d(
    x: Value,
    *,
    kernel: Extents,
    stride: Annotated[Window | None, Range(1)] = None,
    padding: Margins = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Value:
    """Mean of each window of x [N, C, L], as in PyTorch; the stride is the kernel unless given."""
    return _avg(1, x, kernel, stride, padding, ceil_mode, count_include_pad)


def _declare_avg_pool(rank: int, shape: str, samples: Sequence[Sample], **policy: Any) -> Op[Value]:
    """Declare average pooling over 2 or 3 axes, which in PyTorch has a divisor beside the arguments of avg_pool1d."""

    def pool(
        x: Value,
        *,
        kernel: Extents,
        stride: Annotated[Window | None, Range(1)] = None,
        padding: Margins = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor: int | None = None,
    ) -> Value:
        return _avg(rank, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor)

    about = f"Mean of each window of x {shape}, as in PyTorch; the stride is the kernel unless given."
    notes = "With `divisor` the sum of each window divided by that number instead."
    named(pool, f"avg_pool{rank}d", f"{about}\n\n{notes}")
    return composite(samples=samples, **policy)(pool)


avg_pool2d = _declare_avg_pool(
    2,
    "[N, C, H, W]",
    [sample((1, 2, 4, 4), kernel=2), sample((1, 1, 3, 4), kernel=2, padding=1, count_include_pad=False)],
)
avg_pool3d = _declare_avg_pool(
    3,
    "[N, C, D, H, W]",
    [sample((1, 1, 2, 3, 4), kernel=(1, 2, 3), stride=(1, 2, 1), ceil_mode=True, divisor=5)],
    numerics=AUTOCAST_FLOAT32,
)


@composite(samples=[sample((2, 3, 4)), sample((1, 2, 2, 3), keepdims=True)])
def global_avg_pool(x: Value, *, keepdims: bool = False) -> Value:
    """Mean over every spatial axis of x [N, C, *spatial]: [N, C], or with axes of extent 1 kept."""
    if x.ndim < 3:
        raise ShapeError(f"global_avg_pool needs an input [N, C, *spatial], got {list(x.shape)}")
    return mean(x, axis=tuple(range(2, x.ndim)), keepdims=keepdims)


def _declare_lp_pool(rank: int, shape: str, samples: Sequence[Sample]) -> Op[Value]:
    op = f"lp_pool{rank}d"

    def pool(
        x: Value,
        *,
        kernel: Extents,
        p: Positive = 2.0,
        stride: Annotated[Window | None, Range(1)] = None,
        ceil_mode: bool = False,
    ) -> Value:
        x, alone = batched(op, rank, x)
        kernels = per_axis(f"{op}.kernel", kernel, rank, 1)
        strides = per_axis(f"{op}.stride", kernel if stride is None else stride, rank, 1)
        means = avg_pool(power(x, p), kernel=kernels, stride=strides, padding=(0,) * rank, ceil_mode=ceil_mode)
        total = means * float(math.prod(kernels))
        zero = eq(total, 0.0)
        y = where(zero, 0.0, power(where(zero, 1.0, total), 1 / p))
        return squeeze(y, axis=0) if alone else y

    named(pool, op, f"(sum of x^p)^(1/p) over each window of x {shape}; the gradient where the sum is 0 is 0.")
    call = CallForms(by_place=("p", "kernel", "stride", "ceil_mode"))
    return composite(call=call, numerics=PRECISE_COMPOSITION, samples=samples)(pool)


lp_pool1d = _declare_lp_pool(
    1, "[N, C, L]", [sample((1, 2, 5), kernel=2), sample(positive(2, 6), p=3.0, kernel=3, stride=2)]
)
lp_pool2d = _declare_lp_pool(
    2, "[N, C, H, W]", [sample((1, 2, 4, 4), kernel=2), sample(positive(1, 1, 3, 4), p=1.5, kernel=(2, 3), stride=1)]
)
lp_pool3d = _declare_lp_pool(3, "[N, C, D, H, W]", [sample((1, 1, 2, 3, 4), kernel=(1, 2, 3), stride=1)])


def _places(extent: int, *shape: int) -> Argument:
    """Draw places below `extent` that differ within each plane [N, C]."""

    def draw(generator: np.random.Generator, shape: Shape) -> Array:
        planes = [generator.permutation(extent)[: math.prod(shape[2:])] for _ in range(math.prod(shape[:2]))]
        return np.stack(planes).reshape(shape)

    return Argument(shape, draw)


def _extents(op: str, found: Shape, kernel: Ints, stride: Ints, padding: Ints, output_size: Ints | None) -> Ints:
    """Return the extents before the pooling: `output_size` if it is possible, else the smallest possible ones."""
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


def _declare_max_unpool(rank: int, doc: str, samples: Sequence[Sample], **policy: Any) -> Op[Value]:
    op = f"max_unpool{rank}d"

    def unpool(
        x: Value,
        index: Value,
        *,
        kernel: Extents,
        stride: Annotated[Window | None, Range(1)] = None,
        padding: Margins = 0,
        output_size: Ints | None = None,
        unsafe: bool = False,
    ) -> Value:
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

    named(unpool, op, doc)
    return composite(samples=samples, **policy)(unpool)


max_unpool1d = _declare_max_unpool(
    1,
    """Zeros [N, C, L] with x written at `index`, as in PyTorch: the partial inverse of max_pool, which returns both.

    The extent is the smallest that pools to that of x, or `output_size`, which may be a whole shape. Of duplicate
    indices the last is written. The gradient by x is an error if there are duplicates, unless `unsafe`: each then
    receives the whole gradient, as in PyTorch.
    """,
    [
        sample((2, 1, 3), _places(6, 2, 1, 3), kernel=2),
        sample((1, 1, 2), _places(5, 1, 1, 2), kernel=2, output_size=(5,), unsafe=True),
    ],
)
max_unpool2d = _declare_max_unpool(
    2,
    "Zeros [N, C, H, W] with x written at `index`, counted in the flattened H W: see max_unpool1d.",
    [
        sample((2, 1, 2, 2), _places(16, 2, 1, 2, 2), kernel=2),
        sample((1, 1, 2, 1), _places(10, 1, 1, 2, 1), kernel=(2, 2), stride=(2, 1), output_size=(5, 2)),
    ],
    numerics=AUTOCAST_FLOAT32,
)
max_unpool3d = _declare_max_unpool(
    3,
    "Zeros [N, C, D, H, W] with x written at `index`, counted in the flattened D H W: see max_unpool1d.",
    [sample((1, 2, 1, 2, 2), _places(32, 1, 2, 1, 2, 2), kernel=2)],
    numerics=AUTOCAST_FLOAT32,
)
