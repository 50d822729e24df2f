"""ggml's training interface: the right numbers of its own tests, on the engine's values without data."""

import math

import numpy as np
import pytest

import engine
from engine import ops
from engine.core.errors import AttributeValueError, DataError, ShapeError, UnknownName
from engine.core.value import Value
from engine.ggml.opt_context import OptContext, OptOptions
from engine.ggml.opt_data import OptDataset, OptResult
from engine.ggml.opt_fit import opt_epoch, opt_fit, split_batches
from engine.ggml.opt_params import (
    AdamWParameters,
    LossType,
    OptimizerParameters,
    OptimizerType,
    SGDParameters,
    constant_opt_pars,
    default_opt_pars,
)
from engine.optim.optimizers import make_optimizer
from tests.support.rows import each_row

NDATA = 6
UNIT = OptimizerParameters(adamw=AdamWParameters(alpha=1, beta1=0, beta2=0, eps=0), sgd=SGDParameters(alpha=1))
OPTIMIZERS = ("adamw", "sgd")
F32 = np.dtype(np.float32)


def declared(*shape, dtype=F32, name=None):
    return Value(shape, dtype, None, name=name)


def weight(*numbers, dtype=np.float32):
    return engine.tensor(np.array(numbers, dtype), requires_grad=True, name="w")


def counted():
    """The dataset of the right numbers: 0..5, no labels."""
    return OptDataset(np.arange(NDATA, dtype=np.float32))


def shifted(nbatch=1, logical=1, loss="sum", optimizer="adamw", **options):
    """The graph of the right numbers: inputs + w with w = 3 at first, a step of 1 against the sign of the gradient."""
    w, inputs = weight(3), declared(nbatch, name="inputs")
    options = {"get_opt_pars": constant_opt_pars(UNIT), "opt_period": logical // nbatch, **options}
    return w, OptContext(inputs, inputs + w, loss, OptOptions(optimizer, **options))


def evaluate_all(opt, result, *, backward):
    for x in range(NDATA):
        opt.evaluate(np.array([x], np.float32), backward=backward, result=result)


# The right numbers


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_gradients_add_up_over_a_window_that_does_not_end(optimizer):
    w, opt = shifted(logical=999_999, optimizer=optimizer)
    seen = []
    for x in range(NDATA):
        opt.evaluate(np.array([x], np.float32), backward=True)
        seen.append(opt.grad_acc("w").item())
    assert seen == [1, 2, 3, 4, 5, 6]
    assert w.item() == 3


@each_row("optimizer", OPTIMIZERS)
@each_row("whole_epochs", [False, True])
@each_row("shuffled", [False, True])
def test_forward_gives_losses_and_then_six_steps_move_the_weight(optimizer, whole_epochs, shuffled):
    w, opt = shifted(optimizer=optimizer)
    dataset, result = counted(), OptResult()
    assert (result.ndata, result.loss().value) == (0, 0)
    if shuffled:
        dataset.shuffle(opt.generator)
    if whole_epochs:
        opt_epoch(opt, dataset, None, result, 0)
    else:
        evaluate_all(opt, result, backward=False)
    assert w.item() == 3
    assert result.ndata == NDATA
    assert result.loss() == pytest.approx((33, math.sqrt(3.5)), abs=1e-10)
    assert all(math.isnan(number) for number in result.accuracy())
    result.reset()
    if whole_epochs:
        opt_epoch(opt, dataset, result)
    else:
        evaluate_all(opt, result, backward=True)
    assert w.item() == -3
    assert result.ndata == NDATA
    assert result.loss().value == pytest.approx(18, abs=1e-10)
    if not (whole_epochs and shuffled):
        assert result.loss().uncertainty == 0


def test_a_split_trains_on_what_lies_before_it_and_evaluates_the_rest():
    w, opt = shifted()
    dataset = counted()
    for epoch in range(1, 5):
        train, validation = OptResult(), OptResult()
        opt_epoch(opt, dataset, train, validation, 4)
        assert w.item() == 3 - 4 * epoch
        assert (train.ndata, validation.ndata) == (4, 2)
        assert train.loss() == pytest.approx((28 - 16 * epoch, 0), abs=1e-10)
        assert validation.loss() == pytest.approx((15 - 8 * epoch, math.sqrt(0.5)), abs=1e-10)


@each_row("physical", [1, 2])
@each_row(("loss", "parts"), [("sum", 1), ("mean", 6)])
def test_a_logical_batch_of_six_is_one_step_whatever_the_physical_batch(physical, loss, parts):
    w, opt = shifted(physical, NDATA, loss)
    dataset = counted()
    for epoch in range(1, 5):
        result, seen = OptResult(), []
        opt_epoch(
            opt, dataset, result, callback_train=lambda *_, seen=seen: seen.append(opt.grad_acc("w").item() * parts)
        )
        assert seen == pytest.approx(range(physical, NDATA + 1, physical), abs=1e-5)
        assert w.item() == pytest.approx(3 - epoch, abs=1e-6)
        assert result.ndata == NDATA // physical  # one row of outputs with one axis
        assert result.loss().value == pytest.approx((39 - 6 * epoch) / parts, abs=1e-5)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_epoch_and_a_fit_of_one_epoch_give_equal_weights(optimizer):
    w, opt = shifted(optimizer=optimizer, get_opt_pars=default_opt_pars)
    dataset = counted()
    dataset.shuffle(opt.generator)
    opt_epoch(opt, dataset, OptResult(), None, NDATA)
    fitted, inputs = weight(3), declared(1)
    opt_fit(inputs, inputs + fitted, counted(), "sum", optimizer, default_opt_pars, 1, 1, 0.0, silent=True)
    assert fitted.item() == w.item() != 3


def test_a_fit_finds_a_line_through_noisy_points():
    generator = np.random.default_rng(0)
    x = np.linspace(-100, 100, 201, dtype=np.float32)[:, None]
    y = (1.2 * x + 3.4 + generator.normal(0, 0.1, x.shape)).astype(np.float32)
    a, b = (engine.tensor(np.array([v], np.float32), requires_grad=True, name=n) for n, v in (("a", 1), ("b", 3)))
    inputs = declared(201, 1)
    pars = constant_opt_pars(OptimizerParameters(adamw=AdamWParameters(alpha=0.1)))
    results = opt_fit(inputs, inputs * a + b, OptDataset(x, y), "mean_squared_error", "adamw", pars, 100, 201)
    assert (a.item(), b.item()) == pytest.approx((1.2, 3.4), abs=1e-2)
    assert [r.epoch for r in results] == list(range(1, 101))
    assert results[-1].train.loss().value == pytest.approx(0.01, rel=0.5)


# Losses and optimizers


@each_row("loss", LossType)
@each_row("period", [1, 2])
def test_each_loss_has_ggmls_value_and_scale(loss, period):
    generator = np.random.default_rng(1)
    x, labels = generator.normal(size=(4, 3)).astype(np.float32), np.eye(3, dtype=np.float32)[[0, 2, 1, 1]]
    log_softmax = x - np.log(np.exp(x).sum(1, keepdims=True))
    wanted = {
        LossType.MEAN: x.mean() / period,
        LossType.SUM: x.sum(),
        LossType.CROSS_ENTROPY: -(labels * log_softmax).sum(1).mean() / period,
        LossType.MEAN_SQUARED_ERROR: ((x - labels) ** 2).mean() / period,
    }[loss]
    inputs, w = declared(4, 3), weight(0)
    opt, result = OptContext(inputs, inputs + w, loss, OptOptions(opt_period=period)), OptResult()
    found = opt.evaluate(x, labels if loss.takes_labels else None, backward=False, result=result)
    assert found == pytest.approx(wanted, rel=1e-5)
    whole = wanted if loss is LossType.SUM else wanted * period
    assert result.loss().value == pytest.approx(whole, rel=1e-5)
    assert result.ndata == 4


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_steps_are_those_of_the_engines_optimizers(optimizer):
    generator = np.random.default_rng(2)
    x, y = generator.normal(size=(8, 3)), generator.normal(size=(8, 2))
    start = generator.normal(size=(3, 2))
    w = engine.tensor(start, requires_grad=True, name="w")
    inputs = declared(8, 3, dtype=np.dtype(np.float64))
    numbers = OptimizerParameters(
        adamw=AdamWParameters(alpha=0.01, beta1=0.8, beta2=0.9, eps=1e-6, wd=0.1), sgd=SGDParameters(alpha=0.01)
    )
    opt_fit(inputs, inputs @ w, OptDataset(x, y), "mean_squared_error", optimizer, constant_opt_pars(numbers), 5, 8)

    options = {"betas": [0.8, 0.9], "eps": 1e-6, "weight_decay": 0.1} if optimizer == "adamw" else {}
    transform = make_optimizer({"kind": optimizer, "lr": 0.01, **options})
    known = engine.tensor(start, requires_grad=True)
    slots = {n: engine.tensor(np.zeros(s.shape, s.dtype)) for n, s in transform.slots(known.spec).items()}
    for _ in range(5):
        (gradient,) = engine.tape.grad(ops.mse_loss(ops.matmul(x, known), y), known)
        moved, slots = transform.update(gradient, known.detach(), slots, engine.tensor(0.01, dtype="float64"))
        known = engine.tensor(moved.numpy(), requires_grad=True)
    np.testing.assert_allclose(w.numpy(), known.numpy(), rtol=1e-12)


def test_weight_decay_of_sgd_is_decoupled():
    w, opt = shifted(optimizer="sgd", get_opt_pars=lambda _: OptimizerParameters(sgd=SGDParameters(alpha=0.5, wd=0.25)))
    opt.evaluate(np.zeros(1, np.float32), backward=True)
    assert w.item() == 3 * (1 - 0.5 * 0.25) - 0.5


def test_a_classification_is_learnt_and_counted():
    generator = np.random.default_rng(3)
    classes = np.arange(120) % 3
    points = np.eye(3)[classes] * 3 + generator.normal(0, 0.3, (120, 3))
    dataset = OptDataset(points.astype(np.float32), np.eye(3, dtype=np.float32)[classes])
    w, inputs = engine.tensor(np.zeros((3, 3), np.float32), requires_grad=True, name="w"), declared(6, 3)
    pars = constant_opt_pars(OptimizerParameters(adamw=AdamWParameters(alpha=0.05)))
    results = opt_fit(inputs, inputs @ w, dataset, LossType.CROSS_ENTROPY, "adamw", pars, 10, 12, 0.25)
    last = results[-1]
    assert (last.train.ndata, last.validation.ndata) == (84, 36)  # 7 and 3 logical batches of 12
    assert last.train.loss().value < results[0].train.loss().value
    assert last.validation.accuracy() == (1, 0)
    held_out = dataset.labels[dataset.permutation[84:]].argmax(1)
    np.testing.assert_array_equal(last.validation.predictions, held_out)
    assert last.validation.predictions.dtype == np.int32


def test_datapoints_are_reshaped_to_the_inputs():
    inputs, w = declared(2, 1, 2, 2), weight(1)
    opt, result = OptContext(inputs, ops.sum(inputs * w, axis=(2, 3)), "sum"), OptResult()
    opt_epoch(opt, OptDataset(np.ones((4, 4), np.float32)), None, result, 0)
    assert result.loss() == (16, 0)
    np.testing.assert_array_equal(opt.outputs(), [[4], [4]])


# Unknown names


@each_row("given", ["hinge", 7, -1, None, True, 1.0, OptimizerType.ADAMW])
def test_an_unknown_loss_type_is_refused_with_a_list_of_all(given):
    inputs = declared(1)
    with pytest.raises(UnknownName, match="MEAN, SUM, CROSS_ENTROPY, MEAN_SQUARED_ERROR"):
        opt_fit(inputs, inputs + weight(3), counted(), given)


@pytest.mark.parametrize("given", ["adamv", 2, None])
def test_an_unknown_optimizer_is_refused_with_a_list_of_all(given):
    inputs = declared(1)
    with pytest.raises(UnknownName, match="ADAMW, SGD"):
        opt_fit(inputs, inputs + weight(3), counted(), "sum", given)


# The callback for the numbers of a step, and those of batches


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_numbers_of_a_step_are_asked_for_with_the_epoch_before_each_step(optimizer):
    seen = []

    def reports(epoch):
        seen.append((epoch, w.item()))
        return OptimizerParameters(
            adamw=AdamWParameters(alpha=epoch, beta1=0, beta2=0, eps=0), sgd=SGDParameters(alpha=epoch)
        )

    w, inputs = weight(30), declared(1)
    opt_fit(inputs, inputs + w, counted(), "mean", optimizer, reports, 3, 3)
    assert seen == [(1, 30), (1, 29), (2, 28), (2, 26), (3, 24), (3, 21)]
    assert w.item() == 18


def test_what_the_callback_returns_must_be_numbers_of_a_step():
    _, opt = shifted(get_opt_pars=lambda epoch: 0.1)
    with pytest.raises(AttributeValueError, match="OptimizerParameters, not a float"):
        opt.evaluate(np.zeros(1, np.float32), backward=True)


def test_callbacks_come_after_each_batch_in_order_with_their_part():
    _, opt = shifted()
    dataset, train, validation, seen = counted(), OptResult(), OptResult(), []

    def callback(*arguments):
        seen.append((arguments, arguments[3].ndata))

    opt_epoch(opt, dataset, train, validation, 4, callback, callback)
    assert [(a[0], a[4], a[5], n) for a, n in seen] == [
        (True, 1, 4, 1),
        (True, 2, 4, 2),
        (True, 3, 4, 3),
        (True, 4, 4, 4),
        (False, 1, 2, 1),
        (False, 2, 2, 2),
    ]
    assert all(a[1] is opt and a[2] is dataset and a[3] is (train if a[0] else validation) for a, _ in seen)
    starts = [a[6] for a, _ in seen]
    assert starts == sorted(starts)
    assert len(set(starts[:4])) == len(set(starts[4:])) == 1


def test_results_are_optional():
    w, opt = shifted()
    opt_epoch(opt, counted())
    assert w.item() == -3


def test_progress_is_shown_unless_silent(capsys):
    inputs = declared(1)
    outputs = inputs + weight(3)
    opt_fit(inputs, outputs, counted(), "sum", nepoch=2, val_split=0.5, silent=True)
    assert capsys.readouterr().err == ""
    opt_fit(inputs, outputs, counted(), "sum", nepoch=2, val_split=0.5, silent=False)
    shown = capsys.readouterr().err
    assert [shown.count(text) for text in ("epoch 1/2\n", "epoch 2/2\n", "train [", "val   [")] == [1, 1, 6, 6]


# Divisibility, the split and the shuffles


@pytest.mark.parametrize(
    ("physical", "logical", "message"),
    [(1, 4, "number of datapoints, 6, .* nbatch_logical, 4"), (2, 3, "nbatch_logical, 3, .* physical batch, 2")],
)
def test_batches_that_do_not_divide_are_refused(physical, logical, message):
    inputs = declared(physical)
    with pytest.raises(DataError, match=message):
        opt_fit(inputs, inputs + weight(3), counted(), "sum", nbatch_logical=logical)


def test_an_epoch_refuses_what_does_not_divide():
    _, opt = shifted(4, 4)
    with pytest.raises(DataError, match="number of datapoints, 6, must be a multiple of the physical batch, 4"):
        opt_epoch(opt, counted())
    _, opt = shifted(2, 2)
    with pytest.raises(DataError, match="idata_split, 3, must be a multiple of the physical batch, 2"):
        opt_epoch(opt, counted(), idata_split=3)
    with pytest.raises(DataError, match="idata_split 8"):
        opt_epoch(opt, counted(), idata_split=8)


def test_remainders_are_left_out_when_asked_for():
    w, opt = shifted(2, 2)
    validation = OptResult()
    opt_epoch(opt, counted(), None, validation, 3, remainder="drop")
    assert w.item() == 2  # one step on 0 and 1; 2 and 3 lie astride the split
    assert validation.loss().value == 4 + 5 + 2 * 2

    for physical, logical, steps in ((1, 4, 1), (4, 4, 1), (2, 3, 3), (2, 5, 1)):
        w, inputs = weight(3), declared(physical)
        (result,) = opt_fit(
            inputs, inputs + w, counted(), "sum", "adamw", constant_opt_pars(UNIT), 1, logical, remainder="drop"
        )
        assert w.item() == 3 - steps
        assert result.validation.ndata == 0


@pytest.mark.parametrize("call", [opt_epoch, opt_fit])
def test_an_unknown_way_with_remainders_is_refused(call):
    inputs = declared(1)
    outputs = inputs + weight(3)
    arguments = (
        (OptContext(inputs, outputs, "sum"), counted()) if call is opt_epoch else (inputs, outputs, counted(), 1)
    )
    with pytest.raises(AttributeValueError, match="'error' or 'drop'"):
        call(*arguments, remainder="keep")


@pytest.mark.parametrize("shape", [(), (0, 2)])
def test_inputs_without_datapoints_are_refused(shape):
    inputs = declared(*shape)
    with pytest.raises(ShapeError, match="first axis counts"):
        opt_fit(inputs, inputs + weight(3), counted(), "sum")


@pytest.mark.parametrize("logical", [1, 8])
def test_even_then_a_logical_batch_holds_a_physical_one_and_fits_the_data(logical):
    inputs = declared(2 if logical == 1 else 8)
    with pytest.raises(DataError, match="must lie between"):
        opt_fit(inputs, inputs + weight(3), counted(), "sum", nbatch_logical=logical, remainder="drop")


@each_row(
    ("batches", "val_split", "trained"),
    [(10, 0.0, 10), (10, 0.3, 7), (6, 0.5, 3), (5, 0.6, 1), (10, 0.9, 1), (100, 0.99, 0)],
)
def test_the_split_is_computed_in_float32(batches, val_split, trained):
    assert split_batches(batches, val_split) == trained


@pytest.mark.parametrize("val_split", [-0.1, 1.0, math.nan])
def test_a_validation_split_lies_in_0_to_1(val_split):
    inputs = declared(1)
    with pytest.raises(AttributeValueError, match="val_split"):
        opt_fit(inputs, inputs + weight(3), counted(), "sum", val_split=val_split)


def orders(dataset, nbatch_logical, val_split, nepoch=3, seed=0):
    """The order of the dataset in each epoch of a fit."""
    seen, inputs = {}, declared(1)

    def reports(epoch):
        seen[epoch] = dataset.permutation.tolist()
        return UNIT

    opt_fit(inputs, inputs + weight(3), dataset, "sum", "sgd", reports, nepoch, nbatch_logical, val_split, seed=seed)
    return list(seen.values())


def test_all_datapoints_are_shuffled_once_and_those_for_training_in_each_epoch():
    seen = orders(OptDataset(np.zeros(40, np.float32)), 4, 0.5)
    assert all(sorted(order) == list(range(40)) for order in seen)
    assert seen[0][20:] == seen[1][20:] == seen[2][20:] != list(range(20, 40))
    assert sorted(seen[0][:20]) == sorted(seen[1][:20]) == sorted(seen[2][:20])
    assert len({tuple(order) for order in seen}) == 3
    assert seen == orders(OptDataset(np.zeros(40, np.float32)), 4, 0.5)
    assert seen != orders(OptDataset(np.zeros(40, np.float32)), 4, 0.5, seed=1)


def test_one_logical_batch_is_not_shuffled_and_one_for_training_only_once():
    assert orders(OptDataset(np.zeros(40, np.float32)), 40, 0.0) == [list(range(40))] * 3
    first, second, third = orders(OptDataset(np.zeros(40, np.float32)), 20, 0.5)
    assert first == second == third != list(range(40))


def test_without_parameters_there_is_only_the_loss():
    asked, inputs = [], declared(1)
    (result,) = opt_fit(inputs, inputs * 2.0, counted(), "sum", "adamw", lambda epoch: asked.append(epoch), 1, 1)
    assert result.train.loss().value == 30
    assert asked == []
