"""Mixup: examples and targets are mixed in the same proportions, as an op and as a layer in front of a loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine.core.errors import EngineError, ShapeError
from engine.core.value import Array
from engine.ops import OPS
from tests.support.rows import each_row

KEY = np.array([5, 6])
ROWS, CLASSES = 400, 5
DIGITS = np.random.default_rng(0).integers(0, CLASSES, ROWS)
X = np.eye(CLASSES)[DIGITS]


@each_row("target", [DIGITS, X])
def test_what_is_mixed_into_an_example_is_mixed_into_its_target(target: Array) -> None:
    mixed, targets = OPS["mixup"](X, target, KEY, alpha=0.5, classes=CLASSES, training=True)
    np.testing.assert_array_equal(mixed.numpy(), targets.numpy())
    np.testing.assert_allclose(mixed.numpy().sum(axis=1), 1, rtol=1e-12)
    following = np.roll(X, -1, axis=0)
    assert ((mixed.numpy() > 0) <= (X + following > 0)).all()
    shares = (mixed.numpy() * X).sum(axis=1)[(following != X).any(axis=1)]
    assert shares.mean() == pytest.approx(0.5, abs=0.1)
    assert shares.std() == pytest.approx(np.sqrt(1 / 8), abs=0.05)


def test_outside_of_training_targets_become_probabilities_and_nothing_is_mixed() -> None:
    mixed, targets = OPS["mixup"](X, DIGITS, KEY, classes=CLASSES, training=False)
    np.testing.assert_array_equal(mixed.numpy(), X)
    np.testing.assert_array_equal(targets.numpy(), X)


def graph(*layers: Any) -> dict[str, Any]:
    return {
        "inputs": {"x": ["batch", CLASSES], "y": {"shape": ["batch"], "dtype": "int64"}},
        "layers": [*layers, {"layer": "linear", "units": CLASSES}],
        "loss": {"kind": "cross_entropy"},
    }


def rows_of(split: str, *layers: Any) -> list[Any]:
    """Return the metrics of a fit, of one split."""
    recipe = {
        "epochs": 2, "batch_size": 40, "optimizer": "adam", "metrics": ["accuracy"], "validation": {"split": 0.2},
        "seed": 3,
    }  # fmt: skip
    fit = engine.Fit(engine.parse_graph(graph(*layers)), engine.read_recipe(recipe), {"x": X, "y": DIGITS})
    return [point.values for point in fit if point.split == split]


def test_the_loss_behind_the_layer_takes_the_mixed_target_in_training_only() -> None:
    mixup = {"layer": "mixup", "target": "y", "classes": CLASSES, "alpha": 1.0}
    assert rows_of("train", mixup) != rows_of("train")
    untrained = [engine.parse_graph(graph(*layers)) for layers in ((), (mixup,))]
    request = {"inputs": {"x": X.tolist(), "y": DIGITS.tolist()}, "want": ["outputs"], "training": False}
    first, second = (engine.compute(definition, request)["losses"]["loss"] for definition in untrained)
    assert second == pytest.approx(first, rel=1e-6)


REFUSED = [
    (X, DIGITS, {}, ShapeError, "needs `classes`, their number"),
    (X, DIGITS[:3], {"classes": CLASSES}, ShapeError, r"a target for each, got \[400, 5\] and \[3\]"),
]


@each_row(("x", "target", "attrs", "error", "message"), REFUSED)
def test_what_makes_no_sense_is_refused(
    x: Array, target: Array, attrs: dict[str, float], error: type[EngineError], message: str
) -> None:
    with pytest.raises(error, match=message):
        OPS["mixup"](x, target, KEY, training=True, **attrs)
