"""Poolings by compiled kernels give what NumPy's give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.core.dtypes import BFLOAT16
from engine.core.registry import OPS
from engine.core.value import Array
from tests.engine.execution.native.conftest import Compiled, RunBoth
from tests.support.rows import each_row

TOLERANCE = {"float32": 1e-6, "float64": 1e-14}

Geometry = dict[str, Any]


def pooling(kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...], ceil: bool = False) -> Geometry:
    """Return the attributes of a pooling."""
    return {"kernel": kernel, "stride": stride, "padding": padding, "ceil_mode": ceil}


CASES: list[tuple[tuple[int, ...], Geometry]] = [
    ((2, 3, 28, 28), pooling((2, 2), (2, 2), (0, 0))),
    ((1, 2, 29, 29), pooling((2, 2), (2, 2), (0, 0))),
    ((1, 2, 29, 29), pooling((2, 2), (2, 2), (0, 0), ceil=True)),
    ((2, 3, 7, 9), pooling((3, 3), (2, 2), (1, 1), ceil=True)),
    ((2, 3, 7, 9), pooling((3, 2), (1, 3), (1, 0))),
    ((2, 3, 6, 20), pooling((3, 3), (1, 1), (1, 1))),
    ((2, 3, 6, 21), pooling((3, 3), (1, 1), (0, 0))),
    ((2, 2, 70), pooling((3,), (2,), (0,))),
    ((1, 2, 4, 6, 40), pooling((2, 2, 3), (1, 2, 2), (0, 0, 0))),
    ((2, 2, 11), pooling((3,), (2,), (1,))),
    ((1, 2, 5, 6, 7), pooling((2, 3, 2), (2, 1, 2), (1, 1, 0), ceil=True)),
]


def drawn(shape: tuple[int, ...], dtype: str) -> Array:
    """Draw normal numbers, the same for the same shape."""
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


def with_ties(x: Array) -> Array:
    """Round numbers, so that many are equal."""
    return np.round(x)


def with_the_least_and_nan(x: Array) -> Array:
    """Put -inf, which padding may not win against, and NaN, which wins against everything, among numbers."""
    generator = np.random.default_rng(1)
    x = np.where(generator.random(x.shape) < 0.4, -np.inf, x)
    return np.where(generator.random(x.shape) < 0.2, np.nan, x)


@each_row("dtype", TOLERANCE)
@each_row("kind", [with_ties, with_the_least_and_nan])
@each_row("dilation", [1, 2])
@each_row(("shape", "geometry"), CASES)
def test_max_pool_finds_the_maxima_and_places_of_numpy(
    run_both: RunBoth, shape: tuple[int, ...], geometry: Geometry, dilation: int, kind: Any, dtype: str
) -> None:
    x = kind(drawn(shape, dtype)).astype(dtype)
    spread = {"dilation": (dilation,) * (len(shape) - 2)}
    actual, wanted = run_both("max_pool", x, **geometry, **spread)
    np.testing.assert_array_equal(actual[0], wanted[0])
    np.testing.assert_array_equal(actual[1], wanted[1])
    g = drawn(wanted[0].shape, dtype)
    (result,), (expected,) = run_both("max_unpool", g, wanted[1], shape=shape)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("place", [-1, 12])
def test_max_unpool_refuses_a_place_that_there_is_not(compiled: Compiled, place: int) -> None:
    x, index = np.ones((1, 1, 1, 2), np.float32), np.array([[[[3, place]]]])
    assert not compiled("max_unpool", [x, index], [np.zeros((1, 1, 3, 4), np.float32)], {"shape": (1, 1, 3, 4)})


@each_row("dtype", TOLERANCE)
@each_row("counting", [{"count_include_pad": True}, {"count_include_pad": False}, {"divisor": -3}])
@each_row(("shape", "geometry"), CASES)
def test_average_pooling_and_its_transpose_are_those_of_numpy(
    run_both: RunBoth, shape: tuple[int, ...], geometry: Geometry, counting: dict[str, Any], dtype: str
) -> None:
    (actual,), (wanted,) = run_both("avg_pool", drawn(shape, dtype), **geometry, **counting)
    np.testing.assert_allclose(actual, wanted, atol=TOLERANCE[dtype])
    g = drawn(wanted.shape, dtype)
    (actual,), (wanted,) = run_both("avg_pool_input", g, shape=shape, **geometry, **counting)
    np.testing.assert_allclose(actual, wanted, atol=4 * TOLERANCE[dtype])


@each_row("dtype", TOLERANCE)
@each_row(("axis", "bins"), [(2, 3), (3, 4), (-1, 12), (1, 3), (0, 1)])
def test_means_of_bins_and_their_transpose_are_those_of_numpy(
    run_both: RunBoth, axis: int, bins: int, dtype: str
) -> None:
    x = drawn((2, 3, 7, 9), dtype)
    (actual,), (wanted,) = run_both("bin_mean", x, axis=axis, bins=bins)
    np.testing.assert_allclose(actual, wanted, atol=TOLERANCE[dtype])
    (actual,), (wanted,) = run_both("bin_mean_back", wanted, axis=axis, extent=x.shape[axis])
    np.testing.assert_allclose(actual, wanted, atol=TOLERANCE[dtype])


@pytest.mark.skipif(BFLOAT16 is None, reason="needs ml_dtypes")
@each_row("images", [1, 7, 40])
@each_row("kind", [with_ties, with_the_least_and_nan])
@each_row(("stride", "padding"), [(2, 0), (1, 0), (2, 1)])
def test_max_pool_takes_bfloat16(compiled: Compiled, images: int, kind: Any, stride: int, padding: int) -> None:
    x = kind(drawn((images, 4, 48, 47), "float32")).astype(BFLOAT16)
    attrs = pooling((2, 2), (stride, stride), (padding, padding)) | {"dilation": (1, 1)}
    wide, places = OPS["max_pool"].body(x.astype(np.float32), **attrs)
    best, found = np.empty(wide.shape, BFLOAT16), np.empty(places.shape, np.int64)
    assert compiled("max_pool", [x], [best, found], attrs)
    np.testing.assert_array_equal(best.astype(np.float32), wide)
    np.testing.assert_array_equal(found, places)
    back, expected = np.empty(x.shape, BFLOAT16), OPS["max_unpool"].body(wide, places, shape=x.shape)
    assert compiled("max_unpool", [best, found], [back], {"shape": x.shape})
    np.testing.assert_array_equal(back.astype(np.float32), expected.astype(BFLOAT16).astype(np.float32))


@pytest.mark.skipif(BFLOAT16 is None, reason="needs ml_dtypes")
def test_max_pool_keeps_the_bits_of_bfloat16(compiled: Compiled) -> None:
    x = np.arange(2**16, dtype=np.uint16).view(BFLOAT16).reshape(1, 1, 16, 2**12)
    attrs = pooling((1, 1), (1, 1), (0, 0)) | {"dilation": (1, 1)}
    best, found = np.empty(x.shape, BFLOAT16), np.empty(x.shape, np.int64)
    assert compiled("max_pool", [x], [best, found], attrs)
    np.testing.assert_array_equal(best.view(np.uint16), x.view(np.uint16))
