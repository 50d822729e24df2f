"""Several steps in one request."""

import json
from struct import pack
from typing import Any

import httpx
import pytest

from tests.app.api.fake_sessions import FakeSessions
from tests.app.api.session_app import HERE, faults

SAFETENSORS = "application/vnd.safetensors"
LOOP = [
    {"verb": "forward_backward", "seq": 3, "rows": {"start": 0, "stop": 4}, "reduction": "sum"},
    {"verb": "optim_step", "seq": 4, "lr": 0.1},
]


def file_of(steps: Any, *names: str, metadata: Any = None) -> bytes:
    """Return a safetensors file with the steps in its metadata and tensors of these names."""
    response = {"steps": json.dumps(steps)} if metadata is None else metadata
    tensors = {
        name: {"dtype": "F32", "shape": [1], "data_offsets": [4 * place, 4 * place + 4]}
        for place, name in enumerate(names)
    }
    header = json.dumps({"__metadata__": response, **tensors}).encode()
    return pack("<Q", len(header)) + header + b"\0" * 4 * len(names)


def test_steps_reach_the_session_as_they_were_sent(client: httpx.Client, sessions: FakeSessions) -> None:
    answer = client.post(f"{HERE}:batch", json={"steps": LOOP}, headers={"Idempotency-Key": "k"})
    assert answer.status_code == 200, answer.text
    [(step, body)] = sessions.steps
    assert (step.verb, step.options, step.seq) == ("batch", {"steps": LOOP, "stop_on_error": True}, None)
    assert (step.key, step.media, body) == ("k", None, b"")


def test_arrays_belong_to_the_steps_that_they_are_named_after(client: httpx.Client, sessions: FakeSessions) -> None:
    steps = [{"verb": "forward_backward", "seq": 1}, *LOOP, {"verb": "set"}]
    body = file_of(steps, "0/x", "0/y", "3/w")
    answer = client.post(f"{HERE}:batch?stop_on_error=false", content=body, headers={"Content-Type": SAFETENSORS})
    assert answer.status_code == 200, answer.text
    [(step, received)] = sessions.steps
    assert (step.options, step.media) == ({"steps": steps, "stop_on_error": False}, SAFETENSORS)
    assert received == body


@pytest.mark.parametrize(
    ("document", "pointer", "code"),
    [
        ({}, "", "missing_field"),
        ({"steps": []}, "/steps", "out_of_range"),
        ({"steps": [{"verb": "zero_grad"}] * 1025}, "/steps", "out_of_range"),
        ({"steps": {"verb": "zero_grad"}}, "/steps", "type_mismatch"),
        ({"steps": [3]}, "/steps", "type_mismatch"),
        ({"steps": [{}]}, "/steps/0/verb", "unknown_name"),
        ({"steps": [{"verb": ["forward"]}]}, "/steps/0/verb", "unknown_name"),
        ({"steps": [{"verb": "zero_grad"}, {"verb": "save"}]}, "/steps/1/verb", "unknown_name"),
        ({"steps": [{"verb": "batch", "steps": []}]}, "/steps/0/verb", "unknown_name"),
        ({"steps": [{"verb": "zero_grad"}, {"verb": "zero_grad", "seq": 0}]}, "/steps/1/seq", "out_of_range"),
        ({"steps": [{"verb": "forward"}]}, "/steps/0", "conflict"),
        ({"steps": [{"verb": "forward", "inputs": {}, "trainin": True}]}, "/steps/0/trainin", "unknown_field"),
        ({"steps": LOOP, "stop_on_error": "no"}, "/stop_on_error", "type_mismatch"),
        ({"steps": LOOP, "seq": 3}, "/seq", "unknown_field"),
    ],
)
def test_a_step_that_cannot_be_is_refused_where_it_stands(
    client: httpx.Client, sessions: FakeSessions, document: Any, pointer: str, code: str
) -> None:
    answer = client.post(f"{HERE}:batch", json=document)
    assert (pointer, code) in faults(answer)
    assert not sessions.steps


@pytest.mark.parametrize(
    ("body", "status", "pointer", "code"),
    [
        (b"", 422, "", "truncated"),
        (b"\x00", 422, "", "truncated"),
        (pack("<Q", 2**63), 422, "", "truncated"),
        (pack("<Q", 100) + b"{}", 422, "", "truncated"),
        (pack("<Q", 2) + b"[]", 422, "", "bad_header"),
        (pack("<Q", 4) + b"{NaN", 422, "", "bad_json"),
        (file_of([], metadata={}), 422, "/__metadata__/steps", "missing_field"),
        (file_of([], metadata={"steps": [1]}), 422, "/__metadata__", "bad_header"),
        (file_of([], metadata={"steps": "[NaN]"}), 400, "", "bad_json"),
        (file_of([]), 422, "/steps", "out_of_range"),
        (file_of([{"verb": "forward"}], "1/x"), 422, "/steps/0", "conflict"),
        (file_of([{"verb": "forward", "inputs": {}}], "0/x"), 422, "/steps/0/inputs", "conflict"),
        (file_of([{"verb": "forward", "rows": {"indices": []}}], "0/x"), 422, "/steps/0", "conflict"),
    ],
)
def test_arrays_that_belong_nowhere_are_refused(
    client: httpx.Client, sessions: FakeSessions, body: bytes, status: int, pointer: str, code: str
) -> None:
    answer = client.post(f"{HERE}:batch", content=body, headers={"Content-Type": SAFETENSORS})
    assert (pointer, code) in faults(answer, status)
    assert not sessions.steps


def test_other_types_of_bodies_are_not_read(client: httpx.Client) -> None:
    answer = client.post(f"{HERE}:batch", content=b"x", headers={"Content-Type": "application/x-npz"})
    assert faults(answer, 415) == []
