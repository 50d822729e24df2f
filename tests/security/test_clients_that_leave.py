"""Clients that go away in the middle: nobody else gets what was meant for them, and what they began is done once."""

import random
import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx
import orjson
import pytest

from tests.extent import FULL
from tests.security.target_server import AttackFixture
from tests.security.wire import connect, received
from tests.support.patience import PATIENCE
from tests.support.server import ServerProcess

KEY = "of-those-who-leave"
LEAVING = 200 if FULL else 100
STAYING = 6
QUESTIONS = 40
ROUNDS = 4
SEED = 20_261
RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with no time: closing the socket sends RST."""
LAYERS = {
    "inputs": {"x": {"shape": ["batch", 2]}, "y": {"shape": ["batch", 1]}},
    "layers": [{"layer": "linear", "units": 3}, {"layer": "dropout", "p": 0.3}, {"layer": "linear", "units": 1}],
    "loss": {"kind": "mse", "target": "y"},
}
BATCH = {"x": [[1.0, -1.0], [0.25, 2.0]], "y": [[1.0], [0.0]]}


def named_graph(name: str) -> dict[str, Any]:
    return {"name": name, "inputs": {"a": []}, "parameters": {name: []}, "program": f"f = a * {name}"}


def encode_request(method: str, path: str, document: Any = None) -> bytes:
    body = b"" if document is None else orjson.dumps(document)
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {KEY}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def leave(url: str, request: bytes, chance: random.Random) -> None:
    """Send some or all of a request, perhaps twice; perhaps wait, or read some of the answer; then go."""
    with connect(url) as connection:
        sent = request * chance.choice([1, 2])
        connection.sendall(sent[: chance.choice([len(sent), chance.randrange(len(sent))])])
        time.sleep(chance.choice([0, 0, 0.001, 0.01]))
        if chance.random() < 0.2:
            connection.settimeout(0.01)
            with suppress(TimeoutError):
                received(connection)
        if chance.random() < 0.5:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def answers_own(server: ServerProcess, key: str, number: int) -> int:
    """Ask for a thing of one's own many times on one connection; return how many answers were right."""
    name = f"mine{number}"
    right = 0
    with httpx.Client(base_url=server.url, timeout=PATIENCE, headers={"X-API-Key": key}) as http:
        graph = http.post("/v1/graphs", json=named_graph(name)).json()["id"]
        for question in range(QUESTIONS):
            request_id = f"{name}-{question}"
            answer = http.get(f"/v1/graphs/{graph}", headers={"X-Request-Id": request_id})
            own = answer.json()["id"] == graph and answer.json()["name"] == name
            right += own and answer.headers["x-request-id"] == request_id and b"theirs" not in answer.content
    return right


@pytest.fixture(scope="module")
def keyed(attack: AttackFixture) -> ServerProcess:
    """Start a server that wants a key."""
    return attack.start({"X-API-Key": KEY}, warm=["/openapi.json"], api_key=KEY)


@pytest.fixture(scope="module")
def keys(keyed: ServerProcess) -> list[str]:
    """Return the keys of two clients, of two tenants that have nothing to do with who leaves."""
    asked = ({"name": name, "scopes": ["train"], "tenant": name} for name in ("one", "other"))
    return [keyed.http.post("/v1/keys", json=each).json()["key"] for each in asked]


def test_nobody_gets_an_answer_that_was_meant_for_one_who_left(keyed: ServerProcess, keys: list[str]) -> None:
    chance = random.Random(SEED)
    theirs = keyed.http.post("/v1/graphs", json=named_graph("theirs")).json()["id"]
    requests = [
        encode_request("GET", f"/v1/graphs/{theirs}"),
        encode_request("GET", "/v1/graphs?limit=1000"),
        encode_request("GET", "/openapi.json"),
        encode_request("POST", "/v1/graphs:validate", named_graph("theirs")),
        encode_request("POST", f"/v1/graphs/{theirs}:evaluate", {"inputs": {"a": 2.0}, "parameters": {"theirs": 3.0}}),
    ]
    with ThreadPoolExecutor(STAYING + 4) as clients:
        staying = [clients.submit(answers_own, keyed, keys[number % 2], number) for number in range(STAYING)]
        seeds = [random.Random(chance.random()) for _ in range(LEAVING)]
        leaving = [clients.submit(leave, keyed.url, seed.choice(requests), seed) for seed in seeds]
        assert [answered.result() for answered in staying] == [QUESTIONS] * STAYING
        for left in leaving:
            left.result()
    for number, key in enumerate(keys, STAYING):
        assert answers_own(keyed, key, number) == QUESTIONS


def begin(http: httpx.Client) -> str:
    request = {"graph": LAYERS, "seed": 3, "resources": {"executor": "numpy"}}
    answer = http.post("/v1/sessions", json=request)
    assert answer.status_code == 201, answer.text
    session: str = answer.json()["id"]
    return session


def saved(http: httpx.Client, session: str) -> str:
    """Return the digest of all that a session holds, and close it."""
    digest: str = http.post(f"/v1/sessions/{session}:save", json={}).json()["digest"]
    assert http.delete(f"/v1/sessions/{session}").status_code < 300
    return digest


def steps() -> list[tuple[str, dict[str, Any]]]:
    verbs = [("forward_backward", {"inputs": BATCH}), ("optim_step", {})] * ROUNDS
    return [(verb, {**said, "seq": seq}) for seq, (verb, said) in enumerate(verbs, 1)]


def test_a_step_whose_client_has_gone_is_carried_out_once(attack: AttackFixture, keyed: ServerProcess) -> None:
    attack.files_may_be_left = True  # checkpoints
    http = keyed.http
    undisturbed = begin(http)
    response = [http.post(f"/v1/sessions/{undisturbed}:{verb}", json=step).json() for verb, step in steps()]
    left = begin(http)
    for (verb, step), expected in zip(steps(), response, strict=True):
        with connect(keyed.url) as connection:
            connection.sendall(encode_request("POST", f"/v1/sessions/{left}:{verb}", step))
            if step["seq"] % 2:  # the rest of the answer, unread, makes it a reset
                connection.recv(1)
        end = time.monotonic() + PATIENCE
        while http.get(f"/v1/sessions/{left}").json()["next_seq"] in (None, step["seq"]):
            assert time.monotonic() < end, "the step was never carried out"
        again = http.post(f"/v1/sessions/{left}:{verb}", json=step)
        assert again.headers["idempotent-replayed"] == "true"
        assert again.json() == expected
    assert saved(http, left) == saved(http, undisturbed)
