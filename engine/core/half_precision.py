"""Kernels on half types: they run in float32 and are rounded once.

NumPy has no arithmetic for bfloat16. For float16 it converts number by number in software, at some 5 ns each
and 100 ns where the result is subnormal, as small gradients are; the conversions here take 4 ns in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from engine.core.dtypes import FLOAT16, FLOAT32, computing_dtype, is_float
from engine.core.value import Array, Spec

SMALL = 4096
"""Elements below which NumPy's own conversions are as fast, calls and all."""
BLOCK = 1 << 15
"""Elements that are rounded at a time, so that what lies between stays in a cache."""
EXPONENT, SIGN = np.int32(0x7F800000), np.int32(-(2**31))
LEAST = np.int32((127 - 14) << 23)
"""Exponent of float16's smallest normal number, in a float32: subnormal numbers lie as close as those just above."""
INFINITE = np.int32((127 + 16) << 23)
"""The exponent at which float16 ends."""
ROUNDING = np.int32((13 << 23) + (1 << 22))
"""Added to the bits of 2^e: 1.5 * 2^(e + 13), next to which a float32 has as many digits left as a float16."""


def widen_halves(arrays: Sequence[Array]) -> list[Array]:
    """Return the arrays, those of half types as float32, which holds every one of their numbers."""
    return [
        convert_dtype(array, FLOAT32) if computing_dtype(array.dtype) is not array.dtype else array for array in arrays
    ]


def round_results(results: Sequence[Array], specs: Sequence[Spec]) -> tuple[Array, ...]:
    """Return the results in the dtypes of `specs`, rounded to the nearest, ties to even."""
    with np.errstate(all="ignore"):
        return tuple(
            convert_dtype(result, spec.dtype) if is_float(spec.dtype) and result.dtype != spec.dtype else result
            for result, spec in zip(results, specs, strict=True)
        )


def half_precision_kernel(kernel: Callable[..., Any], specs: Sequence[Spec]) -> Callable[..., tuple[Array, ...]]:
    """Return a kernel for half types that runs the float32 `kernel`; its result is always a tuple."""

    def run(*arrays: Array, **attrs: Any) -> tuple[Array, ...]:
        made = kernel(*widen_halves(arrays), **attrs)
        return round_results([np.asarray(result) for result in (made if isinstance(made, tuple) else (made,))], specs)

    return run


def convert_dtype(x: Array, dtype: np.dtype[Any], out: Array | None = None) -> Array:
    """Return x as another dtype, as `astype` does, or write it into `out`; fast between float16 and float32."""
    pair = (x.dtype, dtype)
    if x.size >= SMALL and x.flags.c_contiguous and (out is None or out.flags.c_contiguous):
        if pair == (FLOAT16, FLOAT32):
            return np.take(_float16_numbers(), x.view(np.uint16), out=out, mode="clip")
        if pair == (FLOAT32, FLOAT16):
            out = np.empty(x.shape, FLOAT16) if out is None else out
            _round(x.reshape(-1), out.reshape(-1))
            return out
    if out is None:
        return x.astype(dtype)
    np.copyto(out, x, casting="unsafe")
    return out


@cache
def _float16_numbers() -> Array:
    """Return every float16 as a float32, by its bits."""
    with np.errstate(all="ignore"):
        numbers = np.arange(2**16, dtype=np.uint16).view(FLOAT16).astype(FLOAT32)
    numbers.flags.writeable = False
    return numbers


def _round(source: Array, target: Array) -> None:
    """Round float32 to float16, to the nearest, ties to even.

    Adding 1.5 * 2^(e + 13) to a number with exponent e leaves its first 11 digits, rounded, as an integer in the lowest
    bits; a float16 is the exponent and those digits. Blocks with numbers too large for it are left to NumPy.
    """
    space = np.empty((3, min(BLOCK, source.size)), np.int32)
    for start in range(0, source.size, BLOCK):
        x, y = source[start : start + BLOCK], target[start : start + BLOCK]
        bits = x.view(np.int32)
        half, magic, digits = (row[: x.size] for row in space)
        np.bitwise_and(bits, EXPONENT, out=half)
        np.maximum(half, LEAST, out=half)
        if half.max() >= INFINITE:
            np.copyto(y, x, casting="unsafe")
            continue
        np.add(half, ROUNDING, out=magic)
        np.add(x, magic.view(FLOAT32), out=digits.view(FLOAT32))
        digits -= magic
        np.abs(digits, out=digits)
        half -= LEAST
        half >>= 13
        half += digits
        np.bitwise_and(bits, SIGN, out=magic)
        magic >>= 16
        half |= magic
        np.copyto(y.view(np.int16), half, casting="unsafe")
