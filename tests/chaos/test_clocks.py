"""The wall clock may jump as it likes: nothing but the times that are told goes by it."""

from pathlib import Path

from tests.chaos import invariants, jumping_clock, processes
from tests.chaos.conftest import MakeDriver
from tests.chaos.workload import CHECKPOINT_EVERY, STEPS, fit_request

HOUR = 3600


def test_a_fit_goes_on_while_the_wall_clock_jumps(make_driver: MakeDriver, tmp_path: Path) -> None:
    setting = tmp_path / "setting"
    setting.write_text(str(-HOUR))
    driver = make_driver(command=(*jumping_clock.SERVE, str(setting)))
    driver.start()
    fit_id = driver.submit("first", fit_request(STEPS))
    for jump in (2 * HOUR, -2 * HOUR, HOUR):
        driver.until_rows(fit_id, len(driver.read.get(fit_id, [])) + CHECKPOINT_EVERY)
        setting.write_text(str(jump))
        processes.kill(driver.workers())
    later = driver.submit("later", fit_request(STEPS, seed=8))
    driver.until_terminal()
    assert fit_id < later, "ids do not sort by age"
    told = invariants.all_hold(driver, tmp_path)
    assert "killed" in told["first"].outcomes
