"""Optimizers, schedules and clipping, step for step against PyTorch (golden/ is written by make_golden.py)."""

import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.core.errors import DocumentError, EngineError, ShapeError
from engine.core.modes import tracing
from engine.core.value import Spec, Value
from engine.execution.plan import NumpyExecutor, make_plan
from engine.optim.optimizers import CLOSURE_OPTIMIZERS, OPTIMIZERS, make_optimizer
from engine.optim.schedules.schedule import SCHEDULES, make_schedule
from tests.support.rows import each_row

pytestmark = pytest.mark.law

GOLDEN = Path(__file__).parent / "golden"
FLOAT64 = np.dtype("float64")


def golden(name):
    return json.loads((GOLDEN / f"{name}.json").read_text())


(UPDATES,), (CLIPS,), RATES = golden("optimizers"), golden("clips"), golden("schedules")


def named(run):
    return " ".join(f"{key}={value}" for key, value in run["document"].items())


def solved(run):
    return f"{named(run)} {run['problem']}"


def slope(problem, known, step):
    """The gradient of one of the golden problems."""
    if "gradients" in problem:
        return np.array(problem["gradients"][step])
    if "steepness" in problem:
        return np.array(problem["steepness"]) * (known - problem["centre"])
    x, y = np.array(problem["x"]), np.array(problem["y"])
    return x.T @ (1 / (1 + np.exp(-x @ known)) - y) / y.size


def walked(run, dtype=FLOAT64):
    """Step through a golden run; yield the parameter beside what it must be after each recorded step."""
    problem, recorded = UPDATES["problems"][run["problem"]], UPDATES["recorded"]
    optimizer = make_optimizer(run["document"])
    executor, state = stepper(optimizer, np.array(problem["start"]), dtype)
    for step in range(recorded[-1]):
        executor.inputs["g"][...] = slope(problem, state["p"], step)
        executor.inputs["lr"][...] = optimizer.lr
        executor.run()
        if step + 1 in recorded:
            yield state["p"], run["path"][recorded.index(step + 1)]


def stepper(optimizer, start, dtype=FLOAT64):
    """Plan one update of a vector; return the executor and the state it works on."""
    spec = Spec(start.shape, dtype)
    slots = optimizer.slots(spec)
    state = {"p": start.astype(dtype), **{name: np.zeros(s.shape, s.dtype) for name, s in slots.items()}}
    leaves = {name: Value(array.shape, array.dtype, None, name=name) for name, array in state.items()}
    gradient, rate = Value(spec.shape, dtype, None, name="g"), Value((), FLOAT64, None, name="lr")
    with tracing(lambda: pytest.fail("no optimizer is random")):
        updated, changed = optimizer.update(gradient, leaves["p"], {name: leaves[name] for name in slots}, rate)
    plan = make_plan({"g": gradient, "lr": rate}, leaves, {}, {"p": updated, **changed})
    return NumpyExecutor(plan, state), state


@each_row("run", UPDATES["runs"], ids=solved)
def test_an_optimizer_steps_as_pytorchs(run):
    for found, expected in walked(run):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)


@each_row("run", [run for run in UPDATES["runs"] if run["problem"] != "logistic"], ids=solved)
def test_float32_parameters_stay_float32_and_near(run):
    for found, expected in islice(walked(run, np.dtype("float32")), 8):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_every_optimizer_is_in_the_golden_runs():
    assert {run["document"]["kind"] for run in UPDATES["runs"]} == set(OPTIMIZERS) - {"chain"}  # optax has that


@each_row("run", RATES, ids=named)
def test_a_schedule_runs_as_pytorchs(run):
    schedule = make_schedule(run["document"])
    rates = [schedule.rate(0.1, epoch=epoch, step=0) for epoch in range(100)]
    np.testing.assert_allclose(rates, run["rates"], rtol=1e-12, atol=1e-16)
    by_step = make_schedule({**run["document"], "per": "step"})
    assert [by_step.rate(0.1, epoch=0, step=step) for step in range(100)] == rates


def test_a_rate_that_overflows_is_infinite():
    assert make_schedule({"kind": "step", "step_size": 1, "gamma": 10.0}).rate(0.1, epoch=400, step=0) == float("inf")


@pytest.mark.parametrize("run", CLIPS["runs"], ids=named)
def test_gradients_are_clipped_as_by_pytorch(run):
    definition = engine.parse_graph(
        {
            "inputs": {"x": ["batch", 3], "y": ["batch", 2]},
            "parameters": {"a": {"shape": [3], "init": "zeros"}, "b": {"shape": [2], "init": "zeros"}},
            "program": "loss = sum(x @ a) + sum(y @ b)",
        }
    )
    recipe = engine.read_recipe(
        {"steps": 1, "optimizer": {"kind": "sgd", "lr": 1.0}, "clip": run["document"], "precision": "float64"}
    )
    x, y = (np.array([gradient]) for gradient in CLIPS["gradients"])
    fit = engine.Fit(definition, recipe, {"x": x, "y": y})
    (point,) = fit.advance()
    for name, expected in zip("ab", run["clipped"], strict=True):
        np.testing.assert_allclose(-fit.model.parameters[name], expected, rtol=1e-12)
    norms = [np.linalg.norm(gradient) for gradient in (x, y)]
    assert point.values["grad_norm"] == pytest.approx(np.hypot(*norms), rel=1e-14)
    assert point.values["grad_norm/a"] == pytest.approx(norms[0], rel=1e-14)
    if run["norm"] is not None:
        assert point.values["grad_norm"] == pytest.approx(run["norm"], rel=1e-12)


REFUSED = {
    "no kind": (make_optimizer, {}, "unknown_name"),
    "an unknown kind": (make_optimizer, {"kind": "adan"}, "unknown_name"),
    "a kind that is a list": (make_optimizer, {"kind": ["sgd"]}, "unknown_name"),
    "an unknown option": (make_optimizer, {"kind": "sgd", "momentun": 0.9}, "attribute_invalid"),
    "a negative rate": (make_optimizer, {"kind": "sgd", "lr": -1}, "attribute_invalid"),
    "a rate of text": (make_optimizer, {"kind": "sgd", "lr": "0.1"}, "attribute_invalid"),
    "a boolean rate": (make_optimizer, {"kind": "sgd", "lr": True}, "attribute_invalid"),
    "a huge rate": (make_optimizer, {"kind": "sgd", "lr": 10**400}, "attribute_invalid"),
    "negative momentum": (make_optimizer, {"kind": "sgd", "momentum": -0.1}, "attribute_invalid"),
    "nesterov without momentum": (make_optimizer, {"kind": "sgd", "nesterov": True}, "attribute_invalid"),
    "nesterov with dampening": (
        make_optimizer,
        {"kind": "sgd", "nesterov": True, "momentum": 0.9, "dampening": 0.1},
        "attribute_invalid",
    ),
    "a beta of 1": (make_optimizer, {"kind": "adam", "betas": [0.9, 1.0]}, "attribute_invalid"),
    "one beta": (make_optimizer, {"kind": "adam", "betas": [0.9]}, "attribute_invalid"),
    "a step of Rprop that grows from both": (
        make_optimizer,
        {"kind": "rprop", "etas": [1.1, 1.2]},
        "attribute_invalid",
    ),
    "bounds of steps crossed": (make_optimizer, {"kind": "rprop", "step_sizes": [1.0, 0.1]}, "attribute_invalid"),
    "an alpha of 1": (make_optimizer, {"kind": "rmsprop", "alpha": 1.0}, "attribute_invalid"),
    "a rho above 1": (make_optimizer, {"kind": "adadelta", "rho": 1.5}, "attribute_invalid"),
    "a negative decay of the rate": (make_optimizer, {"kind": "adagrad", "lr_decay": -0.1}, "attribute_invalid"),
    "a negative start of the sums": (
        make_optimizer,
        {"kind": "adagrad", "initial_accumulator_value": -1},
        "attribute_invalid",
    ),
    "a negative decay of momentum": (make_optimizer, {"kind": "nadam", "momentum_decay": -1}, "attribute_invalid"),
    "negative trust": (make_optimizer, {"kind": "lars", "trust_coefficient": -1}, "attribute_invalid"),
    "a negative start of averaging": (make_optimizer, {"kind": "asgd", "t0": -1}, "attribute_invalid"),
    "a d below 1": (make_optimizer, {"kind": "adafactor", "d": 0.5}, "attribute_invalid"),
    "a growing beta": (make_optimizer, {"kind": "adafactor", "beta2_decay": 0.1}, "attribute_invalid"),
    "too many iterations": (make_optimizer, {"kind": "muon", "ns_steps": 100}, "attribute_invalid"),
    "an unknown adjustment": (make_optimizer, {"kind": "muon", "adjust_lr_fn": "none"}, "attribute_invalid"),
    "negative eps": (make_optimizer, {"kind": "adamw", "eps": -1e-8}, "attribute_invalid"),
    "an unknown schedule": (make_schedule, {"kind": "stp"}, "unknown_name"),
    "a schedule without its option": (make_schedule, {"kind": "step"}, "attribute_invalid"),
    "a step of 0": (make_schedule, {"kind": "step", "step_size": 0}, "attribute_invalid"),
    "a period of 0": (make_schedule, {"kind": "cosine", "t_max": 0}, "attribute_invalid"),
    "an unknown unit": (make_schedule, {"kind": "constant", "per": "row"}, "attribute_invalid"),
    "an unknown option of a schedule": (make_schedule, {"kind": "constant", "gamma": 1.0}, "attribute_invalid"),
}


@each_row(("make", "document", "code"), REFUSED.values(), ids=REFUSED)
def test_a_faulty_optimizer_or_schedule_is_refused(make, document, code):
    with pytest.raises(EngineError) as caught:
        make(document)
    assert caught.value.code == code


def test_a_misspelt_kind_or_option_is_answered_with_the_nearest():
    with pytest.raises(EngineError, match="did you mean 'adam'"):
        make_optimizer({"kind": "adan"})
    with pytest.raises(EngineError, match="did you mean 'momentum'"):
        make_optimizer({"kind": "sgd", "momentun": 0.9})


def test_the_catalogues_describe_every_optimizer_and_schedule():
    for catalogue, table in (
        (engine.optimizer_catalogue(), {**OPTIMIZERS, **CLOSURE_OPTIMIZERS}),
        (engine.schedule_catalogue(), SCHEDULES),
    ):
        assert [entry["kind"] for entry in catalogue] == list(table)
        assert all(entry["doc"] for entry in catalogue)
        assert json.loads(json.dumps(catalogue)) == json.loads(json.dumps(catalogue, allow_nan=False))
    adam = next(entry for entry in engine.optimizer_catalogue() if entry["kind"] == "adam")
    assert {attribute["name"] for attribute in adam["attrs"]} == {
        "lr", "maximize", "betas", "eps", "weight_decay", "amsgrad", "lazy",
    }  # fmt: skip


QUICK = {"adadelta": {"lr": 1.0, "eps": 1e-2}, "lars": {"trust_coefficient": 1.0}, "muon": {"weight_decay": 0.0}}
"""Options of those whose defaults are for longer training."""


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("schedule", ["constant", "step", "cosine"])
def test_every_optimizer_learns_under_every_schedule(kind, schedule):
    options = {"constant": {}, "step": {"step_size": 5, "gamma": 0.9}, "cosine": {"t_max": 30}}[schedule]
    definition = engine.parse_graph(
        {"inputs": {"x": ["n", 2], "y": ["n", 1]}, "parameters": {"w": [2, 1]}, "program": "loss = mse_loss(x @ w, y)"}
    )
    recipe = engine.read_recipe(
        {
            "epochs": 10,
            "batch_size": 8,
            "optimizer": {"kind": kind, "lr": 0.05, **QUICK.get(kind, {})},
            "schedule": {"kind": schedule, **options},
        }
    )
    x = np.random.default_rng(0).standard_normal((30, 2))
    points = list(engine.Fit(definition, recipe, {"x": x, "y": x @ [[1.0], [-2.0]]}))
    losses = [point.values["loss"] for point in points]
    assert np.mean(losses[-4:]) < 0.8 * np.mean(losses[:4])
    assert all(np.isfinite(losses))


@each_row("kind", [kind for kind in OPTIMIZERS if kind != "chain"])  # which points at the option
@each_row("option", [{"lr": -1.0}, {"lr": "fast"}, {"maximize": 1}, {"no_such_option": 1.0}])
def test_a_recipe_with_a_faulty_option_of_any_optimizer_is_refused_at_its_place(kind, option):
    with pytest.raises(DocumentError) as caught:
        engine.read_recipe({"epochs": 1, "optimizer": {"kind": kind, **option}})
    assert [(finding.pointer, finding.code) for finding in caught.value.findings] == [
        (f"/optimizer/{next(iter(option))}", "attribute_invalid")
    ]


def test_a_fit_by_muon_of_what_is_no_matrix_is_refused():
    definition = engine.parse_graph(
        {"inputs": {"x": ["n", 2]}, "parameters": {"b": [2]}, "program": "loss = sum(square(x + b))"}
    )
    recipe = engine.read_recipe({"epochs": 1, "optimizer": "muon"})
    with pytest.raises(ShapeError, match="freeze it, or step it by another optimizer"):
        engine.Fit(definition, recipe, {"x": np.ones((4, 2))})
