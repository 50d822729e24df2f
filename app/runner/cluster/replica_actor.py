"""The actor of rank 0 of an attempt whose replicas have an actor each. Only Ray's own processes make one.

It makes the actors of the others, in the bundles of its own placement group: they end with it, if not before.
"""

import secrets
import socket
from contextlib import suppress
from typing import Any

from app.domain.messages import Assignment, decode, encode
from app.domain.replicas import ReplicaShare
from app.domain.runtime import Runtime
from app.runner.cluster.actor import AttemptActor
from app.runner.cluster.connection import is_node_lost
from app.runner.cluster.peers import POLL_SECONDS, PeerDeadError, PeerSilentError
from app.runner.cluster.replicated_host import ReplicatedHost, share_of

ANSWER_SECONDS = 3 * POLL_SECONDS
"""An actor that has not answered for so long is silent."""

SECRET_BYTES = 32
CLOSE_SECONDS = 2.0
"""How long peers may take to end their processes and to delete their files."""


class ReplicatedActor(ReplicatedHost):
    """An attempt whose replicas have an actor each, to be made in the first bundle of a placement group."""

    def __init__(self, assignment: str, terms: dict[str, Any]) -> None:
        """Make the actors of the other ranks, and begin."""
        import ray

        decoded = decode(assignment.encode())
        assert isinstance(decoded, Assignment)
        host = ray.util.get_node_ip_address()
        listener = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        first = ReplicaShare(0, decoded.replicas, host, listener.getsockname()[1], secrets.token_hex(SECRET_BYTES))
        self._others = [
            RayPeer(rank, _make_actor(decoded, ReplicaShare.from_json({**first.to_json(), "rank": rank}), terms))
            for rank in range(1, decoded.replicas)
        ]
        super().__init__(share_of(decoded, first), terms, self._others, listener)

    def place(self) -> tuple[str, str | None]:
        """Return the id of the node, and why it must not run the attempt, None if it does; or those of a peer."""
        import ray

        unusable = None if self.unusable is not None else self.find_unusable()
        return unusable or (ray.get_runtime_context().get_node_id(), self.unusable)

    def close(self) -> None:
        """End all replicas, and delete what they have written."""
        closing = [peer.begin_close() for peer in self._others]
        super().close()
        for peer in self._others:
            peer.end(closing)


class RayPeer:
    """The actor of another rank (see `peers.Peer`)."""

    def __init__(self, rank: int, actor: Any) -> None:
        self.rank = rank
        self._actor = actor

    def place(self) -> tuple[str, str | None]:
        placed: tuple[str, str | None] = _answer(self._actor.place.remote())
        return placed

    def receive(self, acknowledged: int, after: int, wait: float) -> tuple[bool, list[tuple[int, str, str]]]:
        received: tuple[bool, list[tuple[int, str, str]]] = _answer(
            self._actor.receive.remote(acknowledged, after, wait)
        )
        return received

    def is_node_lost(self, node: str) -> bool:
        return is_node_lost(node)

    def begin_close(self) -> Any:
        """Have it end its process and delete its files; return the call."""
        return self._actor.close.remote()

    def end(self, closing: list[Any]) -> None:
        """Kill the actor, when these calls are answered, or after CLOSE_SECONDS."""
        import ray

        with suppress(Exception):
            ray.wait(closing, num_returns=len(closing), timeout=CLOSE_SECONDS)
        with suppress(Exception):
            ray.kill(self._actor, no_restart=True)


def _answer(call: Any) -> Any:
    """Return what an actor answers; PeerSilentError or PeerDeadError if it does not."""
    import ray
    from ray.exceptions import ActorUnavailableError, GetTimeoutError, RayActorError

    try:
        return ray.get(call, timeout=ANSWER_SECONDS)
    except (GetTimeoutError, ActorUnavailableError) as error:
        raise PeerSilentError from error
    except RayActorError as error:
        raise PeerDeadError(" ".join(str(error).split())[:200]) from error


def _make_actor(assignment: Assignment, share: ReplicaShare, terms: dict[str, Any]) -> Any:
    """Return a new actor for a rank, in the bundle of its number; it ends with the actor that makes it."""
    import ray
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    group = ray.util.get_current_placement_group()
    assert group is not None
    memory = {} if assignment.memory_bytes is None else {"memory": assignment.memory_bytes}
    actor: Any = ray.remote(AttemptActor)
    return actor.options(
        max_restarts=0,
        max_task_retries=0,
        max_concurrency=4,
        num_cpus=Runtime.from_json(assignment.runtime).threads,
        scheduling_strategy=PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=share.rank),
        **memory,
    ).remote(encode(share_of(assignment, share)).decode(), terms)
