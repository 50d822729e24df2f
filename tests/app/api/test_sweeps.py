"""Sweeps through the whole server: submitted, run, ranked, cancelled, killed and resumed."""

import itertools
import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any

import httpx
import pytest

from app.api.schemas.sweeps import IntervalChoice, SweepChoice
from engine.training.sweep.options import Interval, SweepOptions
from tests.support.gate import VARIABLE, Gate
from tests.support.patience import LONGEST_WAIT, PATIENCE
from tests.support.server import StartServer, serving

from .conftest import LINE, POINTS, RECIPE, created

RATES = [0.001, 0.02, 0.1]
GRID = {"kind": "grid", "parameters": {"optimizer.lr": RATES, "seed": [1, 2]}}
HALVING = {"kind": "halving", "parameters": {"optimizer.lr": [0.001, 0.02, 0.1, 0.05]}, "eta": 2}


def request(**changes: Any) -> dict[str, Any]:
    return {"graph": LINE, "dataset": POINTS, **RECIPE, **changes}


def submit(http: httpx.Client, **changes: Any) -> dict[str, Any]:
    return created(http.post("/v1/fits", json=request(**changes)))


def ended(http: httpx.Client, fit_id: str, patience: float = 30) -> dict[str, Any]:
    fit: dict[str, Any] = http.get(f"/v1/fits/{fit_id}", params={"wait": patience}).json()
    assert fit["terminal"], fit
    return fit


def variants(http: httpx.Client, fit_id: str) -> list[dict[str, Any]]:
    """Return the variants as fits, in their order."""
    listed = http.get("/v1/fits", params={"parent": fit_id, "order": "asc", "limit": 1000}).json()
    found: list[dict[str, Any]] = listed["data"]
    return found


def rows(http: httpx.Client, fit_id: str) -> list[str]:
    return http.get(f"/v1/fits/{fit_id}/metrics", params={"format": "ndjson", "limit": 10_000}).text.splitlines()


def parameters(http: httpx.Client, fit_id: str) -> bytes:
    latest = http.get(f"/v1/fits/{fit_id}/checkpoints/latest").json()
    content = http.get(f"/v1/checkpoints/{latest['id']}/content", params={"only": "parameters"})
    assert content.status_code == 200
    return content.content


def await_(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


@pytest.fixture(scope="module")
def grid(http: httpx.Client) -> dict[str, Any]:
    return ended(http, submit(http, sweep=GRID)["id"])


def test_a_sweep_succeeds_and_ranks_its_variants(http: httpx.Client, grid: dict[str, Any]) -> None:
    assert grid["state"] == "succeeded"
    assert grid["progress"] == 1.0
    assert (grid["step"], grid["total_steps"]) == (72, 72)
    sweep = grid["sweep"]
    assert (sweep["kind"], sweep["monitor"], sweep["mode"], sweep["rungs"]) == ("grid", "loss", "min", [])
    assert (sweep["variants"], sweep["states"]) == (6, {"succeeded": 6})
    values = [entry["value"] for entry in sweep["ranking"]]
    assert values == sorted(values)
    assert [entry["rank"] for entry in sweep["ranking"]] == [1, 2, 3, 4, 5, 6]
    assert http.get(grid["links"]["variants"]).json() == {
        "object": "list",
        "data": sweep["ranking"],
        "has_more": False,
        "next_cursor": None,
    }


def test_variants_are_fits_in_the_order_of_the_grid(http: httpx.Client, grid: dict[str, Any]) -> None:
    found = variants(http, grid["id"])
    wanted = [{"optimizer.lr": rate, "seed": seed} for rate, seed in itertools.product(RATES, [1, 2])]
    assert [fit["variant"] for fit in found] == [{"index": i, "parameters": p} for i, p in enumerate(wanted)]
    assert {fit["parent"] for fit in found} == {grid["id"]}
    assert all(fit["request"]["optimizer"]["lr"] == fit["variant"]["parameters"]["optimizer.lr"] for fit in found)
    assert all("sweep" not in fit["request"] and fit["sweep"] is None for fit in found)
    assert not {fit["id"] for fit in found} & {f["id"] for f in http.get("/v1/fits?limit=1000").json()["data"]}


def test_a_variant_is_to_the_bit_the_fit_that_it_would_be_alone(http: httpx.Client, grid: dict[str, Any]) -> None:
    variant = variants(http, grid["id"])[3]
    alone = created(http.post("/v1/fits", json={**variant["request"], "resources": {"threads": 1}}))
    ended(http, alone["id"])
    assert rows(http, alone["id"]) == rows(http, variant["id"])
    assert len(rows(http, variant["id"])) == 12
    assert parameters(http, alone["id"]) == parameters(http, variant["id"])


def test_a_variant_has_events_and_checkpoints_and_predicts(http: httpx.Client, grid: dict[str, Any]) -> None:
    best = grid["sweep"]["ranking"][0]["fit"]
    events = http.get(f"/v1/fits/{best}/events").text
    assert "event: checkpoint" in events
    assert events.rstrip().endswith('data: {"state":"succeeded"}')
    checkpoint = http.get(f"/v1/fits/{best}/checkpoints/best").json()
    answer = http.post(f"/v1/checkpoints/{checkpoint['id']}:predict", json={"inputs": {"x": [[0.0, 0.0]]}})
    assert list(answer.json()["outputs"]) == ["pred"]


def test_halving_stops_the_worse_half_at_each_rung(http: httpx.Client) -> None:
    fit = ended(http, submit(http, sweep=HALVING)["id"])
    assert fit["state"] == "succeeded"
    assert fit["sweep"]["rungs"] == [3, 6]
    found = variants(http, fit["id"])
    assert sorted(variant["step"] for variant in found) == [3, 3, 6, 12]
    assert fit["step"] == fit["total_steps"] == 24
    for variant in found:
        left = "left behind" in (variant["stop_reason"] or "")
        assert left == (variant["step"] < 12)
        assert variant["state"] == "succeeded"
        assert [json.loads(row)["seq"] for row in rows(http, variant["id"])] == [*range(1, variant["step"] + 1)]


def test_a_sweep_of_which_no_variant_succeeds_fails(http: httpx.Client) -> None:
    recipe = {"steps": 200, "epochs": None}
    sweep = {"kind": "grid", "parameters": {"optimizer.lr": [1e30, 1e31]}}
    fit = ended(http, submit(http, **recipe, sweep=sweep)["id"])
    assert (fit["state"], fit["error"]["code"]) == ("failed", "no_variant_succeeded")
    assert fit["sweep"]["states"] == {"failed": 2}
    assert {variant["error"]["code"] for variant in variants(http, fit["id"])} == {"numerics_nonfinite"}


def test_a_variant_that_diverges_fails_alone(http: httpx.Client) -> None:
    sweep = {"kind": "grid", "parameters": {"optimizer.lr": [0.01, 1e30]}}
    fit = ended(http, submit(http, steps=60, epochs=None, sweep=sweep)["id"])
    assert fit["state"] == "succeeded"
    good, bad = variants(http, fit["id"])
    assert (good["state"], bad["state"]) == ("succeeded", "failed")
    assert bad["error"]["code"] == "numerics_nonfinite"


def test_a_variant_that_diverges_ranks_last_and_the_sweep_succeeds(http: httpx.Client) -> None:
    sweep = {"kind": "grid", "parameters": {"optimizer.lr": [1e30, 0.01]}}
    fit = ended(http, submit(http, steps=200, epochs=None, sweep=sweep)["id"])
    assert fit["state"] == "succeeded"
    assert [entry["index"] for entry in fit["sweep"]["ranking"]] == [1, 0]
    assert fit["sweep"]["ranking"][1]["value"] is None


FAULTS = [
    ({"optimizer.lr": [0.1, -1.0]}, "/sweep/parameters/optimizer.lr/1", "attribute_invalid"),
    ({"optimizer.lr": [0.1, "fast"]}, "/sweep/parameters/optimizer.lr/1", "attribute_invalid"),
    ({"optimizer.rate": [0.1]}, "/sweep/parameters/optimizer.rate/0", "attribute_invalid"),
    ({"optimizer.kind": ["adam", "atom"]}, "/sweep/parameters/optimizer.kind/1", "unknown_name"),
    ({"graph": ["a"]}, "/sweep/parameters/graph", "not_variable"),
    ({"validation.split": [0.1]}, "/sweep/parameters/validation.split", "not_variable"),
    ({"optimizer.lr.x": [1]}, "/sweep/parameters/optimizer.lr.x/0", "attribute_invalid"),
    ({"batch_size": [4, 0]}, "/sweep/parameters/batch_size/1", "out_of_range"),
    ({"optimizer.lr": {"min": 0.1, "max": 1}}, "/sweep/parameters/optimizer.lr", "attribute_invalid"),
    ({"optimizer.lr": []}, "/sweep/parameters/optimizer.lr", "type_mismatch"),
]


@pytest.mark.parametrize(("varied", "pointer", "code"), FAULTS)
def test_a_wrong_value_is_pointed_at_where_the_sweep_gives_it(
    http: httpx.Client, varied: dict[str, Any], pointer: str, code: str
) -> None:
    answer = http.post("/v1/fits", json=request(sweep={"kind": "grid", "parameters": varied}))
    assert answer.status_code == 422
    found = {(error["pointer"], error["code"]) for error in answer.json()["errors"]}
    assert found == {(pointer, code)}


def test_an_idempotency_key_makes_one_sweep(http: httpx.Client) -> None:
    first, again = (
        http.post("/v1/fits", json=request(sweep=GRID), headers={"Idempotency-Key": "sweep-1"}) for _ in range(2)
    )
    assert again.headers["idempotent-replayed"] == "true"
    assert first.json() == again.json()
    assert len(variants(http, first.json()["id"])) == 6
    ended(http, first.json()["id"])


def test_a_sweep_is_deleted_with_its_variants(http: httpx.Client) -> None:
    fit = ended(http, submit(http, sweep=GRID)["id"])
    some = variants(http, fit["id"])
    assert http.delete(f"/v1/fits/{some[0]['id']}").status_code == 204
    assert http.get(f"/v1/fits/{fit['id']}").json()["sweep"]["variants"] == 5
    assert http.delete(f"/v1/fits/{fit['id']}").status_code == 204
    assert {http.get(f"/v1/fits/{variant['id']}").status_code for variant in some} == {404}


def test_a_fit_without_a_sweep_has_no_variants(http: httpx.Client, fit: dict[str, Any]) -> None:
    answer = http.get(f"/v1/fits/{fit['id']}/variants")
    assert (answer.status_code, answer.json()["code"]) == (409, "no_sweep")


ENDLESS = {"steps": 10**8, "epochs": None, "record": {"every_steps": 10}, "checkpoint": {"every_steps": 100}}


def test_cancelling_a_sweep_cancels_all_its_variants(http: httpx.Client) -> None:
    fit = submit(http, **ENDLESS, sweep=GRID, resources={"threads": 1})["id"]
    await_(lambda: http.get(f"/v1/fits/{fit}").json()["step"] > 0, "nothing ran")
    first = variants(http, fit)[0]
    assert http.delete(f"/v1/fits/{first['id']}").status_code == 409
    assert http.post(f"/v1/fits/{fit}:cancel").status_code == 202
    done = ended(http, fit)
    assert (done["state"], done["sweep"]["states"]) == ("cancelled", {"cancelled": 6})
    assert http.get(f"/v1/fits/{first['id']}/checkpoints/latest").json()["step"] > 0


def test_cancelling_a_variant_lets_the_others_go_on(http: httpx.Client) -> None:
    sweep = {"kind": "grid", "parameters": {"steps": [10**8, 12, 11]}}
    fit = submit(http, epochs=None, sweep=sweep, resources={"threads": 1})["id"]
    endless, _, waiting = (variant["id"] for variant in variants(http, fit))
    assert http.post(f"/v1/fits/{waiting}:cancel").json()["state"] == "cancelled"
    await_(lambda: http.get(f"/v1/fits/{endless}").json()["step"] > 0, "nothing ran")
    assert http.post(f"/v1/fits/{endless}:cancel").status_code == 202
    done = ended(http, fit)
    assert (done["state"], done["sweep"]["states"]) == ("succeeded", {"cancelled": 2, "succeeded": 1})
    assert [variant["state"] for variant in variants(http, fit)] == ["cancelled", "succeeded", "cancelled"]


STEPS = 120
HALF = STEPS // 2
LONG = {
    "epochs": None,
    "steps": STEPS,
    "checkpoint": {"every_steps": 25, "every_epochs": None},
    "record": {"every_steps": 1},
    "resources": {"threads": 1},
}
SLOW_SECONDS = 0.02
"""Of a step of a sweep that is asked to stop on its way."""
THREE = {"kind": "grid", "parameters": {"optimizer.lr": RATES}}


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Gate:
    return Gate(tmp_path_factory.mktemp("gate") / "gate")


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory, gate: Gate) -> Iterator[httpx.Client]:
    """Start a server whose sweeps the gate holds."""
    with serving(tmp_path_factory.mktemp("gated"), workers=1, environment={VARIABLE: str(gate.path)}) as server:
        yield server.http


@pytest.fixture(scope="module")
def undisturbed(http: httpx.Client) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return a function of a sweep: what it comes to undisturbed."""
    known: dict[str, dict[str, Any]] = {}

    def ask(sweep: Mapping[str, Any]) -> dict[str, Any]:
        kind = str(sweep["kind"])
        if kind not in known:
            fit = ended(http, submit(http, **LONG, sweep=sweep)["id"], LONGEST_WAIT)
            known[kind] = outcome(http, fit)
        return known[kind]

    return ask


def outcome(http: httpx.Client, fit: dict[str, Any]) -> dict[str, Any]:
    found = variants(http, fit["id"])
    return {
        "ranking": [(entry["index"], entry["value"]) for entry in fit["sweep"]["ranking"]],
        "rows": [rows(http, variant["id"]) for variant in found],
        "parameters": [parameters(http, variant["id"]) for variant in found],
    }


def until_pruned(http: httpx.Client, fit: str) -> None:
    """Wait until variants of a sweep by halving that is held before its last step are out of it."""
    await_(lambda: "succeeded" in http.get(f"/v1/fits/{fit}").json()["sweep"]["states"], "no variant ended")


def until_half(http: httpx.Client, fit: str) -> None:
    await_(lambda: http.get(f"/v1/fits/{fit}").json()["step"] >= HALF, "nothing ran")


def check_ended_stay(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> None:
    """Fail if a variant that had ended was begun again."""
    for earlier, later in zip(before, after, strict=True):
        if earlier["terminal"]:
            assert (later["attempt"], later["finished_at"]) == (earlier["attempt"], earlier["finished_at"])


@pytest.mark.parametrize(
    ("sweep", "kind"),
    [(THREE, signal.SIGTERM), (HALVING, signal.SIGKILL)],
    ids=["grid-drained", "halving-killed"],
)
def test_a_sweep_goes_on_where_a_server_left_it(
    undisturbed: Callable[[Mapping[str, Any]], dict[str, Any]],
    start_server: StartServer,
    gate: Gate,
    sweep: dict[str, Any],
    kind: signal.Signals,
) -> None:
    first = start_server(workers=1, environment={VARIABLE: str(gate.path)})
    with gate.holding(HALF if kind == signal.SIGTERM else STEPS - 1):
        fit = submit(first.http, **LONG, sweep=sweep)["id"]
        if kind == signal.SIGTERM:
            until_half(first.http, fit)
            before = variants(first.http, fit)
            with gate.slowing(SLOW_SECONDS):
                first.stop(kind)
        else:
            until_pruned(first.http, fit)
            before = variants(first.http, fit)
            first.stop(kind)
    second = start_server(workers=1)
    done = ended(second.http, fit, LONGEST_WAIT)
    assert done["state"] == "succeeded"
    assert done["attempt"] == 2
    check_ended_stay(before, variants(second.http, fit))
    assert outcome(second.http, done) == undisturbed(sweep)


def test_a_sweep_that_was_ended_is_resumed_to_the_bit(
    undisturbed: Callable[[Mapping[str, Any]], dict[str, Any]], gated: httpx.Client, gate: Gate
) -> None:
    with gate.holding(STEPS - 1):
        fit = submit(gated, **LONG, sweep=HALVING)["id"]
        until_pruned(gated, fit)
        assert gated.post(f"/v1/fits/{fit}:kill").status_code == 202
    before = variants(gated, fit)
    assert gated.post(f"/v1/fits/{fit}:resume").status_code == 202
    done = ended(gated, fit, LONGEST_WAIT)
    assert (done["state"], done["sweep"]["states"]) == ("succeeded", {"succeeded": 4})
    after = variants(gated, fit)
    for earlier, later in zip(before, after, strict=True):
        assert earlier["state"] != "succeeded" or earlier == later
    assert outcome(gated, done) == undisturbed(HALVING)


def test_a_sweep_that_is_extended_is_the_longer_sweep(http: httpx.Client) -> None:
    longer = ended(http, submit(http, sweep=GRID, epochs=RECIPE["epochs"] + 3)["id"])
    fit = ended(http, submit(http, sweep=GRID)["id"])["id"]
    extended = http.post(f"/v1/fits/{fit}:extend", json={"epochs": 3})
    assert (extended.status_code, extended.json()["total_steps"]) == (202, longer["total_steps"])
    done = ended(http, fit)
    assert (done["state"], done["step"], done["progress"]) == ("succeeded", longer["step"], 1.0)
    for one, other in zip(variants(http, fit), variants(http, longer["id"]), strict=True):
        assert rows(http, one["id"]) == rows(http, other["id"])
        assert parameters(http, one["id"]) == parameters(http, other["id"])


def test_a_worker_that_is_killed_costs_the_sweep_an_attempt_only(gated: httpx.Client, gate: Gate) -> None:
    with gate.holding(HALF):
        fit = submit(gated, **LONG, sweep=THREE)["id"]
        until_half(gated, fit)
        (worker,) = gated.get("/v1/system").json()["workers"]
        assert worker["fit"] == fit
        os.kill(worker["pid"], signal.SIGKILL)
    done = ended(gated, fit, LONGEST_WAIT)
    assert (done["state"], done["attempt"]) == ("succeeded", 2)
    assert done["attempts"][0]["outcome"] == "killed"
    for variant in variants(gated, fit):
        assert [json.loads(row)["seq"] for row in rows(gated, variant["id"])] == [*range(1, STEPS + 1)]


def test_every_option_of_the_engine_can_be_sent() -> None:
    for sent, read in ((SweepChoice, SweepOptions), (IntervalChoice, Interval)):
        assert set(sent.model_fields) == {field.name for field in fields(read)}
