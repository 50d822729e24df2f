"""Pinned checkpoints, and fits that go when their time is over."""

import time
from typing import Any

import httpx
import pytest

from tests.support.patience import LONGEST_WAIT, PATIENCE
from tests.support.server import StartServer

from .conftest import LINE, POINTS, RECIPE

UNKNOWN = "/v1/checkpoints/ckpt_00000000000000000000000000"


def ended(http: httpx.Client, **changes: Any) -> dict[str, Any]:
    request = {"graph": LINE, "dataset": {"columns": POINTS["columns"]}, **RECIPE, **changes}
    fit = http.post("/v1/fits", json=request).json()
    done: dict[str, Any] = http.get(f"/v1/fits/{fit['id']}", params={"wait": LONGEST_WAIT}).json()
    assert done["state"] == "succeeded", done
    return done


def latest(http: httpx.Client, fit: dict[str, Any]) -> dict[str, Any]:
    checkpoint: dict[str, Any] = http.get(f"/v1/fits/{fit['id']}/checkpoints/latest").json()
    return checkpoint


def test_a_pinned_checkpoint_stays_until_it_is_unpinned(http: httpx.Client) -> None:
    fit = ended(http)
    checkpoint = latest(http, fit)
    assert checkpoint["pinned"] is False
    here = f"/v1/checkpoints/{checkpoint['id']}"
    for _ in range(2):
        assert http.patch(here, json={"pinned": True}).json() == {**checkpoint, "pinned": True}
    assert http.get(here).json()["pinned"] is True
    for path in (here, f"/v1/fits/{fit['id']}"):
        refused = http.delete(path)
        assert (refused.status_code, refused.json()["code"]) == (409, "pinned")
        assert checkpoint["id"] in refused.json()["detail"]
    assert http.patch(here, json={"pinned": False}).json() == checkpoint
    assert http.delete(here).status_code == 204
    assert http.patch(here, json={"pinned": True}).status_code == 410
    assert http.delete(f"/v1/fits/{fit['id']}").status_code == 204


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        ({}, 422, ""),
        ({"pinned": None}, 422, "/pinned"),
        ({"pinned": 1}, 422, "/pinned"),
        ({"pined": True}, 422, "/pined"),
    ],
)
def test_a_faulty_change_is_refused_with_a_pointer(
    http: httpx.Client, checkpoint: dict[str, Any], body: dict[str, Any], status: int, pointer: str
) -> None:
    response = http.patch(f"/v1/checkpoints/{checkpoint['id']}", json=body)
    assert response.status_code == status
    assert pointer in [error["pointer"] for error in response.json()["errors"]]


def test_a_checkpoint_that_never_was_cannot_be_pinned(http: httpx.Client) -> None:
    assert http.patch(UNKNOWN, json={"pinned": True}).status_code == 404


def test_fits_go_when_there_are_too_many_but_for_those_that_are_wanted(start_server: StartServer) -> None:
    http = start_server(workers=1, retention_fits=1, housekeeping_seconds=0.05).http
    request = {"graph": LINE, "dataset": {"columns": POINTS["columns"]}, **RECIPE, "labels": {"keep": "true"}}
    fits = [http.post("/v1/fits", json=request).json() for _ in range(4)]
    for fit in fits:
        assert http.get(f"/v1/fits/{fit['id']}", params={"wait": LONGEST_WAIT}).json()["state"] == "succeeded"
    gone = latest(http, fits[2])
    http.patch(f"/v1/checkpoints/{latest(http, fits[1])['id']}", json={"pinned": True})
    for fit in fits[1:]:
        assert http.patch(f"/v1/fits/{fit['id']}", json={"labels": {"keep": None}}).status_code == 200
    deadline = time.monotonic() + PATIENCE
    while "adjoint_fits_deleted_total 1.0" not in http.get("/metrics").text:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert [http.get(f"/v1/fits/{fit['id']}").status_code for fit in fits] == [200, 200, 404, 200]
    assert http.get(f"/v1/checkpoints/{gone['id']}").status_code == 404
