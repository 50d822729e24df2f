"""A request's way through the service, as docs/architecture.md describes it."""

from __future__ import annotations

import json

import numpy as np

from tests.support.server import ServerProcess


def test_a_request_becomes_a_curve_a_checkpoint_and_predictions(server: ServerProcess) -> None:
    http = server.http
    x = np.linspace(-1, 1, 64)

    # 1. and 2. Schemas check a request's shape, the service and the engine its sense; faults come with pointers.
    columns = {"x": x.tolist(), "y": (3 * x + 2).tolist()}
    program = "line = w * x + b\nloss = mean((line - y) ** 2)"
    leaves = {"inputs": {"x": ["batch"], "y": ["batch"]}, "parameters": {"w": [], "b": []}}
    graph = {**leaves, "program": program, "outputs": ["line"]}
    request = {"graph": graph, "dataset": {"columns": columns}, "epochs": 20, "batch_size": 8, "seed": 3}
    wrong = http.post("/v1/fits", json={**request, "optimizer": {"kind": "sdg"}})
    assert wrong.status_code == 422
    assert wrong.headers["content-type"] == "application/problem+json"
    assert [(e["pointer"], e["code"]) for e in wrong.json()["errors"]] == [("/optimizer", "unknown_name")]
    assert "did you mean 'sgd'" in wrong.json()["errors"][0]["detail"]

    # 3. Only what is committed is acknowledged; the same key gives the same fit, however often it is sent.
    request["optimizer"] = {"kind": "sgd", "lr": 0.2}
    answers = [http.post("/v1/fits", json=request, headers={"Idempotency-Key": "a-tour"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[1].headers["idempotent-replayed"] == "true"
    location = answers[0].headers["location"]
    assert answers[1].headers["location"] == location

    # 4. and 5. A worker process runs the fit; its rows come back gap-free, with loss, rate and gradient norms.
    fit = http.get(f"{location}?wait=30&until=terminal", timeout=60).json()
    assert (fit["state"], fit["terminal"], fit["step"], fit["attempt"]) == ("succeeded", True, 160, 1)
    rows = http.get(f"{location}/metrics?limit=1000").json()["data"]
    assert [row["seq"] for row in rows] == list(range(1, 161))
    assert {"loss", "lr", "grad_norm", "grad_norm/w", "grad_norm/b"} == set(rows[0]["values"])

    # 6. Events replay what is stored, from any point, and say when there is no more to come.
    stream = http.get(f"{location}/events", headers={"Last-Event-ID": "150"}).text
    blocks = [block.splitlines() for block in stream.split("\n\n")]
    events = [dict(line.split(": ", 1) for line in block if ": " in line) for block in blocks]
    kinds = [event["event"] for event in events if "event" in event]
    assert kinds[-1] == "end"
    assert "checkpoint" in kinds
    assert [int(event["id"]) for event in events if "id" in event] == list(range(151, 151 + len(kinds)))

    # What remains: a checkpoint whose numbers are those of the line, and predictions from it.
    checkpoint = http.get(f"{location}/checkpoints/latest").json()
    content = http.get(f"/v1/checkpoints/{checkpoint['id']}/content").content
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    assert {"w", "b"} <= set(header)
    predicted = http.post(f"/v1/checkpoints/{checkpoint['id']}:predict", json={"inputs": {"x": [0.0, 1.0]}}).json()
    np.testing.assert_allclose(predicted["outputs"]["line"]["data"], [2, 5], atol=1e-3)
