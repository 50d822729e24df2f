"""Normalisation of channels by compiled kernels gives what NumPy's gives."""

from __future__ import annotations

import numpy as np

from engine.core.registry import OPS
from engine.core.value import Array
from tests.engine.execution.native.conftest import RunBoth
from tests.support.rows import each_row

TOLERANCE = {"float32": 5e-6, "float64": 1e-13}
SHAPES = [(4, 3, 5, 7), (2, 5, 4100), (6, 4), (300, 5), (130, 3, 4), (2, 3, 2, 3, 4), (2, 3, 4, 3, 4)]


def drawn(shape: tuple[int, ...], dtype: str, centre: float = 3.0) -> Array:
    """Draw numbers around a centre, the same for the same shape."""
    return (np.random.default_rng(0).standard_normal(shape) + centre).astype(dtype)


@each_row("dtype", TOLERANCE)
@each_row("training", [True, False])
@each_row("shape", SHAPES)
def test_batch_norm_and_its_statistics_are_those_of_numpy(
    run_both: RunBoth, shape: tuple[int, ...], training: bool, dtype: str
) -> None:
    generator = np.random.default_rng(1)
    channels = [(generator.random(shape[1]) + 0.5).astype(dtype) for _ in range(4)]
    actual, wanted = run_both("batch_norm", drawn(shape, dtype), *channels, training=training, momentum=0.3)
    for x, y in zip(actual, wanted, strict=True):
        np.testing.assert_allclose(x, y, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])


@each_row("dtype", TOLERANCE)
@each_row("centre", [True, False])
@each_row("shape", SHAPES)
def test_standardized_channels_and_their_gradient_are_those_of_numpy(
    run_both: RunBoth, shape: tuple[int, ...], centre: bool, dtype: str
) -> None:
    axes = (0, *range(2, len(shape)))
    actual, wanted = run_both("standardize", drawn(shape, dtype), axis=axes, centre=centre)
    for x, y in zip(actual, wanted, strict=True):
        np.testing.assert_allclose(x, y, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])
    g = drawn(shape, dtype, centre=0.0)
    (result,), (expected,) = run_both("standardize_backward", g, *wanted, axis=axes, centre=centre)
    np.testing.assert_allclose(result, expected, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])


@each_row("dtype", TOLERANCE)
@each_row("shape", SHAPES)
def test_the_gradients_of_batch_norm_are_those_of_numpy(run_both: RunBoth, shape: tuple[int, ...], dtype: str) -> None:
    operands = [drawn(shape, dtype, centre=0.5), drawn(shape, dtype)[::-1], drawn(shape[1:2], dtype)]
    actual, _ = run_both("batch_norm_backward", *operands, eps=1e-3)
    # In float64: many terms cancel in the gradient of the weight, of which NumPy's kernel loses more in float32.
    wanted = OPS["batch_norm_backward"].body(*(x.astype(np.float64) for x in operands), eps=1e-3)
    for x, y in zip(actual, wanted, strict=True):
        tolerance = TOLERANCE[dtype] * np.abs(y).max()
        np.testing.assert_allclose(x, y, atol=tolerance, rtol=TOLERANCE[dtype])


def test_batch_norm_with_nan_in_one_channel_leaves_the_others(run_both: RunBoth) -> None:
    x = drawn((4, 3, 5, 7), "float32")
    x[1, 2, 0, 0] = np.nan
    ones = np.ones(3, np.float32)
    (y, *_), _ = run_both("batch_norm", x, ones, ones, ones, ones, training=True)
    assert np.isnan(y[:, 2]).all()
    assert np.isfinite(y[:, :2]).all()
