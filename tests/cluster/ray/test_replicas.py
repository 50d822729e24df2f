"""Replicas on nodes of their own: the bits of replicas on one machine, wherever they are and whatever is killed."""

import importlib.util
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import psutil  # type: ignore[import-untyped]  # it has no types
import pytest

from tests.app.test_storage import created
from tests.support import ray_cluster
from tests.support.ray_cluster import RayCluster
from tests.support.server import StartServer

from .test_fits import HELD, REQUEST, SLOW, checkpointed, ended, eventually, outcome, reaches

pytestmark = pytest.mark.skipif(bool(ray_cluster.MISSING), reason=ray_cluster.MISSING)
if not importlib.util.find_spec("xoscar"):
    pytestmark = pytest.mark.skip("gloo is not installed: pip install 'adjoint-server[cluster]'")


def replicated(placement: str, replicas: int = 2) -> dict[str, Any]:
    """Return the request of a fit whose replicas are placed so, with a thread each."""
    return {**REQUEST, "resources": {"replicas": replicas, "threads": 1, "placement": placement}}


@pytest.fixture(scope="module")
def nodes() -> Iterator[RayCluster]:
    """Run a cluster with two nodes, each of which has room for one replica only."""
    if ray_cluster.MISSING:
        pytest.skip(ray_cluster.MISSING)
    with ray_cluster.ray_cluster() as running:
        for _ in range(2):
            running.add_node(cpus=1)
        yield running


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, bytes]:
    """What the fit comes to with replicas in processes of one machine."""
    from tests.support.server import serving

    with serving(tmp_path_factory.mktemp("local") / "data") as local:
        return outcome(local.http, created(local.http.post("/v1/fits", json=replicated("spread")))["id"])


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory, nodes: RayCluster) -> Iterator[httpx.Client]:
    """Run a server for all tests that do not end it."""
    from tests.support.server import serving

    with serving(tmp_path_factory.mktemp("server") / "data", environment=nodes.environment) as server:
        yield server.http


def groups_of(cluster: RayCluster) -> set[int]:
    """Return the process groups of the nodes on which replicas run."""
    return {os.getpgid(actor.ppid()) for actor in cluster.actors()}


@pytest.mark.parametrize("placement", [pytest.param("pack", marks=pytest.mark.rare), "spread"])
def test_replicas_on_two_nodes_have_the_bits_of_replicas_on_one_machine(
    http: httpx.Client, nodes: RayCluster, expected: tuple[Any, bytes], placement: str
) -> None:
    with nodes.gate.holding(HELD):
        fit_id = created(http.post("/v1/fits", json=replicated(placement)))["id"]
        reaches(http, fit_id, HELD)
        assert len(groups_of(nodes)) == 2
    assert outcome(http, fit_id) == expected
    assert http.get(f"/v1/fits/{fit_id}").json()["attempt"] == 1
    eventually("an actor stays after its fit", lambda: not nodes.actors())


def only_nodes_were_lost(http: httpx.Client, fit_id: str) -> None:
    """Check that no attempt has ended by a fault of the fit: a lease may end before the loss of a node is known."""
    *lost, last = (each["outcome"] for each in http.get(f"/v1/fits/{fit_id}").json()["attempts"])
    assert {*lost} <= {"node_lost", "stalled"}
    assert last == "succeeded"


def kill_first(cluster: RayCluster) -> None:
    for actor in cluster.actors():
        if "ReplicatedActor" in "".join(actor.cmdline()):
            actor.send_signal(signal.SIGKILL)


def kill_other(cluster: RayCluster) -> None:
    for actor in cluster.actors():
        if "ReplicatedActor" not in "".join(actor.cmdline()):
            actor.send_signal(signal.SIGKILL)


def crash_other_process(cluster: RayCluster) -> None:
    (actor,) = [each for each in cluster.actors() if "ReplicatedActor" not in "".join(each.cmdline())]
    for process in workers_of(actor):
        process.send_signal(signal.SIGSEGV)


def workers_of(actor: psutil.Process) -> list[psutil.Process]:
    """Return the processes that the fork server of an actor has forked."""
    return [worker for server in actor.children() for worker in server.children()]


@pytest.mark.parametrize(
    ("loss", "outcomes"),
    [
        pytest.param(kill_first, "killed", id="first actor", marks=pytest.mark.rare),
        pytest.param(kill_other, "killed", id="other actor"),
        pytest.param(crash_other_process, "error", id="other process", marks=pytest.mark.rare),
    ],
)
def test_the_loss_of_any_replica_ends_the_attempt_and_the_next_one_has_the_same_bits(
    http: httpx.Client,
    nodes: RayCluster,
    expected: tuple[Any, bytes],
    loss: Callable[[RayCluster], None],
    outcomes: str,
) -> None:
    with nodes.gate.holding(HELD):
        fit_id = created(http.post("/v1/fits", json=replicated("spread")))["id"]
        reaches(http, fit_id, HELD)
        checkpointed(http, fit_id)
        loss(nodes)
        eventually("no further attempt", lambda: http.get(f"/v1/fits/{fit_id}").json()["attempt"] == 2)
    assert outcome(http, fit_id) == expected
    first, last = (each["outcome"] for each in http.get(f"/v1/fits/{fit_id}").json()["attempts"])
    # How another replica has ended is not awaited for ever.
    assert first in ({outcomes} if loss is kill_first else {outcomes, "node_lost"})
    assert last == "succeeded"


@pytest.mark.rare  # as fits are
def test_replicas_are_paused_resumed_and_cancelled(http: httpx.Client, nodes: RayCluster) -> None:
    with nodes.gate.slowing(SLOW):
        fit_id = created(http.post("/v1/fits", json=replicated("pack")))["id"]
        reaches(http, fit_id, 2)
        http.post(f"/v1/fits/{fit_id}:pause").raise_for_status()
        eventually("not paused", lambda: http.get(f"/v1/fits/{fit_id}").json()["state"] == "paused")
        http.post(f"/v1/fits/{fit_id}:resume").raise_for_status()
        at = http.get(f"/v1/fits/{fit_id}").json()["step"]
        reaches(http, fit_id, at + 1)
        http.post(f"/v1/fits/{fit_id}:cancel").raise_for_status()
        assert ended(http, fit_id)["state"] == "cancelled"
    eventually("an actor stays after its fit", lambda: not nodes.actors())


@pytest.mark.rare  # as fits do
def test_replicas_go_on_when_their_server_is_killed(
    start_server: StartServer, nodes: RayCluster, expected: tuple[Any, bytes]
) -> None:
    server = start_server(environment=nodes.environment)
    with nodes.gate.holding(HELD):
        fit_id = created(server.http.post("/v1/fits", json=replicated("spread")))["id"]
        reaches(server.http, fit_id, HELD)
        actors = nodes.actors()
        server.stop(signal.SIGKILL)
        again = start_server(environment=nodes.environment).http
    assert outcome(again, fit_id) == expected
    assert again.get(f"/v1/fits/{fit_id}").json()["attempt"] == 1
    assert len(actors) == 2


@pytest.mark.rare  # so is one behind a link that is cut: test_two_hosts.py
def test_a_silent_node_is_given_up_and_its_replica_runs_elsewhere(
    start_server: StartServer, nodes: RayCluster, expected: tuple[Any, bytes]
) -> None:
    http = start_server(environment=nodes.environment, lease_seconds=5).http
    with nodes.gate.holding(HELD):
        fit_id = created(http.post("/v1/fits", json=replicated("spread")))["id"]
        reaches(http, fit_id, HELD)
        checkpointed(http, fit_id)
        (other,) = [each for each in nodes.actors() if "ReplicatedActor" not in "".join(each.cmdline())]
        nodes.freeze_node(os.getpgid(other.ppid()))
        nodes.add_node(cpus=1)
        eventually("no further attempt", lambda: http.get(f"/v1/fits/{fit_id}").json()["attempt"] > 1)
    assert outcome(http, fit_id) == expected
    only_nodes_were_lost(http, fit_id)
