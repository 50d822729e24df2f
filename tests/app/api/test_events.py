import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest


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


def test_a_finished_fit_is_told_from_its_first_state_to_the_end(http: httpx.Client, fit: dict[str, Any]) -> None:
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
    for seen in (1, 5, len(whole) - 1):
        assert stream(http, fit["id"], {"Last-Event-ID": str(seen)}) == whole[seen:]
        assert stream(http, fit["id"], after=seen) == whole[seen:]
    assert stream(http, fit["id"], {"Last-Event-ID": "3"}, after=1) == whole[3:]


def test_who_comes_back_after_the_end_is_told_of_it_again(http: httpx.Client, fit: dict[str, Any]) -> None:
    whole = stream(http, fit["id"])
    assert stream(http, fit["id"], after=len(whole)) == whole[-1:]
    assert stream(http, fit["id"], after=10**9) == whole[-1:]


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
        "steps": 10_000_000,
        "record": {"every_steps": 1_000_000},
    }
    fit_id = cramped.http.post("/v1/fits", json=request).json()["id"]
    text = cramped.http.get(f"/v1/fits/{fit_id}/events", params={"timeout": 1.5}).text
    assert text.count(": heartbeat\n\n") >= 2
    cramped.http.post(f"/v1/fits/{fit_id}:cancel")
    cramped.http.get(f"/v1/fits/{fit_id}", params={"wait": 20})


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
