"""Distinct elements and places in sorted rows."""

from __future__ import annotations

import numpy as np
import pytest

from engine.core.errors import ShapeError
from engine.core.modes import tracing
from engine.core.value import Value
from engine.ops import OPS


def test_distinct_elements_come_first_with_their_counts() -> None:
    values, places, counts = OPS["unique_padded"](np.array([[3, 1, 3], [2, 1, 3]]))
    assert values.numpy().tolist() == [1, 2, 3, 3, 3, 3]
    assert places.numpy().tolist() == [[2, 0, 2], [1, 0, 2]]
    assert counts.numpy().tolist() == [2, 1, 3, 0, 0, 0]
    assert [part.shape for part in OPS["unique_padded"](np.zeros((0, 2)))] == [(0,), (0, 2), (0,)]


@pytest.mark.parametrize(("right", "wanted"), [(False, [0, 1, 1, 3, 4]), (True, [0, 1, 3, 3, 4])])
def test_equals_are_on_the_side_asked_for(right: bool, wanted: list[int]) -> None:
    row, values = np.array([1.0, 2.0, 2.0, 3.0]), np.array([0.0, 1.5, 2.0, 2.5, 9.0])
    assert OPS["searchsorted"](row, values, right=right).numpy().tolist() == wanted
    assert OPS["bucketize"](values, row, right=right).numpy().tolist() == wanted


def test_every_row_has_its_own_boundaries() -> None:
    found = OPS["searchsorted"](np.array([[1.0, 2.0], [5.0, 6.0]]), np.array([[1.5, 9.0, 0.0], [5.5, 9.0, 0.0]]))
    assert found.numpy().tolist() == [[1, 2, 0], [1, 2, 0]]


def test_rows_must_match() -> None:
    with pytest.raises(ShapeError, match=r"sorted rows of shape \[2, 3\] must be one row, or agree with .* \[3, 3\]"):
        OPS["searchsorted"](np.ones((2, 3)), np.ones((3, 3)))
    with pytest.raises(ShapeError, match="bucketize needs a vector of boundaries"):
        OPS["bucketize"](np.ones(3), np.ones((1, 3)))


def test_shapes_are_known_before_the_data() -> None:
    with tracing(lambda: pytest.fail("no key is needed")):
        parts = OPS["unique_padded"](Value((2, 3), np.dtype(np.float32), None))
    assert [part.shape for part in parts] == [(6,), (2, 3), (6,)]


def test_distinct_slices_and_runs_of_equals() -> None:
    x = np.array([[3, 1, 3, 3], [2, 1, 2, 2]])
    values, places, counts = OPS["unique"](x, axis=1, return_inverse=True, return_counts=True)
    assert values.numpy().tolist() == [[1, 3], [1, 2]]
    assert (places.numpy().tolist(), counts.numpy().tolist()) == ([1, 0, 1, 1], [1, 3])
    values, counts = OPS["unique_consecutive"](x, axis=1, return_counts=True)
    assert (values.numpy().tolist(), counts.numpy().tolist()) == ([[3, 1, 3], [2, 1, 2]], [1, 1, 2])
    assert OPS["unique"](np.array([1.0, np.nan, np.nan])).shape == (3,)


def test_a_graph_cannot_hold_as_many_as_there_are() -> None:
    with tracing(lambda: pytest.fail("no key is needed")), pytest.raises(ShapeError, match="use unique_padded"):
        OPS["unique"](Value((2,), np.dtype(np.float32), None))


def test_unsorted_boundaries_go_by_their_order() -> None:
    row = np.array([3.0, 1.0, 2.0])
    assert OPS["searchsorted"](row, np.array([1.5, 9.0]), np.array([1, 2, 0])).numpy().tolist() == [1, 3]
    with pytest.raises(ShapeError, match=r"the sorter \[2\] must have the shape of the boundaries \[3\]"):
        OPS["searchsorted"](row, np.ones(2), np.array([1, 2]))
