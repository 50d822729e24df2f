"""Clipping and noise of gradients inside plans."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from engine.autograd.gradients import NORM_EPSILON, clip_by_norm
from engine.core.attributes import Range
from engine.core.dtypes import FLOAT64, computing_dtype
from engine.core.options import Reader, Reads
from engine.core.value import Shape, Value, as_value
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.comparison import lt, where
from engine.ops.elementwise.elementwise import clamp, power, sqrt, square
from engine.ops.random.random import fold_in, random_normal
from engine.ops.reduce.norms import norm, sum_of_squares
from engine.ops.reduce.reduce import sum
from engine.ops.shape.shape import stack
from engine.optim.transforms.link import (
    cast_like,
)

Gradients = Mapping[str, Value]
Units = Literal["last", "first"]
Limit = Annotated[float, Range(0, above=True)]
LEAST_LENGTH = 1e-6
"""Minimum norm of a unit's gradient as divisor."""

NOISE_TAG = 0x6E6F697365
"""Folded into the key first, so that noise differs from the draws of the graph's random ops."""


def _read_order(reader: Reader, value: Any, pointer: str) -> float:
    order = reader.typed(value, float | Literal["inf"], pointer, "p", 2.0)
    order = math.inf if order == "inf" else order
    if not order > 0:
        reader.fault(pointer, "out_of_range", f"p must be greater than 0, not {order:g}")
    return float(order)


@dataclass(frozen=True, kw_only=True, slots=True)
class AdaptiveClip:
    """Limit of each unit's gradient to `clipping` times the unit's norm (Brock et al. 2021).

    Units with a norm below `eps` count as `eps`. `units` is the axis that counts them: "last" is optax's convention
    (matrices by columns, kernels HWIO), "first" that of weights [out, in, ...].
    """

    clipping: Limit = 0.01
    eps: Limit = 1e-3
    units: Units = "last"


@dataclass(frozen=True, kw_only=True, slots=True)
class Clip:
    """Limits on gradients, applied in this order: adaptive, per_parameter, norm, value.

    `norm` limits the norm of order `p` of all gradients together, `per_parameter` that of each one, `value` each
    element. `nonfinite` decides on a step whose gradients hold NaN or infinity: "apply" it, fail with "error", or
    "skip" it.
    """

    norm: Annotated[float | None, Range(0, above=True)] = None
    p: Annotated[float, Reads(_read_order, 'a number greater than 0, or "inf"')] = 2.0
    per_parameter: Annotated[float | None, Range(0, above=True)] = None
    value: Annotated[float | None, Range(0, above=True)] = None
    adaptive: AdaptiveClip | None = None
    nonfinite: Literal["apply", "error", "skip"] = "apply"


def clip_per_parameter(gradients: Gradients, parameters: Mapping[str, Value], clip: Clip) -> dict[str, Value]:
    """Apply the limits that depend on single parameters: adaptive and per_parameter.

    Args:
        gradients: by name.
        parameters: those of the same names, for adaptive clipping.
        clip: the limits.
    """
    found = dict(gradients)
    if clip.adaptive is not None:
        a = clip.adaptive
        found = {n: clip_adaptively(g, parameters[n], a.clipping, a.eps, a.units) for n, g in found.items()}
    return found if clip.per_parameter is None else clip_by_each_norm(found, clip.per_parameter, clip.p)


def clip_jointly(gradients: Gradients, clip: Clip) -> dict[str, Value]:
    """Apply the limits that also hold for packed vectors: norm and value."""
    found = dict(gradients)
    if clip.norm is not None:
        found, _ = clip_by_global_norm(found, clip.norm, clip.p)
    return found if clip.value is None else clip_by_value(found, clip.value)


def clip_by_global_norm(gradients: Gradients, limit: float, p: float = 2.0) -> tuple[dict[str, Value], Value]:
    """Scale all gradients by limit / (norm + 1e-6), at most 1, as torch's clip_grad_norm_; also return that norm.

    Args:
        gradients: by name.
        limit: the maximum norm.
        p: order of the norm, greater than 0; math.inf takes the largest absolute element.
    """
    if p == 2:
        total = squared_norm(gradients)
        return {n: cast_like(clip_by_norm(g, total, limit), g) for n, g in gradients.items()}, sqrt(total)
    length = global_norm(gradients, p)
    return {n: cast_like(_scale_to_norm(g, length, limit), g) for n, g in gradients.items()}, length


def clip_by_each_norm(gradients: Gradients, limit: float, p: float = 2.0) -> dict[str, Value]:
    """Scale each gradient by limit / (norm + 1e-6), at most 1, with its own norm of order `p`."""
    return {name: clip_by_global_norm({name: g}, limit, p)[0][name] for name, g in gradients.items()}


def clip_by_value(gradients: Gradients, limit: float) -> dict[str, Value]:
    """Limit every element to -limit..limit."""
    return {name: clamp(gradient, min=-limit, max=limit) for name, gradient in gradients.items()}


def clip_adaptively(
    gradient: Value, parameter: Value, clipping: float, eps: float = 1e-3, units: Units = "last"
) -> Value:
    """Scale each unit's gradient down to `clipping` times the unit's norm (Brock et al. 2021).

    Semantics of optax.adaptive_grad_clip. Norms are Euclidean; `unit_axes` defines the units.

    Args:
        gradient: of the parameter's shape.
        parameter: before the step.
        clipping: the maximum ratio of both norms.
        eps: the minimum norm of a unit of the parameter, so that units of zeros can move.
        units: the axis that counts the units.
    """
    axes = unit_axes(parameter.shape, units)
    limit = clamp(_lengths(parameter, axes), min=eps) * clipping
    length = _lengths(gradient, axes)
    scaled = gradient * (limit / clamp(length, min=LEAST_LENGTH))
    return cast_like(where(lt(length, limit), gradient, scaled), gradient)


def unit_axes(shape: Shape, units: Units) -> tuple[int, ...]:
    """Return the axes along which the elements of one unit lie; a vector is one unit.

    "first": all but the first. "last": optax's unitwise_norm: the first alone in arrays of two or three axes, all but
    the last beyond that; an array with only one axis longer than 1 counts as a vector.
    """
    ndim = len(shape)
    if units == "first":
        return tuple(range(1, ndim)) if ndim > 1 else tuple(range(ndim))
    if len([extent for extent in shape if extent != 1]) <= 1:
        return tuple(range(ndim))
    return (0,) if ndim <= 3 else tuple(range(ndim - 1))


def global_norm(gradients: Gradients, p: float = 2.0) -> Value:
    """Return the norm of order p > 0 of all elements together; 0 when there are none."""
    if p == 2:
        return sqrt(squared_norm(gradients))
    wide = [_for_powers(gradient, p) for gradient in gradients.values() if gradient.size]
    if not wide:
        return as_value(0.0)
    order: Any = "inf" if math.isinf(p) else float(p)
    return norm(stack(*(cast(norm(gradient, p=order), dtype=FLOAT64) for gradient in wide)), p=order)


def squared_norm(gradients: Gradients) -> Value:
    """Return the sum of the squares of all elements; 0 when there are none."""
    squares = [sum_of_squares(_wide(gradient)) for gradient in gradients.values()]
    if not squares:
        return as_value(0.0)
    total = squares[0]
    for other in squares[1:]:
        total = total + other
    return total


@dataclass(frozen=True, kw_only=True, slots=True)
class GradientNoise:
    """Normal noise of variance eta / (1 + t) ** gamma on the gradients of step t (Neelakantan et al. 2015).

    The paper takes `eta` from 0.01, 0.3 and 1, and `gamma` 0.55.
    """

    eta: Annotated[float, Range(0, above=True)] = 0.01
    gamma: Annotated[float, Range(0)] = 0.55


def add_noise_to_gradients(
    gradients: Mapping[str, Value], key: Value, step: Value, options: GradientNoise
) -> dict[str, Value]:
    """Add noise to every gradient; the draws depend on the key, the step and the order of names.

    Args:
        gradients: by name, before they are packed: padding between parameters must stay 0.
        key: a random key, int64[2].
        step: the number of steps before, an int64 number.
        options: variance and decay.
    """
    root = fold_in(fold_in(key, NOISE_TAG), step)
    return {
        name: add_noise(gradient, fold_in(root, place), step, options)
        for place, (name, gradient) in enumerate(sorted(gradients.items()))
    }


def add_noise(gradient: Value, key: Value, step: Value, options: GradientNoise) -> Value:
    """Add noise to one gradient, in its dtype; the key determines the draws, the step their size."""
    time = cast(step, dtype=FLOAT64) + 1.0
    deviation = sqrt(options.eta / power(time, options.gamma))
    return cast_like(gradient + random_normal(key, shape=gradient.shape, dtype=gradient.dtype) * deviation, gradient)


def _scale_to_norm(gradient: Value, length: Value, limit: float) -> Value:
    return gradient * clamp(limit / (length + NORM_EPSILON), max=1.0)


def _lengths(x: Value, axes: tuple[int, ...]) -> Value:
    return sqrt(sum(square(_wide(x)), axis=axes, keepdims=True))


def _wide(x: Value) -> Value:
    wide = computing_dtype(x.dtype)
    return x if wide == x.dtype else cast(x, dtype=wide)


def _for_powers(x: Value, p: float) -> Value:
    """Return x in a dtype whose powers do not vanish: float64 for orders other than 1 and infinity."""
    return _wide(x) if p == 1 or math.isinf(p) else cast(x, dtype=FLOAT64)
