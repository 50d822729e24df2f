import contextlib
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

import engine
from app.domain.messages import About, Heartbeat, Log, Points
from app.worker import recorder as module
from app.worker.recorder import HEARTBEAT_SECONDS, ROWS_SECONDS, STANDING_SECONDS, Recorder


@dataclass
class Standing:
    """As much of a fit as the recorder looks at."""

    step: int = 1
    epoch: int = 1
    latest: dict[str, float] = field(default_factory=lambda: {"loss": 0.5})
    best: dict[str, Any] | None = None


def point(seq: int) -> engine.Point:
    return engine.Point(seq, seq, 1, "train", {"loss": 0.5})


@dataclass
class Time:
    now: float = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    monkeypatch.setattr(module, "time", time)
    return time


def rows(messages: list[Any]) -> list[list[int]]:
    return [[json.loads(row)["seq"] for row in message.rows] for message in messages if isinstance(message, Points)]


def test_the_first_row_goes_at_once_and_others_gather(channel: Any, server: Any, time: Time) -> None:
    recorder = Recorder(channel)
    recorder.add(Standing(), [point(1)])
    assert rows(server.heard()) == [[1]]
    for seq in (2, 3):
        recorder.add(Standing(), [point(seq)])
    assert server.heard() == []
    time.now += ROWS_SECONDS
    recorder.add(Standing(), [point(4)])
    assert rows(server.heard()) == [[2, 3, 4]]


def test_rows_do_not_wait_for_a_long_step_to_end(channel: Any, server: Any, time: Time) -> None:
    recorder = Recorder(channel)
    recorder.add(Standing(), [point(1)])
    recorder.add(Standing(), [point(2)])
    recorder.flush_overdue()
    assert rows(server.heard()) == [[1]]
    time.now += ROWS_SECONDS
    recorder.flush_overdue()
    assert rows(server.heard()) == [[2]]
    recorder.flush_overdue()
    assert server.heard() == []


def test_where_no_row_is_recorded_the_step_is_told_now_and_then(channel: Any, server: Any, time: Time) -> None:
    recorder = Recorder(channel)
    recorder.add(Standing(step=1), [point(1)])
    server.heard()
    time.now += STANDING_SECONDS / 2
    recorder.add(Standing(step=2), [])
    assert server.heard() == []
    time.now += STANDING_SECONDS / 2
    recorder.add(Standing(step=3, best={"value": 0.25}), [])
    assert server.heard() == [Points([], 3, 1, {"loss": 0.5}, {"value": 0.25})]


def test_other_messages_do_not_overtake_rows(channel: Any, server: Any, time: Time) -> None:
    recorder = Recorder(channel)
    for seq in (1, 2):
        recorder.add(Standing(), [point(seq)])
    recorder.send(Log("info", "after"))
    messages = server.heard()
    assert rows(messages) == [[1], [2]]
    assert messages[-1] == Log("info", "after")


def test_a_worker_with_nothing_to_tell_gives_a_sign_of_life(channel: Any, server: Any, time: Time) -> None:
    recorder = Recorder(channel)
    for _ in range(2):
        recorder.flush_overdue()
        assert server.heard() == []
        time.now += HEARTBEAT_SECONDS
        recorder.flush_overdue()
        assert server.heard() == [Heartbeat()]


def test_what_is_told_of_a_variant_is_a_sign_of_life(channel: Any, server: Any, time: Time) -> None:
    recorder = Recorder(channel)
    with recorder.about("fit_2") as part:
        time.now += HEARTBEAT_SECONDS
        part.send(Log("info", "here"))
        recorder.flush_overdue()
        assert server.heard() == [About("fit_2", Log("info", "here"))]
        time.now += HEARTBEAT_SECONDS
        recorder.flush_overdue()
        assert server.heard() == [Heartbeat()]


def test_a_sign_of_life_waits_for_a_server_that_does_not_keep_up(channel: Any, server: Any, time: Time) -> None:
    recorder = Recorder(channel)
    channel.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            channel.send(bytes(1 << 16))
    channel.setblocking(True)
    time.now += HEARTBEAT_SECONDS
    recorder.flush_overdue()  # would never return


@pytest.fixture
def exits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    codes: list[int] = []
    monkeypatch.setattr(module.os, "_exit", codes.append)
    return codes


def test_without_a_server_there_is_nothing_to_do(channel: Any, server: Any, exits: list[int]) -> None:
    server.channel.close()
    Recorder(channel).send(Log("info", "anybody?"))
    assert exits == [module.ORPHANED]
