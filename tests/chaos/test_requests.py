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
from tests.chaos.places import IS_CLUSTER, unfinished_files
from tests.chaos.workload import fit_request
from tests.support.patience import PATIENCE
from tests.support.server import run_command

CLIENTS = 50
REFUSED = 2
SHARES = (0.01, 0.5, 0.99)
AGAIN = (409, 503) if IS_CLUSTER else (409,)
"""A request with the key is being answered by the same server; or by another one, which the commit shows."""

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with no time: closing the socket sends RST and throws away what was not sent."""


def test_fifty_clients_with_one_key_get_one_fit(driver: Driver) -> None:
    driver.wanted["fifty"] = request = fit_request(20)
    headers = {"Idempotency-Key": "fifty"}

    def post(client: int) -> httpx.Response:
        while True:
            server = driver.servers[client % len(driver.servers)]
            response = httpx.post(
                f"{server.url}/v1/fits", json=request, headers=headers, timeout=PATIENCE, verify=False
            )
            if response.status_code not in AGAIN:
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
    server = driver.server
    process, port = psutil.Process(server.process.pid), httpx.URL(server.url).port

    def connected() -> int:
        return sum(each.laddr.port == port for each in process.net_connections())

    driver.until_terminal()  # a fit that is not done would store a checkpoint
    before = driver.asked("/v1/datasets")["data"]
    driver.asked("/v1/datasets")
    connected_before, opened = connected(), process.num_fds()
    blobs = driver.place.digests()
    for number in range(counts.uploads_cut):
        half_an_upload(server.url, SHARES[number % len(SHARES)], reset=chance.random() < 0.5)

    def clean() -> bool:
        return driver.place.digests() == blobs and not unfinished_files(driver.place)

    driver.until(clean, "something is left of uploads that broke off")
    driver.until(lambda: connected() <= connected_before, "connections were left open")
    # A process that reads or profiles a dataset has four sockets, and takes half a minute to load on a busy machine.
    driver.until(lambda: process.num_fds() <= opened, "files were left open")
    assert driver.asked("/v1/datasets")["data"] == before


def test_a_second_server_on_the_same_data_gives_up_at_once(driver: Driver) -> None:
    status, _, errors = run_command(["serve", "--port", "0", "--data-dir", str(driver.data_dir)])
    assert status == REFUSED
    assert "another server is using the data directory" in errors
    assert driver.answered("GET", "/readyz").status_code == 200
