"""The modes of a thread: recording or not, inference, and how they nest."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import pytest

import engine
from engine import GradientError, ops
from engine.core import modes
from engine.core.modes import MODES
from engine.core.value import Node, Value, tensor


def leaf(*numbers: float) -> Value:
    return engine.tensor(np.array(numbers, float), requires_grad=True)


def numbers(value: Value | None) -> list[float]:
    assert value is not None
    return value.numpy().tolist()


@pytest.mark.parametrize("mode", [engine.no_grad, lambda: engine.set_grad_enabled(False)])
def test_modes_nest_and_end_with_exceptions(mode: Callable[[], object]) -> None:
    x = leaf(1)

    def inside() -> None:
        with mode():
            assert not (x * 2).requires_grad
            with engine.enable_grad():
                assert (x * 2).requires_grad
            raise KeyError

    with pytest.raises(KeyError):
        inside()
    assert engine.is_grad_enabled()
    assert (x * 2).requires_grad


def test_inference_values_cannot_be_saved_or_written_outside() -> None:
    x = leaf(1)
    with engine.inference_mode():
        y = x * 2
    with pytest.raises(GradientError, match="inference mode cannot be saved"):
        x * y
    with pytest.raises(GradientError, match="outside inference_mode"):
        y.add_(1)
    with pytest.raises(GradientError, match="does not require a gradient"):
        y.sum().backward()


def test_grad_mode_is_set_for_good_or_for_a_block() -> None:
    x = leaf(1)
    engine.set_grad_enabled(False)
    try:
        assert not engine.is_grad_enabled()
        assert not (x * 2).requires_grad
        with engine.set_grad_enabled(True):
            assert (x * 2).requires_grad
        assert not engine.is_grad_enabled()
    finally:
        engine.set_grad_enabled(True)
    assert (x * 2).requires_grad


def test_leaves_that_require_a_gradient_can_be_made_without_recording() -> None:
    with engine.no_grad():
        x = engine.zeros((2,), requires_grad=True)
    assert x.requires_grad
    assert (x * 2).requires_grad


def test_modes_are_decorators_too() -> None:
    @engine.no_grad()
    def double(x: Value) -> Value:
        return x * 2

    assert not double(leaf(1)).requires_grad


def test_a_graph_recorded_before_is_differentiated_in_every_mode() -> None:
    for mode in (engine.no_grad, engine.inference_mode):
        x = leaf(3)
        y = (ops.exp(x * 0) * x * x).sum()
        with mode():
            y.backward()
        assert numbers(x.grad) == [6]
        (x * x).sum().backward()
        assert numbers(x.grad) == [12]


def test_nothing_is_recorded_in_inference_mode_whatever_is_enabled_inside() -> None:
    x = leaf(1)
    before = next(Node.numbers)
    with engine.inference_mode(), engine.enable_grad():
        y = ops.exp(x * 2)[0]
        with engine.set_grad_enabled(True):
            assert not (x * 2).requires_grad
    assert not y.requires_grad
    assert y.node is None
    assert next(Node.numbers) == before + 1
    assert engine.is_grad_enabled()


def test_inference_values_take_part_in_no_backward_pass() -> None:
    x = leaf(1)
    with engine.inference_mode():
        y = x * 2
        y.add_(1)
        with pytest.raises(GradientError, match="does not require a gradient"):
            y.backward()
    with pytest.raises(GradientError, match="inference mode cannot be saved"):
        x * y.reshape(shape=(1, 1))
    with pytest.raises(GradientError, match="inference mode cannot require a gradient"):
        y.requires_grad_()
    (x * y.copy()).sum().backward()
    assert numbers(x.grad) == [3]


def test_ordinary_values_may_be_written_in_inference_mode() -> None:
    w = engine.tensor(np.array([1.0]))
    with engine.inference_mode():
        w.add_(1)
    assert numbers(w) == [2]
    w.add_(1)
    assert numbers(w) == [3]


def test_derivatives_of_functions_work_in_every_mode() -> None:
    for mode in (engine.no_grad, engine.inference_mode):
        with mode():
            assert engine.grad(lambda x: ops.sum(x * x))(np.array([3.0])).numpy().tolist() == [6]


def test_a_mode_set_in_one_thread_leaves_another_as_it_was() -> None:
    barrier, seen = threading.Barrier(2), {}

    def work(name: str, flag: bool) -> None:
        engine.set_grad_enabled(flag)
        barrier.wait()
        seen[name] = (engine.is_grad_enabled(), (leaf(1) * 2).requires_grad)
        barrier.wait()

    threads = [threading.Thread(target=work, args=(str(flag), flag)) for flag in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {"True": (True, True), "False": (False, False)}
    assert engine.is_grad_enabled()


@pytest.mark.parametrize(
    "change",
    [
        modes.no_grad,
        modes.enable_grad,
        modes.differentiating,
        modes.inference_mode,
        modes.detect_anomaly,
        lambda: modes.recording_on(3),
        lambda: modes.training_mode(False),
        lambda: modes.tracing(lambda: tensor(0)),
        lambda: modes.recording_calls(print),
    ],
)
def test_whether_modes_are_plain_follows_every_change(change: Callable[[], AbstractContextManager[None]]) -> None:
    for around in (nullcontext, modes.inference_mode, modes.detect_anomaly):
        with around():
            before = MODES.plain
            with change():
                assert MODES.plain == MODES.is_plain()
            assert MODES.plain == MODES.is_plain() == before
