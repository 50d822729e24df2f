"""Writing in place: what was saved is protected, what was read before keeps its history, views are never wrong."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import engine
from engine import DTypeError, GradientError, ShapeError, ops
from engine.autograd import tape
from engine.core.registry import OPS
from engine.core.value import Value
from engine.ops.methods.in_place import NAMES
from tests.support.rows import each_row


def leaf(*numbers: float) -> Value:
    return engine.tensor(np.array(numbers, float), requires_grad=True)


def numbers(value: Value | None) -> list[float]:
    assert value is not None
    return value.numpy().tolist()


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


def test_a_value_read_before_the_write_keeps_its_history() -> None:
    x = leaf(1, 2)
    y = x * 2
    z = y + 1
    y.mul_(3)
    z.sum().backward(retain_graph=True)
    assert numbers(x.grad) == [2, 2]
    y.sum().backward()
    assert numbers(x.grad) == [8, 8]


def test_a_constant_read_before_it_got_a_history_stays_constant() -> None:
    x, w = leaf(1, 2), engine.tensor(np.ones(2))
    z = w + x
    w.copy_(x * 5)
    z.sum().backward(retain_graph=True)
    assert numbers(x.grad) == [1, 1]
    (z + w).sum().backward()
    assert numbers(x.grad) == [7, 7]


def test_what_the_rule_needs_of_the_value_itself_is_kept() -> None:
    x, w = leaf(2, 3), leaf(5, 7)
    y = x * 1
    y.mul_(w)
    y.sum().backward()
    assert (numbers(x.grad), numbers(w.grad)) == ([5, 7], [2, 3])
    x.grad = None
    y = x * 1
    y.mul_(y)
    y.sum().backward()
    assert numbers(x.grad) == [4, 6]


UNARY = ("neg", "exp", "log", "sqrt", "rsqrt", "reciprocal", "abs", "square", "tanh", "sigmoid", "relu", "sin", "cos")


@each_row("name", UNARY)
def test_the_in_place_form_has_value_and_gradient_of_the_op(name: str) -> None:
    assert name in NAMES
    x = leaf(0.3, 1.7)
    plain = OPS[name](x * 1)
    (wanted,) = tape.grad((plain * plain).sum(), x)
    y = x * 1
    assert getattr(y, f"{name}_")() is y
    (got,) = tape.grad((y * y).sum(), x)
    assert numbers(y) == numbers(plain)
    assert numbers(got) == numbers(wanted)


def test_versions_count_writes_through_every_alias() -> None:
    y = leaf(1, 2) * 1
    twin, view = y.detach(), ops.stop_gradient(y).reshape(shape=(2, 1))
    twin.add_(1)
    view.add_(1)
    assert [value.version for value in (y, twin, view)] == [2, 2, 2]
    assert numbers(y) == [3, 4]


def test_elements_are_assigned() -> None:
    g = engine.tensor(np.zeros((2, 3)))
    g[1] = 1
    g[0, 1:] = np.array([5.0, 6.0])
    g[engine.tensor([0]), engine.tensor([0])] = engine.tensor([7.0])
    g[g > 6] = -1
    assert numbers(g) == [[-1, 5, 6], [1, 1, 1]]
    assert g.version == 4


@each_row("index", [0, np.s_[1:], (slice(None), 1), ..., np.array([2, 0]), np.array([[1], [2]])])
def test_assigned_elements_are_differentiated_on_both_sides(index: object) -> None:
    x, source = leaf(*np.arange(1.0, 10)), leaf(2.0)
    weights = np.arange(1.0, 10).reshape(3, 3)
    y = x.reshape(shape=(3, 3)) * 2
    y[index] = source * 3
    (y * weights).sum().backward()
    kept = np.full((3, 3), 2.0)
    kept[index] = 0
    assert numbers(x.grad) == (kept * weights).reshape(-1).tolist()
    assert numbers(source.grad) == [3 * weights[index].sum()]


def test_an_element_assigned_twice_has_no_gradient() -> None:
    x, y = leaf(1, 2), engine.tensor(np.zeros(3))
    y[np.array([0, 0])] = np.array([4.0, 5.0])
    assert numbers(y) == [5, 0, 0]
    y[np.array([0, 0])] = x
    with pytest.raises(engine.EngineError, match="two indices name the same place"):
        y.sum().backward()


@pytest.mark.parametrize("index", [5, (0, 0, 0), np.array([7])])
def test_an_index_out_of_range_is_refused(index: object) -> None:
    for source in (1.0, leaf(1)):
        y = leaf(1, 2) * 1 if isinstance(source, Value) else engine.tensor([1.0, 2.0])
        with pytest.raises(ShapeError, match=r"into a part of \[2\]"):
            y[index] = source


def test_a_leaf_is_assigned_only_without_recording() -> None:
    x = leaf(1, 2)
    with pytest.raises(GradientError, match="leaf that requires a gradient"):
        x[0] = 5
    with engine.no_grad():
        x[0] = 5
    assert numbers(x) == [5, 2]


def test_shape_and_kind_do_not_change_in_place() -> None:
    y = engine.tensor([1.0, 2.0])
    with pytest.raises(ShapeError, match=r"cannot change shape \[2\] to \[2, 2\]"):
        y.add_(np.ones((2, 1)))
    with pytest.raises(DTypeError, match="cannot store float32 in int64"):
        engine.tensor([1, 2]).mul_(0.5)


def test_broadcast_memory_is_not_written() -> None:
    y = ops.broadcast_to(engine.tensor([1.0]), shape=(3,))
    with pytest.raises(GradientError, match=r"several elements of this value share one place in memory .* copy\(\)"):
        y.add_(1)
    assert numbers(y.copy().add_(1)) == [2, 2, 2]


@pytest.mark.slow
def test_a_long_chain_of_writes_is_differentiated_and_freed() -> None:
    x, readings = leaf(1), []
    y = x * 1
    for number in range(5_000):
        y.add_(x)
        if number % 1000 == 0:
            readings.append(y + 0)
    (y + sum(readings)).sum().backward()
    assert numbers(x.grad) == [5_001 + sum(range(2, 5_002, 1000))]
    watch = weakref.ref(y)
    del y, readings
    gc.collect()
    assert watch() is None


def test_a_retained_gradient_is_that_of_the_value_as_written() -> None:
    x = leaf(1, 2)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    (y * y).sum().backward()
    assert numbers(y.grad) == [12, 24]
    assert numbers(x.grad) == [72, 144]


ALIASES: list[Callable[[Value], Value]] = [
    lambda y: y,
    lambda y: y.reshape(shape=(2, 2)),
    lambda y: y[1:3],
    lambda y: y.reshape(shape=(2, 2)).permute(axes=(1, 0)),
    lambda y: y.flip(axis=0),
    lambda y: ops.broadcast_to(y, shape=(2, 4)),
    lambda y: y.detach(),
    ops.stop_gradient,
]


WRITES: list[Callable[[Value, Value], object]] = [
    lambda v, x: v.mul_(3.0),
    lambda v, x: v.exp_(),
    lambda v, x: v.fill_(2.0),
    lambda v, x: v.copy_(x[0] * 5),
    lambda v, x: v.__setitem__(0, 7.0),
    lambda v, x: v.__setitem__(0, x[1] * 7),
]


@pytest.mark.slow
@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    tracked=st.booleans(),
    saved=st.booleans(),
    recording=st.booleans(),
    which=st.integers(0, len(ALIASES) - 1),
    write=st.integers(0, len(WRITES) - 1),
    read=st.integers(0, len(ALIASES) - 1),
)
def test_a_write_through_any_alias_is_refused_or_differentiated_right(
    tracked: bool, saved: bool, recording: bool, which: int, write: int, read: int
) -> None:
    """Whatever is not refused agrees with central differences of the same program.

    Unless the caller asked for constants: by writing unrecorded, or through a detached value.
    """
    start = np.array([0.3, -0.7, 1.1, 0.4])

    def run(array: np.ndarray) -> tuple[Value, Value]:
        x = engine.tensor(array, requires_grad=True)
        y = x * 1.5 if tracked else engine.tensor(start * 1.5)
        before = ops.exp(y) if saved else y + 0.5
        written = ALIASES[which](y)
        reading = written if read == which else ALIASES[read](y)
        with engine.set_grad_enabled(recording):
            WRITES[write](written, x)
        return (reading * reading).sum() + before.sum() + (y * 2).sum() + x.sum(), x

    try:
        total, x = run(start)
        total.backward()
    except GradientError:
        assert which or read, "there was no alias"
        return
    if recording and which < 6 and read < 6:
        numeric = differences(lambda array: run(array)[0].item(), start)
        np.testing.assert_allclose(numbers(x.grad), numeric, atol=1e-6)


def differences(function: Callable[[np.ndarray], float], at: np.ndarray) -> np.ndarray:
    result = np.zeros_like(at)
    for place in range(at.size):
        step = np.zeros_like(at)
        step[place] = 1e-6
        result[place] = (function(at + step) - function(at - step)) / 2e-6
    return result


def test_no_op_hands_out_memory_of_its_inputs_unless_it_is_declared_a_view() -> None:
    checks = {"distinct_index", "distinct_places"}  # their results are the indices they checked
    for op in OPS.values():
        for example in [] if op.composite or op.name in checks else op.samples:
            inputs = [engine.tensor(array) for array in example.arrays(op.name)]
            created = op(*inputs, **example.attrs)
            for output in created if isinstance(created, tuple) else (created,):
                for number, value in enumerate(inputs):
                    shares = bool(output.size) and np.shares_memory(output.numpy(), value.numpy())
                    known = op.view and number == 0 and output.counter is value.counter
                    assert known or not shares, f"{op.name} of {[i.shape for i in inputs]}, {example.attrs}"


def test_an_assignment_does_not_hide_an_earlier_write_from_the_rule_that_saved_the_value() -> None:
    a = leaf(0.3, 0.5)
    b = ops.copy(a)
    b.tanh_()
    total = b.sum()
    b[0] = 7.0
    with pytest.raises(GradientError, match=r"output 0 of tanh.* is at version 2; expected version 1"):
        total.backward()


def test_every_handle_on_a_result_shares_the_counter_that_its_node_knows() -> None:
    x = leaf(0.3, 0.5)
    y = ops.tanh(x)
    handle = y.node.output(0)
    handle.reshape(shape=(2, 1))
    y.detach().fill_(0)
    assert handle.version == 1
    with pytest.raises(GradientError, match="modified by an in-place operation"):
        y.sum().backward()


def test_a_filled_value_passes_zeros_to_what_it_was() -> None:
    x, source = leaf(1, 2), leaf(3, 4)
    y = x * 3
    y.copy_(source * 2)
    y.sum().backward()
    assert (numbers(x.grad), numbers(source.grad)) == ([0, 0], [2, 2])


def test_flip_copies() -> None:
    x = engine.tensor([1.0, 2.0])
    ops.flip(x).mul_(10)
    ops.flip(engine.tensor([3.0])).mul_(10)
    assert numbers(x) == [1, 2]


def test_a_view_made_unrecorded_is_not_written_recorded() -> None:
    y = leaf(1, 2) * 1.0
    with engine.no_grad():
        view = y[:1].reshape(shape=(1, 1))
    with pytest.raises(GradientError, match=r"made under no_grad\(\)"):
        view.mul_(3)
    with engine.no_grad():
        view.mul_(3)
    assert numbers(y) == [3, 2]


OPERATORS: list[tuple[str, Callable[[Value, Value], Value]]] = [
    ("__iadd__", ops.add), ("__isub__", ops.sub), ("__imul__", ops.mul), ("__itruediv__", ops.div),
    ("__ipow__", ops.pow), ("__imatmul__", ops.matmul),
]  # fmt: skip


@each_row(("name", "op"), OPERATORS)
def test_augmented_assignment_writes_in_place_by_the_rules_of_the_method(name: str, op: Callable[..., Value]) -> None:
    x, other = engine.tensor(np.array([[1.5, 2.0], [0.5, 3.0]]), requires_grad=True), np.array([[2.0, 1.0], [0.5, 3.0]])
    y = x * 1
    twin = y.detach()
    wanted = numbers(op(x, other))
    assert getattr(y, name)(other) is y
    assert numbers(y) == numbers(twin) == wanted
    assert y.version == 1
    (got,) = tape.grad(y.sum(), x)
    (right,) = tape.grad(op(x, other).sum(), x)
    assert numbers(got) == numbers(right)
    with pytest.raises(GradientError, match=r"leaf that requires a gradient.* x = x \+ y for x \+= y"):
        getattr(x, name)(other)
    with engine.no_grad():
        assert getattr(x, name)(other) is x
    assert numbers(x) == wanted


def test_operators_on_bits_write_in_place() -> None:
    flags, bits = engine.tensor([True, False]), engine.tensor([6, 5])
    kept = flags, bits
    flags |= engine.tensor([False, True])
    bits &= 3
    bits ^= 1
    assert kept[0] is flags
    assert kept[1] is bits
    assert (numbers(flags), numbers(bits)) == ([True, True], [3, 0])


def test_the_regression_loop_of_pytorch_trains_as_written() -> None:
    """S3's loop: `w -= learning_rate * w.grad` under no_grad, and `w.grad.zero_()`."""
    engine.seed(0)
    x = engine.randn((100, 1))
    y = 3 * x + 2 + engine.randn((100, 1)) * 0.1
    w, b = engine.randn((1, 1), requires_grad=True), engine.zeros((1,), requires_grad=True)
    kept = w, b
    learning_rate, losses = 0.1, []
    for _ in range(100):
        y_pred = x.mm(w) + b
        loss = (y_pred - y).pow(2).mean()
        loss.backward()
        with engine.no_grad():
            w -= learning_rate * w.grad
            b -= learning_rate * b.grad
            w.grad.zero_()
            b.grad.zero_()
        losses.append(loss.item())
    assert kept[0] is w
    assert kept[1] is b
    assert losses[-1] < 0.02 < losses[0]
    np.testing.assert_allclose([w.item(), b.item()], [3, 2], atol=0.05)
