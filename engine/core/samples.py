"""Sample inputs that an op declares beside its rule: the tests, the catalogue and the gradient checks walk them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from engine.core.value import Array, Shape


@dataclass(frozen=True, slots=True)
class Argument:
    """How to draw one input: a shape and a recipe."""

    shape: Shape
    draw: Callable[[np.random.Generator, Shape], Array]


@dataclass(frozen=True, slots=True)
class Sample:
    """Inputs and attributes of one example call."""

    arguments: tuple[Argument, ...]
    attrs: dict[str, Any]

    def arrays(self, seed: str) -> list[Array]:
        """Draw the inputs in float64 (or the argument's own type); the same for the same `seed` text."""
        generator = np.random.default_rng(crc32(seed.encode()))
        return [argument.draw(generator, argument.shape) for argument in self.arguments]


def sample(*arguments: Shape | Argument, **attrs: Any) -> Sample:
    """Describe one example call; a bare shape means standard normal numbers."""
    return Sample(tuple(a if isinstance(a, Argument) else normal(*a) for a in arguments), attrs)


def normal(*shape: int) -> Argument:
    """Standard normal numbers."""
    return Argument(shape, lambda generator, shape: generator.standard_normal(shape))


def uniform(low: float, high: float, *shape: int) -> Argument:
    """Numbers between `low` and `high`."""
    return Argument(shape, lambda generator, shape: generator.uniform(low, high, shape))


def positive(*shape: int) -> Argument:
    """Numbers between 0.5 and 2.5."""
    return uniform(0.5, 2.5, *shape)


def away_from(points: tuple[float, ...], *shape: int) -> Argument:
    """Normal numbers at least 0.1 away from every point where the op has a kink."""

    def draw(generator: np.random.Generator, shape: Shape) -> Array:
        x = generator.standard_normal(shape) * 2
        for point in points:
            x = np.where(np.abs(x - point) < 0.1, point + 0.3, x)
        return np.asarray(x)

    return Argument(shape, draw)


def distinct(*shape: int) -> Argument:
    """Numbers that all differ by at least 0.1, in random order, so that no maximum is tied."""

    def draw(generator: np.random.Generator, shape: Shape) -> Array:
        size = math.prod(shape)
        return np.asarray((generator.permutation(size) - size / 2 + 0.3) * 0.1).reshape(shape)

    return Argument(shape, draw)


def integers(low: int, high: int, *shape: int) -> Argument:
    """int64 numbers from `low` up to but not including `high`."""
    return Argument(shape, lambda generator, shape: generator.integers(low, high, shape))


def booleans(*shape: int) -> Argument:
    """True and False at random."""
    return Argument(shape, lambda generator, shape: generator.random(shape) < 0.5)


def key() -> Argument:
    """A random key: two int64 numbers."""
    return Argument((2,), lambda generator, shape: generator.integers(0, 2**62, shape))
