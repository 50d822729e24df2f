"""Bundles and replays through the whole server."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from app.api.schemas.bundles import Bundle
from app.http.validation import validated
from tests.support.patience import LONGEST_WAIT

from .conftest import LINE, POINTS, RECIPE, bundle_of, created, refused

Document = dict[str, Any]

# Everything whose state could be left out: random numbers, running statistics, momentum, averages, the order of rows.
DEMANDING: Document = {
    "graph": {
        "inputs": {"x": ["batch", 2], "label": {"shape": ["batch"], "dtype": "int64"}},
        "layers": [
            {"layer": "linear", "units": 8, "activation": "relu"},
            {"layer": "batch_norm"},
            {"layer": "dropout", "p": 0.3},
            {"layer": "linear", "units": 2},
        ],
        "loss": {"kind": "cross_entropy", "target": "label"},
    },
    "dataset": {"columns": {"x": [[i / 8, (i % 5) / 4] for i in range(24)], "label": [i % 2 for i in range(24)]}},
    "optimizer": {"kind": "adam", "lr": 0.01},
    "validation": {"split": 0.25},
    "metrics": ["accuracy"],
    "early_stopping": {"patience": 2},
    "epochs": 6,
    "batch_size": 5,
    "seed": 11,
}

EQUAL = {"bit_exact": True, "differences": [], "first_row": None}


def ended(http: httpx.Client, fit_id: str) -> Document:
    fit: Document = http.get(f"/v1/fits/{fit_id}", params={"wait": LONGEST_WAIT}).json()
    assert fit["terminal"], fit
    return fit


def submitted(http: httpx.Client, **changes: Any) -> Document:
    fit = ended(
        http, created(http.post("/v1/fits", json={"graph": LINE, "dataset": POINTS, **RECIPE, **changes}))["id"]
    )
    assert fit["state"] == "succeeded", fit
    return fit


def replayed(http: httpx.Client, **body: Any) -> Document:
    answer = http.post("/v1/fits:replay", json=body)
    assert answer.status_code == 202, answer.text
    queued = answer.json()
    assert answer.headers["location"] == f"/v1/fits/{queued['id']}"
    assert queued["replay"]["verdict"] is None
    fit = ended(http, queued["id"])
    assert fit["state"] == "succeeded", fit
    return fit


def journal(http: httpx.Client, fit_id: str) -> list[tuple[str, Document]]:
    entries = http.get(f"/v1/fits/{fit_id}/events").text.split("\n\n")
    lines = [dict(line.split(": ", 1) for line in entry.splitlines()) for entry in entries if "data: " in entry]
    return [(line["event"], json.loads(line["data"])) for line in lines]


def logged(http: httpx.Client, fit_id: str) -> list[str]:
    events = journal(http, fit_id)
    assert events[-1][0] == "end", "nothing follows the end"
    return [body["code"] for kind, body in events if kind == "log"]


def test_a_bundle_holds_all_that_decides_about_a_result(
    http: httpx.Client, fit: Document, line: Document, points: Document, bundle: Document
) -> None:
    assert (bundle["object"], bundle["format"], bundle["fit"]["id"]) == ("bundle", "adjoint-bundle/1", fit["id"])
    assert (bundle["graph"]["digest"], bundle["graph"]["definition"]) == (line["digest"], line["definition"])
    (dataset,) = bundle["datasets"]
    assert (dataset["digest"], dataset["rows"]) == (points["digest"], 16)
    assert [column["name"] for column in dataset["columns"]] == ["x", "y"]
    assert (bundle["request"], bundle["seed"]) == (fit["request"], RECIPE["seed"])
    assert bundle["runtime"]["fingerprint"] == fit["runtime"]["fingerprint"]
    assert (bundle["bit_exact"], bundle["origin"], bundle["reopened_at"]) == (True, None, None)
    assert bundle["attempts"] == [{"number": 1, "outcome": "succeeded"}]
    result = bundle["result"]
    assert (result["state"], result["steps"], result["total_steps"]) == ("succeeded", 12, 12)
    rows = http.get(f"/v1/fits/{fit['id']}/metrics", params={"format": "ndjson"}).content
    assert result["metrics"] == {"rows": 12, "digest": hashlib.sha256(rows).hexdigest()}
    latest = http.get(f"/v1/fits/{fit['id']}/checkpoints/latest").json()
    assert result["checkpoint"] == {"id": latest["id"], "digest": latest["digest"]}
    assert len({result["parameters"], result["buffers"], result["optimizer"]}) > 1


def test_a_bundle_is_the_same_bytes_each_time_and_need_not_be_sent_twice(http: httpx.Client, fit: Document) -> None:
    first, second = (http.get(f"/v1/fits/{fit['id']}/bundle") for _ in range(2))
    assert first.content == second.content
    assert first.content == json.dumps(first.json(), separators=(",", ":")).encode()
    again = http.get(f"/v1/fits/{fit['id']}/bundle", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_bundle_has_the_shape_that_is_declared(bundle: Document) -> None:
    assert validated(Bundle, bundle).model_dump() == bundle


@pytest.mark.parametrize("changes", [{}, DEMANDING], ids=["plain", "demanding"])
def test_a_replay_comes_out_equal_to_the_bit(http: httpx.Client, changes: Document) -> None:
    original = submitted(http, **changes)
    replay = replayed(http, fit=original["id"], labels={"why": "proof"}, resources={"priority": "high"})
    found = replay["replay"]
    assert found["verdict"] == EQUAL
    assert (found["of"], found["same_numerics"], found["numerics_differences"]) == (original["id"], True, [])
    assert logged(http, replay["id"])[-1] == "replayed"
    assert replay["labels"] == {"why": "proof"}
    assert (replay["graph"], replay["dataset"]) == (original["graph"], original["dataset"])
    assert {name: replay["runtime"][name] for name in ("executor", "threads", "fingerprint")} == {
        name: original["runtime"][name] for name in ("executor", "threads", "fingerprint")
    }
    again = bundle_of(http, replay["id"])["result"]
    assert {**again, "checkpoint": None} == {**bundle_of(http, original["id"])["result"], "checkpoint": None}


def test_a_bundle_is_replayed_where_its_fit_and_its_graph_are_gone(http: httpx.Client) -> None:
    original = submitted(http, dataset={"columns": POINTS["columns"]}, graph={**LINE, "outputs": ["loss"]})
    bundle = bundle_of(http, original["id"])
    assert http.delete(f"/v1/fits/{original['id']}").status_code == 204
    assert http.delete(f"/v1/graphs/{original['graph']}").status_code == 204
    replay = replayed(http, bundle=bundle)
    assert replay["replay"]["verdict"] == EQUAL
    assert replay["graph"] != original["graph"]


def test_the_order_of_names_in_a_graph_is_kept(http: httpx.Client) -> None:
    swapped = {**LINE, "parameters": {"c": [], "w": [2]}}
    assert (
        created(http.post("/v1/graphs", json=swapped))["digest"]
        == created(http.post("/v1/graphs", json=LINE))["digest"]
    )
    original = submitted(http, graph=swapped)
    bundle = bundle_of(http, original["id"])
    assert [*bundle["graph"]["definition"]["parameters"]] == ["c", "w"]
    bundle["graph"]["id"] = "graph_of_another_server"
    assert replayed(http, bundle=bundle)["replay"]["verdict"] == EQUAL


def test_data_is_found_by_its_content_whatever_file_it_came_in(http: httpx.Client) -> None:
    columns = {"x": [[i / 3, i / 7] for i in range(8)], "y": [i / 5 for i in range(8)]}
    original = submitted(http, dataset={"columns": columns})
    bundle = bundle_of(http, original["id"])
    http.delete(f"/v1/fits/{original['id']}")
    assert http.delete(f"/v1/datasets/{original['dataset']}").status_code == 204
    gone = http.post("/v1/fits:replay", json={"bundle": bundle})
    assert refused(gone) == [("/bundle/datasets/0/digest", "not_found")]
    assert bundle["datasets"][0]["digest"] in gone.json()["detail"]
    lines = "".join(f"{json.dumps({'y': y, 'x': x})}\n" for x, y in zip(columns["x"], columns["y"], strict=True))
    again = created(http.post("/v1/datasets", content=lines, headers={"Content-Type": "application/x-ndjson"}))
    replay = replayed(http, bundle=bundle)
    assert replay["dataset"] == again["id"]
    assert replay["replay"]["verdict"] == EQUAL


def test_a_fit_that_a_clock_ended_is_replayed_for_as_many_steps(http: httpx.Client) -> None:
    original = submitted(http, budget={"seconds": 0.01}, epochs=100_000, record={"every_steps": 7})
    assert original["step"] < original["total_steps"]
    replay = replayed(http, fit=original["id"])
    assert replay["replay"]["verdict"] == EQUAL
    assert replay["step"] == original["step"]


def test_held_out_datasets_and_several_of_them_are_replayed(http: httpx.Client, points: Document) -> None:
    more = created(http.post("/v1/datasets", json={"columns": POINTS["columns"], "name": "more"}))
    fields = {"dataset": [points["id"], more["id"]], "validation": {"dataset": points["id"]}}
    original = submitted(http, **fields)
    bundle = bundle_of(http, original["id"])
    assert [len(bundle[name]) for name in ("datasets", "validation_datasets")] == [2, 1]
    assert replayed(http, bundle=bundle)["replay"]["verdict"] == EQUAL


@pytest.mark.parametrize("restore", ["all", "parameters"])
def test_a_fork_is_replayed_from_the_checkpoint_it_began_with(http: httpx.Client, restore: str) -> None:
    base = submitted(http, clip={"norm": 5.0})
    begun_from = http.get(f"/v1/fits/{base['id']}/checkpoints", params={"order": "asc"}).json()["data"][0]
    choice = {"checkpoint": begun_from["id"], "restore": restore}
    changes = {"from_checkpoint": choice, "optimizer": {"kind": "sgd", "lr": 0.02}, "epochs": 4, "clip": None}
    forked = created(http.post("/v1/fits", json=changes))["id"]
    assert ended(http, forked)["state"] == "succeeded"
    origin = bundle_of(http, forked)["origin"]
    assert (origin["digest"], origin["restore"], origin["fit"]) == (begun_from["digest"], restore, base["id"])
    assert set(origin["state"]) == {"parameters", "buffers", "optimizer"}
    replay = replayed(http, bundle=bundle_of(http, forked))
    assert replay["replay"]["verdict"] == EQUAL
    assert replay["origin"]["checkpoint"] == begun_from["id"]
    bundle = bundle_of(http, forked)
    for fit_id in (base["id"], replay["id"], forked):
        http.delete(f"/v1/fits/{fit_id}")
    gone = http.post("/v1/fits:replay", json={"bundle": bundle})
    assert refused(gone) == [("/bundle/origin/digest", "not_found")]


def test_a_fit_that_was_changed_on_the_way_has_a_bundle_and_no_replay(http: httpx.Client) -> None:
    fit = submitted(http)
    assert http.post(f"/v1/fits/{fit['id']}:extend", json={"epochs": 1}).status_code == 202
    assert ended(http, fit["id"])["state"] == "succeeded"
    bundle = bundle_of(http, fit["id"])
    assert (bundle["reopened_at"], bundle["result"]["steps"]) == (12, 16)
    answer = http.post("/v1/fits:replay", json={"fit": fit["id"]})
    assert (answer.status_code, answer.json()["code"]) == (409, "changed_on_the_way")
    assert refused(http.post("/v1/fits:replay", json={"bundle": bundle})) == [
        ("/bundle/reopened_at", "changed_on_the_way")
    ]


def changed_row_digest(bundle: Document) -> None:
    bundle["result"]["metrics"]["digest"] = "0" * 64


def changed_seed(bundle: Document) -> None:
    bundle["request"]["seed"] = bundle["seed"] = 2


def changed_optimizer(bundle: Document) -> None:
    bundle["result"]["optimizer"] = "1" * 64


def changed_steps(bundle: Document) -> None:
    bundle["request"]["epochs"] = 2


TAMPERED: dict[str, tuple[Callable[[Document], None], set[str], int | None]] = {
    "another digest of the rows": (changed_row_digest, {"metrics"}, None),
    "another seed": (changed_seed, {"metrics", "parameters"}, 1),
    "another optimizer state": (changed_optimizer, {"optimizer"}, None),
    "fewer epochs": (changed_steps, {"steps", "metrics", "parameters"}, 9),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_what_does_not_come_out_is_named(http: httpx.Client, tampered: Document, what: str) -> None:
    change, differences, first_row = TAMPERED[what]
    change(tampered)
    replay = replayed(http, bundle=tampered)
    verdict = replay["replay"]["verdict"]
    assert not verdict["bit_exact"]
    assert differences <= set(verdict["differences"])
    assert verdict["first_row"] == first_row
    assert logged(http, replay["id"])[-1] == "replay_differs"


def test_other_numerics_are_reported_before_and_after(http: httpx.Client, tampered: Document) -> None:
    tampered["runtime"]["fingerprint"].update(blas_core="Pentium", machine="abacus")
    answer = http.post("/v1/fits:replay", json={"bundle": tampered}).json()
    assert answer["replay"]["numerics_differences"] == ["blas_core", "machine"]
    replay = ended(http, answer["id"])["replay"]
    assert (replay["same_numerics"], replay["numerics_differences"]) == (False, ["blas_core", "machine"])
    assert replay["verdict"] == EQUAL, "the numbers need not differ"


def test_an_executor_that_is_not_here_is_replaced_by_one_that_is(http: httpx.Client, tampered: Document) -> None:
    tampered["runtime"]["executor"] = tampered["runtime"]["fingerprint"]["executor"] = "quantum"
    replay = replayed(http, bundle=tampered)
    assert "executor" in replay["replay"]["numerics_differences"]


def test_a_replay_is_begun_once_for_a_key(http: httpx.Client, fit: Document) -> None:
    headers = {"Idempotency-Key": "replay-once"}
    first, second = (http.post("/v1/fits:replay", json={"fit": fit["id"]}, headers=headers) for _ in range(2))
    assert first.json() == second.json()
    assert first.headers["location"] == second.headers["location"] == f"/v1/fits/{first.json()['id']}"
    assert second.headers["idempotent-replayed"] == "true"
    other = http.post("/v1/fits:replay", json={"fit": fit["id"], "labels": {"a": "b"}}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


def test_only_what_came_to_a_result_has_a_bundle(http: httpx.Client, long_fit: Document) -> None:
    running = created(http.post("/v1/fits", json=long_fit))["id"]
    for answer in (http.get(f"/v1/fits/{running}/bundle"), http.post("/v1/fits:replay", json={"fit": running})):
        assert (answer.status_code, answer.json()["code"]) == (409, "not_terminal")
    http.post(f"/v1/fits/{running}:cancel")
    assert ended(http, running)["state"] == "cancelled"
    answer = http.get(f"/v1/fits/{running}/bundle")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_succeeded")


def test_without_its_last_checkpoint_or_its_data_a_fit_has_no_bundle(http: httpx.Client) -> None:
    columns = {"x": [[1.5, 2]], "y": [3]}
    for thing in ("dataset", "checkpoint"):
        fit = submitted(http, dataset={"columns": columns})
        latest = http.get(f"/v1/fits/{fit['id']}/checkpoints/latest").json()["id"]
        path = f"/v1/datasets/{fit['dataset']}" if thing == "dataset" else f"/v1/checkpoints/{latest}"
        assert http.delete(path).status_code == 204
        assert http.get(f"/v1/fits/{fit['id']}/bundle").status_code == 410


def test_a_variant_has_a_bundle_and_its_sweep_has_none(http: httpx.Client) -> None:
    sweep = submitted(http, sweep={"kind": "grid", "parameters": {"optimizer.lr": [0.01, 0.02]}})
    for answer in (http.get(f"/v1/fits/{sweep['id']}/bundle"), http.post("/v1/fits:replay", json={"fit": sweep["id"]})):
        assert (answer.status_code, answer.json()["code"]) == (409, "is_sweep")
    best = http.get(f"/v1/fits/{sweep['id']}/variants").json()["data"][0]["fit"]
    replay = replayed(http, fit=best)
    assert replay["replay"]["verdict"] == EQUAL
    assert (replay["parent"], replay["variant"]) == (None, None)


def test_a_variant_that_was_left_behind_cannot_be_reproduced_alone(http: httpx.Client) -> None:
    parameters = {"optimizer.lr": [0.001, 0.02]}
    sweep = submitted(http, sweep={"kind": "halving", "parameters": parameters, "eta": 2})
    ranked = [entry["fit"] for entry in http.get(f"/v1/fits/{sweep['id']}/variants").json()["data"]]
    bundle_of(http, ranked[0])
    answer = http.get(f"/v1/fits/{ranked[1]}/bundle")
    assert (answer.status_code, answer.json()["code"]) == (409, "left_behind")


def test_an_unknown_fit_is_pointed_at(http: httpx.Client) -> None:
    unknown = "fit_00000000000000000000000000"
    assert refused(http.post("/v1/fits:replay", json={"fit": unknown})) == [("/fit", "not_found")]
    assert refused(http.post("/v1/fits:replay", json={"fit": "../etc"})) == [("/fit", "not_found")]
    assert http.get(f"/v1/fits/{unknown}/bundle").status_code == 404
