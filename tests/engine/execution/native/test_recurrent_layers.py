"""Recurrent steps: compiled and NumPy's kernels agree, forward and back, for any lengths, directions and strides."""

import numpy as np
import pytest

from engine.execution.native.kernels.matrix_vector import short_columns, short_rows
from engine.execution.native.kernels.products import FEW_ROWS, product, products
from engine.execution.native.lowering import Work
from engine.execution.native.packing import calls_of
from engine.ops import OPS

SHAPES = [(5, 3, 10), (3, 70, 33), (1, 1, 1)]
"""Steps, rows, hidden units: fewer and more rows and columns than go through the steps together."""
TOLERANCE = {np.float32: 1e-5, np.float64: 1e-13}


@pytest.fixture(
    params=[(shape, dtype, reverse) for shape in SHAPES for dtype in TOLERANCE for reverse in (False, True)]
)
def case(request):
    (steps, rows, size), dtype, reverse = request.param
    rng = np.random.default_rng(0)

    def normal(*shape, scale=1.0):
        return (scale * rng.standard_normal(shape)).astype(dtype)

    return steps, rows, size, normal, rng.integers(0, steps + 1, rows), {"reverse": reverse}, TOLERANCE[dtype]


def windows(*arrays):
    """Return the same numbers as views of larger arrays, as shards see them."""
    views = []
    for array in arrays:
        axis = array.ndim - 2
        wide = np.concatenate([array, array, array], axis=axis)
        rows = array.shape[axis]
        views.append(np.moveaxis(np.moveaxis(wide, axis, 0)[rows : 2 * rows], 0, axis))
    return views


def close(pair, tolerance):
    for actual, expected in zip(*pair, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def test_lstm_steps(case, run_both):
    steps, rows, size, normal, lengths, attrs, tolerance = case
    w_hh, c0 = normal(4 * size, size, scale=0.3), normal(rows, size)
    x, h0 = windows(normal(steps, rows, 4 * size), normal(rows, size))
    pair = run_both("lstm_steps", x, w_hh, h0, c0, lengths, **attrs)
    close(pair, tolerance)
    _, c, gates = pair[1]
    gh, c, gates = windows(normal(steps, rows, size), c, gates)
    constant = np.broadcast_to(normal(1), gh.shape)
    close(run_both("lstm_steps_backward", gh, constant, c, gates, w_hh, c0, lengths, **attrs), tolerance)
    ggates = normal(steps, rows, 4 * size)
    close(run_both("lstm_steps_backward", gh, gh, c, gates, w_hh.T.copy().T, c0, lengths, ggates, **attrs), tolerance)


def test_gru_steps(case, run_both):
    steps, rows, size, normal, lengths, attrs, tolerance = case
    w_hh, h0 = normal(3 * size, size, scale=0.3), normal(rows, size)
    (x,) = windows(normal(steps, rows, 3 * size))
    pair = run_both("gru_steps", x, w_hh, normal(size), h0, lengths, **attrs)
    close(pair, tolerance)
    h, gates, q = windows(*pair[1])
    g = np.broadcast_to(normal(1), h.shape)
    close(run_both("gru_steps_backward", g, h, gates, q, w_hh, h0, lengths, **attrs), tolerance)
    more = normal(steps, rows, 3 * size), normal(steps, rows, size)
    close(run_both("gru_steps_backward", normal(*h.shape), h, gates, q, w_hh, h0, lengths, *more, **attrs), tolerance)


@pytest.mark.parametrize("nonlinearity", ["tanh", "relu"])
def test_rnn_steps(case, nonlinearity, run_both):
    steps, rows, size, normal, lengths, attrs, tolerance = case
    w_hh, (x,) = normal(size, size, scale=0.2), windows(normal(steps, rows, size))
    pair = run_both("rnn_steps", x, w_hh, normal(rows, size), lengths, nonlinearity=nonlinearity, **attrs)
    close(pair, tolerance)
    g, h = normal(steps, rows, size), pair[1][0]
    close(run_both("rnn_steps_backward", g, h, w_hh, lengths, nonlinearity=nonlinearity, **attrs), tolerance)


def test_results_lie_in_windows(run_both):
    rng = np.random.default_rng(1)
    x, w_hh, h0 = (rng.standard_normal(shape).astype(np.float32) for shape in ((3, 4, 8), (8, 2), (4, 2)))
    outputs = windows(*(np.zeros(shape, np.float32) for shape in ((3, 4, 2), (3, 4, 2), (3, 4, 8))))
    close(run_both("lstm_steps", x, w_hh, h0, h0, np.full(4, 3), outputs=outputs), 1e-5)
    assert not any(view.base is not None and view.base[:, :1].any() for view in outputs if view.base.ndim == 3)


def test_nan_in_a_row_stays_in_it(run_both):
    rng = np.random.default_rng(2)
    x, w_hh, h0 = (rng.standard_normal(shape).astype(np.float32) for shape in ((3, 4, 8), (8, 2), (4, 2)))
    x[1, 2] = np.nan
    actual, expected = run_both("lstm_steps", x, w_hh, h0, h0, np.full(4, 3))
    np.testing.assert_array_equal(np.isnan(actual[0]), np.isnan(expected[0]))
    assert np.isnan(actual[0]).any(axis=(0, 2)).tolist() == [False, False, True, False]


@pytest.mark.parametrize("length", [-1, 4])
def test_a_length_out_of_range_is_reported(length, compiled):
    x, w_hh, h0 = np.zeros((3, 2, 8), np.float32), np.zeros((8, 2), np.float32), np.zeros((2, 2), np.float32)
    outputs = [np.zeros((3, 2, 2), np.float32), np.zeros((3, 2, 2), np.float32), np.zeros((3, 2, 8), np.float32)]
    assert not compiled("lstm_steps", [x, w_hh, h0, h0, np.array([1, length])], outputs, {"reverse": False})
    assert "lstm_steps" in OPS


def test_input_products_of_all_steps_are_one_product(case, run_both):
    """Of a batch that comes first, too, and where results are parts of a larger array."""
    steps, rows, size, normal, _, _, tolerance = case
    x, weight = normal(rows, steps, size).swapaxes(0, 1), normal(3 * size, size)
    attrs = {"transpose_a": False, "transpose_b": True}
    close(run_both("matrix_product", x, weight, **attrs), tolerance)
    (out,) = windows(normal(steps, rows, 3 * size))
    calls = calls_of("matrix_product", Work([x, weight], [out], attrs))
    (found,) = [call.kernel for call in calls if call.kernel in (product, products, short_rows, short_columns)]
    assert (found is products) is (rows >= FEW_ROWS)
