import asyncio
import logging
import threading
from collections.abc import Callable, Sequence

import pytest

from app.main.application import housekeeping
from tests.support.patience import PATIENCE


def keep_house(chores: Sequence[Callable[[], object]], until: Callable[[], bool], seconds: float = 0.001) -> None:
    async def run() -> None:
        async with asyncio.timeout(PATIENCE), housekeeping(chores, seconds):
            while not until():
                await asyncio.sleep(0.001)

    asyncio.run(run())


def test_chores_come_round_again_though_one_of_them_fails(caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []

    def fail() -> None:
        done.append("failed")
        raise ZeroDivisionError

    with caplog.at_level(logging.ERROR):
        keep_house([fail, lambda: done.append("swept")], lambda: len(done) > 6)
    assert done[:6] == ["failed", "swept"] * 3
    assert "ZeroDivisionError" in caplog.text


def test_the_first_round_does_not_wait() -> None:
    done: list[str] = []
    keep_house([lambda: done.append("swept")], lambda: done != [], seconds=3600)
    assert done == ["swept"]


def test_what_has_begun_is_finished_before_the_end() -> None:
    begun, over = threading.Event(), threading.Event()
    done: list[str] = []

    def chore() -> None:
        begun.set()
        over.wait(PATIENCE)
        done.append("swept")

    threading.Timer(0.05, over.set).start()
    keep_house([chore], begun.is_set, seconds=3600)
    assert done == ["swept"]


def test_a_chore_may_be_done_in_the_event_loop() -> None:
    done: list[str] = []

    async def chore() -> None:
        await asyncio.sleep(0)
        done.append(threading.current_thread().name)

    keep_house([chore], lambda: done != [], seconds=3600)
    assert done == [threading.main_thread().name]
