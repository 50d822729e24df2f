"""Custom functions: a forward and a backward of one's own, and what the context between them promises."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import Function, GradientError, ShapeError, ops
from engine.autograd import tape
from engine.autograd.function import Context
from engine.core.value import Value
from tests.support.rows import each_row


def leaf(*numbers: float) -> Value:
    return engine.tensor(np.array(numbers, float), requires_grad=True)


def numbers(value: Value | None) -> list[float]:
    assert value is not None
    return value.numpy().tolist()


class Multiply(Function):
    @staticmethod
    def forward(context: Context, a: Value, b: Value, scale: float) -> Value:
        context.save_for_backward(a, b)
        context.saved_data["scale"] = scale
        return a * b * scale

    @staticmethod
    def backward(context: Context, g: Value) -> tuple[Value | None, ...]:
        a, b = context.saved
        scale = context.saved_data["scale"]
        return g * b * scale, g * a * scale if context.needs_input_grad[1] else None, None


def test_a_custom_function_equals_the_built_in_at_both_orders() -> None:
    a, b = leaf(2), leaf(3)
    y = Multiply.apply(a, b, 2.0)
    da, db = tape.grad(y.sum(), [a, b], create_graph=True)
    assert (numbers(y), numbers(da), numbers(db)) == ([12], [6], [4])
    assert da is not None
    assert numbers(tape.grad(da.sum(), b)[0]) == [2]


def test_a_custom_function_that_saved_cannot_be_walked_twice() -> None:
    y = Multiply.apply(leaf(2), leaf(3), 1.0).sum()
    y.backward()
    with pytest.raises(GradientError, match="a second time"):
        y.backward()


def test_a_custom_function_with_too_few_gradients_is_named() -> None:
    class Short(Function):
        @staticmethod
        def forward(context: Context, a: Value, b: Value) -> Value:
            return a + b

        @staticmethod
        def backward(context: Context, g: Value) -> Value:
            return g

    with pytest.raises(GradientError, match=r"Short returned an incorrect number of gradients \(expected 2, got 1\)"):
        Short.apply(leaf(1), leaf(1)).sum().backward()


@pytest.mark.parametrize("materialize", [True, False])
def test_an_output_no_gradient_reached_is_zeros_or_none(materialize: bool) -> None:
    seen = []

    class Two(Function):
        @staticmethod
        def forward(context: Context, x: Value) -> tuple[Value, Value]:
            context.set_materialize_grads(materialize)
            return x * 2, x * 3

        @staticmethod
        def backward(context: Context, first: Value, second: Value | None) -> Value:
            seen.append(None if second is None else numbers(second))
            return first * 2

    x = leaf(1)
    Two.apply(x)[0].sum().backward()
    assert seen == [[0] if materialize else None]
    assert numbers(x.grad) == [2]


def test_an_output_may_be_marked_as_without_gradient() -> None:
    class Split(Function):
        @staticmethod
        def forward(context: Context, x: Value) -> tuple[Value, Value]:
            rest = x * 0
            context.mark_non_differentiable(rest)
            return x * 2, rest

        @staticmethod
        def backward(context: Context, first: Value, second: Value) -> Value:
            return first * 2

    outputs = Split.apply(leaf(1))
    assert [output.requires_grad for output in outputs] == [True, False]


def test_once_differentiable_is_enforced() -> None:
    class Once(Function):
        @staticmethod
        def forward(context: Context, x: Value) -> Value:
            context.save_for_backward(x)
            return x * x

        @staticmethod
        @engine.once_differentiable
        def backward(context: Context, g: Value) -> Value:
            return g * 2 * context.saved[0]

    x = leaf(3)
    (dx,) = tape.grad((Once.apply(x) * x).sum(), x, create_graph=True)
    assert numbers(dx) == [27]
    assert dx is not None
    with pytest.raises(GradientError, match="once_differentiable"):
        dx.sum().backward()


class Exponential(Function):
    """Saves its output."""

    @staticmethod
    def forward(context: Context, x: Value) -> Value:
        y = ops.exp(x)
        context.save_for_backward(y)
        return y

    @staticmethod
    def backward(context: Context, g: Value) -> Value:
        return g * context.saved[0]


def test_a_saved_output_has_the_history_of_the_function() -> None:
    x = leaf(0.5)
    y = Exponential.apply(x).sum()
    for _ in range(3):
        (y,) = tape.grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(np.exp(0.5))


def test_a_saved_value_that_is_written_to_is_caught() -> None:
    y = Exponential.apply(leaf(0.5))
    y.add_(1)
    with pytest.raises(GradientError, match="is at version 1; expected version 0"):
        y.sum().backward()
    w = engine.tensor(np.array([3.0]))
    y = Multiply.apply(leaf(2), w, 1.0).sum()
    w.zero_()
    with pytest.raises(GradientError, match="is at version 1; expected version 0"):
        y.backward()


def test_what_is_saved_is_freed_unless_retained() -> None:
    x = leaf(2)
    y = Multiply.apply(x, leaf(3), 1.0).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert numbers(x.grad) == [6]
    with pytest.raises(GradientError, match="a second time"):
        y.backward()


def test_only_values_are_saved() -> None:
    class Careless(Function):
        @staticmethod
        def forward(context: Context, x: Value) -> Value:
            context.save_for_backward(3)
            return x

    with pytest.raises(GradientError, match="keeps values and None, not int: use saved_data"):
        Careless.apply(leaf(1))


def returning(*parts: object) -> type[Function]:
    class Returning(Function):
        @staticmethod
        def forward(context: Context, x: Value, factor: float) -> Value:
            return x * factor

        @staticmethod
        def backward(context: Context, g: Value) -> object:
            return parts

    return Returning


@each_row(
    ("parts", "error", "match"),
    [
        ((), GradientError, r"Returning returned an incorrect number of gradients \(expected 2, got 0\)"),
        ((None, None, 1.0), GradientError, r"expected 2, got 3"),
        ((engine.tensor([1.0]), engine.tensor([1.0])), GradientError, "at position 1, where the input is no value"),
        ((engine.tensor(1.0), None), ShapeError, r"gradient of shape \[\] for an input of shape \[2\]"),
        ((1.0, None), GradientError, "returned a float as a gradient"),
    ],
)
def test_a_backward_that_returns_something_else_raises_with_what_it_should_return(
    parts: tuple[object, ...], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        returning(*parts).apply(leaf(1, 2), 3.0).sum().backward()


def test_a_backward_may_return_none_for_an_input_and_after_the_last() -> None:
    x, y = leaf(1, 2), leaf(1, 2)
    (returning(None, None, None).apply(x, 3.0) + y).sum().backward()
    assert x.grad is None
    assert numbers(y.grad) == [1, 1]


def test_a_forward_returns_values() -> None:
    class Plain(Function):
        @staticmethod
        def forward(context: Context, x: Value) -> Value:
            return x.numpy()

    with pytest.raises(GradientError, match="forward of Plain must return values, not ndarray"):
        Plain.apply(leaf(1))


@pytest.mark.parametrize("tracked", [(True, True), (True, False), (False, True)])
def test_the_context_says_which_inputs_need_a_gradient(tracked: tuple[bool, bool]) -> None:
    seen = []

    class Look(Function):
        @staticmethod
        def forward(context: Context, a: Value, b: Value, c: float) -> Value:
            return a + b

        @staticmethod
        def backward(context: Context, g: Value) -> object:
            seen.append(context.needs_input_grad)
            return g, g, None

    a, b = (engine.tensor([1.0], requires_grad=flag) for flag in tracked)
    Look.apply(a, b, 1.0).sum().backward()
    assert seen == [(*tracked, False)]
    assert [a.grad is not None, b.grad is not None] == list(tracked)


class AddOne(Function):
    """Writes its input."""

    @staticmethod
    def forward(context: Context, x: Value) -> Value:
        context.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    def backward(context: Context, g: Value) -> Value:
        return g * 7


def test_a_dirty_input_is_the_output_and_has_its_history() -> None:
    x = leaf(1, 2)
    y = x * 2
    aside = y + 0
    z = AddOne.apply(y)
    assert z is y
    assert numbers(y) == [3, 5]
    (z + aside).sum().backward()
    assert numbers(x.grad) == [16, 16]


def test_a_dirty_input_that_a_rule_saved_is_caught() -> None:
    y = ops.exp(leaf(1))
    AddOne.apply(y)
    with pytest.raises(GradientError, match="output 0 of exp, which its gradient needs, was modified"):
        y.sum().backward()


def test_a_dirty_leaf_a_dirty_view_and_a_dirty_input_not_returned_are_refused() -> None:
    with pytest.raises(GradientError, match="a leaf that requires a gradient has been used in an in-place operation"):
        AddOne.apply(leaf(1))
    y = leaf(1, 2) * 1
    view = y.reshape(shape=(2, 1))
    with pytest.raises(GradientError, match="shares its memory with another"):
        AddOne.apply(y)
    assert numbers(view.sum()) == 5

    class Forgets(AddOne):
        @staticmethod
        def forward(context: Context, x: Value) -> Value:
            context.mark_dirty(x)
            return x.add_(1) * 2

    with pytest.raises(GradientError, match="every input that is modified in place must be among the outputs"):
        Forgets.apply(leaf(1) * 1)


def test_an_input_returned_as_it_is_becomes_a_value_of_its_own() -> None:
    class Identity(Function):
        @staticmethod
        def forward(context: Context, x: Value) -> Value:
            return x

        @staticmethod
        def backward(context: Context, g: Value) -> Value:
            return g * 2

    x = leaf(1, 2)
    y = Identity.apply(x)
    assert y is not x
    assert not y.is_leaf
    with pytest.raises(GradientError, match="shares its memory"):
        y.mul_(2)
    y.sum().backward()
    assert numbers(x.grad) == [2, 2]


def test_nothing_is_recorded_without_a_tracked_input() -> None:
    assert Exponential.apply(engine.tensor([1.0])).node is None
    with engine.no_grad():
        assert Exponential.apply(leaf(1)).node is None
