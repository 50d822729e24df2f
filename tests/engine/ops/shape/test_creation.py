"""Creation: values and dtypes of PyTorch, refusals, and constants in a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine.core.errors import AttributeValueError, DTypeError, EngineError, ShapeError
from engine.ops import OPS
from tests.support.rows import each_row

KNOWN: list[tuple[str, dict[str, Any], Any]] = [
    ("full", {"shape": (2,), "value": 3}, np.array([3, 3])),
    ("full", {"shape": (2,), "value": True}, np.array([True, True])),
    ("full", {"shape": (), "value": 1.5}, np.array(1.5, "float32")),
    ("full", {"shape": (1,), "value": 1, "dtype": "float64"}, np.array([1.0])),
    ("zeros", {"shape": (0, 3)}, np.zeros((0, 3), "float32")),
    ("ones", {"shape": (2,), "dtype": "int64"}, np.array([1, 1])),
    ("eye", {"rows": 2, "columns": 3}, np.array([[1, 0, 0], [0, 1, 0]], "float32")),
    ("arange", {"stop": 4}, np.array([0, 1, 2, 3])),
    ("arange", {"start": 5, "stop": 0, "step": -2}, np.array([5, 3, 1])),
    ("arange", {"start": 2, "stop": 2}, np.zeros(0, "int64")),
    ("arange", {"start": 3, "stop": 1}, np.zeros(0, "int64")),
    ("arange", {"start": 0.0, "stop": 1.0, "step": 0.25}, np.array([0, 0.25, 0.5, 0.75], "float32")),
    ("linspace", {"start": -1.0, "stop": 1.0, "steps": 5}, np.array([-1, -0.5, 0, 0.5, 1], "float32")),
    ("linspace", {"start": 3.0, "stop": 4.0, "steps": 1}, np.array([3], "float32")),
    ("linspace", {"start": 3.0, "stop": 4.0, "steps": 0}, np.zeros(0, "float32")),
]


@each_row(("name", "attrs", "wanted"), KNOWN)
def test_known_answers(name: str, attrs: dict[str, Any], wanted: Any) -> None:
    result = OPS[name](**attrs)
    assert result.spec == (wanted.shape, wanted.dtype)
    assert not result.requires_grad
    np.testing.assert_array_equal(result.numpy(), wanted)


@each_row(
    ("name", "attrs", "error", "message"),
    [
        ("full", {"shape": (-1,), "value": 0}, ShapeError, r"full: shape \[-1\] may hold no negative extent"),
        ("zeros", {"shape": (2, -3)}, ShapeError, r"zeros: shape \[2, -3\]"),
        ("eye", {"rows": -1}, ShapeError, "eye: shape"),
        ("arange", {"stop": 3, "step": 0}, AttributeValueError, "step not 0"),
        ("arange", {"stop": float("inf")}, AttributeValueError, "must be finite"),
        ("arange", {"stop": 1e300, "step": 1e-300}, AttributeValueError, "step 1e-300 is too small"),
        ("linspace", {"start": 0.0, "stop": 1.0, "steps": 2, "dtype": "int64"}, DTypeError, "use arange"),
    ],
)
def test_bad_attributes_are_refused(name: str, attrs: dict[str, Any], error: type[EngineError], message: str) -> None:
    with pytest.raises(error, match=message):
        OPS[name](**attrs)


def test_a_created_value_serves_in_a_graph_and_is_held_to_its_limits() -> None:
    document = {"inputs": {"x": ["batch", 3]}, "program": "y = x + arange(stop=3)"}
    answer = engine.compute(engine.parse_graph(document), {"inputs": {"x": [[1.0, 1, 1]]}, "want": ["outputs"]})
    np.testing.assert_array_equal(answer["outputs"]["y"], [[1, 2, 3]])
    with pytest.raises(engine.DocumentError, match="more than 2147483648 elements"):
        engine.parse_graph({"inputs": {"x": [3]}, "program": "y = mean(zeros(shape=[1000000, 1000000]))"})
