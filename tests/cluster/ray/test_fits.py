"""Fits on a Ray cluster: the bits of the local runner, whatever is killed."""

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil  # type: ignore[import-untyped]  # it has no types
import pytest

from tests.app.test_storage import FIT, created
from tests.support import ray_cluster
from tests.support.patience import LONGEST_WAIT, PATIENCE
from tests.support.ray_cluster import RayCluster
from tests.support.server import StartServer, serving

pytestmark = pytest.mark.skipif(bool(ray_cluster.MISSING), reason=ray_cluster.MISSING)

STEPS = 400
REQUEST: dict[str, Any] = {
    **FIT, "steps": STEPS, "seed": 7, "record": {"every_steps": 4},
    # A node keeps 32 checkpoints for a server that is away: where the disk is fast, the best ones would be more, and
    # so would those of epochs.
    "checkpoint": {"every_steps": 50, "every_epochs": None, "keep_last": 2, "keep_best": False},
}  # fmt: skip
HELD = 230
SLOW = 0.5
"""Seconds a step that a fit takes until it is paused or cancelled."""


def eventually(what: str, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 2 * PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def ended(http: httpx.Client, fit_id: str) -> dict[str, Any]:
    fit: dict[str, Any] = http.get(f"/v1/fits/{fit_id}", params={"wait": LONGEST_WAIT}).json()
    while fit["state"] in ("queued", "starting", "running", "interrupted"):
        fit = http.get(f"/v1/fits/{fit_id}", params={"wait": LONGEST_WAIT}).json()
    return fit


def outcome(http: httpx.Client, fit_id: str) -> tuple[Any, bytes]:
    """Return all rows and the last parameters."""
    fit = ended(http, fit_id)
    assert (fit["state"], fit["error"]) == ("succeeded", None)
    rows = http.get(f"/v1/fits/{fit_id}/metrics", params={"limit": 1000}).json()["data"]
    checkpoint = http.get(f"/v1/fits/{fit_id}/checkpoints/latest").json()["id"]
    return rows, http.get(f"/v1/checkpoints/{checkpoint}/content", params={"only": "parameters"}).content


def reaches(http: httpx.Client, fit_id: str, step: int) -> None:
    eventually(f"step {step} was not reached", lambda: http.get(f"/v1/fits/{fit_id}").json()["step"] >= step)


def checkpointed(http: httpx.Client, fit_id: str) -> None:
    latest = f"/v1/fits/{fit_id}/checkpoints/latest"
    eventually("no checkpoint was stored", lambda: http.get(latest).status_code == 200)


def only_actor(cluster: RayCluster, kind: re.Pattern[str] = ray_cluster.ACTOR) -> psutil.Process:
    """Return the process of the attempt that runs, once those of earlier ones have ended."""
    eventually("actors of earlier attempts stay", lambda: len(cluster.actors(kind)) == 1)
    return cluster.actors(kind)[0]


def nothing_stays(cluster: RayCluster) -> None:
    """Wait until no actor is left, nor what attempts have written on the node."""
    eventually("an actor stays after its fit", lambda: not cluster.actors())
    assert [*(cluster.folder / "node" / "attempts").iterdir()] == []


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, bytes]:
    """What the fit comes to on one machine."""
    with serving(tmp_path_factory.mktemp("local") / "data") as local:
        return outcome(local.http, created(local.http.post("/v1/fits", json=REQUEST))["id"])


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory, cluster: RayCluster) -> Iterator[httpx.Client]:
    """Run a server for all tests that do not end it, nor a node."""
    with serving(tmp_path_factory.mktemp("server") / "data", environment=cluster.environment) as server:
        yield server.http


def test_a_fit_on_ray_has_the_bits_of_one_in_a_local_process(
    http: httpx.Client, cluster: RayCluster, expected: tuple[Any, bytes]
) -> None:
    fit = created(http.post("/v1/fits", json=REQUEST))
    assert outcome(http, fit["id"]) == expected
    assert len(expected[0]) == STEPS // 4
    kept = http.get(f"/v1/fits/{fit['id']}/checkpoints").json()["data"]
    assert kept[0]["step"] == STEPS
    nothing_stays(cluster)


def test_a_fit_goes_on_while_its_server_does_not(
    start_server: StartServer, cluster: RayCluster, expected: tuple[Any, bytes]
) -> None:
    server = start_server(environment=cluster.environment)
    with cluster.gate.holding(HELD):
        fit_id = created(server.http.post("/v1/fits", json=REQUEST))["id"]
        reaches(server.http, fit_id, HELD)
        actor = only_actor(cluster)
        server.stop(signal.SIGKILL)
    # It trains to its end without a server; then it is asked for what is not stored yet.
    checkpoints = cluster.folder / "node" / "attempts"
    eventually("the fit does not go on", lambda: any(f"step-{STEPS}-" in path.name for path in checkpoints.glob("*/*")))
    assert actor.is_running()
    again = start_server(environment=cluster.environment).http
    assert outcome(again, fit_id) == expected
    fit = again.get(f"/v1/fits/{fit_id}").json()
    assert (fit["attempt"], fit["bit_exact"]) == (1, True)
    kept = again.get(f"/v1/fits/{fit_id}/checkpoints").json()["data"]
    assert kept[0]["step"] == STEPS
    nothing_stays(cluster)


@pytest.mark.rare  # so does one that is killed
def test_a_server_that_stops_leaves_fits_running(
    start_server: StartServer, cluster: RayCluster, expected: tuple[Any, bytes]
) -> None:
    server = start_server(environment=cluster.environment)
    with cluster.gate.holding(HELD):
        fit_id = created(server.http.post("/v1/fits", json=REQUEST))["id"]
        reaches(server.http, fit_id, HELD)
        assert server.stop() == 0
        again = start_server(environment=cluster.environment).http
        assert again.get(f"/v1/fits/{fit_id}").json()["state"] == "running"
    assert outcome(again, fit_id) == expected
    assert again.get(f"/v1/fits/{fit_id}").json()["attempt"] == 1


@pytest.mark.rare  # so it is in the demo
def test_a_killed_actor_is_followed_by_an_attempt_from_the_last_checkpoint(
    http: httpx.Client, cluster: RayCluster, expected: tuple[Any, bytes]
) -> None:
    with cluster.gate.holding(HELD):
        fit_id = created(http.post("/v1/fits", json=REQUEST))["id"]
        reaches(http, fit_id, HELD)
        checkpointed(http, fit_id)
        for actor in cluster.actors():
            actor.send_signal(signal.SIGKILL)
        eventually("no further attempt", lambda: http.get(f"/v1/fits/{fit_id}").json()["attempt"] == 2)
    assert outcome(http, fit_id) == expected
    outcomes = [attempt["outcome"] for attempt in http.get(f"/v1/fits/{fit_id}").json()["attempts"]]
    assert outcomes == ["killed", "succeeded"]


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(RayCluster.kill_node, id="killed", marks=pytest.mark.rare),
        pytest.param(RayCluster.freeze_node, id="silent"),
    ],
)
def test_a_lost_node_is_noticed_and_another_one_goes_on(
    start_server: StartServer, cluster: RayCluster, expected: tuple[Any, bytes], loss: Callable[[RayCluster, int], None]
) -> None:
    http = start_server(environment=cluster.environment, lease_seconds=5).http
    with cluster.gate.holding(HELD):
        fit_id = created(http.post("/v1/fits", json=REQUEST))["id"]
        reaches(http, fit_id, HELD)
        checkpointed(http, fit_id)
        node = os.getpgid(only_actor(cluster).ppid())
        loss(cluster, node)
        cluster.add_node()
        eventually("no further attempt", lambda: http.get(f"/v1/fits/{fit_id}").json()["attempt"] > 1)
    assert outcome(http, fit_id) == expected
    logged = http.get(f"/v1/fits/{fit_id}/events", headers={"Accept": "text/event-stream"}).text
    assert "was lost; the fit resumes on another one" in logged
    if loss is RayCluster.freeze_node:
        cluster.end_frozen_node(node)


def test_a_fit_is_paused_resumed_extended_and_cancelled(http: httpx.Client, cluster: RayCluster) -> None:
    with cluster.gate.slowing(SLOW):
        fit_id = created(http.post("/v1/fits", json=REQUEST))["id"]
        reaches(http, fit_id, 2)
        http.post(f"/v1/fits/{fit_id}:pause").raise_for_status()
        eventually("not paused", lambda: http.get(f"/v1/fits/{fit_id}").json()["state"] == "paused")
        at = http.get(f"/v1/fits/{fit_id}").json()["step"]
        assert http.get(f"/v1/fits/{fit_id}/checkpoints/latest").json()["step"] == at
        http.post(f"/v1/fits/{fit_id}:resume").raise_for_status()
    assert ended(http, fit_id)["state"] == "succeeded"
    created(http.post(f"/v1/fits/{fit_id}:extend", json={"steps": 50}))
    assert ended(http, fit_id)["step"] == STEPS + 50
    with cluster.gate.slowing(SLOW):
        cancelled = created(http.post("/v1/fits", json={**REQUEST, "seed": 8, "checkpoint": {"every_steps": 2}}))["id"]
        checkpointed(http, cancelled)
        http.post(f"/v1/fits/{cancelled}:cancel").raise_for_status()
        assert ended(http, cancelled)["state"] == "cancelled"
    assert http.get(f"/v1/fits/{cancelled}/checkpoints/latest").status_code == 200


@pytest.mark.rare  # so they do in the demo
def test_inputs_come_from_object_storage_through_the_copies_of_the_node(
    start_server: StartServer, cluster: RayCluster, tmp_path: Path, expected: tuple[Any, bytes]
) -> None:
    pytest.importorskip("obstore")
    objects = tmp_path / "objects"
    objects.mkdir()
    http = start_server(environment=cluster.environment, blob_url=f"file://{objects}").http
    fit_id = created(http.post("/v1/fits", json=REQUEST))["id"]
    assert outcome(http, fit_id) == expected
    assert [*(cluster.folder / "node" / "cache").glob("sha256/*/*")]
    assert [*objects.glob("**/sha256/*/*")]
