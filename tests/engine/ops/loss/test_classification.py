"""Cross entropy, negative log-likelihood and accuracy: PyTorch's values, ignored rows, weights, refusals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy import inf, nan

from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.core.value import Array, Value, tensor
from engine.ops.activation.softmax import log_softmax
from engine.ops.loss.classification import accuracy, cross_entropy, nll_loss
from engine.ops.loss.softmax_cross_entropy import softmax_cross_entropy
from tests.support.rows import each_row

Derive = Callable[..., tuple[Array, list[Array | None]]]

LOGITS = np.array([[1.0, 2, 3], [1, 2, 3], [0, 0, 0]])
TARGET = np.array([2, -100, 0])
WEIGHT = [1, 2, 3]

# (attributes, weight, loss, gradient of the first row), checked against PyTorch 2.13; the second row is ignored.
MEANS = [
    ({}, None, 0.7531091265562451, [0.04501528658519022, 0.12236423552739882, -0.1673795221125891]),
    ({"label_smoothing": 0.1}, None, 0.8031091265562451, [0.0283486199185235, 0.1056975688607322, -0.1340461887792558]),
    ({}, WEIGHT, 0.5803575455003127, [0.06752292987778533, 0.18354635329109822, -0.25106928316888366]),
    (
        {"label_smoothing": 0.1},
        WEIGHT,
        0.6309660369392392,
        [0.05693883221519249, 0.16076147484806164, -0.21770030706325422],
    ),
    ({"reduction": "sum"}, None, 1.5062182531124902, [0.09003057317038046, 0.24472847105479764, -0.3347590442251782]),
]


@each_row(("attrs", "weight", "loss", "first"), MEANS)
def test_cross_entropy_leaves_ignored_rows_out(
    derive: Derive, attrs: dict[str, object], weight: list[float] | None, loss: float, first: list[float]
) -> None:
    weights = [] if weight is None else [np.array(weight, np.float64)]
    value, gradients = derive(cross_entropy, LOGITS, TARGET, *weights, **attrs)
    assert value == pytest.approx(loss, rel=1e-14)
    assert gradients[0] is not None
    np.testing.assert_allclose(gradients[0][0], first, rtol=1e-13)
    assert gradients[0][1].tolist() == [0, 0, 0]


def test_cross_entropy_with_every_row_ignored_is_nan_without_a_gradient(derive: Derive) -> None:
    value, (gradient,) = derive(cross_entropy, LOGITS, np.full(3, -100))
    assert np.isnan(value)
    assert gradient is not None
    assert not gradient.any()


# (logits, target, loss, gradient) with a logit of minus infinity, or a large one.
EDGES = [
    ([[0, -inf]], np.array([0]), 0, [[0, 0]]),
    ([[0, -inf]], np.array([1]), inf, [[1, -1]]),
    ([[0, -inf]], np.array([[1.0, 0.0]]), nan, None),
    ([1000, 0, -1000], np.array(2), 2000, [1, 0, -1]),
]


@each_row(("logits", "target", "loss", "gradients"), EDGES)
def test_cross_entropy_is_pytorchs_at_the_edges(
    derive: Derive, logits: object, target: object, loss: float, gradients: object
) -> None:
    value, found = derive(cross_entropy, logits, target)
    np.testing.assert_equal(float(value), loss)
    if gradients is not None:
        np.testing.assert_array_equal(found[0], gradients)


def test_cross_entropy_of_no_rows_is_nan_and_warns(derive: Derive) -> None:
    with pytest.warns(RuntimeWarning, match="empty batch"):
        value, (gradient,) = derive(cross_entropy, np.zeros((0, 3)), np.zeros(0, np.int64))
    assert np.isnan(value)
    assert gradient is not None
    assert gradient.shape == (0, 3)


def test_classes_and_their_one_hot_probabilities_cost_the_same() -> None:
    generator = np.random.default_rng(0)
    logits, classes = generator.standard_normal((5, 4, 2)), generator.integers(0, 4, (5, 2))
    hot = np.moveaxis(np.eye(4)[classes], -1, 1)
    for attrs in ({}, {"label_smoothing": 0.2}, {"reduction": "sum"}, {"reduction": "none"}):
        by_class = cross_entropy(logits, classes, **attrs).numpy()
        np.testing.assert_allclose(by_class, cross_entropy(logits, hot, **attrs).numpy(), rtol=1e-13)


@each_row("shape", [(6, 4), (6, 40), (3, 5, 2), (4,)])
@each_row("reduction", ["mean", "sum", "none"])
def test_cross_entropy_is_the_likelihood_of_log_softmax(shape: tuple[int, ...], reduction: str) -> None:
    generator = np.random.default_rng(1)
    logits, axis = generator.standard_normal(shape), min(1, len(shape) - 1)
    target = generator.integers(0, shape[axis], shape[:axis] + shape[axis + 1 :])
    weight = generator.uniform(0.5, 2, shape[axis])
    for extra in ((), (weight,)):
        whole = cross_entropy(logits, target, *extra, ignore_index=1, reduction=reduction).numpy()
        likelihood = nll_loss(log_softmax(logits, axis=axis), target, *extra, ignore_index=1, reduction=reduction)
        np.testing.assert_allclose(whole, likelihood.numpy(), rtol=1e-12)


def test_the_fused_kernel_gives_the_probabilities_too() -> None:
    losses, probabilities = softmax_cross_entropy(LOGITS, TARGET)
    assert losses.numpy()[1] == 0
    np.testing.assert_allclose(probabilities.numpy().sum(axis=1), 1, rtol=1e-15)


@pytest.mark.parametrize("shape", [(50, 4), (4, 50), (3, 600)])
def test_the_layout_of_the_logits_changes_nothing(derive: Derive, shape: tuple[int, int]) -> None:
    generator = np.random.default_rng(2)
    logits, target = generator.standard_normal(shape), generator.integers(0, shape[1], shape[0])
    value, (gradient,) = derive(cross_entropy, logits, target)
    turned, (turned_gradient,) = derive(cross_entropy, np.asfortranarray(logits), target)
    assert value == pytest.approx(turned, rel=1e-13)
    np.testing.assert_allclose(gradient, turned_gradient, rtol=1e-12, atol=1e-16)


def test_half_precision_is_computed_in_single() -> None:
    logits = np.full((2, 70), 11, np.float16)  # the sum of the exponentials is beyond float16 before the shift
    loss = cross_entropy(logits, np.array([0, 1])).numpy()
    assert loss.dtype == np.float16
    assert loss == pytest.approx(np.log(70), rel=1e-3)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32"])
def test_classes_may_have_any_integer_type(dtype: str) -> None:
    wide = cross_entropy(LOGITS, np.array([2, 1, 0])).item()
    assert cross_entropy(LOGITS, np.array([2, 1, 0], dtype)).item() == wide


@each_row("bad", [3, -1, -99])
@each_row("attrs", [{}, {"label_smoothing": 0.1}, {"ignore_index": 1}])
def test_a_class_out_of_range_is_named(bad: int, attrs: dict[str, object]) -> None:
    with pytest.raises(ShapeError, match=f"class {bad} is out of range for 3 classes"):
        cross_entropy(LOGITS, np.array([0, bad, 1]), **attrs)


@each_row(
    ("logits", "target", "weight", "message"),
    [
        ((4, 3), np.zeros(5, np.int64), None, r"shape \[4, 3\] need class targets of shape \[4\], got \[5\]"),
        ((4, 3, 2), np.zeros(4, np.int64), None, r"need class targets of shape \[4, 2\]"),
        ((4, 3), np.zeros(4), None, r"logits \[4, 3\] and probability targets \[4\].*cast them to int64"),
        ((4, 3), np.zeros(4, np.int64), np.ones(4), r"weight has shape \[4\], it needs one number for each of 3"),
        ((4, 0), np.zeros(4, np.int64), None, "at least one class"),
        ((), np.zeros((), np.int64), None, "got a scalar"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    logits: tuple[int, ...], target: np.ndarray, weight: np.ndarray | None, message: str
) -> None:
    with pytest.raises(ShapeError, match=message):
        cross_entropy(np.zeros(logits), target, weight)


def test_attributes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(AttributeValueError, match="ignore_index 0 needs class targets"):
        cross_entropy(LOGITS, np.array(LOGITS, np.float32), ignore_index=0)
    with pytest.raises(DTypeError, match="cross_entropy needs floating inputs, got int64"):
        cross_entropy(np.zeros((2, 3), np.int64), np.zeros(2, np.int64))


# Logits, target and the share of hits.
HITS = [
    ([[1, 2], [3, 0], [0, 1], [5, 1]], np.array([1, 0, 0, 0]), 0.75),
    ([[1, 2], [3, 0], [0, 1], [5, 1]], np.array([1, -100, 0, -100]), 0.5),
    ([[1, 2], [3, 0]], np.array([-100, -100]), nan),
    ([0.1, -2, 3, -4], np.array([1, 0, 0, 1]), 0.5),
    ([[0.1], [-2]], np.array([[1.0], [0.0]]), 1.0),
    ([[[1, 2], [2, 1]]], np.array([[1, 1]]), 0.5),
    ([1, 3, 2], np.array(1), 1.0),
]


@each_row(("logits", "target", "share"), HITS)
def test_accuracy_is_the_share_of_hits(logits: object, target: np.ndarray, share: float) -> None:
    result = accuracy(tensor(np.asarray(logits, np.float64), requires_grad=True), target)
    assert result.dtype == np.float64
    assert not result.requires_grad
    np.testing.assert_equal(result.item(), share)


def test_the_gradient_reaches_probability_targets(derive: Derive) -> None:
    def loss(target: Value) -> Value:
        return cross_entropy(np.zeros((1, 2)), target)

    _, (gradient,) = derive(loss, [[0.5, 0.5]])
    np.testing.assert_allclose(gradient, [[np.log(2), np.log(2)]], rtol=1e-14)
