"""The streams of random numbers behind keys: PCG64 DXSM (O'Neill 2014), started and moved on by any distance.

A state is two 64-bit halves. The generator is that of engine.ops.random.random, to the bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.execution.native.kernel import inline
from engine.ops.random.random import INCREMENT, STREAM_TAG

MULTIPLIER = 0xDA942042E4DD58B5
GAMMA, FIRST_FACTOR, SECOND_FACTOR = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
INCREMENT_HIGH, INCREMENT_LOW = INCREMENT >> 64, INCREMENT & (2**64 - 1)

_WORD, _WIDE = ir.IntType(64), ir.IntType(128)
_PAIR = types.UniTuple(types.uint64, 2)


@intrinsic
def multiply_add(
    typing_context: Any, high: Any, low: Any, by_high: Any, by_low: Any, plus_high: Any, plus_low: Any
) -> Any:
    """Return x y + z modulo 2^128, as halves, of numbers given as halves."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        halves = [builder.zext(argument, _WIDE) for argument in arguments]
        shift = ir.Constant(_WIDE, 64)
        x, y, z = (builder.or_(builder.shl(halves[k], shift), halves[k + 1]) for k in (0, 2, 4))
        result = builder.add(builder.mul(x, y), z)
        parts = [builder.trunc(builder.lshr(result, shift), _WORD), builder.trunc(result, _WORD)]
        return context.make_tuple(builder, signature.return_type, parts)

    return _PAIR(*[types.uint64] * 6), generate


@inline
def mixed(number: Any) -> Any:
    """Scramble 64 bits, as engine.core.half_precision.mix."""
    number = number + np.uint64(GAMMA)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(FIRST_FACTOR)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(SECOND_FACTOR)
    return number ^ (number >> np.uint64(31))


@inline
def folded(high: Any, low: Any, number: Any) -> Any:
    """Make a new key from a key and a number, as engine.core.half_precision.fold."""
    high = mixed(high ^ mixed(number))
    return high, mixed(low + high)


@inline
def started(high: Any, low: Any) -> Any:
    """Return the state at the start of a key's stream."""
    high, low = folded(high, low, np.uint64(STREAM_TAG))
    return mixed(high ^ low), low


@inline
def stepped(high: Any, low: Any) -> Any:
    """Return the state after this one."""
    return multiply_add(
        high, low, np.uint64(0), np.uint64(MULTIPLIER), np.uint64(INCREMENT_HIGH), np.uint64(INCREMENT_LOW)
    )


def distance(steps: int) -> tuple[np.uint64, ...]:
    """Return the factor and the summand, as halves, by which `multiply_add` takes several steps at once."""
    factor, plus = 1, 0
    for _ in range(steps):
        factor, plus = factor * MULTIPLIER % 2**128, (plus * MULTIPLIER + INCREMENT) % 2**128
    return tuple(np.uint64(half) for number in (factor, plus) for half in divmod(number, 2**64))


@inline
def output(high: Any, low: Any) -> Any:
    """Return the 64 random bits of a state."""
    odd = low | np.uint64(1)
    high = (high ^ (high >> np.uint64(32))) * np.uint64(MULTIPLIER)
    high = high ^ (high >> np.uint64(48))
    return high * odd


@inline
def moved(high: Any, low: Any, steps: Any) -> Any:
    """Return the state `steps` steps on, in as many rounds as that number has bits (Brown 1994)."""
    zero = np.uint64(0)
    factor_high, factor_low = zero, np.uint64(MULTIPLIER)
    plus_high, plus_low = np.uint64(INCREMENT_HIGH), np.uint64(INCREMENT_LOW)
    left = steps
    while left > 0:
        if left & 1:
            high, low = multiply_add(high, low, factor_high, factor_low, plus_high, plus_low)
        # Two steps at once: x -> f (f x + p) + p.
        plus_high, plus_low = multiply_add(plus_high, plus_low, factor_high, factor_low, plus_high, plus_low)
        factor_high, factor_low = multiply_add(factor_high, factor_low, factor_high, factor_low, zero, zero)
        left >>= 1
    return high, low
