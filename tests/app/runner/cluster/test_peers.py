"""Following the other replicas of an attempt: why it ends when one is lost."""

import threading
from collections.abc import Callable, Iterator

import pytest

from app.domain.messages import Failed, Heartbeat, Log, Message
from app.domain.replicas import EXIT_PEER_LOST
from app.runner.cluster import peers
from app.runner.cluster.peers import PeerLoss, PeerWatch
from app.runner.process_status import classify_exit
from tests.support.patience import PATIENCE

from .played_peer import PlayedPeer

FOLLOWED = classify_exit(EXIT_PEER_LOST)
"""How a replica ends that has lost another one."""


class Watched:
    """A watch, what it has reported, and whether a peer is lost."""

    def __init__(self, others: tuple[PlayedPeer, ...], lease_seconds: float) -> None:
        self.logged: list[Message] = []
        self.losses = 0
        self.is_lost = threading.Event()
        self.watch = PeerWatch(others, lease_seconds, self._lose, self.logged.append)
        self.watch.start()

    def _lose(self) -> None:
        self.losses += 1
        self.is_lost.set()

    def cause(self) -> PeerLoss | None:
        """Wait until a peer is lost, and return the cause."""
        assert self.is_lost.wait(PATIENCE)
        found = self.watch.find_cause(PATIENCE)
        assert self.losses == 1
        return found


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Watched]]:
    monkeypatch.setattr(peers, "RETRY_SECONDS", 0.001)
    made: list[Watched] = []

    def start(*others: PlayedPeer, lease_seconds: float = PATIENCE) -> Watched:
        made.append(Watched(others, lease_seconds))
        return made[-1]

    yield start
    for each in made:
        each.watch.close()


Watch = Callable[..., Watched]


def test_how_the_process_of_a_peer_has_exited_is_the_cause(watch: Watch) -> None:
    peer = PlayedPeer(1)
    peer.say(Log("info", "a line of a peer"))
    peer.end("out_of_memory", "the process was killed by the system")
    watched = watch(peer, PlayedPeer(2))
    assert watched.cause() == PeerLoss("out_of_memory", "replica 1: the process was killed by the system")
    assert watched.logged == [Log("info", "a line of a peer")]


def test_a_peer_that_fails_has_a_verdict(watch: Watch) -> None:
    peer, verdict = PlayedPeer(1), Failed("not_found", "this node does not have the file")
    peer.say(verdict)
    peer.end("finished", "the attempt could not begin")
    assert watch(peer).cause() == PeerLoss("finished", "the attempt could not begin", verdict)


def test_peers_that_have_done_their_part_are_no_loss(watch: Watch) -> None:
    others = PlayedPeer(1), PlayedPeer(2)
    for peer in others:
        peer.end("finished", "the process ended by itself")
    watched = watch(*others)
    assert watched.watch.find_cause(PATIENCE) is None
    assert watched.losses == 0


@pytest.mark.parametrize(("is_lost", "expected"), [(False, ("killed", None)), (True, ("node_lost", "node-1"))])
def test_an_actor_that_is_dead_was_killed_unless_its_node_is_not_reached(
    watch: Watch, is_lost: bool, expected: tuple[str, str | None]
) -> None:
    peer = PlayedPeer(1)
    peer.say(Heartbeat())
    watched = watch(peer)
    peer.is_lost, peer.death = is_lost, "the actor is dead"
    cause = watched.cause()
    assert cause is not None
    assert (cause.reason, cause.node) == expected


def test_a_peer_that_has_begun_and_is_silent_for_the_lease_is_lost(watch: Watch) -> None:
    peer = PlayedPeer(1)
    peer.say(Heartbeat())
    peer.falls_silent_after = 1
    cause = watch(peer, lease_seconds=0.05).cause()
    assert cause is not None
    assert (cause.reason, cause.node) == ("node_lost", "node-1")
    assert "within the lease" in cause.detail


def test_the_first_cause_counts_and_not_what_follows_from_it(watch: Watch) -> None:
    first, second = PlayedPeer(1), PlayedPeer(2)
    second.end(*FOLLOWED)
    watched = watch(first, second)
    assert watched.is_lost.wait(PATIENCE)
    first.end("error", "the process crashed (SIGSEGV)")
    assert watched.cause() == PeerLoss("error", "replica 1: the process crashed (SIGSEGV)")


def test_a_node_that_is_not_reached_is_the_cause_where_nothing_else_is(watch: Watch) -> None:
    first, second = PlayedPeer(1), PlayedPeer(2)
    first.is_lost = True
    second.end(*FOLLOWED)
    watched = watch(first, second)
    assert watched.is_lost.wait(PATIENCE)
    watched.watch.wait_until_placed()
    found = watched.watch.find_cause(0.0)
    assert found is not None
    assert (found.reason, found.node) == ("node_lost", "node-1")


def test_a_cut_link_between_nodes_that_are_reached_loses_no_node(watch: Watch) -> None:
    peer = PlayedPeer(1)
    peer.end(*FOLLOWED)
    assert watch(peer).cause() == PeerLoss("node_lost", f"replica 1: {FOLLOWED[1]}", follows=True)


def test_a_node_that_must_not_run_a_replica_is_named(watch: Watch) -> None:
    good, bad = PlayedPeer(1), PlayedPeer(2)
    bad.unusable = "it has Python 3.10.2"
    assert watch(good, bad).watch.wait_until_placed() == ("node-2", "it has Python 3.10.2")
    assert watch(good).watch.wait_until_placed() is None
