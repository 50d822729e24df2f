"""Compositions: a scan is its function called step by step."""

from __future__ import annotations

import numpy as np
import pytest

from engine.autograd.backward import pull_back
from engine.autograd.scan import scan
from engine.core.errors import ShapeError
from engine.core.value import Value, tensor


def test_a_scan_carries_a_state_and_stacks_results() -> None:
    total, sums = scan(lambda carry, x: (carry + x, carry + x), tensor(np.float64(0)), tensor(np.arange(1.0, 5)))
    assert total.item() == 10
    assert sums.numpy().tolist() == [1, 3, 6, 10]
    total, sums = scan(
        lambda carry, x: (carry + x, carry + x), tensor(np.float64(0)), tensor(np.arange(1.0, 5)), reverse=True
    )
    assert sums.numpy().tolist() == [10, 9, 7, 4]


def test_states_sequences_and_results_may_be_several() -> None:
    def step(carry: tuple[Value, Value], x: tuple[Value, Value]) -> tuple[tuple[Value, Value], tuple[Value, Value]]:
        (a, b), (u, v) = carry, x
        return (a + u, b * v), (a, b)

    start = (tensor(np.float64(0)), tensor(np.float64(1)))
    (a, b), (before_a, before_b) = scan(step, start, (tensor(np.arange(3.0)), tensor(np.arange(2.0, 5))))
    assert (a.item(), b.item()) == (3, 24)
    assert (before_a.numpy().tolist(), before_b.numpy().tolist()) == ([0, 0, 1], [1, 2, 6])
    assert scan(lambda carry, x: (carry * x, None), start[1], tensor(np.arange(2.0, 5)))[1] is None


def test_derivatives_go_through_a_scan() -> None:
    xs = tensor(np.array([2.0, 3.0, 5.0]), requires_grad=True)
    product, _ = scan(lambda carry, x: (carry * x, None), tensor(np.float64(1)), xs)
    (first,) = pull_back([product], [tensor(np.float64(1))], [xs])
    assert first is not None
    assert first.numpy().tolist() == [15, 10, 6]
    (second,) = pull_back([first], [tensor(np.array([1.0, 0, 0]))], [xs])
    assert second is not None
    assert second.numpy().tolist() == [0, 5, 3]


def test_sequences_of_unequal_length_or_none_are_refused() -> None:
    with pytest.raises(ShapeError, match="equal first axes"):
        scan(lambda carry, x: (carry, None), tensor(0.0), (tensor(np.ones(2)), tensor(np.ones(3))))
    with pytest.raises(ShapeError, match="at least one step"):
        scan(lambda carry, x: (carry, None), tensor(0.0), tensor(np.ones((0, 2))))
