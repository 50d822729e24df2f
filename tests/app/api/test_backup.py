import io
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import httpx
import numpy as np
import pytest

from adjoint_client.archive import Manifest, Nowhere, read_archive
from tests.support.patience import PATIENCE
from tests.support.server import ServerProcess, StartServer

GET = b"GET /v1/backup HTTP/1.1\r\nHost: localhost\r\n\r\n"


NPY = {"Content-Type": "application/x-npy"}


@cache
def npy(seed: int) -> bytes:
    """Return a file that no buffer on the way takes as a whole."""
    file = io.BytesIO()
    np.save(file, np.random.default_rng(seed).standard_normal((4, 1_000_000)))
    return file.getvalue()


@pytest.fixture(scope="module")
def large(http: httpx.Client) -> dict[str, Any]:
    """Return a dataset whose content makes a backup a large one."""
    dataset: dict[str, Any] = http.post("/v1/datasets", content=npy(seed=1), headers=NPY).json()
    return dataset


@contextmanager
def begun(server: ServerProcess) -> Iterator[None]:
    """Begin to download a backup, then take no more of it, and go away at the end of the block."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", httpx.URL(server.url).port))
        connection.sendall(GET)
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
        yield


def downloaded(http: httpx.Client) -> Manifest:
    """Download a backup, as soon as there is no other."""
    deadline = time.monotonic() + PATIENCE
    while (response := http.get("/v1/backup")).status_code == 409:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/x-tar"
    assert response.headers["cache-control"] == "no-store"
    return read_archive(io.BytesIO(response.content), Nowhere())


def test_everything_is_downloaded_at_once(http: httpx.Client, large: dict[str, Any]) -> None:
    assert downloaded(http).blobs[large["digest"]] == large["size_bytes"]


def test_a_second_backup_has_to_wait_and_a_client_that_goes_away_leaves_nothing(
    server: ServerProcess, large: dict[str, Any]
) -> None:
    scratch, logged = server.data_dir / "scratch", len(server.log)
    with begun(server):
        refused = server.http.get("/v1/backup")
        assert (refused.status_code, refused.json()["code"]) == (409, "backup_in_progress")
        assert int(refused.headers["retry-after"]) >= 1
        assert [*scratch.iterdir()] != []
        assert server.http.get("/v1/graphs").status_code == 200
    downloaded(server.http)
    assert [*scratch.iterdir()] == []
    assert not server.tracebacks(since=logged)


def test_what_is_deleted_concurrently_is_kept_until_the_backup_is_over(server: ServerProcess) -> None:
    dataset = server.http.post("/v1/datasets", content=npy(seed=2), headers=NPY).json()
    blob = server.data_dir / "blobs" / "sha256" / dataset["digest"][:2] / dataset["digest"]
    with begun(server):
        assert server.http.delete(f"/v1/datasets/{dataset['id']}").status_code == 204
        assert blob.exists()
    deadline = time.monotonic() + PATIENCE
    while blob.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_backup_has_no_head(http: httpx.Client) -> None:
    response = http.head("/v1/backup")
    assert (response.status_code, response.headers["allow"]) == (405, "GET")


def test_a_server_that_stops_gives_a_backup_up_and_leaves_nothing(start_server: StartServer) -> None:
    server = start_server(workers=1)
    dataset = server.http.post("/v1/datasets", content=npy(seed=1), headers=NPY).json()
    with begun(server):
        assert server.http.delete(f"/v1/datasets/{dataset['id']}").status_code == 204
        assert server.stop() == 0
    assert [*(server.data_dir / "scratch").iterdir()] == []
    assert not [path for path in (server.data_dir / "blobs" / "sha256").rglob("*") if path.is_file()]
