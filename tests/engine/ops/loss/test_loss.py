"""Losses of numbers against numbers: PyTorch's values and gradients at the edges, reductions, refusals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy import inf

from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import lookup
from engine.core.value import Array, tensor
from engine.ops import OPS
from tests.support.rows import each_row

Derive = Callable[..., tuple[Array, list[Array | None]]]

NONE = {"reduction": "none"}

# (loss, attributes, input, target, losses, gradients of their sum by the input), checked against PyTorch 2.13.
EDGES = [
    ("mse_loss", {}, [1, 2], [1, 4], 2, [0, -2]),
    ("mse_loss", {"reduction": "sum"}, [1, 2], [1, 4], 4, [0, -4]),
    ("l1_loss", NONE, [0, 2], [0, 0], [0, 2], [0, 1]),
    ("huber_loss", NONE, [0, 1, -3, inf], [0, 0, 0, 0], [0, 0.5, 2.5, inf], [0, 1, -1, 1]),
    ("huber_loss", {"reduction": "none", "delta": 2.0}, [1, -3], [0, 0], [0.5, 4], [1, -2]),
    ("smooth_l1_loss", {"reduction": "none", "beta": 0.0}, [0, 2], [0, 0], [0, 2], [0, 1]),
    ("smooth_l1_loss", {"reduction": "none", "beta": 2.0}, [1, -3], [0, 0], [0.25, 2], [0.5, -1]),
    ("bce_loss", {}, [0, 1], [1, 0], 100, [-5e11, 5e11]),
    ("bce_with_logits_loss", {}, [1000, -1000], [0, 1], 1000, [0.5, -0.5]),
    ("bce_with_logits_loss", {}, [1000, -1000], [1, 0], 0, [0, 0]),
    ("kl_div", NONE, [-1, -2], [0, 1], [0, 2], [0, -1]),
    ("kl_div", {"reduction": "batchmean"}, [[-1, -2]], [[0.5, 0.5]], 0.8068528194400547, [[-0.5, -0.5]]),
]


@each_row(("name", "attrs", "x", "target", "losses", "gradients"), EDGES)
def test_a_loss_and_its_gradient_are_pytorchs_at_the_edges(
    derive: Derive, name: str, attrs: dict[str, object], x: object, target: object, losses: object, gradients: object
) -> None:
    result, (gradient, _) = derive(OPS[name], x, target, **attrs)
    np.testing.assert_allclose(result, losses, rtol=1e-14)
    np.testing.assert_allclose(gradient, gradients, rtol=1e-8)


def test_a_positive_weight_multiplies_the_share_of_the_positives(derive: Derive) -> None:
    value, gradients = derive(OPS["bce_with_logits_loss"], [0, 0], [1, 0], [3], reduction="none")
    np.testing.assert_allclose(value, [3 * np.log(2), np.log(2)], rtol=1e-14)
    np.testing.assert_allclose(gradients[0], [-1.5, 0.5], rtol=1e-14)


def test_integer_targets_take_the_dtype_of_the_input() -> None:
    assert OPS["mse_loss"](tensor([1.0, 2.0]), tensor([1, 4])).numpy().dtype == np.float32


@each_row("name", ["mse_loss", "l1_loss", "huber_loss", "bce_loss", "bce_with_logits_loss"])
def test_the_mean_over_nothing_is_nan_and_warns(name: str) -> None:
    with pytest.warns(RuntimeWarning, match="empty batch"):
        assert np.isnan(OPS[name](tensor(np.zeros((0, 2))), tensor(np.zeros((0, 2)))).item())


@each_row("name", ["mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss"])
def test_unequal_shapes_broadcast_with_a_warning_as_in_pytorch(name: str) -> None:
    x, target = np.zeros((3, 1)), np.arange(2.0)
    with pytest.warns(UserWarning, match=rf"{name}: the input has shape \[3, 1\], the target \[2\]: every pair"):
        spread = OPS[name](x, target, reduction="none")
    written_out = OPS[name](np.zeros((3, 2)), np.stack([target] * 3), reduction="none")
    np.testing.assert_array_equal(spread.numpy(), written_out.numpy())


@pytest.mark.parametrize("name", ["mse_loss", "huber_loss", "kl_div"])
def test_shapes_that_do_not_broadcast_are_refused(name: str) -> None:
    with pytest.raises(ShapeError, match="do not broadcast"):
        OPS[name](np.zeros((3, 2)), np.zeros(3))


def test_a_weight_counts_before_the_reduction() -> None:
    p, target, weight = np.array([0.5, 0.5]), np.array([1.0, 0.0]), np.array([3.0, 1.0])
    for loss in (OPS["bce_loss"](p, target, weight), OPS["bce_with_logits_loss"](p - 0.5, target, None, weight)):
        np.testing.assert_allclose(loss.numpy(), 2 * np.log(2))
    with pytest.raises(ShapeError, match=r"weight \[2, 2\] does not broadcast to \[2\]"):
        OPS["bce_loss"](p, target, np.ones((2, 2)))


@pytest.mark.parametrize("name", ["bce_loss", "bce_with_logits_loss"])
def test_unequal_shapes_are_refused_although_they_would_broadcast(name: str) -> None:
    with pytest.raises(ShapeError, match=rf"{name}: the input has shape \[3, 1\], the target \[3\]"):
        OPS[name](np.zeros((3, 1)), np.zeros(3))


@each_row(
    ("name", "attrs", "message"),
    [
        ("mse_loss", {"reduction": "median"}, "'mean', 'sum', 'none'"),
    ],
)
def test_an_attribute_outside_its_domain_is_refused(name: str, attrs: dict[str, object], message: str) -> None:
    with pytest.raises(AttributeValueError, match=message):
        OPS[name](np.zeros(2), np.zeros(2), **attrs)


def test_a_positive_weight_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"pos_weight \[2, 3\] does not broadcast to \[3\]"):
        OPS["bce_with_logits_loss"](np.zeros(3), np.zeros(3), np.ones((2, 3)))


@each_row(
    ("alias", "name"),
    [("mse", "mse_loss"), ("l1", "l1_loss"), ("huber", "huber_loss"), ("bce_with_logits", "bce_with_logits_loss")],
)
def test_a_loss_answers_to_its_short_name(alias: str, name: str) -> None:
    assert lookup(alias).name == name
