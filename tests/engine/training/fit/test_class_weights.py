"""Weights of classes that a recipe gives to the loss of a graph."""

import numpy as np
import pytest

import engine
from tests.support.rows import each_row

LABELS = np.array([0, 0, 0, 1, 1, 2, 0, 0])
X = np.sin(np.arange(24.0)).reshape(8, 3)
INPUTS = {"x": ["n", 3], "label": {"shape": ["n"], "dtype": "int64"}}
WEIGHT = {"w": {"shape": [3, 3], "init": "normal"}}
PLAIN = {"inputs": INPUTS, "parameters": WEIGHT, "program": "loss = cross_entropy(x @ w, label)"}


def losses(document, **recipe):
    """The losses of a fit by whole batches."""
    recipe = engine.read_recipe({"epochs": 2, "batch_size": 8, "shuffle": False, "precision": "float64", **recipe})
    fit = engine.Fit(engine.parse_graph(document), recipe, {"x": X, "label": LABELS})
    return [point.values["loss"] for point in fit]


@pytest.mark.parametrize(
    ("weights", "factors"), [([1.0, 2.0, 0.0], [1.0, 2.0, 0.0]), ("balanced", [8 / 15, 8 / 6, 8 / 3])], ids=str
)
def test_they_are_those_of_a_graph_that_has_them(weights, factors):
    document = {**PLAIN, "constants": {"k": factors}, "program": "loss = cross_entropy(x @ w, label, k)"}
    assert losses(PLAIN, class_weights=weights) == pytest.approx(losses(document), rel=1e-6)
    assert losses(PLAIN, class_weights=weights) != losses(PLAIN)


def test_balanced_weights_count_the_rows_to_train_on_alone():
    recipe = {"class_weights": "balanced", "validation": {"split": 0.25, "order": "last"}, "epochs": 1}
    definition = engine.parse_graph(PLAIN)
    fit = engine.Fit(definition, engine.read_recipe(recipe), {"x": X, "label": LABELS})
    np.testing.assert_allclose(fit.definition.constants["class_weights"], [6 / 9, 6 / 6, 6 / 3], rtol=1e-6)


def test_ignored_labels_are_no_class():
    document = {**PLAIN, "program": "loss = cross_entropy(x @ w, label, ignore_index=0)"}
    fit = engine.Fit(
        engine.parse_graph(document),
        engine.read_recipe({"epochs": 1, "class_weights": "balanced"}),
        {"x": X, "label": LABELS},
    )
    np.testing.assert_allclose(fit.definition.constants["class_weights"], [0, 3 / 4, 3 / 2], rtol=1e-6)


REFUSED = {
    "no loss of classes": ({**PLAIN, "program": "loss = mean(x @ w)"}, [1.0, 1.0, 1.0], "one loss of classes"),
    "two of them": (
        {**PLAIN, "program": "a = cross_entropy(x @ w, label)\nb = cross_entropy(x, label)", "losses": ["a", "b"]},
        "balanced",
        "it has 2",
    ),
    "weights of its own": (
        {**PLAIN, "constants": {"k": [1.0, 1.0, 1.0]}, "program": "loss = cross_entropy(x @ w, label, k)"},
        "balanced",
        "weights of its own",
    ),
    "too few": (PLAIN, [1.0, 2.0], "must be 3 numbers"),
    "computed labels": ({**PLAIN, "program": "loss = cross_entropy(x @ w, label * 1)"}, "balanced", "computed"),
    "the name": ({**PLAIN, "parameters": {**WEIGHT, "class_weights": [1]}}, "balanced", "another name"),
}


@each_row(("document", "weights", "detail"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_weighed_is_refused(document, weights, detail):
    with pytest.raises(engine.DocumentError, match=detail) as caught:
        losses(document, class_weights=weights)
    assert [finding.pointer for finding in caught.value.findings] == ["/class_weights"]


@each_row("weights", [[1.0, -1.0, 1.0], [1.0, float("inf"), 1.0], "heavy", 3])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(engine.DocumentError) as caught:
        engine.read_recipe({"epochs": 1, "class_weights": weights})
    assert [finding.pointer for finding in caught.value.findings] == ["/class_weights"]
