"""What metrics say of small sets of predictions: as scikit-learn and PyTorch, however the rows are cut into batches."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from engine.core.value import Array
from engine.training.metrics.table import METRICS
from tests.extent import paired

pytestmark = pytest.mark.law

GOLDEN: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "golden" / "metrics.json").read_text())
BATCHES = [(1000,), (7, 1, 13), (1,) * 6]
PRECISIONS = ["float32", "float64"]


def of(case: dict[str, Any], precision: str) -> tuple[Array, Array]:
    targets = np.asarray(case["targets"])
    return np.asarray(case["predictions"], precision), targets if targets.dtype.kind == "i" else targets.astype(
        precision
    )


@pytest.mark.parametrize(("batches", "precision"), [*paired(BATCHES[:2], PRECISIONS)], ids=str)
@pytest.mark.parametrize("case", GOLDEN.values(), ids=GOLDEN)
def test_metrics_are_those_of_scikit_learn_and_pytorch(measure, case, batches, precision):
    predictions, targets = of(case, precision)
    documents = [{**entry["document"], "name": f"m{number}"} for number, entry in enumerate(case["metrics"])]
    values = measure(documents, case["loss"], predictions, targets, batches)
    wanted = {
        f"m{number}/{name.partition('/')[2]}" if "/" in name else f"m{number}": value
        for number, entry in enumerate(case["metrics"])
        for name, value in entry["values"].items()
    }
    assert values.keys() == wanted.keys()
    found, right = list(values.values()), [wanted[name] for name in values]
    assert_allclose(found, right, rtol=1e-12 if precision == "float64" else 2e-7, err_msg=str([*values]))


def test_every_metric_has_a_golden_value():
    assert {entry["document"]["kind"] for case in GOLDEN.values() for entry in case["metrics"]} == set(METRICS)


@pytest.mark.parametrize("case", GOLDEN.values(), ids=GOLDEN)
def test_the_metrics_of_batches_are_those_of_all_rows_at_once(measure, case):
    predictions, targets = of(case, "float64")
    documents = list({entry["document"]["kind"]: entry["document"] for entry in case["metrics"]}.values())
    whole, *cut = (measure(documents, case["loss"], predictions, targets, batches) for batches in BATCHES)
    for values in cut:
        assert values.keys() == whole.keys()
        assert_allclose(list(values.values()), list(whole.values()), rtol=1e-13)


@pytest.mark.parametrize("shape", [(12, 3), (12, 3, 2), (3, 4, 2, 2)], ids=str)
def test_classes_lie_on_axis_one_and_every_place_is_a_row(measure, shape):
    generator = np.random.default_rng(5)
    logits, targets = generator.normal(size=shape), generator.integers(0, shape[1], (shape[0], *shape[2:]))
    rows, flat = np.moveaxis(logits, 1, -1).reshape(-1, shape[1]), targets.reshape(-1)
    documents = ["accuracy", {"kind": "top_k_accuracy", "k": 2}, "f1", "auc", "perplexity"]
    values = measure(documents, "cross_entropy", logits, targets, (2, 1))
    assert values == pytest.approx(measure(documents, "cross_entropy", rows, flat, (5,)), rel=1e-13)


@pytest.mark.parametrize("ignore_index", [-100, 1])
def test_rows_that_the_loss_leaves_out_count_for_nothing(measure, ignore_index):
    generator = np.random.default_rng(6)
    logits, targets = generator.normal(size=(20, 3)), generator.integers(0, 3, 20)
    targets[::3] = ignore_index
    kept = targets != ignore_index
    documents = ["accuracy", {"kind": "top_k_accuracy", "k": 2}, "precision", "recall", "f1", "auc", "perplexity"]
    documents += ["confusion_matrix"]
    for loss in ("cross_entropy", "nll_loss"):
        values = measure(documents, loss, logits, targets, (4, 9), ignore_index=ignore_index)
        wanted = measure(documents, loss, logits[kept], targets[kept], (50,))
        assert values == pytest.approx(wanted, rel=1e-13)


def test_a_metric_may_leave_out_a_class_of_its_own(measure):
    logits, targets = np.eye(3)[[0, 1, 2, 0]], np.array([0, 1, 1, 2])
    assert measure([{"kind": "accuracy", "ignore_index": 2}], "cross_entropy", logits, targets, (2,)) == {
        "accuracy": 2 / 3
    }


def test_forms_of_the_same_predictions_agree(measure):
    generator = np.random.default_rng(7)
    logits, targets = generator.normal(size=(25, 4)), generator.integers(0, 4, 25)
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    documents = ["accuracy", {"kind": "top_k_accuracy", "k": 3}, "f1", "auc", "perplexity"]
    wanted = measure(documents, "cross_entropy", logits, targets, (9,))
    assert measure(documents, "nll_loss", np.log(p), targets, (9,)) == pytest.approx(wanted, rel=1e-12)
    soft = np.eye(4)[targets]
    assert measure(documents, "categorical_cross_entropy", p, soft, (9,)) == pytest.approx(wanted, rel=1e-12)
    assert measure(documents, "cross_entropy", logits, soft, (9,)) == pytest.approx(wanted, rel=1e-12)
    del documents[-1]
    del wanted["perplexity"]
    del documents[-1]
    del wanted["auc"]
    assert measure(documents, "multi_margin_loss", logits, targets, (9,)) == pytest.approx(wanted, rel=1e-12)


def test_binary_logits_and_probabilities_agree(measure):
    generator = np.random.default_rng(8)
    logits, targets = generator.normal(size=(30, 2)), generator.integers(0, 2, (30, 2)).astype(float)
    documents = ["accuracy", {"kind": "recall", "threshold": 0.3}, "auc", "confusion_matrix"]
    values = measure(documents, "bce_loss", 1 / (1 + np.exp(-logits)), targets, (11,))
    assert values == measure(documents, "bce_with_logits_loss", logits, targets, (11,))
    assert values["accuracy"] == np.mean((logits > 0) == (targets > 0.5))
    signs = measure(documents, "soft_margin_loss", logits, 2 * targets - 1, (11,))
    assert signs == values


def test_two_classes_are_binary_with_the_second_one_ahead(measure):
    generator = np.random.default_rng(9)
    logits, targets = np.round(generator.normal(size=(40, 2)) * 2), generator.integers(0, 2, 40)
    documents = ["auc", "f1", "precision"]
    two = measure(documents, "cross_entropy", logits, targets, (7,))
    one = measure(documents, "bce_with_logits_loss", logits[:, 1] - logits[:, 0], targets.astype(float), (7,))
    assert two == one == measure(documents, "multi_margin_loss", logits, targets, (7,))


def test_a_class_that_is_neither_target_nor_predicted_has_no_part_in_the_mean(measure):
    logits, targets = np.eye(4)[[0, 1, 1, 2]], np.array([0, 1, 2, 2])
    values = measure([{"kind": "recall", "per_class": True}, "precision"], "cross_entropy", logits, targets, (3,))
    assert values == pytest.approx(
        {"recall": 2.5 / 3, "recall/0": 1, "recall/1": 1, "recall/2": 0.5, "recall/3": 0, "precision": 2.5 / 3}
    )


def test_equal_scores_predict_the_first_class_and_rank_in_order(measure):
    logits, targets = np.zeros((4, 4)), np.arange(4)
    tops = [{"kind": "top_k_accuracy", "k": k} for k in (1, 2, 3, 4)]
    values = measure(["accuracy", *tops], "cross_entropy", logits, targets, (3,))
    assert list(values.values()) == [0.25, 0.25, 0.5, 0.75, 1.0]


def test_the_area_counts_pairs_and_ties_by_half(measure):
    generator = np.random.default_rng(10)
    scores, targets = generator.integers(0, 6, 50).astype(float), generator.integers(0, 2, 50)
    ours, others = scores[targets == 1][:, None], scores[targets == 0]
    pairs = np.mean((ours > others) + 0.5 * (ours == others))
    values = measure(["auc"], "bce_with_logits_loss", scores, targets.astype(float), (13,))
    assert values["auc"] == pytest.approx(pairs, rel=1e-15)


def test_without_two_classes_there_is_no_area(measure):
    assert math.isnan(measure(["auc"], "bce_with_logits_loss", np.arange(4.0), np.ones(4), (2,))["auc"])
    logits = np.arange(12.0).reshape(4, 3)
    assert math.isnan(measure(["auc"], "cross_entropy", logits, np.full(4, 2), (3,))["auc"])


def test_one_class_only_has_scores_of_zero_where_they_are_undefined(measure):
    documents = [{"kind": kind, "per_class": True} for kind in ("precision", "recall", "f1")]
    values = measure(documents, "bce_with_logits_loss", np.full(3, -1.0), np.zeros(3), (2,))
    assert values == {
        "precision": 0, "precision/0": 1, "precision/1": 0, "recall": 0, "recall/0": 1, "recall/1": 0,
        "f1": 0, "f1/0": 1, "f1/1": 0,
    }  # fmt: skip


def test_when_every_row_is_left_out_there_is_nothing_to_report(measure):
    documents = ["accuracy", {"kind": "top_k_accuracy", "k": 1}, {"kind": "f1", "per_class": True}, "auc", "perplexity"]
    values = measure(documents, "cross_entropy", np.zeros((3, 3)), np.full(3, -100), (2,))
    assert len(values) == 8
    assert all(math.isnan(value) for value in values.values())


@pytest.mark.parametrize("precision", PRECISIONS)
def test_predictions_that_are_nan_show_in_every_metric_or_count_as_the_highest(measure, precision):
    logits, targets = np.zeros((4, 3), precision), np.array([0, 1, 2, 0])
    logits[:2] = np.nan
    logits[2, 2] = np.inf
    logits[3] = [np.inf, np.nan, 0]
    documents = ["accuracy", {"kind": "top_k_accuracy", "k": 1}, {"kind": "top_k_accuracy", "k": 2}]
    values = measure([*documents, "perplexity", "auc"], "cross_entropy", logits, targets, (3,))
    predicted = np.argmax(logits, axis=1)
    assert values["accuracy"] == values["top_1_accuracy"] == np.mean(predicted == targets)
    assert values["top_2_accuracy"] == 1
    assert math.isnan(values["perplexity"])
    assert math.isnan(values["auc"])
    binary = measure(["accuracy", "auc"], "bce_with_logits_loss", logits[:, 0], np.ones(4, precision), (3,))
    assert binary["accuracy"] == 0.25
    numbers = measure(["mae", "rmse", "r2"], "mse_loss", logits[:, :1], np.arange(4.0, dtype=precision)[:, None], (3,))
    assert all(math.isnan(value) for value in numbers.values())


def test_equal_targets_have_a_determination_of_one_or_zero(measure):
    targets = np.full((5, 2), 3.0)
    predictions = targets.copy()
    for average in ("uniform", "weighted"):
        document = {"kind": "r2", "average": average}
        assert measure([document], "mse_loss", targets, targets, (2,)) == {"r2": 1.0}
    predictions[0, 0] = 5
    assert measure(["r2"], "mse_loss", predictions, targets, (2,)) == {"r2": 0.5}


def test_one_row_has_no_determination(measure):
    assert math.isnan(measure(["r2"], "mse_loss", np.ones(1), np.ones(1), (1,))["r2"])


def test_the_determination_of_targets_far_from_zero_keeps_its_digits(measure):
    generator = np.random.default_rng(11)
    near = generator.normal(size=500)
    targets, predictions = near + 1e9, near + generator.normal(size=500) + 1e9
    deviations = targets - targets.mean()
    wanted = 1 - np.sum((predictions - targets) ** 2) / np.sum(deviations**2)
    assert measure(["r2"], "mse_loss", predictions, targets, (37,) * 20)["r2"] == pytest.approx(wanted, rel=1e-7)


def test_errors_of_float32_numbers_are_added_up_in_float64(measure):
    predictions = np.full((3000, 1), 0.1, np.float32)
    values = measure(["mae"], "l1_loss", predictions, np.zeros((3000, 1), np.float32), (1,) * 20)
    assert values["mae"] == pytest.approx(float(np.float32(0.1)), rel=1e-14)


def test_a_perplexity_beyond_all_numbers_is_infinite(measure):
    logits = np.array([[0.0, -2000.0]])
    assert measure(["perplexity"], "cross_entropy", logits, np.array([1]), (1,)) == {"perplexity": math.inf}
    p = np.array([[1.0, 0.0]])
    assert measure(["perplexity"], "categorical_cross_entropy", p, np.array([[0.0, 1.0]]), (1,)) == {
        "perplexity": math.inf
    }
    assert measure(["perplexity"], "categorical_cross_entropy", p, p, (1,)) == {"perplexity": 1.0}


def test_half_precision_is_read_as_it_is(measure):
    logits, targets = np.array([[1.0, 2.0], [3.0, 1.0]], np.float16), np.array([1, 1])
    values = measure(["accuracy", "auc", "perplexity"], "cross_entropy", logits, targets, (1,))
    surprise = np.log1p(np.exp([-1.0, 2.0])).mean()
    assert values["accuracy"] == 0.5
    assert values["perplexity"] == pytest.approx(math.exp(surprise), rel=1e-6)
