"""SIGTERM under load, twice, and with a kill behind it: fits go on where they were, to the same bits."""

import signal
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from tests.chaos import invariants, processes
from tests.chaos.conftest import MakeDriver
from tests.chaos.driver import Driver
from tests.chaos.places import HAS_RAY
from tests.chaos.workload import CHECKPOINT_EVERY, fit_request
from tests.extent import FULL
from tests.support.patience import PATIENCE

ENDS_WITHIN_SECONDS = 10.0 if FULL else PATIENCE
STEPS = 400
SLOW_SECONDS = 0.05
"""Of a step: fits are under way, and a server that is draining waits for them, however fast the machine is."""
DRAINING = 503


def under_way(driver: Driver, fits: Mapping[str, str]) -> None:
    """Wait until each fit that has not ended is further than it was."""
    for fit_id in fits.values():
        driver.until_rows(fit_id, len(driver.read.get(fit_id, [])) + CHECKPOINT_EVERY // 2)


def asking(url: str, answers: list[httpx.Response], over: threading.Event) -> None:
    """Post fits until nobody answers any more."""
    with httpx.Client(base_url=url, timeout=ENDS_WITHIN_SECONDS, verify=False) as http:
        while not over.is_set():
            try:
                answers.append(http.post("/v1/fits", json={"graph": "graph_0", "dataset": "ds_0", "steps": 1}))
            except httpx.TransportError:
                return
            time.sleep(0.005)


def test_a_drained_server_stops_soon_and_its_fits_go_on(make_driver: MakeDriver, tmp_path: Path) -> None:
    driver = make_driver(workers=2)
    driver.start()
    requests: dict[str, dict[str, Any]] = {"first": fit_request(STEPS), "second": fit_request(STEPS, seed=8)}

    with driver.gate.slowing(SLOW_SECONDS):
        fits = {key: driver.submit(key, request) for key, request in requests.items()}
        under_way(driver, fits)
        answers: list[httpx.Response] = []
        over = threading.Event()
        server = driver.server
        client = threading.Thread(target=asking, args=(server.url, answers, over))
        client.start()
        driver.until(lambda: bool(answers), "nobody was answered before the server is draining")
        pids = processes.family(server.process.pid)
        with processes.all_end(pids, ENDS_WITHIN_SECONDS):
            assert server.stop(signal.SIGTERM, ENDS_WITHIN_SECONDS) == 0, server.log
        over.set()
        client.join()
        refused = [answer for answer in answers if answer.status_code == DRAINING]
        assert refused, "no client was refused because the server is draining"
        assert all("retry-after" in answer.headers for answer in refused)

        driver.start()
        under_way(driver, fits)
        server = driver.server
        server.process.terminate()
        assert server.stop(signal.SIGTERM, ENDS_WITHIN_SECONDS) == 0, server.log

        driver.start()
        under_way(driver, fits)
        server = driver.server
        server.process.terminate()
        driver.kill_server(server)

    driver.start()
    driver.until_terminal()
    reported = invariants.all_hold(driver, tmp_path)
    for key in fits:
        if HAS_RAY:  # where fits go on without a server
            assert reported[key].outcomes == ["succeeded"]
            continue
        assert "drained" in reported[key].outcomes
        assert not {"killed", "stopped"} & {*reported[key].outcomes}
