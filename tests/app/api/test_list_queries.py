"""Lists: filters by label, name and age, orders, and errors for what a list cannot be asked for."""

from typing import Any

import httpx
import pytest

from tests.app.api.conftest import created, refused

GRAPH = {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean((x * w) ** 2)"}
FIT = {
    "graph": GRAPH,
    "dataset": {"columns": {"x": [1.0, 2.0]}},
    "optimizer": {"kind": "sgd", "lr": 0.1},
    "steps": 1,
    "batch_size": 2,
}
REQUESTS: dict[str, dict[str, Any]] = {"fits": FIT, "sessions": {"graph": GRAPH}}
ASKED = {
    "labelled_colour:red": (1, None),
    "labelled_colour:blue": (0, "no_match"),
    "labelled_color:red": (0, "unknown_name"),
}


@pytest.mark.parametrize("kind", REQUESTS)
def test_a_label_that_nothing_has_is_reported(http: httpx.Client, kind: str) -> None:
    built = http.post(f"/v1/{kind}", json={**REQUESTS[kind], "labels": {"labelled_colour": "red"}})
    assert built.status_code in (201, 202), built.text
    for label, (count, code) in ASKED.items():
        page: dict[str, Any] = http.get(f"/v1/{kind}", params={"label": label}).json()
        assert len(page["data"]) == count
        assert [finding["code"] for finding in page["findings"]] == ([] if code is None else [code])
    assert "did you mean 'labelled_colour'" in page["findings"][0]["detail"]
    in_another_state = {"label": "labelled_colour:red", "state": "failed"}
    assert http.get(f"/v1/{kind}", params=in_another_state).json()["findings"] == []


REFUSED = {
    "/v1/fits?order_by=loss": ("/order_by", "unknown_name"),
    "/v1/graphs?order_by=step": ("/order_by", "unknown_name"),
    "/v1/graphs?state=running": ("/state", "unknown_parameter"),
    "/v1/checkpoints?name=a": ("/name", "unknown_parameter"),
    "/v1/checkpoints?fit=fit_1": ("/fit", "not_found"),
    "/v1/datasets?name=": ("/name", "out_of_range"),
    "/v1/datasets?created_after=yesterday": ("/created_after", "malformed"),
    "/v1/sessions?created_before=2026-01-31T12:00:00": ("/created_before", "malformed"),
    "/v1/fits?order_by=name&cursor=Zml0XzE": ("/cursor", "invalid_cursor"),
}


@pytest.mark.parametrize("path", REFUSED)
def test_what_a_list_cannot_be_asked_for_is_refused(http: httpx.Client, path: str) -> None:
    assert refused(http.get(path)) == [REFUSED[path]]


@pytest.mark.parametrize("kind", ["fits", "sessions"])
def test_a_name_is_given_shown_and_found(http: httpx.Client, kind: str) -> None:
    names = [f"listed-{kind}-b", f"listed-{kind}-a"]
    ids = [created(http.post(f"/v1/{kind}", json={**REQUESTS[kind], "name": name}))["id"] for name in names]
    query = {"name_prefix": f"listed-{kind}", "order_by": "name", "order": "asc", "created_after": "2026-01-31"}
    found = http.get(f"/v1/{kind}", params=query).json()["data"]
    assert [(each["name"], each["id"]) for each in found] == sorted(zip(names, ids, strict=True))
    (finding,) = http.get(f"/v1/{kind}", params={"name": f"listed-{kind}-"}).json()["findings"]
    assert (finding["pointer"], finding["code"]) == ("/name", "no_match")


def test_a_fit_is_renamed_at_any_time(http: httpx.Client, fit: dict[str, Any]) -> None:
    path = f"/v1/fits/{fit['id']}"
    for name in ("listed again", None):
        assert http.patch(path, json={"name": name}).json()["name"] == name
        assert http.get(path).json()["name"] == name
    assert "name" not in http.get(path).json()["request"]


def test_checkpoints_of_all_fits_are_listed(http: httpx.Client, fit: dict[str, Any]) -> None:
    of_fit = http.get(f"/v1/fits/{fit['id']}/checkpoints").json()["data"]
    query = {"fit": fit["id"], "graph": fit["graph"], "order_by": "step"}
    assert http.get("/v1/checkpoints", params=query).json()["data"] == of_fit
    assert http.get("/v1/checkpoints", params={"limit": 1}).json()["has_more"]
