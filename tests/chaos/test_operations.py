"""A server that dies before its n-th durable operation, for every n, loses nothing, and the bits are the same."""

import random
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.chaos import invariants
from tests.chaos.conftest import Counts, MakeDriver
from tests.chaos.driver import Driver, Observed, ServerGone
from tests.chaos.workload import CHECKPOINT_EVERY, fit_request

STEPS = 2 * CHECKPOINT_EVERY + 10
REQUESTS = {"first": fit_request(STEPS), "second": fit_request(STEPS, seed=8)}
QUIET_SECONDS = 60.0
"""How long rows may wait to be stored: their writes would come at other moments each time."""


def survives(driver: Driver, operation: int) -> bool:
    """Tell whether a server comes to the end of it that is to die before this operation."""
    try:
        driver.start(kill_at_op=operation)
        driver.wanted.update(REQUESTS)
        driver.post_missing()
        driver.until_terminal()
        driver.stop()
    except ServerGone:
        driver.close()
        return False
    return True


def recovers(driver: Driver, folder: Path, **settings: Any) -> dict[str, Observed]:
    """Start a server that lives on, have it do the rest, and check everything."""
    driver.start(**settings)
    driver.wanted.update(REQUESTS)
    driver.post_missing()
    driver.until_terminal()
    return invariants.all_hold(driver, folder)


def test_a_server_may_die_before_any_operation_and_again_when_it_goes_on(
    make_driver: MakeDriver, counts: Counts, chance: random.Random, tmp_path: Path
) -> None:
    driver = make_driver(workers=1, metrics_flush_seconds=QUIET_SECONDS)
    deaths = 0
    for operation in sorted(chance.sample(range(10, 60), counts.deaths)):
        deaths += not survives(driver, operation)
    assert deaths, "the server never died"
    recovers(driver, tmp_path)


def test_a_server_may_die_before_every_operation(make_driver: MakeDriver, counts: Counts, tmp_path: Path) -> None:
    if not counts.full:
        pytest.skip("a server for each operation is for `make chaos`; test_storage goes through all of them in minutes")
    for operation in count(1):
        driver = make_driver(str(operation), workers=1, metrics_flush_seconds=QUIET_SECONDS)
        if survives(driver, operation):
            break
        try:
            recovers(driver, tmp_path)
        except Exception as error:
            error.add_note(f"the server died before operation {operation}")
            raise


@pytest.mark.parametrize("operation", range(1, 9))
def test_a_process_may_die_before_any_operation_of_its_own(
    operation: int, make_driver: MakeDriver, counts: Counts, tmp_path: Path
) -> None:
    if not counts.full and operation != 3:
        pytest.skip("all of them are for `make chaos`")
    reported = recovers(make_driver(workers=1), tmp_path, kill_worker_at_op=operation)
    for each in reported.values():
        assert each.outcomes == ["killed", "succeeded"]
