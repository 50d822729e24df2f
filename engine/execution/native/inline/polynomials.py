"""Polynomials in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.execution.native.kernel import inline

Quarters = tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...], tuple[float, ...]]


@inline
def continued(value: Any, x: Any, coefficients: Any) -> Any:
    """Return the value of a polynomial, given that of its terms of higher powers, by those that follow."""
    for coefficient in coefficients:
        value = value * x + coefficient
    return value


@inline
def polynomial(x: Any, coefficients: Any) -> Any:
    """Return the value of a polynomial, whose highest power comes first."""
    return continued(0.0, x, coefficients)


@inline
def long_polynomial(x: Any, quarters: Any) -> Any:
    """Return the value of a polynomial by the quarters of its coefficients: longer loops are not unrolled."""
    value = continued(0.0, x, quarters[0])
    value = continued(value, x, quarters[1])
    value = continued(value, x, quarters[2])
    return continued(value, x, quarters[3])


def in_quarters(coefficients: Sequence[float]) -> Quarters:
    """Return coefficients, whose highest power comes first, as four of one length; it may begin with zeros."""
    size = -(-len(coefficients) // 4)
    every = (0.0,) * (4 * size - len(coefficients)) + tuple(coefficients)
    return every[:size], every[size : 2 * size], every[2 * size : 3 * size], every[3 * size :]
