from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

import engine
from app.domain.errors import StorageFull
from app.worker import checkpoint_scheduler as keeping
from app.worker.checkpoint_scheduler import SPACING_SECONDS, CheckpointScheduler, PendingCheckpoint

EPOCH = 10
LONGEST = 30.0


@dataclass
class Time:
    now: float = 100.0

    def monotonic(self) -> float:
        return self.now


@dataclass
class Course:
    """As much of a fit as the keeper looks at: an epoch has ten steps, and `improves` names the best ones."""

    policy: engine.CheckpointPolicy
    improves: tuple[int, ...] = ()
    steps: int = 1000
    step: int = 0
    steps_per_epoch: int = EPOCH
    failure: Exception | None = None
    latest: dict[str, float] = field(default_factory=dict)

    @property
    def recipe(self) -> Any:
        return SimpleNamespace(checkpoint=self.policy)

    @property
    def seq(self) -> int:
        return self.step

    @property
    def epoch(self) -> int:
        return -(-self.step // EPOCH)

    @property
    def improved(self) -> bool:
        return self.step in self.improves

    @property
    def done(self) -> bool:
        return self.step == self.steps or self.failure is not None

    @property
    def checkpoint_due(self) -> bool:
        every, epochs = self.policy.every_steps, self.policy.every_epochs
        due = (every and self.step % every == 0) or (epochs and self.step % (EPOCH * epochs) == 0)
        return bool(due or (self.improved and self.policy.keep_best))

    def snapshot(self) -> engine.Checkpoint:
        return engine.Checkpoint({}, cursor={"step": self.step})


@dataclass
class SlowDisk:
    """Where checkpoints are written, which takes `seconds`."""

    time: Time
    seconds: float = 0.0
    full: bool = False
    steps: list[int] = field(default_factory=list)
    best: list[int] = field(default_factory=list)

    def write(self, taken: PendingCheckpoint) -> None:
        self.time.now += self.seconds
        if self.full:
            raise StorageFull("no room")
        assert taken.checkpoint.cursor["step"] == taken.step
        self.steps.append(taken.step)
        self.best += [taken.step] if taken.is_best else []


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    """Time that stands still, of which no checkpoint is free."""
    time = Time()
    monkeypatch.setattr(keeping, "FREE_SECONDS", 0.0)
    monkeypatch.setattr(keeping, "time", time)
    return time


@pytest.fixture
def disk(time: Time) -> SlowDisk:
    return SlowDisk(time)


def follow(
    course: Any, disk: SlowDisk, step_seconds: float, *, until: int, longest: float | None = LONGEST
) -> list[int]:
    """Take steps of so many seconds and stop; return after which ones a checkpoint was written."""
    keeper = CheckpointScheduler(course, disk.write, longest)
    while course.step < until and not course.done:
        course.step += 1
        disk.time.now += step_seconds
        keeper.after_step(course)
    keeper.finish(course)
    return disk.steps


def begun(course: Any, disk: SlowDisk) -> CheckpointScheduler:
    return CheckpointScheduler(course, disk.write, LONGEST)


def policy(**changes: Any) -> engine.CheckpointPolicy:
    return engine.CheckpointPolicy(**{"every_epochs": None, "keep_best": False, **changes})


@pytest.mark.parametrize("step_seconds", [0.0, 0.001, 5.0])
def test_checkpoints_after_so_many_steps_are_all_written(disk: SlowDisk, step_seconds: float) -> None:
    course = Course(policy(every_steps=4))
    assert follow(course, disk, step_seconds, until=14, longest=None) == [4, 8, 12, 14]


@pytest.mark.parametrize("step_seconds", [0.0, 0.001, 5.0])
def test_checkpoints_after_so_many_epochs_are_all_written_where_they_were_asked_for(
    time: Time, disk: SlowDisk, step_seconds: float
) -> None:
    course = Course(policy(every_epochs=2))
    keeper = CheckpointScheduler(course, disk.write, None, epochs_requested=True)
    while course.step < 45:
        course.step += 1
        time.now += step_seconds
        keeper.after_step(course)
    assert disk.steps == [20, 40]


def test_epochs_that_take_their_time_end_with_a_checkpoint(disk: SlowDisk) -> None:
    assert follow(Course(policy(every_epochs=1)), disk, 0.125, until=35) == [10, 20, 30, 35]


def test_the_epochs_of_a_short_fit_all_end_with_a_checkpoint(disk: SlowDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "FREE_SECONDS", 0.5)
    disk.seconds = 0.25
    assert follow(Course(policy(every_epochs=1)), disk, 0.0, until=55) == [10, 20, 55]


def test_of_short_epochs_some_end_with_a_checkpoint(disk: SlowDisk) -> None:
    assert follow(Course(policy(every_epochs=1)), disk, SPACING_SECONDS / 25, until=100) == [30, 60, 90, 100]


def test_a_fit_of_a_moment_writes_its_last_checkpoint_only(disk: SlowDisk) -> None:
    assert follow(Course(policy(every_epochs=1), steps=50), disk, 0.0, until=50) == [50]


def test_the_best_one_is_written_before_the_fit_ends(disk: SlowDisk) -> None:
    course = Course(policy(keep_best=True), improves=(3, 7, 12))
    assert follow(course, disk, 0.001, until=20) == [12, 20]
    assert disk.best == [12]


def test_the_best_one_is_written_once_it_has_stood_for_a_while(disk: SlowDisk) -> None:
    course = Course(policy(keep_best=True), improves=(3, 7))
    assert follow(course, disk, SPACING_SECONDS / 20, until=40) == [7, 40]


def test_the_best_one_is_written_before_a_later_one(disk: SlowDisk) -> None:
    course = Course(policy(keep_best=True, every_steps=5), improves=(3, 10))
    assert follow(course, disk, 0.001, until=12) == [3, 5, 10, 12]
    assert disk.best == [3, 10]


def test_a_fit_that_fails_leaves_the_best_one_but_nothing_to_go_on_from_behind_it(disk: SlowDisk) -> None:
    course = Course(policy(keep_best=True), improves=(3,))
    keeper = begun(course, disk)
    for _ in range(5):
        course.step += 1
        keeper.after_step(course)
    course.failure = ArithmeticError("nan")
    keeper.after_step(course)
    keeper.finish(course)
    assert disk.steps == [3]


def test_a_fit_that_has_not_moved_writes_nothing(disk: SlowDisk) -> None:
    assert follow(Course(policy(every_epochs=1), step=7), disk, 1.0, until=7) == []


def test_what_is_dear_is_done_less_often(disk: SlowDisk) -> None:
    disk.seconds = 0.125  # which may be three hundredths of the time: one in a bit more than four seconds
    assert follow(Course(policy(every_epochs=1)), disk, 0.125, until=120) == [10, 50, 90, 120]


def test_no_work_of_more_than_so_many_seconds_is_lost(disk: SlowDisk) -> None:
    assert follow(Course(policy()), disk, 1.0, until=70) == [30, 60, 70]


def test_without_a_limit_there_is_none_by_the_clock(disk: SlowDisk) -> None:
    assert follow(Course(policy()), disk, 1000.0, until=5, longest=None) == [5]


def test_checkpoints_by_the_clock_end_when_they_turn_out_dear(disk: SlowDisk) -> None:
    disk.seconds = LONGEST / 10
    assert follow(Course(policy()), disk, 1.0, until=100) == [30, 100]


def test_a_checkpoint_by_the_clock_that_finds_no_space_is_left_out(disk: SlowDisk) -> None:
    course = Course(policy(every_steps=50))
    disk.full = True
    keeper = begun(course, disk)
    for _ in range(49):
        course.step += 1
        disk.time.now += 1.0
        keeper.after_step(course)
    course.step += 1
    with pytest.raises(StorageFull):
        keeper.after_step(course)
