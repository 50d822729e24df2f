"""Gradient checkpointing: bitwise the gradients of a plain call, for two runs of the function and less memory."""

from __future__ import annotations

import weakref
from collections.abc import Callable

import numpy as np
import pytest

import engine
from engine import Function, GradientError, ops
from engine.autograd import tape
from engine.autograd.function import Context
from engine.core.value import Value


def leaf(*numbers: float) -> Value:
    return engine.tensor(np.array(numbers, float), requires_grad=True)


def numbers(value: Value | None) -> list[float]:
    assert value is not None
    return value.numpy().tolist()


def test_recomputed_gradients_are_bitwise_the_plain_ones_dropout_included() -> None:
    x, w = leaf(*np.linspace(-1, 1, 64)), leaf(*np.linspace(1, 2, 64))
    runs = []

    def block(a: Value, b: Value) -> Value:
        runs.append(1)
        return ops.dropout(ops.tanh(a * b), p=0.3, training=True)

    engine.seed(5)
    block(x, w).sum().backward()
    plain = [x.grad, w.grad]
    x.grad = w.grad = None
    engine.seed(5)
    engine.recompute(block, x, w).sum().backward()
    assert [numbers(g) for g in plain] == [numbers(x.grad), numbers(w.grad)]
    assert len(runs) == 3


def test_a_plain_no_grad_forward_would_have_no_gradient_at_all() -> None:
    x = leaf(1, 2)
    assert engine.recompute(lambda a: a * a, x).requires_grad
    with engine.no_grad():
        assert not engine.recompute(lambda a: a * a, x).requires_grad


def test_what_the_function_closes_over_is_differentiated_too() -> None:
    x, w, b = leaf(1, 2), leaf(3, 4), leaf(5, 6)
    hidden = w * b
    engine.recompute(lambda a: ops.sin(a * hidden) * w, x).sum().backward()
    got = [numbers(v.grad) for v in (x, w, b)]
    for value in (x, w, b):
        value.grad = None
    (ops.sin(x * (w * b)) * w).sum().backward()
    assert got == [numbers(v.grad) for v in (x, w, b)]


def test_intermediate_arrays_are_dropped_until_the_backward_pass() -> None:
    watched = []

    def block(a: Value) -> Value:
        hidden = ops.exp(a)
        watched.append(weakref.ref(hidden.data))
        return ops.sin(hidden) * hidden

    y = engine.recompute(block, leaf(1, 2)).sum()
    assert watched[0]() is None
    y.backward()
    assert [reference() for reference in watched] == [None, None]


def test_second_derivatives_are_those_of_a_plain_call() -> None:
    def block(a: Value) -> Value:
        return ops.exp(ops.sin(a) * a)

    def second(call: Callable[[Value], Value]) -> list[float]:
        x = leaf(0.3, 0.7)
        (first,) = tape.grad(call(x).sum(), x, create_graph=True)
        assert first is not None
        return numbers(tape.grad(first.sum(), x)[0])

    assert second(lambda x: engine.recompute(block, x)) == second(block)


def test_a_second_pass_needs_retain_graph_as_ever() -> None:
    x, runs = leaf(3), []

    def block(a: Value) -> Value:
        runs.append(1)
        return a * a

    y = engine.recompute(block, x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert numbers(x.grad) == [12]
    assert len(runs) == 3
    with pytest.raises(GradientError, match="a second time"):
        y.backward()


def test_regions_nest_and_follow_one_another() -> None:
    x = leaf(0.1, 0.2)

    def inner(a: Value) -> Value:
        return ops.tanh(a) * a

    def outer(a: Value) -> Value:
        return ops.exp(engine.recompute(inner, a)) + a

    y = x
    for _ in range(3):
        y = engine.recompute(outer, y)
    y.sum().backward()
    got, x.grad, y = numbers(x.grad), None, x
    for _ in range(3):
        y = ops.exp(inner(y)) + y
    y.sum().backward()
    assert got == numbers(x.grad)


def test_several_outputs_custom_functions_and_hooks_inside() -> None:
    class Square(Function):
        @staticmethod
        def forward(context: Context, a: Value) -> Value:
            context.save_for_backward(a)
            return a * a

        @staticmethod
        def backward(context: Context, g: Value) -> Value:
            return g * 2 * context.saved[0]

    def block(a: Value) -> tuple[Value, Value]:
        middle = Square.apply(a)
        middle.register_hook(lambda g: g * 10)
        return middle * 3, ops.exp(a)

    x = leaf(2)
    first, second = engine.recompute(block, x)
    (first + second * 0).sum().backward()
    assert numbers(x.grad) == [120]


def test_a_second_run_that_does_something_else_is_reported() -> None:
    x, sizes = leaf(1, 2, 3), iter([2, 3, 2, 3])

    def changing(a: Value) -> Value:
        return (a * a)[: next(sizes)].sum()

    with pytest.raises(GradientError, match=r"second run: slice -> float64\[3\] in place of slice -> float64\[2\]"):
        engine.recompute(changing, x).backward()
    steps = iter([1, 2])

    def longer(a: Value) -> Value:
        for _ in range(next(steps)):
            a = ops.exp(a)
        return a

    with pytest.raises(GradientError, match="2 operations in place of 1"):
        engine.recompute(longer, x).sum().backward()


def test_an_operand_written_to_in_between_is_caught() -> None:
    x, w = leaf(1), engine.tensor(np.array([2.0]))
    y = engine.recompute(lambda a, b: ops.exp(a * b), x, w).sum()
    w.fill_(3)
    with pytest.raises(GradientError, match="modified by an in-place operation after its first run"):
        y.backward()


def test_the_training_mode_of_the_first_run_is_restored() -> None:
    x = leaf(*np.ones(50))
    engine.seed(1)
    with engine.training_mode(False):
        y = engine.recompute(lambda a: ops.dropout(a, p=0.5) * a, x)
    y.sum().backward()
    assert numbers(x.grad) == [2.0] * 50
