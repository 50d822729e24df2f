"""How soon a server is back, and what it bears. The figures are printed, not judged: they are the machine's as well."""

import random
import resource
import shutil
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.service.attempts.attempts import Attempts
from app.store.blobs.local import LocalBlobStore
from app.store.unit_of_work import Store
from tests.chaos import processes
from tests.chaos.conftest import Counts, MakeDriver
from tests.chaos.driver import Driver
from tests.chaos.polling import poll
from tests.chaos.workload import columns, endless_request, fit_request
from tests.support.storage import storage_context

REPEATS = 5
QUEUED = 10_000
CLIENTS = 4
CLAIMS = 500
CONNECTIONS = 1000
POLLED_SECONDS = 20.0
FILES = 4096
CURVE_ROWS = 20_000


@pytest.fixture(autouse=True)
def at_full_counts(counts: Counts) -> None:
    if not counts.full:
        pytest.skip("measured by `make chaos`")


@pytest.fixture
def table(capsys: pytest.CaptureFixture[str]) -> Iterator[dict[str, str]]:
    """Yield a table that is printed in the end."""
    figures: dict[str, str] = {}
    yield figures
    with capsys.disabled():
        for what, figure in figures.items():
            print(f"\n{what:60} {figure}", end="")  # noqa: T201 (this is what it measures for)


def spread(seconds: list[float]) -> str:
    return f"median {statistics.median(seconds):.2f} s, most {max(seconds):.2f} s"


def seconds_until_running_again(driver: Driver, fit_id: str, attempt: int) -> float:
    began = time.monotonic()
    driver.until(
        lambda: (fit := driver.fit(fit_id))["attempt"] > attempt and fit["state"] == "running", "it does not go on"
    )
    return time.monotonic() - began


def test_how_soon_a_fit_goes_on_whose_process_died(make_driver: MakeDriver, table: dict[str, str]) -> None:
    driver = make_driver()
    driver.start()
    fit_id = driver.submit("endless", endless_request())
    taken = []
    for _ in range(REPEATS):
        driver.until_rows(fit_id, driver.read_on(fit_id) + 100)
        attempt = driver.fit(fit_id)["attempt"]
        processes.kill([driver.worker_of(fit_id)])
        taken.append(seconds_until_running_again(driver, fit_id, attempt))
    table["worker killed -> running again (aim: 2 s)"] = spread(taken)


def test_how_soon_a_killed_server_serves_again(make_driver: MakeDriver, table: dict[str, str]) -> None:
    driver = make_driver()
    driver.start()
    fit_id = driver.submit("endless", endless_request())
    serving, running = [], []
    for _ in range(REPEATS):
        driver.until_rows(fit_id, driver.read_on(fit_id) + 100)
        attempt = driver.fit(fit_id)["attempt"]
        driver.kill_everything(random.Random(0))
        serving.append(driver.start())
        running.append(serving[-1] + seconds_until_running_again(driver, fit_id, attempt))
    table["server killed -> serving (aim: 3 s)"] = spread(serving)
    table["server killed -> all fits running (aim: 10 s)"] = spread(running)


def tiny_request(driver: Driver) -> dict[str, Any]:
    """Return a request by ids, which is quick to check."""
    request = fit_request(1, seed=1)
    request["dataset"] = driver.answered("POST", "/v1/datasets", json={"columns": columns()}).json()["id"]
    request["graph"] = driver.answered("POST", "/v1/graphs", json=request["graph"]).json()["id"]
    return request


def claim_times(data_dir: Path) -> list[float]:
    """Take fits out of the queue, without a server, and return how long each took."""
    taken = []
    with Store.open(data_dir) as store:
        blobs = LocalBlobStore(data_dir)
        attempts = Attempts(storage_context(store, blobs, data_dir), data_dir / "staging", lambda _fit_id: None)
        for _ in range(CLAIMS):
            began = time.perf_counter()
            assert attempts.claim() is not None
            taken.append(time.perf_counter() - began)
    return taken


def test_what_ten_thousand_waiting_fits_cost(make_driver: MakeDriver, table: dict[str, str], tmp_path: Path) -> None:
    driver = make_driver(workers=1)
    driver.start()
    busy = driver.submit("busy", endless_request(resources={"executor": "numpy", "priority": "high"}))
    driver.until_rows(busy, 1)
    request = tiny_request(driver)

    def post(number: int) -> tuple[str, str]:
        key = f"waiting-{number}"
        response = http.post("/v1/fits", json=request, headers={"Idempotency-Key": key})
        assert response.status_code == 202, response.text
        return key, response.json()["id"]

    began = time.monotonic()
    with (
        httpx.Client(base_url=driver.server.url, timeout=60, verify=False) as http,
        ThreadPoolExecutor(CLIENTS) as clients,
    ):
        posted = [*clients.map(post, range(QUEUED))]
    table["fits posted a second, up to 10,000 waiting"] = f"{QUEUED / (time.monotonic() - began):.0f}"
    driver.kill_everything(random.Random(0))
    shutil.copytree(driver.data_dir, tmp_path / "copy")
    table["restart with 10,000 waiting -> ready (aim: 5 s)"] = f"{driver.start():.2f} s"
    for key, fit_id in random.Random(0).sample(posted, 200):
        assert driver.fit(fit_id)["id"] == fit_id, key
    driver.kill_everything(random.Random(0))
    taken = sorted(claim_times(tmp_path / "copy"))
    table["claim among 10,000 (aim: p99 20 ms)"] = (
        f"median {taken[CLAIMS // 2] * 1e3:.1f} ms, p99 {taken[int(CLAIMS * 0.99)] * 1e3:.1f} ms"
    )


def steps_a_second(driver: Driver, fits: list[str], seconds: float) -> float:
    """Return how many steps all of `fits` take together."""
    before, began = sum(driver.fit(fit_id)["step"] for fit_id in fits), time.monotonic()
    time.sleep(seconds)
    return (sum(driver.fit(fit_id)["step"] for fit_id in fits) - before) / (time.monotonic() - began)


@pytest.fixture
def many_files() -> None:
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(files, min(FILES, most)), most))


@pytest.mark.usefixtures("many_files")
def test_a_thousand_connections_are_answered_beside_two_busy_processes(
    make_driver: MakeDriver, table: dict[str, str]
) -> None:
    driver = make_driver(workers=2)
    driver.start()
    rarely: dict[str, Any] = {"record": {"every_steps": 1000}, "checkpoint": {"every_steps": 100_000}}
    fits = [driver.submit(f"busy-{seed}", endless_request(seed=seed, **rarely)) for seed in range(2)]
    for fit_id in fits:
        driver.until_state(fit_id, "running")
    alone = steps_a_second(driver, fits, POLLED_SECONDS)
    url = httpx.URL(driver.server.url)
    with ThreadPoolExecutor(1) as beside:
        measured = beside.submit(steps_a_second, driver, fits, POLLED_SECONDS)
        polled = poll(url.host, url.port or 80, f"/v1/fits/{fits[0]}", CONNECTIONS, POLLED_SECONDS)
        polled_at = measured.result()
    assert polled.errors == 0
    table["1,000 connections at 1 Hz (aim: p99 150 ms, most 1 s)"] = (
        f"p50 {polled.quantile(0.5) * 1e3:.0f} ms, p99 {polled.quantile(0.99) * 1e3:.0f} ms, "
        f"most {max(polled.seconds) * 1e3:.0f} ms, {len(polled.seconds)} answers, no error"
    )
    table["training slowed meanwhile (aim: 15 %)"] = f"{(1 - polled_at / alone) * 100:.0f} % of {alone:.0f} steps/s"


@pytest.mark.usefixtures("many_files")
@pytest.mark.parametrize("query", ["after={after}", "after={after}&keys=loss", "after={after}&keys=loss&limit=100"])
def test_a_thousand_connections_catch_up_with_a_curve(
    query: str, make_driver: MakeDriver, table: dict[str, str]
) -> None:
    driver = make_driver(workers=1)
    driver.start()
    fit_id = driver.submit("curve", fit_request(CURVE_ROWS, seed=1, checkpoint={"every_steps": 100_000}))
    driver.until_state(fit_id, "succeeded")
    url = httpx.URL(driver.server.url)
    path = f"/v1/fits/{fit_id}/metrics?{query}"
    polled = poll(url.host, url.port or 80, path, CONNECTIONS, POLLED_SECONDS)
    assert polled.errors == 0
    table[f"1,000 connections at 1 Hz, {query} (aim: p99 500 ms)"] = (
        f"p50 {polled.quantile(0.5) * 1e3:.0f} ms, p99 {polled.quantile(0.99) * 1e3:.0f} ms, "
        f"most {max(polled.seconds) * 1e3:.0f} ms, {len(polled.seconds)} pages, no error"
    )
