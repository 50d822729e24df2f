"""CTC: the sum over all alignments, PyTorch's edges, refusals."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy import inf

from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.core.value import Array
from engine.ops.activation.softmax import log_softmax
from engine.ops.loss.ctc import ctc_loss
from tests.support.rows import each_row

Derive = Callable[..., tuple[Array, list[Array | None]]]

UNIFORM = np.full((3, 1, 4), -np.log(4))

# (steps, label, attributes, loss) over four equally likely classes, as in PyTorch 2.13.
EDGES = [
    (3, [1, 1], {}, 2.0794415416798357),
    (3, [1, 1], {"reduction": "sum"}, 4.1588830833596715),
    (2, [1, 1], {}, inf),
    (2, [1, 1], {"zero_infinity": True}, 0.0),
    (3, [], {}, 4.1588830833596715),
    (0, [], {}, 0.0),
    (0, [1], {}, inf),
]


@each_row(("steps", "label", "attrs", "loss"), EDGES)
def test_the_loss_is_pytorchs_at_the_edges(steps: int, label: list[int], attrs: dict[str, Any], loss: float) -> None:
    result = ctc_loss(UNIFORM, np.array([label], np.int64), np.array([steps]), np.array([len(label)]), **attrs)
    assert result.item() == pytest.approx(loss, rel=1e-14)


def test_an_impossible_label_gives_no_gradient_with_zero_infinity(derive: Derive) -> None:
    lengths = np.array([2, 3]), np.array([2, 1])
    x = np.random.default_rng(0).standard_normal((3, 2, 4))
    _, (gradient, *_) = derive(ctc_loss, x, np.array([[1, 1], [2, 0]]), *lengths, zero_infinity=True)
    assert gradient is not None
    assert not gradient[:, 0].any()
    assert np.isfinite(gradient[:, 1]).all()


def read(path: tuple[int, ...], blank: int) -> list[int]:
    """The label that an alignment spells: repeats are one, blanks nothing."""
    merged = [c for n, c in enumerate(path) if n == 0 or c != path[n - 1]]
    return [c for c in merged if c != blank]


@each_row("blank", [0, 2])
@each_row("label", [[], [1], [1, 1], [1, 3], [3, 1, 3]])
def test_the_likelihood_is_the_sum_over_all_alignments(derive: Derive, label: list[int], blank: int) -> None:
    x = log_softmax(np.random.default_rng(1).standard_normal((5, 4))).numpy()
    paths = [path for path in product(range(4), repeat=5) if read(path, blank) == label]
    chances = np.array([np.exp(sum(x[t, c] for t, c in enumerate(path))) for path in paths])
    lengths = np.array(5), np.array(len(label))
    target = np.array(label, np.int64)
    loss, (gradient, *_) = derive(ctc_loss, x, target, *lengths, blank=blank, reduction="none")
    assert loss == pytest.approx(-np.log(chances.sum()), rel=1e-12)
    expected = np.zeros((5, 4))
    for path, chance in zip(paths, chances, strict=True):
        expected[np.arange(5), path] -= chance / chances.sum()
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-14)


def test_targets_may_lie_one_after_another(derive: Derive) -> None:
    x = np.random.default_rng(2).standard_normal((6, 3, 4))
    lengths = np.array([6, 4, 5]), np.array([2, 0, 3])
    padded = np.array([[1, 2, 0], [3, 3, 3], [3, 1, 1]])
    rows, (first, *_) = derive(ctc_loss, x, padded, *lengths)
    joined, (second, *_) = derive(ctc_loss, x, np.array([1, 2, 3, 1, 1]), *lengths)
    assert rows == joined
    np.testing.assert_array_equal(first, second)


REFUSED = [
    ([[1, 1]], [4], [2], {}, ShapeError, "input length 4 is out of range; use 0..3"),
    ([[1, 1]], [3], [3], {}, ShapeError, "target length 3 is out of range; use 0..2"),
    ([[1, 4]], [3], [2], {}, ShapeError, "label 4 is out of range for 4 classes"),
    ([1, 1, 1], [3], [2], {}, ShapeError, "add up to 2, not to 3"),
    ([[1, 1], [1, 1]], [3], [2], {}, ShapeError, r"must have the shape \[1, longest\]"),
    ([[1, 1]], [3, 3], [2], {}, ShapeError, "one number for each of 1 rows"),
    ([[1.0, 1.0]], [3], [2], {}, DTypeError, "integer targets"),
    ([[1, 1]], [3], [2], {"blank": 4}, AttributeValueError, "blank 4 must be one of the classes 0..3"),
]


@each_row(("targets", "steps", "lengths", "attrs", "error", "message"), REFUSED)
def test_what_does_not_fit_is_refused(
    targets: Any, steps: Any, lengths: Any, attrs: Any, error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        ctc_loss(UNIFORM, np.array(targets), np.array(steps), np.array(lengths), **attrs)
