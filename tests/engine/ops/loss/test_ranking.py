"""Margin, ranking and likelihood losses: PyTorch's values and gradients at the edges, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy import inf, nan

from engine.autograd.backward import pull_back
from engine.core.errors import AttributeValueError, GradientError, ShapeError
from engine.core.registry import lookup
from engine.core.value import Array, tensor
from engine.ops import OPS
from tests.support.rows import each_row

Derive = Callable[..., tuple[Array, list[Array | None]]]

NONE = {"reduction": "none"}

# (loss, attributes, inputs, losses, gradients of their sum by the first inputs), checked against PyTorch 2.13.
EDGES: list[tuple[str, dict[str, Any], list[Any], Any, list[Any]]] = [
    ("margin_ranking_loss", NONE, [[1, 2, 3], [1, 3, 1], [1, 1, -1]], [0, 1, 2], [[-1, -1, 1], [1, 1, -1]]),
    ("hinge_embedding_loss", NONE, [[1, 2, 0.5, 1], [1, -1, -1, -1]], [1, 0, 0.5, 0], [[1, 0, -1, -1]]),
    ("soft_margin_loss", NONE, [[1000, -1000, 0], [1, -1, 1]], [0, 0, 0.6931471805599453], [[0, 0, -0.5]]),
    ("soft_margin_loss", NONE, [[1000, -1000], [-1, 1]], [1000, 1000], [[1, -1]]),
    (
        "cosine_embedding_loss",
        {"reduction": "none", "margin": 0.5},
        [[[0, 0], [1, 0]], [[1, 0], [1, 0]], [1, -1]],
        [1.0, 0.4999999999989999],
        [[[-1000000.0019974014, 0], [1.000088900582341e-12, 0]], [[0, 0], [1.000088900582341e-12, 0]]],
    ),
    ("triplet_margin_loss", NONE, [[[0, 0]], [[3, 4]], [[0, 0]]], [5.999997185786442], []),
    ("multi_margin_loss", NONE, [[[1, 2, 3]], np.array([1])], [2 / 3], [[[0, -1 / 3, 1 / 3]]]),
    ("multi_margin_loss", {"reduction": "none", "p": 2}, [[[1, 2, 3]], np.array([1])], [4 / 3], [[[0, -4 / 3, 4 / 3]]]),
    (
        "multilabel_margin_loss",
        NONE,
        [[[0.1, 0.2, 0.4, 0.8]], np.array([[3, 0, -1, 1]])],
        [0.85],
        [[[-0.5, 0.5, 0.5, -0.5]]],
    ),
    ("multilabel_soft_margin_loss", {}, [[[1000, -1000]], [[1, 0]]], 0, [[[0, 0]]]),
    (
        "gaussian_nll_loss",
        NONE,
        [[1, 2], [1, 1], [0, 1e-9]],
        [-6.907755278982137, 499993.092244721],
        [[0, 1e6], [0, -1e6], [5e5, -499999500000.0]],
    ),
    ("poisson_nll_loss", {"reduction": "none", "full": True}, [[-800, 0], [0, 3]], [0, 2.764081543543057], [[0, -2]]),
    ("focal_loss", NONE, [[1000, -1000, 0], [0, 1, 1]], [750, 250, 0.25 * 0.25 * np.log(2)], [[0.75, -0.25]]),
    ("weighted_mse_loss", {}, [[[1, 2], [3, 4]], [[0, 0], [0, 0]], [[1], [0]]], 1.25, [[[0.5, 1], [0, 0]]]),
    ("weighted_mse_loss", {"by_weight": True}, [[[1, 2], [3, 4]], np.zeros((2, 2)), [[1], [0]]], 2.5, []),
    ("ggml_cross_entropy", {}, [[[0, 0], [0, np.log(3)]], np.array([[1, 0], [0, 1]])], np.log(8 / 3) / 2, []),
    ("ggml_cross_entropy", {}, [[[0, -inf]], np.array([[1, 0]])], nan, []),
]  # fmt: skip


@each_row(("name", "attrs", "inputs", "losses", "gradients"), EDGES)
def test_a_loss_and_its_gradient_are_pytorchs_at_the_edges(
    derive: Derive, name: str, attrs: dict[str, Any], inputs: list[Any], losses: Any, gradients: list[Any]
) -> None:
    result, found = derive(OPS[name], *inputs, **attrs)
    np.testing.assert_allclose(result, losses, rtol=1e-7, atol=1e-12)
    for gradient, wanted in zip(found, gradients, strict=False):
        assert gradient is not None
        part = gradient.reshape(-1)[: np.size(wanted)]
        np.testing.assert_allclose(part, np.reshape(wanted, -1), rtol=1e-8, atol=1e-15)


def test_the_weight_of_a_class_multiplies_its_margins() -> None:
    scores, target, weight = np.array([[0.5, 0.2, 0.1]]), np.array([0]), np.array([3.0, 1.0, 1.0])
    plain, weighted = (OPS["multi_margin_loss"](scores, target, *w).item() for w in ([], [weight]))
    assert weighted == pytest.approx(3 * plain, rel=1e-14)


EMPTY = [
    ("margin_ranking_loss", 3, None),
    ("triplet_margin_loss", 3, None),
    ("gaussian_nll_loss", 3, None),
    ("focal_loss", 2, None),
    ("ggml_cross_entropy", 2, None),
    ("multi_margin_loss", 1, (0,)),
    ("multilabel_margin_loss", 1, (0, 3)),
]


@each_row(("name", "count", "target"), EMPTY)
def test_the_mean_over_nothing_is_nan_and_warns(name: str, count: int, target: tuple[int, ...] | None) -> None:
    classes = [] if target is None else [np.zeros(target, np.int64)]
    with pytest.warns(RuntimeWarning, match="empty batch"):
        assert np.isnan(OPS[name](*[np.zeros((0, 3))] * count, *classes).item())


def test_a_variance_may_be_shared_by_a_row() -> None:
    x, target, var = np.arange(6.0).reshape(2, 3), np.zeros((2, 3)), np.array([1.0, 4.0])
    row = OPS["gaussian_nll_loss"](x, target, var).item()
    assert row == OPS["gaussian_nll_loss"](x, target, var[:, None]).item()
    assert row == pytest.approx(OPS["gaussian_nll_loss"](x, target, np.repeat(var, 3).reshape(2, 3)).item(), rel=1e-14)


def test_the_labels_of_ggmls_cross_entropy_have_no_gradient() -> None:
    logits, labels = (tensor(np.ones((2, 3)), requires_grad=True) for _ in range(2))
    loss = OPS["ggml_cross_entropy"](logits, labels)
    (gradient,) = pull_back([loss], [tensor(np.ones(()))], [logits])
    assert gradient is not None
    with pytest.raises(GradientError, match="has no gradient by its labels"):
        pull_back([loss], [tensor(np.ones(()))], [labels])


REFUSED = [
    ("margin_ranking_loss", [(3,), (3,), ()], {}, ShapeError, r"a \[3\], b \[3\], target \[\] must have the same"),
    ("hinge_embedding_loss", [(3,), (2, 2)], {}, ShapeError, "do not broadcast"),
    ("cosine_embedding_loss", [(2, 3), (2, 3), (3,)], {}, ShapeError, r"the target \[3\] the shape \[2\]"),
    ("triplet_margin_loss", [()] * 3, {}, ShapeError, "needs vectors"),
    ("gaussian_nll_loss", [(2, 3), (2, 3), (3,)], {}, ShapeError, r"var \[3\] must have the shape \[2, 3\]"),
    ("poisson_nll_loss", [(2,), (3,)], {}, ShapeError, "do not broadcast"),
    ("weighted_mse_loss", [(2,), (2,), (3,)], {}, ShapeError, "do not broadcast"),
    ("multilabel_soft_margin_loss", [(2, 3), (3,)], {}, ShapeError, "must have one shape"),
]


@each_row(("name", "shapes", "attrs", "error", "message"), REFUSED)
def test_what_does_not_fit_is_refused(name: str, shapes: Any, attrs: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        OPS[name](*[np.ones(shape) for shape in shapes], **attrs)


@each_row(
    ("name", "target", "attrs", "error", "message"),
    [
        ("multi_margin_loss", [0, 3], {}, ShapeError, "class 3 is out of range for 3 classes"),
        ("multi_margin_loss", [0, -1], {}, ShapeError, "class -1 is out of range"),
        ("multi_margin_loss", [0], {}, ShapeError, r"need targets of shape \[2\]"),
        ("multi_margin_loss", [0, 0], {"p": 3}, AttributeValueError, "p 3 must be 1 or 2"),
        ("multilabel_margin_loss", [[0, 3, -1]] * 2, {}, ShapeError, "class 3 is out of range for 3 classes"),
        ("multilabel_margin_loss", [[0, -1]] * 2, {}, ShapeError, "fill lists up with -1"),
    ],
)
def test_class_targets_that_do_not_fit_are_refused(
    name: str, target: Any, attrs: Any, error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        OPS[name](np.ones((2, 3)), np.array(target), **attrs)


def test_losses_answer_to_the_names_people_know() -> None:
    assert lookup("sigmoid_focal_loss").name == "focal_loss"
    assert lookup("weighted_mse").name == "weighted_mse_loss"
    assert lookup("ggml_cross_entropy_loss").name == "ggml_cross_entropy"
