"""Reverse differentiation: seeds, accumulation, releasing the tape, broadcasting, depth."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

from engine.autograd.backward import pull_back
from engine.core.errors import DTypeError, GradientError, ShapeError
from engine.core.modes import no_grad, tracing
from engine.core.value import Spec, Value, tensor
from engine.ops import OPS
from tests.support.rows import each_row

DEEP = 100_000


def leaf(data: object, dtype: str = "float64") -> Value:
    return tensor(data, dtype=dtype, requires_grad=True)


def grad_of(value: Value) -> list[float]:
    assert value.grad is not None
    return value.grad.numpy().tolist()


def test_the_textbook_example_has_its_textbook_gradient() -> None:
    x = leaf(np.ones((2, 2)))
    y = (OPS["square"](x + 2.0) * 3.0).mean()
    y.backward()
    assert y.item() == 27
    assert grad_of(x) == [[4.5, 4.5], [4.5, 4.5]]


def test_gradients_accumulate_in_leaves() -> None:
    x = leaf([1.0])
    (x * 2.0).backward()
    assert grad_of(x) == [2]
    (x * 3.0).backward()
    assert grad_of(x) == [5]


def test_only_leaves_accumulate() -> None:
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert grad_of(x) == [4, 8]
    assert y.grad is None


def test_accumulating_goes_into_the_same_array_and_leaves_the_seed_alone() -> None:
    x = leaf([1.0])
    seed = np.array([2.0])
    x.backward(seed)
    first = x.grad
    x.backward(seed)
    assert x.grad is first
    assert grad_of(x) == [4]
    assert seed.tolist() == [2]


def test_a_second_backward_says_what_to_do() -> None:
    x = leaf([1.0])
    y = x * x
    y.backward()
    with pytest.raises(GradientError, match=r"second time: what mul saved was freed .* backward\(retain_graph=True\)"):
        y.backward()


def test_a_shared_part_that_was_freed_is_named() -> None:
    x = leaf([1.0])
    shared = OPS["exp"](x)
    (shared * 2.0).backward()
    with pytest.raises(GradientError, match="second time"):
        (shared * 3.0).backward()


def test_a_diamond_is_walked_once() -> None:
    calls = []
    x = leaf([3.0])
    square = x * x
    top = square + square
    square.register_hook(lambda cotangent: calls.append(cotangent.item()))
    top.backward()
    assert grad_of(x) == [12]
    assert calls == [2]


@each_row(
    ("a_shape", "b_shape"),
    [((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 2)), ((4, 1, 3), (2, 1)), ((4, 0), (4, 1)), ((1,), (1, 1))],
)
def test_a_broadcast_folds_back_to_its_shape(a_shape: tuple[int, ...], b_shape: tuple[int, ...]) -> None:
    a, b = leaf(np.ones(a_shape)), leaf(np.ones(b_shape))
    total = (a + b * 2.0).sum()
    total.backward()
    size = np.broadcast_shapes(a_shape, b_shape)
    count = float(np.prod(size))
    for value, factor in ((a, 1), (b, 2)):
        assert value.grad is not None
        assert value.grad.shape == value.shape
        assert value.grad.numpy().sum() == count * factor


def test_a_gradient_has_the_type_of_its_leaf() -> None:
    x, w = leaf([1.0, 2.0], "float32"), leaf([1.0, 2.0], "float64")
    (x * w).sum().backward()
    assert x.grad is not None
    assert w.grad is not None
    assert (x.grad.dtype, w.grad.dtype) == ("float32", "float64")


@each_row(("shape", "seed"), [((2,), (3,)), ((2,), (1,)), ((2,), ()), ((1, 2), (2,))])
def test_a_seed_of_another_shape_is_refused(shape: tuple[int, ...], seed: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="they must be equal"):
        (leaf(np.ones(shape)) * 1.0).backward(np.ones(seed))


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_element_needs_no_seed(shape: tuple[int, ...]) -> None:
    x = leaf(np.ones(shape))
    (x * 3.0).backward()
    assert x.grad is not None
    assert x.grad.shape == shape


def test_more_elements_need_a_seed() -> None:
    with pytest.raises(GradientError, match=r"only for scalar outputs; this one has shape \[2\]: pass gradient="):
        (leaf([1.0, 2.0]) * 1.0).backward()


def test_a_constant_has_nothing_to_differentiate() -> None:
    with pytest.raises(GradientError, match="does not require a gradient"):
        (tensor([1.0]) * 2.0).backward()


def test_a_leaf_is_its_own_gradient() -> None:
    x = leaf([1.0])
    x.backward()
    assert grad_of(x) == [1]


def test_only_floats_may_require_gradients() -> None:
    with pytest.raises(DTypeError, match="only floating values can require gradients; this one is int64"):
        tensor([1, 2], requires_grad=True)


def test_an_input_off_the_path_gets_none() -> None:
    x, w = leaf([1.0]), leaf([1.0])
    y = x * 2.0
    assert pull_back([y], [tensor(np.ones(1))], [x, w])[1] is None
    y.backward()
    assert w.grad is None


def test_several_outputs_add_up() -> None:
    x = leaf([1.0, 2.0])
    found = pull_back([x.sum(), (x * 2.0).sum()], [tensor(np.ones(()))] * 2, [x])[0]
    assert found is not None
    assert found.numpy().tolist() == [3, 3]


def test_an_output_may_be_asked_for_its_own_cotangent() -> None:
    x = leaf([1.0])
    y = x * 2.0
    inner, outer = pull_back([y], [tensor(np.ones(1))], [x, y])
    assert inner is not None
    assert outer is not None
    assert (inner.item(), outer.item()) == (2, 1)


def test_a_detached_value_stops_the_gradient() -> None:
    x = leaf([3.0])
    (x * x.detach()).backward()
    assert grad_of(x) == [3]


@pytest.mark.parametrize("name", ["stop_gradient"])
def test_an_op_without_gradient_stops_it(name: str) -> None:
    x = leaf([3.0])
    (x * OPS[name](x)).backward()
    assert grad_of(x) == [3]


def test_the_tape_may_be_differentiated_under_no_grad() -> None:
    x = leaf([3.0])
    y = x * x
    with no_grad():
        y.backward()
    assert grad_of(x) == [6]
    assert x.grad is not None
    assert not x.grad.requires_grad


def test_created_graphs_give_every_order() -> None:
    x = leaf(2.0)
    y = OPS["pow"](x, 4)
    expected = [32.0, 48.0, 48.0, 24.0]
    for derivative in expected:
        (found,) = pull_back([y], [tensor(np.ones(()))], [x])
        assert found is not None
        assert found.item() == pytest.approx(derivative)
        y = found


def test_create_graph_keeps_the_gradient_differentiable() -> None:
    x = leaf([3.0])
    y = x * x * x
    y.backward(create_graph=True)
    first = x.grad
    assert first is not None
    assert first.item() == 27
    x.grad = None
    first.backward()
    assert grad_of(x) == [18]


def test_a_hessian_vector_product_is_exact() -> None:
    x = leaf([1.0, 2.0])
    (gradient,) = pull_back([(x * x * x).sum()], [tensor(np.ones(()))], [x])
    assert gradient is not None
    (product,) = pull_back([gradient], [tensor(np.ones(2))], [x])
    assert product is not None
    assert product.numpy().tolist() == [6, 12]


def test_a_rule_with_too_few_answers_is_named() -> None:
    x = leaf([1.0])
    original = OPS["mul"].rule
    assert original is not None
    OPS["mul"].vjp(lambda g, y, a, b: g)
    x * x
    y = x * x
    try:
        with pytest.raises(GradientError, match="the rule of mul returned 1 cotangents for 2 inputs"):
            y.backward()
    finally:
        OPS["mul"].vjp(original)


def test_a_graph_without_data_is_differentiated_into_a_graph() -> None:
    x = Value((2, 3), np.dtype("float32"), None, requires_grad=True)
    y = OPS["tanh"](x).sum()
    with tracing(_no_key):
        (gradient,) = pull_back([y], [Value((), np.dtype("float32"), None)], [x])
    assert gradient is not None
    assert gradient.spec == Spec((2, 3), np.dtype("float32"))
    assert gradient.data is None


def _no_key() -> Value:
    raise AssertionError("no random op runs here")


@pytest.mark.slow
@pytest.mark.parametrize(("length", "retain"), [(DEEP, True), (DEEP // 5, False)])
def test_a_chain_of_100000_adds_is_differentiated_and_freed_without_recursion(length: int, retain: bool) -> None:
    x, one = leaf([1.0]), tensor(np.ones(1))
    y, halfway = x, None
    for number in range(length):
        y = OPS["add"](y, one)
        if number == length // 2:
            halfway = weakref.ref(y)
    y.backward(retain_graph=retain)
    assert y.item() == length + 1
    assert grad_of(x) == [1]
    assert halfway is not None
    assert (halfway() is not None) == retain
    del y
    gc.collect()
    assert halfway() is None


@pytest.mark.slow
def test_a_long_chain_that_was_never_walked_is_freed_without_recursion() -> None:
    y = leaf([1.0])
    watch = weakref.ref(y)
    for _ in range(DEEP // 5):
        y = OPS["neg"](y)
    del y
    gc.collect()
    assert watch() is None


def test_a_finished_backward_frees_what_the_tape_kept() -> None:
    x = leaf(np.ones(10))
    hidden = OPS["exp"](x)
    watch = weakref.ref(hidden)
    loss = hidden.sum()
    del hidden
    loss.backward()
    assert watch() is None
    assert loss.node is not None
    assert loss.node.results is None


def test_threads_have_modes_of_their_own() -> None:
    seen = []

    def other() -> None:
        seen.append((leaf([1.0]) * 2.0).requires_grad)

    with no_grad():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert not (leaf([1.0]) * 2.0).requires_grad
    assert seen == [True]
