"""Clients that send as much as they can of what is dear to parse, or nothing at all: others are answered meanwhile."""

from contextlib import ExitStack
from typing import Any

import pytest

from tests.security.attackers import ATTACKS, GET, HOST, POST, REFUSED, Attack, Attacker
from tests.security.target_server import AttackFixture
from tests.security.wire import connect, read_answer, received
from tests.support.patience import PATIENCE
from tests.support.server import ServerProcess

SECONDS = 0.2
"""How long this server waits for anything."""
CONNECTIONS = 40
ROUNDS = 3
ELSEWHERE = "127.0.0.2"
ANSWERS_MOST = 300
"""Answers that an attacker may get while one other request is answered: both take turns of one event loop."""


@pytest.fixture(scope="module")
def flooded(attack: AttackFixture) -> ServerProcess:
    """Start a server that waits for nobody, with few connections."""
    patience = dict.fromkeys(("header_seconds", "body_seconds", "unread_seconds"), SECONDS)
    return attack.start(**patience, max_connections=CONNECTIONS)


@pytest.mark.parametrize("flood", ATTACKS, ids=[attack.name for attack in ATTACKS])
def test_others_are_answered_under(flood: Attack, flooded: ServerProcess) -> None:
    with Attacker(flooded.url, flood, ELSEWHERE).running() as attacker:
        for _ in range(ROUNDS):
            with connect(flooded.url) as again:
                again.settimeout(PATIENCE)
                again.sendall(GET + b"\r\n")
                assert read_answer(again).status == 200
        received_meanwhile = attacker.received
        if flood.is_cut:
            assert attacker.was_cut.wait(PATIENCE)
    assert received_meanwhile <= ANSWERS_MOST * ROUNDS


@pytest.mark.parametrize(
    ("said", "body"),
    [(b"Transfer-Encoding: chunked", b""), (b"Content-Length: 10000000", b""), (b"Content-Length: 9", b"123456789")],
    ids=["chunks", "large", "small"],
)
def test_a_body_that_is_not_read_ends_the_connection_unless_it_is_small(
    flooded: ServerProcess, said: bytes, body: bytes
) -> None:
    head = b"POST %b HTTP/1.1\r\n" % REFUSED + HOST + said + b"\r\n"
    for expects in (b"", b"Expect: 100-continue\r\n"):
        with connect(flooded.url) as connection:
            connection.sendall(head + expects + b"\r\n")
            answer = read_answer(connection)
            assert answer.status == 404
            goes_on = bool(body) and not expects
            assert (answer.headers.get("connection") == "close") is not goes_on
            if goes_on:
                connection.sendall(body + b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
                assert read_answer(connection).status == 200
            else:
                assert received(connection) == b""


def test_many_small_chunks_of_a_body_are_read_nevertheless(attack: AttackFixture, flooded: ServerProcess) -> None:
    attack.files_may_be_left = True  # the data set
    rows = b"".join(b"%x\r\n%b\r\n" % (len(row), row) for row in (b"%d,%d\n" % (n, n * n) for n in range(3000)))
    request = POST.replace(b"application/json", b"text/csv") % (b"/v1/datasets", b"") + b"4\r\na,b\n\r\n" + rows
    with connect(flooded.url) as connection:
        connection.settimeout(PATIENCE)
        connection.sendall(request + b"0\r\nX-Trailer: x\r\n\r\n")
        assert read_answer(connection).status == 201


PAUSED: dict[str, Any] = {
    "graph": {"inputs": {"x": ["n"]}, "parameters": {"w": []}, "program": "loss = mean((w * x) ** 2)"},
    "dataset": {"columns": {"x": [1.0, 2.0]}},
    "epochs": 1,
    "start_paused": True,
}


def test_a_connection_too_many_gets_an_error_where_all_are_used(attack: AttackFixture, flooded: ServerProcess) -> None:
    attack.files_may_be_left = True  # the graph and the data set
    fit = flooded.http.post("/v1/fits", json=PAUSED).json()["id"]
    streams = f"GET /v1/fits/{fit}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with ExitStack() as opened:
        for _ in range(CONNECTIONS):  # the last of them takes the place of the client's that posted the fit
            stream = opened.enter_context(connect(flooded.url))
            stream.sendall(streams)
            assert stream.recv(4096).startswith(b"HTTP/1.1 200 ")
        refused = opened.enter_context(connect(flooded.url))
        answer = read_answer(refused)
        assert (answer.status, answer.code) == (503, "too_many_connections")
        assert int(answer.headers["retry-after"]) >= 1
        assert received(refused) == b""
    flooded.http.post(f"/v1/fits/{fit}:cancel")
