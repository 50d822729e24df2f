"""Processes under a small budget of memory, in a real server: they take turns, and each reports what it waits for."""

import signal
import time
from collections.abc import Callable
from typing import Any

import httpx

from tests.support.server import ServerProcess, StartServer

MIB = 1024**2
# Each of the processes here takes a little more than 96 MiB.
ONE, THREE = 160 * MIB, 300 * MIB
PROGRAM = {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean((x * w - 1) ** 2)"}
# Of a few rows it makes many numbers.
WIDE = {"inputs": {"x": ["batch", 1]}, "parameters": {"w": [20_000]}, "program": "loss = mean((x * w - 1) ** 2)"}
SESSION: dict[str, Any] = {"graph": WIDE, "optimizer": {"kind": "sgd"}, "resources": {"executor": "numpy"}}
PATIENCE = 30


def submitted(http: httpx.Client, steps: int, **resources: Any) -> str:
    request = {
        "graph": PROGRAM,
        "dataset": {"columns": {"x": [1.0, 2.0, 3.0]}},
        "batch_size": 2,
        "steps": steps,
        "resources": {"executor": "numpy", **resources},
    }
    answer = http.post("/v1/fits", json=request)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def until(http: httpx.Client, fit_id: str, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    for _ in range(PATIENCE):
        fit: dict[str, Any] = http.get(f"/v1/fits/{fit_id}").json()
        if condition(fit):
            return fit
        assert not fit["terminal"], fit
        http.get(f"/v1/fits/{fit_id}", params={"wait": 1, "until": "change"})
    raise AssertionError(fit)


def waits(fit: dict[str, Any]) -> bool:
    return (fit["state"], fit["phase"]) == ("queued", "waiting_for_memory")


def runs(fit: dict[str, Any]) -> bool:
    return bool(fit["step"])


def succeeds(fit: dict[str, Any]) -> bool:
    return bool(fit["state"] == "succeeded")


def logs(server: ServerProcess, fit_id: str) -> str:
    return server.http.get(f"/v1/fits/{fit_id}/events", params={"timeout": 0.1}).text


def test_fits_that_the_memory_does_not_hold_together_take_turns_also_after_a_crash(
    start_server: StartServer, slow: dict[str, str]
) -> None:
    server = start_server(memory_budget_bytes=THREE, workers=4, environment=slow)
    first = submitted(server.http, 10**9, replicas=2)
    until(server.http, first, runs)
    second = submitted(server.http, 20, replicas=2)
    until(server.http, second, waits)
    assert '"code":"memory_full"' in logs(server, second)
    third = submitted(server.http, 20)
    assert [worker["fit"] for worker in workers(server.http)] == [first]
    assert server.http.get(f"/v1/fits/{third}").json()["phase"] == "queued", "there is room, but it is not its turn"

    server.stop(signal.SIGKILL)
    server = start_server(memory_budget_bytes=THREE, workers=4, environment=slow)
    ended = until(server.http, second, succeeds)
    until(server.http, third, succeeds)
    going_on = until(server.http, first, lambda fit: len(fit["attempts"]) == 2)
    assert len(ended["attempts"]) == 1
    assert ended["attempts"][0]["ended_at"] <= going_on["attempts"][1]["started_at"]

    fourth = submitted(server.http, 20, replicas=2)
    until(server.http, fourth, waits)
    fifth = submitted(server.http, 20)
    server.http.post(f"/v1/fits/{fourth}:cancel")
    until(server.http, fifth, succeeds)
    server.http.post(f"/v1/fits/{first}:cancel")
    until(server.http, first, lambda fit: fit["state"] == "cancelled")


def test_the_processes_of_sessions_have_their_part_of_the_memory(
    start_server: StartServer, slow: dict[str, str]
) -> None:
    server = start_server(memory_budget_bytes=ONE, environment=slow)
    session, other = (server.http.post("/v1/sessions", json=SESSION).json()["id"] for _ in range(2))
    assert server.http.post(f"/v1/sessions/{session}:zero_grad", json={}).status_code == 200
    fit = submitted(server.http, 10**9)
    until(server.http, fit, waits)

    refused = server.http.post(f"/v1/sessions/{other}:zero_grad", json={})
    assert (refused.status_code, refused.json()["code"]) == (429, "memory_full")
    assert int(refused.headers["retry-after"]) > 0

    assert server.http.delete(f"/v1/sessions/{session}").status_code == 204
    until(server.http, fit, runs)
    refused = server.http.post(f"/v1/sessions/{other}:zero_grad", json={})
    assert (refused.status_code, refused.json()["code"]) == (429, "memory_full")
    server.http.post(f"/v1/fits/{fit}:cancel")
    until(server.http, fit, lambda fit: fit["state"] == "cancelled")
    for _ in range(PATIENCE):
        allowed = server.http.post(f"/v1/sessions/{other}:zero_grad", json={})
        if allowed.status_code == 200:
            break
        time.sleep(0.1)
    assert allowed.status_code == 200, allowed.text

    refused = server.http.post(f"/v1/sessions/{other}:forward_backward", json={"inputs": {"x": [[1.0]] * 20_000}})
    assert (refused.status_code, refused.json()["code"]) == (422, "out_of_memory"), "it would be 1.6 GB"
    assert server.http.post(f"/v1/sessions/{other}:zero_grad", json={}).status_code == 200

    large = {**SESSION, "graph": {**WIDE, "parameters": {"w": [10**7]}}}
    refused = server.http.post("/v1/sessions", json=large)
    assert (refused.status_code, refused.json()["code"]) == (413, "memory_exceeded")
    assert "parameter_bytes 250000000, process_bytes 100663296" in refused.json()["detail"]
    assert refused.json()["limit"] == ONE


def workers(http: httpx.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = http.get("/v1/system").json()["workers"]
    return found
