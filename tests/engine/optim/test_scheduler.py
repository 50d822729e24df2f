"""Schedules attached to optimizers: PyTorch's sequences, ggmlR's on request, and states."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.core.errors import CheckpointError, UnknownName
from engine.optim.scheduler import Scheduler
from engine.optim.tape_optimizer import TapeOptimizer

GOLDEN = Path(__file__).parent / "golden"


def optimizer(lr=1.0, kind="sgd"):
    return TapeOptimizer([engine.parameter(np.zeros(1))], kind, lr=lr)


def rates(scheduler, count):
    found = []
    for _ in range(count):
        scheduler.step()
        found.append(scheduler.get_last_lr()[0])
    return found


def test_cosine_over_150_epochs_is_pytorchs():
    expected = json.loads((GOLDEN / "annealing.json").read_text())["rates"]
    scheduler = Scheduler(optimizer(1e-3, "adam"), "cosine", t_max=150, eta_min=1e-5)
    assert scheduler.get_last_lr() == [1e-3]
    np.testing.assert_allclose(rates(scheduler, 150), expected, rtol=1e-12)


def test_cosine_starts_from_the_rate_at_its_construction():
    stepped = optimizer(1e-3, "adam")
    scheduler = Scheduler(stepped, "cosine", t_max=2, eta_min=1e-5)
    stepped.groups[0].lr = 5.0
    np.testing.assert_allclose(rates(scheduler, 2), [(1e-3 + 1e-5) / 2, 1e-5])


def test_cosine_as_ggmlr_is_one_step_late_and_never_reaches_the_end():
    scheduler = Scheduler(optimizer(), "cosine", t_max=4, compat="ggmlR")
    np.testing.assert_allclose(rates(scheduler, 5), [1, 0.853553, 0.5, 0.146447, 0.146447], atol=1e-6)
    scheduler = Scheduler(optimizer(), "cosine", t_max=4)
    np.testing.assert_allclose(rates(scheduler, 5), [0.853553, 0.5, 0.146447, 0, 0.146447], atol=1e-6)
    found = rates(Scheduler(optimizer(1e-3), "cosine", t_max=150, eta_min=1e-5, compat="ggmlR"), 150)
    wanted = [1e-5 + (1e-3 - 1e-5) * (1 + math.cos(math.pi * t / 150)) / 2 for t in range(150)]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize(
    ("compat", "expected"), [("torch", [0.75, 0.25, 1.0, 0.75]), ("ggmlR", [1.0, 0.75, 0.25, 1.0])]
)
def test_cosine_starts_again_on_request(compat, expected):
    scheduler = Scheduler(optimizer(), "cosine", t_max=3, restart=True, compat=compat)
    np.testing.assert_allclose(rates(scheduler, 4), expected)


def test_a_step_schedule_multiplies_at_every_step_size():
    scheduler = Scheduler(optimizer(0.1), "step", step_size=10, gamma=0.5)
    found = rates(scheduler, 30)
    np.testing.assert_allclose(found, [0.1] * 9 + [0.05] * 10 + [0.025] * 10 + [0.0125])


def test_every_group_starts_from_its_own_rate():
    stepper = TapeOptimizer(
        [{"params": [engine.parameter(np.zeros(1), name="a")]}, {"params": [engine.parameter(np.zeros(1))], "lr": 0.5}],
        "sgd",
        lr=1.0,
    )
    scheduler = Scheduler(stepper, "step", step_size=1, gamma=0.5)
    scheduler.step()
    assert scheduler.get_last_lr() == [0.5, 0.25]
    assert [group.initial_lr for group in stepper.groups] == [1.0, 0.5]


def test_a_state_goes_on_where_it_was_taken():
    first = Scheduler(optimizer(0.2), "cosine", t_max=100)
    rates(first, 37)
    other = Scheduler(optimizer(0.7), "constant")
    other.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert rates(other, 63) == rates(first, 63)
    with pytest.raises(CheckpointError, match="parameter groups"):
        other.load_state_dict({"schedule": {"kind": "constant"}, "last_epoch": 0, "bases": [1.0, 2.0]})


def test_an_unknown_schedule_is_refused_with_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'cosine'"):
        Scheduler(optimizer(), "cosin", t_max=3)
