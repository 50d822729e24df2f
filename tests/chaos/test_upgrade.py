"""A data directory of an earlier release opens, nothing in it has changed, and its half-done fit goes on.

The archive was made with the code of the commit that it is named after: one fit was done, one amid its steps, and one
waiting when the server and its processes were killed; `read.json` is what a client had been sent by then.
"""

import json
import sqlite3
import tarfile
import time
from contextlib import closing
from pathlib import Path

import pytest

from app.store.database import FILE_NAME
from tests.chaos import invariants
from tests.chaos.conftest import MakeDriver

ARCHIVES = sorted((Path(__file__).parent / "fixtures").glob("data_dir_*.tar.xz"))


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name.split(".")[0])
def test_a_half_done_fit_of_an_earlier_release_goes_on(archive: Path, make_driver: MakeDriver, tmp_path: Path) -> None:
    driver = make_driver()
    with tarfile.open(archive) as packed:
        packed.extractall(driver.data_dir.parent, filter="data")
    renew_keys(driver.data_dir / FILE_NAME)
    told_then = json.loads((driver.data_dir.parent / "read.json").read_text())
    driver.read, driver.wanted = told_then["rows"], told_then["requests"]
    for key, fit_id in told_then["fits"].items():
        driver.journal.note(key, fit_id)
    driver.start()
    driver.until_terminal()
    reported = invariants.all_hold(driver, tmp_path, to_the_end=False)  # its bits are of the machine it was begun on
    assert {key: each.fit["state"] for key, each in reported.items()} == dict.fromkeys(told_then["fits"], "succeeded")
    assert reported["half"].outcomes == ["lost", "succeeded"]
    steps = {key: request["steps"] for key, request in told_then["requests"].items()}
    assert {key: len(each.rows) for key, each in reported.items()} == steps


def renew_keys(database: Path) -> None:
    """Have idempotency keys count from now on: a server forgets them after a week, and the archive is older."""
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE idempotency_keys SET created_at = ?", (time.time_ns() // 1000,))


def test_there_is_an_earlier_release_to_come_from() -> None:
    assert ARCHIVES
