"""Statistics of gradients, by name."""

from __future__ import annotations

import math

import numpy as np

import engine
from engine import GradientStatistics, ops
from engine.autograd import gradient_statistics


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
