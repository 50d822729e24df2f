"""What a fit gets of the machine, by a real server with real processes."""

import os
from collections.abc import Mapping
from typing import Any

import httpx
import psutil
import pytest

import engine
from tests.support.patience import LONGEST_WAIT

from .conftest import created

CPUS = engine.usable_cpus()
NO_CPU = max(CPUS) + 1000


@pytest.fixture
def begun(http: httpx.Client, long_fit: dict[str, Any]) -> Any:
    """Begin a fit with resources and return it as it is once it trains; it is cancelled when the test ends."""
    ids = []

    def begin(**resources: Any) -> dict[str, Any]:
        fit_id = created(http.post("/v1/fits", json={**long_fit, "resources": resources}))["id"]
        ids.append(fit_id)
        http.get(f"/v1/fits/{fit_id}/events", params={"max_events": 8})
        return dict(http.get(f"/v1/fits/{fit_id}").json())

    yield begin
    for fit_id in ids:
        http.post(f"/v1/fits/{fit_id}:cancel")
        http.get(f"/v1/fits/{fit_id}", params={"wait": LONGEST_WAIT})


def process_of(http: httpx.Client, fit: Mapping[str, Any]) -> psutil.Process:
    workers = http.get("/v1/system").json()["workers"]
    return psutil.Process(next(worker["pid"] for worker in workers if worker["fit"] == fit["id"]))


def test_a_fit_shows_what_it_runs_with(http: httpx.Client, begun: Any) -> None:
    system = http.get("/v1/system").json()
    runtime = begun()["runtime"]
    assert runtime["executor"] == system["executors"][-1]
    assert (runtime["threads"], runtime["threads_requested"]) == (system["cores"]["threads_per_fit"], None)
    assert runtime["fingerprint"]["executor"] == runtime["executor"]
    assert runtime["affinity"] is None


def test_before_its_first_process_a_fit_runs_with_nothing(http: httpx.Client, long_fit: dict[str, Any]) -> None:
    fit = created(http.post("/v1/fits", json=long_fit))
    assert fit["runtime"] is None
    http.post(f"/v1/fits/{fit['id']}:cancel")
    http.get(f"/v1/fits/{fit['id']}", params={"wait": LONGEST_WAIT})


def test_more_threads_than_cores_are_not_given_but_reported(begun: Any) -> None:
    runtime = begun(threads=64, executor="numpy")["runtime"]
    assert (runtime["threads"], runtime["threads_requested"]) == (engine.usable_cores(), 64)
    assert runtime["executor"] == "numpy"
    assert runtime["fingerprint"]["blas_threads"] == str(engine.usable_cores())


def test_processes_are_bound_to_their_cpus(http: httpx.Client, begun: Any) -> None:
    fit = begun(affinity=[CPUS[-1], CPUS[-1]], replicas=2)
    assert (fit["runtime"]["affinity"], fit["runtime"]["threads"]) == ([CPUS[-1]], 1)
    process = process_of(http, fit)
    family = [process, *process.children()]
    assert len(family) == 2
    assert [member.cpu_affinity() for member in family] == [[CPUS[-1]]] * 2


@pytest.mark.parametrize(("priority", "niceness"), [("low", 19), ("normal", 10), ("high", 5)])
def test_processes_stand_back_as_their_priority_says(
    http: httpx.Client, begun: Any, priority: str, niceness: int
) -> None:
    fit = begun(priority=priority)
    assert fit["runtime"]["niceness"] == niceness
    assert process_of(http, fit).nice() == min(19, os.getpriority(os.PRIO_PROCESS, 0) + niceness)


REFUSED: list[tuple[dict[str, Any], str, str, str]] = [
    ({"threads": 0}, "/resources/threads", "out_of_range", "1"),
    ({"threads": 65}, "/resources/threads", "out_of_range", "64"),
    ({"threads": 1.5}, "/resources/threads", "type_mismatch", "integer"),
    ({"executor": "cuda"}, "/resources/executor", "unknown_name", "native"),
    ({"affinity": []}, "/resources/affinity", "out_of_range", "1"),
    ({"affinity": [-1]}, "/resources/affinity/0", "out_of_range", "0"),
    ({"affinity": [CPUS[0], NO_CPU]}, "/resources/affinity/1", "unknown_cpu", str(NO_CPU)),
    ({"priority": "urgent"}, "/resources/priority", "unknown_name", "high"),
]


@pytest.mark.parametrize(("resources", "pointer", "code", "says"), REFUSED)
def test_what_the_machine_has_not_is_refused_with_its_place(
    http: httpx.Client, long_fit: dict[str, Any], resources: dict[str, Any], pointer: str, code: str, says: str
) -> None:
    response = http.post("/v1/fits", json={**long_fit, "resources": resources})
    assert response.status_code == 422, response.text
    (error,) = response.json()["errors"]
    assert (error["pointer"], error["code"]) == (pointer, code)
    assert says in error["detail"]


def test_a_row_of_every_step_is_recorded_only_where_the_fit_is_short(http: httpx.Client, fit: dict[str, Any]) -> None:
    assert fit["record_every_steps"] == 1
    body = {"graph": fit["graph"], "dataset": fit["dataset"], "steps": 100_001, "epochs": None}
    begun = created(http.post("/v1/fits", json=body))
    assert begun["record_every_steps"] == 11
    http.post(f"/v1/fits/{begun['id']}:cancel")
    http.get(f"/v1/fits/{begun['id']}", params={"wait": LONGEST_WAIT})


def test_the_server_shows_what_it_computes_with(http: httpx.Client) -> None:
    system = http.get("/v1/system").json()
    assert system["executors"] == list(engine.executors())
    assert system["cores"]["cpus"] == list(CPUS)
    assert system["cores"]["usable"] == engine.usable_cores()
    assert 1 <= system["cores"]["threads_per_fit"] <= engine.usable_cores()
    assert system["blas"]["core_type"] == engine.fingerprint()["blas_core"]
