"""Pooling over windows, over a given number of bins, and over everything."""

from __future__ import annotations

from engine.core.errors import ShapeError
from engine.core.value import Value
from engine.nn.layers.table import Scope, layer, layer_of_op

for _family in ("max_pool", "avg_pool", "lp_pool", "adaptive_max_pool", "adaptive_avg_pool"):
    for _rank in (1, 2, 3):
        layer_of_op(f"{_family}{_rank}d")


@layer
def global_avg_pool(scope: Scope, x: Value) -> Value:
    """Mean over every axis after the channels."""
    if x.ndim < 3:
        raise ShapeError(f"global_avg_pool needs an input [batch, channels, ...], got shape {list(x.shape)}")
    return scope.apply("mean", x, axis=tuple(range(2, x.ndim)))
