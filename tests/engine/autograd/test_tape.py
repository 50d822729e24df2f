"""The dynamic tape, rule by rule: what PyTorch, ggmlR and Lamp++ promise of theirs."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

import engine
from engine import GradientError, ShapeError, ops
from engine.autograd import tape
from engine.autograd.function import Context
from engine.core.value import Value


def leaf(*numbers: float) -> Value:
    return engine.tensor(np.array(numbers, float), requires_grad=True)


def numbers(value: Value | None) -> list[float]:
    assert value is not None
    return value.numpy().tolist()


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


def test_zero_or_no_gradient() -> None:
    x = leaf(1)
    x.sum().backward()
    tape.zero_grad([x], set_to_none=False)
    assert numbers(x.grad) == [0]
    tape.zero_grad([x])
    assert x.grad is None


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


def test_a_missing_gradient_of_one_root_stands_for_one() -> None:
    x = leaf(1, 2)
    tape.backward([x.sum(), x * 2], [None, np.array([1.0, 10.0])])
    assert numbers(x.grad) == [3, 21]
    tape.backward([x.sum()] * 2, [2.0, None])
    assert numbers(x.grad) == [6, 24]


@pytest.mark.parametrize(
    ("gradients", "error", "match"),
    [
        (None, GradientError, "only for scalar outputs"),
        ([None], GradientError, "2 outputs need as many gradients, got 1"),
        ([None, np.ones(1)], ShapeError, "they must be equal"),
    ],
)
def test_roots_and_gradients_must_match(gradients: object, error: type[Exception], match: str) -> None:
    x = leaf(1, 2)
    with pytest.raises(error, match=match):
        tape.backward([x.sum(), x * 2], gradients)
    with pytest.raises(GradientError, match="no output to differentiate"):
        tape.backward([])
    assert x.grad is None


def test_the_root_that_has_no_gradient_is_numbered() -> None:
    x, constant = leaf(1), engine.tensor([1.0])
    with pytest.raises(GradientError, match="element 1 of the outputs does not require a gradient and has no history"):
        tape.backward([x, constant])
    with pytest.raises(GradientError, match="element 0"):
        constant.backward()


def test_a_number_as_seed_has_the_type_of_the_output() -> None:
    for dtype in ("float32", "float64"):
        x = engine.tensor(3.0, dtype=dtype, requires_grad=True)
        (x + 1).backward(0.1)
        assert x.grad is not None
        assert x.grad.numpy().dtype == dtype
        assert x.grad.item() == np.dtype(dtype).type(0.1)


def test_inputs_may_lie_in_the_middle_and_must_require_a_gradient() -> None:
    x, constant = leaf(1, 2), engine.tensor(np.ones(2))
    y = x * 2
    tape.backward((y * y).sum(), inputs=[y])
    assert numbers(y.grad) == [4, 8]
    assert x.grad is None
    for ask in (lambda: tape.grad((x * constant).sum(), constant), lambda: tape.backward(x.sum(), inputs=[constant])):
        with pytest.raises(GradientError, match=r"input 0 .* does not require a gradient"):
            ask()


def test_gradients_by_a_value_in_the_middle_and_by_the_output_itself() -> None:
    x = leaf(1, 2)
    y = x * 3
    z = (y * y).sum()
    dy, dz = tape.grad(z, [y, z])
    assert (numbers(dy), numbers(dz)) == ([6, 12], 1)


def test_retain_graph_is_create_graph_unless_it_is_given() -> None:
    x = leaf(3)
    y = (x * x).sum()
    y.backward(create_graph=True)
    y.backward()
    assert numbers(x.grad) == [12]
    y = (x * x).sum()
    y.backward(create_graph=True, retain_graph=False)
    with pytest.raises(GradientError, match="a second time"):
        y.backward()


def test_another_root_over_a_freed_part_fails_where_something_was_saved() -> None:
    x = leaf(1, 2)
    shared, light = x * x, x + 2
    (shared + light).sum().backward()
    (light * 3).sum().backward()
    assert numbers(x.grad) == [6, 8]
    with pytest.raises(GradientError, match="what mul saved was freed"):
        (shared * 3).sum().backward()


def test_gradients_accumulate_in_place_or_with_their_history() -> None:
    x = leaf(1, 2)
    for factor in range(3):
        before = x.grad
        (x * factor).sum().backward(retain_graph=True)
        assert before is None or x.grad is before
    assert numbers(x.grad) == [3, 3]
    (x * x).sum().backward(create_graph=True)
    assert x.grad is not before
    assert x.grad is not None
    assert numbers(tape.grad(x.grad.sum(), x)[0]) == [2, 2]


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_first_gradient_is_nobody_elses(create_graph: bool) -> None:
    x, y, seed = leaf(1, 2), leaf(1, 2), engine.tensor(np.ones(2))
    (x + y).backward(seed, create_graph=create_graph)
    assert x.grad is not None
    with engine.no_grad():
        x.grad.mul_(5)
    assert (numbers(x.grad), numbers(y.grad), numbers(seed)) == ([5, 5], [1, 1], [1, 1])


def test_only_leaves_keep_a_gradient_by_default() -> None:
    x = leaf(1, 2)
    y, z = x * 3, x * 4
    z.retain_grad()
    z.retain_grad()
    x.retain_grad()
    (y * z).sum().backward()
    assert y.grad is None
    assert numbers(z.grad) == [3, 6]
    assert numbers(x.grad) == [24, 48]
    with pytest.raises(GradientError, match="none to retain"):
        engine.tensor([1.0]).retain_grad()


def test_a_retained_gradient_has_a_history_when_one_is_created() -> None:
    x = leaf(2)
    y = x * 3
    y.retain_grad()
    (y * y * y).sum().backward(create_graph=True)
    assert numbers(y.grad) == [108]
    assert numbers(tape.grad(y.grad.sum(), x)[0]) == [108]


def test_the_second_order_example_of_the_cpp_documentation() -> None:
    generator = np.random.default_rng(0)
    x, y = (engine.tensor(generator.standard_normal((2, 2)), requires_grad=True) for _ in range(2))
    z = x + 2 * y + x * y
    z.sum().backward(retain_graph=True, create_graph=True)
    assert x.grad is not None
    assert y.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 1 + y.numpy())
    np.testing.assert_allclose(y.grad.numpy(), 2 + x.numpy())
    (product,) = tape.grad(2 * x.grad + y.grad, x, np.ones((2, 2)), retain_graph=True)
    assert numbers(product) == [[1, 1], [1, 1]]


def test_hooks_run_in_order_before_the_gradient_is_kept_or_accumulated() -> None:
    x, seen = leaf(1), []
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g + 1)
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: seen.append(numbers(g)))
    x.register_hook(lambda g: seen.append((numbers(g), x.grad)))
    (y * 3).sum().backward()
    assert seen == [[40], ([80], None)]
    assert (numbers(y.grad), numbers(x.grad)) == ([40], [80])


def test_a_hook_sees_the_sum_of_all_paths_once() -> None:
    x, seen = leaf(1), []
    x.register_hook(lambda g: seen.append(numbers(g)))
    tape.backward([(x * 2).sum(), (x * 3 + x).sum()])
    tape.grad((x * 5).sum(), [x, x])
    assert seen == [[6], [5]]


def test_hooks_run_on_what_is_asked_for() -> None:
    x = leaf(1, 2)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    assert numbers(tape.grad((y * y).sum(), y, retain_graph=True)[0]) == [40, 80]
    assert numbers(tape.grad((y * y).sum(), x)[0]) == [80, 160]


def test_a_hook_is_removed_alone_and_once() -> None:
    x = leaf(1)

    def ten(g: Value) -> Value:
        return g * 10

    first, _ = x.register_hook(ten), x.register_hook(ten)
    first()
    first()
    x.sum().backward()
    assert numbers(x.grad) == [10]


def test_a_hook_keeps_shape_and_type_and_needs_a_gradient() -> None:
    for change in (lambda g: g.sum(), lambda g: g.to(dtype="float32")):
        x = leaf(1, 2)
        x.register_hook(change)
        with pytest.raises(ShapeError, match=r"a hook replaced a gradient of float64\[2\] by one of"):
            x.sum().backward()
    with pytest.raises(GradientError, match="no cotangent to hook"):
        engine.tensor([1.0]).register_hook(lambda g: g)
    for value in (engine.tensor([1.0]), leaf(1) * 2):
        with pytest.raises(GradientError, match="only leaves that require a gradient"):
            tape.register_post_accumulate_hook(value, print)


def test_zeros_are_written_into_the_gradient_that_is_there() -> None:
    x = leaf(1, 2)
    tape.zero_grad(x, set_to_none=False)
    assert x.grad is None
    (x * 3).sum().backward()
    before = x.grad
    tape.zero_grad([x], set_to_none=False)
    assert x.grad is before
    assert numbers(x.grad) == [0, 0]
    (x * x).sum().backward(create_graph=True)
    x.zero_grad(set_to_none=False)
    assert x.grad is not None
    assert (numbers(x.grad), x.grad.requires_grad) == ([0, 0], False)


@pytest.mark.parametrize("shape", [(2,), (2, 1), (0,)])
def test_ones_stand_for_a_seed_of_any_shape_on_request(shape: tuple[int, ...]) -> None:
    x = engine.ones(shape, requires_grad=True)
    with pytest.raises(GradientError, match="only for scalar outputs"):
        (x * 3).backward()
    (x * 3).backward(implicit_seed="ones")
    assert numbers(x.grad) == np.full(shape, 3).tolist()


def test_every_node_of_a_diamond_is_visited_once() -> None:
    x, visits = leaf(3), []
    left, right = x * x, x * x
    top = left + right
    for name, value in (("left", left), ("right", right), ("top", top)):
        value.register_hook(lambda g, name=name: visits.append(name))
    top.sum().backward()
    assert numbers(x.grad) == [12]
    assert visits == ["top", "right", "left"]


@pytest.mark.parametrize(
    ("split", "picked"),
    [
        (lambda x: x.split(sizes=(2, 2), axis=0), slice(2, 4)),
        (lambda x: x.chunk(chunks=2, axis=0), slice(2, 4)),
        (lambda x: x.unbind(axis=0), slice(1, 2)),
    ],
)
def test_parts_no_gradient_reached_count_as_zeros(split: Callable[[Value], tuple[Value, ...]], picked: slice) -> None:
    x = leaf(1, 2, 3, 4)
    split(x)[1].sum().backward()
    wanted = np.zeros(4)
    wanted[picked] = 1
    assert numbers(x.grad) == wanted.tolist()


def test_one_of_two_results_may_be_used_alone() -> None:
    array = np.array([3.0, 1.0, 2.0])
    for name, attrs, wanted in (
        ("sort", {}, [0, 1, 0]),
        ("topk", {"k": 2}, [0, 0, 1]),
        ("var_mean", {}, [1 / 3] * 3),
    ):
        x = engine.tensor(array, requires_grad=True)
        first, second = ops.OPS[name](x, **attrs)
        (second if name == "var_mean" else first[0 if name == "sort" else 1]).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), wanted)


def test_anomaly_mode_names_a_custom_function_and_its_place() -> None:
    class Broken(engine.Function):
        @staticmethod
        def forward(context: Context, x: Value, y: Value) -> Value:
            return x + y

        @staticmethod
        def backward(context: Context, g: Value) -> tuple[Value, Value]:
            return g, g * float("nan")

    y = Broken.apply(leaf(1), leaf(1))
    y.sum().backward()
    with engine.detect_anomaly():
        y = Broken.apply(leaf(1), leaf(1))
        match = r"(?s)rule of Broken returned nan values for its input 1; it was recorded at.*test_tape.*Broken.apply"
        with pytest.raises(GradientError, match=match):
            y.sum().backward()


def test_passes_in_threads_over_one_graph_lose_nothing() -> None:
    x, barrier = leaf(0), threading.Barrier(8)
    y = ((x + 1) * (x + 1)).sum()

    def work() -> None:
        barrier.wait()
        for _ in range(125):
            y.backward(retain_graph=True)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert numbers(x.grad) == [2000]


def test_an_empty_list_of_gradients_stands_for_none() -> None:
    x, y = leaf(1, 2), leaf(3, 4)
    tape.backward([(x * y).sum()], [])
    assert x.grad is not None
    assert x.grad.numpy().tolist() == [3, 4]
    (slope,) = tape.grad((x * x).sum(), x, ())
    assert slope is not None
    assert slope.numpy().tolist() == [2, 4]


def test_assigning_requires_grad_is_checked_as_by_the_method() -> None:
    integers, x = engine.tensor([1, 2]), leaf(1, 2)
    with pytest.raises(engine.DTypeError, match="only floating values"):
        integers.requires_grad = True
    y = x * 2.0
    with pytest.raises(GradientError, match="of leaf values"):
        y.requires_grad = False
    y.requires_grad = True
    x.requires_grad = False
    assert (integers.requires_grad, y.requires_grad, x.requires_grad) == (False, True, False)
    (x * 2.0).requires_grad = False


def test_values_show_their_device_and_the_node_that_made_them() -> None:
    x = leaf(1, 2)
    y = x * 2.0
    assert x.device == y.device == "cpu"
    assert x.grad_fn is None
    assert y.grad_fn is y.node
    assert y.detach().grad_fn is None
    with engine.no_grad():
        assert (x * 2.0).grad_fn is None
