"""The host of rank 0 of replicas that have an actor each: the others are played, and never join."""

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.domain.messages import Control, Failed, Finished, Log, decode, encode
from app.domain.replicas import ReplicaShare
from app.runner.cluster import host, replicated_host
from app.runner.cluster.host import REPORT
from app.runner.cluster.replicated_host import ReplicatedHost, share_of
from tests.support.patience import PATIENCE

from .conftest import TOKEN, Assign
from .played_peer import PlayedPeer
from .test_host import IDENTITY, heard

Begin = Callable[..., ReplicatedHost]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for a process of rank 0 that has not joined to exit by itself, nor give up any other."""
    monkeypatch.setattr(replicated_host, "OWN_EXIT_SECONDS", 0.0)
    monkeypatch.setattr(host, "END_SECONDS", PATIENCE)
    monkeypatch.setattr(host, "identity", lambda: IDENTITY)


@pytest.fixture
def begin(assign: Assign, tmp_path: Path) -> Iterator[Begin]:
    """Begin attempts with these peers; whatever is left of them is ended."""
    begun: list[ReplicatedHost] = []

    def start(*others: PlayedPeer) -> ReplicatedHost:
        terms = {
            "identity": IDENTITY,
            "folder": str(tmp_path / "node"),
            "blob_url": None,
            "cache_bytes": 0,
            "lease_seconds": PATIENCE,
        }
        listener = socket.create_server(("127.0.0.1", 0))
        share = ReplicaShare(0, len(others) + 1, "127.0.0.1", listener.getsockname()[1], "00" * 32)
        assignment = share_of(assign(steps=3, replicas=len(others) + 1, placement="spread"), share)
        begun.append(ReplicatedHost(assignment, terms, others, listener))
        return begun[-1]

    yield start
    for each in begun:
        each.close()


def test_the_process_of_a_peer_that_is_killed_ends_the_attempt_as_a_whole(begin: Begin) -> None:
    peer = PlayedPeer(1)
    attempt = begin(peer)
    peer.say(Log("info", "a line of a peer"))
    peer.end("out_of_memory", "the process was killed by the system")
    messages, ended = heard(attempt)
    assert (ended.token, ended.reason, ended.detail) == (
        TOKEN, "out_of_memory", "replica 1: the process was killed by the system"
    )  # fmt: skip
    assert not ended.asked
    assert ended.lost_node is None
    assert Log("info", "a line of a peer") in messages
    assert not any(isinstance(message, Finished | Failed) for message in messages)


def test_a_peer_that_cannot_begin_fails_the_fit_with_its_verdict(begin: Begin) -> None:
    peer = PlayedPeer(1)
    attempt = begin(peer)
    peer.say(Failed("not_found", "this node does not have the file"))
    peer.end("finished", "the attempt could not begin")
    messages, ended = heard(attempt)
    assert ended.reason == "finished"
    assert Failed("not_found", "this node does not have the file") in messages


def test_an_attempt_that_waits_for_its_peers_can_be_cancelled(begin: Begin) -> None:
    attempt = begin(PlayedPeer(1))
    last, end, started = 0, time.monotonic() + PATIENCE, False
    while not started:
        assert time.monotonic() < end
        for number, kind, text in attempt.receive(0, last, 1.0)[1]:
            last = number
            assert kind == REPORT
            started = started or type(decode(text.encode())).__name__ == "Started"
    attempt.send(encode(Control("cancel")).decode(), PATIENCE)
    messages, ended = heard(attempt)
    assert Finished("cancelled") in messages
    assert ended.reason == "finished"


def test_each_replica_has_a_folder_of_its_own(assign: Assign) -> None:
    shares = [share_of(assign(), ReplicaShare(rank, 3, "::1", 1, "00")) for rank in range(3)]
    assert [share.token for share in shares] == [TOKEN, f"{TOKEN}.1", f"{TOKEN}.2"]
