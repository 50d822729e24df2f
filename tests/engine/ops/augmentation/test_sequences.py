"""Masking of sequences: spans of an axis, and steps; each sequence by a draw of its own, in training only."""

from __future__ import annotations

import numpy as np
import pytest

from engine.core.errors import AttributeValueError, EngineError, ShapeError
from engine.core.value import Array
from engine.ops import OPS
from tests.support.rows import each_row

KEY = np.array([5, 6])
ROWS = 400
X = np.ones((ROWS, 9, 4), np.float32)
TOKENS = np.arange(1, ROWS * 9 + 1).reshape(ROWS, 9)


@each_row(("axis", "p"), [(1, 1.0), (1, 0.5), (-1, 1.0)])
def test_a_span_of_an_axis_is_masked(axis: int, p: float) -> None:
    created = OPS["time_masking"](X, KEY, longest=3, axis=axis, p=p, value=-1.0, training=True).numpy()
    masked = np.moveaxis(created, axis, 1) == -1
    steps = masked.all(axis=2)
    assert (masked.any(axis=2) == steps).all()
    lengths = steps.sum(axis=1)
    assert set(lengths) == {0, 1, 2, 3}
    assert (lengths > 0).mean() == pytest.approx(p * 3 / 4, abs=5 / np.sqrt(ROWS) / 2)
    edges = np.diff(steps.astype(int), prepend=0, append=0, axis=1)
    assert ((edges == 1).sum(axis=1) == (lengths > 0)).all()
    assert steps.any(axis=0).all()


@each_row(("x", "value"), [(X, 0.5), (TOKENS, 0.0)])
def test_steps_are_masked_with_their_probability(x: Array, value: float) -> None:
    created = OPS["random_masking"](x, KEY, p=0.3, value=value, training=True).numpy()
    assert created.dtype == x.dtype
    masked = (created == value).reshape(ROWS, 9, -1)
    assert (masked.all(axis=2) == masked.any(axis=2)).all()
    np.testing.assert_array_equal(created[created != value], x[created != value])
    assert masked.mean() == pytest.approx(0.3, abs=5 * np.sqrt(0.21 / (ROWS * 9)))


@each_row(("op", "attrs"), [("time_masking", {"longest": 3}), ("random_masking", {})])
def test_outside_of_training_sequences_are_left_as_they_are(op: str, attrs: dict[str, int]) -> None:
    np.testing.assert_array_equal(OPS[op](X, KEY, training=False, **attrs).numpy(), X)


REFUSED = [
    ("time_masking", X, {"longest": 10}, AttributeValueError, "longest 10 exceeds 9, the extent of axis 1"),
    ("time_masking", X, {"longest": 1, "axis": 0}, AttributeValueError, "axis 0 holds the sequences"),
    ("time_masking", X[:, 0, 0], {"longest": 1}, ShapeError, r"needs sequences \[N, T, ...\], got \[400\]"),
    ("random_masking", TOKENS, {"value": 0.5}, AttributeValueError, "value 0.5 must be whole"),
]


@each_row(("op", "x", "attrs", "error", "message"), REFUSED)
def test_what_makes_no_sense_is_refused(
    op: str, x: Array, attrs: dict[str, float], error: type[EngineError], message: str
) -> None:
    with pytest.raises(error, match=message):
        OPS[op](x, KEY, training=True, **attrs)
