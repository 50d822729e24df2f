"""A graph in training batch by batch: windows, resets, parameters in place, leaves without data."""

import numpy as np
import pytest

import engine
from engine import ops
from engine.core.errors import AttributeValueError, DataError, DTypeError, GradientError, ShapeError
from engine.core.value import Value
from engine.ggml.opt_context import OptContext, OptOptions
from engine.ggml.opt_data import OptDataset
from engine.ggml.opt_fit import opt_epoch
from engine.ggml.opt_params import AdamWParameters, OptimizerParameters, SGDParameters, constant_opt_pars
from engine.ggml.storage import Storage

UNIT = OptimizerParameters(adamw=AdamWParameters(alpha=1, beta1=0, beta2=0, eps=0), sgd=SGDParameters(alpha=1))
F32 = np.dtype(np.float32)


def declared(*shape, dtype=F32, name=None):
    return Value(shape, dtype, None, name=name)


def weight(*numbers, dtype=np.float32):
    return engine.tensor(np.array(numbers, dtype), requires_grad=True, name="w")


def shifted(nbatch=1, logical=1, loss="sum", optimizer="adamw", **options):
    """The graph of the right numbers: inputs + w with w = 3 at first, a step of 1 against the sign of the gradient."""
    w, inputs = weight(3), declared(nbatch, name="inputs")
    options = {"get_opt_pars": constant_opt_pars(UNIT), "opt_period": logical // nbatch, **options}
    return w, OptContext(inputs, inputs + w, loss, OptOptions(optimizer, **options))


# Windows, resets and parameters


def test_evaluations_without_gradients_do_not_shift_the_window():
    w, opt = shifted(logical=2)
    zero = np.zeros(1, np.float32)
    for backward in (True, False, False, True):
        opt.evaluate(zero, backward=backward)
    assert w.item() == 2
    assert opt.grad_acc("w").item() == 2
    opt.evaluate(zero, backward=True)
    assert opt.grad_acc("w").item() == 1


def test_reset_drops_gradients_and_starts_a_window():
    w, opt = shifted(logical=3)
    zero = np.zeros(1, np.float32)
    for _ in range(2):
        opt.evaluate(zero, backward=True)
    opt.reset()
    assert opt.grad_acc("w").item() == 0
    for _ in range(2):
        opt.evaluate(zero, backward=True)
    assert w.item() == 3
    opt.evaluate(zero, backward=True)
    assert w.item() == 2


def test_reset_of_the_optimizer_drops_moments_and_its_count():
    numbers = constant_opt_pars(OptimizerParameters(adamw=AdamWParameters(alpha=0.5)))

    def moved(*, reset):
        w, opt = shifted(get_opt_pars=numbers)
        for sign in (1, -3):
            inputs = np.array([sign], np.float32)
            if reset:
                opt.reset(optimizer=True)
            before = w.item()
            opt.evaluate(inputs, backward=True)
        return w.item() - before, opt.iteration

    step, iteration = moved(reset=True)
    assert step == pytest.approx(-0.5, abs=1e-6)
    assert (iteration, moved(reset=False)[1]) == (2, 3)


def test_building_gradients_only_adds_them_up_until_reset():
    w, opt = shifted(build_type="grad")
    for _ in range(3):
        opt.evaluate(np.zeros(1, np.float32), backward=True)
    assert (opt.grad_acc("w").item(), w.item()) == (3, 3)


def test_every_batch_a_step_needs_no_accumulator():
    _, opt = shifted()
    assert opt.grad_acc("w") is None
    assert opt.grad_acc("nothing") is None


def test_a_parameter_that_the_loss_does_not_depend_on_is_left_alone():
    w, v, inputs = weight(3), engine.tensor([5.0], requires_grad=True, name="v"), declared(1)
    opt = OptContext(
        inputs, inputs + w + ops.floor(v).detach(), "sum", OptOptions(get_opt_pars=constant_opt_pars(UNIT))
    )
    opt.evaluate(np.zeros(1, np.float32), backward=True)
    assert list(opt.parameters) == ["w"]
    assert (w.item(), v.item()) == (2, 5)


def test_what_is_computed_of_parameters_alone_follows_them():
    w, inputs = weight(3), declared(1)
    opt = OptContext(
        inputs,
        inputs + w * w,
        "sum",
        OptOptions(optimizer="sgd", get_opt_pars=lambda _: OptimizerParameters(sgd=SGDParameters(alpha=0.25))),
    )
    losses = [opt.evaluate(np.zeros(1, np.float32), backward=True) for _ in range(3)]
    assert losses == [9, 2.25, 0.5625]


def test_a_tape_that_saved_a_parameter_sees_that_it_has_moved():
    w, opt = shifted()
    before = ops.sum(w * w)
    opt.evaluate(np.zeros(1, np.float32), backward=True)
    with pytest.raises(GradientError, match="modified by an in-place operation"):
        before.backward()


# Leaves


def test_leaves_live_in_a_storage():
    w, shift, inputs = (declared(1, name=name) for name in ("w", "shift", "inputs"))
    w.requires_grad = True
    scale = engine.tensor([1.0])
    storage = Storage()
    storage.set(w, 3)
    storage.set(shift, 10)
    storage.set(scale, 2)
    outputs = inputs + w * scale + shift
    opt = OptContext(inputs, outputs, "sum", OptOptions(get_opt_pars=constant_opt_pars(UNIT), storage=storage))
    assert opt.evaluate(np.zeros(1, np.float32), backward=True) == 16
    storage.set(shift, 20)
    assert opt.evaluate(np.zeros(1, np.float32), backward=True) == 24
    assert storage.view(w).item() == 1


def test_a_storage_keeps_the_data_of_a_parameter_as_it_was():
    w, inputs = weight(3), declared(1)
    storage = Storage()
    opt = OptContext(inputs, inputs + w, "sum", OptOptions(get_opt_pars=constant_opt_pars(UNIT), storage=storage))
    opt.evaluate(np.zeros(1, np.float32), backward=True)
    assert (storage.view(w).item(), w.item()) == (2, 3)


def test_a_parameter_in_another_order_of_memory_is_moved_all_the_same():
    w = engine.tensor(np.asfortranarray([[1, 2], [3, 4]], np.float32), requires_grad=True)
    inputs = declared(2)
    opt = OptContext(inputs, w @ inputs, "sum", OptOptions(get_opt_pars=constant_opt_pars(UNIT)))
    opt.evaluate(np.array([1, -1], np.float32), backward=True)
    np.testing.assert_array_equal(w.numpy(), [[0, 3], [2, 5]])


@pytest.mark.parametrize("storage", [None, Storage()])
def test_a_leaf_that_nobody_filled_is_refused(storage):
    w, inputs = declared(1, name="w"), declared(1)
    with pytest.raises(DataError, match="'w' has no data"):
        OptContext(inputs, inputs + w, "sum", OptOptions(storage=storage))


def test_graphs_that_cannot_be_trained_are_refused():
    inputs = declared(1)
    with pytest.raises(GradientError, match="leaf without data"):
        OptContext(engine.tensor([1.0]), inputs, "sum")
    with pytest.raises(ShapeError, match="first axis counts"):
        OptContext(declared(), inputs, "sum")
    with pytest.raises(ShapeError, match="first axis counts"):
        OptContext(declared(0), inputs, "sum")
    with pytest.raises(DTypeError, match="int64"):
        OptContext(inputs, declared(1, dtype=np.dtype(np.int64)), "sum")
    with pytest.raises(DTypeError, match="float16"):
        OptContext(inputs, inputs + weight(1, dtype=np.float16), "sum")
    with pytest.raises(GradientError, match="two leaves are called 'w'"):
        OptContext(inputs, inputs + weight(1) + weight(2), "sum")
    with pytest.raises(AttributeValueError, match="opt_period"):
        OptContext(inputs, inputs, "sum", OptOptions(opt_period=0))


def test_batches_that_do_not_fit_are_refused():
    _, opt = shifted()
    with pytest.raises(ShapeError, match=r"\[1\], a batch of \[2\]"):
        opt.evaluate(np.zeros(2, np.float32), backward=True)
    with pytest.raises(DataError, match="float32, the batch is float64"):
        opt.evaluate(np.zeros(1), backward=True)
    with pytest.raises(DataError, match="nothing has been evaluated"):
        opt.outputs()
    _, opt = shifted(loss="mean_squared_error")
    with pytest.raises(DataError, match="MEAN_SQUARED_ERROR needs labels"):
        opt_epoch(opt, OptDataset(np.arange(6, dtype=np.float32)))
