"""An input that nothing wanted depends on need not be given, on any route."""

from typing import Any

import httpx
import pytest

from tests.app.api.conftest import created, refused
from tests.support.patience import LONGEST_WAIT

GRAPH = {
    "inputs": {"x": ["n"], "y": ["n"], "spare": ["n", 3]},
    "parameters": {"w": {"shape": [], "init": "ones"}},
    "program": "p = x * w\nloss = mean((p - y) ** 2)",
    "outputs": ["p"],
    "losses": ["loss"],
}
X, Y = [1.0, 2.0, 3.0], [2.0, 4.0, 6.0]


@pytest.fixture(scope="module")
def paths(http: httpx.Client) -> dict[str, str]:
    graph = created(http.post("/v1/graphs", json=GRAPH))["id"]
    rows = created(http.post("/v1/datasets", json={"columns": {"x": X, "y": Y}}))["id"]
    asked = {"graph": graph, "dataset": rows}
    fit = created(http.post("/v1/fits", json={**asked, "steps": 2, "batch_size": 3}))["id"]
    done = http.get(f"/v1/fits/{fit}", params={"wait": LONGEST_WAIT}).json()
    assert done["state"] == "succeeded", done
    checkpoint = http.get(f"/v1/fits/{fit}/checkpoints/latest").json()["id"]
    session = created(http.post("/v1/sessions", json={**asked, "optimizer": "sgd"}))["id"]
    return {"graph": f"graphs/{graph}", "checkpoint": f"checkpoints/{checkpoint}", "session": f"sessions/{session}"}


# Where, the verb, what is sent beside the inputs, and the inputs that are needed.
CALLS: list[tuple[str, str, dict[str, Any], str]] = [
    ("graph", "compute", {}, "xy"),
    ("graph", "row_losses", {}, "xy"),
    ("checkpoint", "predict", {}, "x"),
    ("session", "forward", {}, "xy"),
    ("session", "forward_backward", {"outputs": True}, "xy"),
    ("session", "row_losses", {}, "xy"),
    ("session", "predict", {}, "x"),
]


@pytest.mark.parametrize(("where", "verb", "body", "needed"), CALLS, ids=[f"{c[0]} {c[1]}" for c in CALLS])
def test_only_what_is_needed_is_asked_for(
    http: httpx.Client, paths: dict[str, str], where: str, verb: str, body: dict[str, Any], needed: str
) -> None:
    def call(**more: Any) -> httpx.Response:
        return http.post(f"/v1/{paths[where]}:{verb}", json={**body, **more})

    given = dict.fromkeys(needed, X)
    answer = call(inputs=given)
    assert answer.status_code == 200, answer.text
    assert refused(call(inputs={**given, "spare": [[1.0]]})) == [("/inputs/spare", "shape_mismatch")]
    assert refused(call(inputs=dict.fromkeys(needed[1:], X))) == [("/inputs", "missing_field")]
    if where == "session":
        rows = call(rows={"start": 0, "stop": 3})
        assert rows.status_code == 200, rows.text
