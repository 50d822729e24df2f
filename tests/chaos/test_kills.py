"""Curves come to the same bits through any number of kills, of workers, of the server, and of both."""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.chaos import invariants, processes
from tests.chaos.conftest import Counts, MakeDriver
from tests.chaos.driver import Driver, Told
from tests.chaos.workload import CHECKPOINT_EVERY, curves

RUNNING_AGAIN_SECONDS = 30.0
KILLED_ENDS = {"killed", "lost"}


def kill_workers(driver: Driver, chance: random.Random) -> None:
    pids = driver.workers()
    with processes.all_end(pids):
        processes.kill(chance.sample(pids, len(pids)))


def kill_server(driver: Driver, _chance: random.Random) -> None:
    driver.kill_server()
    driver.start()


def kill_both(driver: Driver, chance: random.Random) -> None:
    driver.kill_everything(chance)
    driver.start()


FAULTS: tuple[Callable[[Driver, random.Random], None], ...] = (kill_workers, kill_server, kill_both, kill_workers)


class Storm:
    """Fits of all curves on one server, as often as it takes to kill each curve often enough."""

    def __init__(self, driver: Driver, counts: Counts, chance: random.Random) -> None:
        self._driver = driver
        self._counts = counts
        self._chance = chance
        self._requests = curves(counts.steps)
        self._rounds: Counter[str] = Counter()
        self._current = {name: self._begin(name) for name in self._requests}
        self.curve_of = {fit_id: name for name, fit_id in self._current.items()}
        self.kills: Counter[str] = Counter()

    def run(self) -> None:
        """Kill until every curve has had its share, then let everything end."""
        while min(self.kills[name] for name in self._requests) < self._counts.kills_per_curve:
            self._gather_way()
            fault = FAULTS[self._driver.starts % len(FAULTS)] if self._chance.random() < 0.5 else kill_workers
            running = [name for name, fit_id in self._current.items() if not self._driver.fit(fit_id)["terminal"]]
            fault(self._driver, self._chance)
            self.kills.update(running)
        self._driver.until_terminal()

    def _begin(self, name: str) -> str:
        """Submit another fit of the curve."""
        self._rounds[name] += 1
        return self._driver.submit(f"{name}-{self._rounds[name]}", self._requests[name])

    def _gather_way(self) -> None:
        """Let every curve get further than it ever was, by a random number of rows; one that has ended begins anew."""
        most = self._counts.steps // self._counts.kills_per_curve
        for name, fit_id in self._current.items():
            target = len(self._driver.read.get(fit_id, [])) + self._chance.randint(1, max(most // 2, 1))
            if not self._driver.until_rows(fit_id, target, RUNNING_AGAIN_SECONDS):
                self._current[name] = self._begin(name)
                self.curve_of[self._current[name]] = name
                self._driver.until_rows(self._current[name], 1, RUNNING_AGAIN_SECONDS)


def test_curves_come_to_the_same_bits_whatever_is_killed(
    make_driver: MakeDriver, counts: Counts, chance: random.Random, undisturbed: Mapping[str, Told], tmp_path: Path
) -> None:
    driver = make_driver()
    driver.start()
    storm = Storm(driver, counts, chance)
    storm.run()
    expected = {key: undisturbed[key.partition("-")[0]] for key in driver.wanted}
    told = invariants.all_hold(driver, tmp_path, expected)
    lost = Counter[str]()
    for each in told.values():
        lost[storm.curve_of[each.fit["id"]]] += sum(outcome in KILLED_ENDS for outcome in each.outcomes)
    assert min(lost.values()) >= counts.kills_per_curve, lost
    assert driver.starts > 1, "the server was never killed"


def test_a_kill_costs_no_more_than_the_steps_since_the_last_checkpoint(
    make_driver: MakeDriver, counts: Counts, undisturbed: Mapping[str, Told]
) -> None:
    driver = make_driver()
    driver.start()
    fit_id = driver.submit("one", curves(counts.steps)["numpy_schedule"])
    driver.until_rows(fit_id, 3 * CHECKPOINT_EVERY)
    kill_workers(driver, random.Random(0))
    reached = driver.read_on(fit_id)
    driver.until_terminal()
    told = driver.told(fit_id)
    saved = [event.body["step"] for event in told.events if event.kind == "checkpoint"]
    before = [step for step in saved if step <= reached]
    assert before, "nothing was saved before the kill"
    assert reached - max(before) <= CHECKPOINT_EVERY
    invariants.same_bits(told, undisturbed["numpy_schedule"])
