"""Momentum that schedules cycle, in plans and on the tape (golden/ is written by make_momentum_golden.py)."""

import json
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.core.errors import AttributeValueError
from engine.core.modes import tracing
from engine.core.value import Spec, Value
from engine.execution.plan import NumpyExecutor, make_plan
from engine.optim.closure_optimizer import ClosureOptimizer
from engine.optim.optimizers import OPTIMIZERS, make_optimizer
from engine.optim.scheduler import Scheduler
from engine.optim.schedules.schedule import make_schedule
from engine.optim.tape_optimizer import TapeOptimizer
from tests.support.rows import each_row

pytestmark = pytest.mark.law

GOLDEN = json.loads((Path(__file__).parent / "golden" / "momentum.json").read_text())
RUNS, START, GRADIENTS = GOLDEN["runs"], np.array(GOLDEN["start"]), np.array(GOLDEN["gradients"])
FLOAT64 = np.dtype("float64")
CYCLING = [kind for kind in OPTIMIZERS if make_optimizer({"kind": kind}).has_momentum]
ALWAYS = {"sgd": {"momentum": 0.9}, "rmsprop": {"momentum": 0.9}}
"""Options of those whose momentum is 0 by default."""


def named(run):
    return " ".join(f"{name}={value}" for name, value in run["document"].items()) + f" {run['schedule']['kind']}"


def planned(optimizer, start, fed):
    """Plan an update, with a momentum that is fed or without; return the executor and the state it works on."""
    spec = Spec(start.shape, start.dtype)
    slots = optimizer.slots(spec)
    state = {"p": start.copy(), **{name: np.zeros(s.shape, s.dtype) for name, s in slots.items()}}
    leaves = {name: Value(array.shape, array.dtype, None, name=name) for name, array in state.items()}
    inputs = {"g": Value(spec.shape, spec.dtype, None, name="g"), "lr": Value((), FLOAT64, None, name="lr")}
    if fed:
        inputs["momentum"] = Value((), FLOAT64, None, name="momentum")
    with tracing(lambda: pytest.fail("no optimizer is random")):
        own = {name: leaves[name] for name in slots}
        updated, changed = optimizer.update(inputs["g"], leaves["p"], own, inputs["lr"], inputs.get("momentum"))
    return NumpyExecutor(make_plan(inputs, leaves, {}, {"p": updated, **changed}), state), state


def ran(executor, **values):
    for name, value in values.items():
        executor.inputs[name][...] = value
    executor.run()


@each_row("run", RUNS, ids=named)
def test_a_planned_step_is_fed_momentum_as_pytorchs_takes_it(run):
    schedule = make_schedule({**run["schedule"], "per": "step"})
    optimizer = make_optimizer(run["document"]).with_momentum(schedule.momentum(epoch=0, step=0))
    executor, state = planned(optimizer, START, fed=True)
    for step, (gradient, expected) in enumerate(zip(GRADIENTS, run["path"], strict=True)):
        rate, momentum = schedule.rate(0.1, epoch=0, step=step), schedule.momentum(epoch=0, step=step)
        ran(executor, g=gradient, lr=rate, momentum=momentum)
        np.testing.assert_allclose(state["p"], expected, rtol=1e-11, atol=1e-13)


@each_row("run", RUNS, ids=named)
def test_a_scheduler_sets_momentum_as_pytorchs(run):
    p = engine.parameter(START.copy(), name="p")
    optimizer = TapeOptimizer([p], **run["document"])
    scheduler = Scheduler(optimizer, **run["schedule"])
    for gradient, expected in zip(GRADIENTS, run["path"], strict=True):
        optimizer.step({"p": gradient})
        scheduler.step()
        np.testing.assert_allclose(p.numpy(), expected, rtol=1e-11, atol=1e-13)


@each_row("dtype", ["float32", "float64"])
@each_row("kind", CYCLING)
def test_steps_on_the_tape_are_bitwise_those_of_plans(kind, dtype):
    start, document = START.astype(dtype).reshape(2, 2), {"kind": "one_cycle", "total_steps": 12, "max_lr": 0.1}
    schedule = make_schedule({**document, "per": "step"})
    p = engine.parameter(start.copy(), name="p")
    optimizer = TapeOptimizer([p], kind)
    scheduler = Scheduler(optimizer, **document)
    executor, state = planned(make_optimizer({"kind": kind}).with_momentum(0.95), start, fed=True)
    for step, gradient in enumerate(GRADIENTS[:10].astype(dtype).reshape(10, 2, 2)):
        optimizer.step({"p": gradient})
        scheduler.step()
        momentum = schedule.momentum(epoch=0, step=step)
        ran(executor, g=gradient, lr=schedule.rate(0.1, epoch=0, step=step), momentum=momentum)
        np.testing.assert_array_equal(p.numpy(), state["p"])


@each_row("dtype", ["float32", "float64"])
@each_row("kind", CYCLING)
def test_feeding_an_optimizer_its_own_momentum_changes_no_bit(kind, dtype):
    optimizer = make_optimizer({"kind": kind, **ALWAYS.get(kind, {})})
    start = START.astype(dtype).reshape(2, 2)
    (own, ours), (fed, theirs) = planned(optimizer, start, fed=False), planned(optimizer, start, fed=True)
    for gradient in GRADIENTS[:5].reshape(5, 2, 2):
        ran(own, g=gradient, lr=0.1)
        ran(fed, g=gradient, lr=0.1, momentum=optimizer.own_momentum)
    assert not np.array_equal(ours["p"], start)
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name])


def test_all_that_have_the_option_and_no_other_have_momentum():
    options = {entry["kind"]: {a["name"] for a in entry["attrs"]} for entry in engine.optimizer_catalogue()}
    assert set(CYCLING) == {kind for kind, names in options.items() if names & {"momentum", "betas"}}
    for kind in CYCLING:
        changed = make_optimizer({"kind": kind}).with_momentum(0.25)
        assert changed.own_momentum == 0.25
        assert changed.with_momentum(make_optimizer({"kind": kind}).own_momentum) == make_optimizer({"kind": kind})


def fed(optimizer):
    return planned(optimizer, np.ones((2, 2)), fed=True)


def cycled(optimizer, **options):
    return Scheduler(optimizer, "one_cycle", total_steps=9, **options)


def leaf():
    return engine.parameter(np.ones((2, 2)))


REFUSED = {
    "a momentum that it has not": (lambda: fed(make_optimizer({"kind": "adagrad"})), "adagrad has no momentum"),
    "a momentum without slots": (lambda: fed(make_optimizer({"kind": "sgd"})), "sgd has momentum 0.*with_momentum"),
    "another momentum": (lambda: make_optimizer({"kind": "asgd"}).with_momentum(0.5), "asgd has no momentum.*0.5"),
    "another of what needs none": (lambda: make_optimizer({"kind": "lbfgs"}).with_momentum(0.5), "lbfgs has no momen"),
    "a cycle": (lambda: cycled(TapeOptimizer([leaf()], "rprop")), "rprop has none; give it cycle_momentum false"),
    "a cycle of closures": (lambda: cycled(ClosureOptimizer([leaf()])), "lbfgs has none; give it cycle_momentum false"),
    "a beta of 1": (
        lambda: make_optimizer({"kind": "adam"}).with_momentum(1.0),
        "betas must be at least 0 and less than",
    ),
}


@each_row(("act", "message"), REFUSED.values(), ids=REFUSED)
def test_what_has_no_momentum_refuses_one(act, message):
    with pytest.raises(AttributeValueError, match=message):
        act()


@pytest.mark.parametrize("kind", ["adagrad", "sgd", "lbfgs"])
def test_without_cycling_momentum_any_optimizer_may_be_cycled(kind):
    optimizer = (ClosureOptimizer if kind == "lbfgs" else TapeOptimizer)([leaf()], kind, lr=0.5)
    before = optimizer.groups[0].options
    cycled(optimizer, cycle_momentum=False).step()
    assert optimizer.groups[0].lr != 0.5
    assert optimizer.groups[0].options == before


def test_a_group_without_momentum_keeps_a_cycle_from_all():
    optimizer = TapeOptimizer([{"params": [leaf()]}, {"params": [leaf()], "kind": "adagrad"}], "sgd", lr=0.1)
    with pytest.raises(AttributeValueError, match="adagrad has none"):
        cycled(optimizer)
    assert optimizer.groups[0].transform.own_momentum == 0
    scheduler = Scheduler(optimizer, "constant")
    before = scheduler.state_dict()
    with pytest.raises(AttributeValueError, match="adagrad has none"):
        scheduler.load_state_dict({**before, "schedule": {"kind": "one_cycle", "total_steps": 5}})
    assert scheduler.state_dict() == before


@each_row("kind", CYCLING)
def test_a_state_in_mid_cycle_goes_on_where_it_was_taken(kind):
    def create(start):
        p = engine.parameter(start.copy(), name="p")
        optimizer = TapeOptimizer([p], kind)
        return p, optimizer, Scheduler(optimizer, "one_cycle", total_steps=20, max_lr=0.05)

    def run(p, optimizer, scheduler, gradients):
        for gradient in gradients:
            optimizer.step({"p": gradient})
            scheduler.step()

    gradients = GRADIENTS[:14].reshape(14, 2, 2)
    p, optimizer, scheduler = first = create(START.reshape(2, 2))
    run(*first, gradients[:7])
    copy, other, following = second = create(p.numpy())
    other.load_state_dict(optimizer.state_dict())
    following.load_state_dict(json.loads(json.dumps(scheduler.state_dict())))
    run(*first, gradients[7:])
    run(*second, gradients[7:])
    np.testing.assert_array_equal(p.numpy(), copy.numpy())
