"""Initialisers: torch.nn.init's bounds and variances, and numbers that depend on seed and name alone."""

import math

import numpy as np
import pytest

import engine
from engine.core.errors import EngineError
from engine.nn.initializers import INITIALIZERS, default_kind, fans, initialize, resolve
from tests.support.rows import each_row

F32 = np.dtype("float32")
SHAPE = (200, 300)
KERNEL = (40, 30, 3, 5)


def draw(kind, shape=SHAPE, name="w", seed=0, **options):
    return initialize({"kind": kind, **options}, name, shape, np.dtype("float64"), seed)


UNIFORM = {
    "uniform": ("uniform", {"low": -2.0, "high": 3.0}, SHAPE, (-2, 3)),
    "xavier": ("xavier_uniform", {}, SHAPE, math.sqrt(6 / 500)),
    "xavier, scaled": ("xavier_uniform", {"scale": 5 / 3}, SHAPE, 5 / 3 * math.sqrt(6 / 500)),
    "kaiming": ("kaiming_uniform", {}, SHAPE, math.sqrt(6 / 300)),
    "kaiming of torch.nn.Linear": ("kaiming_uniform", {"a": math.sqrt(5)}, SHAPE, 1 / math.sqrt(300)),
    "kaiming, fan out": ("kaiming_uniform", {"mode": "fan_out"}, SHAPE, math.sqrt(6 / 200)),
    "kaiming of a kernel": ("kaiming_uniform", {"nonlinearity": "relu"}, KERNEL, math.sqrt(6 / 450)),
    "kaiming of a kernel, fan out": ("kaiming_uniform", {"mode": "fan_out"}, KERNEL, math.sqrt(6 / 600)),
}
NORMAL = {
    "normal": ("normal", {"mean": 1.5, "std": 0.2}, SHAPE, 1.5, 0.2),
    "xavier": ("xavier_normal", {}, SHAPE, 0, math.sqrt(2 / 500)),
    "kaiming": ("kaiming_normal", {}, SHAPE, 0, math.sqrt(2 / 300)),
    "kaiming, linear": ("kaiming_normal", {"nonlinearity": "linear"}, SHAPE, 0, math.sqrt(1 / 300)),
    "kaiming, tanh": ("kaiming_normal", {"nonlinearity": "tanh"}, SHAPE, 0, 5 / 3 / math.sqrt(300)),
    "kaiming, selu": ("kaiming_normal", {"nonlinearity": "selu"}, SHAPE, 0, 0.75 / math.sqrt(300)),
    "kaiming, leaky": ("kaiming_normal", {"a": 0.2}, SHAPE, 0, math.sqrt(2 / 1.04 / 300)),
    "kaiming of a kernel": ("kaiming_normal", {"mode": "fan_out"}, KERNEL, 0, math.sqrt(2 / 600)),
}


@each_row(("kind", "options", "shape", "bound"), UNIFORM.values(), ids=UNIFORM)
def test_a_uniform_start_fills_its_bounds_evenly(kind, options, shape, bound):
    low, high = bound if isinstance(bound, tuple) else (-bound, bound)
    numbers = draw(kind, shape, **options)
    width = high - low
    assert low <= numbers.min() < low + width / 100
    assert high - width / 100 < numbers.max() <= high
    assert numbers.mean() == pytest.approx((low + high) / 2, abs=width / 100)
    assert numbers.var() == pytest.approx(width**2 / 12, rel=0.03)


@each_row(("kind", "options", "shape", "mean", "std"), NORMAL.values(), ids=NORMAL)
def test_a_normal_start_has_its_mean_and_deviation(kind, options, shape, mean, std):
    numbers = draw(kind, shape, **options)
    assert numbers.mean() == pytest.approx(mean, abs=std / 40)
    assert numbers.std() == pytest.approx(std, rel=0.02)
    assert np.mean(np.abs(numbers - mean) < std) == pytest.approx(0.6827, abs=0.01)


def test_truncated_normal_numbers_stay_in_range():
    numbers = draw("truncated_normal", std=2.0, low=-1.0, high=3.0)
    assert -1 <= numbers.min() < -0.98
    assert 2.98 < numbers.max() <= 3
    assert np.median(numbers) == pytest.approx(0.615, abs=0.03)


@each_row("shape", [(5, 5), (7, 3), (3, 7), (4, 2, 3)])
def test_orthogonal_rows_or_columns_are_orthonormal(shape):
    matrix = draw("orthogonal", shape, scale=2.0).reshape(shape[0], -1) / 2
    gram = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-12)


def test_plain_starts():
    np.testing.assert_array_equal(draw("zeros", (2, 3)), np.zeros((2, 3)))
    np.testing.assert_array_equal(draw("ones", ()), 1)
    np.testing.assert_array_equal(draw("constant", (2,), value=-1.5), [-1.5, -1.5])
    np.testing.assert_array_equal(draw("eye", (2, 3)), np.eye(2, 3))


def test_a_convolution_that_starts_as_dirac_passes_on_its_input():
    weight = draw("dirac", (4, 2, 3, 5))
    assert weight.sum() == 2
    assert weight[0, 0, 1, 2] == weight[1, 1, 1, 2] == 1
    grouped = draw("dirac", (6, 2, 3), groups=2)
    assert np.argwhere(grouped).tolist() == [[0, 0, 1], [1, 1, 1], [3, 0, 1], [4, 1, 1]]


@each_row(("rows", "sparsity", "zeros"), [(200, 0.1, 20), (7, 0.5, 4), (5, 0.0, 0), (5, 1.0, 5)])
def test_a_sparse_start_has_as_many_zeros_in_each_column(rows, sparsity, zeros):
    matrix = draw("sparse", (rows, 300), sparsity=sparsity, std=0.5)
    np.testing.assert_array_equal((matrix == 0).sum(axis=0), zeros)
    if rows == 200:
        assert matrix[matrix != 0].std() == pytest.approx(0.5, rel=0.02)
        assert (matrix == 0).sum(axis=1).std() == pytest.approx(math.sqrt(300 * 0.1 * 0.9), rel=0.2)


def test_a_table_can_start_with_a_row_of_zeros():
    table = draw("normal_rows", (300, 200), zero_row=2)
    np.testing.assert_array_equal(table[2], 0)
    assert np.delete(table, 2, axis=0).std() == pytest.approx(1, rel=0.02)


def test_sinusoidal_positions_turn_ever_more_slowly():
    t = np.arange(6.0)
    expected = np.stack([np.sin(t), np.cos(t), np.sin(t / 10), np.cos(t / 10), np.sin(t / 100)], axis=1)
    slow = 10 ** (5 / 2)
    np.testing.assert_allclose(draw("sinusoidal", (6, 5), base=slow), expected, atol=1e-15)


OPTIONS = {"constant": {"value": 2.0}, "sparse": {"sparsity": 0.3}, "normal_rows": {"zero_row": 1}}
SHAPES = {"dirac": (6, 6, 3)}


@each_row("kind", INITIALIZERS)
def test_the_numbers_depend_on_seed_and_name_alone(kind):
    options = OPTIONS.get(kind, {})
    shape = SHAPES.get(kind, (6, 6))
    first = draw(kind, shape, **options)
    np.testing.assert_array_equal(first, draw(kind, shape, **options))
    random = kind not in ("zeros", "ones", "constant", "eye", "dirac", "sinusoidal")
    assert np.array_equal(first, draw(kind, shape, seed=1, **options)) is not random
    assert np.array_equal(first, draw(kind, shape, name="v", **options)) is not random
    half = initialize({"kind": kind, **options}, "w", shape, F32, 0)
    np.testing.assert_array_equal(half, first.astype(np.float32))


def test_adding_a_parameter_changes_no_other():
    def first(parameters):
        definition = engine.parse_graph({"inputs": {"x": [2]}, "parameters": parameters, "program": "y = x @ w"})
        request = {"inputs": {"x": [1, 0]}, "want": ["outputs"], "seed": 4}
        return engine.compute(definition, request)["outputs"]["y"].tolist()

    assert first({"w": [2, 3]}) == first({"a": [2, 2], "w": [2, 3], "z": [2, 2]})


def test_the_default_is_kaiming_for_matrices_and_zero_for_the_rest():
    assert default_kind((2, 3)) == default_kind((1, 1, 1, 1)) == {"kind": "kaiming_uniform"}
    assert default_kind((2,)) == default_kind(()) == {"kind": "zeros"}
    assert fans((5, 4, 3)) == (12, 15)


def test_empty_shapes_are_no_trouble():
    for kind in INITIALIZERS:
        shape = (0, *SHAPES.get(kind, (6, 3))[1:])
        options = {**OPTIONS.get(kind, {}), **({"zero_row": 0} if kind == "normal_rows" else {})}
        assert draw(kind, shape, **options).shape == shape


REFUSED = {
    "no kind": {},
    "an unknown kind": {"kind": "glorot"},
    "a kind of the wrong type": {"kind": 3},
    "an unknown option": {"kind": "uniform", "lo": 1},
    "low above high": {"kind": "uniform", "low": 1.0, "high": 0.0},
    "an infinite range": {"kind": "uniform", "high": math.inf},
    "a range beyond a float": {"kind": "uniform", "low": -1e308, "high": 1e308},
    "an empty range": {"kind": "truncated_normal", "low": 1.0, "high": 1.0},
    "a range far from the mean": {"kind": "truncated_normal", "mean": 9.0},
    "a deviation that leaves the range": {"kind": "truncated_normal", "std": 1e9},
    "no deviation": {"kind": "truncated_normal", "std": 0.0},
    "an unknown mode": {"kind": "kaiming_normal", "mode": "fan"},
    "too few axes": {"kind": "orthogonal"},
    "no identity": {"kind": "eye"},
    "no convolution": {"kind": "dirac"},
    "no matrix to be sparse": {"kind": "sparse", "sparsity": 0.5},
    "no share": {"kind": "sparse"},
    "no such row": {"kind": "normal_rows", "zero_row": 2},
    "no positions": {"kind": "sinusoidal"},
}


@each_row("document", REFUSED.values(), ids=REFUSED)
def test_a_faulty_initializer_is_refused(document):
    with pytest.raises(EngineError):
        resolve(document)[0](np.random.default_rng(0), (2,), **resolve(document)[1])


def test_numbers_beyond_float32_become_infinite_without_a_warning():
    assert np.isinf(initialize({"kind": "constant", "value": 1e300}, "w", (2,), F32, 0)).all()


def test_the_catalogue_describes_every_initializer():
    catalogue = engine.initializer_catalogue()
    assert [entry["kind"] for entry in catalogue] == list(INITIALIZERS)
    assert all(entry["doc"] for entry in catalogue)
