"""Gradients keyed by the names of leaves, and ggmlR's tape."""

from __future__ import annotations

import math

import numpy as np
import pytest

import engine
from engine import GradientError, GradientStatistics, ops
from engine.autograd import tape
from engine.autograd.gradients import gradient_statistics


def model():
    x = engine.tensor(np.arange(6.0).reshape(2, 3) / 6)
    w = engine.parameter(np.eye(2), name="W")
    b = engine.parameter(np.zeros((2, 1)), name="b")
    return x, w, b


def loss_of(x, w, b):
    h = ops.relu(w @ x + b)
    return ops.mean(h * h)


def test_every_named_leaf_has_its_gradient_in_a_map_made_again_each_time():
    x, w, b = model()
    first = engine.gradients_by_name(loss_of(x, w, b))
    second = engine.gradients_by_name(loss_of(x, w, b))
    assert set(first) == {"W", "b"}
    np.testing.assert_array_equal(first["W"].numpy(), second["W"].numpy())
    np.testing.assert_array_equal(w.grad.numpy(), 2 * first["W"].numpy())
    assert first["W"] is not second["W"]
    h = x.numpy()
    np.testing.assert_allclose(first["W"].numpy(), 2 / 6 * h @ h.T)
    np.testing.assert_allclose(first["b"].numpy(), (2 / 6 * h).sum(axis=1, keepdims=True))


def test_one_loss_is_differentiated_twice_where_it_is_retained():
    w = engine.parameter(np.array([1.0, 2.0]), name="W")
    with tape.tape():
        loss = (w * w).sum()
    first = engine.gradients_by_name(loss, retain_graph=True)
    second = engine.gradients_by_name(loss)
    assert first["W"].tolist() == second["W"].tolist() == [2, 4]
    assert w.grad.tolist() == [4, 8]
    with pytest.raises(GradientError, match="a second time"):
        engine.gradients_by_name(loss)


def test_two_leaves_of_one_name_are_refused_before_anything_is_touched():
    a, b = engine.parameter([1.0], name="w"), engine.parameter([2.0], name="w")
    with pytest.raises(GradientError, match="two leaves are called 'w'"):
        engine.gradients_by_name((a * b).sum())
    assert a.grad is None


def test_unnamed_frozen_and_unreached_leaves_are_not_in_the_map():
    named, unnamed = engine.parameter([1.0], name="w"), engine.parameter([2.0])
    frozen = engine.parameter([3.0], name="f")
    frozen.requires_grad = False
    found = engine.gradients_by_name((named * unnamed * frozen).sum())
    assert set(found) == {"w"}
    assert unnamed.grad.item() == 3
    assert frozen.grad is None


def test_created_gradients_can_be_differentiated_again():
    w = engine.parameter([3.0], name="w")
    found = engine.gradients_by_name((w * w * w).sum(), create_graph=True)
    assert engine.gradients_by_name(found["w"].sum())["w"].item() == 18


def test_what_was_computed_outside_the_tape_leads_to_no_gradient():
    x, w, b = model()
    before = w @ x
    with tape.tape():
        hidden = before + b
        loss = ops.mean(ops.square(hidden))
    found = engine.gradients_by_name(loss, retain_graph=True)
    assert set(found) == {"b"}
    assert before.requires_grad
    assert w.grad is None
    after = ops.mean(hidden)
    assert after.requires_grad
    assert engine.gradients_by_name(after) == {}
    with tape.tape():
        again = engine.gradients_by_name(ops.mean(ops.square(w @ x + b)))
    assert set(again) == {"W", "b"}


def test_a_tape_is_not_opened_inside_another():
    with tape.tape(), pytest.raises(GradientError, match="already open"), tape.tape():
        pass


def test_gradients_of_a_tape_are_differentiated_again_on_it():
    x = engine.tensor(np.array([2.0]), requires_grad=True)
    with tape.tape():
        (slope,) = tape.grad((x * x * x).sum(), x, create_graph=True)
        (second,) = tape.grad(slope.sum(), x)
    assert second.numpy().tolist() == [12.0]
    with tape.tape():
        cube = (x * x * x).sum()
    (slope,) = tape.grad(cube, x, create_graph=True)
    (second,) = tape.grad(slope, x)
    assert second.numpy().tolist() == [12.0]
    with pytest.raises(GradientError, match="outputs of one tape"):
        tape.grad([cube, (x * 2.0).sum()], x, create_graph=True)


def test_a_gradient_in_five_numbers() -> None:
    w, b = (engine.tensor(np.array(data), requires_grad=True) for data in ([3.0, -4.0], [1.0]))
    idle = engine.tensor([1.0], requires_grad=True)
    ((w * w).sum() / 2 + b * 7).backward(implicit_seed="ones")
    found = gradient_statistics({"w": w, "b": b, "idle": idle})
    assert found["w"] == GradientStatistics(norm=5, smallest=-4, largest=3, nan=0, inf=0)
    assert found["b"] == GradientStatistics(norm=7, smallest=7, largest=7, nan=0, inf=0)
    assert found["idle"] is None
    assert (w.grad * w.grad).sum().item() == 25


def test_numbers_that_are_none_are_counted_under_the_name_of_the_leaf() -> None:
    good, bad = (engine.tensor(np.array([0.0, -1.0, 4.0]), requires_grad=True) for _ in range(2))
    (good * 2 + ops.sqrt(bad)).sum().backward()
    found = gradient_statistics({"good": good, "bad": bad})
    assert [name for name, one in found.items() if one is not None and not one.finite] == ["bad"]
    assert found["bad"] is not None
    assert (found["bad"].nan, found["bad"].inf) == (1, 1)
    assert (found["bad"].smallest, found["bad"].largest) == (0.25, math.inf)
    assert math.isnan(found["bad"].norm)


def test_a_gradient_of_nothing_but_nan_and_an_empty_one() -> None:
    x, empty = engine.tensor([1.0], requires_grad=True), engine.tensor(np.zeros((0,)), requires_grad=True)
    x.grad, empty.grad = engine.tensor([math.nan]), engine.tensor(np.zeros((0,)))
    found = gradient_statistics({"x": x, "empty": empty})
    assert found["x"] is not None
    assert math.isnan(found["x"].smallest)
    assert found["empty"] is not None
    assert (found["empty"].norm, found["empty"].finite) == (0, True)
