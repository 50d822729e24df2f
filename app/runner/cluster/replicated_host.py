"""The host of rank 0 of an attempt whose replicas have an actor each: for the server, it is the attempt."""

import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.domain.messages import Assignment, Failed, Finished, Message, SessionAssignment, encode
from app.domain.replicas import ReplicaShare
from app.runner.cluster.host import AttemptHost
from app.runner.cluster.peers import Peer, PeerLoss, PeerWatch
from app.runner.cluster.protocol import Ended
from app.runner.local import LocalRunner
from app.runner.port import Exited, Handle

OWN_EXIT_SECONDS = 3.0
"""How long the process of rank 0 may take to exit by itself after the loss of a peer, before it is killed."""

CAUSE_SECONDS = 8.0
"""How long to wait for the exit of a peer, after the process of rank 0 has exited since it has lost one."""

BEAT_SECONDS = 1.0


def share_of(assignment: Assignment, share: ReplicaShare) -> Assignment:
    """Return the assignment of one replica; the folder of each on a node is named by its token."""
    token = f"{assignment.token}.{share.rank}" if share.rank else assignment.token
    return replace(assignment, token=token, replica=share.to_json())


class ReplicatedHost(AttemptHost):
    """Runs rank 0, and watches the others. Reports, checkpoints and the verdict are those of rank 0."""

    def __init__(
        self, assignment: Assignment, terms: Mapping[str, Any], peers: Sequence[Peer], listener: socket.socket
    ) -> None:
        """Begin; `listener` is where the process of rank 0 waits for the others."""
        self._listener = listener
        self._has_verdict = False
        self._is_killed_for_peer = False
        self._is_over = threading.Event()
        self._peers = PeerWatch(peers, terms["lease_seconds"], self._lose, self._report)
        super().__init__(encode(assignment).decode(), dict(terms))
        self._peers.start()

    def find_unusable(self) -> tuple[str, str] | None:
        """Wait until all peers have a node; return one that must not run the attempt, and why."""
        return self._peers.wait_until_placed()

    def close(self) -> None:
        """See `AttemptHost`; peers are followed no longer."""
        self._is_over.set()
        self._peers.close()
        super().close()
        self._listener.close()

    def _start(self, runner: LocalRunner, assignment: Assignment | SessionAssignment) -> Handle:
        with self._listener:
            return runner.start(assignment, self._listener)

    def _lose(self) -> None:
        """Kill the process unless it exits soon: it may wait for a peer that is silent."""
        if not self._is_over.wait(OWN_EXIT_SECONDS):
            self._is_killed_for_peer = True
            self._command(lambda runner, handle: runner.kill(handle))

    def _report(self, message: Message) -> None:
        self._has_verdict = self._has_verdict or isinstance(message, Finished | Failed)
        super()._report(message)

    def _settle(self, exited: Exited) -> Ended:
        ended = super()._settle(exited)
        self._is_over.set()
        if self._has_verdict or not (self._is_killed_for_peer or exited.reason == "node_lost"):
            return ended
        loss = self._wait_for_cause()
        if loss is None:
            return ended
        if loss.failed is not None:
            self._report(loss.failed)
        return replace(ended, reason=loss.reason, detail=loss.detail, asked=False, lost_node=loss.node)

    def _wait_for_cause(self) -> PeerLoss | None:
        """Return why a peer has ended, and send heartbeats of the attempt while waiting for it."""
        found: list[PeerLoss | None] = []
        finding = threading.Thread(target=lambda: found.append(self._peers.find_cause(CAUSE_SECONDS)), daemon=True)
        finding.start()
        end = time.monotonic() + 2 * CAUSE_SECONDS
        while finding.is_alive() and time.monotonic() < end:
            self._outbox.beat()
            finding.join(BEAT_SECONDS)
        return found[0] if found else None
