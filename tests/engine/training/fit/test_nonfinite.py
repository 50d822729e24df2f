"""A fit that succeeds holds finite numbers only; one that fails names where the first other one came from."""

import math
import re

import numpy as np
import pytest

import engine
from engine.core.errors import NonfiniteError
from engine.training.fit import nonfinite

EXECUTORS = engine.executors()
LINE = {"x": ["batch", 3], "y": ["batch"]}


def rows(seed=0, count=48):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((count, 3)).astype(np.float32)
    return {"x": x, "y": (x @ [1.0, -2.0, 0.5]).astype(np.float32)}


def create(program, columns, validation=None, executor="numpy", parameters=None, inputs=LINE, **recipe):
    graph = {"inputs": inputs, "parameters": parameters or {"w": [3], "b": []}, "program": program}
    document = {"epochs": 4, "batch_size": 8, "optimizer": {"kind": "sgd", "lr": 0.1}, **recipe}
    return engine.Fit(
        engine.parse_graph(graph),
        engine.read_recipe(document),
        columns,
        validation,
        execution=engine.Execution(executor),
    )


def spoilt(columns, name, place, value=math.nan):
    array = columns[name].copy()
    array[place] = value
    return {**columns, name: array}


def failure_of(fit):
    with pytest.raises(NonfiniteError) as caught:
        list(fit)
    assert fit.failure is caught.value
    return caught.value


SQUARED = "loss = mean((x @ w + b - y) ** 2)"
FAULTS = {
    "too high a rate": (SQUARED, {"optimizer": {"kind": "sgd", "lr": 1e4}}, r"step \d+ is (inf|nan): .*node", None),
    "a logarithm of 0": ("loss = mean(log(x @ w + b) * y)", {}, r"-inf at \[0\] in the forward node .* \(log\)", 1),
    "a slope of a root": ("loss = mean(sqrt(abs(b))) + 0 * mean(x @ w)", {}, "in the backward node", 1),
    "a last update": (SQUARED, {"optimizer": {"kind": "sgd", "lr": 3e38}, "epochs": None, "steps": 1}, "overflowed", 1),
}  # fmt: skip


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fit_fails_at_the_first_number_that_is_not_finite_and_names_its_node(name, executor):
    program, recipe, message, step = FAULTS[name]
    zeros = {"w": {"shape": [3], "init": {"kind": "zeros"}}, "b": []} if "log(" in program else None
    fit = create(program, rows(), executor=executor, parameters=zeros, **recipe)
    error = failure_of(fit)
    assert error.code == "numerics_nonfinite"
    assert error.step == fit.step == (step or fit.step)
    assert re.search(message, str(error)), str(error)
    assert "divergence.action" in str(error)
    if name != "a last update":
        assert all(np.isfinite(array).all() for array in fit.model.parameters.values()), "the step was taken"


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("column", ["x", "y"])
@pytest.mark.parametrize("where", ["training", "validation"])
def test_a_missing_value_is_named_with_its_row(column, where, executor):
    bad = spoilt(rows(), column, 17)
    columns, validation = (bad, None) if where == "training" else (rows(), bad)
    error = failure_of(create(SQUARED, columns, validation, executor=executor))
    assert f"input {column!r} (column {column!r}) holds nan in row 17" in str(error)
    assert "missing values" in str(error)
    assert where == "training" or "validation rows" in str(error)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_gradient_that_spoils_what_no_later_batch_reads_is_found_between_recorded_steps(executor):
    """Row 7 of the table is read once; its gradient is infinite there, and the loss is finite all the time."""
    inputs = {"row": {"shape": ["batch"], "dtype": "int64"}, "c": ["batch"]}
    row = np.array([1, 2, 3, 7] + [1, 2, 3, 3] * 30)
    columns = {"row": row, "c": (row == 7).astype(np.float32)}
    table = {"t": {"shape": [8, 1], "init": {"kind": "ones"}}}
    program = "e = reshape(embedding(t, row), shape=(-1,))\nloss = mean(sqrt(abs(e - c)))"
    recipe = {"shuffle": False, "batch_size": 2, "record": {"every_steps": 40}, "epochs": 1}
    fit = create(program, columns, inputs=inputs, parameters=table, executor=executor, **recipe)
    assert failure_of(fit).step == 2
    assert fit.seq == 1
    assert np.isfinite(fit.model.parameters["t"]).all()


def test_the_node_is_found_from_a_copy_of_any_age(monkeypatch):
    def reports(spacing):
        monkeypatch.setattr(nonfinite, "SPACING_SECONDS", spacing)
        optimizer, schedule = {"kind": "adam", "lr": 0.1}, {"kind": "exponential", "gamma": 30.0, "per": "step"}
        return str(failure_of(create(SQUARED, rows(), optimizer=optimizer, schedule=schedule, epochs=40)))

    assert reports(0.0) == reports(1e9)


def test_arrays_too_large_to_copy_are_not_copied_and_the_step_is_named(monkeypatch):
    monkeypatch.setattr(nonfinite, "LARGEST_BYTES", 8)
    error = failure_of(create(SQUARED, spoilt(rows(), "x", 0), shuffle=False))
    assert (error.step, error.found) == (1, None)
    assert "loss of step 1 is nan" in str(error)


def test_the_last_row_is_the_same_whether_steps_run_in_one_call_or_alone():
    def last(steps):
        fit = create(SQUARED, spoilt(rows(count=400), "x", 390), shuffle=False, executor=EXECUTORS[-1], batch_size=4)
        points = []
        while not fit.done:
            points += fit.advance(steps)
        assert fit.failure is not None
        return points[-1].to_json()

    assert last(1) == last(500)


def test_continue_is_a_choice():
    points = list(create(SQUARED, spoilt(rows(), "x", 3), divergence={"action": "continue"}))
    assert not math.isfinite(points[-1].values["loss"])


ACTS = ("relu", "tanh", "exp", "sqrt", "log", "sigmoid", "square", "reciprocal")
OPTIMIZERS = ("sgd", "adam", "adagrad", "rmsprop", "lion")


def random_fit(seed):
    """A small fit of which some diverge: random ops, rates over ten orders of magnitude, some rows missing."""
    rng = np.random.default_rng(seed)
    first, second = rng.choice(ACTS, 2)
    loss = rng.choice(["mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss"])
    program = f"h = {first}(x @ w)\np = {second}(h @ v + b)\nloss = {loss}(p, y)"
    columns, validation = rows(seed), rows(seed + 1)
    if rng.random() < 0.2:
        columns = spoilt(columns, rng.choice(["x", "y"]), int(rng.integers(48)), rng.choice([math.nan, math.inf]))
    elif rng.random() < 0.2:
        validation = spoilt(validation, rng.choice(["x", "y"]), int(rng.integers(48)), math.nan)
    recipe = {
        "optimizer": {"kind": str(rng.choice(OPTIMIZERS)), "lr": 10.0 ** rng.integers(-5, 6)},
        "metrics": ["mae", "rmse"],
        "micro_batch_size": [None, 3][rng.integers(2)],
        "average": [None, "ema"][rng.integers(2)],
        "record": {"every_steps": int(rng.integers(1, 9))},
        "seed": seed,
        "epochs": 2,
    }
    parameters = {"w": [3, 4], "v": [4], "b": []}
    executor = EXECUTORS[seed % len(EXECUTORS)]
    return create(program, columns, validation, executor=executor, parameters=parameters, **recipe)


def test_a_fit_that_succeeds_has_only_finite_rows_and_parameters():
    ends = {True: 0, False: 0}
    for seed in range(30):
        fit, points = random_fit(seed), []
        while not fit.done:
            points += fit.advance()
        ends[fit.failure is None] += 1
        if fit.failure is not None:
            assert fit.failure.code == "numerics_nonfinite", seed
            continue
        for point in points:
            assert all(map(math.isfinite, point.values.values())), (seed, point)
        snapshot = fit.snapshot()
        for array in (*snapshot.parameters.values(), *snapshot.averaged().parameters.values()):
            assert np.isfinite(array).all(), seed
    assert min(ends.values()) >= 5, ends
