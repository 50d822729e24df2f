"""Sessions as resources."""

from dataclasses import replace
from typing import Any

import httpx
import pytest

from app.service.sessions.state import KernelCount
from tests.app.api.fake_sessions import SESSION, STATUS, FakeSessions, View
from tests.app.api.session_app import HERE, faults

GRAPH = "graph_01m7xpv32a4ykd0nsmnkebvv3p"


def test_a_session_is_created_of_what_was_said(client: httpx.Client, sessions: FakeSessions) -> None:
    said = {
        "graph": GRAPH,
        "optimizer": {"kind": "adamw", "lr": 0.1, "groups": [{"match": "w*", "lr": 0.2}]},
        "clip": {"norm": 1.0},
        "seed": 3,
        "threads": 2,
        "resources": {"executor": "numpy"},
        "labels": {"team": "a"},
        "ttl_seconds": 60,
    }
    answer = client.post("/v1/sessions", json=said)
    assert (answer.status_code, answer.headers["location"]) == (201, HERE)
    wanted = {**said, "resources": {"executor": "numpy", "threads": 2}}
    del wanted["threads"]
    [(_, request)] = sessions.calls
    assert {name: request[name] for name in wanted} == wanted


def test_a_session_is_shown_with_its_process(client: httpx.Client, sessions: FakeSessions) -> None:
    answer = client.get(HERE)
    shown = answer.json()
    assert shown["expires_at"] == "2030-01-02T03:05:05.000Z"
    assert (shown["id"], shown["object"], shown["process"], shown["next_seq"]) == (SESSION, "session", "ready", 3)
    assert shown["parameters"] == [{"name": "w", "shape": [2], "dtype": "float32"}]
    assert shown["links"]["gradients"] == f"{HERE}/gradients"
    again = client.get(HERE, headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_session_shows_how_many_kernels_it_waits_for(
    client: httpx.Client, sessions: FakeSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = client.get(HERE).json()
    assert (shown["phase"], shown["kernels"]) == (None, None)
    waiting = replace(STATUS, compiling=KernelCount(3, 15))
    monkeypatch.setattr(sessions, "get", lambda _: View(status=waiting))
    shown = client.get(HERE).json()
    assert (shown["phase"], shown["kernels"]) == ("compiling", {"count": 3, "total": 15})


def test_a_session_is_woken_on_request(client: httpx.Client, sessions: FakeSessions) -> None:
    assert client.get(HERE, params={"wake": "true"}).status_code == 200
    assert sessions.calls == [("wake", SESSION)]


def test_sessions_are_listed_by_state_and_label(client: httpx.Client, sessions: FakeSessions) -> None:
    page = client.get("/v1/sessions", params={"state": "paused", "label": "team:a:b", "limit": 5}).json()
    assert (page["object"], [each["id"] for each in page["data"]], page["has_more"]) == ("list", [SESSION], False)
    [(_, (asked, filters))] = sessions.calls
    assert (asked.limit, filters.state, filters.label) == (5, "paused", ("team", "a:b"))


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_a_session_rests_and_goes_on(client: httpx.Client, sessions: FakeSessions, verb: str) -> None:
    answer = client.post(f"{HERE}:{verb}")
    assert (answer.status_code, answer.json()["id"]) == (200, SESSION)
    assert sessions.calls == [(verb, SESSION)]


def test_a_session_is_closed(client: httpx.Client, sessions: FakeSessions) -> None:
    answer = client.delete(HERE)
    assert (answer.status_code, answer.content) == (204, b"")
    assert sessions.calls == [("close", SESSION)]


@pytest.mark.parametrize(
    ("document", "pointer", "code"),
    [
        ({}, "", "missing_field"),
        ({"graph": 3}, "/graph", "type_mismatch"),
        ({"graph": GRAPH, "optimiser": "sgd"}, "/optimiser", "unknown_field"),
        ({"graph": GRAPH, "optimizer": 3}, "/optimizer", "type_mismatch"),
        ({"graph": GRAPH, "clip": {"norn": 1}}, "/clip/norn", "unknown_field"),
        ({"graph": GRAPH, "seed": -1}, "/seed", "out_of_range"),
        ({"graph": GRAPH, "seed": 2**63}, "/seed", "out_of_range"),
        ({"graph": GRAPH, "threads": 0}, "/threads", "out_of_range"),
        ({"graph": GRAPH, "threads": 1, "resources": {"threads": 2}}, "", "conflict"),
        ({"graph": GRAPH, "restore": "all"}, "", "conflict"),
        ({"graph": GRAPH, "ttl_seconds": 59}, "/ttl_seconds", "out_of_range"),
        ({"graph": GRAPH, "ttl_seconds": "60"}, "/ttl_seconds", "type_mismatch"),
        ({"graph": GRAPH, "kind": "dynamic"}, "/kind", "unknown_name"),
        ({"graph": GRAPH, "labels": {"a b": "x"}}, "/labels/a b", "malformed"),
        ({"graph": GRAPH, "feeds": {"x": 1}}, "/feeds/x", "type_mismatch"),
        ({"graph": GRAPH, "precision": "float8"}, "/precision", "unknown_name"),
    ],
)
def test_a_session_that_cannot_be_is_refused_where_it_stands(
    client: httpx.Client, sessions: FakeSessions, document: Any, pointer: str, code: str
) -> None:
    assert (pointer, code) in faults(client.post("/v1/sessions", json=document))
    assert not sessions.calls
