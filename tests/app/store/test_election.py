"""The election of the server that runs fits, beat by beat: no thread runs here, and the clock is the test's."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from app.domain.clock import SystemClock
from app.domain.errors import DatabaseUnusable, Superseded
from app.domain.servers import ServerRecord
from app.store.unit_of_work import Store
from tests.support import backends, postgres

if not postgres.AVAILABLE:
    pytest.skip(postgres.MISSING, allow_module_level=True)

import psycopg

from app.store.postgres import election
from app.store.postgres.database import PostgresDatabase, PostgresOptions
from app.store.postgres.election import BEAT_SECONDS, LEASE_SECONDS, LOCK_SECONDS, LOCK_TRIES, Election

pytestmark = pytest.mark.slow

TAKE_OVER_SECONDS = 5.0
"""After so long without the heartbeat of a leader another one leads, as far as that depends on no machine."""


@dataclass
class Candidate:
    """A server that the test has send heartbeats."""

    store: Store
    election: Election
    changes: list[int | None] = field(default_factory=list)

    def beat(self) -> int | None:
        """Send a heartbeat, and return the epoch in which the server leads."""
        self.election._beat(self.election._connected())
        return self.election.epoch

    def lose_connection(self) -> None:
        self.election._disconnect()


Stand = Callable[..., Candidate]


class Time:
    """A monotonic clock that the test sets."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    played = Time()
    monkeypatch.setattr(election, "time", played)
    return played


@pytest.fixture
def url() -> Iterator[str]:
    with backends.postgres_database() as made:
        yield made


@pytest.fixture
def stand(url: str) -> Iterator[Stand]:
    """Have servers join, which stand for election unless the test says otherwise."""
    with ExitStack() as stack:

        def join(name: str, *, runs_fits: bool = True, stands: bool = True) -> Candidate:
            database = PostgresDatabase.open(PostgresOptions(url, connections=2, server=name))
            store = stack.enter_context(Store(database, SystemClock()))
            own = ServerRecord(name, "", "0.1.0", {"max_rows": 5})
            with store.begin() as work:
                work.servers.register(own)
            made = Candidate(store, Election(database.engine, own, runs_fits=runs_fits))
            stack.callback(made.lose_connection)
            if stands:
                made.election.stand(f"http://{name}", lambda: made.changes.append(made.election.epoch))
            return made

        yield join


def guarded(server: Candidate) -> None:
    """Write something for a process, as the leader does."""
    with server.store.begin() as work:
        server.election.guard(work)


def test_one_leads_and_the_others_follow(stand: Stand) -> None:
    first, second = stand("srv_a"), stand("srv_b")
    assert [first.beat(), second.beat(), first.beat(), second.beat()] == [1, None, 1, None]
    assert (first.changes, second.changes) == ([1], [])
    with second.store.read() as work:
        assert {(each.id, each.url, each.leads) for each in work.servers.list()} == {
            ("srv_a", "http://srv_a", True),
            ("srv_b", "http://srv_b", False),
        }


def test_nobody_leads_who_runs_no_fits_or_is_not_ready(stand: Stand) -> None:
    idle, starting = stand("srv_a", runs_fits=False), stand("srv_b", stands=False)
    assert [idle.beat(), starting.beat()] == [None, None]
    starting.election.stand("http://srv_b", lambda: None)
    assert [idle.beat(), starting.beat()] == [None, 1]


def test_candidates_beside_one_another_make_one_leader(stand: Stand) -> None:
    candidates = [stand(f"srv_{number}") for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            epochs = [*pool.map(Candidate.beat, candidates)]
            assert sorted(epochs, key=str) == [1, None, None, None]


def test_a_leader_whose_heartbeat_stays_away_is_replaced(stand: Stand, time: Time) -> None:
    first, second = stand("srv_a"), stand("srv_b")
    assert [first.beat(), second.beat()] == [1, None]
    time.now += LEASE_SECONDS - 0.1
    assert second.beat() is None
    assert first.beat() == 1  # in time
    assert second.beat() is None
    time.now += LEASE_SECONDS - 0.1
    assert second.beat() is None
    time.now += 0.2
    assert second.beat() == 2
    guarded(second)
    # The first one's connections are cut, and when it is back it learns that it was replaced.
    with pytest.raises(psycopg.Error):
        first.beat()
    with pytest.raises(Superseded):
        guarded(first)
    first.lose_connection()
    assert first.beat() is None
    assert (first.changes, second.changes) == ([1, None], [2])


def test_a_leader_that_dies_is_replaced_within_five_seconds(stand: Stand, time: Time) -> None:
    first, second = stand("srv_a"), stand("srv_b")
    assert [first.beat(), second.election.beat()] == [1, BEAT_SECONDS]
    assert first.beat() == 1  # the last one, which the other finds as late as it can
    died = time.now
    time.now += BEAT_SECONDS
    while (pause := second.election.beat()) and second.election.epoch is None:
        time.now += pause
    assert LEASE_SECONDS <= time.now - died <= TAKE_OVER_SECONDS - LOCK_TRIES * LOCK_SECONDS


def test_a_lease_is_measured_while_connected_only(stand: Stand, time: Time) -> None:
    first, second = stand("srv_a"), stand("srv_b")
    assert [first.beat(), second.beat()] == [1, None]
    # The database was away for all of them: the first heartbeat after it begins a new lease.
    second.lose_connection()
    time.now += 10 * LEASE_SECONDS
    assert second.beat() is None
    assert first.beat() == 1


def test_a_leader_that_has_lost_its_connection_leads_on(stand: Stand) -> None:
    first, second = stand("srv_a"), stand("srv_b")
    assert first.beat() == 1
    first.lose_connection()
    assert [second.beat(), first.beat(), second.beat()] == [None, 1, None]
    assert first.changes == [1]
    guarded(first)


def test_no_epoch_begins_while_the_leader_writes(stand: Stand) -> None:
    first, second = stand("srv_a"), stand("srv_b")
    assert first.beat() == 1
    begin = (election._BEGIN_EPOCH, {"epoch": 1, "server": "srv_b"})
    connection = second.election._connected()
    connection.execute("SET lock_timeout = '1ms'")
    with first.store.begin() as work:
        first.election.guard(work)
        with pytest.raises(psycopg.errors.LockNotAvailable):
            connection.execute(*begin)
    connection.execute("SET lock_timeout = 0")
    assert connection.execute(*begin).fetchone() == (2,)
    with pytest.raises(Superseded):
        guarded(first)


def test_a_candidate_that_another_one_has_overtaken_does_not_lead(stand: Stand) -> None:
    first, second = stand("srv_a"), stand("srv_b")
    assert first.beat() == 1
    first.lose_connection()  # and with it the advisory lock
    before_the_first = election._Beat(known=1, epoch=0, leader="", heartbeat=None)
    second.election._take_over(second.election._connected(), before_the_first)
    assert (second.election.epoch, second.changes) == (None, [])
    assert first.beat() == 1
    guarded(first)


def test_a_leader_that_leaves_is_followed_at_once(stand: Stand) -> None:
    first, second = stand("srv_a"), stand("srv_b")
    assert [first.beat(), second.beat()] == [1, None]
    first.election.start()
    first.election.close()
    assert second.beat() == 2
    with second.store.read() as work:
        assert [each.id for each in work.servers.list()] == ["srv_b"]


def test_a_server_that_was_forgotten_is_on_record_again(stand: Stand) -> None:
    first = stand("srv_a")
    with first.store.begin() as work:
        work.servers.forget_gone(-1.0)
    assert first.beat() == 1
    with first.store.read() as work:
        (record,) = work.servers.terms()
    assert record == ServerRecord("srv_a", "http://srv_a", "0.1.0", {"max_rows": 5})


def test_servers_join_one_after_another(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election, "JOIN_SECONDS", 1)
    first, second = stand("srv_a"), stand("srv_b")
    with first.election.alone(), pytest.raises(DatabaseUnusable, match="has been starting for 1 s"), alone(second):
        pass
    with alone(second):
        pass


def alone(server: Candidate) -> Any:
    return server.election.alone()


def test_epochs_only_grow(stand: Stand, time: Time) -> None:
    servers = [stand("srv_a"), stand("srv_b")]
    assert [each.beat() for each in servers] == [1, None]
    for epoch in range(2, 6):
        time.now += LEASE_SECONDS
        heir = servers[epoch % 2 - 1]
        heir.beat()
        time.now += LEASE_SECONDS
        assert heir.beat() == epoch
        servers[epoch % 2].lose_connection()
        assert servers[epoch % 2].beat() is None
