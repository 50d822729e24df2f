"""Draws from further distributions, and random choices: integers, permutations, categories."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from engine.core.attributes import Ints, Length, Positive, Range
from engine.core.declarations import COMPUTE_FLOAT32, CallForms, Documentation
from engine.core.dtypes import FLOAT32, INT64, DType, computing_dtype, is_float
from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.core.modes import charge_table
from engine.core.registry import composite, primitive
from engine.core.samples import key, positive, sample
from engine.core.shape_rules import normalize_axis, require_float
from engine.core.value import Array, Spec, Value
from engine.ops.activation.softmax import softmax
from engine.ops.elementwise.casting import cast, stop_gradient
from engine.ops.elementwise.comparison import eq, where
from engine.ops.elementwise.elementwise import log
from engine.ops.elementwise.error_function import erf_array, erfinv
from engine.ops.kernels.blocks import store_result
from engine.ops.random.random import check_float, check_key, check_shape, stream
from engine.ops.reduce.reduce import argmax

RAREST = 1e-9
"""Minimum probability of an interval of truncated_normal: below it float64 has no digits left."""

Parameter = Annotated[float, Range(0, 1e6, above=True)]
"""A parameter of the beta distribution."""


def _exponential(key: Value, *, shape: Ints, rate: float, dtype: DType) -> Spec:
    check_key("exponential", key)
    check_shape("exponential", shape)
    check_float("exponential", dtype)
    return Spec(shape, dtype)


@primitive(shape_rule=_exponential, random=True, differentiable=False, samples=[sample(key(), shape=(2, 3), rate=2.0)])
def exponential(
    key: Array, *, shape: Ints, rate: Positive = 1.0, dtype: np.dtype = FLOAT32, out: Array | None = None
) -> Array:
    """Numbers greater than 0 drawn from the exponential distribution with mean 1 / rate."""
    drawn = computing_dtype(dtype)
    x = stream(key).standard_exponential(shape, dtype=drawn.type)
    x = np.asarray(x if rate == 1 else x / drawn.type(rate)).astype(dtype, copy=False)
    tiny = np.finfo(dtype if dtype.kind == "f" else drawn).tiny  # bfloat16 has the exponents of float32
    return store_result(np.maximum(x, dtype.type(tiny)), out)


def _random_beta(key: Value, *, shape: Ints, a: float, b: float, dtype: DType) -> Spec:
    check_key("random_beta", key)
    check_shape("random_beta", shape)
    check_float("random_beta", dtype)
    return Spec(shape, dtype)


@primitive(shape_rule=_random_beta, random=True, differentiable=False, samples=[sample(key(), shape=(2, 3), a=2.0)])
def random_beta(
    key: Array,
    *,
    shape: Ints,
    a: Parameter = 1.0,
    b: Parameter = 1.0,
    dtype: np.dtype = FLOAT32,
    out: Array | None = None,
) -> Array:
    """Numbers in 0..1 drawn from the beta distribution of the parameters a and b."""
    return store_result(np.asarray(stream(key).beta(a, b, shape)).astype(dtype), out)


def _truncated_normal(
    key: Value, *, shape: Ints, mean: float, std: float, low: float, high: float, dtype: DType
) -> Spec:
    check_key("truncated_normal", key)
    check_shape("truncated_normal", shape)
    check_float("truncated_normal", dtype)
    if not low < high:
        raise AttributeValueError(f"truncated_normal: low {low} must be less than high {high}")
    if not std > 0 or _mass(mean, std, low, high) < RAREST:
        raise AttributeValueError(
            f"truncated_normal: normal numbers of mean {mean} and deviation {std} hardly ever lie in {low}..{high}"
        )
    return Spec(shape, dtype)


def _mass(mean: float, std: float, low: float, high: float) -> float:
    ends = [math.erf((end - mean) / std * math.sqrt(0.5)) for end in (low, high)]
    return (ends[1] - ends[0]) / 2


@primitive(
    shape_rule=_truncated_normal,
    random=True,
    differentiable=False,
    samples=[sample(key(), shape=(2, 3)), sample(key(), shape=(4,), mean=1.0, std=0.5, low=0.9, high=3.0)],
)
def truncated_normal(
    key: Array,
    *,
    shape: Ints,
    mean: float = 0.0,
    std: float = 1.0,
    low: float = -2.0,
    high: float = 2.0,
    dtype: np.dtype = FLOAT32,
    out: Array | None = None,
) -> Array:
    """Numbers drawn from the normal distribution restricted to `low`..`high`."""
    first, last = (erf_array(np.array([(end - mean) / std * math.sqrt(0.5)]))[0] for end in (low, high))
    share = stream(key).random(shape) * (last - first) + first
    z = erfinv.body(np.asarray(share)) * (math.sqrt(2) * std) + mean
    low, high = (float(dtype.type(end)) for end in (low, high))
    return store_result(np.clip(z, low, high).astype(dtype), out)


def _random_integers(key: Value, *, shape: Ints, low: int, high: int, dtype: DType) -> Spec:
    check_key("random_integers", key)
    check_shape("random_integers", shape)
    if dtype.kind not in "iu":
        raise DTypeError(f"random_integers: dtype {dtype.name} must be an integer type")
    bounds = np.iinfo(dtype)
    if not bounds.min <= low < high <= bounds.max + 1:
        raise AttributeValueError(
            f"random_integers: low {low} must be less than high {high}, and both lie within {dtype.name} "
            f"({bounds.min}..{bounds.max})"
        )
    return Spec(shape, dtype)


@primitive(
    shape_rule=_random_integers,
    aliases=("randint",),
    random=True,
    differentiable=False,
    call=CallForms(orders=(("high", "shape"), ("low", "high", "shape"))),
    samples=[sample(key(), shape=(2, 3), high=5), sample(key(), shape=(4,), low=-3, high=3, dtype="int8")],
)
def random_integers(
    key: Array, *, shape: Ints, high: int, low: int = 0, dtype: np.dtype = INT64, out: Array | None = None
) -> Array:
    """Integers drawn uniformly from low <= n < high."""
    return store_result(np.asarray(stream(key).integers(low, high, shape, dtype=dtype.type)), out)


def _randperm(key: Value, *, n: int) -> Spec:
    check_key("randperm", key)
    check_shape("randperm", (n,))
    return Spec((n,), INT64)


@primitive(
    shape_rule=_randperm,
    aliases=("random_permutation",),
    random=True,
    differentiable=False,
    samples=[sample(key(), n=5), sample(key(), n=0)],
)
def randperm(key: Array, *, n: int, out: Array | None = None) -> Array:
    """The integers 0..n-1 in random order, each order equally likely."""
    return store_result(stream(key).permutation(n).astype(np.int64, copy=False), out)


def _multinomial(weights: Value, key: Value, *, samples: int, replacement: bool) -> Spec:
    check_key("multinomial", key)
    if not is_float(weights.dtype):
        raise DTypeError(f"multinomial needs floating weights, got {weights.dtype.name}; cast them to float32")
    if weights.ndim not in (1, 2) or not weights.shape[-1]:
        raise ShapeError(f"multinomial: weights {list(weights.shape)} must have the shape [rows, classes] or [classes]")
    if not replacement and samples > weights.shape[-1]:
        raise AttributeValueError(
            f"multinomial: samples {samples} must be, without replacement, at most the {weights.shape[-1]} classes"
        )
    return Spec((*weights.shape[:-1], samples), INT64)


@primitive(
    shape_rule=_multinomial,
    random=True,
    differentiable=False,
    samples=[sample(positive(2, 3), key(), samples=2), sample(positive(3), key(), samples=5, replacement=True)],
)
def multinomial(
    weights: Array, key: Array, *, samples: Length = 1, replacement: bool = False, out: Array | None = None
) -> Array:
    """Classes drawn in each row with the given weights >= 0, which need not add up to 1 (int64 [..., samples]).

    Without replacement a class is drawn at most once per row, and each draw is among the remaining classes.
    """
    wide = weights.astype(np.float64)
    if not np.isfinite(wide).all() or (wide < 0).any():
        raise ShapeError("multinomial: weights must be finite and at least 0")
    least = int(np.count_nonzero(wide, axis=-1).min(initial=wide.shape[-1]))
    if least < (1 if replacement else samples):
        raise ShapeError(
            f"multinomial: a row has {least} weights above 0, which is too few for {samples} samples"
            + ("" if replacement else " without replacement")
        )
    shape = (*weights.shape[:-1], samples)
    if not replacement:  # the smallest of exponential variables whose rates are the weights
        clocks = stream(key).standard_exponential(wide.shape) / wide
        return store_result(np.argsort(clocks, axis=-1, kind="stable")[..., :samples], out)
    ends = np.cumsum(wide, axis=-1).reshape(-1, wide.shape[-1])
    shares = stream(key).random(shape).reshape(-1, samples)
    last = wide.shape[-1] - 1 - np.argmax(wide[..., ::-1] > 0, axis=-1).reshape(-1)
    rows = [np.searchsorted(e, s * e[-1], side="right") for e, s in zip(ends, shares, strict=True)]
    drawn = np.minimum(np.array(rows, np.int64).reshape(-1, samples), last[:, None])
    return store_result(drawn.reshape(shape), out)


@composite(
    random=True,
    call=CallForms(by_place=("tau", "hard")),
    numerics=COMPUTE_FLOAT32,
    documentation=Documentation(
        gradient_notes={"hard": "the result is piecewise constant; its gradient is that of the soft result"}
    ),
    samples=[sample((2, 3), key(), tau=0.7), sample((3, 2), key(), axis=0), sample((2, 3), key(), hard=True)],
)
def gumbel_softmax(logits: Value, key: Value, *, tau: Positive = 1.0, hard: bool = False, axis: int = -1) -> Value:
    """softmax((logits + Gumbel noise) / tau) along `axis`: a relaxed draw of a category.

    It is nearly one-hot for a small tau. With `hard` the result is one-hot, and its gradient that of the soft one
    (Jang et al. 2017).
    """
    require_float("gumbel_softmax", logits)
    place = normalize_axis(axis, logits.ndim)
    dtype = computing_dtype(logits.dtype)
    noise = -log(exponential(key, shape=logits.shape, dtype=dtype))
    soft = cast(softmax((logits + noise) / tau, axis=axis), dtype=logits.dtype)
    if not hard:
        return soft
    charge_table("gumbel_softmax", logits.size)
    classes = np.arange(logits.shape[place] if logits.ndim else 1)
    classes = classes.reshape([-1 if a == place else 1 for a in range(logits.ndim)])
    chosen = eq(argmax(soft, axis=place, keepdims=True) if logits.ndim else np.zeros((), np.int64), classes)
    return where(chosen, logits.dtype.type(1), logits.dtype.type(0)) - stop_gradient(soft) + soft
