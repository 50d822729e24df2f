"""Clients that want different things of a fit at once, at the worst moments: it moves legally, and ends once."""

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chaos import invariants
from tests.chaos.conftest import Counts
from tests.chaos.driver import BOUND_SECONDS, Driver
from tests.chaos.workload import columns, fit_request

STEPS = 40
SAVED_EVERY = 10
AT_A_TIME = 3
ACCEPTED = 202
REFUSED = 409

Requests = tuple[str, ...]
# What each client asks for, one after the other; those in one line come at the same time.
CLIENTS: tuple[tuple[Requests, ...], ...] = (
    (("cancel",),),
    (("cancel", "cancel"),),
    (("cancel",), ("cancel",)),
    (("kill",),),
    (("kill",), ("cancel",)),
    (("kill",), ("kill", "resume")),
    (("pause", "resume"),),
    (("pause", "cancel"),),
    (("pause",), ("kill",)),
    (("pause", "resume"), ("pause", "resume")),
    (("pause", "resume"), ("cancel",)),
    (("cancel", "resume"), ("kill", "resume")),
)


@dataclass
class Race:
    """A fit, and what came of what clients wanted of it."""

    fit_id: str
    answers: list[tuple[str, int]]


def at_once(driver: Driver, fit_id: str, chance: random.Random) -> None:
    """Not a moment after it was acknowledged."""


def at_random(driver: Driver, fit_id: str, chance: random.Random) -> None:
    time.sleep(chance.uniform(0.0, 0.6))


def while_it_saves(driver: Driver, fit_id: str, chance: random.Random) -> None:
    _await(lambda: driver.fit(fit_id)["step"] >= SAVED_EVERY - 1 or driver.fit(fit_id)["terminal"])


def at_the_last_step(driver: Driver, fit_id: str, chance: random.Random) -> None:
    _await(lambda: driver.fit(fit_id)["step"] >= STEPS - 1 or driver.fit(fit_id)["terminal"])


MOMENTS: tuple[Callable[[Driver, str, random.Random], None], ...] = (
    at_once,
    at_random,
    while_it_saves,
    at_the_last_step,
)


def race(driver: Driver, request: dict[str, Any], name: str, chance: random.Random) -> Race:
    """Let clients loose on a new fit, then see to it that it ends."""
    moment, clients = chance.choice(MOMENTS), chance.choice(CLIENTS)
    fit_id = driver.submit(name, request)
    moment(driver, fit_id, chance)

    def ask(requests: Requests) -> list[tuple[str, int]]:
        return [(stop_request, driver.act(fit_id, stop_request).status_code) for stop_request in requests]

    with ThreadPoolExecutor(len(clients)) as threads:
        answers = [answer for answered in threads.map(ask, clients) for answer in answered]
    after_kill = driver.read_on(fit_id) if clients == (("kill",),) else None
    _await(lambda: has_ended(driver, fit_id))
    assert after_kill in (None, driver.read_on(fit_id)), "a killed fit went on"
    return Race(fit_id, answers)


def has_ended(driver: Driver, fit_id: str) -> bool:
    """Tell whether a fit has ended; one that is paused is resumed."""
    fit = driver.fit(fit_id, wait=0.2)
    if fit["state"] == "paused":
        driver.act(fit_id, "resume")
    return bool(fit["terminal"])


def judge(race: Race, driver: Driver, folder: Path) -> None:
    """Check that what came of it is what was asked for."""
    observed = driver.observe(race.fit_id)
    assert {status for _, status in race.answers} <= {ACCEPTED, REFUSED}
    invariants.moves_are_legal(observed.events)
    invariants.there_is_one_end(observed.events)
    invariants.rows_are_gap_free(observed.rows)
    invariants.rows_never_change(driver.read.get(race.fit_id, []), observed.rows)
    invariants.attempts_go_forward(observed.fit["attempts"], observed.fit["attempt"], observed.events)
    invariants.every_listed_checkpoint_loads(observed, folder)
    done = [stop_request for stop_request, status in race.answers if status == ACCEPTED]
    state = observed.fit["state"]
    if not done or {*done} <= {"pause", "resume"}:
        assert state == "succeeded", observed.fit
    elif "resume" not in done:
        # A process that was about to finish may be quicker than the request to cancel; nothing is quicker than a kill.
        assert state == "cancelled" or ("kill" not in done and state == "succeeded"), observed.fit
        assert "kill" not in done or observed.fit["stop_reason"] in ("killed", None)
    if state == "succeeded":
        assert observed.rows[-1]["step"] == STEPS


def test_whatever_clients_want_at_once_a_fit_ends_once(
    driver: Driver, counts: Counts, chance: random.Random, tmp_path: Path
) -> None:
    dataset = driver.answered("POST", "/v1/datasets", json={"columns": columns()}).json()["id"]
    saved = {"every_steps": SAVED_EVERY, "every_epochs": None}
    request = fit_request(STEPS, dataset=dataset, checkpoint=saved)
    request["graph"] = driver.answered("POST", "/v1/graphs", json=request["graph"]).json()["id"]

    def run(number: int) -> Race:
        return race(driver, request, f"race-{number}", random.Random(f"{seed} {number}"))

    seed = chance.random()
    with ThreadPoolExecutor(AT_A_TIME) as several:
        races = [*several.map(run, range(counts.races))]
    for each in races:
        judge(each, driver, tmp_path)
    undisturbed = driver.undisturbed(["race-0"])["race-0"]
    for each in races:
        observed = driver.observe(each.fit_id)
        if observed.fit["state"] == "succeeded":
            invariants.same_bits(observed, undisturbed)
        else:
            assert observed.rows == undisturbed.rows[: len(observed.rows)]


def _await(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + BOUND_SECONDS
    while not condition():
        assert time.monotonic() < end, "it does not come so far"
        time.sleep(0.005)
