"""Every schedule of the table: PyTorch's trajectories (golden/ is written by make_schedule_golden.py), and refusals."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.core.errors import AttributeValueError, CheckpointError
from engine.optim.scheduler import Scheduler
from engine.optim.schedules.schedule import SCHEDULES, make_schedule
from engine.optim.tape_optimizer import TapeOptimizer
from tests.support.rows import each_row

pytestmark = pytest.mark.law

GOLDEN = json.loads((Path(__file__).parent / "golden" / "schedule_trajectories.json").read_text())
BASE, RUNS = GOLDEN["base"], GOLDEN["runs"]
METRICS = [math.nan if metric is None else metric for metric in GOLDEN["metrics"]]
BY_COUNT = [run for run in RUNS if run["document"]["kind"] != "reduce_on_plateau"]


def named(run):
    return " ".join(f"{name}={str(value)[:30]}" for name, value in run["document"].items())


def optimizer(*rates):
    return TapeOptimizer([{"params": [engine.parameter(np.zeros(1))], "lr": rate} for rate in rates], "sgd")


def attached(document, *rates):
    return Scheduler(optimizer(*(rates or (BASE,))), **document)


def rates_of(scheduler, metrics):
    """Return the rate before each step; the metrics are those after it."""
    found = []
    for metric in metrics:
        found.append(scheduler.get_last_lr()[0])
        scheduler.step(metric)
    return found


def test_every_schedule_is_in_the_golden_runs():
    assert {run["document"]["kind"] for run in RUNS} == set(SCHEDULES)
    assert GOLDEN["torch"].startswith("2.13")
    assert all(len(run["rates"]) == 100 for run in RUNS)


@each_row("run", RUNS, ids=named)
def test_a_schedule_runs_as_pytorchs(run):
    found = rates_of(attached(run["document"]), METRICS)
    np.testing.assert_allclose(found, run["rates"], rtol=1e-12, atol=1e-15)


@each_row("run", RUNS, ids=named)
def test_momentum_is_cycled_as_by_pytorch(run):
    scheduler = attached(run["document"])
    found = []
    for metric in METRICS:
        found.append(scheduler.optimizer.groups[0].transform.own_momentum)
        scheduler.step(metric)
    np.testing.assert_allclose(found, run["momenta"] or [0.0] * 100, rtol=1e-12)


@each_row("run", BY_COUNT, ids=named)
@each_row("per", ["epoch", "step"])
def test_momentum_is_a_function_of_the_count_alone(run, per):
    schedule = make_schedule({**run["document"], "per": per})
    other = {"step": "epoch", "epoch": "step"}[per]
    found = [schedule.momentum(**{per: t, other: 0}) for t in reversed(range(100))][::-1]
    assert schedule.cycles_momentum == (run["momenta"] is not None)
    if run["momenta"] is None:
        assert found == [None] * 100
    else:
        np.testing.assert_allclose(found, run["momenta"], rtol=1e-12)


@each_row("run", BY_COUNT, ids=named)
@each_row("per", ["epoch", "step"])
def test_a_schedule_is_a_function_of_the_count_alone(run, per):
    schedule = make_schedule({**run["document"], "per": per})
    other = {"step": "epoch", "epoch": "step"}[per]
    found = [schedule.rate(BASE, **{per: t, other: 0}) for t in reversed(range(100))]
    np.testing.assert_allclose(found[::-1], run["rates"], rtol=1e-12, atol=1e-15)


@each_row("run", RUNS, ids=named)
def test_a_schedule_saved_after_37_steps_goes_on_to_the_same_bits(run):
    whole = rates_of(attached(run["document"]), METRICS)
    first = attached(run["document"])
    head = rates_of(first, METRICS[:37])
    text = json.dumps(first.state_dict(), allow_nan=False)
    second = attached({"kind": "constant"}, 0.7)
    second.load_state_dict(json.loads(text))
    assert head + rates_of(second, METRICS[37:]) == whole


def test_groups_are_reduced_each_from_its_own_rate():
    scheduler = attached({"kind": "reduce_on_plateau", "patience": 0, "factor": 0.5, "min_lr": 0.04}, 0.1, 0.05)
    for metric in (1.0, 1.0, 1.0):
        scheduler.step(metric)
    assert scheduler.get_last_lr() == [0.04, 0.04]
    other = attached({"kind": "constant"}, 0.3, 0.3)
    other.load_state_dict(scheduler.state_dict())
    assert other.get_last_lr() == [0.04, 0.04]


def test_a_schedule_that_goes_by_a_metric_asks_for_it():
    scheduler = attached({"kind": "reduce_on_plateau"})
    with pytest.raises(AttributeValueError, match=r"step\(metric\)"):
        scheduler.step()
    assert scheduler.last_epoch == 0


@each_row(
    "plateaus",
    [None, [], [{}], [{"rate": "0x1p-3", "best": "x", "bad": 0, "cooling": 0}],
     [{"rate": "0x1p-3", "best": "inf", "bad": -1, "cooling": 0}]],
)  # fmt: skip
def test_a_damaged_state_is_refused_and_changes_nothing(plateaus):
    state = {**attached({"kind": "reduce_on_plateau"}).state_dict(), "plateaus": plateaus}
    scheduler = attached({"kind": "constant"}, 0.3)
    before = scheduler.state_dict()
    with pytest.raises(CheckpointError, match="reduce_on_plateau"):
        scheduler.load_state_dict(state)
    assert scheduler.state_dict() == before


def test_a_metric_is_not_looked_at_before_the_warm_up_is_over():
    plateau = {"kind": "reduce_on_plateau", "patience": 1, "factor": 0.5}
    scheduler = attached({"kind": "warm_up", "total_iters": 4, "start_factor": 0.2, "schedule": plateau}, 1.0)
    found = rates_of(scheduler, [1.0] * 12)
    np.testing.assert_allclose(found, [0.2, 0.4, 0.6, 0.8, 1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.125], rtol=1e-15)
    alone = rates_of(attached(plateau, 1.0), [1.0] * 8)
    assert found[4:] == alone


def test_schedules_within_schedules_keep_their_own_count():
    inner = {"kind": "chained", "schedules": [{"kind": "exponential", "gamma": 0.5}, {"kind": "step", "step_size": 2}]}
    schedule = make_schedule({"kind": "sequential", "schedules": ["constant", inner], "milestones": [3]})
    found = [schedule.at(1.0, t) for t in range(8)]
    np.testing.assert_allclose(found, [1, 1, 1, 1, 0.5, 0.025, 0.0125, 0.000625], rtol=1e-14)


def test_a_warm_up_rises_to_the_first_rate_of_what_follows():
    cycle = {"kind": "one_cycle", "total_steps": 10, "div_factor": 4.0}
    schedule = make_schedule({"kind": "warm_up", "total_iters": 2, "start_factor": 0.5, "schedule": cycle})
    assert [schedule.at(1.0, t) for t in (0, 1, 2)] == [0.125, 0.1875, 0.25]
    assert max(schedule.at(1.0, t) for t in range(12)) == 1.0


def test_momentum_within_schedules_is_that_of_the_one_that_sets_it():
    cycle = {"kind": "one_cycle", "total_steps": 11, "pct_start": 1.0, "anneal_strategy": "linear"}
    other = {**cycle, "base_momentum": 0.4, "max_momentum": 0.5}

    def momenta(kind, *schedules, **options):
        schedule = make_schedule({"kind": kind, "schedules": schedules, **options})
        return [round(schedule.momentum_at(t), 12) for t in range(0, 12, 2)]

    alone = [round(make_schedule(cycle).momentum_at(t), 12) for t in range(0, 12, 2)]
    assert alone == [0.95, 0.93, 0.91, 0.89, 0.87, 0.85]
    assert momenta("chained", cycle, {"kind": "exponential", "gamma": 0.5}) == alone
    assert momenta("chained", other, cycle) == alone
    assert momenta("sequential", "constant", cycle, milestones=[4]) == [0.95, 0.95, 0.95, 0.93, 0.91, 0.89]
    assert momenta("sequential", cycle, "constant", milestones=[5]) == [0.95, 0.93, 0.91, 0.91, 0.91, 0.91]
    assert momenta("sequential", "constant", other, cycle, milestones=[2, 6]) == [0.95, 0.5, 0.48, 0.95, 0.93, 0.91]


def test_a_cycle_without_bounds_goes_by_the_starting_rate():
    up = make_schedule({"kind": "cyclic", "max_lr": 1.0, "step_size_up": 2})
    assert [up.at(0.5, t) for t in range(5)] == [0.5, 0.75, 1.0, 0.75, 0.5]
    assert make_schedule({"kind": "one_cycle", "total_steps": 10, "pct_start": 0.1}).at(0.5, 0) == 0.5


def test_one_cycle_ends_with_an_error_and_stays_where_it_was():
    scheduler = attached({"kind": "one_cycle", "total_steps": 3, "pct_start": 0.5})
    for _ in range(3):
        scheduler.step()
    last = scheduler.get_last_lr()
    with pytest.raises(AttributeValueError, match="total_steps 3"):
        scheduler.step()
    assert (scheduler.last_epoch, scheduler.get_last_lr()) == (3, last)


@each_row(
    "document",
    [
        {"kind": "exponential", "gamma": 10.0},
        {"kind": "multiplicative", "factor": 10.0},
        {"kind": "chained", "schedules": [{"kind": "exponential", "gamma": 10.0}]},
    ],
)
def test_a_rate_that_overflows_is_infinite(document):
    assert make_schedule(document).rate(0.1, epoch=400, step=0) == math.inf


@pytest.mark.parametrize("mode", ["triangular", "triangular2"])
def test_gamma_matters_to_the_exponential_range_only(mode):
    options = {"kind": "cyclic", "base_lr": 0.1, "max_lr": 0.2, "step_size_up": 4, "mode": mode}
    far = 8 * 10**6 + 4
    assert make_schedule({**options, "gamma": 3.0}).rate(0.1, epoch=far, step=0) == make_schedule(options).at(0.1, far)


SEQUENCE = {"kind": "sequential", "milestones": [5]}
PLATEAU = {"kind": "reduce_on_plateau"}

# A schedule, where its faults are, and the message of each.
REFUSED = {
    "no gamma": ({"kind": "exponential"}, {"": "exponential needs the option 'gamma' (a number)"}),
    "a negative gamma": ({"kind": "exponential", "gamma": -0.5}, {"/gamma": "gamma must be at least 0, not -0.5"}),
    "an infinite gamma": ({"kind": "exponential", "gamma": math.inf}, {"/gamma": "at least 0, not inf"}),
    "gamma of text": ({"kind": "exponential", "gamma": "a"}, {"/gamma": "must be a number, not 'a'"}),
    "an unknown option": ({"kind": "constant", "gama": 1}, {"/gama": "constant has no option 'gama'"}),
    "a strange option": ({"kind": "constant", "a/b": 1}, {"/a~1b": "constant has no option 'a/b'"}),
    "a step of 0": ({"kind": "step", "step_size": 0}, {"/step_size": "at least 1, not 0"}),
    "a period of 0": ({"kind": "cosine", "t_max": 0}, {"/t_max": "at least 1, not 0"}),
    "a milestone of 0": ({"kind": "multi_step", "milestones": [3, 0]}, {"/milestones": "at least 1, not 0"}),
    "a factor above 1": ({"kind": "constant_factor", "factor": 1.5}, {"/factor": "at least 0 and at most 1, not 1.5"}),
    "a start at 0": (
        {"kind": "linear", "start_factor": 0.0},
        {"/start_factor": "greater than 0 and at most 1, not 0.0"},
    ),
    "no fall": ({"kind": "linear", "total_iters": 0}, {"/total_iters": "at least 1, not 0"}),
    "a negative power": ({"kind": "polynomial", "power": -1}, {"/power": "at least 0, not -1.0"}),
    "shrinking restarts": (
        {"kind": "cosine_warm_restarts", "t_0": 4, "t_mult": 0},
        {"/t_mult": "at least 1, not 0"},
    ),
    "a negative factor in a list": ({"kind": "multiplicative", "factor": [1.0, -2.0]}, {"/factor": "not -2.0"}),
    "momentum of 0": (
        {"kind": "one_cycle", "total_steps": 9, "base_momentum": 0.0},
        {"/base_momentum": "greater than 0 and less than 1, not 0"},
    ),
    "momentum of 1": (
        {"kind": "cyclic", "max_lr": 1.0, "max_momentum": 1.0},
        {"/max_momentum": "greater than 0 and less than 1, not 1"},
    ),
    "momentum that grows": (
        {"kind": "cyclic", "max_lr": 1.0, "mode": "exp_range", "gamma": 1.5},
        {"/gamma": "at most 1 while it scales the momentum too"},
    ),
    "a cycle of no steps": ({"kind": "one_cycle", "total_steps": 0}, {"/total_steps": "at least 1, not 0"}),
    "a division by 0": ({"kind": "one_cycle", "total_steps": 9, "div_factor": 0}, {"/div_factor": "greater than 0"}),
    "an unknown way down": (
        {"kind": "one_cycle", "total_steps": 9, "anneal_strategy": "cosine"},
        {"/anneal_strategy": "one of 'cos', 'linear'"},
    ),
    "a share above 1": (
        {"kind": "one_cycle", "total_steps": 9, "pct_start": 1.1},
        {"/pct_start": "at least 0 and at most 1"},
    ),
    "bounds the wrong way round": (
        {"kind": "cyclic", "base_lr": 0.2, "max_lr": 0.1},
        {"/max_lr": "at least base_lr (0.2), not 0.1"},
    ),
    "no reduction": ({**PLATEAU, "factor": 1.0}, {"/factor": "at least 0 and less than 1, not 1.0"}),
    "negative patience": ({**PLATEAU, "patience": -1}, {"/patience": "at least 0, not -1"}),
    "an unknown mode": ({**PLATEAU, "mode": "low"}, {"/mode": "one of 'min', 'max'"}),
    "validation loss of each step": ({**PLATEAU, "monitor": "val_loss", "per": "step"}, {"/monitor": "once an epoch"}),
    "an unknown unit": ({"kind": "constant", "per": "row"}, {"/per": "one of 'epoch', 'step'"}),
    "a unit within": (
        {"kind": "warm_up", "schedule": {"kind": "constant", "per": "step"}},
        {"/schedule/per": "outermost"},
    ),
    "no list": ({**SEQUENCE, "schedules": {}}, {"/schedules": "a list of schedules"}),
    "an empty sequence": ({"kind": "sequential", "schedules": [], "milestones": []}, {"/schedules": "at least one"}),
    "an empty chain": ({"kind": "chained", "schedules": []}, {"/schedules": "at least one"}),
    "a number in a list": ({"kind": "chained", "schedules": [7]}, {"/schedules/0": "must be an object, not a number"}),
    "an unknown kind within": ({"kind": "chained", "schedules": ["cosin"]}, {"/schedules/0": "did you mean 'cosine'"}),
    "faults within": (
        {**SEQUENCE, "schedules": [{"kind": "step", "step_size": 0}, {"kind": "exponential", "gamma": -1}]},
        {"/schedules/0/step_size": "at least 1", "/schedules/1/gamma": "exponential.gamma must be at least 0"},
    ),
    "a fault further within": (
        {"kind": "chained", "schedules": ["step", {"kind": "warm_up", "schedule": {"kind": "linear", "factor": 1}}]},
        {"/schedules/0": "step_size", "/schedules/1/schedule/factor": "linear has no option"},
    ),
    "a milestone too few": ({**SEQUENCE, "schedules": ["constant"] * 3}, {"/milestones": "there are 3, not 1"}),
    "milestones that fall": (
        {"kind": "sequential", "schedules": ["constant"] * 3, "milestones": [5, 5]},
        {"/milestones": "must rise"},
    ),
    "a cycle shorter than its place": (
        {**SEQUENCE, "schedules": [{"kind": "one_cycle", "total_steps": 3}, "constant"]},
        {"/schedules/0": "total_steps 3"},
    ),
    "a plateau in a sequence": ({**SEQUENCE, "schedules": ["constant", PLATEAU]}, {"/schedules/1": "warm_up"}),
    "a plateau in a chain": (
        {"kind": "chained", "schedules": [{"kind": "warm_up", "schedule": PLATEAU}]},
        {"/schedules/0": "goes by a metric"},
    ),
    "a rate of its own in a chain": (
        {"kind": "chained", "schedules": ["constant", {"kind": "cyclic", "max_lr": 1.0}]},
        {"/schedules/1": "can only come first"},
    ),
    "nothing to warm up to": ({"kind": "warm_up"}, {"": "needs the option 'schedule' (a schedule)"}),
}  # fmt: skip


@each_row(("document", "faults"), REFUSED.values(), ids=REFUSED)
def test_a_faulty_schedule_is_refused_where_its_faults_are(document, faults):
    with pytest.raises(engine.DocumentError) as caught:
        engine.read_recipe({"epochs": 1, "schedule": document})
    assert [finding.pointer for finding in caught.value.findings] == [f"/schedule{place}" for place in faults]
    for finding, detail in zip(caught.value.findings, faults.values(), strict=True):
        assert detail in finding.detail
    with pytest.raises(engine.EngineError):
        make_schedule(document)


def test_schedules_stand_within_one_another_to_a_depth():
    def nested(levels):
        return {"kind": "warm_up", "schedule": nested(levels - 1)} if levels > 1 else {"kind": "constant"}

    assert engine.read_recipe({"epochs": 1, "schedule": nested(8)}).schedule.at(0.5, 100) == 0.5
    with pytest.raises(engine.DocumentError, match="8 deep") as caught:
        engine.read_recipe({"epochs": 1, "schedule": nested(9)})
    assert caught.value.findings[0].pointer == "/schedule" * 9


def test_the_catalogue_shows_ranges_and_nested_schedules():
    entries = {entry["kind"]: {a["name"]: a for a in entry["attrs"]} for entry in engine.schedule_catalogue()}
    assert list(entries) == list(SCHEDULES)
    assert entries["step"]["step_size"]["range"] == "at least 1"
    assert entries["linear"]["start_factor"]["range"] == "greater than 0 and at most 1"
    assert "range" not in entries["cosine"]["restart"]
    assert entries["sequential"]["schedules"] == {"name": "schedules", "type": "a list of schedules", "required": True}
    assert entries["warm_up"]["schedule"]["type"] == "a schedule"
    assert entries["reduce_on_plateau"]["monitor"]["default"] is None
