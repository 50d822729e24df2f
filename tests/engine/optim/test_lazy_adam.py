"""Adam that steps the rows with a gradient only, beside torch.optim.SparseAdam."""

import json
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.autograd.creation import parameter
from engine.core.errors import AttributeValueError
from engine.core.value import tensor
from engine.ops.optimizer.lazy import lazy_adam_update
from engine.optim.optimizers import make_optimizer
from engine.optim.tape_optimizer import TapeOptimizer
from engine.optim.transforms.link import Direction

GOLDEN = json.loads((Path(__file__).parent / "golden" / "lazy_adam.json").read_text())
CASES = [pytest.param(case, id=json.dumps(case["options"])) for case in GOLDEN["cases"]]
START = np.array(GOLDEN["start"])
GRAPH = {
    "inputs": {"x": {"shape": ["batch"], "dtype": "int64"}, "y": ["batch"]},
    "parameters": {"table": [50, 4], "bias": [1]},
    "program": "loss = mse_loss(sum(embedding(table, x), axis=1) + bias, y)",
}


def gradients():
    """Return the gradient of each step as an array: 0 in the rows that are not among those of the step."""
    dense = np.zeros((len(GOLDEN["rows"]), *START.shape))
    for gradient, rows, values in zip(dense, GOLDEN["rows"], GOLDEN["gradients"], strict=True):
        gradient[rows] = values
    return dense


COLUMNS = {
    "x": np.random.default_rng(0).integers(0, 40, 80),
    "y": np.random.default_rng(1).standard_normal(80).astype(np.float32),
}


def fit_of(executor, **options):
    optimizer = {"kind": "adam", "lr": 0.01, "lazy": True, **options}
    recipe = engine.read_recipe({"steps": 20, "batch_size": 4, "optimizer": optimizer})
    return engine.Fit(engine.parse_graph(GRAPH), recipe, COLUMNS, execution=engine.Execution(executor))


@pytest.mark.parametrize("case", CASES)
def test_the_tape_steps_as_pytorch(case):
    table = parameter(START.copy())
    optimizer = TapeOptimizer({"table": table}, "adam", lazy=True, **case["options"])
    for gradient, expected in zip(gradients(), case["tables"], strict=True):
        optimizer.step({"table": gradient})
        np.testing.assert_allclose(table.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_the_links_step_as_pytorch(case):
    optimizer = make_optimizer({"kind": "adam", "lazy": True, **case["options"]})
    table, lr = tensor(START), tensor(np.array(optimizer.lr))
    slots = {name: tensor(np.zeros(spec.shape, spec.dtype)) for name, spec in optimizer.slots(table.spec).items()}
    for gradient, expected in zip(gradients(), case["tables"], strict=True):
        direction = Direction(tensor(-gradient if optimizer.maximize else gradient), table, lr, lr)
        table, slots = optimizer.compose(optimizer.links(optimizer.betas[0]), direction, slots)
        np.testing.assert_allclose(table.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("executor", engine.executors())
def test_rows_that_no_batch_looks_up_keep_their_bits(executor):
    fit = fit_of(executor)
    before = fit.snapshot().parameters["table"].copy()
    fit.advance(20)
    after, seen = fit.snapshot(), np.unique(COLUMNS["x"])
    unseen = np.setdiff1d(np.arange(50), seen)
    np.testing.assert_array_equal(after.parameters["table"][unseen], before[unseen])
    assert (after.parameters["table"][seen] != before[seen]).all()
    moments = {name: array for name, array in after.optimizer.items() if "moment" in name and "table" in name}
    assert len(moments) == 2
    for array in moments.values():
        assert not array[unseen].any()
        assert array[seen].any(axis=1).all()


@pytest.mark.parametrize("executor", engine.executors())
def test_a_resumed_fit_has_the_same_bits(executor):
    whole, first, second = (fit_of(executor) for _ in range(3))
    whole.advance(20)
    first.advance(7)
    second.restore(first.snapshot())
    second.advance(13)
    found, expected = second.snapshot(), whole.snapshot()
    for name, array in {**expected.parameters, **expected.optimizer}.items():
        assert {**found.parameters, **found.optimizer}[name].tobytes() == array.tobytes(), name


def test_executors_agree():
    losses = []
    for executor in engine.executors():
        fit = fit_of(executor)
        losses.append([row.values["loss"] for row in fit.advance(20)])
    np.testing.assert_allclose(losses, [losses[0]] * len(losses), rtol=1e-5)


ARRAYS = np.abs(np.random.default_rng(2).standard_normal((4, 24)))
NUMBERS = [np.array(number) for number in (0.9, 0.02, 1.5)]
LAYOUT = {"offsets": (0, 8, 16), "rows": (3, 2, 1), "lengths": (2, 3, 1)}


def step(arrays, **layout):
    return [value.numpy() for value in lazy_adam_update(*map(tensor, (*arrays, *NUMBERS)), **layout)]


def test_a_vector_of_parameters_is_stepped_as_each_of_them():
    arrays = ARRAYS.copy()
    arrays[0, [2, 3, 8, 9, 10]] = 0  # one row of each table
    together = step(arrays, **LAYOUT)
    for place, rows, length in zip(*LAYOUT.values(), strict=True):
        part = slice(place, place + rows * length)
        alone = step(arrays[:, part].reshape(4, rows, length))
        for found, expected in zip(together, alone, strict=True):
            np.testing.assert_array_equal(found[part], expected.reshape(-1))
    kept = [2, 3, 6, 7, 8, 9, 10, 14, 15, *range(17, 24)]
    for found, before in zip(together, arrays[1:], strict=True):
        np.testing.assert_array_equal(found[kept], before[kept])


def test_a_row_with_one_number_that_is_not_0_is_stepped():
    arrays = ARRAYS.reshape(4, 8, 3).copy()
    arrays[0] = 0
    arrays[0, 1, 2], arrays[0, 4, 0] = 1e-30, np.nan
    changed = (step(arrays)[1] != arrays[2]).any(axis=1)
    assert np.flatnonzero(changed).tolist() == [1, 4]


@pytest.mark.parametrize(
    ("kind", "options"), [("adam", {"amsgrad": True}), ("adam", {"weight_decay": 0.1}), ("adamw", {})]
)
def test_what_changes_every_row_is_refused(kind, options):
    with pytest.raises(AttributeValueError, match=f"{kind} cannot be lazy with (amsgrad|weight_decay)"):
        make_optimizer({"kind": kind, "lazy": True, **options})


@pytest.mark.parametrize(
    "layout",
    [
        {"offsets": (0,), "rows": (2,), "lengths": ()},
        {"offsets": (0, 3), "rows": (2, 1), "lengths": (2, 2)},
        {"offsets": (0,), "rows": (5,), "lengths": (5,)},
        {"offsets": (-1,), "rows": (1,), "lengths": (1,)},
    ],
)
def test_parameters_that_do_not_lie_one_after_the_other_are_refused(layout):
    with pytest.raises(AttributeValueError):
        step(ARRAYS, **layout)
