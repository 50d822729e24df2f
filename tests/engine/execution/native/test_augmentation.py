"""Augmentation: compiled kernels and NumPy draw and move the same numbers, to the bit."""

import numpy as np
import pytest

from tests.support.rows import each_row

KEYS = [np.array(key) for key in ([0, 0], [1, 2], [-1, 2**62], [2**63 - 1, -(2**63)])]
DRAWS = [
    ("random_affine_maps", {"rows": 500, "size": (28, 32), "degrees": (-190.0, 200.0), "scale": (0.37, 2.9)}),
    ("random_affine_maps", {"rows": 500, "size": (7, 1), "top": (-3, 5), "left": (0, 8)}),
    ("random_affine_maps", {"rows": 0, "size": (7, 1)}),
    ("random_boxes", {"rows": 500, "size": (28, 32)}),
    ("random_boxes", {"rows": 500, "size": (5, 1), "p": 1.0, "scale": (0.0, 1.0), "ratio": (0.001, 1000.0)}),
    ("random_spans", {"rows": 500, "extent": 100, "longest": 27, "p": 0.9}),
    ("random_spans", {"rows": 3, "extent": 0, "longest": 0}),
]


@each_row(("name", "attrs"), DRAWS)
def test_draws(name, attrs, run_both):
    for key in KEYS:
        actual, expected = run_both(name, key, **attrs)
        np.testing.assert_array_equal(actual[0], expected[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
@each_row("size", [(9, 7), (4, 11), (1, 1)])
def test_sampling_and_its_transpose(size, interpolation, dtype, run_both):
    generator = np.random.default_rng(0)
    images = generator.standard_normal((5, 3, 9, 7)).astype(dtype)
    results = generator.standard_normal((5, 3, *size)).astype(dtype)
    maps = generator.integers(-(2**33), 2**33, (5, 2, 3))
    maps[:, :, 2] *= 4
    actual, expected = run_both("affine_sample", images, maps, size=size, interpolation=interpolation, fill=0.3)
    assert actual[0].tobytes() == expected[0].tobytes()
    assert (actual[0] != dtype(0.3)).any()
    actual, expected = run_both("affine_sample_back", results, maps, size=(9, 7), interpolation=interpolation)
    assert actual[0].tobytes() == expected[0].tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_erasing(dtype, run_both):
    x = np.random.default_rng(0).standard_normal((4, 3, 6, 5)).astype(dtype)
    boxes = np.array([[0, 0, 0, 0], [1, 4, 0, 5], [-2, 3, 4, 9], [5, 2, 3, 1]])
    actual, expected = run_both("erase_boxes", x, boxes, value=2.5)
    np.testing.assert_array_equal(actual[0], expected[0])
