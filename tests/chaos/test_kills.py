"""Curves come to the same bits through any number of kills, of workers, of the server, and of both."""

import random
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from tests.chaos import invariants, processes
from tests.chaos.conftest import Counts, MakeDriver
from tests.chaos.driver import Driver
from tests.chaos.workload import curves
from tests.support.patience import PATIENCE

STEP_SECONDS = 0.005
"""Of a step, where few kills are made: no fit ends before one reaches it."""
STARTS_MIN = 3
LOST = {"killed", "lost"}


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


Fault = Callable[[Driver, random.Random], None]
DECK: tuple[Fault, ...] = (kill_workers, kill_server, kill_workers, kill_workers, kill_both, kill_workers)


class Storm:
    """Fits of all curves on one server, as often as it takes to kill each curve often enough."""

    def __init__(self, driver: Driver, counts: Counts, chance: random.Random) -> None:
        self._driver = driver
        self._counts = counts
        self._chance = chance
        self._requests = curves(counts.steps)
        self._running_again_seconds = 30.0 if counts.full else PATIENCE
        self._fits: dict[str, list[str]] = {name: [] for name in self._requests}

    def run(self) -> None:
        """Kill until every curve has had its share, and the server its own, then let everything end."""
        deck: list[Fault] = []
        with nullcontext() if self._counts.full else self._driver.gate.slowing(STEP_SECONDS):
            while not self._is_enough():
                self._gather_way()
                deck = deck or self._chance.sample(DECK, len(DECK))
                deck.pop()(self._driver, self._chance)
        self._driver.until_terminal()

    def _is_enough(self) -> bool:
        return self._driver.starts >= STARTS_MIN and min(self.kills().values()) >= self._counts.kills_per_curve

    def kills(self) -> dict[str, int]:
        """Return how many processes each curve has lost so far."""
        fits = {name: [self._driver.fit(fit_id) for fit_id in found] for name, found in self._fits.items()}
        return {
            name: sum(attempt["outcome"] in LOST for fit in found for attempt in fit["attempts"])
            for name, found in fits.items()
        }

    def _gather_way(self) -> None:
        """Let every curve get further than it ever was, by a random number of rows; one that has ended begins anew."""
        most = max(self._counts.steps // self._counts.kills_per_curve // 2, 1)
        for name, fits in self._fits.items():
            target = len(self._driver.read.get(fits[-1], [])) + self._chance.randint(1, most) if fits else 0
            if not fits or not self._driver.until_rows(fits[-1], target, self._running_again_seconds):
                fits.append(self._driver.submit(f"{name}-{len(fits) + 1}", self._requests[name]))
                self._driver.until_rows(fits[-1], 1, self._running_again_seconds)


def test_curves_come_to_the_same_bits_whatever_is_killed(
    make_driver: MakeDriver, counts: Counts, chance: random.Random, tmp_path: Path
) -> None:
    driver = make_driver()
    driver.start()
    storm = Storm(driver, counts, chance)
    storm.run()
    kills = storm.kills()
    invariants.all_hold(driver, tmp_path)
    assert min(kills.values()) >= counts.kills_per_curve, kills
    assert driver.starts >= STARTS_MIN, "the server was hardly killed"
