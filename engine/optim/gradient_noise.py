"""Noise on gradients, which dies away as training goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from engine.core.dtypes import FLOAT64
from engine.core.ranges import Range
from engine.core.value import Value
from engine.ops.casting import cast
from engine.ops.elementwise import power, sqrt
from engine.ops.random import fold_in, random_normal
from engine.optim.transform import typed

NOISE_TAG = 0x6E6F697365
"""Folded into the key first, so that no draw is one that a random op of the graph makes from that key."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GradientNoise:
    """Normal noise of variance eta / (1 + t) ** gamma on the gradients of step t (Neelakantan et al. 2015).

    The paper takes `eta` from 0.01, 0.3 and 1, and `gamma` 0.55.
    """

    eta: Annotated[float, Range(0, above=True)] = 0.01
    gamma: Annotated[float, Range(0)] = 0.55


def noisy_gradients(
    gradients: Mapping[str, Value], key: Value, step: Value, options: GradientNoise
) -> dict[str, Value]:
    """Add noise to every gradient; the draws follow from the key, the step and the places in the order of names.

    Args:
        gradients: by name, before they are packed: what fills gaps between parameters must stay 0.
        key: a random key, int64[2].
        step: how many steps were taken before, an int64 number.
        options: how much noise.
    """
    root = fold_in(fold_in(key, NOISE_TAG), step)
    return {
        name: noisy(gradient, fold_in(root, place), step, options)
        for place, (name, gradient) in enumerate(sorted(gradients.items()))
    }


def noisy(gradient: Value, key: Value, step: Value, options: GradientNoise) -> Value:
    """Add noise to one gradient, in its dtype; the key alone decides the draws, the step how large they are."""
    time = cast(step, dtype=FLOAT64) + 1.0
    deviation = sqrt(options.eta / power(time, options.gamma))
    return typed(gradient + random_normal(key, shape=gradient.shape, dtype=gradient.dtype) * deviation, gradient)
