"""Polynomials in float64."""

from __future__ import annotations

from typing import Any

from engine.execution.native.kernel import inline


@inline
def polynomial(x: Any, coefficients: Any) -> Any:
    """Return the value of a polynomial, whose highest power comes first."""
    value = 0.0
    for coefficient in coefficients:
        value = value * x + coefficient
    return value
