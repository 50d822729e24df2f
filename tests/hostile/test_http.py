"""Hostile uploads and documents against one real server: refused as their parsers refuse them, and nothing is left.

The parsers see the whole corpus in tests of their own. Over HTTP go every ninth file, since each has a process of its
own, and every third document; with FUZZ=full (`make fuzz`) all of them.
"""

import json
import os
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import psutil
import pytest

from tests.conftest import ServerProcess, serving
from tests.hostile.corpus import csv, graphs, json_bodies, json_columns, ndjson, npy, npz, safetensors

UPLOADS: dict[str, ModuleType] = {
    "application/x-npy": npy,
    "application/x-npz": npz,
    "application/vnd.safetensors": safetensors,
    "text/csv": csv,
    "application/x-ndjson": ndjson,
    "application/json": json_columns,
}
EVERY_UPLOAD, EVERY_DOCUMENT = (1, 1) if os.environ.get("FUZZ") == "full" else (9, 3)
GATE = ("too_large", "too_many_keys", "text_too_long")
"""What a large document may be refused for before it is looked at as a graph."""
GROWTH_BYTES_MAX = 64 << 20
HEALTH_SECONDS = 2.0
PROBLEM = "application/problem+json"


def every(step: int, table: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    return islice(table.items(), 0, None, step)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Start a server that only these tests use; warm, so that what it takes later is for what they send."""
    with serving(tmp_path_factory.mktemp("hostile")) as server:
        assert server.http.post("/v1/graphs:validate", json={"inputs": {"x": [2]}, "program": "a = x"}).is_success
        yield server


def resident(server: ServerProcess) -> int:
    """Return the bytes of memory that the server's own process takes."""
    return int(psutil.Process(server.process.pid).memory_info().rss)


def files(folder: Path) -> set[str]:
    """Return the files of a data directory beside its database, whose journal comes and goes."""
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith("adjoint.db")
    }


def check_refusal(answer: httpx.Response, *codes: str) -> None:
    assert answer.status_code in (400, 413, 422), (answer.status_code, answer.text[:500])
    assert answer.headers["content-type"] == PROBLEM
    said = answer.json()
    assert {said["code"], *(finding["code"] for finding in said["errors"])} & {*codes}, answer.text[:500]
    assert "Traceback" not in answer.text
    assert len(answer.content) < 32 << 10, "an answer repeats what was sent"


@pytest.fixture
def unharmed(attacked: ServerProcess) -> Iterator[httpx.Client]:
    """Yield a client; in the end the server must be well, no larger, and hold no file more."""
    before, held = resident(attacked), files(attacked.data_dir)
    yield attacked.http
    started = time.monotonic()
    assert attacked.http.get("/healthz").status_code == 200
    assert time.monotonic() - started < HEALTH_SECONDS
    assert resident(attacked) - before < GROWTH_BYTES_MAX
    assert files(attacked.data_dir) == held
    assert not [line for line in attacked.log if "Traceback" in line]


@pytest.mark.parametrize("media", UPLOADS)
def test_hostile_uploads_leave_the_server_as_it_was(media: str, unharmed: httpx.Client) -> None:
    for _, (data, code) in every(EVERY_UPLOAD, UPLOADS[media].REFUSED):
        content = data if isinstance(data, bytes) else data.encode()
        check_refusal(unharmed.post("/v1/datasets", content=content, headers={"Content-Type": media}), code)


def test_hostile_bodies_leave_the_server_as_it_was(unharmed: httpx.Client) -> None:
    for _, (body, code, _) in every(EVERY_DOCUMENT, json_bodies.BODIES):
        check_refusal(unharmed.post("/v1/sessions", content=body, headers={"Content-Type": "application/json"}), code)


def test_graph_bombs_leave_the_server_as_it_was(unharmed: httpx.Client) -> None:
    for _, (build, code) in every(EVERY_DOCUMENT, graphs.BOMBS):
        content = json.dumps(build(), separators=(",", ":")).encode()
        answer = unharmed.post(
            "/v1/graphs", content=content, headers={"Content-Type": "application/json", "Connection": "close"}
        )
        check_refusal(answer, code, *GATE)
