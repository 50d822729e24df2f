"""The runner of a Ray cluster when its bridge ends: attempts go on, and what was to end is ended by the next one."""

from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from app.domain.errors import RayUnusable
from app.domain.fit import Attempt
from app.domain.messages import Heartbeat, encode
from app.runner.cluster import runner as cluster_runner
from app.runner.cluster.protocol import Adopt, Connect, Connected, Ended, Event, Found, Gone, Order, Reported
from app.runner.cluster.runner import RayRunner
from app.runner.port import Exited, Handle, Report
from tests.support.manual_clock import ManualClock

TERMS = Connect("127.0.0.1:1", None, "tests", None, None, 0, 30.0)
AFTER_RESTART = cluster_runner.BACKOFF_SECONDS[0] + 1.0


class PlayedBridge:
    """A bridge that is connected at once, and finds the actors that a test says, until it is killed."""

    def __init__(self, actors: set[str], on_event: Callable[[Event | None], None]) -> None:
        self.orders: list[Order] = []
        self.dies_of_adopting = False
        self._actors = actors
        self.emit = on_event
        on_event(Connected())

    def send(self, order: Order) -> None:
        self.orders.append(order)
        if isinstance(order, Adopt) and not self.dies_of_adopting:
            found = [each["token"] for each in order.attempts if each["token"] in self._actors]
            self.emit(Found(found, sorted(self._actors - {*found}) if order.all else []))
        elif isinstance(order, Adopt):
            self.die()

    def die(self) -> None:
        self.emit(None)

    def close(self) -> None:
        """Do nothing."""

    @property
    def adopted(self) -> Adopt:
        """The last order to go on with attempts."""
        return [order for order in self.orders if isinstance(order, Adopt)][-1]


class Played:
    """A runner over bridges that are played, one after another."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.actors: set[str] = set()
        self.bridges: list[PlayedBridge] = []
        self.next_dies_of_adopting = False
        self.clock = ManualClock()
        monkeypatch.setattr(cluster_runner, "BridgeProcess", self._make)
        local: Any = SimpleNamespace(
            open=lambda: None, close=lambda: None, wake=lambda: None, known=lambda: (), unavailable_reason=None,
            receive=lambda _timeout, _hold: [],
        )  # fmt: skip
        self.runner = RayRunner(self.clock, local, TERMS, "text", "staging")
        self.runner.open()

    def _make(self, _terms: Connect, _format: str, on_event: Callable[[Event | None], None]) -> PlayedBridge:
        self.bridges.append(PlayedBridge(self.actors, on_event))
        self.bridges[-1].dies_of_adopting = self.next_dies_of_adopting
        return self.bridges[-1]

    def received(self) -> list[Report | Exited]:
        return self.runner.receive(0.0)

    def restart_bridge(self) -> None:
        """Have the bridge end, and the next one connect."""
        self.bridges[-1].die()
        self.received()
        self.clock.advance(AFTER_RESTART)
        self.received()


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Played:
    return Played(monkeypatch)


def attempt(token: str) -> Attempt:
    return Attempt(f"fit_{token}", 1, token, 1, datetime(2026, 1, 1, tzinfo=UTC), None, None, received=3)


def handle(token: str) -> Handle:
    return Handle(f"fit_{token}", 1, token)


def test_a_bridge_that_ends_while_attempts_are_adopted_ends_none_of_them(played: Played) -> None:
    played.actors.add("a")
    played.bridges[-1].dies_of_adopting = True
    with pytest.raises(RayUnusable):
        played.runner.adopt([attempt("a")])
    with pytest.raises(RayUnusable):
        played.runner.adopt([attempt("a")])
    assert played.received() == []
    played.clock.advance(AFTER_RESTART)
    played.received()
    assert len(played.bridges) == 2
    assert played.runner.adopt([attempt("a")]) == {"a"}
    assert played.bridges[-1].adopted.attempts == [{"token": "a", "received": 3, "staging": "staging/a"}]


def test_a_bridge_that_ends_while_it_goes_on_is_followed_by_another_one(played: Played) -> None:
    played.actors.add("a")
    assert played.runner.adopt([attempt("a")]) == {"a"}
    played.next_dies_of_adopting = True
    played.restart_bridge()
    played.next_dies_of_adopting = False
    assert played.runner.unavailable_reason is not None
    played.clock.advance(AFTER_RESTART)
    assert played.received() == []
    played.clock.advance(cluster_runner.BACKOFF_SECONDS[1])
    assert played.received() == []
    assert played.runner.unavailable_reason is None
    played.bridges[-1].emit(Reported("a", 0, encode(Heartbeat()).decode()))
    assert [report.handle for report in played.received()] == [handle("a")]


def test_attempts_are_not_adopted_while_there_is_no_connection(played: Played) -> None:
    played.actors.add("a")
    played.bridges[-1].die()
    played.received()
    with pytest.raises(RayUnusable):
        played.runner.adopt([attempt("a")])
    assert len(played.bridges) == 1
    played.clock.advance(AFTER_RESTART)
    played.received()
    assert played.runner.adopt([attempt("a")]) == {"a"}


def test_what_a_bridge_was_to_end_when_it_ended_is_ended_by_the_next_one(played: Played) -> None:
    played.actors |= {"killed", "over", "running"}
    played.runner.adopt([attempt(token) for token in ("killed", "over", "running")])
    played.runner.kill(handle("killed"))
    played.runner.acknowledge(handle("over"), None)
    played.restart_bridge()
    adopted = played.bridges[-1].adopted
    assert {*adopted.ended} == {"killed", "over"}
    assert [each["token"] for each in adopted.attempts] == ["running"]
    assert not adopted.all


def test_actors_of_no_attempt_that_a_bridge_was_to_end_are_ended_by_the_next_one(played: Played) -> None:
    played.actors |= {"running", "unknown"}
    played.runner.adopt([attempt("running")])
    played.restart_bridge()
    assert played.bridges[-1].adopted.ended == ["unknown"]
    assert not played.bridges[-1].adopted.all


def test_an_actor_is_to_end_until_the_bridge_has_ended_it(played: Played) -> None:
    played.actors |= {"first", "second"}
    played.runner.adopt([attempt("first"), attempt("second")])
    played.runner.acknowledge(handle("first"), None)
    played.bridges[-1].emit(Gone("first"))
    played.runner.kill(handle("second"))
    played.bridges[-1].emit(Ended("second", "killed", "it was killed", asked=True))
    played.received()
    played.clock.advance(3600.0)  # a bridge may be stopped for any time
    played.restart_bridge()
    assert played.bridges[-1].adopted.ended == ["second"]


def test_an_actor_that_the_next_bridge_does_not_find_has_ended(played: Played) -> None:
    played.actors.add("over")
    played.runner.adopt([attempt("over")])
    played.runner.acknowledge(handle("over"), None)
    played.restart_bridge()
    played.restart_bridge()
    assert [bridge.adopted.ended for bridge in played.bridges[1:]] == [["over"], []]
