"""ggml's optimizer nodes: the numbers of torch.optim.AdamW, decoupled decay, pure functions, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.core.value import tensor
from engine.ops.optimizer.opt_step import opt_step_adamw, opt_step_sgd
from tests.support.rows import each_row

GRADIENTS = [[0.5, -1.0], [0.25, 3.0]]
AFTER = [[0.899000002, -1.898000001], [0.8048830404754623, -1.945520984107744]]
"""torch.optim.AdamW from [1, -2] with lr 0.1 and weight decay 0.01."""


def test_adamw_takes_the_steps_of_pytorch() -> None:
    x, m, v = np.array([1.0, -2.0]), np.zeros(2), np.zeros(2)
    for step, (gradient, after) in enumerate(zip(GRADIENTS, AFTER, strict=True), start=1):
        params = np.array([0.1, 0.9, 0.999, 1e-8, 0.01, 1 / (1 - 0.9**step), 1 / (1 - 0.999**step)])
        before = x.copy()
        created = opt_step_adamw(x, np.array(gradient), m, v, params)
        assert np.array_equal(x, before)
        x, m, v = (value.numpy() for value in created)
        np.testing.assert_allclose(x, after, rtol=1e-14)


def test_the_decay_of_sgd_is_decoupled() -> None:
    result = opt_step_sgd(np.array([1.0, -2.0]), np.array([0.5, 4.0]), np.array([0.1, 0.2]))
    np.testing.assert_allclose(result.numpy(), [1 * 0.98 - 0.05, -2 * 0.98 - 0.4], rtol=1e-14)


def test_a_step_in_float16_is_computed_in_float32() -> None:
    x, gradient = np.array([1.0], np.float16), np.array([1e-3], np.float16)
    params = np.array([0.01, 0.9, 0.999, 1e-8, 0.0, 10.0, 1000.0], np.float32)
    zero = np.zeros(1, np.float16)
    moved, m, _ = opt_step_adamw(x, gradient, zero, zero, params)
    assert moved.numpy().dtype == m.numpy().dtype == np.float16
    assert moved.item() == pytest.approx(0.99, abs=1e-3)


def test_no_gradient_goes_through_a_step() -> None:
    x = tensor(np.ones(2), requires_grad=True)
    assert not opt_step_sgd(x, np.ones(2), np.array([0.1, 0.0])).requires_grad


GOOD = [0.1, 0.9, 0.999, 1e-8, 0.01, 10.0, 1000.0]


@each_row(
    ("place", "value", "message"),
    [(0, 0.0, "alpha 0.0"), (1, 1.5, "beta1 1.5"), (2, -0.1, "beta2 -0.1"), (3, -1.0, "eps -1.0"), (4, 2.0, "wd 2.0")],
)
def test_a_parameter_outside_its_domain_is_refused(place: int, value: float, message: str) -> None:
    params = np.array([value if n == place else number for n, number in enumerate(GOOD)])
    with pytest.raises(AttributeValueError, match=message):
        opt_step_adamw(*[np.ones(2)] * 4, params)


@each_row(
    ("inputs", "error", "message"),
    [
        ([np.ones(2), np.ones(3), np.array([0.1, 0.0])], ShapeError, "must have one shape"),
        ([np.ones(2), np.ones(2), np.ones(3)], ShapeError, r"params \[3\] must hold 2 numbers"),
        ([np.ones(2), np.ones(2, np.float32), np.ones(2)], DTypeError, "one dtype"),
    ],
)
def test_what_does_not_fit_is_refused(inputs: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        opt_step_sgd(*inputs)
