"""What a step says, and what of it reaches the session."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.api.session_training import CHECKPOINTS, STEPS, VERBS
from app.domain.frames import Step
from tests.app.api.fake_sessions import SESSION, FakeSessions
from tests.app.api.session_app import HERE, LIMIT, faults

INPUTS = {"inputs": {"x": [[1.0, 2.0]], "y": {"dtype": "float32", "shape": [1], "data": [0.5]}}}
SAID: dict[str, dict[str, Any]] = {
    "forward_backward": {**INPUTS, "reduction": "sum", "micro_batch_size": 2, "outputs": True},
    "optim_step": {"lr": 0.1, "betas": [0.9, 0.99], "groups": [{"lr": 0.2}, {}]},
    "forward": {"rows": {"dataset": "ds_x", "indices": [3, 1]}, "feeds": {"x": "a"}, "training": False, "keep": True},
    "backward": {"tape_id": "tape_3", "cotangents": {"loss": 1.0}},
    "zero_grad": {"set_to_none": True},
    "predict": {"rows": {"start": 0, "stop": 8}, "chunk": 4},
    "set": {"parameters": {"w": [1, 2]}},
    "reset": {"gradients": False, "momenta": True},
    "row_losses": {**INPUTS, "top": 3},
    "trace_nonfinite": INPUTS,
    "profile": INPUTS,
    "save": {},
    "load": {"checkpoint": "ckpt_x", "optimizer": False},
}
OF_ARRAYS = [(verb, kind) for verb in STEPS for kind in verb.bodies]
QUERIES: dict[str, dict[str, Any]] = {
    "forward_backward": {"reduction": "mean", "micro_batch_size": 3, "outputs": True},
    "forward": {"training": False, "keep": True},
    "backward": {"tape_id": "tape_1"},
    "predict": {"chunk": 16},
    "row_losses": {"top": 0},
}
DEEP = "[" * 80 + "]" * 80
HOSTILE = [
    ("optim_step", b'{"seq": "3"}', 422, "/seq", "type_mismatch"),
    ("optim_step", b'{"seq": 1.5}', 422, "/seq", "type_mismatch"),
    ("optim_step", b'{"seq": true}', 422, "/seq", "type_mismatch"),
    ("optim_step", b'{"seq": 0}', 422, "/seq", "out_of_range"),
    ("optim_step", b'{"seq": 1e300}', 422, "/seq", "type_mismatch"),
    ("optim_step", b'{"seq": 99999999999999999999}', 400, "/seq", "number_out_of_range"),
    ("optim_step", b'{"lr": NaN}', 400, "", "bad_json"),
    ("optim_step", b'{"lr": 1e999}', 400, "/lr", "number_out_of_range"),
    ("optim_step", b'{"lr": 1, "lr": 2}', 400, "", "duplicate_key"),
    ("optim_step", b'{"groups": {}}', 422, "/groups", "type_mismatch"),
    ("optim_step", b'{"groups": [1]}', 422, "/groups/0", "type_mismatch"),
    ("optim_step", json.dumps({f"o{k}": 1 for k in range(65)}).encode(), 422, "", "too_many"),
    ("optim_step", json.dumps({"lr": "x" * 2000}).encode(), 422, "", "too_many"),
    ("optim_step", f'{{"lr": {DEEP}}}'.encode(), 400, "", "too_deep"),
    ("optim_step", b"[]", 422, "", "type_mismatch"),
    ("optim_step", b" ", 400, "", "empty"),
    ("forward", b"", 422, "", "conflict"),
    ("zero_grad", b'{"set_to_nome": true}', 422, "/set_to_nome", "unknown_field"),
    ("zero_grad", b'{"set_to_none": 1}', 422, "/set_to_none", "type_mismatch"),
    ("reset", b'{"gradients": null}', 422, "/gradients", "type_mismatch"),
    ("forward", b"{}", 422, "", "conflict"),
    ("forward", b'{"inputs": {}, "rows": {"indices": []}}', 422, "", "conflict"),
    ("forward", b'{"inputs": {}, "feeds": {}}', 422, "", "conflict"),
    ("forward", b'{"inputs": []}', 422, "/inputs", "type_mismatch"),
    ("forward", b'{"rows": {"indices": [0], "stop": 1}}', 422, "/rows", "conflict"),
    ("forward", b'{"rows": {"start": 0}}', 422, "/rows", "missing_field"),
    ("forward", b'{"rows": {"indices": [-1]}}', 422, "/rows/indices/0", "out_of_range"),
    ("forward", b'{"rows": {"begin": 0}}', 422, "/rows/begin", "unknown_field"),
    ("forward_backward", b'{"inputs": {}, "reduction": "max"}', 422, "/reduction", "unknown_name"),
    ("forward_backward", b'{"inputs": {}, "micro_batch_size": 0}', 422, "/micro_batch_size", "out_of_range"),
    ("backward", b'{"cotangents": {}}', 422, "", "missing_field"),
    ("backward", b'{"tape_id": 3, "cotangents": {}}', 422, "/tape_id", "type_mismatch"),
    ("set", b"{}", 422, "", "missing_field"),
    ("load", b'{"checkpoint": "' + b"x" * 65 + b'"}', 422, "/checkpoint", "out_of_range"),
    ("save", b'{"path": "/etc"}', 422, "/path", "unknown_field"),
]
WRONG_QUERIES = [
    ("forward", "seq=x", "/seq", "type_mismatch"),
    ("forward", "seq=0", "/seq", "out_of_range"),
    ("forward", "keep=maybe", "/keep", "type_mismatch"),
    ("forward", "kept=true", "/kept", "unknown_parameter"),
    ("forward", "inputs=1", "/inputs", "unknown_parameter"),
    ("forward", "rows=1", "/rows", "unknown_parameter"),
    ("forward", "keep=true&keep=true", "/keep", "duplicate_parameter"),
    ("forward_backward", "reduction=max", "/reduction", "unknown_name"),
    ("backward", "", "", "missing_field"),
]


def test_every_verb_is_tried() -> None:
    assert {*SAID} == {verb.name for verb in (*STEPS, *CHECKPOINTS)}
    assert {verb.name for verb in VERBS} == {*SAID, "batch"}


@pytest.mark.parametrize("seq", [None, 7])
@pytest.mark.parametrize("verb", SAID)
def test_what_is_said_in_json_reaches_the_session(
    client: httpx.Client, sessions: FakeSessions, verb: str, seq: int | None
) -> None:
    said = SAID[verb] if seq is None else {**SAID[verb], "seq": seq}
    answer = client.post(f"{HERE}:{verb}", json=said)
    assert (answer.status_code, answer.json()) == (200, {"seq": 1})
    [(step, body)] = sessions.steps
    assert (step.verb, step.options, step.seq, step.media, body) == (verb, SAID[verb], seq, None, b"")
    assert (step.key, step.notify, step.files) == (None, False, None)


@pytest.mark.parametrize(("verb", "kind"), OF_ARRAYS, ids=lambda part: getattr(part, "name", part))
def test_arrays_reach_the_session_as_they_came(
    client: httpx.Client, sessions: FakeSessions, verb: Any, kind: str
) -> None:
    said = QUERIES.get(verb.name, {})
    query = {**{name: str(value).lower() for name, value in said.items()}, "seq": "5"}
    answer = client.post(f"{HERE}:{verb.name}", params=query, content=b"\x00bytes", headers={"Content-Type": kind})
    assert answer.status_code == 200, answer.text
    [(step, body)] = sessions.steps
    assert (step.verb, step.options, step.seq, step.media, body) == (verb.name, said, 5, kind, b"\x00bytes")


def test_a_step_that_needs_no_word_needs_no_body(client: httpx.Client, sessions: FakeSessions) -> None:
    for headers in ({}, {"Content-Type": "application/json"}):
        assert client.post(f"{HERE}:optim_step", headers=headers).status_code == 200
    assert [step.options for step, _ in sessions.steps] == [{}, {}]


@pytest.mark.parametrize(("verb", "body", "status", "pointer", "code"), HOSTILE)
def test_what_cannot_be_is_refused_where_it_stands(
    client: httpx.Client, sessions: FakeSessions, verb: str, body: bytes, status: int, pointer: str, code: str
) -> None:
    answer = client.post(f"{HERE}:{verb}", content=body, headers={"Content-Type": "application/json"})
    assert (pointer, code) in faults(answer, status)
    assert not sessions.steps


@pytest.mark.parametrize("verb", SAID)
def test_an_unknown_field_is_refused_by_every_verb(client: httpx.Client, sessions: FakeSessions, verb: str) -> None:
    answer = client.post(f"{HERE}:{verb}", json={**SAID[verb], "sec": 1})
    if verb == "optim_step":  # an option of an optimizer, for all that is known here
        assert answer.status_code == 200
    else:
        assert faults(answer) == [("/sec", "unknown_field")]
        assert "did you mean 'seq'" in answer.json()["detail"]


@pytest.mark.parametrize(("verb", "query", "pointer", "code"), WRONG_QUERIES)
def test_a_query_is_checked_as_json_is(
    client: httpx.Client, sessions: FakeSessions, verb: str, query: str, pointer: str, code: str
) -> None:
    answer = client.post(f"{HERE}:{verb}?{query}", content=b"x", headers={"Content-Type": "application/x-npz"})
    assert (pointer, code) in faults(answer)
    assert not sessions.steps


def test_beside_json_there_is_no_query(client: httpx.Client, sessions: FakeSessions) -> None:
    assert faults(client.post(f"{HERE}:forward?seq=3", json={"inputs": {}})) == [("/seq", "unknown_field")]
    assert not sessions.steps


@pytest.mark.parametrize(
    ("verb", "kind"),
    [("forward", "text/plain"), ("optim_step", "application/x-npz"), ("set", "multipart/form-data"), ("save", "x")],
)
def test_other_types_of_bodies_are_not_read(client: httpx.Client, sessions: FakeSessions, verb: str, kind: str) -> None:
    answer = client.post(f"{HERE}:{verb}", content=b"{}", headers={"Content-Type": kind})
    assert faults(answer, 415) == []
    assert "application/json" in answer.json()["detail"]


def test_a_body_without_a_type_is_not_read(client: httpx.Client, sessions: FakeSessions) -> None:
    for content in (b"{}", iter([b"{}"])):
        assert faults(client.post(f"{HERE}:optim_step", content=content), 415) == []


@pytest.mark.parametrize("kind", ["application/json", "application/x-npy"])
def test_a_body_that_is_too_large_is_refused_with_the_limit(
    client: httpx.Client, sessions: FakeSessions, kind: str
) -> None:
    answer = client.post(f"{HERE}:set", content=b"x" * (LIMIT + 1), headers={"Content-Type": kind})
    assert faults(answer, 413) == [("", "too_large")]
    assert answer.json()["limit"] == LIMIT


@pytest.mark.parametrize(
    "path", ["sess_x:forward", "x:forward", "fit_01m7xpv32a4ykd0nsmnkebvv3p:forward", "a:b:forward"]
)
def test_what_is_no_session_is_not_found(client: httpx.Client, path: str) -> None:
    assert faults(client.post(f"/v1/sessions/{path}", json=INPUTS), 404) == []


def test_another_session_is_not_found(client: httpx.Client, sessions: FakeSessions) -> None:
    assert faults(client.post(f"{HERE[:-1]}z:forward", json=INPUTS), 404) == []


@pytest.mark.parametrize("verb", ["fly", "forwards", "forward:forward", ""])
def test_an_unknown_verb_is_not_found(client: httpx.Client, verb: str) -> None:
    assert faults(client.post(f"{HERE}:{verb}", json={}), 404) == []


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_steps_are_posted(client: httpx.Client, method: str) -> None:
    answer = client.request(method, f"{HERE}:forward")
    assert faults(answer, 405) == []
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("accept", "verb", "wanted"),
    [
        ("application/json", "forward", "application/json"),
        ("*/*", "forward", "application/json"),
        ("application/vnd.safetensors, */*", "forward", "application/vnd.safetensors"),
        ("application/vnd.safetensors;q=0.5, application/json", "forward", "application/json"),
        ("application/x-npy", "predict", "application/x-npy"),
        ("application/x-npy", "optim_step", "application/json"),
        ("text/html;q=x, application/*;q=0.1", "forward", "application/json"),
        ("", "forward", "application/json"),
    ],
)
def test_the_answer_has_the_type_that_is_liked_best(
    client: httpx.Client, sessions: FakeSessions, accept: str, verb: str, wanted: str
) -> None:
    client.post(f"{HERE}:{verb}", json=SAID[verb], headers={"Accept": accept})
    assert sessions.steps[0][0].accept == wanted


def test_keys_and_preferences_are_passed_on(client: httpx.Client, sessions: FakeSessions) -> None:
    headers = {"Idempotency-Key": "mine", "Prefer": "wait=1, Respond-Async"}
    client.post(f"{HERE}:optim_step", json={}, headers=headers)
    assert (sessions.steps[0][0].key, sessions.steps[0][0].notify) == ("mine", True)


@pytest.mark.parametrize("key", ["", "a b", "x" * 256])
def test_a_key_that_is_none_is_refused(client: httpx.Client, sessions: FakeSessions, key: str) -> None:
    answer = client.post(f"{HERE}:optim_step", json={}, headers={"Idempotency-Key": key})
    assert faults(answer) == [("/idempotency-key", "malformed")]
    assert not sessions.steps


def test_every_request_has_an_id_of_its_own(client: httpx.Client, sessions: FakeSessions) -> None:
    for _ in range(2):
        client.post(f"{HERE}:optim_step", json={}, headers={"X-Request-Id": "mine"})
    first, second = (step for step, _ in sessions.steps)
    assert first.id != second.id


def test_a_step_travels_as_a_frame(client: httpx.Client, sessions: FakeSessions, tmp_path: Path) -> None:
    client.post(f"{HERE}:forward", json=SAID["forward"])
    [(step, _)] = sessions.steps
    assert isinstance(step, Step)
    assert json.loads(json.dumps(step.options)) == SAID["forward"]
    assert SESSION not in json.dumps(step.options)
