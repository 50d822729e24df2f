"""The dynamic tape, rule by rule: what PyTorch, ggmlR and Lamp++ promise of theirs."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

import engine
from engine import Function, GradientError, ShapeError, ops, tape
from engine.function import Context
from engine.value import Value


def leaf(*numbers: float) -> Value:
    return engine.tensor(np.array(numbers, float), requires_grad=True)


def numbers(value: Value | None) -> list[float]:
    assert value is not None
    return value.numpy().tolist()  # type: ignore[no-any-return]


def test_several_roots_add_up() -> None:
    x = leaf(1, 2)
    tape.backward([x.sum(), (x * 2).sum()])
    assert numbers(x.grad) == [3, 3]


def test_only_the_inputs_named_get_a_gradient() -> None:
    x, w = leaf(1), leaf(2)
    tape.backward((x * w).sum(), inputs=[x])
    assert numbers(x.grad) == [2]
    assert w.grad is None
    with pytest.raises(GradientError, match="must not be empty"):
        tape.backward((x * w).sum(), inputs=[])


def test_a_second_pass_fails_only_where_something_was_saved() -> None:
    x = leaf(1, 2)
    y = (x + 2).sum()
    y.backward()
    y.backward()
    assert numbers(x.grad) == [2, 2]
    z = (x * x).sum()
    z.backward()
    with pytest.raises(GradientError, match="a second time"):
        z.backward()


def test_retained_passes_accumulate_in_place_and_in_leaves_only() -> None:
    x = leaf(1, 2)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    first = x.grad
    y.backward()
    assert x.grad is first
    assert numbers(x.grad) == [4, 8]


def test_aliased_cotangents_do_not_mix() -> None:
    x, y = leaf(1), leaf(1)
    for _ in range(2):
        (x + y).sum().backward()
    assert numbers(x.grad) == numbers(y.grad) == [2]


def test_retain_grad_keeps_the_cotangent_of_a_value_in_the_middle() -> None:
    x = leaf(1, 2)
    y = x * 3
    y.retain_grad()
    (y * y).sum().backward()
    assert numbers(y.grad) == [6, 12]


def test_gradients_on_request_touch_no_grad() -> None:
    x, y = leaf(2), leaf(3)
    dx, dy = tape.grad((x * y + x + y * 2).sum(), [x, y])
    assert (numbers(dx), numbers(dy), x.grad) == ([4], [4], None)
    z = x.sum()
    assert numbers(tape.grad(z, x)[0]) == [1]


def test_an_unused_input_is_an_error_or_none_or_zeros() -> None:
    x, y = leaf(1), leaf(5)
    with pytest.raises(GradientError, match="allow_unused=True"):
        tape.grad((x * 2).sum(), [x, y])
    assert tape.grad((x * 2).sum(), [x, y], allow_unused=True)[1] is None
    assert numbers(tape.grad((x * 2).sum(), [x, y], materialize_grads=True)[1]) == [0]
    with pytest.raises(GradientError, match="needs allow_unused"):
        tape.grad((x * 2).sum(), [x, y], materialize_grads=True, allow_unused=False)


def test_created_graphs_can_be_differentiated() -> None:
    x = leaf(3)
    (dx,) = tape.grad((x * x * x).sum(), x, create_graph=True)
    assert dx is not None
    dx.sum().backward()
    assert numbers(x.grad) == [18]


@pytest.mark.parametrize("mode", [engine.no_grad, lambda: engine.set_grad_enabled(False), engine.inference_mode])
def test_modes_nest_and_end_with_exceptions(mode: Callable[[], object]) -> None:
    x = leaf(1)

    def inside() -> None:
        with mode():  # type: ignore[attr-defined]
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


def test_writing_to_what_a_rule_saved_is_caught() -> None:
    x = leaf(1, 2)
    y = ops.exp(x)
    y.add_(1)
    with pytest.raises(GradientError, match="is at version 1; expected version 0"):
        y.sum().backward()


def test_writing_to_what_no_rule_saved_is_fine() -> None:
    x = leaf(1, 2)
    y = x * 2.0
    y.add_(1)
    assert numbers(y) == [3, 5]
    y.sum().backward()
    assert numbers(x.grad) == [2, 2]


def test_a_written_input_is_caught_through_its_detached_twin() -> None:
    x, w = leaf(1, 2), engine.tensor(np.array([3.0, 4.0]))
    y = (x * w).sum()
    w.detach().fill_(0)
    assert numbers(w) == [0, 0]
    with pytest.raises(GradientError, match="modified by an in-place operation"):
        y.backward()


def test_in_place_history_is_the_ops() -> None:
    x = leaf(2)
    y = x * 1.0
    y.mul_(3).add_(1)
    y.sum().backward()
    assert numbers(x.grad) == [3]


def test_a_leaf_is_written_only_without_recording() -> None:
    x = leaf(1)
    with pytest.raises(GradientError, match="leaf that requires a gradient"):
        x.add_(1)
    with engine.no_grad():
        x.add_(1)
    assert (numbers(x), x.requires_grad) == ([2], True)


def test_writing_with_a_gradient_through_a_view_is_refused() -> None:
    x = leaf(1, 2) * 1.0
    view = x.reshape(shape=(2, 1))
    with pytest.raises(GradientError, match="is refused"):
        view.mul_(2)


def test_copy_in_place_takes_the_sources_history() -> None:
    x, y = leaf(1), engine.tensor(np.zeros(1))
    y.copy_(x * 5)
    y.sum().backward()
    assert numbers(x.grad) == [5]


def test_zero_or_no_gradient() -> None:
    x = leaf(1)
    x.sum().backward()
    tape.zero_grad([x], set_to_none=False)
    assert numbers(x.grad) == [0]
    tape.zero_grad([x])
    assert x.grad is None


def test_assigned_gradients_must_fit() -> None:
    x = leaf(1, 2)
    tape.assign_grad(x, np.array([1.0, 1.0]))
    for wrong in (np.array([1.0]), np.array([1.0, 1.0], "float32")):
        with pytest.raises(ShapeError, match="does not fit"):
            tape.assign_grad(x, wrong)
    x.incr_grad(np.array([1.0, 2.0]))
    assert numbers(x.grad) == [2, 3]
    with pytest.raises(ShapeError, match="does not fit"):
        x.incr_grad(np.array([1.0]))


def test_requires_grad_changes_on_leaves_only() -> None:
    x = engine.tensor([1.0]).requires_grad_()
    y = x * 2
    with pytest.raises(GradientError, match="leaf values"):
        y.requires_grad_(False)
    with pytest.raises(engine.DTypeError):
        engine.tensor([1]).requires_grad_()


@pytest.mark.parametrize("middle", [False, True])
def test_a_hook_replaces_the_gradient_and_can_be_removed(middle: bool) -> None:
    x = leaf(1)
    y = x * 2
    remove = (y if middle else x).register_hook(lambda g: g * 10)
    y.sum().backward(retain_graph=True)
    assert numbers(x.grad) == [20]
    remove()
    y.sum().backward()
    assert numbers(x.grad) == [22]


def test_a_hook_after_accumulation_sees_the_leaf() -> None:
    x, seen = leaf(1), []
    tape.register_post_accumulate_hook(x, lambda value: seen.append(numbers(value.grad)))
    for _ in range(2):
        (x * 2).sum().backward()
    assert seen == [[2], [4]]


def test_an_implicit_seed_of_ones_by_option() -> None:
    x = leaf(1, 2)
    (x * 3).backward(implicit_seed="ones")
    assert numbers(x.grad) == [3, 3]


def test_tapes_do_not_nest() -> None:
    with tape.tape(), pytest.raises(GradientError, match="already open"), tape.tape():
        pass
    with tape.tape():
        pass


def test_anomaly_mode_names_the_op_and_the_place() -> None:
    with engine.detect_anomaly():
        x = leaf(0)
        y = (ops.sqrt(x) * 0).sum()
        with pytest.raises(GradientError, match=r"(?s)rule of sqrt returned nan.*test_tape"):
            y.backward()


def test_threads_do_not_lose_an_add() -> None:
    x = leaf(0)

    def work() -> None:
        for _ in range(250):
            (x * 1.0).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert numbers(x.grad) == [1000]


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
            context.mark_non_differentiable(1)
            return x * 2, x * 0

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
