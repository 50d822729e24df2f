"""Requests that come fifty times at once, break off half-way, or reach a second server on the same data."""

import json
import random
import socket
import struct
from concurrent.futures import ThreadPoolExecutor

import httpx
import psutil

from tests.chaos import invariants
from tests.chaos.conftest import Counts
from tests.chaos.driver import Driver
from tests.chaos.workload import fit_request
from tests.support.patience import PATIENCE
from tests.support.server import run_command

CLIENTS = 50
REFUSED = 2
SHARES = (0.01, 0.5, 0.99)
CLEAN_SECONDS = 5.0
IN_FLIGHT = 409
RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with no time: closing the socket sends RST and throws away what was not sent."""


def test_fifty_clients_with_one_key_get_one_fit(driver: Driver) -> None:
    driver.wanted["fifty"] = request = fit_request(20)
    headers = {"Idempotency-Key": "fifty"}

    def post(_client: int) -> httpx.Response:
        while True:
            response = httpx.post(
                f"{driver.server.url}/v1/fits", json=request, headers=headers, timeout=PATIENCE, verify=False
            )
            if response.status_code != IN_FLIGHT:
                return response
            assert "retry-after" in response.headers

    with ThreadPoolExecutor(CLIENTS) as clients:
        answers = [*clients.map(post, range(CLIENTS))]
    assert {answer.status_code for answer in answers} == {202}
    for answer in answers:
        driver.journal.note("fifty", answer.json()["id"])
    replayed = [answer.headers.get("idempotent-replayed") == "true" for answer in answers]
    assert replayed.count(False) == 1
    invariants.one_key_made_one_fit(driver.journal, [fit["id"] for fit in driver.asked("/v1/fits", limit=1000)["data"]])
    other = driver.answered("POST", "/v1/fits", json={**request, "steps": 21}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


def half_an_upload(url: str, share: float, *, reset: bool) -> None:
    """Send so much of a dataset, then close the connection with FIN or RST."""
    body = json.dumps({"name": "half", "columns": {"x": [float(number) for number in range(50_000)]}}).encode()
    host, port = httpx.URL(url).host, httpx.URL(url).port
    head = f"POST /v1/datasets HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    with socket.create_connection((host, port or 80)) as connection:
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode())
        connection.sendall(body[: int(len(body) * share)])
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def test_an_upload_that_breaks_off_leaves_nothing(driver: Driver, counts: Counts, chance: random.Random) -> None:
    process = psutil.Process(driver.pid)
    driver.asked("/v1/datasets")
    before = driver.asked("/v1/datasets")["data"]
    connected, opened = len(process.net_connections()), process.num_fds()
    blobs = {path.name for path in (driver.data_dir / "blobs").rglob("*") if path.is_file()}
    for number in range(counts.uploads_cut):
        half_an_upload(driver.server.url, SHARES[number % len(SHARES)], reset=chance.random() < 0.5)

    def clean() -> bool:
        left = {path.name for path in (driver.data_dir / "blobs").rglob("*") if path.is_file()}
        return left == blobs and not [*(driver.data_dir / "scratch").iterdir()]

    driver.until(clean, "something is left of uploads that broke off", CLEAN_SECONDS)
    driver.until(lambda: len(process.net_connections()) <= connected, "connections were left open", CLEAN_SECONDS)
    # A process that reads or profiles a dataset has four sockets, and takes half a minute to load on a busy machine.
    driver.until(lambda: process.num_fds() <= opened, "files were left open")
    assert driver.asked("/v1/datasets")["data"] == before


def test_a_second_server_on_the_same_data_gives_up_at_once(driver: Driver) -> None:
    status, _, errors = run_command(["serve", "--port", "0", "--data-dir", str(driver.data_dir)])
    assert status == REFUSED
    assert "another server is using the data directory" in errors
    assert driver.answered("GET", "/readyz").status_code == 200
