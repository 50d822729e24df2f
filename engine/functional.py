"""Compositions of ops that are no ops of their own."""

from __future__ import annotations

from engine.ops.elementwise import clamp, sqrt
from engine.value import Value

NORM_EPSILON = 1e-6


def clip_by_norm(gradient: Value, squared_norm: Value, limit: float) -> Value:
    """Scale a gradient so that the norm it is part of does not exceed `limit`, as torch's clip_grad_norm_."""
    return gradient * clamp(limit / (sqrt(squared_norm) + NORM_EPSILON), max=1.0)
