"""Clipping on the tape, against PyTorch and by hand."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.core.errors import AttributeValueError, NumericalError
from tests.support.rows import each_row

RUNS = json.loads((Path(__file__).parent / "golden" / "clip_norms.json").read_text())


def with_gradient(*numbers, dtype=float):
    p = engine.parameter(np.zeros(len(numbers), dtype))
    p.grad = np.array(numbers, dtype)
    return p


@each_row("run", RUNS, ids=lambda run: f"order {run['order']} limit {run['limit']}")
def test_gradients_are_clipped_by_norm_as_pytorchs(run, waves):
    a, b = engine.parameter(np.zeros(3)), engine.parameter(np.zeros((2, 2)))
    a.grad, b.grad = waves(3) * 2, waves(2, 2, start=1.0) * 3
    total = engine.clip_grad_norm_([a, b], run["limit"], float(run["order"]))
    assert total == pytest.approx(run["total"], rel=1e-14)
    np.testing.assert_allclose(a.grad.numpy(), run["a"], rtol=1e-14)
    np.testing.assert_allclose(b.grad.numpy(), run["b"], rtol=1e-14)


def test_an_infinite_norm_makes_finite_gradients_0_and_infinite_ones_nan():
    p = with_gradient(math.inf, 1.0)
    assert engine.clip_grad_norm_([p], 1.0) == math.inf
    np.testing.assert_array_equal(p.grad.numpy(), [math.nan, 0.0])


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_a_norm_that_is_not_finite_is_refused_on_request_and_changes_nothing(bad):
    p = with_gradient(bad, 1.0)
    with pytest.raises(NumericalError, match=r"order 2\.0"):
        engine.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)
    np.testing.assert_array_equal(p.grad.numpy(), [bad, 1.0])


def test_without_gradients_the_norm_is_0():
    p = engine.parameter(np.zeros(2))
    assert engine.clip_grad_norm_([p], 1.0) == 0
    assert p.grad is None


def test_float16_gradients_have_a_norm_beyond_their_range():
    p = with_gradient(6e4, 6e4, dtype="float16")
    assert engine.clip_grad_norm_(p, 1.0) == pytest.approx(6e4 * math.sqrt(2), rel=1e-3)
    np.testing.assert_allclose(p.grad.numpy(), [math.sqrt(0.5)] * 2, rtol=2e-3)


def test_gradients_are_clipped_element_by_element_in_place():
    p, q = with_gradient(-3.0, 0.5, 2.0), with_gradient(-0.1)
    kept = p.grad
    engine.clip_grad_value_([p, q], 1.0)
    assert (p.grad.numpy().tolist(), q.grad.numpy().tolist()) == ([-1.0, 0.5, 1.0], [-0.1])
    assert p.grad is kept
    with pytest.raises(AttributeValueError, match="clip_value"):
        engine.clip_grad_value_(p, -1.0)


def test_a_map_of_gradients_is_scaled_only_beyond_the_limit():
    w, b = with_gradient(6.0), with_gradient(8.0)
    gradients = {"w": w.grad, "b": b.grad}
    assert engine.clip_gradients(gradients, 10.0) == 10
    assert gradients == {"w": w.grad, "b": b.grad}
    assert engine.clip_gradients(gradients, 5.0) == 10
    clipped = np.hypot(gradients["w"].item(), gradients["b"].item())
    assert clipped == pytest.approx(5 * 10 / (10 + 1e-6), rel=1e-15)
    assert (w.grad.item(), b.grad.item()) == (6, 8)


@each_row(("order", "norms"), [(2.0, [5.0, 0.5]), (1.0, [7.0, 0.5]), (math.inf, [4.0, 0.5])])
def test_each_gradient_is_clipped_by_its_own_norm(order, norms):
    p, q, none = with_gradient(3.0, 4.0), with_gradient(0.5), engine.parameter(np.zeros(1))
    kept = p.grad
    assert engine.clip_grad_norm_each_([p, none, q], 1.0, order) == norms
    np.testing.assert_allclose(p.grad.numpy(), np.array([3.0, 4.0]) / (norms[0] + 1e-6), rtol=1e-15)
    assert (q.grad.numpy().tolist(), none.grad) == ([0.5], None)
    assert p.grad is kept


def test_gradients_are_clipped_to_a_share_of_their_parameters_size_in_place():
    p = engine.parameter(np.array([[3.0, 0.1], [4.0, 0.0]]))
    p.grad = np.array([[6.0, 0.03], [8.0, 0.04]])
    kept = p.grad
    engine.clip_grad_adaptive_(p, 0.5)
    np.testing.assert_allclose(p.grad.numpy(), [[1.5, 0.03], [2.0, 0.04]], rtol=1e-15)
    assert p.grad is kept
    for wrong in ({"clipping": 0.0}, {"eps": 0.0}):
        with pytest.raises(AttributeValueError, match="greater than 0"):
            engine.clip_grad_adaptive_(p, **wrong)
