"""Conversions between float16 and float32: the bits of NumPy's, for every number and wherever it lies in memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from engine.core.dtypes import FLOAT16, FLOAT32
from engine.core.half_precision import BLOCK, SMALL, convert_dtype
from engine.core.value import Array, tensor
from engine.ops import OPS
from tests.support.rows import each_row


@pytest.fixture(autouse=True)
def _as_in_kernels() -> Iterator[None]:
    """Infinity is a result, not a warning."""
    with np.errstate(all="ignore"):
        yield


def expected(x: Array, dtype: np.dtype) -> Array:
    return x.astype(dtype)


def assert_same_bits(a: Array, b: Array) -> None:
    assert a.dtype == b.dtype
    assert a.tobytes() == b.tobytes()


def test_every_float16_is_widened_to_the_number_it_is() -> None:
    numbers = np.arange(2**16, dtype=np.uint16).view(FLOAT16)
    assert_same_bits(convert_dtype(numbers, FLOAT32), expected(numbers, FLOAT32))


@pytest.mark.slow
@pytest.mark.parametrize("exponents", [range(96), range(96, 116), range(116, 142), range(142, 256)], ids=str)
def test_float32_is_rounded_as_numpy_does_in_every_binade(exponents: range) -> None:
    mantissas = np.arange(0, 2**23, 2**12, dtype=np.uint32)  # with every tie, and what lies next to it
    mantissas = np.unique(np.concatenate([mantissas, mantissas + 1, mantissas[1:] - 1, [2**23 - 1]])).astype(np.uint32)
    for exponent in exponents:
        x = (mantissas | np.uint32(exponent << 23)).view(FLOAT32)
        for signed in (x, -x):
            assert_same_bits(convert_dtype(signed, FLOAT16), expected(signed, FLOAT16))


@each_row("size", [0, 1, SMALL - 1, SMALL, BLOCK, BLOCK + 1, 3 * BLOCK - 5])
def test_arrays_of_any_length_are_converted(size: int) -> None:
    x = np.random.default_rng(size).standard_normal(size).astype(FLOAT32)
    half = convert_dtype(x, FLOAT16)
    assert_same_bits(half, expected(x, FLOAT16))
    assert_same_bits(convert_dtype(half, FLOAT32), expected(half, FLOAT32))


def test_too_large_numbers_in_one_block_leave_the_others_right() -> None:
    x = np.random.default_rng(0).standard_normal(3 * BLOCK).astype(FLOAT32)
    x[BLOCK + 7 : BLOCK + 11] = [np.inf, -np.inf, np.nan, 1e9]
    assert_same_bits(convert_dtype(x, FLOAT16), expected(x, FLOAT16))


def test_it_writes_to_the_given_place() -> None:
    x = np.random.default_rng(0).standard_normal((80, 90)).astype(FLOAT32)
    for out in (np.empty((80, 90), FLOAT16), np.empty((90, 80), FLOAT16).T, np.empty((80, 180), FLOAT16)[:, ::2]):
        assert convert_dtype(x, FLOAT16, out) is out
        np.testing.assert_array_equal(out, expected(x, FLOAT16))
        back = np.empty(out.shape, FLOAT32)
        assert convert_dtype(out, FLOAT32, back) is back
        np.testing.assert_array_equal(back, expected(out, FLOAT32))


@pytest.mark.parametrize("name", ["mul", "square"])
def test_products_of_large_float16_arrays_have_the_bits_of_small_ones(name: str) -> None:
    op, drawn = OPS[name], np.random.default_rng(1)
    scales = 2.0 ** drawn.integers(-14, 10, (2, 2 * SMALL))
    a, b = (drawn.standard_normal((2, 2 * SMALL)) * scales).astype(FLOAT16)
    arrays = (a, b)[: op.required_inputs]
    large = op(*(tensor(array) for array in arrays)).numpy()
    small = [op(*(tensor(array[k : k + 64]) for array in arrays)).numpy() for k in range(0, a.size, 64)]
    assert_same_bits(large, np.concatenate(small))
