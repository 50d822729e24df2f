"""Random numbers from explicit keys: equal keys give equal numbers, independent of earlier draws.

A key is an int64[2] value. Its stream is PCG64 DXSM started at a state mixed from the key, so that streams of different
keys are independent, also for keys that differ little.
"""

from __future__ import annotations

import threading
from functools import cached_property

import numpy as np

from engine.core.attributes import Ints, NonNegative, Share
from engine.core.declarations import CallForms
from engine.core.dtypes import BOOL, FLOAT32, INT64, DType, computing_dtype, is_float
from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.core.modes import MODES
from engine.core.registry import composite, primitive
from engine.core.rng import fold, mix
from engine.core.samples import integers, key, sample
from engine.core.shape_rules import require_float
from engine.core.value import Array, Spec, Value
from engine.ops.kernels.blocks import store_result

STREAM_TAG = 0x73747265616D
"""Folded into a key to get the state of its stream, so that no stream starts at a derived key."""
INCREMENT = 0x5851F42D4C957F2D14057B7EF767814F
"""The odd increment of the generator's recurrence, the same for all; streams differ in their state."""


class _Generator(threading.local):
    """The generator of one thread; setting its state is ten times faster than creating another one."""

    @cached_property
    def numbers(self) -> np.random.Generator:
        """Created at its first use: NumPy loads its generators then, 3 MB that an idle process does without."""
        return np.random.Generator(np.random.PCG64DXSM(0))

    def started(self, key: Array) -> np.random.Generator:
        high, low = fold(int(key[0]), int(key[1]), STREAM_TAG)
        # The first number is a product of the halves of the state: neither half may be constant over related keys.
        high = mix(high ^ low)
        self.numbers.bit_generator.state = {
            "bit_generator": "PCG64DXSM",
            "state": {"state": high << 64 | low, "inc": INCREMENT},
            "has_uint32": 0,
            "uinteger": 0,
        }
        return self.numbers


_GENERATOR = _Generator()


def seed(number: int) -> None:
    """Seed the keys of random operations that this thread runs eagerly without a key, to make them reproducible."""
    MODES.keys.restart(number)


def stream(key: Array) -> np.random.Generator:
    """Return this thread's generator at the start of the key's stream; use it before the next call."""
    return _GENERATOR.started(key)


def check_key(op: str, key: Value) -> None:
    """Raise ShapeError unless `key` is a random key, int64[2]."""
    if key.shape != (2,) or key.dtype != INT64:
        raise ShapeError(f"{op} needs a random key, int64[2]; got {key.dtype.name}{list(key.shape)}")


def check_shape(op: str, shape: Ints) -> None:
    """Raise ShapeError for a negative extent."""
    if any(extent < 0 for extent in shape):
        raise ShapeError(f"{op}: shape {list(shape)} may hold no negative extent")


def _fold_in(key: Value, number: Value) -> Spec:
    check_key("fold_in", key)
    if number.shape != () or number.dtype.kind not in "iu":
        raise ShapeError(f"fold_in needs one integer, got {number.dtype.name}{list(number.shape)}")
    return key.spec


@primitive(shape_rule=_fold_in, differentiable=False, samples=[sample(key(), integers(0, 9))])
def fold_in(key: Array, number: Array, *, out: Array | None = None) -> Array:
    """A new key from a key and an integer: different integers give different, unrelated keys."""
    high, low = fold(int(key[0]), int(key[1]), int(number))
    result = np.array([high, low], dtype=np.uint64).view(np.int64)
    return store_result(result, out)


def check_float(op: str, dtype: DType) -> None:
    """Raise DTypeError for a dtype that is not floating."""
    if not is_float(dtype):
        raise DTypeError(f"{op}: dtype {dtype.name} must be a floating type")


def _uniform(key: Value, *, shape: Ints, low: float, high: float, dtype: DType) -> Spec:
    check_key("random_uniform", key)
    check_shape("random_uniform", shape)
    check_float("random_uniform", dtype)
    if not low <= high:
        raise AttributeValueError(f"random_uniform: low {low} must not be greater than high {high}")
    return Spec(shape, dtype)


@primitive(
    shape_rule=_uniform,
    aliases=("uniform",),
    random=True,
    differentiable=False,
    samples=[sample(key(), shape=(2, 3), low=-1.0, high=1.0)],
)
def random_uniform(
    key: Array, *, shape: Ints, low: float = 0.0, high: float = 1.0, dtype: np.dtype = FLOAT32, out: Array | None = None
) -> Array:
    """Numbers drawn uniformly from low <= u < high."""
    drawn = computing_dtype(dtype)
    u = stream(key).random(shape, dtype=drawn.type)
    if (low, high) != (0.0, 1.0) or drawn != dtype:
        u = np.asarray(u * drawn.type(high - low) + drawn.type(low)).astype(dtype)
        if low < high:  # rounding may have reached the upper end
            u = np.minimum(u, np.nextafter(dtype.type(high), dtype.type(low)))
    return store_result(np.asarray(u), out)


def _normal(key: Value, *, shape: Ints, mean: float, std: float, dtype: DType) -> Spec:
    check_key("random_normal", key)
    check_shape("random_normal", shape)
    check_float("random_normal", dtype)
    return Spec(shape, dtype)


@primitive(
    shape_rule=_normal,
    aliases=("normal",),
    random=True,
    differentiable=False,
    samples=[sample(key(), shape=(2, 3), mean=1.0, std=0.5)],
)
def random_normal(
    key: Array,
    *,
    shape: Ints,
    mean: float = 0.0,
    std: NonNegative = 1.0,
    dtype: np.dtype = FLOAT32,
    out: Array | None = None,
) -> Array:
    """Numbers drawn from the normal distribution of this mean and standard deviation."""
    drawn = computing_dtype(dtype)
    z = stream(key).standard_normal(shape, dtype=drawn.type)
    if (mean, std) != (0.0, 1.0):
        z = z * drawn.type(std) + drawn.type(mean)
    return store_result(np.asarray(z).astype(dtype, copy=False), out)


def bernoulli_threshold(p: float) -> tuple[int, int]:
    """Return the bits of a random integer, and the threshold below which it lies with probability p.

    Sixteen bits are enough when p is a whole number of 65536ths; else 32, which meet p to 2**-33.
    """
    width = 16 if (p * 2**16).is_integer() else 32
    return width, round(p * 2**width)


def _chances(key: Array, shape: Ints, p: float) -> tuple[Array, float]:
    """Return random integers of `shape` and the threshold below which they lie with probability p."""
    size = int(np.prod(shape, dtype=np.int64))
    width, threshold = bernoulli_threshold(p)
    words = stream(key).bit_generator.random_raw(-(-size * width // 64))
    return words.view(f"u{width // 8}")[:size].reshape(shape), threshold


def _bernoulli(key: Value, *, shape: Ints, p: float) -> Spec:
    check_key("bernoulli", key)
    check_shape("bernoulli", shape)
    return Spec(shape, BOOL)


@primitive(
    shape_rule=_bernoulli,
    random=True,
    differentiable=False,
    call=CallForms(by_place=()),
    samples=[sample(key(), shape=(2, 3), p=0.3)],
)
def bernoulli(key: Array, *, shape: Ints, p: Share = 0.5, out: Array | None = None) -> Array:
    """True with probability p, else false."""
    chances, threshold = _chances(key, shape, p)
    return np.less(chances, threshold, out=out)


def _dropout_mask(key: Value, *, shape: Ints, p: float, dtype: DType) -> Spec:
    check_key("dropout_mask", key)
    check_shape("dropout_mask", shape)
    check_float("dropout_mask", dtype)
    return Spec(shape, dtype)


@primitive(shape_rule=_dropout_mask, random=True, differentiable=False, samples=[sample(key(), shape=(2, 3), p=0.3)])
def dropout_mask(
    key: Array, *, shape: Ints, p: Share = 0.5, dtype: np.dtype = FLOAT32, out: Array | None = None
) -> Array:
    """0 with probability p, else 1 / (1 - p); all 0 if p is 1."""
    chances, threshold = _chances(key, shape, p)
    mask: Array = np.multiply(chances >= threshold, dtype.type(1 / (1 - p) if p < 1 else 0), out=out, dtype=dtype)
    return mask


@composite(random=True, samples=[sample((2, 3), key(), p=0.3, training=True), sample((4,), key(), training=False)])
def dropout(x: Value, key: Value, *, p: Share = 0.5, training: bool | None = None) -> Value:
    """x with a share p of its elements set to 0 and the others divided by 1 - p; outside of training x itself.

    Srivastava et al. 2014, in the inverted form.
    """
    check_key("dropout", key)
    require_float("dropout", x)
    if not training or p == 0:
        return x
    return x * dropout_mask(key, shape=x.shape, p=p, dtype=x.dtype)
