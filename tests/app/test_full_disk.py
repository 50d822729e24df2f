"""A whole server whose disk is filled to its last byte, becomes read-only, or is gone."""

import errno
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.app.test_storage import FIT, PROGRAM, created
from tests.support.gate import VARIABLE, Gate
from tests.support.journal import until_logged
from tests.support.patience import PATIENCE
from tests.support.server import StartServer

BYTES = 24 * 1024 * 1024
QUICKLY = {"retry_seconds": 0.1, "disk_check_seconds": 0.1}
"""How soon the server finds that the disk is full, gone, or back."""
STEPS = 300
HELD_AT = 25
"""Between two checkpoints: the next one has no room."""
LONG: dict[str, Any] = {
    **FIT,
    "steps": STEPS,
    "checkpoint": {"every_steps": 20, "every_epochs": None, "keep_last": 2},
    "record": {"every_steps": 5, "gradients": {"steps": [*range(0, STEPS, 50)], "parameters": ["w"]}},
}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield the root of a file system of `BYTES` bytes, for which one has to be allowed to mount."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={BYTES}", "tmpfs", folder], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("no file system may be mounted here")
    try:
        yield folder
    finally:
        # Lazily: a process of the test may still be about to go.
        subprocess.run(["umount", "--lazy", "--recursive", folder], check=True)


def fill(folder: Path) -> Path:
    """Take all the room that there is, to the last byte, by a file; return it."""
    ballast = folder / "ballast"
    descriptor = os.open(ballast, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    os.write(descriptor, bytes(size))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
    finally:
        os.close(descriptor)
    return ballast


def until(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def result(http: httpx.Client, fit_id: str) -> dict[str, Any]:
    """Wait until the fit has succeeded; return what it came to."""
    url = f"/v1/fits/{fit_id}"
    until(lambda: http.get(url).json()["terminal"], f"{fit_id} did not end")
    fit = http.get(url).json()
    assert fit["state"] == "succeeded", fit["error"]
    gradient = http.get(f"{url}/gradients/w", params={"step": STEPS - 50})
    return {
        "rows": http.get(f"{url}/metrics", params={"limit": 10_000}).json()["data"],
        "checkpoints": [each["digest"] for each in http.get(f"{url}/checkpoints").json()["data"]],
        "gradient": gradient.content,
        "attempt": fit["attempt"],
    }


def test_a_disk_that_is_full_to_the_last_byte_holds_fits_up_and_costs_nothing(
    small_disk: Path, start_server: StartServer, tmp_path: Path
) -> None:
    gate = Gate(tmp_path / "gate")
    server = start_server(
        data_dir=small_disk / "data",
        environment={VARIABLE: str(gate.path)},
        workers=1,
        storage_min_free_bytes=0,
        log_level="info",
        **QUICKLY,
    )
    http = server.http
    undisturbed = result(http, created(http.post("/v1/fits", json=LONG))["id"])
    with gate.holding(HELD_AT):
        fit_id = created(http.post("/v1/fits", json=LONG))["id"]
        url = f"/v1/fits/{fit_id}"
        until(lambda: http.get(url).json()["step"] >= HELD_AT, "the fit did not begin")
        acknowledged = [fit_id]
        ballast = fill(small_disk)
        refused: httpx.Response | None = None
        for _ in range(1000):
            answer = http.post("/v1/fits", json={**FIT, "epochs": 1})
            if answer.status_code == 202:
                acknowledged.append(answer.json()["id"])
                fill(small_disk)  # what was freed since
            else:
                refused = answer
                break
    assert refused is not None
    assert (refused.status_code, refused.json()["code"]) == (507, "storage_full"), refused.text
    assert "disk" in refused.json()["detail"]
    until(lambda: any("is delayed" in line for line in server.log), "nothing had to wait")
    until(lambda: fill(small_disk).exists() and http.get("/readyz").status_code == 503, "a full server is ready")
    assert http.get(url).json()["state"] == "running"
    assert all(http.get(f"/v1/fits/{each}").status_code == 200 for each in acknowledged)
    ballast.unlink()
    assert result(http, fit_id) == undisturbed
    until_logged(http, fit_id, "storage_full")
    for each in acknowledged[1:]:
        until(lambda each=each: http.get(f"/v1/fits/{each}").json()["state"] == "succeeded", "a queued fit was lost")
    created(http.post("/v1/graphs", json=PROGRAM))
    assert server.stop() == 0


READS = ("/v1/system", "/v1/graphs", "/v1/datasets", "/v1/fits", "/metrics", "/healthz", "/v1/ops", "/v1/backup")
WRITES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/v1/graphs", {"json": PROGRAM}),
    ("/v1/datasets", {"content": "x\n1\n2\n", "headers": {"Content-Type": "text/csv"}}),
    ("/v1/fits", {"json": FIT}),
    ("/v1/sessions", {"json": {"graph": PROGRAM, "optimizer": {"kind": "sgd", "lr": 0.1}}}),
)


def make_read_only(folder: Path) -> None:
    # What is open for writing remains so; everything that is opened by its path from now on is read-only.
    data = folder / "data"
    subprocess.run(["mount", "--bind", data, data], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", data], check=True)


def delete_all(folder: Path) -> None:
    shutil.rmtree(folder / "data")


@pytest.mark.parametrize("how", [make_read_only, delete_all])
def test_a_server_that_can_write_nothing_any_more_says_so(
    small_disk: Path, start_server: StartServer, how: Callable[[Path], None]
) -> None:
    settings = {"workers": 1, "storage_min_free_bytes": 0, "log_level": "info", **QUICKLY}
    server = start_server(data_dir=small_disk / "data", **settings)
    http = server.http
    created(http.post("/v1/graphs", json=PROGRAM))
    assert http.get("/readyz").status_code == 200
    how(small_disk)
    until(lambda: http.get("/readyz").status_code == 503, "a server without a disk is ready")
    assert "data directory" in http.get("/readyz").json()["detail"]
    answers = [(path, http.post(path, **body)) for path, body in WRITES]
    assert {path: answer.status_code for path, answer in answers if answer.status_code != 503} == {}
    statuses = {path: http.get(path).status_code for path in READS}
    assert {*statuses.values()} <= {200, 503}, statuses
    assert (statuses["/healthz"], statuses["/v1/ops"], statuses["/v1/graphs"]) == (200, 200, 200)
