"""What comes back from a session, and how the client gets it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.domain.errors import Finding, StepRefused
from app.domain.records import CheckpointRecord
from app.service.sessions.steps import StepResult
from tests.app.api.fake_sessions import JSON, SESSION, FakeSessions, answered_by_file
from tests.app.api.session_app import HERE, faults

CHECKPOINT = CheckpointRecord(
    id="ckpt_01m7xpv32a4ykd0nsmnkebvv3p",
    fit_id=None,
    graph_id="graph_01m7xpv32a4ykd0nsmnkebvv3p",
    step=4,
    epoch=0,
    digest="ab" * 32,
    size_bytes=10,
    metrics={},
    created_at=datetime(2030, 1, 2, tzinfo=UTC),
    is_best=False,
    deleted=False,
    session_id=SESSION,
    session_seq=9,
)


def test_an_answer_is_passed_on_as_it_is(client: httpx.Client, sessions: FakeSessions) -> None:
    body = b'{"seq":3,  "loss":0.10000000149011612}'
    sessions.answer = StepResult(200, 3, JSON, body)
    answer = client.post(f"{HERE}:optim_step", json={})
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (200, body, JSON)
    assert "idempotent-replayed" not in answer.headers


def test_an_answer_that_was_given_before_says_so(client: httpx.Client, sessions: FakeSessions) -> None:
    sessions.answer = StepResult(200, 3, JSON, b"{}", replayed=True)
    assert client.post(f"{HERE}:optim_step", json={}).headers["idempotent-replayed"] == "true"


@pytest.mark.parametrize("size", [0, 10, 3 * 1024 * 1024 + 1])
def test_a_large_answer_comes_out_of_a_file_that_is_gone_then(
    client: httpx.Client, sessions: FakeSessions, tmp_path: Path, size: int
) -> None:
    path = tmp_path / "answer"
    content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    sessions.answer = answered_by_file(path, content)
    answer = client.get(f"{HERE}/parameters", headers={"Accept": "application/vnd.safetensors"})
    assert answer.content == content
    assert answer.headers["content-length"] == str(size)
    assert answer.headers["content-type"] == "application/vnd.safetensors"
    assert not path.exists()


def test_an_accepted_step_says_where_to_ask_for_it(client: httpx.Client, sessions: FakeSessions) -> None:
    sessions.answer = StepResult(202, 12)
    answer = client.post(f"{HERE}:optim_step", json={}, headers={"Prefer": "respond-async"})
    assert (answer.status_code, answer.headers["location"]) == (202, f"{HERE}/operations/12")
    assert answer.json() == {"id": sessions.steps[0][0].id, "seq": 12, "done": False}


def test_a_saved_checkpoint_is_shown_as_one(client: httpx.Client, sessions: FakeSessions) -> None:
    sessions.answer = StepResult(201, 9, checkpoint=CHECKPOINT, replayed=True)
    answer = client.post(f"{HERE}:save", json={})
    assert (answer.status_code, answer.headers["location"]) == (201, f"/v1/checkpoints/{CHECKPOINT.id}")
    assert answer.headers["idempotent-replayed"] == "true"
    shown = answer.json()
    assert (shown["id"], shown["session"], shown["session_seq"], shown["fit"]) == (CHECKPOINT.id, SESSION, 9, None)


def test_the_result_of_an_accepted_step_is_reported(client: httpx.Client, sessions: FakeSessions) -> None:
    sessions.answer = StepResult(200, 12, JSON, b'{"seq":12,"done":true,"answer":{}}')
    assert client.get(f"{HERE}/operations/12", params={"wait": 2.5}).json()["done"] is True
    sessions.answer = StepResult(201, 9, checkpoint=CHECKPOINT)
    response = client.get(f"{HERE}/operations/9").json()
    assert (response["seq"], response["done"], response["answer"]["id"], response["answer"]["seq"]) == (
        9,
        True,
        CHECKPOINT.id,
        9,
    )
    assert sessions.calls == [("operation", (12, 2.5)), ("operation", (9, 0.0))]


@pytest.mark.parametrize("path", ["operations/0", "operations/x", "operations/1?wait=61", "operations/1?wait=nan"])
def test_an_operation_that_cannot_be_is_refused(client: httpx.Client, sessions: FakeSessions, path: str) -> None:
    assert len(faults(client.get(f"{HERE}/{path}"))) == 1
    assert not sessions.calls


def test_a_refused_step_says_which_seq_is_expected(client: httpx.Client, sessions: FakeSessions) -> None:
    sessions.answer = StepRefused(
        "the place 3 is taken",
        code="seq_used",
        findings=[Finding("/seq", "seq_used", "the place 3 is taken")],
        headers={"Idempotent-Replayed": "true"},
        extensions={"expected_seq": 4},
    )
    answer = client.post(f"{HERE}:optim_step", json={"seq": 3})
    assert faults(answer, 409) == [("/seq", "seq_used")]
    shown = answer.json()
    assert (shown["code"], shown["expected_seq"]) == ("seq_used", 4)
    assert "limit" not in shown
    assert answer.headers["idempotent-replayed"] == "true"


READS: list[tuple[str, str, str, dict[str, Any], str]] = [
    ("gradients", "*/*", "gradients", {"stats": False}, JSON),
    ("parameters?stats=true", JSON, "parameters", {"stats": True}, JSON),
    ("buffers", "application/vnd.safetensors", "buffers", {"stats": False}, "application/vnd.safetensors"),
    ("gradients", "application/x-npy", "gradients", {"stats": False}, JSON),
    ("gradients/w", "application/x-npy", "gradients", {"name": "w", "stats": False}, "application/x-npy"),
    ("parameters/layer/0.w:x%20%2F", "*/*", "parameters", {"name": "layer/0.w:x /", "stats": False}, JSON),
    ("buffers/mean?stats=1", "*/*", "buffers", {"name": "mean", "stats": True}, JSON),
]


@pytest.mark.parametrize(("path", "accept", "verb", "options", "wanted"), READS)
def test_arrays_are_asked_for_by_name_and_type(
    client: httpx.Client, sessions: FakeSessions, path: str, accept: str, verb: str, options: Any, wanted: str
) -> None:
    assert client.get(f"{HERE}/{path}", headers={"Accept": accept}).status_code == 200
    [(step, body)] = sessions.steps
    assert (step.verb, step.options, step.accept, step.seq, body) == (verb, options, wanted, None, b"")


PUTS: list[tuple[str, str, bytes, str, dict[str, Any], bytes]] = [
    ("parameters/w", JSON, b"[[1.5, 2]]", "set_parameter", {"name": "w", "value": [[1.5, 2]]}, b""),
    ("gradients/w", JSON, b"null", "set_gradient", {"name": "w", "value": None}, b""),
    ("gradients/a/b", "application/x-npy", b"\x93NUMPY", "set_gradient", {"name": "a/b"}, b"\x93NUMPY"),
]


@pytest.mark.parametrize(("path", "kind", "sent", "verb", "options", "received"), PUTS)
def test_arrays_are_put_by_name(
    client: httpx.Client,
    sessions: FakeSessions,
    path: str,
    kind: str,
    sent: bytes,
    verb: str,
    options: Any,
    received: bytes,
) -> None:
    headers = {"Content-Type": kind, "Idempotency-Key": "k"}
    answer = client.put(f"{HERE}/{path}?seq=4", content=sent, headers=headers)
    assert answer.status_code == 200, answer.text
    [(step, body)] = sessions.steps
    assert (step.verb, step.options, step.seq, step.key, body) == (verb, options, 4, "k", received)


@pytest.mark.parametrize(
    ("path", "kind", "body", "status", "pointer"),
    [
        ("parameters/w?seq=0", JSON, b"1", 422, "/seq"),
        ("parameters/w?seq=x", JSON, b"1", 422, "/seq"),
        ("parameters/w", JSON, b"[1, NaN]", 400, ""),
        ("gradients/w", JSON, b"", 400, ""),
    ],
)
def test_an_array_that_cannot_be_put_is_refused(
    client: httpx.Client, sessions: FakeSessions, path: str, kind: str, body: bytes, status: int, pointer: str
) -> None:
    answer = client.put(f"{HERE}/{path}", content=body, headers={"Content-Type": kind})
    assert [place for place, _ in faults(answer, status)] == [pointer]
    assert not sessions.steps


def test_buffers_are_only_read(client: httpx.Client) -> None:
    answer = client.put(f"{HERE}/buffers/mean", json=1)
    assert faults(answer, 405) == []
    assert answer.headers["allow"] == "GET, HEAD"
