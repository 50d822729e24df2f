"""Hostile uploads and documents against one real server: refused as their parsers refuse them, and nothing is left.

The parsers see the whole corpus in tests of their own. Over HTTP go every eighteenth file, since each has a process of
its own, and every ninth document; with FUZZ=full (`make fuzz`) all of them.
"""

import json
import os
from collections.abc import Iterator, Mapping
from itertools import islice
from types import ModuleType
from typing import Any

import httpx
import pytest

from tests.security.corpus import arrow, csv, graphs, json_bodies, json_columns, ndjson, npy, npz, parquet, safetensors
from tests.security.target_server import AttackFixture

UPLOADS: dict[str, ModuleType] = {
    "application/x-npy": npy,
    "application/x-npz": npz,
    "application/vnd.safetensors": safetensors,
    "application/vnd.apache.parquet": parquet,
    "application/vnd.apache.arrow.stream": arrow,
    "text/csv": csv,
    "application/x-ndjson": ndjson,
    "application/json": json_columns,
}
EVERY_UPLOAD, EVERY_DOCUMENT = (1, 1) if os.environ.get("FUZZ") == "full" else (18, 9)
GATE = ("too_large", "too_many_fields", "text_too_long")
"""What a large document may be refused for before it is looked at as a graph."""
PROBLEM = "application/problem+json"


def every(step: int, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((name, table[name]) for name in islice(table, 0, None, step))


@pytest.fixture(scope="module")
def attacked(attack: AttackFixture) -> httpx.Client:
    """Return the client of a server that only these tests use."""
    return attack.start().http


def check_refusal(answer: httpx.Response, *codes: str) -> None:
    assert answer.status_code in (400, 413, 422), (answer.status_code, answer.text[:500])
    assert answer.headers["content-type"] == PROBLEM
    said = answer.json()
    assert {said["code"], *(finding["code"] for finding in said["errors"])} & {*codes}, answer.text[:500]
    assert "Traceback" not in answer.text
    assert len(answer.content) < 32 << 10, "an answer repeats what was sent"


@pytest.mark.parametrize("media", UPLOADS)
def test_hostile_uploads_leave_the_server_as_it_was(media: str, attacked: httpx.Client) -> None:
    if UPLOADS[media] in (arrow, parquet):
        pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    for _, (data, code) in every(EVERY_UPLOAD, UPLOADS[media].REFUSED):
        content = data if isinstance(data, bytes) else data.encode()
        check_refusal(attacked.post("/v1/datasets", content=content, headers={"Content-Type": media}), code)


def test_hostile_bodies_leave_the_server_as_it_was(attacked: httpx.Client) -> None:
    for _, (body, code, _) in every(EVERY_DOCUMENT, json_bodies.BODIES):
        check_refusal(attacked.post("/v1/sessions", content=body, headers={"Content-Type": "application/json"}), code)


def test_graph_bombs_leave_the_server_as_it_was(attacked: httpx.Client) -> None:
    for _, (build, code) in every(EVERY_DOCUMENT, graphs.BOMBS):
        content = json.dumps(build(), separators=(",", ":")).encode()
        answer = attacked.post(
            "/v1/graphs", content=content, headers={"Content-Type": "application/json", "Connection": "close"}
        )
        check_refusal(answer, code, *GATE)
