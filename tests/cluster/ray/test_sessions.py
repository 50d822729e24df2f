"""Sessions on a Ray cluster: the answers and the bits of a local process, whatever is killed."""

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil  # type: ignore[import-untyped]  # it has no types
import pytest

from tests.support import postgres, ray_cluster
from tests.support.patience import PATIENCE
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.ray_cluster import SESSION_ACTOR, RayCluster
from tests.support.server import StartServer, serving

from .test_fits import eventually, only_actor

pytestmark = pytest.mark.skipif(bool(ray_cluster.MISSING), reason=ray_cluster.MISSING)

UNIFORM = {"kind": "uniform", "low": -0.1, "high": 0.1}
UNITS = 70_000
"""So many that all parameters are an answer of more than 1 MiB, which comes as a file."""

GRAPH: dict[str, Any] = {
    "inputs": {"x": ["batch", 4]},
    "parameters": {"a": {"shape": [4, UNITS], "init": UNIFORM}, "b": {"shape": [UNITS], "init": UNIFORM}},
    "program": "loss = mean((tanh(x @ a) @ b - 1.0) ** 2)",
}
SECRET = "the-secret-of-these-servers"
LAST = 8
SAFETENSORS = {"Accept": "application/vnd.safetensors"}


def begun(http: httpx.Client, **fields: Any) -> str:
    made = http.post("/v1/sessions", json={"graph": GRAPH, "optimizer": "adam", "seed": 3, **fields})
    session_id: str = made.raise_for_status().json()["id"]
    return session_id


def send(http: httpx.Client, session_id: str, verb: str, body: dict[str, Any]) -> dict[str, Any]:
    """Send a step, again while its server or its node is gone or has no room, and return its answer."""
    give_up_at = time.monotonic() + 2 * PATIENCE
    while True:
        answer = http.post(f"/v1/sessions/{session_id}:{verb}", json=body, timeout=2 * PATIENCE)
        if answer.status_code not in (429, 503) or time.monotonic() > give_up_at:
            return {"status": answer.status_code, **answer.json()}
        time.sleep(0.1)


def step(http: httpx.Client, session_id: str, seq: int) -> dict[str, Any]:
    """Accumulate gradients, or at every second number take a step of the optimizer."""
    if seq % 2 == 0:
        return send(http, session_id, "optim_step", {"seq": seq})
    return send(http, session_id, "forward_backward", {"seq": seq, "inputs": {"x": [[0.1 * seq, 1.0, -1.0, 0.5]]}})


def parameters(http: httpx.Client, session_id: str) -> bytes:
    answer = http.get(f"/v1/sessions/{session_id}/parameters", headers=SAFETENSORS, timeout=2 * PATIENCE)
    return answer.raise_for_status().content


def nothing_stays(cluster: RayCluster, data_dir: Path) -> None:
    eventually("an actor stays after its session", lambda: not cluster.actors(SESSION_ACTOR))
    eventually("its files stay on the node", lambda: [*(cluster.folder / "node" / "attempts").iterdir()] == [])
    assert [*(data_dir / "sessions").iterdir()] == []


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], bytes, str]:
    """What a session of one machine answers: its steps, its parameters, and the digest of its checkpoint."""
    with serving(tmp_path_factory.mktemp("local") / "data") as local:
        session_id = begun(local.http)
        answers = [step(local.http, session_id, seq) for seq in range(1, LAST + 1)]
        assert {answer["status"] for answer in answers} == {200}
        whole = parameters(local.http, session_id)
        saved = send(local.http, session_id, "save", {"seq": LAST + 1})
        return answers, whole, saved["digest"]


def test_a_session_on_ray_has_the_bits_of_one_in_a_local_process(
    start_server: StartServer, cluster: RayCluster, expected: tuple[list[dict[str, Any]], bytes, str]
) -> None:
    answers, whole, digest = expected
    server = start_server(environment=cluster.environment)
    http, session_id = server.http, begun(server.http)
    assert [step(http, session_id, seq) for seq in (1, 2, 3)] == answers[:3]
    actor = only_actor(cluster, SESSION_ACTOR)
    actor.send_signal(signal.SIGKILL)
    assert step(http, session_id, 4) == answers[3]
    assert step(http, session_id, 3) == answers[2]  # of before: from its log
    http.post(f"/v1/sessions/{session_id}:pause", timeout=PATIENCE).raise_for_status()
    eventually("an actor stays in a pause", lambda: not cluster.actors(SESSION_ACTOR))
    http.post(f"/v1/sessions/{session_id}:resume").raise_for_status()
    assert [step(http, session_id, seq) for seq in range(5, LAST + 1)] == answers[4:]
    assert parameters(http, session_id) == whole
    assert send(http, session_id, "save", {"seq": LAST + 1})["digest"] == digest
    http.delete(f"/v1/sessions/{session_id}", timeout=PATIENCE).raise_for_status()
    nothing_stays(cluster, server.data_dir)
    assert server.tracebacks() == []


@pytest.mark.rare  # as fits do, and as sessions when their actor is killed
def test_a_session_goes_on_when_its_node_is_lost(
    start_server: StartServer, cluster: RayCluster, expected: tuple[list[dict[str, Any]], bytes, str]
) -> None:
    answers, whole, _ = expected
    http = start_server(environment=cluster.environment, lease_seconds=5).http
    session_id = begun(http)
    assert [step(http, session_id, seq) for seq in (1, 2, 3)] == answers[:3]
    actor = only_actor(cluster, SESSION_ACTOR)
    node = os.getpgid(actor.ppid())
    cluster.freeze_node(node)
    cluster.add_node()
    assert [step(http, session_id, seq) for seq in range(3, LAST + 1)] == answers[2:]
    assert parameters(http, session_id) == whole
    cluster.end_frozen_node(node)


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    if not postgres.AVAILABLE:
        pytest.skip(postgres.MISSING)
    with postgres_server() as server:
        yield server


@pytest.mark.parametrize(
    "kind",
    [pytest.param(signal.SIGKILL, id="killed"), pytest.param(signal.SIGSTOP, id="stopped", marks=pytest.mark.rare)],
)
def test_steps_reach_a_session_from_every_server_and_another_one_takes_it_over(
    start_server: StartServer,
    cluster: RayCluster,
    database: PostgresServer,
    expected: tuple[list[dict[str, Any]], bytes, str],
    kind: signal.Signals,
) -> None:
    answers, whole, _ = expected
    settings = {"database_url": database.create_database(), "cluster_secret": SECRET}
    first, other = (start_server(environment=cluster.environment, **settings) for _ in range(2))
    session_id = begun(other.http)
    assert [step(server.http, session_id, seq) for seq, server in ((1, first), (2, other))] == answers[:2]
    actor = only_actor(cluster, SESSION_ACTOR)
    first.process.send_signal(kind)
    assert step(other.http, session_id, 3) == answers[2]
    eventually("the actor of before goes on", lambda: not _is_running(actor))
    only_actor(cluster, SESSION_ACTOR)
    if kind is signal.SIGSTOP:
        first.process.send_signal(signal.SIGCONT)
        assert step(first.http, session_id, 4) == answers[3]
    assert [step(other.http, session_id, seq) for seq in range(4, LAST + 1)] == answers[3:]
    assert parameters(other.http, session_id) == whole
    other.http.delete(f"/v1/sessions/{session_id}", timeout=PATIENCE).raise_for_status()
    nothing_stays(cluster, other.data_dir)
    assert other.tracebacks() == []


@pytest.mark.rare  # as local processes do, and as with a shared folder
@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_another_server_takes_a_session_over_without_its_folder(
    start_server: StartServer,
    cluster: RayCluster,
    database: PostgresServer,
    expected: tuple[list[dict[str, Any]], bytes, str],
    tmp_path: Path,
    kind: signal.Signals,
) -> None:
    pytest.importorskip("obstore")
    answers, whole, digest = expected
    (tmp_path / "objects").mkdir()
    settings = {"database_url": database.create_database(), "cluster_secret": SECRET}
    settings["blob_url"] = f"file://{tmp_path}/objects"
    first, other = (
        start_server(environment=cluster.environment, **settings, data_dir=tmp_path / name)
        for name in ("first", "other")
    )
    session_id = begun(other.http)
    assert [step(server.http, session_id, seq) for seq, server in ((1, first), (2, other))] == answers[:2]
    first.http.post(f"/v1/sessions/{session_id}:pause", timeout=PATIENCE).raise_for_status()  # writes a snapshot
    first.http.post(f"/v1/sessions/{session_id}:resume").raise_for_status()
    assert step(first.http, session_id, 3) == answers[2]
    actor = only_actor(cluster, SESSION_ACTOR)
    first.process.send_signal(kind)
    if kind is signal.SIGKILL:
        first.process.wait(PATIENCE)
        shutil.rmtree(first.data_dir)
    assert [step(other.http, session_id, seq) for seq in (3, 4)] == answers[2:4]
    eventually("the actor of before goes on", lambda: not _is_running(actor))
    if kind is signal.SIGSTOP:
        first.process.send_signal(signal.SIGCONT)
        assert step(first.http, session_id, 5) == answers[4]
    assert [step(other.http, session_id, seq) for seq in range(5, LAST + 1)] == answers[4:]
    assert parameters(other.http, session_id) == whole
    assert send(other.http, session_id, "save", {"seq": LAST + 1})["digest"] == digest
    other.http.delete(f"/v1/sessions/{session_id}", timeout=PATIENCE).raise_for_status()
    eventually("an actor stays after its session", lambda: not cluster.actors(SESSION_ACTOR))
    assert [*(other.data_dir / "servers" / "0" / "sessions").glob("*/*")] == []
    assert other.tracebacks() == []


def _is_running(process: psutil.Process) -> bool:
    return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)


def test_rows_and_checkpoints_come_from_object_storage(
    start_server: StartServer, cluster: RayCluster, tmp_path: Path
) -> None:
    pytest.importorskip("obstore")
    objects = tmp_path / "objects"
    objects.mkdir()
    http = start_server(environment=cluster.environment, blob_url=f"file://{objects}").http
    columns = {"x": [[0.1 * row + 0.01 * place for place in range(4)] for row in range(64)]}
    dataset = http.post("/v1/datasets", json={"columns": columns}).raise_for_status().json()["id"]
    session_id = begun(http)
    rows = {"rows": {"dataset": dataset, "start": 0, "stop": 16}}
    whole = [send(http, session_id, "forward_backward", {"seq": 1, **rows})]
    saved = send(http, session_id, "save", {"seq": 2})
    assert (whole[0]["status"], saved["status"]) == (200, 201)
    for actor in cluster.actors(SESSION_ACTOR):
        actor.send_signal(signal.SIGKILL)
    assert send(http, session_id, "forward_backward", {"seq": 1, **rows}) == whole[0]
    assert send(http, session_id, "load", {"seq": 3, "checkpoint": saved["id"]})["status"] == 200
    # The node has room for one session then, whatever else it runs.
    http.post(f"/v1/sessions/{session_id}:pause", timeout=PATIENCE).raise_for_status()
    eventually("an actor stays in a pause", lambda: not cluster.actors(SESSION_ACTOR))
    again = begun(http, dataset=dataset, checkpoint=saved["id"])
    answer = send(http, again, "forward_backward", {"seq": 1, **rows})
    assert answer.get("loss") == whole[0]["loss"], answer
