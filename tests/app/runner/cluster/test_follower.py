"""Following an actor: how it is ended, and what the server hears of it. Ray and the actor are played."""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from app.domain.messages import Finished, Log, encode
from app.runner.cluster import actor_end, bridge, connection, follower
from app.runner.cluster.bridge import Bridge
from app.runner.cluster.follower import Follower, Nodes
from app.runner.cluster.host import EXIT, REPORT
from app.runner.cluster.protocol import Acknowledge, Adopt, Connect, Ended, Event, Gone, Reported, Start, to_text
from tests.support.patience import PATIENCE

from .conftest import TOKEN, FakeRay

LEFT = "the attempt has left"


class Call:
    """A method of a played actor."""

    def __init__(self, call: Callable[..., Awaitable[Any]]) -> None:
        self.remote = call


class Actor:
    """An actor on a node: it hands out `reports`, and notes what is asked of it."""

    def __init__(self, *reports: tuple[int, str, str]) -> None:
        self.asked: list[str] = []
        self.answers = True
        """Whether the node is reached."""
        self.cause = "the actor is dead"
        """What Ray says of its death."""
        self._reports = [*reports]
        self._is_gone = False
        self.place, self.receive, self.close = Call(self._place), Call(self._receive), Call(self._close)

    def report(self, *reports: tuple[int, str, str]) -> None:
        self._reports += reports

    def die(self, _actor: object = None) -> None:
        """Be killed."""
        self.asked.append("kill")
        self._is_gone = True

    async def _place(self) -> tuple[str, str | None]:
        return "node-1", None

    async def _receive(self, _acknowledged: int, after: int, _wait: float) -> Any:
        from ray.exceptions import RayActorError

        while not self._is_gone:
            if self.answers and (kept := [each for each in self._reports if each[0] > after]):
                return True, kept
            await asyncio.sleep(0.001)
        raise RayActorError(self.cause)

    async def _close(self) -> None:
        if not self.answers:
            await asyncio.Event().wait()
        self.asked.append("close")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up on nothing because the machine is busy."""
    monkeypatch.setattr(follower, "SILENT_SECONDS", PATIENCE)
    monkeypatch.setattr(follower, "END_SECONDS", PATIENCE)
    monkeypatch.setattr(actor_end, "CLOSE_SECONDS", PATIENCE)
    monkeypatch.setattr(actor_end, "KILL_SECONDS", PATIENCE)
    monkeypatch.setattr(bridge, "FINISH_SECONDS", PATIENCE)


def a_log(number: int) -> tuple[int, str, str]:
    return number, REPORT, encode(Log("info", f"line {number}")).decode()


def the_end(number: int) -> tuple[int, str, str]:
    return number, EXIT, to_text(Ended(TOKEN, "finished", LEFT)).decode()


def following(
    ray: FakeRay, tmp_path: Path, act: Callable[[Follower, Actor, list[Event]], Awaitable[None]]
) -> tuple[Actor, list[Event]]:
    """Follow an actor while `act` runs; return it, and the events that were sent."""
    events: list[Event] = []

    async def run() -> Actor:
        actor = Actor(a_log(1))
        ray.on_kill = actor.die
        followed = Follower(TOKEN, str(tmp_path / "staging"), 0, Nodes(), events.append)
        followed.adopt(actor)
        await until(lambda: numbered(events) == [1])
        await act(followed, actor, events)
        followed.cancel()
        return actor

    return asyncio.run(asyncio.wait_for(run(), PATIENCE)), events


async def until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.001)


def numbered(events: list[Event]) -> list[int]:
    return [event.number for event in events if isinstance(event, Reported) and event.number]


def ends(events: list[Event]) -> list[Ended]:
    return [event for event in events if isinstance(event, Ended)]


def test_an_attempt_that_has_ended_is_closed_before_it_is_killed(ray: FakeRay, tmp_path: Path) -> None:
    async def act(followed: Follower, actor: Actor, events: list[Event]) -> None:
        actor.report((2, REPORT, encode(Finished("succeeded")).decode()), the_end(3))
        await until(lambda: bool(ends(events)))
        await followed.forget()

    actor, events = following(ray, tmp_path, act)
    assert actor.asked == ["close", "kill"]
    assert numbered(events) == [1, 2]
    assert ends(events) == [Ended(TOKEN, "finished", LEFT)]


def test_a_kill_has_the_actor_delete_its_files_first(ray: FakeRay, tmp_path: Path) -> None:
    async def act(followed: Follower, _actor: Actor, _events: list[Event]) -> None:
        await followed.kill()

    actor, events = following(ray, tmp_path, act)
    assert actor.asked == ["close", "kill"]
    assert ends(events) == [Ended(TOKEN, "killed", follower.KILLED_DETAIL, asked=True)]


def test_a_kill_between_the_last_report_and_the_exit_leaves_nothing_behind(ray: FakeRay, tmp_path: Path) -> None:
    async def act(followed: Follower, actor: Actor, events: list[Event]) -> None:
        actor.report((2, REPORT, encode(Finished("succeeded")).decode()))
        await until(lambda: numbered(events) == [1, 2])
        await followed.kill()
        await followed.forget()

    actor, events = following(ray, tmp_path, act)
    assert actor.asked[:2] == ["close", "kill"]
    assert len(ends(events)) == 1


def test_an_actor_that_is_not_reached_is_killed_at_once(
    ray: FakeRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "SILENT_SECONDS", 0.0)

    async def act(followed: Follower, actor: Actor, _events: list[Event]) -> None:
        actor.answers = False
        await asyncio.sleep(0.001)  # longer than it may be silent
        await followed.kill()

    actor, events = following(ray, tmp_path, act)
    assert actor.asked == ["kill"]
    assert [(ended.reason, ended.asked) for ended in ends(events)] == [("node_lost", True)]


def test_an_actor_that_does_not_close_in_time_is_killed(
    ray: FakeRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actor_end, "CLOSE_SECONDS", 0.01)
    monkeypatch.setattr(follower, "is_node_lost", lambda _node: False)

    async def act(followed: Follower, actor: Actor, _events: list[Event]) -> None:
        actor.answers = False
        await followed.kill()

    actor, events = following(ray, tmp_path, act)
    assert actor.asked == ["kill"]
    assert ends(events) == [Ended(TOKEN, "killed", follower.KILLED_DETAIL, asked=True)]


KILLED = (
    "The actor died unexpectedly. Some common causes include: (1) the process was killed by the OOM killer due to high "
    "memory usage, (2) ray stop --force was called"
)
SHORT_OF_MEMORY = "1 worker(s) were killed due to the node running low on memory. Refer to the documentation"


@pytest.mark.parametrize(
    ("is_lost", "cause", "reason"),
    [(False, KILLED, "killed"), (True, KILLED, "node_lost"), (False, SHORT_OF_MEMORY, "out_of_memory")],
)
def test_an_actor_that_dies_by_itself_or_with_its_node_is_reported(
    ray: FakeRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_lost: bool, cause: str, reason: str
) -> None:
    monkeypatch.setattr(follower, "is_node_lost", lambda _node: is_lost)

    async def act(_followed: Follower, actor: Actor, events: list[Event]) -> None:
        actor.cause = cause
        actor.die()
        await until(lambda: bool(ends(events)))

    _, events = following(ray, tmp_path, act)
    assert [(ended.reason, ended.asked) for ended in ends(events)] == [(reason, False)]


class Lines:
    """Where a bridge writes its events to."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, line: bytes) -> None:
        self.written.append(line)


@pytest.mark.parametrize(("are_all", "ended"), [(True, []), (False, ["stray"])], ids=["of nobody", "that have ended"])
def test_actors_of_no_attempt_are_closed_and_those_that_are_wanted_go_on(
    ray: FakeRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, are_all: bool, ended: list[str]
) -> None:
    async def run() -> dict[str, Actor]:
        actors = {TOKEN: Actor(), "stray": Actor()}
        ray.on_kill = lambda actor: actor.die()
        ray.groups = {TOKEN: "CREATED", "stray": "CREATED", "former": "REMOVED"}
        monkeypatch.setattr(ray, "list_named_actors", lambda: [*actors, "dead"], raising=False)
        monkeypatch.setattr(ray, "get_actor", lambda name: actors[name] if name in actors else _none(), raising=False)
        monkeypatch.setattr(bridge, "identity", dict)
        made = Bridge(Lines(), Connect("", None, "", None, None, 0, 0.0))  # type: ignore[arg-type]  # what it writes to
        known = {"token": TOKEN, "received": 0, "staging": str(tmp_path / "staging")}
        await made.handle(Adopt([known], are_all, ended))
        await until(lambda: actors["stray"].asked == ["close", "kill"])
        return actors

    actors = asyncio.run(asyncio.wait_for(run(), PATIENCE))
    assert actors[TOKEN].asked == []
    assert ray.groups == {TOKEN: "CREATED", "stray": "REMOVED", "former": "REMOVED"}


def test_a_bridge_that_ends_waits_for_actors_that_are_ending(
    ray: FakeRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge, "identity", dict)

    async def run() -> tuple[list[str], list[bytes]]:
        actor, lines = Actor(), Lines()
        made = Bridge(lines, Connect("", None, "", None, None, 0, 0.0))  # type: ignore[arg-type]  # what it writes to
        made._followers[TOKEN] = followed = Follower(TOKEN, str(tmp_path), 0, Nodes(), lambda _event: None)
        followed.adopt(actor)
        await made.handle(Acknowledge(TOKEN, None))
        assert lines.written == []
        await made.finish()
        return actor.asked, lines.written

    assert asyncio.run(asyncio.wait_for(run(), PATIENCE)) == (["close"], [to_text(Gone(TOKEN))])
    assert len(ray.killed) == 1


def test_an_attempt_that_ends_while_its_actor_is_being_made_is_gone_when_that_was_killed(
    ray: FakeRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge, "identity", dict)
    asked, made = threading.Event(), threading.Event()

    def make(_follower: Follower, _order: Start, _terms: object) -> str:
        asked.set()
        assert made.wait(PATIENCE)
        return "the actor"

    monkeypatch.setattr(Follower, "_create", make)

    async def run() -> list[bytes]:
        lines = Lines()
        server = Bridge(lines, Connect("", None, "", None, None, 0, 0.0))  # type: ignore[arg-type]  # what it writes to
        await server.handle(Start(TOKEN, "", str(tmp_path), 1, None))
        await asyncio.to_thread(asked.wait, PATIENCE)
        await server.handle(Acknowledge(TOKEN, None))
        await asyncio.sleep(0)
        assert lines.written == []
        made.set()
        await server.finish()
        return lines.written

    assert asyncio.run(asyncio.wait_for(run(), PATIENCE)) == [to_text(Gone(TOKEN))]
    assert ray.killed == ["the actor"]


def _none() -> Any:
    raise ValueError("there is no such actor")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Failed to connect", "cannot be used (RuntimeError: Failed to connect)"),
        ("Version mismatch: the cluster was started with Ray: 2.59.0, Python 3.12.1", "other versions than the server"),
        ("Unauthenticated: invalid token", "refuses the token"),
        ("no node with this address matches", "no Ray node on the server's machine"),
        ("the sky has fallen", "cannot be used (RuntimeError: the sky has fallen)"),
    ],
)
def test_why_a_cluster_cannot_be_used_is_one_line(text: str, said: str) -> None:
    line = connection._explain("10.0.0.5:6379", RuntimeError(text), "a line\n")
    assert said in line
    assert "\n" not in line


def test_a_wrong_token_is_found_in_what_ray_has_written(capfd: pytest.CaptureFixture[str]) -> None:
    with connection._captured_errors() as captured:
        os.write(2, b"Unauthenticated: InvalidAuthToken\n")
        line = connection._explain("10.0.0.5:6379", ConnectionError("failed"), captured())
    os.write(2, b"after it\n")
    assert "refuses the token" in line
    assert capfd.readouterr().err == "after it\n"
