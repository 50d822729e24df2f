"""Whether numbers agree within a tolerance."""

from __future__ import annotations

from engine.core.dtypes import FLOAT64, is_float
from engine.core.errors import AttributeValueError
from engine.core.registry import composite
from engine.core.samples import integers, sample
from engine.core.value import Value
from engine.ops.casting import cast
from engine.ops.compare import eq, isfinite, isnan, le
from engine.ops.elementwise import abs
from engine.ops.reduce import all

SAMPLES = [
    sample((2, 3), (3,), rtol=0.5),
    sample(integers(0, 3, 4), integers(0, 3, 4), atol=1.0),
    sample((3,), (3,), rtol=0.0, atol=0.0, equal_nan=True),
]


def _close(op: str, a: Value, b: Value, rtol: float, atol: float, equal_nan: bool) -> Value:
    if rtol < 0 or atol < 0:
        raise AttributeValueError(f"{op}: rtol {rtol} and atol {atol} must be at least 0")
    a, b = (v if is_float(v.dtype) else cast(v, dtype=FLOAT64) for v in (a, b))
    close = eq(a, b)
    if equal_nan:
        close = close | (isnan(a) & isnan(b))
    apart = abs(a - b)
    return close | (isfinite(apart) & le(apart, abs(b * rtol) + atol))


@composite(samples=SAMPLES)
def isclose(a: Value, b: Value, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Value:
    """Whether |a - b| <= atol + rtol |b|, bool: a and b broadcast, infinities are close to themselves alone.

    NaN is close to nothing, with `equal_nan` to NaN. Integers and truth values count as float64.
    """
    return _close("isclose", a, b, rtol, atol, equal_nan)


@composite(samples=SAMPLES)
def allclose(a: Value, b: Value, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Value:
    """Whether all elements are close, one truth value: see isclose. True where there are none."""
    return all(_close("allclose", a, b, rtol, atol, equal_nan))
