"""Pooling by power means (lp_pool), with the arguments of PyTorch."""

from __future__ import annotations

import math

from engine.core.attributes import Window
from engine.core.declarations import CallForms, Numerics
from engine.core.errors import AttributeValueError
from engine.core.registry import composite
from engine.core.samples import positive, sample
from engine.core.value import Value
from engine.ops.compare import eq, where
from engine.ops.elementwise import power
from engine.ops.pool import batched
from engine.ops.pooling import avg_pool
from engine.ops.shape import squeeze
from engine.ops.windows import per_axis


def _lp_pool(rank: int, x: Value, p: float, kernel: Window, stride: Window | None, ceil_mode: bool) -> Value:
    op = f"lp_pool{rank}d"
    if not 0 < p < math.inf:
        raise AttributeValueError(f"{op}: p {p} must be positive and finite; use max_pool for the largest element")
    x, alone = batched(op, rank, x)
    kernels = per_axis(f"{op}.kernel", kernel, rank, 1)
    strides = per_axis(f"{op}.stride", kernel if stride is None else stride, rank, 1)
    means = avg_pool(power(x, p), kernel=kernels, stride=strides, padding=(0,) * rank, ceil_mode=ceil_mode)
    total = means * float(math.prod(kernels))
    zero = eq(total, 0.0)
    y = where(zero, 0.0, power(where(zero, 1.0, total), 1 / p))
    return squeeze(y, axis=0) if alone else y


@composite(
    call=CallForms(by_place=("p", "kernel", "stride", "ceil_mode")),
    numerics=Numerics(compute_float32=True, autocast="float32"),
    samples=[sample((1, 2, 5), kernel=2), sample(positive(2, 6), p=3.0, kernel=3, stride=2)],
)
def lp_pool1d(
    x: Value, *, kernel: Window, p: float = 2.0, stride: Window | None = None, ceil_mode: bool = False
) -> Value:
    """(sum of x^p)^(1/p) over each window of x [N, C, L]; the gradient where the sum is 0 is 0."""
    return _lp_pool(1, x, p, kernel, stride, ceil_mode)


@composite(
    call=CallForms(by_place=("p", "kernel", "stride", "ceil_mode")),
    numerics=Numerics(compute_float32=True, autocast="float32"),
    samples=[sample((1, 2, 4, 4), kernel=2), sample(positive(1, 1, 3, 4), p=1.5, kernel=(2, 3), stride=1)],
)
def lp_pool2d(
    x: Value, *, kernel: Window, p: float = 2.0, stride: Window | None = None, ceil_mode: bool = False
) -> Value:
    """(sum of x^p)^(1/p) over each window of x [N, C, H, W]; the gradient where the sum is 0 is 0."""
    return _lp_pool(2, x, p, kernel, stride, ceil_mode)


@composite(
    call=CallForms(by_place=("p", "kernel", "stride", "ceil_mode")),
    numerics=Numerics(compute_float32=True, autocast="float32"),
    samples=[sample((1, 1, 2, 3, 4), kernel=(1, 2, 3), stride=1)],
)
def lp_pool3d(
    x: Value, *, kernel: Window, p: float = 2.0, stride: Window | None = None, ceil_mode: bool = False
) -> Value:
    """(sum of x^p)^(1/p) over each window of x [N, C, D, H, W]; the gradient where the sum is 0 is 0."""
    return _lp_pool(3, x, p, kernel, stride, ceil_mode)
