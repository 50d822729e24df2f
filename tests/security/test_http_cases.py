"""Raw bytes to one server: what it answers, and that it is none the worse for it."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.security.http_cases import bodies, framing, headers, methods, origins, paths, ranges, request_lines
from tests.security.listeners import family, listeners
from tests.security.target_server import HEALTHY_SECONDS, AttackFixture
from tests.security.wire import PROBLEM, Answer, Exchange, exchange
from tests.support.patience import LONGEST_WAIT, PATIENCE
from tests.support.server import ServerProcess
from tests.support.tables import check_each

TABLES: dict[str, tuple[Exchange, ...]] = {
    "request line": request_lines.HTTP_CASES,
    "header": headers.HTTP_CASES,
    "framing": framing.HTTP_CASES,
    "body": bodies.HTTP_CASES,
    "origin": origins.HTTP_CASES,
    "range": ranges.HTTP_CASES,
    "path": paths.HTTP_CASES,
    "method": methods.HTTP_CASES,
}
ALL = [(f"{kind}: {each.name}", each) for kind, table in TABLES.items() for each in table]
AT_LEAST = 80
RANGE_SECONDS = 0.1
TRIES = 5
REQUEST_LOGGERS = ("adjoint.access", "uvicorn.error")
STEP = {"inputs": {"x": [1.0, 2.0]}}
GRAPH = {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean((x * w - 1) ** 2)"}
FIT = {"dataset": {"columns": {"x": [1, 2, 3.5]}}, "steps": 3, "resources": {"executor": "numpy"}}


@dataclass
class Target:
    """A server, ids of what is in it, how long its log was at first, and how many requests it was sent since."""

    attack: AttackFixture
    server: ServerProcess
    ids: dict[bytes, bytes]
    logged: int
    sent: int = 0

    def exchange(self, each: Exchange) -> Answer:
        """Send what an exchange says, and return the answer."""
        request = each.request
        for name, value in self.ids.items():
            request = request.replace(name, value)
        self.sent += 1
        return exchange(self.server.url, request, cut=each.cut)

    def ask(self, path: str) -> httpx.Response:
        """Ask as an ordinary client does."""
        self.sent += 1
        return self.server.http.get(path, timeout=HEALTHY_SECONDS)

    @property
    def requests(self) -> int:
        """How many requests the server was sent since the beginning."""
        return self.sent + self.attack.probes(self.server)

    def lines(self) -> list[dict[str, Any]]:
        """Return what was logged of requests since the beginning."""
        said = [json.loads(line) for line in self.server.log[self.logged :]]
        return [line for line in said if line["logger"] in REQUEST_LOGGERS]


@pytest.fixture(scope="module")
def target(attack: AttackFixture) -> Target:
    server = attack.start(log_level="info")
    http = server.http
    graph = http.post("/v1/graphs", json=GRAPH).json()["id"]
    fit = http.post("/v1/fits", json={"graph": graph, **FIT}).json()["id"]
    assert http.get(f"/v1/fits/{fit}", params={"wait": LONGEST_WAIT}).json()["state"] == "succeeded"
    checkpoint = http.get(f"/v1/fits/{fit}/checkpoints/latest").json()["id"]
    dataset = http.get("/v1/datasets").json()["data"][0]["id"]
    named = {"GRAPH": graph, "DATASET": dataset, "FIT": fit, "CHECKPOINT": checkpoint}
    settled(server.log)
    return Target(
        attack, server, {f"@{name}@".encode(): value.encode() for name, value in named.items()}, len(server.log)
    )


def settled(log: list[str]) -> None:
    """Wait until nothing is added to a log."""
    length = -1
    while len(log) != length:
        length = len(log)
        time.sleep(0.2)


def test_there_are_enough_of_them_and_no_two_of_one_name() -> None:
    names = [name for name, _ in ALL]
    assert len(names) >= AT_LEAST
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("kind", TABLES)
def test_hostile_bytes_are_answered_as_the_table_says(target: Target, kind: str) -> None:
    def check(each: Exchange) -> None:
        answer = target.exchange(each)
        assert answer.status in each.statuses, answer.raw[:1000]
        if each.code:
            assert answer.code == each.code
        if answer.status >= 400 and not each.request.startswith(b"HEAD "):
            assert answer.headers["content-type"] == PROBLEM
        assert b"Traceback" not in answer.raw
        assert b"root:" not in answer.raw
        assert "access-control-allow-origin" not in answer.headers
        assert "set-cookie" not in answer.headers
        for one in target.attack.targets:
            one.check_health()

    check_each(((each.name, each) for each in TABLES[kind]), check)


def test_no_range_takes_long(target: Target) -> None:
    def check(each: Exchange) -> None:
        assert min(target.exchange(each).seconds for _ in range(TRIES)) < RANGE_SECONDS

    check_each(((each.name, each) for each in ranges.HTTP_CASES), check)


def test_one_range_is_answered_with_its_bytes_alone(target: Target) -> None:
    content = f"/v1/checkpoints/{target.ids[b'@CHECKPOINT@'].decode()}/content"
    whole = target.ask(content).content
    assert target.exchange(ranges.asked("some", b"bytes=3-11", 206)).body == whole[3:12]
    assert target.exchange(ranges.asked("several", b"bytes=0-1,3-4", 200)).body == whole


def test_a_file_that_is_a_link_is_not_sent(target: Target) -> None:
    path = f"/v1/datasets/{target.ids[b'@DATASET@'].decode()}"
    content, digest = target.ask(f"{path}/content").content, target.ask(path).json()["digest"]
    blob = target.server.data_dir / "blobs" / "sha256" / digest[:2] / digest
    secret = target.server.data_dir.parent / "secret"
    blob.rename(secret)
    try:
        for plant in (blob.symlink_to, blob.hardlink_to):
            plant(secret)
            refused = target.ask(f"{path}/content")
            assert (refused.status_code, refused.json()["code"]) == (404, "file_replaced")
            entered = target.ask("/v1/audit?limit=1&order=desc").json()["data"][0]
            reported = {name: entered[name] for name in ("action", "object", "result", "request_id")}
            expected = {"action": "download_dataset", "object": f"{path}/content", "result": "404"}
            assert reported == {**expected, "request_id": refused.headers["x-request-id"]}
            blob.unlink()
    finally:
        secret.rename(blob)
    assert target.ask(f"{path}/content").content == content


def test_no_answer_holds_the_host_that_was_asked(target: Target) -> None:
    host = b"localhost:4711"
    body = json.dumps(GRAPH).encode()
    head = b"POST /v1/graphs HTTP/1.1\r\nHost: %b\r\nX-Forwarded-Host: evil.example\r\n" % host
    typed = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    created = target.exchange(Exchange("", head + typed + body, (201,)))
    assert (created.status, created.headers["location"]) == (201, f"/v1/graphs/{json.loads(created.body)['id']}")
    refused = target.exchange(Exchange("", head.replace(b"/v1/graphs", b"/nothing") + b"\r\n", (404,)))
    assert refused.status == 404
    for answer in (created, refused):
        assert not [word for word in (b"4711", b"evil") if word in answer.raw]


def test_an_address_that_is_refused_is_reported_as_it_was_sent(target: Target) -> None:
    hostile = b"GET /v1/nothing%0d%0a%1b HTTP/1.1\r\nHost: localhost:80@evil.example\r\n\r\n"
    answer = target.exchange(Exchange("", hostile, (403,)))
    assert json.loads(answer.body)["instance"] == "/v1/nothing\r\n\x1b"
    assert b"\x1b" not in answer.raw
    assert b"evil.example" not in answer.raw


def test_all_of_them_at_once_leave_the_server_as_it_was(target: Target) -> None:
    for _, each in ALL:
        target.exchange(each)
    assert not [*(target.server.data_dir / "scratch").iterdir()]


def test_every_request_is_one_line_of_the_log(target: Target) -> None:
    hostile = b"GET /%0d%0a%1b[31m%00 HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: a\tb\r\n\r\n"
    target.exchange(Exchange("", hostile, (404,)))
    end = time.monotonic() + PATIENCE
    while len(target.lines()) < target.requests and time.monotonic() < end:
        time.sleep(0.05)
    settled(target.server.log)
    assert len(target.lines()) == target.requests
    assert all(line.isascii() and line.rstrip("\n").isprintable() for line in target.server.log)


def test_nothing_else_is_listened_on_while_a_fit_and_a_session_run(target: Target) -> None:
    target.attack.files_may_be_left = True  # checkpoints
    http, graph = target.server.http, target.ids[b"@GRAPH@"].decode()
    endless = {**FIT, "graph": graph, "steps": 100_000_000, "record": {"every_steps": 1}}
    fit = http.post("/v1/fits", json=endless).json()["id"]
    http.get(f"/v1/fits/{fit}/events", params={"max_events": 8})
    session = http.post("/v1/sessions", json={"graph": graph, "resources": {"executor": "numpy"}}).json()["id"]
    try:
        assert http.post(f"/v1/sessions/{session}:forward", json=STEP).status_code == 200
        pids = family(target.server.process.pid)
        working = {worker["pid"] for worker in http.get("/v1/system").json()["workers"]}
        assert len(working) >= 2
        assert working <= {*pids}
        assert listeners(pids) == {target.server.url.removeprefix("http://")}
    finally:
        http.post(f"/v1/fits/{fit}:cancel")
        http.delete(f"/v1/sessions/{session}")


def test_nothing_that_reads_forms_is_installed_with_the_server() -> None:
    pinned = (Path(__file__).parents[2] / "requirements" / "constraints.txt").read_text().lower()
    assert "multipart" not in pinned
