"""What is written for a client has to be taken at a least rate, after a head start."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from app.http.transport import Pace, Progress

PACE = Pace(seconds=10.0, bytes_per_second=100.0)
UNSENT = 100_000


class Link(asyncio.Transport):
    """Something to send, and whether the connection is cut."""

    def __init__(self) -> None:
        super().__init__()
        self.unsent = UNSENT
        self.aborted = False

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def abort(self) -> None:
        self.aborted = True


class Timers(asyncio.AbstractEventLoop):
    """An event loop whose time passes when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.due: list[tuple[float, asyncio.TimerHandle]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any, context: Any = None) -> Any:
        handle = asyncio.TimerHandle(self.now + delay, callback, args, self, context)
        self.due.append((self.now + delay, handle))
        return handle

    def get_debug(self) -> bool:
        return False

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Know it already: the handle says so."""

    def pass_to(self, moment: float) -> None:
        """Call what is due up to a moment, in order."""
        while due := sorted((each for each in self.due if each[0] <= moment), key=lambda each: each[0]):
            self.due.remove(due[0])
            self.now, handle = due[0]
            if not handle.cancelled():
                handle._run()
        self.now = moment


def watched() -> tuple[Link, Timers, Progress]:
    link, timers = Link(), Timers()
    progress = Progress(link, timers, PACE)
    progress.watch()
    return link, timers, progress


@pytest.mark.parametrize(
    ("taken_a_second", "cut_after"),
    [(0, 11), (1, 11), (50, 20), (90, 92), (99, None), (100, None), (5000, None)],
)
def test_who_takes_less_than_the_least_rate_is_cut_after_the_head_start(
    taken_a_second: int, cut_after: float | None
) -> None:
    link, timers, _ = watched()
    for second in range(1, 200):
        timers.pass_to(second - 0.01)
        if link.aborted:
            break
        link.unsent = max(link.unsent - taken_a_second, 0)
    assert (second if link.aborted else None) == cut_after


def test_who_was_fast_may_take_nothing_for_as_long_as_the_head_start() -> None:
    link, timers, _ = watched()
    timers.pass_to(5.0)
    link.unsent = 1000
    timers.pass_to(19.9)
    assert not link.aborted
    timers.pass_to(20.1)
    assert link.aborted


def test_while_there_is_nothing_to_send_no_time_is_used_up() -> None:
    link, timers, progress = watched()
    timers.pass_to(9.0)
    link.unsent = 0
    progress.rest()
    timers.pass_to(1000.0)
    progress.watch()
    timers.pass_to(2000.0)
    assert not link.aborted


def test_a_rest_in_between_wins_no_time_but_a_new_answer_does() -> None:
    link, timers, progress = watched()
    for second in range(1, 10):
        timers.pass_to(second)
        link.unsent -= 1  # to just below what has the application go on, which writes as much again
        progress.rest()
        progress.renew()
        progress.watch()
    assert not link.aborted
    timers.pass_to(11.0)
    assert link.aborted

    link, timers, progress = watched()
    timers.pass_to(9.0)
    link.unsent = 0
    progress.rest()
    progress.renew()
    link.unsent = UNSENT
    progress.watch()
    timers.pass_to(18.0)
    assert not link.aborted
