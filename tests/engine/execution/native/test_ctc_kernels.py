"""Compiled CTC against NumPy's: lengths of all kinds, targets in rows and one after the other, refusals."""

from __future__ import annotations

import numpy as np

from engine.core.value import Array
from tests.engine.execution.native.conftest import Compiled, RunBoth
from tests.support.rows import each_row

TOLERANCE = {"float32": 2e-5, "float64": 1e-12}
LENGTHS = np.array([9, 9, 7, 3, 9, 0, 0]), np.array([4, 0, 3, 2, 1, 0, 2])
LABELS = np.array([[1, 1, 2, 3], [0, 0, 0, 0], [3, 4, 3, 0], [2, 2, 0, 0], [4, 0, 0, 0], [0, 0, 0, 0], [1, 2, 0, 0]])
ONE_AFTER_THE_OTHER = np.concatenate([row[:length] for row, length in zip(LABELS, LENGTHS[1], strict=True)])


def drawn(dtype: str) -> Array:
    """Draw logarithms of probabilities of 5 classes, [9 steps, 7 rows, 5], the rows in front in memory."""
    x = np.random.default_rng(0).standard_normal((7, 9, 5)).swapaxes(0, 1)
    return np.asarray(x - np.log(np.exp(x).sum(-1, keepdims=True)), dtype)


@each_row("dtype", TOLERANCE)
@each_row("blank", [0, 4])
@each_row("targets", {"rows": LABELS, "one after the other": ONE_AFTER_THE_OTHER}.items())
def test_losses_and_gradients_are_those_of_numpy(
    targets: tuple[str, Array], blank: int, dtype: str, run_both: RunBoth
) -> None:
    operands = (drawn(dtype), targets[1], *LENGTHS)
    (losses,), (wanted,) = run_both("ctc_losses", *operands, blank=blank)
    np.testing.assert_allclose(losses, wanted, rtol=TOLERANCE[dtype])
    g = np.where(np.isinf(wanted), 0, np.linspace(0.5, 2, 7)).astype(dtype)
    (gradient,), (expected,) = run_both("ctc_losses_backward", g, *operands, blank=blank)
    np.testing.assert_allclose(gradient, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@each_row("place", ["too many steps", "too many labels", "no class", "total"])
def test_invalid_operands_are_reported(place: str, compiled: Compiled) -> None:
    given, lengths = (each.copy() for each in LENGTHS)
    targets = LABELS.copy()
    if place == "too many steps":
        given[3] = 10
    elif place == "too many labels":
        lengths[3] = 5
    elif place == "no class":
        targets[2, 1] = 5
    else:
        targets = ONE_AFTER_THE_OTHER[:-1].copy()
    x, attrs = drawn("float64"), {"blank": 0}
    assert not compiled("ctc_losses", [x, targets, given, lengths], [np.zeros(7)], attrs)
    g, out = np.ones(7), np.zeros(x.shape)
    assert not compiled("ctc_losses_backward", [g, x, targets, given, lengths], [out], attrs)
