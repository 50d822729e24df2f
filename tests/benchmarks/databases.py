"""The store on SQLite and on PostgreSQL, one beside the other: `python -m tests.benchmarks.databases`.

Both write to the disk and wait for it. Times are medians in milliseconds; what is per second counts all threads. The
CPU time of the process that measures and of PostgreSQL is counted apart: it depends less on what else the machine does.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import psutil

from app.domain.clock import SystemClock
from app.domain.fit import FitState
from app.store.unit_of_work import Store
from tests.support.backends import open_postgres
from tests.support.fits import fit_record
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.server import COMMAND, serving

QUEUED, ADDED_AT_ONCE = 100_000, 10_000
CLAIMS = 400
BATCHES, BATCH_ROWS = 100, 500
REPEATS = 10
REQUEST: dict[str, Any] = {
    "graph": {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean((x * w - 1) ** 2)"},
    "dataset": {"columns": {"x": [1.0, 2.0, 3.5]}},
    "steps": 5,
}


EVENT_BYTES = {
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    "postgresql": "SELECT pg_total_relation_size('events')",
}
"""The bytes of the event log with its indexes; in SQLite those of the whole file."""


def measure_store(store: Store, server_seconds: Callable[[], float]) -> dict[str, float]:
    """Return what the store itself does; `server_seconds` returns the CPU time that its database server has used."""
    for first in range(0, QUEUED, ADDED_AT_ONCE):
        with store.begin() as work:
            for number in range(first, first + ADDED_AT_ONCE):
                work.fits.add(fit_record(f"fit_{number:06}", share=f"{number % 4}", created_at=datetime.now(UTC)))
    found = {f"claims/s, {threads} threads": claims_per_second(store, threads) for threads in (1, 8, 64)}
    empty, stored = event_bytes(store), 0
    for fits in (1, 8, 16):
        before = time.process_time(), server_seconds()
        found[f"metric rows/s, {fits} fits"] = rows_per_second(store, fits)
        rows = fits * BATCHES * BATCH_ROWS
        stored += rows
        found[f"  its CPU us/row, {fits} fits"] = (time.process_time() - before[0]) / rows * 1e6
        found[f"  server's CPU us/row, {fits} fits"] = (server_seconds() - before[1]) / rows * 1e6
    found["bytes of a metric row"] = (event_bytes(store) - empty) / stored
    with store.begin() as work:
        work.fits.add(fit_record("fit_rows", state=FitState.RUNNING, created_at=datetime.now(UTC)))
    found["read a fit, ms"] = milliseconds(lambda: read(store), 200)
    found["change a fit, ms"] = milliseconds(lambda: change(store), 100)
    return found


def event_bytes(store: Store) -> int:
    """Return the bytes of the event log on the disk."""
    with store.read() as work:
        connection = work.events._connection
        return int(connection.exec_driver_sql(EVENT_BYTES[connection.dialect.name]).scalar_one())


def server_seconds(database: PostgresServer) -> float:
    """Return the CPU time of all processes of a server, of those that have ended too."""
    first = psutil.Process(int((database.folder / "data" / "postmaster.pid").read_text().split()[0]))
    running = sum(sum(child.cpu_times()[:2]) for child in first.children())
    return sum(first.cpu_times()[:4]) + running


def claims_per_second(store: Store, threads: int) -> float:
    def claim(_: int) -> int:
        with store.begin() as work:
            fit = work.queue.claim()
            if fit is None:
                return 0
            work.attempts.start(fit.id, fit.attempt, f"token of {fit.id}")
            return 1

    began = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        claimed = sum(pool.map(claim, range(CLAIMS)))
    return claimed / (time.perf_counter() - began)


def rows_per_second(store: Store, fits: int) -> float:
    """Return how many rows are stored in a second where as many fits as this report in batches at once."""
    body = '{"seq":1,"step":1,"epoch":1,"split":"train","values":{"loss":0.123456,"lr":0.001,"grad_norm":1.234567}}'

    def report(fit_id: str) -> None:
        for batch in range(BATCHES):
            first = batch * BATCH_ROWS + 1
            with store.begin() as work:
                work.events.append_metrics(fit_id, [(first + place, body) for place in range(BATCH_ROWS)])

    names = [f"fit_rows_{fits}_{number}" for number in range(fits)]
    with store.begin() as work:
        for name in names:
            work.fits.add(fit_record(name, state=FitState.RUNNING, created_at=datetime.now(UTC)))
    began = time.perf_counter()
    with ThreadPoolExecutor(fits) as pool:
        list(pool.map(report, names))
    return fits * BATCHES * BATCH_ROWS / (time.perf_counter() - began)


def read(store: Store) -> None:
    with store.read() as work:
        work.fits.get("fit_rows")


def change(store: Store) -> None:
    with store.begin() as work:
        fit = work.fits.get("fit_rows")
        work.fits.update(replace(fit, step=fit.step + 1))


def measure_server(http: httpx.Client) -> dict[str, float]:
    """Return what a client sees."""
    fit_id = run_fit(http)
    return {
        "POST to first row, ms": milliseconds(lambda: run_fit(http), REPEATS),
        "status poll, ms": milliseconds(lambda: http.get(f"/v1/fits/{fit_id}").raise_for_status(), 200),
        "POST, ms": milliseconds(lambda: submit(http), 30),
    }


def submit(http: httpx.Client) -> str:
    fit_id: str = http.post("/v1/fits", json=REQUEST).raise_for_status().json()["id"]
    return fit_id


def run_fit(http: httpx.Client) -> str:
    fit_id = submit(http)
    while not http.get(f"/v1/fits/{fit_id}/metrics", params={"limit": 1}).raise_for_status().json()["data"]:
        pass
    return fit_id


def milliseconds(call: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


def main() -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/var/tmp")))
        database: PostgresServer = stack.enter_context(postgres_server(durable=True))
        found = {}
        for name, settings in {"SQLite": {}, "PostgreSQL": {"database_url": database.create_database()}}.items():
            with serving(folder / name, command=COMMAND, **settings) as server:
                found[name] = measure_server(server.http)
        with Store.open(folder / "store") as store:
            found["SQLite"] |= measure_store(store, lambda: 0.0)
        with open_postgres(database.create_database(), SystemClock()) as store:
            found["PostgreSQL"] |= measure_store(store, lambda: server_seconds(database))
        for what, value in found["SQLite"].items():
            print(f"{what:32} SQLite {value:10.2f}   PostgreSQL {found['PostgreSQL'][what]:10.2f}")


if __name__ == "__main__":
    main()
