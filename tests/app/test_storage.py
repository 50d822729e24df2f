"""A whole server on a disk that is full, fails, or is the last thing it sees."""

import itertools
import signal
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.config.settings import Settings
from app.main.bootstrap import open_container
from app.store.blobs.local import LocalBlobStore
from app.system.durable import Durable
from tests.support.journal import is_logged
from tests.support.patience import LONGEST_WAIT, PATIENCE
from tests.support.server import ServerProcess, StartServer

PROGRAM = {
    "inputs": {"x": ["batch"], "y": ["batch"]},
    "parameters": {"w": {"shape": [], "init": {"kind": "ones"}}},
    "program": "loss = mean((x * w - y) ** 2)",
}
ROWS = {"columns": {"x": [1.0, 2.0, 3.0, 4.0], "y": [2.0, 4.0, 6.0, 8.0]}}
FIT: dict[str, Any] = {"graph": PROGRAM, "dataset": ROWS, "optimizer": {"kind": "sgd", "lr": 0.01}, "batch_size": 2}
ENDLESS = {**FIT, "epochs": 1_000_000, "checkpoint": {"every_steps": 20, "keep_last": 2}, "record": {"every_steps": 1}}
QUOTA = 100_000
ROW_BYTES = 10
"""What a row of one column takes, as text and as a number."""


def created(response: httpx.Response) -> dict[str, Any]:
    assert response.status_code in (201, 202), response.text
    document: dict[str, Any] = response.json()
    return document


def filled(http: httpx.Client, first: int = 0) -> list[str]:
    """Upload rows until there is room for none; return the ids of what was taken. `first` makes them new bytes."""
    taken, size = [], QUOTA // ROW_BYTES
    for attempt in itertools.count(first):
        text = "x\n" + "1\n" * size + f"{attempt}\n"
        response = http.post("/v1/datasets", content=text, headers={"Content-Type": "text/csv"})
        if response.status_code != 507:
            taken.append(created(response)["id"])
        elif size > 1:
            size = max(size // 4, 1)
        else:
            assert response.json()["code"] == "storage_full"
            break
    return taken


def test_a_full_server_refuses_what_is_new_and_goes_on_when_there_is_space(
    start_server: StartServer, slow: dict[str, str]
) -> None:
    http = start_server(storage_quota_bytes=QUOTA, environment=slow, retry_seconds=0.1).http
    system = http.get("/v1/system").json()
    assert (system["stored_bytes"], system["limits"]["storage_quota_bytes"]) == (0, QUOTA)
    fit_id = created(http.post("/v1/fits", json=ENDLESS))["id"]
    first = f"/v1/fits/{fit_id}/checkpoints/latest"
    end = time.monotonic() + PATIENCE
    while http.get(first).status_code != 200:
        assert time.monotonic() < end, "no checkpoint was written"
        time.sleep(0.05)
    taken: list[str] = []
    end = time.monotonic() + PATIENCE
    # Each checkpoint makes room when an older one is deleted, and what is uploaded then takes it.
    while not is_logged(http, fit_id, "storage_full"):
        assert time.monotonic() < end, "the fit found room for each checkpoint"
        taken += filled(http, len(taken))
    taken += filled(http, len(taken))
    assert http.get("/v1/system").json()["stored_bytes"] <= QUOTA
    more = {name: column * 2_000 for name, column in ROWS["columns"].items()}  # a checkpoint less makes no room for it
    assert http.post("/v1/fits", json={**FIT, "dataset": {"columns": more}, "epochs": 1}).status_code == 507
    fit = http.get(f"/v1/fits/{fit_id}").json()
    assert fit["state"] == "running"
    kept = http.get(f"/v1/fits/{fit_id}/checkpoints/latest").json()
    assert http.get(f"/v1/checkpoints/{kept['id']}/content").status_code == 200
    for dataset_id in taken:
        assert http.delete(f"/v1/datasets/{dataset_id}").status_code == 204
    end = time.monotonic() + PATIENCE
    while http.get(f"/v1/fits/{fit_id}/checkpoints/latest").json()["step"] <= kept["step"]:
        assert time.monotonic() < end, "the fit did not go on"
        time.sleep(0.05)
    created(http.post("/v1/graphs", json=PROGRAM))
    assert http.post(f"/v1/fits/{fit_id}:cancel").status_code < 300
    assert http.get(f"/v1/fits/{fit_id}", params={"wait": LONGEST_WAIT}).json()["state"] == "cancelled"


@pytest.fixture
def begun(tmp_path: Path) -> int:
    """Have a data directory, and return how many operations a start on it takes."""
    with open_container(Settings(data_dir=tmp_path / "data", workers=1)):
        pass
    durable = Durable()
    LocalBlobStore(tmp_path / "data", durable)
    return durable.operations


def test_a_change_that_the_disk_refuses_is_not_acknowledged_and_the_next_one_is(
    begun: int, start_server: StartServer
) -> None:
    server = start_server(fail_at_op=begun + 1)
    refused = server.http.post("/v1/graphs", json=PROGRAM)
    assert (refused.status_code, refused.json()["code"]) == (503, "storage_failed")
    assert server.http.get("/v1/graphs").json()["data"] == []
    graph = created(server.http.post("/v1/graphs", json=PROGRAM))
    assert server.http.get(f"/v1/graphs/{graph['id']}").status_code == 200
    assert server.stop() == 0


def dies_at(server: ServerProcess) -> int:
    """Store one graph after another, with many looks between; return which one the server ended at."""
    for number in range(1, 10):
        for path in ("/v1/system", "/v1/graphs", "/readyz", "/metrics"):
            server.http.get(path)
        try:
            created(server.http.post("/v1/graphs", json={**PROGRAM, "name": f"number {number}"}))
        except httpx.TransportError:
            return number
    return 0


def test_a_server_is_killed_at_its_nth_change_however_often_it_is_asked(begun: int, start_server: StartServer) -> None:
    server = start_server(kill_at_op=begun + 3)
    assert dies_at(server) == 3
    assert server.process.wait(PATIENCE) == -signal.SIGKILL
    names = [graph["name"] for graph in start_server().http.get("/v1/graphs", params={"order": "asc"}).json()["data"]]
    assert names == ["number 1", "number 2"]


def test_a_server_shows_what_it_found_when_it_started(
    start_server: StartServer, slow: dict[str, str], tmp_path: Path
) -> None:
    server = start_server(environment=slow)
    found = {"attempts_lost", "orphan_blobs", "temporary_files", "staging_folders", "damaged_checkpoints"}
    recovery = server.http.get("/v1/system").json()["recovery"]
    assert {name: recovery[name] for name in found} == dict.fromkeys(found, 0)
    fit_id = created(server.http.post("/v1/fits", json=ENDLESS))["id"]
    with server.http.stream("GET", f"/v1/fits/{fit_id}/events", params={"max_events": 10}) as events:
        events.read()
    server.stop(signal.SIGKILL)
    data = tmp_path / "data"
    (data / "blobs" / "tmp" / "unfinished").write_bytes(b"half")
    (data / "blobs" / "sha256" / "ab").mkdir(exist_ok=True)
    (data / "blobs" / "sha256" / "ab" / ("ab" * 32)).write_bytes(b"nobody's")
    again = start_server(log_level="info", environment=slow)
    recovery = again.http.get("/v1/system").json()["recovery"]
    assert (recovery["attempts_lost"], recovery["staging_folders"], recovery["temporary_files"]) == (1, 1, 1)
    assert recovery["orphan_blobs"] >= 1
    assert again.http.get(f"/v1/fits/{fit_id}").json()["state"] in {"interrupted", "starting", "running"}
    assert any("recovery after the last server" in line for line in again.log)
