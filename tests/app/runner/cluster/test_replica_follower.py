"""Following an attempt whose replicas have an actor each: what becomes of its placement group."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.messages import encode
from app.domain.replicas import placement_of
from app.runner.cluster.follower import Nodes
from app.runner.cluster.host import EXIT
from app.runner.cluster.protocol import Ended, Event, Start, StartReplicas, from_text, to_text
from app.runner.cluster.replica_follower import ReplicaFollower
from app.runner.cluster.runner import order_of
from tests.support.patience import PATIENCE

from .conftest import TOKEN, Assign, FakeRay
from .test_follower import Actor, a_log, ends, numbered, patient, until

__all__ = ["patient"]


def following(
    ray: FakeRay, tmp_path: Path, act: Callable[[ReplicaFollower, Actor, list[Event]], Awaitable[None]]
) -> Nodes:
    """Follow the actor of rank 0, which is in a placement group, while `act` runs; return the nodes."""
    events: list[Event] = []
    nodes = Nodes()

    async def run() -> None:
        actor = Actor(a_log(1))
        ray.on_kill = actor.die
        ray.groups = {TOKEN: "CREATED", "of another attempt": "CREATED"}
        followed = ReplicaFollower(TOKEN, str(tmp_path / "staging"), 0, nodes, events.append)
        followed.adopt(actor)
        await until(lambda: numbered(events) == [1])
        await act(followed, actor, events)
        followed.cancel()

    asyncio.run(asyncio.wait_for(run(), PATIENCE))
    return nodes


@pytest.mark.parametrize("end", [ReplicaFollower.kill, ReplicaFollower.forget])
def test_the_group_is_removed_with_its_first_actor(
    ray: FakeRay, tmp_path: Path, end: Callable[[ReplicaFollower], Awaitable[None]]
) -> None:
    async def act(followed: ReplicaFollower, actor: Actor, _events: list[Event]) -> None:
        await end(followed)
        assert actor.asked == ["close", "kill"]

    following(ray, tmp_path, act)
    assert ray.groups == {TOKEN: "REMOVED", "of another attempt": "CREATED"}


def test_a_group_that_is_gone_already_is_no_fault(ray: FakeRay, tmp_path: Path) -> None:
    async def act(followed: ReplicaFollower, _actor: Actor, _events: list[Event]) -> None:
        ray.groups = {}
        await followed.forget()

    following(ray, tmp_path, act)


@pytest.mark.parametrize(("lost", "avoided"), [(None, {}), ("node-2", {"ray.io/node-id": "!in(node-2)"})])
def test_the_lost_node_of_a_replica_is_avoided(
    ray: FakeRay, tmp_path: Path, lost: str | None, avoided: dict[str, str]
) -> None:
    ended = Ended(TOKEN, "node_lost", "a node was lost", lost_node=lost)

    async def act(_followed: ReplicaFollower, actor: Actor, events: list[Event]) -> None:
        actor.report((2, EXIT, to_text(ended).decode()))
        await until(lambda: ends(events) == [ended])

    assert following(ray, tmp_path, act).selector() == avoided


def test_an_order_for_replicas_keeps_its_kind_and_says_what_it_needs() -> None:
    order = StartReplicas(TOKEN, "{}", "staging", 2, 1024, 3, "SPREAD")
    assert from_text(to_text(order)) == order
    assert order.needs == "Ray nodes with 2 CPUs and 1024 bytes free for each of 3 replicas"
    assert Start(TOKEN, "{}", "staging", 2, None).needs == "a Ray node with 2 CPUs free"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"placement": "pack"}, StartReplicas(TOKEN, "", "", 1, 1024, 3, "PACK")),
        ({"placement": "spread"}, StartReplicas(TOKEN, "", "", 1, 1024, 3, "SPREAD")),
        ({"placement": "spread", "memory_bytes": None}, StartReplicas(TOKEN, "", "", 1, None, 3, "SPREAD")),
        ({"placement": "node"}, Start(TOKEN, "", "", 3, 3072)),
        ({"placement": "node", "memory_bytes": None}, Start(TOKEN, "", "", 3, None)),
    ],
)
def test_replicas_on_several_nodes_take_of_each_what_one_needs(
    assign: Assign, fields: dict[str, Any], expected: Start
) -> None:
    assignment = assign(**{"replicas": 3, "memory_bytes": 1024, **fields})
    assert order_of(assignment) == replace(expected, assignment=encode(assignment).decode(), staging=assignment.staging)


@pytest.mark.parametrize(
    ("resources", "placement"),
    [
        (None, "node"),
        ({"placement": "spread"}, "node"),
        ({"replicas": 1, "placement": "spread"}, "node"),
        ({"replicas": 2}, "node"),
        ({"replicas": 2, "placement": None}, "node"),
        ({"replicas": 2, "placement": "pack"}, "pack"),
    ],
)
def test_a_fit_without_replicas_is_on_one_node(resources: dict[str, Any] | None, placement: str) -> None:
    assert placement_of({"resources": resources}) == placement
