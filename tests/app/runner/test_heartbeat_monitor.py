import pytest

from app.domain.clock import ManualClock
from app.runner.active_attempt import Inbox, Running
from app.runner.heartbeat_monitor import LISTENING_SECONDS, STARTING_SECONDS, Vigil
from app.runner.port import Handle
from app.service.attempts.progress import Progress

LEASE = 30.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def vigil(clock: ManualClock) -> Vigil:
    return Vigil(clock, LEASE)


def process(pid: int | None = 1) -> Running:
    handle, inbox = Handle("fit_1", 1, "token"), Inbox(0.1)
    return Running(None, handle, inbox, None, 0.0, pid=pid)  # type: ignore[arg-type]  # claim and fit do not matter


def listen(vigil: Vigil, clock: ManualClock, running: Running, seconds: float, *, heard: bool = False) -> bool:
    clock.advance(seconds)
    return bool(vigil.keep([running], [running.handle] if heard else [], patience=seconds))


def test_a_process_that_is_silent_for_longer_than_the_lease_is_stalled(vigil: Vigil, clock: ManualClock) -> None:
    running = process()
    assert vigil.ends_at(running) == LEASE
    assert not listen(vigil, clock, running, LEASE)
    assert listen(vigil, clock, running, 0.1)


def test_a_word_now_and_then_is_enough(vigil: Vigil, clock: ManualClock) -> None:
    running = process()
    for _ in range(5):
        assert not listen(vigil, clock, running, LEASE - 1)
        assert not listen(vigil, clock, running, 0.5, heard=True)
    assert vigil.ends_at(running) == clock.monotonic() + LEASE


def test_a_process_whose_news_cannot_be_written_down_is_not_silent(vigil: Vigil, clock: ManualClock) -> None:
    running = process()
    running.news = Progress()
    assert not listen(vigil, clock, running, 10 * LEASE)
    running.news = None
    assert not listen(vigil, clock, running, LEASE)


def test_time_in_which_nobody_could_listen_does_not_count(vigil: Vigil, clock: ManualClock) -> None:
    running = process()
    clock.advance(10 * LEASE)
    assert vigil.keep([running], [], patience=0.5) == []
    assert running.silence == 0.5 + LISTENING_SECONDS


def test_a_process_that_starts_may_take_longer(vigil: Vigil, clock: ManualClock) -> None:
    running = process(pid=None)
    assert not listen(vigil, clock, running, STARTING_SECONDS)
    assert listen(vigil, clock, running, 0.1)


@pytest.mark.parametrize("over", ["ended", "stalled", "gone"])
def test_what_is_over_is_not_watched(vigil: Vigil, clock: ManualClock, over: str) -> None:
    running = process()
    if over == "gone":
        running.gone_at = 0.0
    else:
        setattr(running, over, True)
    assert not listen(vigil, clock, running, 2 * LEASE)
