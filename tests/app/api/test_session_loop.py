"""A training loop over a real server, whose sessions have processes."""

import io
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

import engine
from tests.app.api.session_app import faults
from tests.support.patience import LONGEST_WAIT

X = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.25]], np.float32)
Y = np.array([1.0, -2.0, 0.5], np.float32)
SAFETENSORS = "application/vnd.safetensors"
NPY = "application/x-npy"
BATCH = {"inputs": {"x": X.tolist(), "y": Y.tolist()}}


def bodies() -> Iterator[tuple[str, bytes]]:
    """Yield the batch in each binary type, with the type."""
    npz, safetensors = io.BytesIO(), io.BytesIO()
    np.savez(npz, x=X, y=Y)
    yield "application/x-npz", npz.getvalue()
    engine.write_tensors(safetensors, {"x": X, "y": Y}, {})
    yield SAFETENSORS, safetensors.getvalue()


def npy(array: NDArray[Any]) -> bytes:
    """Return an array as .npy."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.fixture
def session(http: httpx.Client, line: dict[str, Any], points: dict[str, Any]) -> Iterator[str]:
    """Begin a session, and return its path; close it in the end."""
    said = {"graph": line["id"], "optimizer": {"kind": "sgd", "lr": 0.1}, "dataset": points["id"], "seed": 1}
    created = http.post("/v1/sessions", json=said)
    assert created.status_code == 201, created.text
    path = created.headers["location"]
    yield path
    assert http.delete(path).status_code == 204


def done(answer: httpx.Response) -> dict[str, Any]:
    """Return what a step was answered with."""
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_a_loop_learns(http: httpx.Client, session: str) -> None:
    losses = []
    for seq in range(1, 21, 2):
        step = {"seq": seq, "rows": {"start": 0, "stop": 16}}
        losses.append(done(http.post(f"{session}:forward_backward", json=step))["loss"])
        assert done(http.post(f"{session}:optim_step", json={"seq": seq + 1, "lr": 0.05}))["taken"] is True
    assert losses[-1] < losses[0] / 2
    shown = done(http.get(session))
    assert (shown["next_seq"], shown["step"], shown["process"]) == (21, 10, "ready")


def test_a_batch_is_the_same_in_every_type(http: httpx.Client, session: str) -> None:
    wanted = done(http.post(f"{session}:forward_backward", json={**BATCH, "outputs": True}))
    for kind, body in bodies():
        done(http.post(f"{session}:zero_grad", json={}))
        sent = {"content": body, "headers": {"Content-Type": kind}}
        found = done(http.post(f"{session}:forward_backward?outputs=true", **sent))
        assert {**found, "seq": wanted["seq"]} == wanted


def test_arrays_come_and_go(http: httpx.Client, session: str) -> None:
    path = f"{session}/parameters/w"
    done(http.put(path, content=npy(np.array([2.0, 3.0], np.float32)), headers={"Content-Type": NPY}))
    read = np.load(io.BytesIO(http.get(path, headers={"Accept": NPY}).content))
    np.testing.assert_array_equal(read, [2.0, 3.0])
    assert done(http.get(path))["data"] == [2.0, 3.0]
    assert http.get(f"{session}/gradients/w").content == b"null"
    done(http.put(f"{session}/gradients/w", json=[0.5, -0.5]))
    assert done(http.get(f"{session}/gradients/w", params={"stats": True}))["norm"] == pytest.approx(0.5**0.5)
    listed = done(http.get(f"{session}/gradients"))["data"]
    assert [(each["name"], each["norm"] is None) for each in listed] == [("w", False), ("c", True)]
    whole = http.get(f"{session}/parameters", headers={"Accept": SAFETENSORS})
    assert (whole.status_code, whole.headers["content-type"]) == (200, SAFETENSORS)


def test_a_step_that_comes_again_is_answered_again(http: httpx.Client, session: str) -> None:
    first = http.post(f"{session}:forward_backward", json={"seq": 1, **BATCH})
    again = http.post(f"{session}:forward_backward", json={"seq": 1, **BATCH})
    assert (again.content, again.headers["idempotent-replayed"]) == (first.content, "true")
    other = http.post(f"{session}:zero_grad", json={"seq": 1})
    assert faults(other, 409) is not None
    assert (other.json()["code"], other.json()["expected_seq"]) == ("seq_used", 2)


def test_a_failed_step_points_into_the_request_and_changes_nothing(http: httpx.Client, session: str) -> None:
    wrong = {"inputs": {"x": [[1.0, 2.0, 3.0]], "y": [1.0]}}
    assert [pointer for pointer, _ in faults(http.post(f"{session}:forward_backward", json=wrong))] == ["/inputs/x"]
    assert faults(http.post(f"{session}:optim_step", json={"lrr": 1}))[0][0] == "/lrr"
    assert [each["norm"] for each in done(http.get(f"{session}/gradients"))["data"]] == [None, None]


def test_a_batch_of_steps_is_one_request(http: httpx.Client, session: str) -> None:
    steps = [{"verb": "forward_backward", **BATCH}, {"verb": "optim_step", "lrr": 1}, {"verb": "zero_grad"}]
    response = done(http.post(f"{session}:batch", json={"steps": steps}))["data"]
    assert [each["status"] for each in response] == [200, 422, 424]
    assert response[1]["error"]["errors"][0]["pointer"] == "/steps/1/lrr"


def test_a_step_is_carried_out_later_if_that_is_preferred(http: httpx.Client, session: str) -> None:
    headers = {"Prefer": "respond-async"}
    accepted = http.post(f"{session}:forward_backward", json=BATCH, headers=headers)
    assert (accepted.status_code, accepted.json()["done"]) == (202, False)
    response = done(http.get(accepted.headers["location"], params={"wait": LONGEST_WAIT}))
    assert (response["seq"], response["done"], response["answer"]["seq"]) == (1, True, 1)


def test_what_is_saved_can_be_loaded(http: httpx.Client, session: str) -> None:
    done(http.post(f"{session}:forward_backward", json=BATCH))
    done(http.post(f"{session}:optim_step"))
    before = http.get(f"{session}/parameters/w").content
    saved = http.post(f"{session}:save", json={}, headers={"Idempotency-Key": "once"})
    assert saved.status_code == 201, saved.text
    assert saved.json()["session"] == session.rpartition("/")[2]
    done(http.post(f"{session}:set", json={"parameters": {"w": [9, 9]}}))
    assert done(http.post(f"{session}:load", json={"checkpoint": saved.json()["id"]}))["step"] == 1
    assert http.get(f"{session}/parameters/w").content == before


def test_a_paused_session_takes_no_steps(http: httpx.Client, session: str) -> None:
    assert done(http.post(f"{session}:pause"))["state"] == "paused"
    assert http.post(f"{session}:zero_grad").json()["code"] == "session_paused"
    assert done(http.post(f"{session}:resume"))["state"] == "active"
    done(http.post(f"{session}:zero_grad"))


def test_a_closed_session_is_still_listed(http: httpx.Client, line: dict[str, Any]) -> None:
    path = http.post("/v1/sessions", json={"graph": line["id"], "labels": {"of": "closing"}}).headers["location"]
    assert http.delete(path).status_code == 204
    assert http.post(f"{path}:zero_grad").json()["code"] == "session_closed"
    listed = done(http.get("/v1/sessions", params={"label": "of:closing", "state": "closed"}))
    assert [each["links"]["self"] for each in listed["data"]] == [path]
