import threading
import time
from typing import Any

import httpx
import pytest

from tests.support.patience import LONGEST_WAIT

INLINE: dict[str, Any] = {
    "graph": {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean((x * w - 1) ** 2)"},
    "dataset": {"columns": {"x": [1, 2, 3.5]}},
    "steps": 2,
}
UNKNOWN_GRAPH = "graph_01m7xpv32a4ykd0nsmnkebvv3p"
NESTED: dict[str, Any] = {
    "kind": "sequential",
    "schedules": [
        {"kind": "linear", "start_factor": 0.5, "total_iters": 2},
        {"kind": "chained", "schedules": ["constant", {"kind": "exponential", "gamma": 0.5}]},
    ],
    "milestones": [2],
}

# What is changed in a good request (None: left out), and what is said of it.
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "no graph": ({"graph": None}, "", "missing_field"),
    "a number for a graph": ({"graph": 7}, "/graph", "type_mismatch"),
    "an unknown graph": ({"graph": UNKNOWN_GRAPH}, "/graph", "not_found"),
    "a dataset for a graph": ({"graph": "ds_01m7xpv32a4ykd0nsmnkebvv3p"}, "/graph", "not_found"),
    "a path for a graph": ({"graph": "../../etc/passwd"}, "/graph", "not_found"),
    "a faulty inline graph": ({"graph": {"inputs": {}, "program": "loss = jam(1)"}}, "/graph/program", "unknown_name"),
    "a faulty inline dataset": ({"dataset": {"columns": {"x": ["q", 1]}}}, "/dataset/columns/x", "mixed_types"),
    "an unknown field": ({"epoch": 5}, "/epoch", "unknown_field"),
    "an unknown nested field": ({"clip": {"nrm": 1.0}}, "/clip/nrm", "unknown_field"),
    "text for a number": ({"epochs": "5"}, "/epochs", "type_mismatch"),
    "a fraction for a count": ({"epochs": 1.5}, "/epochs", "type_mismatch"),
    "a truth value for a count": ({"epochs": True}, "/epochs", "type_mismatch"),
    "neither epochs nor steps": ({"epochs": None}, "/epochs", "attribute_invalid"),
    "both epochs and steps": ({"steps": 5}, "/epochs", "attribute_invalid"),
    "no epochs at all": ({"epochs": 0}, "/epochs", "out_of_range"),
    "an optimizer of no kind": ({"optimizer": {"lr": 0.1}}, "/optimizer", "missing_field"),
    "an unknown optimizer": ({"optimizer": {"kind": "adamm"}}, "/optimizer", "unknown_name"),
    "an unknown option": ({"optimizer": {"kind": "sgd", "rate": 1.0}}, "/optimizer/rate", "attribute_invalid"),
    "an unknown schedule": ({"schedule": {"kind": "cosin"}}, "/schedule", "unknown_name"),
    "a schedule's option out of range": (
        {"schedule": {"kind": "exponential", "gamma": -1.0}},
        "/schedule/gamma",
        "attribute_invalid",
    ),
    "a fault in a nested schedule": (
        {"schedule": {**NESTED, "schedules": [NESTED["schedules"][0], {"kind": "exponential"}]}},
        "/schedule/schedules/1",
        "attribute_invalid",
    ),
    "an option out of range in a nested schedule": (
        {"schedule": {**NESTED, "schedules": [NESTED["schedules"][0], {"kind": "exponential", "gamma": -1}]}},
        "/schedule/schedules/1/gamma",
        "attribute_invalid",
    ),
    "a schedule that ends before the fit": (
        {"schedule": {"kind": "one_cycle", "total_steps": 1, "per": "step"}, "epochs": 9},
        "/schedule",
        "attribute_invalid",
    ),
    "a monitor without rows to validate on": (
        {"schedule": {"kind": "reduce_on_plateau", "monitor": "val_loss"}},
        "/schedule/monitor",
        "attribute_invalid",
    ),
    "an unknown metric": ({"metrics": [{"kind": "acuracy"}]}, "/metrics/0/kind", "unknown_name"),
    "an unknown precision": ({"precision": "float16"}, "/precision", "unknown_name"),
    "an unknown priority": ({"resources": {"priority": "urgent"}}, "/resources/priority", "unknown_name"),
    "an unknown feed": ({"feeds": {"z": "x"}}, "/feeds/z", "unknown_name"),
    "a feed of no column": ({"feeds": {"x": "z"}}, "/feeds/x", "unknown_column"),
    "a feed of another shape": ({"feeds": {"x": "y"}}, "/feeds/x", "shape_mismatch"),
    "an unknown validation dataset": ({"validation": {"dataset": "ds_1"}}, "/validation/dataset", "not_found"),
    "a split of all rows": ({"validation": {"split": 1.0}}, "/validation/split", "out_of_range"),
    "a label that is no text": ({"labels": {"a": 1}}, "/labels/a", "type_mismatch"),
    "a label with a strange key": ({"labels": {"a b": "c"}}, "/labels/a b", "malformed"),
}


@pytest.fixture
def request_(line: dict[str, Any], points: dict[str, Any]) -> dict[str, Any]:
    return {"graph": line["id"], "dataset": points["id"], "epochs": 1, "batch_size": 4}


@pytest.mark.parametrize("fault", REFUSED)
def test_a_faulty_fit_is_refused_with_a_pointer(http: httpx.Client, request_: dict[str, Any], fault: str) -> None:
    changes, pointer, code = REFUSED[fault]
    wrong = {name: value for name, value in {**request_, **changes}.items() if value is not None}
    response = http.post("/v1/fits", json=wrong)
    assert response.status_code == 422, response.text
    found = response.json()["errors"]
    assert (pointer, code) in [(error["pointer"], error["code"]) for error in found], found


def test_the_nearest_known_name_is_suggested(http: httpx.Client, request_: dict[str, Any]) -> None:
    wrong = {**request_, "batchsize": 3, "checkpoint": {"keep_lats": 1}}
    details = {error["pointer"]: error["detail"] for error in http.post("/v1/fits", json=wrong).json()["errors"]}
    assert "'batch_size'" in details["/batchsize"]
    assert "'keep_last'" in details["/checkpoint/keep_lats"]


def test_a_fit_runs_to_its_end(fit: dict[str, Any], line: dict[str, Any], points: dict[str, Any]) -> None:
    assert fit["terminal"]
    assert (fit["step"], fit["total_steps"], fit["epoch"], fit["progress"]) == (12, 12, 3, 1.0)
    assert (fit["graph"], fit["dataset"]) == (line["id"], points["id"])
    assert fit["latest"]["loss"] > 0
    assert fit["error"] is None
    assert [attempt["outcome"] for attempt in fit["attempts"]] == ["succeeded"]
    assert fit["created_at"] <= fit["started_at"] <= fit["finished_at"]


def test_a_fit_may_bring_its_graph_and_its_rows(http: httpx.Client) -> None:
    fit = http.post("/v1/fits", json=INLINE).json()
    assert http.get(f"/v1/graphs/{fit['graph']}").json()["parameter_count"] == 1
    assert http.get(f"/v1/datasets/{fit['dataset']}").json()["rows"] == 3
    assert fit["request"] == {"graph": fit["graph"], "dataset": fit["dataset"], "steps": 2}
    assert http.get(f"/v1/fits/{fit['id']}", params={"wait": LONGEST_WAIT}).json()["state"] == "succeeded"


def test_a_fit_follows_a_nested_schedule(http: httpx.Client) -> None:
    optimizer = {"kind": "sgd", "lr": 0.25}
    wanted = {**INLINE, "steps": 5, "optimizer": optimizer, "schedule": {**NESTED, "per": "step"}}
    fit = http.post("/v1/fits", json=wanted).json()
    assert http.get(f"/v1/fits/{fit['id']}", params={"wait": LONGEST_WAIT}).json()["state"] == "succeeded"
    rows = http.get(f"/v1/fits/{fit['id']}/metrics").json()["data"]
    assert [row["values"]["lr"] for row in rows if row["split"] == "train"] == [0.125, 0.1875, 0.25, 0.125, 0.0625]


def test_a_fit_reduces_its_rate_on_a_plateau(http: httpx.Client) -> None:
    reducing = {"kind": "reduce_on_plateau", "patience": 0, "threshold": 1e9, "threshold_mode": "abs", "factor": 0.5}
    schedule = {"kind": "warm_up", "total_iters": 1, "start_factor": 0.5, "schedule": reducing, "per": "step"}
    fit = http.post("/v1/fits", json={**INLINE, "steps": 4, "optimizer": {"kind": "sgd"}, "schedule": schedule}).json()
    assert http.get(f"/v1/fits/{fit['id']}", params={"wait": LONGEST_WAIT}).json()["state"] == "succeeded"
    rows = http.get(f"/v1/fits/{fit['id']}/metrics").json()["data"]
    assert [row["values"]["lr"] for row in rows if row["split"] == "train"] == [5e-4, 1e-3, 1e-3, 5e-4]


def test_a_refused_fit_leaves_neither_graph_nor_rows(http: httpx.Client) -> None:
    def newest() -> list[Any]:
        return [http.get(path, params={"limit": 1}).json()["data"] for path in ("/v1/graphs", "/v1/datasets")]

    before = newest()
    assert http.post("/v1/fits", json={**INLINE, "optimizer": {"kind": "jam"}}).status_code == 422
    assert newest() == before


def test_asking_again_costs_nothing_while_nothing_changes(http: httpx.Client, fit: dict[str, Any]) -> None:
    here = f"/v1/fits/{fit['id']}"
    tag = http.get(here).headers["etag"]
    again = http.get(here, headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert http.get(here, headers={"If-None-Match": '"other"'}).status_code == 200


def test_a_long_poll_ends_when_the_fit_does(http: httpx.Client, long_fit: dict[str, Any]) -> None:
    here = f"/v1/fits/{http.post('/v1/fits', json=long_fit).json()['id']}"
    answers = []
    waiting = threading.Thread(
        target=lambda: answers.append(http.get(here, params={"wait": LONGEST_WAIT, "until": "terminal"}))
    )
    waiting.start()
    change = http.get(here, params={"wait": LONGEST_WAIT, "until": "change"}, headers={"If-None-Match": 'W/"1"'})
    assert change.status_code == 200
    assert http.post(f"{here}:cancel").status_code == 202
    waiting.join()
    assert answers[0].json()["state"] == "cancelled"


def test_a_long_poll_gives_up_in_time(http: httpx.Client, long_fit: dict[str, Any]) -> None:
    here = f"/v1/fits/{http.post('/v1/fits', json=long_fit).json()['id']}"
    began = time.monotonic()
    assert not http.get(here, params={"wait": 0.2}).json()["terminal"]
    assert time.monotonic() - began >= 0.2
    http.post(f"{here}:cancel")


def test_what_is_cancelled_may_be_cancelled_again_and_what_has_ended_may_not(
    http: httpx.Client, fit: dict[str, Any], long_fit: dict[str, Any]
) -> None:
    here = f"/v1/fits/{http.post('/v1/fits', json=long_fit).json()['id']}"
    for _ in range(2):
        assert http.post(f"{here}:cancel").json()["state"] in ("cancelling", "cancelled")
    assert http.get(here, params={"wait": LONGEST_WAIT}).json()["state"] == "cancelled"
    assert http.post(f"{here}:cancel").status_code == 202
    refused = http.post(f"/v1/fits/{fit['id']}:cancel")
    assert (refused.status_code, refused.json()["code"]) == (409, "already_terminal")


def test_what_a_fit_works_with_is_not_deleted_before_it_ends(http: httpx.Client, long_fit: dict[str, Any]) -> None:
    graph = {**INLINE["graph"], "name": "shared with no other fit"}
    fit = http.post("/v1/fits", json={**INLINE, "graph": graph, "steps": 10_000_000}).json()
    paths = [f"/v1/graphs/{fit['graph']}", f"/v1/datasets/{fit['dataset']}", f"/v1/fits/{fit['id']}"]
    for path in paths:
        assert http.delete(path).status_code == 409
    http.post(f"{paths[-1]}:cancel")
    assert http.get(paths[-1], params={"wait": LONGEST_WAIT}).json()["state"] == "cancelled"
    for path in reversed(paths):
        assert http.delete(path).status_code == 204
        assert http.get(path).status_code == 404


def test_labels_are_set_removed_and_filtered_by(http: httpx.Client, request_: dict[str, Any]) -> None:
    fit = http.post("/v1/fits", json={**request_, "labels": {"team": "blue", "run": "1"}}).json()
    here = f"/v1/fits/{fit['id']}"
    assert http.get(here, params={"wait": LONGEST_WAIT}).json()["labels"] == {"team": "blue", "run": "1"}
    tag = http.get(here).headers["etag"]
    patched = http.patch(here, json={"labels": {"run": None, "owner": "me"}}, headers={"If-Match": tag})
    assert patched.json()["labels"] == {"team": "blue", "owner": "me"}
    stale = http.patch(here, json={"labels": {}}, headers={"If-Match": tag})
    assert stale.status_code == 412
    found = http.get("/v1/fits", params={"label": "owner:me"}).json()["data"]
    assert [item["id"] for item in found] == [fit["id"]]
    assert http.get("/v1/fits", params={"label": "owner:you"}).json()["data"] == []


def test_fits_are_listed_by_state(http: httpx.Client, fit: dict[str, Any]) -> None:
    page = http.get("/v1/fits", params={"state": "succeeded", "limit": 1000}).json()
    assert fit["id"] in [item["id"] for item in page["data"]]
    assert {item["state"] for item in page["data"]} == {"succeeded"}
    wrong = http.get("/v1/fits", params={"state": "done"})
    assert (wrong.status_code, wrong.json()["errors"][0]["pointer"]) == (422, "/state")


def test_a_full_queue_is_reported_with_a_time_to_come_back(cramped: Any) -> None:
    answers = [cramped.http.post("/v1/fits", json={**INLINE, "steps": 10_000_000}) for _ in range(4)]
    refused = answers[-1]
    for answer in answers:
        if answer.status_code == 202:
            fit_id = answer.json()["id"]
            cramped.http.post(f"/v1/fits/{fit_id}:cancel")
            cramped.http.get(f"/v1/fits/{fit_id}", params={"wait": LONGEST_WAIT})
    assert refused.status_code == 429
    assert refused.json()["code"] == "queue_full"
    assert int(refused.headers["retry-after"]) >= 1


@pytest.mark.parametrize("where", ["/dataset", "/validation/dataset"])
def test_missing_values_that_nothing_handles_are_refused_before_the_fit_is_accepted(
    http: httpx.Client, where: str
) -> None:
    def uploaded(body: str) -> str:
        answer = http.post("/v1/datasets", content=body, headers={"content-type": "text/csv"})
        dataset_id: str = answer.json()["id"]
        return dataset_id

    gap, whole = uploaded("x,other\n1.5,1\n,2\n2.5,3\n"), uploaded("x,other\n1.5,\n2.0,2\n2.5,3\n")
    training, validation = (gap, whole) if where == "/dataset" else (whole, gap)
    request = {**INLINE, "dataset": training, "validation": {"dataset": validation}}
    answer = http.post("/v1/fits", json=request)
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert (error["pointer"], error["code"]) == (where, "missing_values")
    assert "1 missing value (NaN) in 3 rows" in error["detail"]
    filled = {**INLINE["graph"], "program": "loss = mean((nan_to_num(x) * w - 1) ** 2)"}
    assert http.post("/v1/fits", json={**request, "graph": filled}).status_code == 202
    assert http.post("/v1/fits", json={**request, "divergence": {"action": "continue"}}).status_code == 202


def test_a_graph_that_pairs_rows_by_broadcasting_is_warned_of_wherever_it_is_looked_at(http: httpx.Client) -> None:
    graph = {
        "inputs": {"x": ["batch", 1], "y": ["batch"]},
        "parameters": {"w": [1, 1]},
        "program": "loss = mean((x @ w - y) ** 2)",
    }
    for route in ("/v1/graphs", "/v1/graphs:validate"):
        (finding,) = http.post(route, json=graph).json()["findings"]
        assert (finding["severity"], finding["code"], finding["pointer"]) == (
            "warning",
            "broadcast_operands",
            "/program",
        )
        assert "['batch', 'batch']" in finding["detail"]
    rows = {"columns": {"x": {"dtype": "float32", "shape": [4, 1], "data": [1, 2, 3, 4]}, "y": [1.5, 2, 3, 4]}}
    fit = http.post("/v1/fits", json={"graph": graph, "dataset": rows, "steps": 1}).json()
    events = http.get(f"/v1/fits/{fit['id']}/events", params={"timeout": 20}).text
    assert '"code":"broadcast_operands"' in events.replace(": ", ":")
