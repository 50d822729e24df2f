import json
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import psutil
import pytest

from tests.app.api.conftest import refused
from tests.support.patience import LONGEST_WAIT, PATIENCE
from tests.support.server import ServerProcess


@dataclass(frozen=True)
class Seen:
    seq: int
    kind: str
    body: Any


def read(lines: Iterator[str]) -> Iterator[Seen]:
    """Read a stream as a browser would."""
    entry: dict[str, str] = {}
    for line in lines:
        if not line:
            if "data" in entry:
                yield Seen(int(entry["id"]), entry["event"], json.loads(entry["data"]))
            entry = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            entry[name] = value


def stream(http: httpx.Client, fit_id: str, headers: dict[str, str] | None = None, **params: Any) -> list[Seen]:
    response = http.get(f"/v1/fits/{fit_id}/events", params=params, headers=headers)
    assert response.status_code == 200, response.text
    return [*read(iter(response.text.splitlines()))]


def test_a_finished_fit_is_reported_from_its_first_state_to_the_end(http: httpx.Client, fit: dict[str, Any]) -> None:
    events = stream(http, fit["id"])
    assert [event.seq for event in events] == [*range(1, len(events) + 1)]
    states = [event.body["state"] for event in events if event.kind == "state"]
    assert states == ["queued", "starting", "running", "succeeded"]
    assert (events[-1].kind, events[-1].body["state"]) == ("end", "succeeded")
    rows = http.get(f"/v1/fits/{fit['id']}/metrics").json()["data"]
    assert [event.body for event in events if event.kind == "metric"] == rows
    assert {event.kind for event in events} >= {"metric", "state", "checkpoint", "end"}


def test_the_stream_says_what_it_is(http: httpx.Client, fit: dict[str, Any]) -> None:
    response = http.get(f"/v1/fits/{fit['id']}/events")
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["x-accel-buffering"] == "no"
    assert response.text.startswith("retry: 2000\n\n")


def test_a_stream_is_resumed_exactly_where_it_was_left(http: httpx.Client, fit: dict[str, Any]) -> None:
    whole = stream(http, fit["id"])
    for seen in range(len(whole)):
        assert stream(http, fit["id"], {"Last-Event-ID": str(seen)}) == whole[seen:]
        assert stream(http, fit["id"], after=seen) == whole[seen:]
    assert stream(http, fit["id"], {"Last-Event-ID": "3"}, after=1) == whole[3:]


def test_who_comes_back_after_the_end_receives_it_again(http: httpx.Client, fit: dict[str, Any]) -> None:
    whole = stream(http, fit["id"])
    assert stream(http, fit["id"], after=len(whole)) == whole[-1:]
    beyond = f"/v1/fits/{fit['id']}/events"
    for answer in (http.get(beyond, params={"after": 10**9}), http.get(beyond, headers={"Last-Event-ID": "1000"})):
        assert refused(answer) == [("/after", "out_of_range")]


def test_a_stream_can_be_bounded(http: httpx.Client, fit: dict[str, Any], long_fit: dict[str, Any]) -> None:
    assert stream(http, fit["id"], max_events=3) == stream(http, fit["id"])[:3]
    running = http.post("/v1/fits", json=long_fit).json()["id"]
    assert stream(http, running, timeout=0.3)[0].body["state"] == "queued"
    http.post(f"/v1/fits/{running}:cancel")


def test_events_arrive_while_the_fit_runs_until_it_ends(http: httpx.Client, long_fit: dict[str, Any]) -> None:
    running = http.post("/v1/fits", json=long_fit).json()["id"]
    rows: list[int] = []
    last = None
    with http.stream("GET", f"/v1/fits/{running}/events") as response:
        for event in read(response.iter_lines()):
            last = event
            if event.kind == "metric":
                rows.append(event.body["seq"])
                if len(rows) == 5:
                    threading.Thread(target=http.post, args=(f"/v1/fits/{running}:cancel",)).start()
    assert last is not None
    assert (last.kind, last.body) == ("end", {"state": "cancelled"})
    assert rows == [*range(1, len(rows) + 1)]


def test_silence_is_filled_with_heartbeats(cramped: Any) -> None:
    request = {
        "graph": {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean((x * w - 1) ** 2)"},
        "dataset": {"columns": {"x": [1.5]}},
        "steps": 1,
        "start_paused": True,
    }
    fit_id = cramped.http.post("/v1/fits", json=request).json()["id"]
    text = cramped.http.get(f"/v1/fits/{fit_id}/events", params={"timeout": 1.5}).text
    assert text.count(": heartbeat\n\n") >= 2
    cramped.http.post(f"/v1/fits/{fit_id}:cancel")


@pytest.mark.parametrize(
    ("headers", "params", "pointer"),
    [
        ({"Last-Event-ID": "x"}, {}, "/last-event-id"),
        ({}, {"after": -1}, "/after"),
        ({}, {"max_events": 0}, "/max_events"),
    ],
)
def test_nonsense_is_refused_before_the_stream_begins(
    http: httpx.Client, fit: dict[str, Any], headers: dict[str, str], params: dict[str, Any], pointer: str
) -> None:
    response = http.get(f"/v1/fits/{fit['id']}/events", headers=headers, params=params)
    assert response.status_code == 422
    assert response.json()["errors"][0]["pointer"] == pointer


def test_there_is_no_stream_of_an_unknown_fit(http: httpx.Client) -> None:
    response = http.get("/v1/fits/fit_01m7xpv32a4ykd0nsmnkebvv3p/events")
    assert (response.status_code, response.json()["code"]) == (404, "not_found")


def raw(http: httpx.Client, fit_id: str, after: int, most: int | None = None) -> str:
    """Return the stream as it is on the wire; with `most` the connection is cut after about so many bytes."""
    headers = {"Last-Event-ID": str(after)} if after else {}
    received = bytearray()
    with http.stream("GET", f"/v1/fits/{fit_id}/events", headers=headers) as response:
        for chunk in response.iter_raw(None if most is None else 64):
            received += chunk
            if most is not None and len(received) >= most:
                break
    return received[:most].decode()


def entries(text: str) -> list[str]:
    """Return the entries that came whole."""
    return [entry for entry in text.split("\n\n")[:-1] if entry.startswith("id: ")]


def sequence(entry: str) -> int:
    return int(entry.split("\n")[0].removeprefix("id: "))


def test_a_stream_that_is_cut_anywhere_and_resumed_is_the_one_that_was_not_cut(
    http: httpx.Client, fit: dict[str, Any]
) -> None:
    whole = entries(raw(http, fit["id"], 0))
    chance = random.Random(7)
    for _ in range(20):
        gathered: list[str] = []
        while not gathered or gathered[-1].split("\n")[1] != "event: end":
            after = sequence(gathered[-1]) if gathered else 0
            gathered += entries(raw(http, fit["id"], after, chance.randrange(1, 2500)))
        assert gathered == whole


def test_a_stream_of_a_fit_at_work_is_resumed_without_gap_or_repetition(
    http: httpx.Client, long_fit: dict[str, Any]
) -> None:
    running = http.post("/v1/fits", json=long_fit).json()["id"]
    chance = random.Random(11)
    gathered: list[str] = []
    for _ in range(12):
        gathered += entries(raw(http, running, sequence(gathered[-1]) if gathered else 0, chance.randrange(200, 5000)))
    http.post(f"/v1/fits/{running}:cancel")
    gathered += entries(raw(http, running, sequence(gathered[-1])))
    assert gathered == entries(raw(http, running, 0))
    assert [sequence(entry) for entry in gathered] == [*range(1, len(gathered) + 1)]


READERS = 24
CLASSES = 40
CLASSIFIER = {
    "inputs": {"x": ["batch"], "y": {"shape": ["batch"], "dtype": "int64"}},
    "parameters": {"w": {"shape": [1, CLASSES], "init": {"kind": "zeros"}}},
    "program": "logits = reshape(x, shape=[-1, 1]) @ w\nloss = cross_entropy(logits, y)",
    "outputs": ["logits"],
}


def stalled(server: ServerProcess, fit_id: str) -> socket.socket:
    """Ask for the events of a fit and take none of them."""
    url = httpx.URL(server.url)
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    reader.settimeout(PATIENCE)
    reader.connect((url.host, url.port))
    reader.sendall(f"GET /v1/fits/{fit_id}/events HTTP/1.1\r\nHost: {url.host}\r\nConnection: close\r\n\r\n".encode())
    return reader


def begun(reader: socket.socket, most: int) -> str:
    """Take the beginning of the answer, and put its chunks together."""
    received = b""
    while len(received) < most:
        received += reader.recv(1 << 16)
    body, text = received.partition(b"\r\n\r\n")[2], b""
    while body:
        size, _, body = body.partition(b"\r\n")
        text, body = text + body[: int(size, 16)], body[int(size, 16) + 2 :]
    return text.decode()


def test_readers_that_take_nothing_neither_hold_a_fit_up_nor_fill_the_memory(server: ServerProcess) -> None:
    http, process = server.http, psutil.Process(server.process.pid)
    request = {
        "graph": CLASSIFIER,
        "dataset": {"columns": {"x": [1.0, 2.0, 3.0, 4.0], "y": [0, 1, 2, CLASSES - 1]}},
        "validation": {"split": 0.5, "every_steps": 1, "every_epochs": None},
        "steps": 100,
        "metrics": ["confusion_matrix"],  # long rows
        "resources": {"executor": "numpy"},
    }
    fit_id = http.post("/v1/fits", json=request).json()["id"]
    http.get(f"/v1/fits/{fit_id}/events", params={"max_events": 4})
    before = process.memory_info().rss
    with ExitStack() as open_ones:
        readers = [open_ones.enter_context(stalled(server, fit_id)) for _ in range(READERS)]
        while not (fit := http.get(f"/v1/fits/{fit_id}", params={"wait": LONGEST_WAIT}).json())["terminal"]:
            pass
        assert (fit["state"], fit["step"]) == ("succeeded", 100)
        whole = raw(http, fit_id, 0)
        # So much for each, if it were kept for every reader.
        assert len(whole) > 2_000_000
        assert process.memory_info().rss - before < READERS * len(whole) // 3
        reported = entries(begun(readers[-1], 100_000))
        assert reported == entries(whole)[: len(reported)]
        assert len(reported) > 3


def test_a_stream_leaves_metric_rows_out_and_gives_times(http: httpx.Client, fit: dict[str, Any]) -> None:
    every = stream(http, fit["id"])
    others = stream(http, fit["id"], metrics=False, timestamps=True, interval=10)
    assert [event.seq for event in others] == [event.seq for event in every if event.kind != "metric"]
    for event in others:
        assert fit["created_at"] <= event.body["at"]
    assert others[-1].kind == "end"
    timed = [event.body for event in stream(http, fit["id"], timestamps=True) if event.kind == "metric"]
    rows = http.get(f"/v1/fits/{fit['id']}/metrics", params={"timestamps": True}).json()["data"]
    assert timed == rows
