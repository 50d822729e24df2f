"""The audit trail of a server at work stays small, and is checked as far as it can be seen."""

import time
from pathlib import Path

import httpx
import pytest

from app.cli.commands import run
from app.service.admin.audit import AUDIT
from tests.support.patience import PATIENCE
from tests.support.server import StartServer

KEY = "correct-horse-battery-staple"
ENTRIES = 10
SENT = 25


def first_in_the_database(http: httpx.Client) -> int:
    page = http.get("/v1/audit", params={"order": "asc", "limit": 1000}, headers={"X-API-Key": KEY}).json()
    assert [entry["seq"] for entry in page["data"]] == [*range(page["data"][0]["seq"], SENT + 1)]
    return int(page["data"][0]["seq"])


def test_old_entries_leave_for_files_while_a_server_works_and_the_chain_is_whole(
    start_server: StartServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = start_server(api_key=KEY, workers=1, audit_entries=ENTRIES, housekeeping_seconds=0.1)
    for _ in range(SENT):
        server.http.post("/v1/graphs:validate", json={}, headers={"X-API-Key": KEY})
    end = time.monotonic() + PATIENCE
    while SENT - (first := first_in_the_database(server.http)) >= ENTRIES:
        assert time.monotonic() < end
        time.sleep(0.05)
    monkeypatch.setenv("ADJOINT_KEY", KEY)
    assert run(["audit", "verify", "--url", server.url]) == 0
    printed, more = capsys.readouterr().out.splitlines()
    assert printed.startswith(f"{SENT - first + 1} entries, unbroken; ")
    assert more.startswith(f"the first one is {first}; those before it are in files")
    server.stop()
    assert [*(tmp_path / "data" / AUDIT).glob("*.ndjson")]
    assert run(["audit", "verify", "--data-dir", str(tmp_path / "data")]) == 0
    whole = capsys.readouterr().out
    assert whole.startswith(f"{SENT} entries, unbroken; ")
    assert whole.rstrip().endswith(printed.rpartition(" ")[2])
