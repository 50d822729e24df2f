import pytest

from app.runner.active_attempt import ActiveAttempt, ReportBuffer
from app.runner.heartbeat_monitor import POLL_SLACK_SECONDS, STARTING_SECONDS, HeartbeatMonitor
from app.runner.port import Handle
from app.service.attempts.progress import AttemptReport
from tests.support.manual_clock import ManualClock

LEASE = 30.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def monitor(clock: ManualClock) -> HeartbeatMonitor:
    return HeartbeatMonitor(clock, LEASE)


def process(pid: int | None = 1) -> ActiveAttempt:
    handle, inbox = Handle("fit_1", 1, "token"), ReportBuffer(0.1)
    return ActiveAttempt(None, handle, inbox, None, 0.0, pid=pid)  # type: ignore[arg-type]  # claim and fit do not matter


def listen(
    monitor: HeartbeatMonitor, clock: ManualClock, running: ActiveAttempt, seconds: float, *, heard: bool = False
) -> bool:
    clock.advance(seconds)
    return bool(monitor.update([running], [running.handle] if heard else [], timeout=seconds))


def test_a_process_that_is_silent_for_longer_than_the_lease_is_stalled(
    monitor: HeartbeatMonitor, clock: ManualClock
) -> None:
    running = process()
    assert monitor.expires_at(running) == LEASE
    assert not listen(monitor, clock, running, LEASE)
    assert listen(monitor, clock, running, 0.1)


def test_a_word_now_and_then_is_enough(monitor: HeartbeatMonitor, clock: ManualClock) -> None:
    running = process()
    for _ in range(5):
        assert not listen(monitor, clock, running, LEASE - 1)
        assert not listen(monitor, clock, running, 0.5, heard=True)
    assert monitor.expires_at(running) == clock.monotonic() + LEASE


def test_a_process_whose_news_cannot_be_written_down_is_not_silent(
    monitor: HeartbeatMonitor, clock: ManualClock
) -> None:
    running = process()
    running.report = AttemptReport()
    assert not listen(monitor, clock, running, 10 * LEASE)
    running.report = None
    assert not listen(monitor, clock, running, LEASE)


def test_time_in_which_nobody_could_listen_does_not_count(monitor: HeartbeatMonitor, clock: ManualClock) -> None:
    running = process()
    clock.advance(10 * LEASE)
    assert monitor.update([running], [], timeout=0.5) == []
    assert running.since_heartbeat == 0.5 + POLL_SLACK_SECONDS


def test_a_process_that_starts_may_take_longer(monitor: HeartbeatMonitor, clock: ManualClock) -> None:
    running = process(pid=None)
    assert not listen(monitor, clock, running, STARTING_SECONDS)
    assert listen(monitor, clock, running, 0.1)


@pytest.mark.parametrize("over", ["ended", "stalled", "gone"])
def test_what_is_over_is_not_watched(monitor: HeartbeatMonitor, clock: ManualClock, over: str) -> None:
    running = process()
    if over == "gone":
        running.gone_at = 0.0
    else:
        setattr(running, over, True)
    assert not listen(monitor, clock, running, 2 * LEASE)
