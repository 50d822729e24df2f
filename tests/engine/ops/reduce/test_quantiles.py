"""Quantiles: interpolation, NaN, infinities, lists of shares, gradients and refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.ops import OPS
from tests.support.rows import each_row

CheckEdge = Callable[..., None]
INF, NAN = math.inf, math.nan
ROW = [7.0, 1.0, 5.0, 2.0]

# op, inputs, attributes, value, gradient of the sum of the result by each input
EDGES: list[tuple[str, list[Any], dict[str, Any], Any, list[Any]]] = [
    ("quantile", [ROW], {"q": 0.25}, 1.75, [[0, 0.25, 0, 0.75]]),
    ("quantile", [ROW], {"q": 0.25, "interpolation": "lower"}, 1, [[0, 1, 0, 0]]),
    ("quantile", [ROW], {"q": 0.25, "interpolation": "higher"}, 2, [[0, 0, 0, 1]]),
    ("quantile", [ROW], {"q": 0.25, "interpolation": "midpoint"}, 1.5, [[0, 0.5, 0, 0.5]]),
    ("quantile", [ROW], {"q": 0.25, "interpolation": "nearest"}, 2, [[0, 0, 0, 1]]),
    ("quantile", [ROW], {"q": 0.5, "interpolation": "nearest"}, 5, [[0, 0, 1, 0]]),
    ("quantile", [ROW], {"q": (0.0, 1.0)}, [1, 7], [[1, 1, 0, 0]]),
    ("quantile", [3.0], {"q": (0.2,)}, [3], [1]),
    ("quantile", [[1.0, NAN, 2.0]], {"q": 0.0}, NAN, []),
    ("quantile", [[-INF, 2.0, INF]], {"q": (0.0, 0.25, 0.5, 0.75, 1.0)}, [-INF, -INF, 2, INF, INF], []),
    ("nanquantile", [[1.0, NAN, 3.0]], {"q": 0.25}, 1.5, [[0.75, 0, 0.25]]),
    ("nanquantile", [[[1.0, NAN], [NAN, NAN]]], {"q": 0.5, "axis": 1}, [1, NAN], []),
]


@each_row(("name", "inputs", "attrs", "value", "gradients"), EDGES)
def test_answers_are_known(
    name: str, inputs: list[Any], attrs: dict[str, Any], value: Any, gradients: list[Any], check_edge: CheckEdge
) -> None:
    check_edge(name, inputs, attrs, value, gradients)


@each_row("method", ["linear", "lower", "higher", "midpoint", "nearest"])
@each_row("axis", [None, 0, 1, -1])
@each_row("keepdims", [False, True])
def test_values_and_shapes_are_those_of_numpy(method: str, axis: int | None, keepdims: bool) -> None:
    x = np.random.default_rng(0).standard_normal((3, 5, 2))
    for q in (0.3, (0.0, 0.1, 0.8)):
        actual = OPS["quantile"](x, q=q, axis=axis, keepdims=keepdims, interpolation=method).numpy()
        wanted = np.quantile(x, q, axis=axis, keepdims=keepdims, method=method)
        np.testing.assert_allclose(actual, wanted, rtol=1e-13)


def test_half_types_are_interpolated_in_float32() -> None:
    x = np.array([1.0, 2.0], np.float16)
    actual = OPS["quantile"](x, q=0.3)
    assert actual.dtype == np.float16
    assert actual.numpy() == np.float16(1.3)


REFUSED: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (ROW, {"q": 1.5}, AttributeValueError, r"quantile: q 1.5 must be in 0..1"),
    (ROW, {"q": (0.5, -0.1)}, AttributeValueError, r"quantile: q -0.1 must be in 0..1"),
    (np.ones((2, 0)), {"q": 0.5, "axis": 1}, ShapeError, "no identity element"),
    (np.array([1, 2]), {"q": 0.5}, DTypeError, "quantile needs floating inputs, got int64"),
]


@each_row(("x", "attrs", "error", "message"), REFUSED)
def test_what_has_no_quantile_is_refused(x: Any, attrs: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        OPS["quantile"](np.asarray(x), **attrs)
