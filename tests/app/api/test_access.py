"""Nobody gets in where they do not belong: every route of the contract for every kind of key, and what is written down
about it."""

import json
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.domain.access import ApiKeyRecord, Scope, format_key
from app.domain.audit import AuditRecord, verified
from app.domain.clock import read_rfc3339
from app.domain.ids import new_id
from app.http.request_scope import OPEN_PATHS, scope_needed
from app.service.admin.keys import KeyRing, Keys
from app.store.unit_of_work import Store
from tests.extent import FULL
from tests.support.contract import contract
from tests.support.manual_clock import ManualClock
from tests.support.server import ServerProcess, StartServer, serving
from tests.support.tables import check_each

YEARS_AGO = datetime(2020, 1, 1, tzinfo=UTC)
OPERATIONS = [(method.upper(), path) for path, operations in contract()["paths"].items() for method in operations]
GUARDED = [(method, path) for method, path in OPERATIONS if path not in OPEN_PATHS]
BAD_KEYS = {"revoked": "unknown_key", "expired": "expired_key", "unknown": "unknown_key", "guessed": "unknown_key"}
"""With the code that refuses each; beside no key, a route gets one of them in turn, in `make chaos` all."""
NEXT_LOWER = {Scope.TRAIN: Scope.READ, Scope.ADMIN: Scope.TRAIN}
GRAPH = {"inputs": {"a": []}, "program": "f = a"}
PAUSED_FIT = {
    "graph": {"inputs": {"x": ["n"]}, "parameters": {"w": []}, "program": "loss = mean((w * x) ** 2)"},
    "dataset": {"columns": {"x": [1.0, 2.0]}},
    "epochs": 1,
    "start_paused": True,
}
HOSTILE = b'{"a": [[[[NaN'


@dataclass
class Keyed:
    """A server that has keys only in its database, and these keys."""

    server: ServerProcess
    keys: dict[str, str]
    records: dict[str, ApiKeyRecord]

    def send(self, method: str, path: str, key: str | None) -> httpx.Response:
        """Send a request to a path of the contract, with a body that no parser must see."""
        headers = {} if key is None else {"X-API-Key": self.keys[key]}
        body = None
        if method != "GET":
            headers["Content-Type"], body = "application/json", HOSTILE
        url = re.sub(r"\{\w+\}", "1", path)
        with self.server.http.stream(method, url, headers=headers, content=body) as answer:
            if answer.status_code != 200:  # a good one may be a whole backup
                answer.read()
            return answer

    def as_(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.keys[key]}"}


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    folder = tmp_path_factory.mktemp("keyed")
    clock = ManualClock(YEARS_AGO)
    sent, records = {}, {}
    with Store.open(folder, clock) as store:
        keys = Keys(store, KeyRing(clock))
        for name, scope in (("admin", "admin"), ("train", "train"), ("read", "read"), ("revoked", "admin")):
            records[name], sent[name] = keys.create(name, [Scope(scope)], None)
        records["expired"], sent["expired"] = keys.create("old", [Scope.ADMIN], YEARS_AGO + timedelta(days=1))
        keys.revoke(records["revoked"].id)
    sent["unknown"] = format_key(new_id("key"), "0" * 64)
    sent["guessed"] = format_key(records["admin"].id, "0" * 64)
    with serving(folder, failed_logins_per_minute=10_000, workers=1, log_level="info") as server:
        yield Keyed(server, sent, records)


def code_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_only_a_good_key_with_the_right_scope_reaches_a_route(keyed: Keyed) -> None:
    def check(route: tuple[str, str]) -> None:
        method, path = route
        assert code_of(keyed.send(method, path, None)) == (401, "unauthorized")
        for bad in BAD_KEYS if FULL else [[*BAD_KEYS][GUARDED.index(route) % len(BAD_KEYS)]]:
            assert code_of(keyed.send(method, path, bad)) == (401, BAD_KEYS[bad])
        needed = scope_needed(method, path)
        assert needed is not None
        if needed in NEXT_LOWER:
            assert code_of(keyed.send(method, path, NEXT_LOWER[needed])) == (403, "scope_missing")
        for good in {needed, Scope.ADMIN}:
            answer = keyed.send(method, path, good)
            assert answer.status_code < 500
            assert answer.status_code not in (401, 403, 429)

    check_each(((" ".join(route), route) for route in GUARDED), check)


def test_paths_that_are_none_show_nothing_without_a_key(keyed: Keyed) -> None:
    for path in ("/nowhere", "/v1", "/v1/keys/", "/v1/keys:make", "/openapi.json", "/docsx", "/v1//keys"):
        for method in ("GET", "HEAD", "POST", "DELETE", "OPTIONS"):
            assert keyed.server.http.request(method, path).status_code == 401
    assert keyed.server.http.get("/healthz").json() == {"status": "ok"}


def test_heads_are_for_those_who_may_read(keyed: Keyed) -> None:
    http = keyed.server.http
    assert http.head("/v1/graphs", headers=keyed.as_("read")).status_code == 200
    assert http.head("/v1/keys", headers=keyed.as_("train")).status_code == 403


def test_a_key_is_made_used_looked_at_and_revoked(keyed: Keyed) -> None:
    http, admin = keyed.server.http, keyed.as_("admin")
    asked = {"name": "ci", "scopes": ["read"], "expires_at": "2100-01-01T00:00:00+01:00"}
    created = http.post("/v1/keys", json=asked, headers=admin)
    assert created.status_code == 201, created.text
    assert created.headers["cache-control"] == "no-store"
    document = created.json()
    place = created.headers["location"]
    assert place == f"/v1/keys/{document['id']}"
    key = {"X-API-Key": document.pop("key")}
    assert document.pop("closed_server") is False
    assert http.get("/v1/graphs", headers=key).status_code == 200
    assert http.get("/v1/keys", headers=key).status_code == 403
    shown = http.get(place, headers=admin).json()
    assert {**shown, "used_at": None} == {**document, "used_at": None}
    assert shown["expires_at"] == "2099-12-31T23:00:00.000Z"
    listed = http.get("/v1/keys", headers=admin).json()["data"]
    assert {**shown, "used_at": None} in [{**each, "used_at": None} for each in listed]
    assert http.delete(place, headers=admin).status_code == 204
    assert http.get("/v1/graphs", headers=key).status_code == 401
    assert http.get(place, headers=admin).json()["revoked_at"] is not None
    assert http.delete(f"/v1/keys/{new_id('key')}", headers=admin).status_code == 404


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "no name": ({"scopes": ["read"]}, ""),
    "an empty name": ({"name": "", "scopes": ["read"]}, "/name"),
    "no scopes": ({"name": "a", "scopes": []}, "/scopes"),
    "another scope": ({"name": "a", "scopes": ["root"]}, "/scopes/0"),
    "a moment without offset": ({"name": "a", "scopes": ["read"], "expires_at": "2100-01-01T00:00:00"}, "/expires_at"),
    "the past": ({"name": "a", "scopes": ["read"], "expires_at": "2020-01-01T00:00:00Z"}, "/expires_at"),
    "a tenant that is none": ({"name": "a", "scopes": ["read"], "tenant": "../b"}, "/tenant"),
}


@pytest.mark.parametrize(("asked", "pointer"), FAULTS.values(), ids=FAULTS)
def test_a_key_that_makes_no_sense_is_refused(keyed: Keyed, asked: dict[str, Any], pointer: str) -> None:
    answer = keyed.server.http.post("/v1/keys", json=asked, headers=keyed.as_("admin"))
    assert (answer.status_code, [each["pointer"] for each in answer.json()["errors"]]) == (422, [pointer])


def test_no_secret_is_found_where_it_does_not_belong(keyed: Keyed) -> None:
    http, admin = keyed.server.http, keyed.as_("admin")
    secrets = [key.rpartition("_")[2] for name, key in keyed.keys.items() if name not in ("unknown", "guessed")]
    for name in keyed.keys:
        assert keyed.keys[name] not in http.post("/v1/fits", headers=keyed.as_(name)).text
    response = [http.get(path, headers=admin).text for path in ("/metrics", "/v1/keys", "/v1/system")]
    response += [*keyed.server.log, json.dumps(trail(http, admin))]
    response += [path.read_bytes().decode("latin-1") for path in _files(keyed.server.data_dir)]
    response += [Path(f"/proc/{keyed.server.process.pid}/cmdline").read_text()]
    assert [text[:80] for text in response for secret in secrets if secret in text] == []


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def key_of(http: httpx.Client, scope: str, **headers: str) -> tuple[str, dict[str, str]]:
    """Make a key; return its id, and what to send."""
    created = http.post("/v1/keys", json={"name": scope, "scopes": [scope]}, headers=headers)
    assert created.status_code == 201, created.text
    assert created.json()["closed_server"] is not bool(headers)  # only the first is made without one
    return created.json()["id"], {"X-API-Key": created.json()["key"]}


def trail(http: httpx.Client, headers: dict[str, str]) -> list[dict[str, Any]]:
    answer = http.get("/v1/audit", params={"limit": 1000, "order": "asc"}, headers=headers)
    assert (answer.status_code, answer.json()["has_more"]) == (200, False)
    entries: list[dict[str, Any]] = answer.json()["data"]
    return entries


def test_an_open_server_closes_when_its_first_key_is_made_and_stays_so(start_server: StartServer) -> None:
    server = start_server(workers=1)
    http = server.http
    http.post("/v1/graphs", json=GRAPH)
    assert http.get("/v1/keys").json()["data"] == []
    refused = http.post("/v1/keys", json={"name": "ci", "scopes": ["train"]})
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (422, "admin_first")
    boss, admin = key_of(http, "admin")
    assert http.get("/v1/graphs").status_code == 401
    response = [(entry["key_id"], entry["action"], entry["object"], entry["result"]) for entry in trail(http, admin)]
    assert response == [(None, "create_key", "/v1/keys", "422"), (None, "create_key", f"/v1/keys/{boss}", "201")]
    assert http.delete(f"/v1/keys/{boss}", headers=admin).status_code == 204
    assert http.get("/v1/graphs").status_code == 401
    server.stop()
    again = start_server(workers=1, api_key="from-the-settings").http
    assert [again.get("/v1/graphs", headers=headers).status_code for headers in ({}, admin)] == [401, 401]
    shown = again.get(f"/v1/keys/{boss}", headers={"X-API-Key": "from-the-settings"}).json()
    assert shown["used_at"] is not None


def test_the_trail_shows_who_did_what_and_outlives_a_server_that_is_killed(start_server: StartServer) -> None:
    server = start_server(workers=1)
    http = server.http
    _, admin = key_of(http, "admin")
    (train, trains), (read, reads) = key_of(http, "train", **admin), key_of(http, "read", **admin)
    before = len(trail(http, admin))
    place = http.post("/v1/graphs", json=GRAPH, headers={**trains, "X-Request-Id": "mine"}).headers["location"]
    http.get(place, headers=trains)
    http.delete(place, headers=reads)
    http.delete("/v1/graphs/%0a%1b[31m", headers={"X-API-Key": f"adj_{train.removeprefix('key_')}_0"})
    http.delete(place, headers={**trains, "Origin": "https://evil.example"})
    http.delete(place, headers=trains)
    server.stop(signal.SIGKILL)
    http = start_server(workers=1).http
    entries = trail(http, admin)
    response = [(entry["key_id"], entry["action"], entry["object"], entry["result"]) for entry in entries[before:]]
    assert response == [
        (train, "create_graph", place, "201"),
        (read, "DELETE", place, "403"),
        (None, "DELETE", "/v1/graphs/\\n\\x1b[31m", "401"),
        (None, "DELETE", place, "403"),
        (train, "delete_graph", place, "204"),
    ]
    assert (entries[before]["request_id"], entries[before]["address"]) == ("mine", "127.0.0.1")
    records = [AuditRecord(**{**entry, "at": read_rfc3339(entry["at"])}) for entry in entries]
    assert verified(records) == (len(entries), entries[-1]["hash"])


def test_haste_and_wrong_keys_have_to_wait(start_server: StartServer) -> None:
    limits = {"failed_logins_per_minute": 3, "requests_per_second": 0.01, "requests_burst": 4, "requests_at_once": 1}
    http = start_server(api_key="the-right-key-of-these", workers=1, **limits).http
    right, wrong = {"X-API-Key": "the-right-key-of-these"}, {"X-API-Key": "wrong"}
    fit_id = http.post("/v1/fits", json=PAUSED_FIT, headers=right).json()["id"]
    with http.stream("GET", f"/v1/fits/{fit_id}/events", headers=right) as stream:
        events = stream.iter_raw()
        next(events)
        assert refusal(http.get("/v1/graphs", headers=right)) == "too_many_at_once"
    while (second := http.get("/v1/graphs", headers=right)).status_code == 429 and "too_many" in second.text:
        pass  # until the server has seen that the stream was closed
    assert http.get("/v1/graphs", headers=right).status_code == 200
    assert refusal(http.get("/v1/graphs", headers=right)) == "rate_limited"
    assert [http.get("/v1/graphs", headers=wrong).status_code for _ in range(3)] == [401] * 3
    assert refusal(http.post("/v1/graphs", headers=wrong)) == "too_many_failed_logins"
    assert http.get("/v1/graphs").status_code == 401
    assert refusal(http.get("/v1/graphs", headers=right)) == "rate_limited"  # let in, and hasty
    assert http.get("/healthz").status_code == 200


def refusal(answer: httpx.Response) -> str:
    """Return the code of an answer that says when to come back."""
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= 100
    return str(answer.json()["code"])
