"""Reductions made of others: counts, sums that skip NaN, and pairs that are often wanted together."""

from __future__ import annotations

from engine.core.attributes import Axes
from engine.core.declarations import CallForms, Documentation, Numerics
from engine.core.errors import ShapeError
from engine.core.registry import composite
from engine.core.samples import distinct, integers, sample
from engine.core.shape_rules import require_float
from engine.core.value import Value
from engine.ops.compare import eq, isnan, ne, where
from engine.ops.reduce import amax, amin, mean, std, sum, var

SAMPLES = [sample((2, 3)), sample((2, 3), axis=0), sample((2, 3, 2), axis=(0, 2), keepdims=True)]
MOMENTS = [sample((2, 3)), sample((4, 3), axis=0), sample((2, 3), axis=1, keepdims=True, correction=0)]


@composite(samples=[sample(integers(0, 2, 4), integers(0, 2, 4))])
def count_equal(a: Value, b: Value) -> Value:
    """Number of places where a and b, of one shape, are equal (ggml's count_equal)."""
    if a.shape != b.shape:
        raise ShapeError(f"count_equal: shapes {list(a.shape)} and {list(b.shape)} must agree")
    return sum(eq(a, b))


@composite(samples=SAMPLES)
def count_nonzero(x: Value, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """Number of elements over `axis` that are not 0; NaN counts."""
    return sum(ne(x, 0), axis=axis, keepdims=keepdims)


@composite(
    call=CallForms(by_place=("axis",)),
    numerics=Numerics(compute_float32=True, autocast="float32"),
    documentation=Documentation(outputs=("var", "mean")),
    samples=MOMENTS,
)
def var_mean(x: Value, *, axis: Axes = None, correction: float = 1, keepdims: bool = False) -> tuple[Value, Value]:
    """Variance and mean over `axis`; the variance divides by the count less `correction`."""
    variance = var(x, axis=axis, correction=correction, keepdims=keepdims)
    return variance, mean(x, axis=axis, keepdims=keepdims)


@composite(
    call=CallForms(by_place=("axis",)),
    numerics=Numerics(compute_float32=True, autocast="float32"),
    documentation=Documentation(outputs=("std", "mean")),
    samples=MOMENTS,
)
def std_mean(x: Value, *, axis: Axes = None, correction: float = 1, keepdims: bool = False) -> tuple[Value, Value]:
    """Standard deviation and mean over `axis`; the variance divides by the count less `correction`."""
    deviation = std(x, axis=axis, correction=correction, keepdims=keepdims)
    return deviation, mean(x, axis=axis, keepdims=keepdims)


@composite(numerics=Numerics(autocast="float32", handles_missing=True), samples=SAMPLES)
def nansum(x: Value, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """Sum over `axis` of what is not NaN; NaN gets no gradient."""
    return sum(where(isnan(x), 0, x), axis=axis, keepdims=keepdims)


@composite(numerics=Numerics(compute_float32=True, autocast="float32", handles_missing=True), samples=SAMPLES)
def nanmean(x: Value, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """Mean over `axis` of what is not NaN; NaN where there is nothing else."""
    require_float("nanmean", x)
    counted = sum(~isnan(x), axis=axis, keepdims=keepdims)
    return nansum(x, axis=axis, keepdims=keepdims) / counted


@composite(
    call=CallForms(by_place=()),
    documentation=Documentation(outputs=("min", "max")),
    samples=[sample(distinct(2, 3)), sample(distinct(2, 3), axis=0), sample(distinct(2, 3), keepdims=True)],
)
def aminmax(x: Value, *, axis: Axes = None, keepdims: bool = False) -> tuple[Value, Value]:
    """Smallest and largest element over `axis`; tied elements share the gradient equally."""
    return amin(x, axis=axis, keepdims=keepdims), amax(x, axis=axis, keepdims=keepdims)
