import csv
import io
import json
import math
import sqlite3
from contextlib import closing
from typing import Any

import httpx
import pytest

from app.store.database import FILE_NAME
from tests.app.api.conftest import refused
from tests.support.patience import LONGEST_WAIT


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
    assert http.get(f"/v1/fits/{fit['id']}", params={"wait": LONGEST_WAIT}).json()["state"] == "succeeded"
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


@pytest.mark.parametrize(
    ("query", "pointer", "code"),
    [
        ({"keys": "foo"}, "/keys", "unknown_name"),
        ({"keys": "loss,val_loss"}, "/keys", "unknown_name"),
        ({"keys": ""}, "/keys", "out_of_range"),
        ({"every": 61}, "/every", "out_of_range"),
        ({"after": 76}, "/after", "out_of_range"),
        ({"limit": 10_001}, "/limit", "out_of_range"),
        ({"downsample": 10, "keys": "los"}, "/keys", "unknown_name"),
        ({"format": "csv", "keys": "los"}, "/keys", "unknown_name"),
    ],
)
def test_a_query_that_nothing_can_match_is_refused(
    http: httpx.Client, here: str, query: dict[str, Any], pointer: str, code: str
) -> None:
    assert refused(http.get(here, params=query)) == [(pointer, code)]


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


@pytest.mark.parametrize(("divergence", "state"), [(None, "failed"), ({"action": "continue"}, "succeeded")])
def test_a_fit_that_diverges_can_still_be_read(
    http: httpx.Client, line: dict[str, Any], points: dict[str, Any], divergence: dict[str, str] | None, state: str
) -> None:
    request = {
        "graph": line["id"],
        "dataset": points["id"],
        "steps": 40,
        "optimizer": {"kind": "sgd", "lr": 1e30},
        "divergence": divergence,
    }
    here = f"/v1/fits/{http.post('/v1/fits', json=request).json()['id']}"
    fit = http.get(here, params={"wait": LONGEST_WAIT}).json()
    assert fit["state"] == state
    assert state == "succeeded" or fit["error"]["code"] == "numerics_nonfinite"
    assert state == "succeeded" or f"loss of step {fit['step']} is" in fit["error"]["detail"]
    assert fit["latest"]["loss"] is None
    assert fit["nonfinite"]["loss"] in ("nan", "inf")
    last = http.get(f"{here}/metrics").json()["data"][-1]
    assert last["values"]["loss"] is None
    assert last["nonfinite"]["loss"] in ("nan", "inf")
    assert http.get(f"{here}/metrics", params={"downsample": 2}).status_code == 200
    assert http.get(f"{here}/events").text.endswith("\n\n")


def test_gradient_norms_in_all_and_of_each_parameter_are_values_of_rows(
    http: httpx.Client, here: str, rows: list[dict[str, Any]]
) -> None:
    keys = ["grad_norm", "grad_norm/w", "grad_norm/c"]
    listed = http.get(here, params={"keys": ",".join(keys), "split": "train"}).json()["data"]
    assert len(listed) == 60
    for row in listed:
        assert [*row["values"]] == keys
        total, *each = row["values"].values()
        assert total == pytest.approx(math.hypot(*each), rel=1e-5)
        assert row["values"] == {key: rows[row["seq"] - 1]["values"][key] for key in keys}
    (only,) = http.get(here, params={"keys": "grad_norm/w", "limit": 1}).json()["data"]
    assert [*only["values"]] == ["grad_norm/w"]
    text = http.get(here, params={"keys": "grad_norm/w", "split": "train", "format": "csv"}).text
    assert text.splitlines()[0] == "seq,step,epoch,split,grad_norm/w"


@pytest.mark.parametrize("params", [{}, {"every": 1, "keys": "loss"}, {"format": "ndjson"}, {"format": "csv"}], ids=str)
def test_numbers_read_back_to_the_bits_that_were_stored(
    http: httpx.Client, here: str, server: Any, params: dict[str, Any]
) -> None:
    fit_id = here.split("/")[3]
    with closing(sqlite3.connect(f"file:{server.data_dir / FILE_NAME}?mode=ro", uri=True)) as database:
        found = database.execute("SELECT body FROM events WHERE fit_id = ? AND kind = 'metric' ORDER BY seq", [fit_id])
        stored = [json.loads(body)["values"]["loss"] for (body,) in found]
    assert len(stored) == 75
    answer = http.get(here, params={"limit": 10_000, **params})
    if params.get("format") == "csv":
        read = [float(row["loss"]) for row in csv.DictReader(io.StringIO(answer.text))]
    elif params.get("format") == "ndjson":
        read = [json.loads(line)["values"]["loss"] for line in answer.text.splitlines()]
    else:
        read = [row["values"]["loss"] for row in answer.json()["data"]]
    assert [value.hex() for value in read] == [value.hex() for value in stored]


QUERIES: list[dict[str, Any]] = [
    {},
    {"after": 75},
    {"after": 10, "limit": 5},
    {"keys": "loss"},
    {"every": 5, "split": "train"},
    {"downsample": 10},
    {"format": "csv"},
    {"format": "ndjson"},
]


@pytest.mark.parametrize("params", QUERIES, ids=str)
def test_the_curve_of_a_finished_fit_is_not_sent_again(http: httpx.Client, here: str, params: dict[str, Any]) -> None:
    tag = http.get(here, params=params).headers["etag"]
    again = http.get(here, params=params, headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    others = [query for query in QUERIES if query != params]
    assert all(http.get(here, params=other, headers={"If-None-Match": tag}).status_code == 200 for other in others)
    assert http.get(here, params=params, headers={"If-None-Match": '"another"'}).status_code == 200


def test_a_curve_that_grows_has_another_tag_with_each_row(http: httpx.Client, long_fit: dict[str, Any]) -> None:
    fit_id = http.post("/v1/fits", json=long_fit).json()["id"]
    here, known, seen = f"/v1/fits/{fit_id}/metrics", {}, 0
    while seen < 50:
        tag = http.get(here, params={"limit": 10_000}).headers["etag"]
        answer = http.get(here, params={"limit": 10_000}, headers={"If-None-Match": tag})
        if answer.status_code == 200:
            seen = answer.json()["next_after"]
            assert known.setdefault(answer.headers["etag"], answer.content) == answer.content
            assert answer.headers["etag"] != tag
    http.post(f"/v1/fits/{fit_id}:cancel")
    http.get(f"/v1/fits/{fit_id}", params={"wait": LONGEST_WAIT})
    last = http.get(here, params={"limit": 10_000})
    assert http.get(here, params={"limit": 10_000}, headers={"If-None-Match": last.headers["etag"]}).status_code == 304


def test_there_are_no_rows_of_an_unknown_fit_even_for_who_has_them_all(http: httpx.Client) -> None:
    answer = http.get("/v1/fits/fit_01m7xpv32a4ykd0nsmnkebvv3p/metrics", headers={"If-None-Match": "*"})
    assert answer.status_code == 404


@pytest.fixture(scope="module")
def diverged(http: httpx.Client, line: dict[str, Any], points: dict[str, Any]) -> dict[str, Any]:
    """Return a fit whose losses grow without bound, and go on doing so to the end."""
    request = {
        "graph": line["id"],
        "dataset": points["id"],
        "steps": 60,
        "validation": {"split": 0.25, "every_steps": 10, "every_epochs": None},
        "optimizer": {"kind": "sgd", "lr": 1e6},
        "divergence": {"action": "continue"},
        "checkpoint": {"every_steps": 20},
        "record": {"gradients": {"steps": [50]}},
    }
    fit = http.post("/v1/fits", json=request).json()
    done: dict[str, Any] = http.get(f"/v1/fits/{fit['id']}", params={"wait": LONGEST_WAIT}).json()
    assert done["terminal"]
    return done


ROUTES = [
    "",
    "?wait=1",
    "/metrics",
    "/metrics?downsample=5",
    "/metrics?downsample=5&keys=grad_norm",
    "/metrics?keys=loss&every=2",
    "/metrics?format=ndjson",
    "/metrics?format=csv",
    "/events",
    "/checkpoints",
    "/checkpoints/latest",
    "/gradients",
    "/gradients/w",
    "/gradients/w?stats=true",
]


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_of_a_fit_that_diverges_answers_with_what_is_json(
    http: httpx.Client, diverged: dict[str, Any], route: str
) -> None:
    answer = http.get(f"/v1/fits/{diverged['id']}{route}")
    assert answer.status_code == 200, answer.text
    kind = answer.headers["content-type"].split(";")[0]
    texts = {
        "application/json": [answer.text],
        "application/x-ndjson": answer.text.splitlines(),
        "text/event-stream": [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")],
        "text/csv": [],
    }[kind]
    for text in texts:
        json.loads(text, parse_constant=refuse)
    assert kind == "text/csv" or texts


def refuse(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def test_what_is_not_finite_is_reported_wherever_it_stands(http: httpx.Client, diverged: dict[str, Any]) -> None:
    here = f"/v1/fits/{diverged['id']}"
    names = {"nan", "inf", "-inf"}
    assert (diverged["latest"]["loss"], diverged["nonfinite"]["loss"] in names) == (None, True)
    rows = http.get(f"{here}/metrics").json()["data"]
    assert rows[0]["nonfinite"] == {}
    for row in rows:
        unknown = {key for key, value in row["values"].items() if value is None}
        assert unknown == row["nonfinite"].keys()
        assert names.issuperset(row["nonfinite"].values())
    last = {row["split"]: row for row in rows}
    assert last["train"]["nonfinite"].keys() >= {"loss", "grad_norm", "grad_norm/w", "grad_norm/c"}
    assert last["validation"]["nonfinite"].keys() >= {"loss"}
    table = [*csv.DictReader(io.StringIO(http.get(f"{here}/metrics", params={"format": "csv"}).text))]
    assert [line["loss"] for line in table if line["loss"] in names] == [
        row["nonfinite"]["loss"] for row in rows if "loss" in row["nonfinite"]
    ]
    checkpoint = http.get(f"{here}/checkpoints/latest").json()
    assert checkpoint["metrics"]["loss"] is None
    assert checkpoint["nonfinite"]["loss"] in names
    events = http.get(f"{here}/events").text
    announced = [json.loads(line[6:]) for line in events.splitlines() if line.startswith('data: {"id"')]
    assert announced[-1]["nonfinite"] == checkpoint["nonfinite"]
    assert announced[-1]["metrics"] == checkpoint["metrics"]
    document = [json.loads(line[6:]) for line in events.splitlines() if line.startswith('data: {"seq"')]
    assert document == rows


def test_rows_have_the_time_at_which_they_were_stored(
    http: httpx.Client, here: str, rows: list[dict[str, Any]]
) -> None:
    for query in ({"limit": 10_000}, {"downsample": 10_000}, {"downsample": 20}, {"every": 2}):
        plain = http.get(here, params={**query}).json()["data"]
        timed = http.get(here, params={**query, "timestamps": True}).json()["data"]
        moments = [row.pop("at") for row in timed]
        assert timed == plain
        assert moments == sorted(moments)
    table = http.get(here, params={"format": "csv", "timestamps": True}).text.splitlines()
    assert table[0].startswith("seq,step,epoch,split,at,")
    assert len(table) == len(rows) + 1
