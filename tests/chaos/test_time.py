"""Silence ends a process by the monotonic clock; the wall clock may jump as it likes, and decides nothing."""

import signal
from pathlib import Path

import psutil
import pytest

from tests.chaos import invariants, jumping_clock, processes
from tests.chaos.conftest import MakeDriver
from tests.chaos.workload import CHECKPOINT_EVERY, fit_request
from tests.extent import FULL

HOUR = 3600
LONG_STEPS = 1_000
SLOW_SECONDS = 0.01
"""Of a step: it takes ten seconds to come to the end."""
LEASE_SECONDS = 4.0
TAKEN_OVER_SECONDS = 30.0


@pytest.mark.skipif(not FULL, reason="by a clock of a test's own these differ in the tests of leases and of ids")
def test_processes_that_die_or_stop_are_replaced_while_the_wall_clock_jumps(
    make_driver: MakeDriver, tmp_path: Path
) -> None:
    setting = tmp_path / "setting"
    setting.write_text(str(-HOUR))
    driver = make_driver(command=(*jumping_clock.SERVE, str(setting)), lease_seconds=LEASE_SECONDS)
    driver.start()
    first = driver.submit("first", fit_request(CHECKPOINT_EVERY))
    setting.write_text(str(2 * HOUR))
    driver.until_terminal()
    setting.write_text(str(-2 * HOUR))
    with driver.gate.slowing(SLOW_SECONDS):
        fit_id = driver.submit("long", fit_request(LONG_STEPS))
        assert first < fit_id, "ids do not sort by age"
        driver.until_rows(fit_id, CHECKPOINT_EVERY + 1)
        processes.kill([driver.worker_of(fit_id)])
        driver.until_rows(fit_id, driver.read_on(fit_id) + CHECKPOINT_EVERY)
        stopped = psutil.Process(driver.worker_of(fit_id))
        with processes.all_end([stopped.pid], TAKEN_OVER_SECONDS):
            stopped.send_signal(signal.SIGSTOP)
            setting.write_text(str(HOUR))
            reached = driver.read_on(fit_id)
            assert driver.until_rows(fit_id, reached + CHECKPOINT_EVERY, TAKEN_OVER_SECONDS), "it ended unnoticed"
            if stopped.is_running():
                stopped.send_signal(signal.SIGCONT)
    driver.until_terminal()
    reported = invariants.all_hold(driver, tmp_path)
    assert {"killed", "stalled"} <= {*reported["long"].outcomes}
