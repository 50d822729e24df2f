"""The other replicas of an attempt, as the host of rank 0 follows them: if one is lost, the attempt ends as a whole."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.domain.messages import Failed, Log, Message, decode
from app.runner.cluster.host import EXIT
from app.runner.cluster.protocol import Ended, from_text
from app.runner.heartbeat_monitor import STARTING_SECONDS
from app.runner.port import ExitReason

POLL_SECONDS = 2.0
"""How long a peer waits for reports before it answers that there are none."""

RETRY_SECONDS = 0.5

_logger = logging.getLogger(__name__)


class PeerSilentError(Exception):
    """An actor does not answer, or is not reached for now."""


class PeerDeadError(Exception):
    """An actor has ended."""


class Peer(Protocol):
    """The actor of another rank.

    Its methods raise PeerSilentError if it does not answer, and PeerDeadError if it has ended.
    """

    rank: int

    def place(self) -> tuple[str, str | None]:
        """Return its node, and why that must not run the attempt, None if it may."""
        ...

    def receive(self, acknowledged: int, after: int, wait: float) -> tuple[bool, list[tuple[int, str, str]]]:
        """See `host.AttemptHost.receive`."""
        ...

    def is_node_lost(self, node: str) -> bool:
        """Return whether its node is not reached. Never raises."""
        ...


@dataclass(frozen=True, slots=True)
class PeerLoss:
    """Why an attempt cannot go on: how a peer has ended, or the verdict with which it `failed`, or its `node` is lost.

    One that `follows` another loss has ended since it has lost a replica itself.
    """

    reason: ExitReason
    detail: str
    failed: Failed | None = None
    node: str | None = None
    follows: bool = False


class PeerWatch:
    """Follows all peers, each in a thread of its own, until it is closed."""

    def __init__(
        self,
        peers: Sequence[Peer],
        lease_seconds: float,
        on_loss: Callable[[], object],
        on_log: Callable[[Message], object],
    ) -> None:
        """Call `on_loss` once when a peer is lost, and `on_log` with each line for the log of the fit, in any thread.

        A peer whose process has sent no heartbeat for `lease_seconds` is lost, one that has not begun later.
        """
        self._peers = peers
        self._lease_seconds = lease_seconds
        self._on_loss = on_loss
        self._on_log = on_log
        self._nodes: dict[int, tuple[str, str | None]] = {}
        self._ends: dict[int, PeerLoss | None] = {}
        self._is_closed = False
        self._changed = threading.Condition()

    def start(self) -> None:
        """Begin to follow."""
        for peer in self._peers:
            threading.Thread(target=self._run, args=(peer,), name=f"peer-{peer.rank}", daemon=True).start()

    def wait_until_placed(self) -> tuple[str, str] | None:
        """Wait for all peers; return a node that must not run the attempt, and why, None if there is none."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_closed or all(p.rank in self._nodes or p.rank in self._ends for p in self._peers)
            )
            return next(((node, why) for node, why in self._nodes.values() if why is not None), None)

    def find_cause(self, seconds: float) -> PeerLoss | None:
        """Return the loss for which the attempt ends; None if no peer is lost.

        The first cause may be reported after its consequences: wait for it for at most `seconds`.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_closed or self._cause() is not None or len(self._ends) == len(self._peers), seconds
            )
            cause, running = self._cause(), [peer for peer in self._peers if peer.rank not in self._ends]
            if cause is not None or self._is_closed:
                return cause
        for peer in running:
            node = self._nodes.get(peer.rank)
            if node is not None and peer.is_node_lost(node[0]):
                return _lost_node(node[0])
        with self._changed:
            return self._cause() or next((loss for loss in self._ends.values() if loss is not None), None)

    def close(self) -> None:
        """Follow no longer."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _cause(self) -> PeerLoss | None:
        return next((loss for loss in self._ends.values() if loss is not None and not loss.follows), None)

    def _run(self, peer: Peer) -> None:
        try:
            end = self._follow(peer)
        except PeerDeadError as error:
            end = self._loss_of(peer, str(error))
        except Exception as error:
            _logger.exception("replica %s cannot be followed", peer.rank)
            end = PeerLoss("error", f"replica {peer.rank} cannot be followed ({type(error).__name__})")
        with self._changed:
            is_first = end is not None and not any(self._ends.values()) and not self._is_closed
            self._ends[peer.rank] = end
            self._changed.notify_all()
        if is_first:
            self._on_loss()

    def _follow(self, peer: Peer) -> PeerLoss | None:
        """Follow a peer to its end; return its loss, None if it has done its part."""
        if not self._wait_for_node(peer):
            return None
        after, answered_at, patience = 0, time.monotonic(), max(STARTING_SECONDS, self._lease_seconds)
        failed: Failed | None = None
        while not self._is_closed:
            try:
                is_alive, kept = peer.receive(after, after, POLL_SECONDS)
            except PeerSilentError:
                is_alive, kept = False, []
                time.sleep(RETRY_SECONDS)
            now = time.monotonic()
            if is_alive or kept:
                answered_at = now
            elif now - answered_at > patience:
                return self._silent(peer)
            for number, kind, text in kept:
                after, patience = number, self._lease_seconds
                if kind == EXIT:
                    return _loss_by_exit(peer.rank, from_text(text.encode()), failed)
                message = decode(text.encode())
                if isinstance(message, Log):
                    self._on_log(message)
                failed = message if isinstance(message, Failed) else failed
        return None

    def _wait_for_node(self, peer: Peer) -> bool:
        """Wait until the actor of a peer runs; return whether its node may run the attempt."""
        while not self._is_closed:
            try:
                node, unusable = peer.place()
            except PeerSilentError:
                time.sleep(RETRY_SECONDS)
                continue
            with self._changed:
                self._nodes[peer.rank] = node, unusable
                self._changed.notify_all()
            return unusable is None
        return False

    def _loss_of(self, peer: Peer, detail: str) -> PeerLoss:
        node = self._nodes.get(peer.rank)
        if node is not None and peer.is_node_lost(node[0]):
            return _lost_node(node[0])
        return PeerLoss("killed", f"the actor of replica {peer.rank} was killed ({detail})")

    def _silent(self, peer: Peer) -> PeerLoss:
        node, _ = self._nodes[peer.rank]
        detail = f"no heartbeat of replica {peer.rank}, on the Ray node {node[:8]}, within the lease"
        return PeerLoss("node_lost", detail, node=node)


def _lost_node(node: str) -> PeerLoss:
    return PeerLoss(
        "node_lost", f"the Ray node {node[:8]} of a replica was lost; the fit resumes on other nodes", node=node
    )


def _loss_by_exit(rank: int, ended: Ended, failed: Failed | None) -> PeerLoss | None:
    if ended.reason == "finished":
        return None if failed is None else PeerLoss("finished", ended.detail, failed)
    return PeerLoss(
        ended.reason, f"replica {rank}: {ended.detail}", node=ended.lost_node, follows=ended.reason == "node_lost"
    )
