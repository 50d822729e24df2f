import platform
from typing import Any

import httpx
import numpy as np


def test_the_server_lives_and_is_ready(http: httpx.Client) -> None:
    assert http.get("/healthz").json() == {"status": "ok"}
    assert http.get("/readyz").json() == {"status": "ready"}


def test_the_system_shows_what_it_runs_on(http: httpx.Client) -> None:
    system = http.get("/v1/system").json()
    assert system["python"] == platform.python_version()
    assert system["numpy"] == np.__version__
    assert system["executors"]
    assert system["data_dir_free_bytes"] > 0
    assert system["limits"]["workers"] == 2
    assert system["queue"].keys() == {"queued", "running"}
    assert 0 <= system["memory"]["reserved_bytes"] <= system["memory"]["budget_bytes"]
    tenant = system["tenant"]
    assert 0 <= tenant["stored_bytes"] < tenant["stored_bytes_max"]
    assert (tenant["queued_max"], tenant["running_max"], tenant["sessions_max"]) == (10_000, None, 100)


def test_a_worker_shows_while_it_works(http: httpx.Client, long_fit: dict[str, Any]) -> None:
    fit_id = http.post("/v1/fits", json=long_fit).json()["id"]
    with http.stream("GET", f"/v1/fits/{fit_id}/events", params={"max_events": 10}) as response:
        response.read()
    system = http.get("/v1/system").json()
    mine = [worker for worker in system["workers"] if worker["fit"] == fit_id]
    assert [worker["attempt"] for worker in mine] == [1]
    assert mine[0]["pid"] > 0
    assert mine[0]["rss_bytes"] > 0
    assert system["queue"]["running"] >= 1
    http.post(f"/v1/fits/{fit_id}:cancel")


def test_metrics_are_labelled_by_route_and_never_by_id(http: httpx.Client, fit: dict[str, Any]) -> None:
    http.get(f"/v1/fits/{fit['id']}")
    http.get("/v1/no/such/route")
    response = http.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    assert 'route="/v1/fits/{fit_id}"' in response.text
    assert 'adjoint_fits{state="succeeded"}' in response.text
    assert "process_resident_memory_bytes" in response.text
    assert fit["id"] not in response.text
    assert "no/such" not in response.text


def test_head_is_get_without_a_body(http: httpx.Client, parabola: dict[str, Any]) -> None:
    here = f"/v1/graphs/{parabola['id']}"
    head, get = http.head(here), http.get(here)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["etag"] == get.headers["etag"]
    assert head.headers["content-length"] == str(len(get.content))
