"""Passes on arrays: what their results share, and where rules run on values."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.autograd import array_rules
from engine.core.errors import GradientError
from engine.core.value import Value, tensor
from engine.ops import OPS


def leaf(*numbers: float) -> Value:
    return tensor(np.array(numbers), requires_grad=True)


def warm(function: object, *leaves: Value) -> Value:
    """Call a function of the leaves twice, so that its signatures are known; return the second result."""
    assert callable(function)
    function(*leaves)
    made: Value = function(*leaves)
    assert made.node is not None
    assert made.node.signature is not None
    return made


def test_a_gradient_that_two_inputs_share_is_one_value() -> None:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    seed = tensor(np.ones(2))
    first, second = engine.tape.grad(warm(lambda a, b: a + b, a, b), (a, b), seed)
    assert first is second is seed


def test_gradients_on_shared_memory_count_writes_together() -> None:
    x = leaf(1.0, 2.0)
    seed = tensor(np.array([[5.0, 6.0]]))
    (found,) = engine.tape.grad(warm(lambda x: OPS["reshape"](x, shape=(1, 2)), x), x, seed)
    assert np.shares_memory(found.numpy(), seed.numpy())
    before = seed.version
    found.mul_(2.0)
    assert seed.version == before + 1
    assert seed.numpy().tolist() == [[10.0, 12.0]]


def test_gradients_with_memory_of_their_own_have_no_common_counter() -> None:
    a, b = leaf(1.0), leaf(2.0)
    first, second = engine.tape.grad(warm(lambda a, b: a * b, a, b), (a, b), tensor(np.ones(1)))
    first.mul_(3.0)
    assert (first.version, second.version) == (1, 0)
    assert (first.item(), second.item()) == (6.0, 1.0)


def test_what_a_hook_returns_is_what_grad_returns() -> None:
    x = leaf(1.0, 2.0)
    chosen = tensor(np.array([7.0, 8.0]))
    x.register_hook(lambda _: chosen)
    (found,) = engine.tape.grad(warm(lambda x: x * x, x), x, tensor(np.ones(2)))
    assert found is chosen


def test_a_saved_value_that_was_overwritten_is_an_error_only_where_the_rule_reads_it() -> None:
    x = leaf(1.0, 2.0)
    inner = x * 3.0
    total = warm(lambda inner: inner + 1.0, inner)
    inner.mul_(2.0)
    assert engine.tape.grad(total, x, tensor(np.ones(2)))[0].numpy().tolist() == [3.0, 3.0]
    inner = x * 3.0
    product = warm(lambda inner: inner * inner, inner)
    inner.mul_(2.0)
    with pytest.raises(GradientError, match="modified by an in-place operation"):
        engine.tape.grad(product, x, tensor(np.ones(2)))


def test_a_rule_is_traced_once_for_each_choice_of_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    traced = array_rules._trace
    monkeypatch.setattr(array_rules, "_trace", lambda *given: calls.append(given) or traced(*given))
    OPS["atan2"].signatures.clear()
    a, b = leaf(1.0), leaf(2.0)
    for wrt in ((a, b), (a, b), (a,), (a,)):
        engine.tape.grad(warm(OPS["atan2"], a, b), wrt, tensor(np.ones(1)))
    assert [needed for _, needed in calls] == [(0, 1), (0,)]


def test_the_warnings_of_numpy_stay_off_in_a_pass_and_on_in_its_hooks() -> None:
    x = leaf(1e200)
    seen = []

    def divide(_: Value) -> None:
        with pytest.warns(RuntimeWarning):
            seen.append(np.ones(1) / np.zeros(1))

    x.register_hook(divide)
    top = warm(lambda x: x * 1e200 * 1e200 + x * 1e200 * 1e200, x)
    assert engine.tape.grad(top, x)[0].item() == np.inf
    assert len(seen) == 1
