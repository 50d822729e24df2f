"""What is one tenant's is nobody else's: every route of the contract, asked by another tenant for things that are there
and for things that are not, answers the same."""

import itertools
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from app.domain.access import Scope
from app.domain.clock import SystemClock
from app.domain.ids import new_id
from app.service.admin.keys import KeyRing, Keys
from app.store.unit_of_work import Store
from tests.support.contract import contract
from tests.support.gate import slowed
from tests.support.patience import LONGEST_WAIT, PATIENCE
from tests.support.server import ServerProcess, StartServer, serving
from tests.support.tables import check_each

from .conftest import created

GRAPH = {
    "inputs": {"x": ["n"]},
    "parameters": {"w": {"shape": [], "init": {"kind": "ones"}}},
    "program": "loss = mean((w * x - 1) ** 2)",
}
ROWS = {"columns": {"x": [1.0, 2.0, 3.0, 4.0]}}
GRADIENTS = {"gradients": {"every_steps": 1}}
IDS = {"graph_id": "graph", "dataset_id": "ds", "fit_id": "fit", "checkpoint_id": "ckpt", "session_id": "sess"}
OTHERS = {"name": "w", "parameter": "w", "alias": "latest", "seq": "1", "node": "0"}
# What each route takes, as far as it asks for something; the others get an empty document.
BODIES: dict[str, Any] = {
    "PATCH /v1/checkpoints/{checkpoint_id}": {"pinned": True},
    "PATCH /v1/fits/{fit_id}": {"labels": {"seen": "yes"}},
    "POST /v1/checkpoints/{checkpoint_id}:predict": {"inputs": {"x": [1.0]}},
    "POST /v1/fits/{fit_id}:extend": {"steps": 5},
    "POST /v1/graphs/{graph_id}:compute": {"inputs": {"x": [1.0]}},
    "POST /v1/graphs/{graph_id}:gradcheck": {"inputs": {"x": [1.0]}},
    "POST /v1/graphs/{graph_id}:profile": {"inputs": {"x": [1.0]}},
    "POST /v1/graphs/{graph_id}:row_losses": {"inputs": {"x": [1.0]}},
    "POST /v1/graphs/{graph_id}:trace_nonfinite": {"inputs": {"x": [1.0]}},
    "POST /v1/sessions/{session_id}:forward_backward": {"inputs": {"x": [1.0]}},
    "POST /v1/sessions/{session_id}:forward": {"inputs": {"x": [1.0]}},
    "POST /v1/sessions/{session_id}:predict": {"inputs": {"x": [1.0]}},
    "POST /v1/sessions/{session_id}:set": {"parameters": {"w": 1.0}},
    "PUT /v1/sessions/{session_id}/parameters/{name}": {"dtype": "float32", "shape": [], "data": [1.0]},
    "PUT /v1/sessions/{session_id}/gradients/{name}": {"dtype": "float32", "shape": [], "data": [1.0]},
}
OPERATIONS = [(method.upper(), path) for path, operations in contract()["paths"].items() for method in operations]
BY_ID = [(method, path) for method, path in OPERATIONS if any(f"{{{name}}}" in path for name in IDS)]
READ = [path for method, path in OPERATIONS if method == "GET" and "{" not in path and path != "/v1/backup"]


@dataclass
class Tenancy:
    """A server, and what a tenant has there: a thing of every kind, and a process at work for it."""

    server: ServerProcess
    keys: dict[str, dict[str, str]]
    things: dict[str, str]

    def send(self, method: str, url: str, who: str, **more: Any) -> httpx.Response:
        return self.server.http.request(method, url, headers=self.keys[who], **more)

    def documents(self) -> dict[str, Any]:
        """Return all that the owner has, as it is now."""
        found = {
            name: self.send("GET", f"/v1/{place}/{self.things[name]}", "owner")
            for name, place in [
                ("graph_id", "graphs"),
                ("dataset_id", "datasets"),
                ("fit_id", "fits"),
                ("checkpoint_id", "checkpoints"),
            ]
        }
        assert {answer.status_code for answer in found.values()} == {200}
        weight = self.send("GET", f"/v1/sessions/{self.things['session_id']}/parameters/w", "owner")
        return {**{name: answer.json() for name, answer in found.items()}, "w": weight.json()["data"]}


def keyed(store: Store) -> Callable[[str, Scope, str], dict[str, str]]:
    """Return what makes keys in a database."""
    keys = Keys(store, KeyRing(SystemClock()))
    return lambda name, scope, tenant: {"X-API-Key": keys.create(name, [scope], None, tenant)[1]}


@pytest.fixture(scope="module")
def tenancy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenancy]:
    folder = tmp_path_factory.mktemp("tenants")
    with Store.open(folder) as store:
        built = keyed(store)
        keys = {
            "admin": built("admin", Scope.ADMIN, "default"),
            "owner": built("owner", Scope.TRAIN, "a"),
            "colleague": built("colleague", Scope.READ, "a"),
            "stranger": built("stranger", Scope.TRAIN, "b"),
        }
    with serving(folder, workers=1) as server:
        yield Tenancy(server, keys, _owned(server.http, keys["owner"]))


def _owned(http: httpx.Client, owner: dict[str, str]) -> dict[str, str]:
    def post(path: str, document: Any) -> dict[str, Any]:
        return created(http.post(path, json=document, headers=owner))

    graph, dataset = post("/v1/graphs", GRAPH), post("/v1/datasets", {"name": "rows", **ROWS})
    fit = post("/v1/fits", {"graph": graph["id"], "dataset": dataset["id"], "epochs": 1, "record": GRADIENTS})
    ended = http.get(f"/v1/fits/{fit['id']}", params={"wait": LONGEST_WAIT, "until": "terminal"}, headers=owner).json()
    assert ended["state"] == "succeeded"
    latest = http.get(f"/v1/fits/{fit['id']}/checkpoints/latest", headers=owner).json()
    session = post("/v1/sessions", {"graph": graph["id"], "optimizer": {"kind": "sgd"}})
    step = {"inputs": {"x": [1.0]}, "seq": 1}
    assert http.post(f"/v1/sessions/{session['id']}:forward_backward", json=step, headers=owner).status_code == 200
    return {
        "graph_id": graph["id"],
        "dataset_id": dataset["id"],
        "fit_id": fit["id"],
        "checkpoint_id": latest["id"],
        "session_id": session["id"],
    }


def reports(answer: httpx.Response, ids: dict[str, str]) -> Any:
    """Return an answer without the ids that were asked for, and without its own."""
    text = answer.text
    for thing in ids.values():
        text = text.replace(thing, "ID")
    return answer.status_code, re.sub(r"req_\w+", "REQ", text)


def test_things_of_another_tenant_are_not_there(tenancy: Tenancy) -> None:
    def check(operation: tuple[str, str]) -> None:
        method, path = operation
        nothing = {name: new_id(prefix) for name, prefix in IDS.items()}
        body = {} if method == "GET" else {"json": BODIES.get(f"{method} {path}", {})}
        theirs, none = (
            reports(tenancy.send(method, path.format(**ids, **OTHERS), "stranger", **body), ids)
            for ids in (tenancy.things, nothing)
        )
        assert theirs == none
        assert theirs[0] == 404 or (theirs[0] == 422 and f"{method} {path}" not in BODIES)

    check_each(((" ".join(operation), operation) for operation in BY_ID), check)


def test_what_a_stranger_asks_for_leaves_everything_as_it_is(tenancy: Tenancy) -> None:
    before = tenancy.documents()
    for method, path in BY_ID:
        if method != "GET":
            tenancy.send(method, path.format(**tenancy.things, **OTHERS), "stranger", json=BODIES.get(path, {}))
    assert tenancy.documents() == before


def test_no_list_and_no_overview_names_things_of_another_tenant(tenancy: Tenancy) -> None:
    tenancy.documents()  # which has the session's process at work

    def check(path: str) -> None:
        seen = {who: tenancy.send("GET", path, who).text for who in ("owner", "stranger")}
        assert not any(thing in seen["stranger"] for thing in tenancy.things.values())
        if path in ("/v1/graphs", "/v1/datasets", "/v1/fits", "/v1/sessions", "/v1/system"):
            assert any(thing in seen["owner"] for thing in tenancy.things.values())

    check_each(((path, path) for path in READ), check)


def test_keys_of_one_tenant_see_the_same(tenancy: Tenancy) -> None:
    for method, path in BY_ID:
        if method == "GET" and not re.search("session_id}/(graph|threadpool|buffers/)", path):
            params = {"timeout": 1} if path.endswith("/events") else {}
            url = path.format(**tenancy.things, **OTHERS)
            answer = tenancy.send("GET", url, "colleague", params=params)
            assert answer.status_code in (200, 409), (path, answer.text)


REFERENCES: dict[str, tuple[str, Callable[[dict[str, str]], Any]]] = {
    "the graph of a fit": ("/v1/fits", lambda ids: {"graph": ids["graph_id"], "dataset": ROWS, "epochs": 1}),
    "the rows of a fit": ("/v1/fits", lambda ids: {"graph": GRAPH, "dataset": ids["dataset_id"], "epochs": 1}),
    "one of the rows": ("/v1/fits", lambda ids: {"graph": GRAPH, "dataset": [ids["dataset_id"]], "epochs": 1}),
    "rows to validate on": (
        "/v1/fits",
        lambda ids: {"graph": GRAPH, "dataset": ROWS, "epochs": 1, "validation": {"dataset": ids["dataset_id"]}},
    ),
    "a fork": ("/v1/fits", lambda ids: {"from_checkpoint": ids["checkpoint_id"], "epochs": 2}),
    "the graph of a session": ("/v1/sessions", lambda ids: {"graph": ids["graph_id"]}),
    "the beginning of a session": ("/v1/sessions", lambda ids: {"checkpoint": ids["checkpoint_id"]}),
    "the rows of a session": ("/v1/sessions", lambda ids: {"graph": GRAPH, "dataset": ids["dataset_id"]}),
}


@pytest.mark.parametrize(("path", "document"), REFERENCES.values(), ids=REFERENCES)
def test_nobody_can_refer_to_things_of_another_tenant(
    tenancy: Tenancy, path: str, document: Callable[[dict[str, str]], Any]
) -> None:
    nothing = {name: new_id(prefix) for name, prefix in IDS.items()}
    theirs, none = (
        reports(tenancy.send("POST", path, "stranger", json=document(ids)), ids) for ids in (tenancy.things, nothing)
    )
    assert theirs == none
    assert theirs[0] == 422
    assert tenancy.send("POST", path, "owner", json=document(tenancy.things)).status_code in (201, 202)


def test_steps_of_a_session_cannot_refer_to_things_of_another_tenant(tenancy: Tenancy) -> None:
    own = created(tenancy.send("POST", "/v1/sessions", "stranger", json={"graph": GRAPH}))
    for verb, document in [
        ("forward_backward", {"rows": {"dataset": tenancy.things["dataset_id"], "start": 0, "stop": 2}}),
        ("load", {"checkpoint": tenancy.things["checkpoint_id"]}),
    ]:
        answer = tenancy.send("POST", f"/v1/sessions/{own['id']}:{verb}", "stranger", json=document)
        assert answer.status_code == 422, answer.text
        assert {each["code"] for each in answer.json()["errors"]} == {"not_found"}


def test_a_checkpoint_cannot_be_uploaded_for_the_graph_of_another_tenant(tenancy: Tenancy) -> None:
    content = tenancy.send("GET", f"/v1/checkpoints/{tenancy.things['checkpoint_id']}/content", "owner").content
    media = {"Content-Type": "application/vnd.safetensors"}
    for who, status in [("stranger", 422), ("owner", 201)]:
        url = f"/v1/checkpoints?graph={tenancy.things['graph_id']}"
        answer = tenancy.server.http.post(url, content=content, headers={**tenancy.keys[who], **media})
        assert answer.status_code == status, answer.text


def test_an_idempotency_key_is_its_tenants_own(tenancy: Tenancy) -> None:
    built = {}
    for who in ("owner", "stranger", "owner", "stranger"):
        headers = {**tenancy.keys[who], "Idempotency-Key": "one-of-mine"}
        answer = tenancy.server.http.post("/v1/graphs", json=GRAPH, headers=headers)
        assert answer.headers.get("idempotent-replayed") == ("true" if who in built else None)
        assert built.setdefault(who, answer.json()["id"]) == answer.json()["id"]
    assert built["owner"] != built["stranger"]


def test_a_bundle_finds_nothing_of_another_tenant(tenancy: Tenancy) -> None:
    bundle = tenancy.send("GET", f"/v1/fits/{tenancy.things['fit_id']}/bundle", "owner").json()
    assert tenancy.send("POST", "/v1/fits:replay", "stranger", json={"bundle": bundle}).status_code == 422
    assert tenancy.send("POST", "/v1/fits:replay", "owner", json={"bundle": bundle}).status_code == 202


def test_administrators_make_keys_for_any_tenant_and_see_no_more_of_it_for_that(tenancy: Tenancy) -> None:
    asked = {"name": "more", "scopes": ["read"], "tenant": "a"}
    built = tenancy.send("POST", "/v1/keys", "admin", json=asked).json()
    assert built["tenant"] == "a"
    fit = f"/v1/fits/{tenancy.things['fit_id']}"
    assert tenancy.server.http.get(fit, headers={"X-API-Key": built["key"]}).status_code == 200
    assert tenancy.send("GET", fit, "admin").status_code == 404
    assert tenancy.send("POST", "/v1/keys", "admin", json={"name": "own", "scopes": ["read"]}).json()["tenant"] == (
        "default"
    )


def test_what_an_open_server_has_is_the_default_tenants_once_it_has_keys(start_server: StartServer) -> None:
    http = start_server(workers=1).http
    graph = created(http.post("/v1/graphs", json=GRAPH))["id"]
    admin = {"X-API-Key": created(http.post("/v1/keys", json={"name": "a", "scopes": ["admin"]}))["key"]}
    other = {"name": "b", "scopes": ["train"], "tenant": "b"}
    stranger = {"X-API-Key": created(http.post("/v1/keys", json=other, headers=admin))["key"]}
    assert http.get(f"/v1/graphs/{graph}", headers=admin).status_code == 200
    assert http.get(f"/v1/graphs/{graph}", headers=stranger).status_code == 404


def test_each_tenant_has_its_own_queue_workers_sessions_and_space(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("quotas")
    with Store.open(folder) as store:
        built = keyed(store)
        keys = {tenant: built(tenant, Scope.ADMIN, tenant) for tenant in "ab"}
    quotas = {"tenant_queue": 2, "tenant_running": 1, "tenant_sessions": 2, "tenant_storage_bytes": 100_000}
    with slowed(folder) as environment, serving(folder, workers=2, environment=environment, **quotas) as server:
        fit = {"graph": GRAPH, "dataset": ROWS, "steps": 10_000_000}

        def submit(tenant: str) -> httpx.Response:
            return server.http.post("/v1/fits", json=fit, headers=keys[tenant])

        def await_states(tenant: str, wanted: list[str]) -> None:
            end, found = time.monotonic() + PATIENCE, [""]
            while found != wanted and time.monotonic() < end:
                fits = server.http.get("/v1/fits", headers=keys[tenant]).json()["data"]
                found = sorted(each["state"] for each in fits)
            assert found == wanted

        created(submit("a"))
        await_states("a", ["running"])
        assert [submit("a").status_code for _ in range(3)] == [202, 202, 429]
        created(submit("b"))
        await_states("b", ["running"])  # on the second worker, which was free for it
        await_states("a", ["queued", "queued", "running"])
        for tenant, status in itertools.product("ab", [201, 201, 429]):
            answer = server.http.post("/v1/sessions", json={"graph": GRAPH}, headers=keys[tenant])
            assert answer.status_code == status, answer.text
        large = {"name": "large", "columns": {"x": [0.1] * 15_000}}
        for tenant, status in itertools.product("ab", [201, 507]):
            answer = server.http.post("/v1/datasets", json=large, headers=keys[tenant])
            assert answer.status_code == status, answer.text
        assert answer.json()["code"] == "quota_exceeded"
