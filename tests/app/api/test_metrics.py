import csv
import io
import json
from typing import Any

import httpx
import pytest


@pytest.fixture(scope="module")
def here(http: httpx.Client, line: dict[str, Any], points: dict[str, Any]) -> str:
    """Return the path of the rows of a fit of 60 steps in 15 epochs, with validation."""
    request = {
        "graph": line["id"],
        "dataset": points["id"],
        "epochs": 15,
        "batch_size": 3,
        "validation": {"split": 0.25},
        "optimizer": {"kind": "sgd", "lr": 0.05},
    }
    fit = http.post("/v1/fits", json=request).json()
    assert http.get(f"/v1/fits/{fit['id']}", params={"wait": 30}).json()["state"] == "succeeded"
    return f"/v1/fits/{fit['id']}/metrics"


@pytest.fixture(scope="module")
def rows(http: httpx.Client, here: str) -> list[dict[str, Any]]:
    return http.get(here, params={"limit": 10_000}).json()["data"]


def test_rows_are_numbered_without_gaps(rows: list[dict[str, Any]]) -> None:
    assert [row["seq"] for row in rows] == [*range(1, 76)]
    assert [row["step"] for row in rows if row["split"] == "train"] == [*range(1, 61)]
    assert sum(row["split"] == "validation" for row in rows) == 15
    assert {"loss", "lr", "grad_norm", "grad_norm/w"} <= rows[0]["values"].keys()


def test_pages_make_up_the_whole(http: httpx.Client, here: str, rows: list[dict[str, Any]]) -> None:
    gathered: list[Any] = []
    after, more = 0, True
    while more:
        page = http.get(here, params={"after": after, "limit": 20}).json()
        gathered += page["data"]
        after, more = page["next_after"], page["has_more"]
        assert page["next_cursor"] == (str(after) if more else None)
    assert gathered == rows
    assert http.get(here, params={"after": after}).json()["data"] == []


def test_every_format_says_the_same(http: httpx.Client, here: str, rows: list[dict[str, Any]]) -> None:
    lines = http.get(here, params={"format": "ndjson"})
    assert lines.headers["content-type"].startswith("application/x-ndjson")
    assert [json.loads(line) for line in lines.text.splitlines()] == rows
    table = http.get(here, params={"format": "csv"})
    assert table.headers["content-type"].startswith("text/csv")
    for record, row in zip(csv.DictReader(io.StringIO(table.text)), rows, strict=True):
        assert int(record["seq"]) == row["seq"]
        assert float(record["loss"]) == row["values"]["loss"]


def test_rows_are_thinned_out_as_asked(http: httpx.Client, here: str, rows: list[dict[str, Any]]) -> None:
    filters: dict[str, Any] = {"keys": "loss,lr", "every": 5, "split": "train", "limit": 7}
    page = http.get(here, params=filters).json()
    assert [row["step"] for row in page["data"]] == [5, 10, 15, 20, 25, 30, 35]
    assert all(row["values"].keys() == {"loss", "lr"} for row in page["data"])
    rest = http.get(here, params={**filters, "after": page["next_after"]}).json()
    assert [row["step"] for row in rest["data"]] == [40, 45, 50, 55, 60]
    assert not http.get(here, params={**filters, "after": rest["next_after"]}).json()["data"]


def test_downsampling_keeps_the_extremes(http: httpx.Client, here: str, rows: list[dict[str, Any]]) -> None:
    few = http.get(here, params={"downsample": 12}).json()["data"]
    assert len(few) <= 12
    assert [row for row in rows if row in few] == few
    for split in ("train", "validation"):
        losses = [row["values"]["loss"] for row in rows if row["split"] == split]
        kept = [row["values"]["loss"] for row in few if row["split"] == split]
        assert (min(kept), max(kept)) == (min(losses), max(losses))
    assert http.get(here, params={"downsample": 1000}).json()["data"] == rows


@pytest.mark.parametrize("params", [{"after": -1}, {"limit": 0}, {"every": 0}, {"format": "xml"}, {"downsample": 1}])
def test_nonsense_is_refused_with_a_pointer(http: httpx.Client, here: str, params: dict[str, Any]) -> None:
    response = http.get(here, params=params)
    assert response.status_code == 422
    assert [error["pointer"] for error in response.json()["errors"]] == [f"/{name}" for name in params]


def test_a_fit_that_diverges_can_still_be_read(
    http: httpx.Client, line: dict[str, Any], points: dict[str, Any]
) -> None:
    request = {"graph": line["id"], "dataset": points["id"], "steps": 40, "optimizer": {"kind": "sgd", "lr": 1e30}}
    here = f"/v1/fits/{http.post('/v1/fits', json=request).json()['id']}"
    fit = http.get(here, params={"wait": 30}).json()
    assert fit["terminal"]
    assert fit["latest"]["loss"] is None
    assert fit["nonfinite"]["loss"] in ("nan", "inf")
    last = http.get(f"{here}/metrics").json()["data"][-1]
    assert last["values"]["loss"] is None
    assert last["nonfinite"]["loss"] in ("nan", "inf")
    assert http.get(f"{here}/metrics", params={"downsample": 2}).status_code == 200
    assert http.get(f"{here}/events").text.endswith("\n\n")
