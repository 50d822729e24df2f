"""Schedules that multiply the starting rate: rate(base, t, options), t counting epochs or steps from 0."""

from __future__ import annotations

import math
from typing import Annotated

from engine.core.constraints import Factor, Length, Range, Share


def constant(base: float, t: int) -> float:
    """The starting rate throughout."""
    return base


def multiplicative(base: float, t: int, *, factor: Annotated[float | tuple[float, ...], Range(0)]) -> float:
    """base * factor[0] * ... * factor[t - 1], as torch's MultiplicativeLR with its factors written down.

    One number is the factor of every step; after the last of a list the rate stays.
    """
    return base * (math.prod(factor[:t]) if isinstance(factor, tuple) else factor**t)


def step(base: float, t: int, *, step_size: Length, gamma: Factor = 0.1) -> float:
    """base * gamma ** (t // step_size), as torch's StepLR."""
    return base * gamma ** (t // step_size)


def multi_step(base: float, t: int, *, milestones: Annotated[tuple[int, ...], Range(1)], gamma: Factor = 0.1) -> float:
    """base * gamma ** (the number of milestones up to t), as torch's MultiStepLR; one given twice counts twice."""
    return base * gamma ** sum(milestone <= t for milestone in milestones)


def constant_factor(base: float, t: int, *, factor: Share = 1 / 3, total_iters: Length = 5) -> float:
    """base * factor before total_iters, base from there on, as torch's ConstantLR."""
    return base * factor if t < total_iters else base


def linear(
    base: float,
    t: int,
    *,
    start_factor: Annotated[float, Range(0, 1, above=True)] = 1 / 3,
    end_factor: Share = 1.0,
    total_iters: Length = 5,
) -> float:
    """base times a factor that goes straight from start_factor to end_factor in total_iters, as torch's LinearLR."""
    return base * (start_factor + (end_factor - start_factor) * min(t, total_iters) / total_iters)


def exponential(base: float, t: int, *, gamma: Factor) -> float:
    """base * gamma ** t, as torch's ExponentialLR."""
    return base * gamma**t


def polynomial(base: float, t: int, *, total_iters: Length = 5, power: Annotated[float, Range(0)] = 1.0) -> float:
    """base * (1 - min(t, total_iters) / total_iters) ** power, as torch's PolynomialLR."""
    return base * math.pow(1 - min(t, total_iters) / total_iters, power)
