"""A process that falls silent is given up, and what it says later counts for nothing."""

import signal
from pathlib import Path

import psutil

from tests.chaos import invariants, processes
from tests.chaos.conftest import MakeDriver
from tests.chaos.workload import CHECKPOINT_EVERY, STEPS, fit_request

LEASE_SECONDS = 4.0
TAKEN_OVER_SECONDS = 30.0


def test_a_stopped_process_is_replaced_and_cannot_come_back(make_driver: MakeDriver, tmp_path: Path) -> None:
    driver = make_driver(lease_seconds=LEASE_SECONDS)
    driver.start()
    fit_id = driver.submit("stalled", fit_request(STEPS))
    stalled = psutil.Process(driver.worker_of(fit_id))
    driver.until_rows(fit_id, CHECKPOINT_EVERY + 1)
    with processes.all_end([stalled.pid], TAKEN_OVER_SECONDS):
        stalled.send_signal(signal.SIGSTOP)
        reached = driver.read_on(fit_id)
        assert driver.until_rows(fit_id, reached + CHECKPOINT_EVERY, TAKEN_OVER_SECONDS), "it ended unnoticed"
        if stalled.is_running():
            stalled.send_signal(signal.SIGCONT)
    driver.until_terminal()
    told = invariants.all_hold(driver, tmp_path)["stalled"]
    assert told.outcomes == ["stalled", "succeeded"]
