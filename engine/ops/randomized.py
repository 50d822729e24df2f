"""Activations that are random in training."""

from __future__ import annotations

from engine.core.declarations import Numerics
from engine.core.errors import AttributeValueError
from engine.core.registry import composite
from engine.core.samples import away_from, key, sample
from engine.core.shape_rules import require_float
from engine.core.value import Value
from engine.ops.compare import gt, where
from engine.ops.random import check_key, random_uniform

KINKED = away_from((0.0,), 2, 3)


@composite(
    random=True,
    numerics=Numerics(compute_float32=True),
    samples=[
        sample(KINKED, key(), training=True),
        sample(KINKED, key(), lower=0.2, upper=0.2, training=True),
        sample(KINKED, key(), lower=0.1, upper=0.5, training=False),
    ],
)
def rrelu(x: Value, key: Value, *, lower: float = 1 / 8, upper: float = 1 / 3, training: bool | None = None) -> Value:
    """x where x > 0, else slope x: slopes drawn evenly from lower..upper in training, their mean out of it.

    Xu et al. 2015; each element has a slope of its own.
    """
    check_key("rrelu", key)
    require_float("rrelu", x)
    if not lower <= upper:
        raise AttributeValueError(f"rrelu: lower {lower} must not be greater than upper {upper}")
    if not training:
        return where(gt(x, 0.0), x, x * ((lower + upper) / 2))
    return where(gt(x, 0.0), x, x * random_uniform(key, shape=x.shape, low=lower, high=upper, dtype=x.dtype))
