"""Adaptive and power-mean pooling, columns of windows, normalisation of images: known answers and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine.core.errors import EngineError
from engine.core.value import tensor
from engine.ops import OPS
from tests.support.rows import each_row

LINE = np.array([[3.0, 1, 4, 1, 5]])
KNOWN: list[tuple[str, list[Any], dict[str, Any], Any]] = [
    ("adaptive_avg_pool1d", [LINE], {"output_size": 2}, [[8 / 3, 10 / 3]]),
    ("adaptive_max_pool1d", [LINE], {"output_size": 3}, [[3, 4, 5]]),
    ("adaptive_max_pool1d", [LINE[:, :2]], {"output_size": 4}, [[3, 3, 1, 1]]),
    ("adaptive_max_pool1d", [np.array([[1.0, np.nan, 2]])], {"output_size": 1}, [[np.nan]]),
    ("adaptive_avg_pool2d", [np.arange(4.0).reshape(1, 2, 2)], {"output_size": (1, 2)}, [[[1, 2]]]),
    ("adaptive_max_pool2d", [np.arange(4.0).reshape(1, 2, 2)], {"output_size": (2, 1)}, [[[1], [3]]]),
    ("adaptive_avg_pool3d", [np.arange(8.0).reshape(1, 2, 2, 2)], {"output_size": 1}, [[[[3.5]]]]),
    ("adaptive_max_pool3d", [np.arange(8.0).reshape(1, 2, 2, 2)], {"output_size": 1}, [[[[7]]]]),
    ("lp_pool1d", [np.array([[3.0, 4, 0, 0]])], {"kernel": 2}, [[5, 0]]),
    ("lp_pool1d", [LINE], {"kernel": 2, "p": 1.0, "stride": 1}, [[4, 5, 5, 6]]),
    ("lp_pool2d", [np.full((1, 2, 2), 2.0)], {"kernel": 2, "p": 3.0}, [[[32 ** (1 / 3)]]]),
    ("im2col", [np.arange(4.0).reshape(1, 1, 4)], {"kernel": 2, "padding": 1}, [[[0, 0, 1, 2, 3], [0, 1, 2, 3, 0]]]),
    ("col2im", [np.ones((1, 2, 3))], {"size": (4,), "kernel": 2}, [[[1, 2, 2, 1]]]),
    ("group_norm", [[[1.0, 3, 5, 5]]], {"groups": 2, "eps": 0.0}, [[-1, 1, np.nan, np.nan]]),
    ("group_norm", [[[5.0, 5]]], {"groups": 1}, [[0, 0]]),
    ("instance_norm", [[[[1.0, 3], [2, 6]]], [1.0, 2], [0.0, 1]], {"eps": 0.0}, [[[-1, 1], [-1, 3]]]),
    (
        "local_response_norm",
        [[[[1.0], [2], [3]]]],
        {"size": 3, "alpha": 3.0, "beta": 1.0},
        [[[1 / 6], [2 / 15], [3 / 14]]],
    ),
    ("local_response_norm", [[[[1.0], [2]]]], {"size": 100, "alpha": 100.0, "beta": 1.0}, [[[1 / 6], [2 / 6]]]),
]


@each_row(("name", "inputs", "attrs", "wanted"), KNOWN)
def test_known_answers(name: str, inputs: list[Any], attrs: dict[str, Any], wanted: Any) -> None:
    result = OPS[name](*inputs, **attrs)
    assert result.shape == np.shape(wanted)
    np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-6)


def test_of_ties_the_first_in_row_major_order_gets_the_gradient() -> None:
    x = tensor(np.array([[[1.0, 3, 3], [3, 3, 1]]]), requires_grad=True)
    OPS["adaptive_max_pool2d"](x, output_size=1).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[[0, 1, 0], [0, 0, 0]]])


def test_a_power_mean_of_zeros_has_gradient_zero() -> None:
    x = tensor(np.zeros((1, 4)), requires_grad=True)
    OPS["lp_pool1d"](x, kernel=2).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.zeros((1, 4)))


def test_a_huge_result_is_not_built_to_be_refused() -> None:
    document = {"inputs": {"x": [1, 1, 4, 4]}, "program": "y = adaptive_avg_pool2d(x, output_size=1000000000)"}
    with pytest.raises(engine.DocumentError, match="more than"):
        engine.parse_graph(document)


REFUSED: list[tuple[str, tuple[int, ...], dict[str, Any], str]] = [
    ("adaptive_max_pool1d", (1, 2, 3, 4), {"output_size": 2}, r"with 1 spatial axes, got \[1, 2, 3, 4\]"),
    ("adaptive_avg_pool1d", (1, 1, 0), {"output_size": 2}, "both extents must be at least 1"),
    ("lp_pool2d", (1, 1, 4, 4), {"kernel": 5}, "spans"),
    ("im2col", (1, 4), {"kernel": 2}, r"needs images \[N, C, \*spatial\], got \[1, 4\]"),
    ("im2col", (1, 1, 4), {"kernel": 7, "padding": 1}, "more than the padded input"),
    ("col2im", (1, 2, 3), {"size": (5,), "kernel": 2}, r"are not those of images \[1, 1, 5\], which are \[1, 2, 4\]"),
    ("col2im", (1, 2, 3), {"size": (), "kernel": 2}, "1 to 3 spatial axes, got 0"),
    ("group_norm", (2, 4, 3), {"groups": 3}, r"groups 3 must divide the channels .* \[2, 4, 3\]"),
    ("group_norm", (1, 2), {"groups": 2}, "expected more than 1 value per channel"),
    ("instance_norm", (2, 4, 1), {}, "expected more than 1 spatial element"),
    ("local_response_norm", (2, 4), {"size": 3}, r"needs an input \[N, C, \*spatial\], got \[2, 4\]"),
]


@each_row(("name", "shape", "attrs", "message"), REFUSED)
def test_errors_name_the_numbers(name: str, shape: tuple[int, ...], attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        OPS[name](np.ones(shape), **attrs)
